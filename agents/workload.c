/* workload.c: data, model and batches of one node, and the tasks on them; see workload.h. */
#include "agents/workload.h"

#include <math.h>
#include <time.h>

#include "agents/dataset.h"
#include "agents/dense_rows.h"
#include "agents/model.h"
#include "agents/shards.h"
#include "agents/touched_memory.h"
#include "agents/workload_internal.h"
#include "base/clock.h"
#include "base/err.h"

enum { VALIDATION_SAMPLES = 256, MEASURED_GRADIENTS = 5 };

static int load_split(struct workload *workload, enum dataset_split split, struct dataset *dataset, struct err *err)
{
    const struct workload_options *options = &workload->options;
    if (options->dataset_fd > 0)
        return dataset_import(options->dataset_fd, split, dataset, err);
    return dataset_load(options->settings->dataset, split, options->settings->dataset_path, options->arena, dataset, err);
}

/* Every sample, worker 0's first; sizes[w]: how many are worker w's. */
static uint32_t *deal(struct workload *workload, int workers, uint32_t *sizes)
{
    const struct workload_options *options = &workload->options;
    const struct shard_rule rule = {.settings = &options->settings->shards,
                                    .seed = options->seed,
                                    .workers = workers,
                                    .least = (uint32_t)options->settings->batch};
    uint32_t *indexes = arena_new_array(options->arena, uint32_t, workload->train.sample_count);
    shards_deal(&rule, &workload->train, sizes, indexes);
    return indexes;
}

static void deal_shards(struct workload *workload)
{
    const struct workload_options *options = &workload->options;
    workload->shard_sizes = arena_new_array(options->arena, uint32_t, (size_t)options->workers);
    workload->shards = arena_new_array(options->arena, uint32_t *, (size_t)options->workers);
    uint32_t *indexes = deal(workload, options->workers, workload->shard_sizes);
    for (int w = 0; w < options->workers; w++) {
        workload->shards[w] = indexes;
        indexes += workload->shard_sizes[w];
    }
}

void workload_draw_batch(struct workload *workload, int partition, uint64_t step, int count)
{
    dataset_batch(workload->options.seed, (uint32_t)partition, step, workload->shards[partition], workload->shard_sizes[partition],
                  count, workload->batch);
}

/* CPU time, so that agents that start together do not measure each other; the smallest, so that cold caches do not count. */
static double measure_gradient(struct workload *workload)
{
    int64_t smallest = INT64_MAX;
    workload_draw_batch(workload, workload->options.role_index, 0, workload->options.settings->batch);
    for (int i = 0; i < MEASURED_GRADIENTS; i++) {
        struct timespec begin, end;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
        model_gradient(workload->model, workload->initial, workload->batch, workload->options.settings->batch, workload->scratch,
                       NULL, NULL);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
        int64_t took = (end.tv_sec - begin.tv_sec) * NS_PER_S + end.tv_nsec - begin.tv_nsec;
        smallest = took < smallest ? took : smallest;
    }
    return (double)smallest;
}

static int choose_validation(struct workload *workload)
{
    uint32_t total = workload->test.sample_count;
    int count = total < VALIDATION_SAMPLES ? (int)total : VALIDATION_SAMPLES;
    struct rng rng = rng_stream(workload->options.seed, 0, RNG_ALL_NODES, RNG_BATCH);
    workload->validation = arena_new_array(workload->options.arena, uint32_t, (size_t)count);
    for (int i = 0; i < count; i++)
        workload->validation[i] = rng_below(&rng, total);
    return count;
}

