/* tests/unit/memory_world_node.c: what a node of the in-memory world may do besides messages: tasks, timers, vectors, reports. */
#include "agents/vector.h"
#include "tests/unit/memory_world_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* after node.h: its macro fail() hides the member */

/* ---- tasks and timers ---- */

/* What the task reads: the model, or both factors. */
static size_t input_bytes(const struct node *node, const struct task *task, size_t bytes[2])
{
    const bool product = task->kind == TASK_MATRIX_BLOCK;
    bytes[0] = sizeof(float) * (product ? (size_t)task->rows * (size_t)task->inner : node->setup->parameter_count);
    bytes[1] = sizeof(float) * (product ? (size_t)task->inner * (size_t)task->columns : 0);
    return bytes[0] + bytes[1];
}

static const void *input_of(const struct task *task, int which)
{
    return task->kind != TASK_MATRIX_BLOCK ? task->model : which == 0 ? task->left : task->right;
}

static size_t output_floats(const struct node *node, const struct task *task)
{
    return task->kind == TASK_MATRIX_BLOCK ? (size_t)task->rows * (size_t)task->columns : node->setup->parameter_count;
}

static uint32_t world_compute(struct node *node, const struct task *task)
{
    struct memory_node *worker = memory_node(node);
    struct memory_world *world = worker->world;
    size_t bytes[2], total = input_bytes(node, task, bytes);
    assert_null(worker->input_copy);
    assert_true(task->kind == TASK_GRADIENT || task->kind == TASK_MATRIX_BLOCK ||
                (task->kind == TASK_GRADIENT_PARTITIONS && task->partition_count > 0) ||
                (task->kind == TASK_SAMPLES && world->settings.samples) ||
                (task->kind == TASK_VALIDATION && world->settings.validation));
    assert_true(task->kind != TASK_SAMPLES || task->deadline_ns > world->now_ns);
    worker->task = *task;
    worker->generation++;
    worker->input_copy = malloc(total ? total : 1);
    assert_non_null(worker->input_copy);
    if (input_of(task, 0))
        memcpy(worker->input_copy, input_of(task, 0), bytes[0]);
    if (bytes[1] > 0)
        memcpy(worker->input_copy + bytes[0], input_of(task, 1), bytes[1]);
    memset(task->gradient, 0xff, output_floats(node, task) * sizeof(float));
    int64_t at_ns =
        world->settings.immediate_compute ? world->now_ns : memory_world_some_time(world) + rng_below(&world->rng, 20000);
    memory_world_push(world,
                      (struct event){.at_ns = at_ns, .kind = EVENT_TASK, .node = node->index, .generation = worker->generation});
    return worker->generation;
}

/* Work that is given up may still write, until the next task begins. */
static void world_cancel(struct node *node, uint32_t generation)
{
    struct memory_node *worker = memory_node(node);
    if (worker->generation != generation || !worker->input_copy)
        return;
    if (worker->task.kind == TASK_MATRIX_BLOCK)
        memset(worker->task.gradient, 0xff, output_floats(node, &worker->task) * sizeof(float));
    free(worker->input_copy);
    worker->input_copy = NULL;
}

/* A gradient, or the weighted sum of those of the task's partitions in their order. */
static void write_gradient(struct memory_world *world, const struct node *node, const struct task *task)
{
    const struct memory_world_settings *settings = &world->settings;
    const size_t count = node->setup->parameter_count;
    if (task->kind == TASK_VALIDATION) {
        settings->validation(settings->context, task->model, task->gradient);
        return;
    }
    const bool sum = task->kind == TASK_GRADIENT_PARTITIONS;
    settings->gradient(settings->context, sum ? task->partitions[0] : node->role_index, task->step, task->model, task->gradient);
    for (size_t k = 0; sum && task->weights && k < count; k++)
        task->gradient[k] *= task->weights[0];
    float *other = sum ? malloc(count * sizeof(*other)) : NULL;
    for (int i = 1; sum && i < task->partition_count; i++) {
        assert_non_null(other);
        settings->gradient(settings->context, task->partitions[i], task->step, task->model, other);
        for (size_t k = 0; k < count; k++)
            task->gradient[k] += (task->weights ? task->weights[i] : 1) * other[k];
    }
    free(other);
}

