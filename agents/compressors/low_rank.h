/* agents/compressors/low_rank.h: a vector as matrices and what stands between them, the factors of such matrices, and the steps of
 * PowerSGD on them. Pure functions; the theory is in powersgd.c, the sending in agents/collectives/low_rank_allreduce.c.
 *
 * Left factors are vectors of as many floats as a matrix has rows, right ones of as many as it has columns, `rank` of each, one
 * after the other, matrix after matrix. What no matrix holds, or where the factors would be no smaller than the matrix, stands
 * behind the left factors as it is. */
#ifndef LAGGARD_AGENTS_COMPRESSORS_LOW_RANK_H
#define LAGGARD_AGENTS_COMPRESSORS_LOW_RANK_H

#include <stddef.h>

#include "agents/model.h"
#include "base/rng.h"

enum { LOW_RANK_MATRICES_MAX = MODEL_MATRICES_MAX, LOW_RANK_PIECES_MAX = 2 * LOW_RANK_MATRICES_MAX + 1 };

struct low_rank_matrix { /* row-major; the last row of the vector's own square may be short */
    size_t first, count, rows, columns;
    size_t rank;
    size_t left, right; /* its factors begin there */
};
struct low_rank_piece { /* sent as it is */
    size_t first, count;
    size_t left;
};
struct low_rank_plan {
    struct low_rank_matrix matrices[LOW_RANK_MATRICES_MAX];
    struct low_rank_piece pieces[LOW_RANK_PIECES_MAX];
    int matrix_count, piece_count;
    size_t count, left_floats, right_floats; /* right_floats 0: no matrix has factors */
};

/* The given matrices of a vector of `count` floats, in the order in which they stand there; with none of them the vector is one
 * matrix, as near to a square as it can be. */
void low_rank_plan(size_t rank, size_t count, const struct model_matrix *matrices, int matrix_count, struct low_rank_plan *plan);

/* left = M right of every matrix, and the pieces of `vector`. */
void low_rank_left(const struct low_rank_plan *plan, const float *vector, const float *right, float *left);
/* right = M^T left of every matrix. */
void low_rank_right(const struct low_rank_plan *plan, const float *vector, const float *left, float *right);
/* vector = left right^T of every matrix; the pieces are those of `pieces`, which is built like left. */
void low_rank_expand(const struct low_rank_plan *plan, const float *left, const float *right, const float *pieces, float *vector);
/* vector -= left right^T; the pieces, which leave nothing, become 0. */
void low_rank_subtract(const struct low_rank_plan *plan, const float *left, const float *right, float *vector);

/* The factors of each matrix become orthogonal and of length 1. One that depends on those before it becomes 0: it adds nothing. */
void low_rank_orthonormalise_left(const struct low_rank_plan *plan, float *left);
/* The same; one that depends on those before it becomes a random direction, so that the next round looks there, too. */
void low_rank_orthonormalise_right(const struct low_rank_plan *plan, float *right, struct rng *rng);

#endif
