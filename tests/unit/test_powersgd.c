/* tests/unit/test_powersgd.c: factors of low rank: exact where matrices have that rank, what is sent and what is kept add up, and
 * pieces that are no matrix come through as they are. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "agents/compressors/low_rank.h"

#include <cmocka.h>

enum { ROWS = 24, COLUMNS = 40, WORKERS = 3 };

/* What low_rank_allreduce.c does, with sums made here. */
struct power {
    struct low_rank_plan plan;
    float residual[WORKERS][ROWS * COLUMNS], warm[64 * COLUMNS], left[WORKERS][2 * ROWS * COLUMNS], right[WORKERS][64 * COLUMNS];
    float sum_left[2 * ROWS * COLUMNS], directions[2 * ROWS * COLUMNS], sum_right[64 * COLUMNS], output[ROWS * COLUMNS];
    struct rng rng;
};

static void power_begin(struct power *power, size_t rank, size_t count, const struct model_matrix *matrices, int matrix_count)
{
    memset(power, 0, sizeof(*power));
    low_rank_plan(rank, count, matrices, matrix_count, &power->plan);
    power->rng = rng_stream(1, 0, RNG_ALL_NODES, RNG_COMMON);
    low_rank_orthonormalise_right(&power->plan, power->warm, &power->rng);
}

static void power_round(struct power *power, float gradients[WORKERS][ROWS * COLUMNS])
{
    const struct low_rank_plan *plan = &power->plan;
    memset(power->sum_left, 0, sizeof(power->sum_left));
    memset(power->sum_right, 0, sizeof(power->sum_right));
    for (int w = 0; w < WORKERS; w++) {
        for (size_t i = 0; i < plan->count; i++)
            power->residual[w][i] += gradients[w][i];
        low_rank_left(plan, power->residual[w], power->warm, power->left[w]);
        for (size_t i = 0; i < plan->left_floats; i++)
            power->sum_left[i] += power->left[w][i];
    }
    memcpy(power->directions, power->sum_left, sizeof(power->directions));
    low_rank_orthonormalise_left(plan, power->directions);
    for (int w = 0; w < WORKERS; w++) {
        low_rank_right(plan, power->residual[w], power->directions, power->right[w]);
        for (size_t i = 0; i < plan->right_floats; i++)
            power->sum_right[i] += power->right[w][i];
        low_rank_subtract(plan, power->directions, power->right[w], power->residual[w]);
    }
    low_rank_expand(plan, power->directions, power->sum_right, power->sum_left, power->output);
    memcpy(power->warm, power->sum_right, sizeof(power->warm));
    low_rank_orthonormalise_right(plan, power->warm, &power->rng);
}

static void random_low_rank(struct rng *rng, int rank, float *matrix)
{
    double left[ROWS], right[COLUMNS];
    memset(matrix, 0, ROWS * COLUMNS * sizeof(float));
    for (int k = 0; k < rank; k++) {
        for (int i = 0; i < ROWS; i++)
            left[i] = rng_normal(rng);
        for (int j = 0; j < COLUMNS; j++)
            right[j] = rng_normal(rng);
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++)
                matrix[i * COLUMNS + j] += (float)(left[i] * right[j]);
    }
}

static double length_of(const float *vector, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)vector[i] * (double)vector[i];
    return sqrt(sum);
}

static const struct model_matrix whole = {.first = 0, .rows = ROWS, .columns = COLUMNS};

/* The first directions are random, and how far float32's rounding reaches then depends on luck; a round later they are the
 * matrix's. */
static void test_powersgd_is_exact_for_low_rank(void **state)
{
    (void)state;
    static struct power power;
    static float gradients[WORKERS][ROWS * COLUMNS];
    for (int rank = 1; rank <= 6; rank++) {
        struct rng rng = rng_stream(9, (uint32_t)rank, 0, RNG_LINK);
        power_begin(&power, (size_t)rank, ROWS * COLUMNS, &whole, 1);
        assert_int_equal(power.plan.left_floats, rank * ROWS);
        assert_int_equal(power.plan.right_floats, rank * COLUMNS);
        random_low_rank(&rng, rank, gradients[0]);
        for (int w = 1; w < WORKERS; w++) /* the same in other shares: the sum has that rank */
            for (size_t i = 0; i < ROWS * COLUMNS; i++)
                gradients[w][i] = gradients[0][i] * (float)w / 2;
        const double length = length_of(gradients[0], ROWS * COLUMNS);
        for (int round = 0; round < 4; round++) {
            static float difference[ROWS * COLUMNS];
            power_round(&power, gradients);
            for (size_t i = 0; i < ROWS * COLUMNS; i++)
                difference[i] = power.output[i] - (gradients[0][i] + gradients[1][i] + gradients[2][i]);
            const double tolerance = round == 0 ? 1e-3 : round == 1 ? 3e-3 : 3e-6; /* what one round leaves, the next one brings */
            assert_true(length_of(difference, ROWS * COLUMNS) < tolerance * length);
            for (int w = 0; w < WORKERS; w++)
                assert_true(length_of(power.residual[w], ROWS * COLUMNS) < (round == 0 ? 1e-3 : 3e-6) * length);
        }
    }
}

