/* agents/kernel_naive_panel.h: the inner loops of kernel_naive.c, which includes this file once for each kind of processor, after
 * defining PANEL(name) (a prefix), TARGET (an attribute or nothing), LANES (floats in a vector) and ROWS (rows of c at a time:
 * their sums must fit into the registers). No guard: it is meant to be included more than once. */

typedef float PANEL(vector) __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float)), may_alias));

/* c[count][columns] += a[count][inner] panel[inner][columns]; count is ROWS or 1. */
TARGET static inline __attribute__((always_inline)) void PANEL(rows)(int count, int inner, const float *a, size_t a_row,
                                                                     size_t a_column, const float *panel, float *c, size_t c_row)
{
    enum { VECTORS = columns / LANES };
    PANEL(vector) sum[ROWS][VECTORS];
#pragma GCC unroll 4
    for (int i = 0; i < count; i++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++)
            sum[i][v] = *(const PANEL(vector) *)(c + (size_t)i * c_row + v * LANES);
    for (int x = 0; x < inner; x++)
#pragma GCC unroll 4
        for (int i = 0; i < count; i++) {
            float factor = a[(size_t)i * a_row + (size_t)x * a_column];
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++)
                sum[i][v] += factor * *(const PANEL(vector) *)(panel + x * columns + v * LANES);
        }
#pragma GCC unroll 4
    for (int i = 0; i < count; i++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++)
            *(PANEL(vector) *)(c + (size_t)i * c_row + v * LANES) = sum[i][v];
}

/* The same where fewer than `columns` columns of c are left: on a copy, so that nothing beyond them is touched. */
TARGET static inline __attribute__((always_inline)) void PANEL(edge)(int count, int inner, const float *a, size_t a_row,
                                                                     size_t a_column, const float *panel, float *c, size_t c_row,
                                                                     int left)
{
    float tile[ROWS * columns] = {0};
    for (int i = 0; i < count; i++)
        memcpy(tile + i * columns, c + (size_t)i * c_row, (size_t)left * sizeof(float));
    PANEL(rows)(count, inner, a, a_row, a_column, panel, tile, columns);
    for (int i = 0; i < count; i++)
        memcpy(c + (size_t)i * c_row, tile + i * columns, (size_t)left * sizeof(float));
}

/* c[m][width] += a[m][inner] panel[inner][columns], width <= columns */
TARGET static void PANEL(multiply)(int m, int inner, const float *a, size_t a_row, size_t a_column, const float *panel, float *c,
                                   size_t c_row, int width)
{
    int i = 0;
    for (; i + ROWS <= m && width == columns; i += ROWS)
        PANEL(rows)(ROWS, inner, a + (size_t)i * a_row, a_row, a_column, panel, c + (size_t)i * c_row, c_row);
    for (; i + ROWS <= m; i += ROWS)
        PANEL(edge)(ROWS, inner, a + (size_t)i * a_row, a_row, a_column, panel, c + (size_t)i * c_row, c_row, width);
    for (; i < m; i++)
        PANEL(edge)(1, inner, a + (size_t)i * a_row, a_row, a_column, panel, c + (size_t)i * c_row, c_row, width);
}

#undef PANEL
#undef TARGET
#undef LANES
#undef ROWS
