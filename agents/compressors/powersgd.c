/* agents/compressors/powersgd.c: `powersgd`: a matrix of gradients travels as two factors of low rank, which are sums where
 * gradients are.
 *
 * Source: T. Vogels, S. P. Karimireddy, M. Jaggi, "PowerSGD: practical low-rank gradient compression for distributed optimization",
 * NeurIPS 2019, algorithms 1 and 2. Worker w has the gradient G_w of a layer's weights, rows x columns, and what it has left out
 * so far, E_w. One step of a power iteration, with Q of the last round (a warm start; random at first):
 *
 *     D_w = G_w + E_w
 *     P = sum D_w Q           an all-reduce of rank x rows floats
 *     P' = P orthonormalised
 *     R = sum D_w^T P'        an all-reduce of rank x columns floats
 *     sum G_w is taken to be P' R^T, E_w = D_w - P' (D_w^T P')^T, and Q = R orthonormalised
 *
 * P' P'^T is a projection: E_w is never longer than D_w, and all that is not sent now stays, sum P' R^T + sum E_w = sum D_w. If
 * the sum of the matrices has no more than `rank` independent rows, and Q none in vain, P' R^T is all of it. Pieces that are no
 * matrix, biases for example, travel beside P as they are.
 *
 * Where the paper takes means these are sums; P' and Q do not see the difference. The paper starts its power iteration from R
 * itself, which is the same direction; orthonormalised, it neither dwindles nor overflows from round to round, and what has
 * vanished (a gradient of zeros) is looked for again in a random direction, the same on every worker.
 *
 * Example, rank 1, two workers with D = (1 0; 0 0) and (1 2; 0 0), Q = (1, 0): P = (2, 0), P' = (1, 0),
 * R = (1, 0) + (1, 2) = (2, 2), P' R^T = (2 2; 0 0): exact, since the sum has one independent row.
 *
 * All sums run in a fixed order on one thread; nodes that hold the same factors make the same vector of them, bit by bit. What is
 * not finite stays so: a length that is not a number is divided by as any other. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "agents/compressors/compressor.h"
#include "agents/compressors/low_rank.h"

#pragma GCC optimize("O3") /* as in vector.c */

enum { LANES = 16 };

/* ---- the vector as matrices ---- */

static void put_piece(struct low_rank_plan *plan, size_t first, size_t end)
{
    if (first == end)
        return;
    struct low_rank_piece *before = plan->piece_count > 0 ? &plan->pieces[plan->piece_count - 1] : NULL;
    if (before && before->first + before->count == first)
        before->count += end - first;
    else
        plan->pieces[plan->piece_count++] = (struct low_rank_piece){.first = first, .count = end - first};
}

static void put_matrix(struct low_rank_plan *plan, size_t rank, size_t first, size_t count, size_t rows, size_t columns)
{
    if (rank > rows)
        rank = rows;
    if (rank > columns)
        rank = columns;
    if (rank * (rows + columns) >= count) {
        put_piece(plan, first, first + count);
        return;
    }
    plan->matrices[plan->matrix_count++] = (struct low_rank_matrix){.first = first,
                                                                    .count = count,
                                                                    .rows = rows,
                                                                    .columns = columns,
                                                                    .rank = rank,
                                                                    .left = plan->left_floats,
                                                                    .right = plan->right_floats};
    plan->left_floats += rank * rows;
    plan->right_floats += rank * columns;
}

static void put_square(struct low_rank_plan *plan, size_t rank, size_t count)
{
    size_t rows = (size_t)sqrt((double)count);
    if (rows == 0)
        return;
    put_matrix(plan, rank, 0, count, rows, (count + rows - 1) / rows);
}

void low_rank_plan(size_t rank, size_t count, const struct model_matrix *matrices, int matrix_count, struct low_rank_plan *plan)
{
    *plan = (struct low_rank_plan){.count = count};
    size_t end = 0;
    if (matrix_count == 0)
        put_square(plan, rank, count);
    for (int m = 0; m < matrix_count; m++) {
        const struct model_matrix *matrix = &matrices[m];
        put_piece(plan, end, matrix->first);
        put_matrix(plan, rank, matrix->first, matrix->rows * matrix->columns, matrix->rows, matrix->columns);
        end = matrix->first + matrix->rows * matrix->columns;
    }
    if (matrix_count > 0)
        put_piece(plan, end, count);
    for (int p = 0; p < plan->piece_count; p++) {
        plan->pieces[p].left = plan->left_floats;
        plan->left_floats += plan->pieces[p].count;
    }
}

/* Of row `row`: how many floats the vector has for it. */
static size_t row_floats(const struct low_rank_matrix *matrix, size_t row)
{
    size_t begin = row * matrix->columns;
    if (begin >= matrix->count)
        return 0;
    return matrix->count - begin < matrix->columns ? matrix->count - begin : matrix->columns;
}

/* ---- products ---- */

static float dot(const float *a, const float *b, size_t count)
{
    float lanes[LANES] = {0}; /* part of the definition: the order of the sum */
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            lanes[lane] += a[i + lane] * b[i + lane];
    for (; i < count; i++)
        lanes[i % LANES] += a[i] * b[i];
    for (size_t width = LANES / 2; width > 0; width /= 2)
        for (size_t lane = 0; lane < width; lane++)
            lanes[lane] += lanes[lane + width];
    return lanes[0];
}

