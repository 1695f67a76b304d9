/* kernel_naive.c: single-precision matrix products whose results are the same bits on every machine.
 *
 * c[i][j] = beta c[i][j], then + a[i][x] (alpha b[x][j]) for x = 0, 1, ... in this order, each product and each sum rounded on its
 * own (-ffp-contract=off). Vector lanes hold different j and never share a sum, so the width of the vectors does not touch the
 * bits: the same source is compiled for the baseline and for AVX2, and the processor decides which runs.
 *
 * A panel of b, `inner_block` x `columns`, is packed on the stack (zero-padded at the right edge), and a few rows of a at a time
 * are multiplied with it while the sums stay in registers. The sums go back to c between two blocks of the inner dimension, which
 * rounds nothing. */
#include <string.h>

#include "agents/model_internal.h"

enum { columns = 16, inner_block = 256 };

typedef void multiply_function(int m, int inner, const float *a, size_t a_row, size_t a_column, const float *panel, float *c,
                               size_t c_row, int width);

#define PANEL(name) baseline_##name
#define TARGET
#define LANES 4
#define ROWS 2
#include "agents/kernel_naive_panel.h"

#ifdef __x86_64__
#define PANEL(name) avx2_##name
#define TARGET __attribute__((target("avx2")))
#define LANES 8
#define ROWS 4
#include "agents/kernel_naive_panel.h"
#endif

static multiply_function *choose_multiply(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2"))
        return avx2_multiply;
#endif
    return baseline_multiply;
}

static void scale_matrix(int m, int n, float beta, float *c, int ldc)
{
    for (int i = 0; i < m; i++) {
        float *row = c + (size_t)i * (size_t)ldc;
        if (beta == 0.0f)
            memset(row, 0, (size_t)n * sizeof(float)); /* c may hold anything, NaN too */
        else
            for (int j = 0; j < n; j++)
                row[j] *= beta;
    }
}

/* panel[x][j] = alpha corner[x][j] for j < width, 0 for the rest */
static void pack_panel(const float *corner, size_t row, size_t column, int inner, int width, float alpha, float *panel)
{
    if (width < columns)
        memset(panel, 0, (size_t)inner * columns * sizeof(float));
    for (int j = 0; j < width; j++)
        for (int x = 0; x < inner; x++)
            panel[x * columns + j] = alpha * corner[(size_t)x * row + (size_t)j * column];
}

void kernel_naive_sgemm(bool transpose_a, bool transpose_b, int m, int n, int k, float alpha, const float *a, int lda,
                        const float *b, int ldb, float beta, float *c, int ldc)
{
    multiply_function *multiply = choose_multiply();
    size_t a_row = transpose_a ? 1 : (size_t)lda, a_column = transpose_a ? (size_t)lda : 1;
    size_t b_row = transpose_b ? 1 : (size_t)ldb, b_column = transpose_b ? (size_t)ldb : 1;
    float panel[inner_block * columns] __attribute__((aligned(64)));
    if (beta != 1.0f)
        scale_matrix(m, n, beta, c, ldc);
    for (int j = 0; j < n; j += columns)
        for (int x = 0; x < k; x += inner_block) {
            int inner = k - x < inner_block ? k - x : inner_block, width = n - j < columns ? n - j : columns;
            pack_panel(b + (size_t)x * b_row + (size_t)j * b_column, b_row, b_column, inner, width, alpha, panel);
            multiply(m, inner, a + (size_t)x * a_column, a_row, a_column, panel, c + j, (size_t)ldc, width);
        }
}