static int prepare_real(struct workload *workload, struct err *err)
{
    const struct workload_options *options = &workload->options;
    const bool worker = options->role == ROLE_WORKER, trains = worker || options->batches;
    if (options->blas) {
        struct err ignored; /* the naive kernel then computes; the description says so */
        if (blas_load(&workload->blas, &ignored) < 0)
            workload->blas = blas_description();
    }
    if ((trains && load_split(workload, SPLIT_TRAIN, &workload->train, err) < 0) ||
        load_split(workload, SPLIT_TEST, &workload->test, err) < 0)
        return -(int)(err ? err->kind : ERR_HOST);
    const struct dataset *own = worker ? &workload->train : &workload->test;
    workload->model = model_new(options->settings, own, options->settings->batch, options->arena, err);
    workload->test_model =
        workload->model ? model_new(options->settings, &workload->test, options->settings->batch, options->arena, err) : NULL;
    if (!workload->test_model)
        return -(int)(err ? err->kind : ERR_HOST);
    if (worker && workload->train.sample_count < (uint32_t)options->workers)
        return err_set(err, ERR_USAGE, "%d workers cannot share %u samples", options->workers, workload->train.sample_count);
    if (worker)
        deal_shards(workload);
    workload->batch = arena_new_array(options->arena, uint32_t, (size_t)options->settings->batch);
    workload->scratch = touched_alloc(options->arena, workload->parameter_count * sizeof(float));
    workload->initial = touched_alloc(options->arena, workload->parameter_count * sizeof(float));
    struct rng rng = rng_stream(options->seed, 0, RNG_ALL_NODES, RNG_MODEL);
    model_initialise(workload->model, &rng, workload->initial);
    workload->validation_count = choose_validation(workload);
    if (options->batches) {
        workload->drawn = arena_new_array(options->arena, uint32_t, (size_t)options->settings->batch);
        workload->whole = deal(workload, 1, &workload->whole_size);
    }
    workload->falsifies = arena_new_array(options->arena, bool, (size_t)options->workers);
    for (int i = 0; i < options->settings->byzantine.worker_count; i++)
        workload->falsifies[options->settings->byzantine.workers[i]] = true;
    if (worker && !options->unmeasured)
        workload->gradient_ns = measure_gradient(workload);
    return 0;
}

struct workload *workload_new(const struct workload_options *options, struct err *err)
{
    struct workload *workload = arena_new_object(options->arena, struct workload);
    workload->options = *options;
    workload->blas = "";
    workload->parameter_count = model_parameter_count_of(options->settings);
    workload->sort = options->settings->gradients == GRADIENTS_NONE ? SORT_NONE
                     : options->settings->model == MODEL_SYNTHETIC  ? SORT_SYNTHETIC
                                                                    : SORT_REAL;
    if (workload->parameter_count == 0) {
        err_set(err, ERR_USAGE, "the model has no parameters: a synthetic workload needs a size of at least 4 bytes");
        return NULL;
    }
    if (workload->sort == SORT_REAL && prepare_real(workload, err) < 0) {
        workload_free(workload);
        return NULL;
    }
    return workload;
}

void workload_free(struct workload *workload)
{
    if (!workload)
        return;
    dataset_release(&workload->train);
    dataset_release(&workload->test);
}

void workload_become(struct workload *workload, enum node_role role, int role_index)
{
    workload->options.role = role;
    workload->options.role_index = role_index;
}

size_t workload_parameter_count(const struct workload *workload)
{
    return workload->parameter_count;
}

bool workload_real(const struct workload *workload)
{
    return workload->sort == SORT_REAL;
}

const char *workload_blas(const struct workload *workload)
{
    return workload->blas;
}

double workload_gradient_ns(const struct workload *workload)
{
    return workload->gradient_ns;
}

const float *workload_initial_model(const struct workload *workload)
{
    return workload->initial;
}

void workload_batch(struct workload *workload, uint64_t step, float *pixels, uint8_t *labels)
{
    const struct dataset *train = &workload->train;
    const int batch = workload->options.settings->batch;
    dataset_batch(workload->options.seed, 0, step, workload->whole, workload->whole_size, batch, workload->drawn);
    for (int i = 0; i < batch; i++) {
        const size_t sample = workload->drawn[i];
        dense_rows_scale_pixels(train->pixels + sample * train->inputs, train->inputs, pixels + (size_t)i * train->inputs);
        labels[i] = train->labels[sample];
    }
}

