/* agents/mixing/spectrum.h: eigenvalues of symmetric matrices, and of the Laplacians of graphs between workers.
 *
 * L = D - A: degrees on the diagonal, -1 for each edge. Its least eigenvalue is 0; the second, lambda_2, is above 0 exactly where
 * the graph holds together. Rings, tori and complete graphs have closed forms:
 *
 *     ring of n       4 sin^2(pi k / n), k = 0 .. n-1 (n = 2, one edge: 0 and 2)
 *     torus           sums of one of each of its two rings
 *     complete        0 and, n-1 times, n
 *
 * and need no library: the sine is detmath.h's, so that they are the same bits on every machine. Graphs of a file go to LAPACK
 * (dsyevd), whose last bits may differ from machine to machine: what is made of its results and steers a trial is rounded to a grid
 * that is coarser by many orders of magnitude (mixing.h, matching_budget.h). In the controller alone, once a cell. */
#ifndef LAGGARD_AGENTS_MIXING_SPECTRUM_H
#define LAGGARD_AGENTS_MIXING_SPECTRUM_H

#include "agents/mixing/graph.h"

struct err;

enum { SPECTRUM_WORKERS_MOST = 1024 }; /* of a graph whose eigenvalues are computed: a second at most */

struct spectrum {
    double second, largest; /* lambda_2, lambda_n; both 0 for one worker */
};
/* Of a graph's Laplacian. */
int spectrum_of_graph(const struct graph *graph, struct spectrum *spectrum, struct err *err);

/* Eigenvalues, ascending, of a symmetric matrix (size x size); with `vectors` the matrix becomes the orthonormal eigenvectors,
 * vector k at matrix + k * size, else it is overwritten. */
int spectrum_eigen(double *matrix, int size, bool vectors, double *values, struct err *err);
/* Adds weight times the Laplacian of one edge. */
void spectrum_add_edge(double *matrix, int size, struct worker_edge edge, double weight);

#endif
