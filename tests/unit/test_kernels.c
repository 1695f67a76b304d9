/* test_kernels.c: the matrix kernels against plain loops: the naive one to the bit, OpenBLAS within rounding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "agents/model_internal.h"
#include "base/arena.h"
#include "base/err.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef void sgemm_function(bool, bool, int, int, int, float, const float *, int, const float *, int, float, float *, int);

struct shape {
    int m, n, k;
};
static const struct shape shapes[] = {{1, 1, 1},    {2, 16, 3},    {3, 17, 5},    {4, 15, 300},
                                      {7, 33, 257}, {64, 10, 128}, {10, 128, 64}, {5, 40, 512}};
static const struct {
    float alpha, beta;
} factors[] = {{1, 0}, {1, 1}, {0.5f, -2}};

/* Runs one product on matrices with slack behind each row, compares it with plain loops, and checks that the slack stays. tolerance
 * 0: to the bit, against sums in ascending order. */
static void check_product(sgemm_function *sgemm, const struct shape *shape, unsigned variant, double tolerance)
{
    struct arena *arena = arena_new();
    bool transpose_a = variant & 1, transpose_b = variant & 2;
    float alpha = factors[variant >> 2].alpha, beta = factors[variant >> 2].beta;
    int m = shape->m, n = shape->n, k = shape->k, lda = (transpose_a ? m : k) + 3, ldb = (transpose_b ? k : n) + 1, ldc = n + 2;
    float *a = arena_new_array(arena, float, (size_t)(lda * (transpose_a ? k : m)));
    float *b = arena_new_array(arena, float, (size_t)(ldb * (transpose_b ? n : k)));
    float *c = arena_new_array(arena, float, (size_t)(ldc * m)), *expected = arena_new_array(arena, float, (size_t)(ldc * m));
    struct rng rng = rng_stream(variant, (uint32_t)m, (uint32_t)n, RNG_MODEL);
    for (int i = 0; i < lda * (transpose_a ? k : m); i++)
        a[i] = (float)rng_normal(&rng);
    for (int i = 0; i < ldb * (transpose_b ? n : k); i++)
        b[i] = (float)rng_normal(&rng);
    for (int i = 0; i < ldc * m; i++)
        expected[i] = c[i] = beta == 0 && i % ldc < n ? NAN : (float)rng_normal(&rng);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float sum = beta == 0 ? 0 : beta * c[i * ldc + j];
            for (int x = 0; x < k; x++)
                sum += (transpose_a ? a[x * lda + i] : a[i * lda + x]) * (alpha * (transpose_b ? b[j * ldb + x] : b[x * ldb + j]));
            expected[i * ldc + j] = sum;
        }
    sgemm(transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    if (tolerance == 0)
        assert_memory_equal(c, expected, (size_t)(ldc * m) * sizeof(float));
    for (int i = 0; i < ldc * m; i++)
        assert_true(fabs((double)c[i] - (double)expected[i]) <= (i % ldc < n ? tolerance * sqrt(k) : 0));
    arena_free(arena);
}

static void the_naive_kernel_adds_in_order(void **state)
{
    (void)state;
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (unsigned variant = 0; variant < 4 * COUNT(factors); variant++)
            check_product(kernel_naive_sgemm, &shapes[s], variant, 0);
}

/* From here on OpenBLAS is in use: this test comes last. */
static void openblas_multiplies_the_same(void **state)
{
    (void)state;
    const char *description = NULL, *again = NULL;
    struct err err = {0};
    if (blas_load(&description, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(strncmp(description, "OpenBLAS 0.", 11), 0);
    assert_int_equal(blas_load(&again, &err), 0);
    assert_ptr_equal(description, again);
    assert_string_equal(blas_description(), description);
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (unsigned variant = 0; variant < 4 * COUNT(factors); variant++)
            check_product(blas_sgemm, &shapes[s], variant, 1e-5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_naive_kernel_adds_in_order),
        cmocka_unit_test(openblas_multiplies_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
