/* workload_run.c: real gradients: what the compute thread does for a task, and the falsification of what comes out. */
#include <string.h>

#include "agents/byzantine.h"
#include "agents/model.h"
#include "agents/vector.h"
#include "agents/workload_internal.h"
#include "base/clock.h"

static bool given_up(const struct work *work)
{
    return work->stop && atomic_load_explicit(work->stop, memory_order_relaxed);
}

/* Whether this node's gradients are falsified (agents/byzantine.h). */
static bool falsifies(const struct workload *workload)
{
    return workload->options.role == ROLE_WORKER && workload->falsifies[workload->options.role_index];
}

static void falsify_layer(const struct workload *workload, const struct work *work, int layer)
{
    size_t first, count;
    model_part(workload->model, layer, &first, &count);
    byzantine_falsify(
        &workload->options.settings->byzantine,
        &(struct byzantine_layer){
            .seed = workload->options.seed, .step = work->task.step, .worker = workload->options.role_index, .layer = layer},
        work->task.gradient + first, count);
}

static void falsify_all(const struct workload *workload, const struct work *work)
{
    for (int layer = 0; layer < model_part_count(workload->model) && falsifies(workload); layer++)
        falsify_layer(workload, work, layer);
}

struct falsification {
    const struct workload *workload;
    const struct work *work;
};

/* Before anybody hears that the layer is there. */
static void layer_done_falsified(void *context, int layer)
{
    const struct falsification *falsification = context;
    const struct work *work = falsification->work;
    falsify_layer(falsification->workload, work, layer);
    if (work->layer_done)
        work->layer_done(work->context, layer);
}

static void run_gradient(struct workload *workload, struct work *work)
{
    const int batch = workload->options.settings->batch;
    struct falsification falsification = {workload, work};
    const bool honest = !falsifies(workload);
    workload_draw_batch(workload, workload->options.role_index, work->task.step, batch);
    work->loss = model_gradient(workload->model, work->task.model, workload->batch, batch, work->task.gradient,
                                honest ? work->layer_done : layer_done_falsified, honest ? work->context : &falsification);
    work->samples_done = batch;
}

/* Adds weight x the gradient of batch[0..count) to the result; the first call writes it. */
static void accumulate(struct workload *workload, struct model *model, struct work *work, int count, float weight, bool first)
{
    float *sum = work->task.gradient, *gradient = first ? sum : workload->scratch;
    double loss = model_gradient(model, work->task.model, workload->batch, count, gradient, NULL, NULL);
    if (first && weight != 1)
        vector_scale(sum, weight, sum, workload->parameter_count);
    else if (!first && weight == 1)
        vector_add(sum, sum, gradient, workload->parameter_count);
    else if (!first)
        vector_axpy(sum, weight, gradient, workload->parameter_count);
    work->loss += loss;
    work->samples_done += count;
}

static void run_partitions(struct workload *workload, struct work *work)
{
    const struct task *task = &work->task;
    int batch = workload->options.settings->batch;
    work->loss = 0;
    work->samples_done = 0;
    for (int i = 0; i < task->partition_count && !given_up(work); i++) {
        workload_draw_batch(workload, task->partitions[i], task->step, batch);
        accumulate(workload, workload->model, work, batch, task->weights ? task->weights[i] : 1, i == 0);
    }
    if (task->partition_count > 0)
        work->loss /= task->partition_count;
    falsify_all(workload, work);
}

/* A mean over batches of unequal size: each is weighted by its share so far. */
static void run_mean(struct workload *workload, struct model *model, struct work *work, int count)
{
    const struct task *task = &work->task;
    size_t floats = workload->parameter_count;
    bool first = work->samples_done == 0;
    float *gradient = first ? task->gradient : workload->scratch;
    double loss = model_gradient(model, task->model, workload->batch, count, gradient, NULL, NULL);
    double share = (double)count / (double)(work->samples_done + count);
    if (!first) {
        vector_scale(task->gradient, (float)(1 - share), task->gradient, floats);
        vector_axpy(task->gradient, (float)share, workload->scratch, floats);
    }
    work->loss += share * (loss - work->loss);
    work->samples_done += count;
}

static void run_samples(struct workload *workload, struct work *work)
{
    const int batch = workload->options.settings->batch;
    const int64_t cap = work->samples >= 0 ? work->samples : work->task.sample_cap > 0 ? work->task.sample_cap : INT64_MAX;
    const int unhurried = batch < 8 ? 1 : batch / 8; /* without a drawn time the clock is looked at this often */
    work->loss = 0;
    work->samples_done = 0;
    while (work->samples_done < cap && !given_up(work)) {
        if (work->samples < 0 && clock_now_ns() >= work->stop_at_ns)
            break;
        int64_t left = cap - work->samples_done;
        int wanted = work->samples < 0 ? unhurried : batch;
        int count = left < wanted ? (int)left : wanted;
        /* The first ones are those of the step's mini-batch; behind it, what comes after so many samples is drawn anew. */
        workload_draw_batch(workload, workload->options.role_index, work->task.step | (uint64_t)work->samples_done << 40, count);
        run_mean(workload, workload->model, work, count);
    }
    if (work->samples_done == 0)
        memset(work->task.gradient, 0, workload->parameter_count * sizeof(float));
    falsify_all(workload, work);
}

static void run_validation(struct workload *workload, struct work *work)
{
    work->loss = 0;
    work->samples_done = 0;
    while (work->samples_done < workload->validation_count && !given_up(work)) {
        int left = workload->validation_count - (int)work->samples_done;
        int count = left < workload->options.settings->batch ? left : workload->options.settings->batch;
        memcpy(workload->batch, workload->validation + work->samples_done, (size_t)count * sizeof(uint32_t));
        run_mean(workload, workload->test_model, work, count);
    }
}

static void run_matrix_block(struct workload *workload, struct work *work)
{
    (void)workload;
    const struct task *task = &work->task;
    blas_sgemm(false, false, task->rows, task->columns, task->inner, 1, task->left, task->inner, task->right, task->columns, 0,
               task->gradient, task->columns);
}

void workload_run(struct workload *workload, struct work *work)
{
    static void (*const run[TASK_KIND_COUNT])(struct workload *, struct work *) = {
        [TASK_GRADIENT] = run_gradient,     [TASK_GRADIENT_PARTITIONS] = run_partitions, [TASK_SAMPLES] = run_samples,
        [TASK_VALIDATION] = run_validation, [TASK_MATRIX_BLOCK] = run_matrix_block,
    };
    if (work->task.kind != TASK_MATRIX_BLOCK)
        model_turn_labels(workload->model,
                          falsifies(workload) && workload->options.settings->byzantine.attack == ATTACK_LABEL_FLIP);
    run[work->task.kind](workload, work);
}

void workload_evaluate(struct workload *workload, const float *model, double *loss, double *accuracy, uint64_t *sample_count)
{
    model_evaluate(workload->test_model, model, &workload->test, loss, accuracy);
    *sample_count = workload->test.sample_count;
}
