/* model.c: the table of models and the calls that go through it. */
#include "agents/model_internal.h"

#include <assert.h>

static const struct model_ops *const table[] = {
    [MODEL_SOFTMAX] = &model_softmax_ops,
    [MODEL_MLP] = &model_mlp_ops,
    [MODEL_SYNTHETIC] = &model_synthetic_ops,
};
static_assert(sizeof(table) / sizeof(table[0]) == MODEL_COUNT, "one row a model");

struct model *model_new(const struct workload_settings *workload, const struct dataset *dataset, int maximum_batch,
                        struct arena *arena, struct err *err)
{
    struct model *model = NULL;
    const struct model_ops *ops = table[workload->model];
    if (ops->create(workload, dataset, maximum_batch, arena, &model, err) < 0)
        return NULL;
    model->ops = ops;
    return model;
}

size_t model_parameter_count_of(const struct workload_settings *workload)
{
    return table[workload->model]->parameter_count(workload);
}

int model_matrices_of(const struct workload_settings *workload, struct model_matrix matrices[MODEL_MATRICES_MAX])
{
    const struct model_ops *ops = table[workload->model];
    return ops->matrices ? ops->matrices(workload, matrices) : 0;
}

int model_part_count(const struct model *model)
{
    return model->part_count;
}

void model_part(const struct model *model, int part, size_t *first, size_t *count)
{
    assert(part >= 0 && part < model->part_count);
    model->ops->part(model, part, first, count);
}

void model_initialise(const struct model *model, struct rng *rng, float *parameters)
{
    model->ops->initialise(model, rng, parameters);
}

double model_gradient(struct model *model, const float *parameters, const uint32_t *indexes, int count, float *gradient,
                      void (*part_done)(void *context, int part), void *context)
{
    return model->ops->gradient(model, parameters, indexes, count, gradient, part_done, context);
}

void model_turn_labels(struct model *model, bool turned)
{
    model->turned_labels = turned;
}

void model_evaluate(struct model *model, const float *parameters, const struct dataset *dataset, double *loss, double *accuracy)
{
    model->ops->evaluate(model, parameters, dataset, loss, accuracy);
}