/* ---- parts ---- */

/* Layers are consecutive ranges, the last one first, so a group of layers is one range, too. */
static void group_layers(const struct model *model, int wanted, struct work_parts *parts)
{
    int layers = model_part_count(model);
    parts->count = wanted < layers ? wanted : layers;
    for (int i = 0; i < parts->count; i++) {
        int begin = i * layers / parts->count, end = (i + 1) * layers / parts->count;
        parts->layer[i] = end - 1;
        parts->floats[i] = 0;
        for (int layer = begin; layer < end; layer++) {
            size_t count;
            model_part(model, layer, &parts->first[i], &count);
            parts->floats[i] += count;
        }
    }
}

static void cut_evenly(size_t total, int wanted, struct work_parts *parts)
{
    parts->count = (size_t)wanted < total ? wanted : (int)total;
    size_t end = total;
    for (int i = 0; i < parts->count; i++) {
        parts->first[i] = total - total * (size_t)(i + 1) / (size_t)parts->count;
        parts->floats[i] = end - parts->first[i];
        parts->layer[i] = i;
        end = parts->first[i];
    }
}

void workload_parts(const struct workload *workload, const struct task *task, struct work_parts *parts)
{
    int wanted = task->kind != TASK_GRADIENT || task->parts < 1 ? 1 : task->parts < WORK_PARTS_MAX ? task->parts : WORK_PARTS_MAX;
    size_t total = workload->parameter_count;
    if (task->kind == TASK_MATRIX_BLOCK)
        total = (size_t)task->rows * (size_t)task->columns;
    if (wanted > 1 && workload->sort == SORT_REAL)
        group_layers(workload->model, wanted, parts);
    else
        cut_evenly(total, wanted, parts);
}

double workload_cost(const struct workload *workload, const struct task *task)
{
    switch (task->kind) {
    case TASK_GRADIENT_PARTITIONS:
        return task->partition_count;
    case TASK_VALIDATION:
        return (double)VALIDATION_SAMPLES / workload->options.settings->batch;
    case TASK_GRADIENT:
    case TASK_SAMPLES:
    case TASK_MATRIX_BLOCK:
    case TASK_KIND_COUNT:
        break;
    }
    return 1;
}

struct work_samples workload_samples_in_time(const struct task *task, int batch, double window_ns, double mini_batch_ns)
{
    struct work_samples done = {.count = task->sample_cap > 0 ? task->sample_cap : INT64_MAX};
    const double cap = (double)done.count;
    if (task->deadline_ns != 0) { /* the product first: windows of whole mini-batches give whole numbers */
        const double fit = window_ns <= 0 ? 0 : mini_batch_ns > 0 ? window_ns * batch / mini_batch_ns : batch;
        done.count = fit < cap ? (int64_t)fit : done.count;
    }
    done.whole_ns = mini_batch_ns * (double)done.count / batch;
    if (task->deadline_ns != 0 && done.count != task->sample_cap)
        done.whole_ns = fmax(window_ns, 0);
    return done;
}

const char *workload_refuses(const struct workload *workload, const struct task *task)
{
    if (workload->options.role != ROLE_WORKER && task->kind != TASK_VALIDATION && task->kind != TASK_MATRIX_BLOCK)
        return "the scheme asked a server for a gradient, but servers hold no training data";
    if (task->kind == TASK_SAMPLES && task->deadline_ns == 0 && task->sample_cap == 0)
        return "the scheme asked for samples without a deadline and without a number";
    for (int i = 0; task->kind == TASK_GRADIENT_PARTITIONS && i < task->partition_count; i++)
        if (task->partitions[i] < 0 || task->partitions[i] >= workload->options.workers)
            return "the scheme asked for the gradient of a partition that does not exist";
    return NULL;
}
