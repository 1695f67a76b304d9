/* model_synthetic.c: the model of the synthetic workload: a parameter vector of any size in one part, without data and without
 * learning. Its gradients belong to a worker and a step, not to samples, and are made and checked in synthetic.c. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "agents/model_internal.h"
#include "base/arena.h"
#include "base/err.h"

static size_t parameter_count(const struct workload_settings *workload)
{
    uint64_t largest = workload->size_bytes;
    for (int i = 0; i < workload->sizes.count; i++)
        largest = workload->sizes.bytes[i] > largest ? workload->sizes.bytes[i] : largest;
    return (size_t)(largest / sizeof(float));
}

static int create(const struct workload_settings *workload, const struct dataset *dataset, int maximum_batch, struct arena *arena,
                  struct model **model, struct err *err)
{
    (void)dataset;
    (void)maximum_batch;
    if (workload->size_bytes < sizeof(float) || workload->size_bytes % sizeof(float) != 0)
        return err_set(err, ERR_USAGE, "model synthetic: the size is %llu bytes, a multiple of 4 from 4 on is needed",
                       (unsigned long long)workload->size_bytes);
    *model = arena_new_object(arena, struct model);
    (*model)->parameter_count = parameter_count(workload);
    (*model)->part_count = 1;
    return 0;
}

static void part(const struct model *model, int part_index, size_t *first, size_t *count)
{
    (void)part_index;
    *first = 0;
    *count = model->parameter_count;
}

static void initialise(const struct model *model, struct rng *rng, float *parameters)
{
    (void)rng;
    memset(parameters, 0, model->parameter_count * sizeof(float));
}

static double gradient_of(struct model *model, const float *parameters, const uint32_t *indexes, int count, float *gradient,
                          void (*part_done)(void *, int), void *context)
{
    (void)model, (void)parameters, (void)indexes, (void)count, (void)gradient, (void)part_done, (void)context;
    assert(!"a synthetic gradient belongs to a worker and a step: synthetic_fill()");
    return NAN;
}

static void evaluate(struct model *model, const float *parameters, const struct dataset *dataset, double *loss, double *accuracy)
{
    (void)model, (void)parameters, (void)dataset;
    *loss = *accuracy = NAN; /* nothing is learnt */
}

const struct model_ops model_synthetic_ops = {.parameter_count = parameter_count,
                                              .create = create,
                                              .part = part,
                                              .initialise = initialise,
                                              .gradient = gradient_of,
                                              .evaluate = evaluate};