static void do_task(struct memory_world *world, const struct node *node, const struct task *task)
{
    if (task->kind == TASK_MATRIX_BLOCK)
        blas_sgemm(false, false, task->rows, task->columns, task->inner, 1, task->left, task->inner, task->right, task->columns, 0,
                   task->gradient, task->columns);
    else
        write_gradient(world, node, task);
}

void memory_world_end_task(struct memory_world *world, int index, uint32_t generation)
{
    struct memory_node *worker = &world->nodes[index];
    struct node *node = &worker->node;
    const struct task *task = &worker->task;
    size_t bytes[2];
    if (!worker->input_copy || worker->generation != generation)
        return;
    input_bytes(node, task, bytes);
    if (input_of(task, 0) && memcmp(worker->input_copy, input_of(task, 0), bytes[0]) != 0)
        fail_msg("node %d changed its model while a gradient was computed at it", index);
    if (bytes[1] > 0 && memcmp(worker->input_copy + bytes[0], input_of(task, 1), bytes[1]) != 0)
        fail_msg("node %d changed a factor while a product was computed of it", index);
    const int64_t samples = task->kind == TASK_SAMPLES
                                ? world->settings.samples(world->settings.context, node->role_index, task->step)
                                : node->setup->batch;
    if (samples > 0 || task->kind != TASK_SAMPLES)
        do_task(world, node, task);
    free(worker->input_copy);
    worker->input_copy = NULL;
    struct task_result result = {.generation = generation,
                                 .step = task->step,
                                 .kind = task->kind,
                                 .parts = 1,
                                 .count = output_floats(node, task),
                                 .samples = samples};
    if (world->settings.loss)
        result.loss = world->settings.loss(world->settings.context, node->role_index, task->step);
    memory_world_enter(world);
    node->setup->scheme->on_task(node, &result);
    memory_world_leave(world);
}

static int world_timer(struct node *node)
{
    assert_true(memory_node(node)->preparing && memory_node(node)->timer_count < 8);
    return memory_node(node)->timer_count++;
}

static void world_disarm(struct node *node, int timer)
{
    memory_node(node)->timer_arming[timer]++;
}

static void world_arm(struct node *node, int timer, int64_t deadline_ns)
{
    struct memory_node *owner = memory_node(node);
    int64_t now_ns = owner->world->now_ns;
    memory_world_push(owner->world, (struct event){.at_ns = deadline_ns > now_ns ? deadline_ns : now_ns,
                                                   .kind = EVENT_TIMER,
                                                   .node = node->index,
                                                   .peer = timer,
                                                   .generation = ++owner->timer_arming[timer]});
}

/* ---- the rest of the operations ---- */

static int64_t world_now(struct node *node)
{
    return memory_node(node)->world->now_ns;
}

void *memory_world_alloc(struct node *node, size_t bytes)
{
    struct memory_node *owner = memory_node(node);
    assert_true(owner->preparing && owner->allocation_count < ALLOCATIONS_MAX);
    void *memory = aligned_alloc(64, (bytes + 64) / 64 * 64);
    assert_non_null(memory);
    memset(memory, 0, (bytes + 64) / 64 * 64);
    return owner->allocations[owner->allocation_count++] = memory;
}

static void world_add(struct node *node, float *out, const float *a, const float *b, size_t count)
{
    (void)node;
    for (size_t i = 0; i < count; i++)
        out[i] = a[i] + b[i];
}

static void world_scale(struct node *node, float *out, float factor, const float *a, size_t count)
{
    (void)node;
    for (size_t i = 0; i < count; i++)
        out[i] = factor * a[i];
}

static void world_axpy(struct node *node, float *y, float factor, const float *x, size_t count)
{
    (void)node;
    for (size_t i = 0; i < count; i++)
        y[i] += factor * x[i];
}

static void world_copy(struct node *node, float *out, const float *in, size_t count)
{
    (void)node;
    memmove(out, in, count * sizeof(float));
}