/* Whatever the matrices: what is decoded and what is left add up, and what is left is never longer than what was there. */
static void test_powersgd_feedback(void **state)
{
    (void)state;
    static struct power power;
    static float gradients[WORKERS][ROWS * COLUMNS];
    static double given[ROWS * COLUMNS], taken[ROWS * COLUMNS];
    struct rng rng = rng_stream(10, 0, 0, RNG_LINK);
    power_begin(&power, 2, ROWS * COLUMNS, &whole, 1);
    memset(given, 0, sizeof(given));
    memset(taken, 0, sizeof(taken));
    for (int round = 0; round < 40; round++) {
        double before = 0, after = 0;
        for (int w = 0; w < WORKERS; w++)
            for (size_t i = 0; i < ROWS * COLUMNS; i++) {
                gradients[w][i] = (float)rng_normal(&rng);
                given[i] += (double)gradients[w][i];
                double wanted = (double)power.residual[w][i] + (double)gradients[w][i];
                before += wanted * wanted;
            }
        power_round(&power, gradients);
        for (int w = 0; w < WORKERS; w++)
            after += pow(length_of(power.residual[w], ROWS * COLUMNS), 2);
        assert_true(after <= before * (1 + 1e-5));
        for (size_t i = 0; i < ROWS * COLUMNS; i++) {
            taken[i] += (double)power.output[i];
            double left = (double)power.residual[0][i] + (double)power.residual[1][i] + (double)power.residual[2][i];
            assert_true(fabs(taken[i] + left - given[i]) < 1e-3);
        }
    }
}

static void test_powersgd_special_values(void **state)
{
    (void)state;
    static struct power power;
    static float gradients[WORKERS][ROWS * COLUMNS];
    const float specials[] = {0, 1, FLT_TRUE_MIN, 1e30f, NAN, INFINITY};
    for (size_t s = 0; s < sizeof(specials) / sizeof(specials[0]); s++) {
        power_begin(&power, 3, ROWS * COLUMNS, &whole, 1);
        for (int w = 0; w < WORKERS; w++)
            for (size_t i = 0; i < ROWS * COLUMNS; i++)
                gradients[w][i] = specials[s]; /* a matrix of rank 1, or of zeros */
        for (int round = 0; round < 3; round++) {
            power_round(&power, gradients);
            for (size_t i = 0; i < ROWS * COLUMNS; i++) {
                float sum = 3 * specials[s];
                if (isfinite(sum))
                    assert_true(fabsf(power.output[i] - sum) <= 1e-5f * fabsf(sum) + 16 * FLT_TRUE_MIN);
                else
                    assert_false(isfinite(power.output[i]));
            }
        }
    }
    /* After zeros, something: the next round sees it. */
    power_begin(&power, 1, ROWS * COLUMNS, &whole, 1);
    memset(gradients, 0, sizeof(gradients));
    power_round(&power, gradients);
    gradients[1][5 * COLUMNS + 7] = 3;
    power_round(&power, gradients);
    assert_true(fabsf(power.output[5 * COLUMNS + 7] - 3) < 1e-5f);
}

/* Layers with biases between them travel beside the factors; so do matrices that are smaller than theirs; a vector without layers
 * is a square, whose last row may be short. */
static void test_powersgd_plans(void **state)
{
    (void)state;
    struct low_rank_plan plan;
    const struct model_matrix layers[] = {{0, 20, 30}, {620, 10, 20}};
    low_rank_plan(2, 830, layers, 2, &plan); /* 20 biases behind the first, 10 behind the second */
    assert_int_equal(plan.matrix_count, 2);
    assert_int_equal(plan.piece_count, 2);
    assert_int_equal(plan.left_floats, 2 * 20 + 2 * 10 + 30);
    assert_int_equal(plan.right_floats, 2 * 30 + 2 * 20);
    low_rank_plan(8, 830, layers, 2,
                  &plan); /* 8 x (10 + 20) >= 200: the second layer as it is, in one piece with what is around it */
    assert_int_equal(plan.matrix_count, 1);
    assert_int_equal(plan.piece_count, 1);
    assert_int_equal(plan.left_floats, 8 * 20 + 230);
    assert_int_equal(plan.right_floats, 8 * 30);
    low_rank_plan(64, 830, layers, 2, &plan);
    assert_int_equal(plan.left_floats, 830);
    assert_int_equal(plan.right_floats, 0);
    for (size_t count = 0; count < 300; count++)
        for (size_t rank = 1; rank <= 4; rank++) {
            low_rank_plan(rank, count, NULL, 0, &plan);
            assert_true(plan.left_floats + plan.right_floats <= count);
            assert_int_equal(plan.matrix_count + plan.piece_count, count > 0);
            if (plan.matrix_count > 0)
                assert_true(plan.matrices[0].count == count && plan.matrices[0].rows * plan.matrices[0].columns >= count);
        }
    low_rank_plan(2, 1000, NULL, 0, &plan); /* 31 rows of 33 */
    assert_int_equal(plan.left_floats, 2 * 31);
    assert_int_equal(plan.right_floats, 2 * 33);
}

static void test_powersgd_pieces_are_exact(void **state)
{
    (void)state;
    static struct power power;
    static float gradients[WORKERS][ROWS * COLUMNS];
    const struct model_matrix inner = {.first = 60, .rows = 20, .columns = 30};
    struct rng rng = rng_stream(11, 0, 0, RNG_LINK);
    power_begin(&power, 2, ROWS * COLUMNS, &inner, 1);
    for (int round = 0; round < 5; round++) {
        for (int w = 0; w < WORKERS; w++)
            for (size_t i = 0; i < ROWS * COLUMNS; i++)
                gradients[w][i] = (float)rng_below(&rng, 1000);
        power_round(&power, gradients);
        for (size_t i = 0; i < ROWS * COLUMNS; i++)
            if (i < 60 || i >= 660)
                assert_true(power.output[i] == gradients[0][i] + gradients[1][i] + gradients[2][i] && power.residual[1][i] == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_powersgd_is_exact_for_low_rank), cmocka_unit_test(test_powersgd_feedback),
        cmocka_unit_test(test_powersgd_special_values),        cmocka_unit_test(test_powersgd_plans),
        cmocka_unit_test(test_powersgd_pieces_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
