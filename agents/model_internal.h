/* agents/model_internal.h: what model.c and the kinds of model share: the operations of one kind, and the naive matrix kernel. */
#ifndef LAGGARD_AGENTS_MODEL_INTERNAL_H
#define LAGGARD_AGENTS_MODEL_INTERNAL_H

#include "agents/model.h"

struct model;

/* Every kind's struct begins with this. */
struct model {
    const struct model_ops *ops;
    size_t parameter_count;
    int part_count;
    bool turned_labels; /* gradients are of label classes - 1 - l in place of l */
};

struct model_ops {
    size_t (*parameter_count)(const struct workload_settings *workload);
    int (*matrices)(const struct workload_settings *workload, struct model_matrix *matrices); /* NULL: it has none */
    int (*create)(const struct workload_settings *workload, const struct dataset *dataset, int maximum_batch, struct arena *arena,
                  struct model **model, struct err *err);
    void (*part)(const struct model *model, int part, size_t *first, size_t *count);
    void (*initialise)(const struct model *model, struct rng *rng, float *parameters);
    double (*gradient)(struct model *model, const float *parameters, const uint32_t *indexes, int count, float *gradient,
                       void (*part_done)(void *context, int part), void *context);
    void (*evaluate)(struct model *model, const float *parameters, const struct dataset *dataset, double *loss, double *accuracy);
};
extern const struct model_ops model_softmax_ops, model_mlp_ops, model_synthetic_ops;

/* The same contract as blas_sgemm(). Every element is a sum in ascending order of the inner index, whatever the machine. */
void kernel_naive_sgemm(bool transpose_a, bool transpose_b, int m, int n, int k, float alpha, const float *a, int lda,
                        const float *b, int ldb, float beta, float *c, int ldc);

#endif
