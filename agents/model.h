/* agents/model.h: trainable models behind one interface. A model is a flat vector of float32 parameters (layer after layer, weights
 * row-major [outputs][inputs], then biases) and functions on it. One row of the model table a kind. */
#ifndef LAGGARD_AGENTS_MODEL_H
#define LAGGARD_AGENTS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "schemas/settings.h"

struct arena;
struct dataset;
struct err;
struct model;

/* dataset may be NULL for MODEL_SYNTHETIC; otherwise it must outlive the model. maximum_batch sizes the work space, so that
 * gradients allocate nothing. */
struct model *model_new(const struct workload_settings *workload, const struct dataset *dataset, int maximum_batch,
                        struct arena *arena, struct err *err);
/* A layer's weights within the parameters: rows x columns floats from `first` on, row-major. */
struct model_matrix {
    size_t first, rows, columns;
};
enum { MODEL_MATRICES_MAX = LAYERS_MAX + 1 };
/* In the order of the parameters; returns how many (0: the model is a vector without structure). Needs no data either. */
int model_matrices_of(const struct workload_settings *workload, struct model_matrix matrices[MODEL_MATRICES_MAX]);
/* Floats of the model; needs no data: for plans and predictions, too. Inputs and classes are the data set's. */
size_t model_parameter_count_of(const struct workload_settings *workload);
/* Layers as ranges of parameters, in the order in which backward finishes them (last layer first). */
int model_part_count(const struct model *model);
void model_part(const struct model *model, int part, size_t *first, size_t *count);
/* Glorot-uniform weights, zero biases. Synthetic: zeros. */
void model_initialise(const struct model *model, struct rng *rng, float *parameters);
/* Mean gradient and mean loss (cross-entropy, nats) over the samples indexes[0..count), 1 <= count <= maximum_batch. Calls
 * part_done after each part, when not NULL: from then on that part of `gradient` does not change. The same inputs give the same
 * bits with the same kernel. Not for MODEL_SYNTHETIC, whose gradients belong to a worker and a step: agents/synthetic.h. */
double model_gradient(struct model *model, const float *parameters, const uint32_t *indexes, int count, float *gradient,
                      void (*part_done)(void *context, int part), void *context);
/* Whether gradients are of labels turned around from now on: classes - 1 - label. Evaluations never are. */
void model_turn_labels(struct model *model, bool turned);
/* Over a whole split; accuracy 0 .. 1. Synthetic: both NAN. */
void model_evaluate(struct model *model, const float *parameters, const struct dataset *dataset, double *loss, double *accuracy);

/* Matrix kernels: OpenBLAS once blas_load() found it, else a naive one in fixed order (for where results must be equal to the bit
 * on every machine: such a process does not call blas_load()). blas_load(): dlopen of OpenBLAS on one thread; description:
 * "OpenBLAS 0.3.21 Haswell". ERR_HOST with the remedy when there is none: the naive kernel stays, and the caller decides. Call it
 * before threads start (it sets OPENBLAS_NUM_THREADS). */
int blas_load(const char **description, struct err *err);
/* Any function of OpenBLAS, with the LAPACK inside it; NULL with a sentence: there is none. Changes nothing about the kernel. */
typedef void blas_any_function(void);
blas_any_function *blas_function(const char *name, struct err *err);
const char *blas_description(void); /* of the kernel in use: as above, or "naive kernel" */
void blas_sgemm(bool transpose_a, bool transpose_b, int m, int n, int k, float alpha, const float *a, int lda, const float *b,
                int ldb, float beta, float *c, int ldc); /* row-major */

#endif