static void axpy(float *restrict y, float factor, const float *restrict x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        y[i] += factor * x[i];
}

void low_rank_left(const struct low_rank_plan *plan, const float *vector, const float *right, float *left)
{
    for (int m = 0; m < plan->matrix_count; m++) {
        const struct low_rank_matrix *matrix = &plan->matrices[m];
        for (size_t row = 0; row < matrix->rows; row++)
            for (size_t k = 0; k < matrix->rank; k++)
                left[matrix->left + k * matrix->rows + row] =
                    dot(vector + matrix->first + row * matrix->columns, right + matrix->right + k * matrix->columns,
                        row_floats(matrix, row));
    }
    for (int p = 0; p < plan->piece_count; p++)
        memcpy(left + plan->pieces[p].left, vector + plan->pieces[p].first, plan->pieces[p].count * sizeof(float));
}

void low_rank_right(const struct low_rank_plan *plan, const float *vector, const float *left, float *right)
{
    memset(right, 0, plan->right_floats * sizeof(float));
    for (int m = 0; m < plan->matrix_count; m++) {
        const struct low_rank_matrix *matrix = &plan->matrices[m];
        for (size_t row = 0; row < matrix->rows; row++)
            for (size_t k = 0; k < matrix->rank; k++)
                axpy(right + matrix->right + k * matrix->columns, left[matrix->left + k * matrix->rows + row],
                     vector + matrix->first + row * matrix->columns, row_floats(matrix, row));
    }
}

/* vector += sign left right^T */
static void add_product(const struct low_rank_plan *plan, float sign, const float *left, const float *right, float *vector)
{
    for (int m = 0; m < plan->matrix_count; m++) {
        const struct low_rank_matrix *matrix = &plan->matrices[m];
        for (size_t row = 0; row < matrix->rows; row++)
            for (size_t k = 0; k < matrix->rank; k++)
                axpy(vector + matrix->first + row * matrix->columns, sign * left[matrix->left + k * matrix->rows + row],
                     right + matrix->right + k * matrix->columns, row_floats(matrix, row));
    }
}

void low_rank_expand(const struct low_rank_plan *plan, const float *left, const float *right, const float *pieces, float *vector)
{
    memset(vector, 0, plan->count * sizeof(float));
    add_product(plan, 1, left, right, vector);
    for (int p = 0; p < plan->piece_count; p++)
        memcpy(vector + plan->pieces[p].first, pieces + plan->pieces[p].left, plan->pieces[p].count * sizeof(float));
}

void low_rank_subtract(const struct low_rank_plan *plan, const float *left, const float *right, float *vector)
{
    add_product(plan, -1, left, right, vector);
    for (int p = 0; p < plan->piece_count; p++)
        memset(vector + plan->pieces[p].first, 0, plan->pieces[p].count * sizeof(float));
}

/* ---- orthonormal factors: Gram and Schmidt, each projection twice, in double ---- */

static double dot_double(const float *a, const float *b, size_t length)
{
    double sum = 0;
    for (size_t i = 0; i < length; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

/* Takes from factor k what those before it have of it, and makes it one long; false: next to nothing was left. */
static bool straighten(float *factors, size_t length, size_t k)
{
    static const double DEPENDENT = 1e-6; /* of its length: what is left then is float32's rounding */
    float *factor = factors + k * length;
    const double before = sqrt(dot_double(factor, factor, length));
    for (int pass = 0; pass < 2; pass++)
        for (size_t other = 0; other < k; other++) {
            const float *direction = factors + other * length;
            const double share = dot_double(factor, direction, length);
            for (size_t i = 0; i < length; i++)
                factor[i] = (float)((double)factor[i] - share * (double)direction[i]);
        }
    const double after = sqrt(dot_double(factor, factor, length));
    if (isfinite(before) && after <= DEPENDENT * before)
        return false;
    for (size_t i = 0; i < length; i++)
        factor[i] = (float)((double)factor[i] / after);
    return true;
}

void low_rank_orthonormalise_left(const struct low_rank_plan *plan, float *left)
{
    for (int m = 0; m < plan->matrix_count; m++) {
        const struct low_rank_matrix *matrix = &plan->matrices[m];
        for (size_t k = 0; k < matrix->rank; k++)
            if (!straighten(left + matrix->left, matrix->rows, k))
                memset(left + matrix->left + k * matrix->rows, 0, matrix->rows * sizeof(float));
    }
}

void low_rank_orthonormalise_right(const struct low_rank_plan *plan, float *right, struct rng *rng)
{
    for (int m = 0; m < plan->matrix_count; m++) {
        const struct low_rank_matrix *matrix = &plan->matrices[m];
        for (size_t k = 0; k < matrix->rank; k++)
            while (!straighten(right + matrix->right, matrix->columns, k))
                for (size_t i = 0; i < matrix->columns; i++)
                    right[matrix->right + k * matrix->columns + i] = (float)rng_normal(rng);
    }
}

const struct compressor compressor_powersgd = {
    .name = "powersgd",
    .source = "Vogels, Karimireddy and Jaggi, NeurIPS 2019",
    .factors = true,
    .feedback = true,
    .encode_additions = 3.2,
    .decode_additions = 0.5,
};