static double world_dot(struct node *node, const float *a, const float *b, size_t count)
{
    (void)node;
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

static size_t world_quantise(struct node *node, int bits, const float *in, size_t count, void *out)
{
    (void)node;
    return vector_quantise(bits, in, count, out);
}

static void world_dequantise(struct node *node, int bits, const void *in, size_t count, float *out)
{
    (void)node;
    vector_dequantise(bits, in, count, out);
}

static bool world_arithmetic(struct node *node, double floats)
{
    (void)node;
    assert_true(floats >= 0);
    return true;
}

static void world_update(struct node *node, float *model, const float *sum, int contributors, size_t first, size_t count,
                         uint64_t step)
{
    const struct memory_world_settings *settings = &memory_node(node)->world->settings;
    if (model)
        world_axpy(node, model + first, -(float)(node->setup->learning_rate / contributors), sum + first, count);
    else if (settings->check)
        settings->check(settings->context, node->index, sum, contributors, first, count, step);
}

static void world_span(struct node *node, enum span_kind kind, uint64_t round, int64_t begin_ns, int64_t end_ns, int peer,
                       uint64_t bytes)
{
    (void)bytes;
    assert_true(kind < SPAN_COUNT && round < (uint64_t)node->setup->rounds);
    assert_true(begin_ns >= 0 && begin_ns <= end_ns && end_ns <= world_now(node));
    assert_true(peer >= -1 && peer < node->setup->nodes);
    memory_node(node)->result.spans[kind]++;
}

static void world_gradient(struct node *node, const struct gradient_record *record)
{
    const struct memory_world_settings *settings = &memory_node(node)->world->settings;
    assert_true(record->fate < GRADIENT_FATE_COUNT && record->worker < (uint32_t)node->setup->workers);
    assert_true(record->round <= (uint32_t)node->setup->rounds && record->arrived_ns <= world_now(node));
    memory_node(node)->result.gradients[record->fate]++;
    if (settings->gradient_told)
        settings->gradient_told(settings->context, node->index, record);
}

static void world_round_finished(struct node *node, uint64_t round)
{
    const bool leaps = node->role == ROLE_WORKER && node->setup->scheme->flags & SCHEME_ROUNDS_AT_SERVER;
    if (leaps)
        assert_true(round >= memory_node(node)->result.rounds_finished && round < (uint64_t)node->setup->rounds);
    else
        assert_int_equal(round, memory_node(node)->result.rounds_finished);
    memory_node(node)->result.rounds_finished = round + 1;
}

static void world_finished(struct node *node)
{
    assert_false(memory_node(node)->result.finished);
    memory_node(node)->result.finished = true;
}

static void world_fail(struct node *node, const char *sentence)
{
    struct memory_world *world = memory_node(node)->world;
    if (!world->failure[0])
        strncpy(world->failure, sentence, sizeof(world->failure) - 1);
}

static struct rng world_random(struct node *node, enum rng_purpose purpose, uint32_t which_node)
{
    return rng_stream(node->setup->seed, node->setup->cell, which_node, purpose);
}

static const float *world_initial_model(struct node *node)
{
    return memory_node(node)->world->settings.initial_model;
}

static void world_batch(struct node *node, uint64_t step, float *pixels, uint8_t *labels)
{
    const struct memory_world_settings *settings = &memory_node(node)->world->settings;
    assert_true(node->role == ROLE_SERVER && node->setup->scheme->flags & SCHEME_NEEDS_BATCHES);
    settings->batch(settings->context, step, pixels, labels);
}

const struct world memory_world_operations = {
    .name = "memory",
    .now = world_now,
    .alloc = memory_world_alloc,
    .compute = world_compute,
    .cancel = world_cancel,
    .buffer = memory_world_buffer,
    .wrap = memory_world_wrap,
    .hold = memory_world_hold,
    .release = memory_world_release,
    .send = memory_world_send,
    .retry = memory_world_retry,
    .timer = world_timer,
    .arm = world_arm,
    .disarm = world_disarm,
    .add = world_add,
    .scale = world_scale,
    .axpy = world_axpy,
    .copy = world_copy,
    .dot = world_dot,
    .quantise = world_quantise,
    .dequantise = world_dequantise,
    .arithmetic = world_arithmetic,
    .update = world_update,
    .span = world_span,
    .gradient = world_gradient,
    .round_finished = world_round_finished,
    .finished = world_finished,
    .fail = world_fail,
    .random = world_random,
    .initial_model = world_initial_model,
    .batch = world_batch,
};
