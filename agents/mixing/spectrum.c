/* agents/mixing/spectrum.c: eigenvalues by closed forms and by LAPACK; see spectrum.h.
 *
 * LAPACK is the one inside OpenBLAS, opened at run time (agents/blas.c says why and where): no program that needs no eigenvalues
 * loads it. */
#include "agents/mixing/spectrum.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "agents/model.h"
#include "base/cleanup.h"
#include "base/detmath.h"
#include "base/err.h"

/* Fortran's dsyevd: arguments by reference, the lengths of the two strings behind them. */
typedef void dsyevd_function(const char *vectors, const char *triangle, const int *size, double *matrix, const int *leading,
                             double *values, double *work, const int *work_size, int *integers, const int *integer_count, int *info,
                             size_t vectors_length, size_t triangle_length);

/* ---- closed forms ---- */

static struct spectrum of_ring(int size)
{
    if (size < 3)
        return (struct spectrum){.second = size == 2 ? 2 : 0, .largest = size == 2 ? 2 : 0};
    const int half = size / 2;
    const double first = detmath_sin_turns(1.0 / (2.0 * size)), last = detmath_sin_turns(half / (2.0 * size));
    return (struct spectrum){.second = 4 * first * first, .largest = 4 * last * last};
}

static struct spectrum of_grid(const struct graph *graph)
{
    const struct spectrum rows = of_ring(graph->rows), columns = of_ring(graph->columns);
    const double second = graph->rows == 1 ? columns.second : fmin(rows.second, columns.second);
    return (struct spectrum){.second = second, .largest = rows.largest + columns.largest};
}

/* ---- LAPACK ---- */

int spectrum_eigen(double *matrix, int size, bool vectors, double *values, struct err *err)
{
    dsyevd_function *dsyevd = (dsyevd_function *)blas_function("dsyevd_", err);
    if (!dsyevd)
        return err_wrap(err, "eigenvalues of a graph between %d workers", size);
    double work_wanted;
    int integers_wanted, info = 0;
    const int ask = -1;
    const char *what = vectors ? "V" : "N";
    dsyevd(what, "L", &size, matrix, &size, values, &work_wanted, &ask, &integers_wanted, &ask, &info, 1, 1);
    const int work_size = (int)work_wanted;
    cleanup(free_pointer) double *work = malloc((size_t)work_size * sizeof(*work));
    cleanup(free_pointer) int *integers = malloc((size_t)integers_wanted * sizeof(*integers));
    if (!work || !integers)
        return err_set_errno(err, ERR_HOST, ENOMEM, "cannot compute the eigenvalues of a graph between %d workers", size);
    dsyevd(what, "L", &size, matrix, &size, values, work, &work_size, integers, &integers_wanted, &info, 1, 1);
    if (info != 0)
        return err_set(err, ERR_HOST, "the eigenvalues of a graph between %d workers: LAPACK's dsyevd gave up (info %d)", size,
                       info);
    return 0;
}

void spectrum_add_edge(double *matrix, int size, struct worker_edge edge, double weight)
{
    const size_t low = (size_t)edge.low, high = (size_t)edge.high, row = (size_t)size;
    matrix[low * row + low] += weight;
    matrix[high * row + high] += weight;
    matrix[low * row + high] -= weight;
    matrix[high * row + low] -= weight;
}

static int of_file(const struct graph *graph, struct spectrum *spectrum, struct err *err)
{
    const int size = graph->workers;
    cleanup(free_pointer) double *matrix = calloc((size_t)size * (size_t)size, sizeof(*matrix));
    cleanup(free_pointer) double *values = malloc((size_t)size * sizeof(*values));
    if (!matrix || !values)
        return err_set_errno(err, ERR_HOST, ENOMEM, "cannot compute the eigenvalues of a graph between %d workers", size);
    for (int i = 0; i < graph->edge_count; i++)
        spectrum_add_edge(matrix, size, graph_file_edge(graph, i), 1);
    int result = spectrum_eigen(matrix, size, false, values, err);
    if (result == 0)
        *spectrum = (struct spectrum){.second = values[1], .largest = values[size - 1]};
    return result;
}

int spectrum_of_graph(const struct graph *graph, struct spectrum *spectrum, struct err *err)
{
    const int workers = graph->workers;
    if (graph->shape == GRAPH_COMPLETE || workers == 1)
        *spectrum = (struct spectrum){.second = workers == 1 ? 0 : workers, .largest = workers == 1 ? 0 : workers};
    else if (graph->shape == GRAPH_FILE)
        return of_file(graph, spectrum, err);
    else
        *spectrum = of_grid(graph);
    return 0;
}
