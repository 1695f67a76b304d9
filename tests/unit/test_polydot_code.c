/* tests/unit/test_polydot_code.c: the polynomial code for matrix products: any K = mnp + p - 1 of N workers' blocks give the
 * product, for every m, n and p that `polydot` allows; and how much of float32's precision that costs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "agents/model.h"
#include "agents/schemes/polydot_code.h"
#include "base/rng.h"
#include "tests/unit/subsets.h"

#include <cmocka.h>

enum { ROWS = 13, INNER = 11, COLUMNS = 9, WORKERS_MAX = 24, BLOCK_MAX = ROWS * INNER + INNER * COLUMNS, SAMPLES = 200 };

struct case_ {
    struct polydot_code code;
    int workers, threshold;
    float left[ROWS * INNER], right[INNER * COLUMNS];
    double product[ROWS * COLUMNS], largest; /* in double; the largest of the workers' blocks */
    float blocks[WORKERS_MAX][ROWS * COLUMNS];
};

static void prepare(struct case_ *c, struct polydot_code code, int workers)
{
    struct rng rng = rng_stream(7, 0, 0, RNG_SCHEME);
    *c = (struct case_){.code = code, .workers = workers, .threshold = polydot_threshold(code)};
    for (int i = 0; i < ROWS * INNER; i++)
        c->left[i] = (float)(2 * rng_uniform(&rng) - 1);
    for (int i = 0; i < INNER * COLUMNS; i++)
        c->right[i] = (float)(2 * rng_uniform(&rng) - 1);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            for (int k = 0; k < INNER; k++)
                c->product[i * COLUMNS + j] += (double)c->left[i * INNER + k] * (double)c->right[k * COLUMNS + j];
    const int rows = polydot_share(ROWS, code.m), inner = polydot_share(INNER, code.p), columns = polydot_share(COLUMNS, code.n);
    for (int w = 0; w < workers; w++) {
        float encoded[BLOCK_MAX], *right = encoded + rows * inner;
        polydot_encode_left(code, polydot_view_of(c->left, ROWS, INNER), polydot_point(workers, w), encoded);
        polydot_encode_right(code, polydot_view_of(c->right, INNER, COLUMNS), polydot_point(workers, w), right);
        blas_sgemm(false, false, rows, columns, inner, 1, encoded, inner, right, columns, 0, c->blocks[w], columns);
        for (int i = 0; i < rows * columns; i++)
            c->largest = fmax(c->largest, fabs((double)c->blocks[w][i]));
    }
}

/* The error of decoding from these K workers, relative to the largest value that one of them sent; and the code's amplification. */
static double decode(const struct case_ *c, const int *chosen, double *amplification)
{
    double points[POLYDOT_THRESHOLD_MAX], worst = 0;
    const float *products[POLYDOT_THRESHOLD_MAX];
    float out[ROWS * COLUMNS];
    struct polydot_decoder decoder;
    for (int i = 0; i < c->threshold; i++) {
        points[i] = polydot_point(c->workers, chosen[i]);
        products[i] = c->blocks[chosen[i]];
    }
    polydot_decoder_init(&decoder, c->code, points);
    polydot_decode(&decoder, c->code, products, ROWS, COLUMNS, out);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        worst = fmax(worst, fabs((double)out[i] - c->product[i]));
    *amplification = 0;
    for (int block = 0; block < c->code.m * c->code.n; block++) {
        double sum = 0;
        for (int i = 0; i < c->threshold; i++)
            sum += fabs(decoder.weights[block][i]);
        *amplification = fmax(*amplification, sum);
    }
    return worst / c->largest;
}

static void random_subset(struct rng *rng, int *chosen, int count, int workers)
{
    int left = count;
    for (int w = 0; w < workers; w++)
        if ((int)rng_below(rng, (uint32_t)(workers - w)) < left)
            chosen[count - left--] = w;
}

/* A worker's own sums round by about 2^-24 of its values, times the square root of how many it adds; encoding rounds once more. */
static double tolerance(double amplification)
{
    return 4 * ldexp(1, -24) * (1 + amplification);
}

struct worst {
    double error, amplification;
};

static void check(const struct case_ *c, const int *chosen, struct worst *worst)
{
    double amplification;
    const double error = decode(c, chosen, &amplification);
    if (!(error <= tolerance(amplification)))
        fail_msg("m %d n %d p %d among %d: error %g, allowed %g", c->code.m, c->code.n, c->code.p, c->workers, error,
                 tolerance(amplification));
    worst->error = fmax(worst->error, error);
    worst->amplification = fmax(worst->amplification, amplification);
}

/* Calls for every code whose threshold is allowed. */
static void for_every_code(void (*run)(struct polydot_code code))
{
    int codes = 0;
    for (int m = 1; m <= POLYDOT_THRESHOLD_MAX; m++)
        for (int n = 1; n <= POLYDOT_THRESHOLD_MAX; n++)
            for (int p = 1; p <= POLYDOT_THRESHOLD_MAX; p++) {
                const struct polydot_code code = {.m = m, .n = n, .p = p};
                if (polydot_threshold(code) <= POLYDOT_THRESHOLD_MAX) {
                    run(code);
                    codes++;
                }
            }
    assert_int_equal(codes, 29 + 10 + 5 + 3 + 1 + 1); /* p = 1: pairs with mn <= 11; p = 2: mn <= 5; p = 3: mn <= 3; ... */
}

