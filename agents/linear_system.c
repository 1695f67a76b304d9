/* agents/linear_system.c: Gaussian elimination with the largest pivot of each column; see linear_system.h.
 *
 * Example: 0 x + 2 y = 4, 1 x + 1 y = 3. The first column's largest entry stands in the second row: rows change places, y = 2, x =
 * 1. */
#include "agents/linear_system.h"

#include <float.h>
#include <math.h>

static void swap_rows(double *matrix, double *right, int size, int a, int b)
{
    if (a == b)
        return;
    for (int column = 0; column < size; column++) {
        const double entry = matrix[a * size + column];
        matrix[a * size + column] = matrix[b * size + column];
        matrix[b * size + column] = entry;
    }
    const double entry = right[a];
    right[a] = right[b];
    right[b] = entry;
}

static int pivot_row(const double *matrix, int size, int column)
{
    int best = column;
    for (int row = column + 1; row < size; row++)
        if (fabs(matrix[row * size + column]) > fabs(matrix[best * size + column]))
            best = row;
    return best;
}

static double largest_entry(const double *matrix, int size)
{
    double largest = 0;
    for (int i = 0; i < size * size; i++)
        largest = fmax(largest, fabs(matrix[i]));
    return largest;
}

bool linear_system_solve(double *matrix, double *right, int size)
{
    const double least = largest_entry(matrix, size) * size * DBL_EPSILON;
    for (int column = 0; column < size; column++) {
        swap_rows(matrix, right, size, column, pivot_row(matrix, size, column));
        const double pivot = matrix[column * size + column];
        if (!(fabs(pivot) > least)) /* also not a number */
            return false;
        for (int row = column + 1; row < size; row++) {
            const double share = matrix[row * size + column] / pivot;
            for (int k = column; k < size; k++)
                matrix[row * size + k] -= share * matrix[column * size + k];
            right[row] -= share * right[column];
        }
    }
    for (int row = size - 1; row >= 0; row--) {
        for (int k = row + 1; k < size; k++)
            right[row] -= matrix[row * size + k] * right[k];
        right[row] /= matrix[row * size + row];
    }
    return true;
}
