/* kernel_naive.c: single-precision matrix products whose results are the same bits on every machine.
 *
 * c[i][j] = beta c[i][j], then + a[i][x] (alpha b[x][j]) for x = 0, 1, ... in this order, each product and each sum rounded on its own
 * (-ffp-contract=off). Vector lanes hold different j and never share a sum, so the width of the vectors does not touch the bits: the same
 * source is compiled for the baseline and for AVX2, and the processor decides which runs.
 *
 * A panel of b, `inner_block` x `columns`, is packed on the stack (zero-padded at the right edge), and a few rows of a at a time
 * are multiplied with it while the sums stay in registers. The sums go back to c between two blocks of the inner dimension, which rounds nothing. */
#include "agents/model_internal.h"

#include <string.h>

enum { columns = 16, lane_count = 8, inner_block = 256 };
/* Narrower machines split one such vector into two. */
typedef float lanes __attribute__((vector_size(lane_count * sizeof(float)), aligned(sizeof(float)), may_alias));

#define INLINE static inline __attribute__((always_inline))

/* c[rows][columns] += a[rows][inner] panel[inner][columns] */
INLINE void multiply_rows(int rows, int inner, const float *a, size_t a_row, size_t a_column, const float *panel, float *c,
                          size_t c_row)
{
    lanes sum[4][2];
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++) {
        sum[i][0] = *(const lanes *)(c + (size_t)i * c_row);
        sum[i][1] = *(const lanes *)(c + (size_t)i * c_row + lane_count);
    }
    for (int x = 0; x < inner; x++) {
        lanes left = *(const lanes *)(panel + x * columns), right = *(const lanes *)(panel + x * columns + lane_count);
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++) {
            float factor = a[(size_t)i * a_row + (size_t)x * a_column];
            sum[i][0] += factor * left;
            sum[i][1] += factor * right;
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++) {
        *(lanes *)(c + (size_t)i * c_row) = sum[i][0];
        *(lanes *)(c + (size_t)i * c_row + lane_count) = sum[i][1];
    }
}

/* The same where fewer than `columns` columns of c are left: on a copy, so that nothing beyond them is touched. */
INLINE void multiply_edge(int rows, int inner, const float *a, size_t a_row, size_t a_column, const float *panel, float *c,
                          size_t c_row, int left)
{
    float tile[4 * columns] = {0};
    for (int i = 0; i < rows; i++)
        memcpy(tile + i * columns, c + (size_t)i * c_row, (size_t)left * sizeof(float));
    multiply_rows(rows, inner, a, a_row, a_column, panel, tile, columns);
    for (int i = 0; i < rows; i++)
        memcpy(c + (size_t)i * c_row, tile + i * columns, (size_t)left * sizeof(float));
}

INLINE void multiply_panel(int rows, int m, int inner, const float *a, size_t a_row, size_t a_column, const float *panel, float *c,
                           size_t c_row, int left)
{
    int i = 0;
    for (; i + rows <= m; i += rows) {
        if (left >= columns)
            multiply_rows(rows, inner, a + (size_t)i * a_row, a_row, a_column, panel, c + (size_t)i * c_row, c_row);
        else
            multiply_edge(rows, inner, a + (size_t)i * a_row, a_row, a_column, panel, c + (size_t)i * c_row, c_row, left);
    }
    for (; i < m; i++)
        multiply_edge(1, inner, a + (size_t)i * a_row, a_row, a_column, panel, c + (size_t)i * c_row, c_row,
                      left < columns ? left : columns);
}

typedef void panel_function(int m, int inner, const float *a, size_t a_row, size_t a_column, const float *panel, float *c,
                            size_t c_row, int left);

static void panel_baseline(int m, int inner, const float *a, size_t a_row, size_t a_column, const float *panel, float *c,
                           size_t c_row, int left)
{
    multiply_panel(2, m, inner, a, a_row, a_column, panel, c, c_row, left); /* 2 x 16 sums fill half of 16 registers of 4 floats */
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static void panel_avx2(int m, int inner, const float *a, size_t a_row, size_t a_column,
                                                       const float *panel, float *c, size_t c_row, int left)
{
    multiply_panel(4, m, inner, a, a_row, a_column, panel, c, c_row, left);
}
#endif

static panel_function *choose_panel(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2"))
        return panel_avx2;
#endif
    return panel_baseline;
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

static void pack_panel(bool transpose, const float *b, int ldb, int first_row, int inner, int first_column, int left, float alpha,
                       float *panel)
{
    size_t row = transpose ? 1 : (size_t)ldb, column = transpose ? (size_t)ldb : 1;
    const float *corner = b + (size_t)first_row * row + (size_t)first_column * column;
    if (left < columns)
        memset(panel, 0, (size_t)inner * columns * sizeof(float));
    for (int j = 0; j < left && j < columns; j++)
        for (int x = 0; x < inner; x++)
            panel[x * columns + j] = alpha * corner[(size_t)x * row + (size_t)j * column];
}

void kernel_naive_sgemm(bool transpose_a, bool transpose_b, int m, int n, int k, float alpha, const float *a, int lda,
                        const float *b, int ldb, float beta, float *c, int ldc)
{
    panel_function *multiply = choose_panel();
    size_t a_row = transpose_a ? 1 : (size_t)lda, a_column = transpose_a ? (size_t)lda : 1;
    float panel[inner_block * columns] __attribute__((aligned(64)));
    if (beta != 1.0f)
        scale_matrix(m, n, beta, c, ldc);
    for (int j = 0; j < n; j += columns)
        for (int x = 0; x < k; x += inner_block) {
            int inner = k - x < inner_block ? k - x : inner_block;
            pack_panel(transpose_b, b, ldb, x, inner, j, n - j, alpha, panel);
            multiply(m, inner, a + (size_t)x * a_column, a_row, a_column, panel, c + j, (size_t)ldc, n - j);
        }
}