static struct worst per_threshold[3][POLYDOT_THRESHOLD_MAX + 1];

static void keep(int spare, int threshold, struct worst found)
{
    struct worst *kept = &per_threshold[spare][threshold];
    kept->error = fmax(kept->error, found.error);
    kept->amplification = fmax(kept->amplification, found.amplification);
}

static void decode_all_subsets(struct polydot_code code)
{
    for (int spare = 0; spare < 3; spare++) {
        static struct case_ c;
        struct worst worst = {0};
        int chosen[POLYDOT_THRESHOLD_MAX];
        prepare(&c, code, polydot_threshold(code) + spare);
        for (int i = 0; i < c.threshold; i++)
            chosen[i] = i;
        do
            check(&c, chosen, &worst);
        while (next_subset(chosen, c.threshold, c.workers));
        keep(spare, c.threshold, worst);
    }
}

static void decode_some_subsets(struct polydot_code code)
{
    static struct case_ c;
    struct worst worst = {0};
    struct rng rng = rng_stream(8, 0, 0, RNG_SCHEME);
    int chosen[POLYDOT_THRESHOLD_MAX], workers = 2 * polydot_threshold(code);
    prepare(&c, code, workers);
    for (int i = 0; i < SAMPLES; i++) {
        random_subset(&rng, chosen, c.threshold, workers);
        check(&c, chosen, &worst);
    }
}

static void any_threshold_of_workers_give_the_product(void **state)
{
    (void)state;
    for_every_code(decode_all_subsets);
    for (int threshold = 1; threshold <= POLYDOT_THRESHOLD_MAX; threshold++)
        for (int spare = 0; spare < 3; spare++)
            if (per_threshold[spare][threshold].amplification > 0)
                printf("# threshold %2d of %2d workers: worst amplification %7.1f, worst relative error %.1e\n", threshold,
                       threshold + spare, per_threshold[spare][threshold].amplification, per_threshold[spare][threshold].error);
}

static void seeded_samples_of_twice_as_many_do(void **state)
{
    (void)state;
    for_every_code(decode_some_subsets);
}

/* One block fewer is not enough: two products differ only where the code's last coefficient is. */
static void one_fewer_is_not_enough(struct polydot_code code)
{
    const int threshold = polydot_threshold(code);
    static struct case_ c;
    int chosen[POLYDOT_THRESHOLD_MAX];
    double amplification;
    prepare(&c, code, threshold);
    for (int i = 0; i < threshold; i++)
        chosen[i] = i;
    memset(c.blocks[threshold - 1], 0, sizeof(c.blocks[0]));
    assert_true(decode(&c, chosen, &amplification) > 1e-3);
}

static void every_block_counts(void **state)
{
    (void)state;
    for_every_code(one_fewer_is_not_enough);
}

static void thresholds_and_points(void **state)
{
    (void)state;
    assert_int_equal(polydot_threshold((struct polydot_code){1, 1, 1}), 1);
    assert_int_equal(polydot_threshold((struct polydot_code){2, 2, 1}), 4);  /* mn: the polynomial code */
    assert_int_equal(polydot_threshold((struct polydot_code){1, 1, 6}), 11); /* 2p - 1: MatDot */
    assert_int_equal(polydot_threshold((struct polydot_code){2, 2, 2}), 9);
    assert_true(fabs(polydot_point(2, 0) - (sqrt(0.5))) < 1e-15);
    assert_true(fabs(polydot_point(3, 1) - (0)) < 1e-15);
    for (int w = 1; w < 100; w++)
        assert_true(polydot_point(100, w) < polydot_point(100, w - 1));
}

/* The example of polydot_code.h, by hand: A = (1 2), B = (3 4)^T, C = 11. */
static void example(void **state)
{
    (void)state;
    static const float left[] = {1, 2}, right[] = {3, 4};
    const struct polydot_code code = {.m = 1, .n = 1, .p = 2};
    float a, b;
    polydot_encode_left(code, polydot_view_of(left, 1, 2), 0.5, &a);
    polydot_encode_right(code, polydot_view_of(right, 2, 1), 0.5, &b);
    assert_true(a == 1 + 2 * 0.5f && b == 3 * 0.5f + 4);
    /* A transposed view is the matrix that it says. */
    polydot_encode_right(code, polydot_transposed(polydot_view_of(right, 1, 2)), 0.5, &b);
    assert_true(b == 3 * 0.5f + 4);
}

static void amplification_grows_with_spare_workers(void **state)
{
    (void)state;
    const struct polydot_code code = {.m = 2, .n = 2, .p = 1};
    assert_true(polydot_amplification(code, 4) < 10);
    assert_true(polydot_amplification(code, 8) > 100 && polydot_amplification(code, 8) < 1000);
    assert_true(polydot_amplification(code, 1000) > 1e10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thresholds_and_points),
        cmocka_unit_test(example),
        cmocka_unit_test(any_threshold_of_workers_give_the_product),
        cmocka_unit_test(seeded_samples_of_twice_as_many_do),
        cmocka_unit_test(every_block_counts),
        cmocka_unit_test(amplification_grows_with_spare_workers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
