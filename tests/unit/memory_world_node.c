/* tests/unit/memory_world_node.c: what a node of the in-memory world may do besides messages: tasks, timers, vectors, reports. */
#include "tests/unit/memory_world_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* after node.h: its macro fail() hides the member */

/* ---- tasks and timers ---- */

static uint32_t world_compute(struct node *node, const struct task *task)
{
    struct memory_node *worker = memory_node(node);
    struct memory_world *world = worker->world;
    assert_null(worker->model_copy);
    assert_true(task->kind == TASK_GRADIENT || (task->kind == TASK_GRADIENT_PARTITIONS && task->partition_count > 0) ||
                (task->kind == TASK_SAMPLES && world->settings.samples));
    assert_true(task->kind != TASK_SAMPLES || task->deadline_ns > world->now_ns);
    size_t bytes = node->setup->parameter_count * sizeof(float);
    worker->task = *task;
    worker->generation++;
    worker->model_copy = malloc(bytes ? bytes : 1);
    assert_non_null(worker->model_copy);
    if (task->model)
        memcpy(worker->model_copy, task->model, bytes);
    memset(task->gradient, 0xff, bytes);
    int64_t at_ns =
        world->settings.immediate_compute ? world->now_ns : memory_world_some_time(world) + rng_below(&world->rng, 20000);
    memory_world_push(world,
                      (struct event){.at_ns = at_ns, .kind = EVENT_TASK, .node = node->index, .generation = worker->generation});
    return worker->generation;
}

static void world_cancel(struct node *node, uint32_t generation)
{
    struct memory_node *worker = memory_node(node);
    if (worker->generation != generation)
        return;
    free(worker->model_copy);
    worker->model_copy = NULL;
}

/* A gradient, or the weighted sum of those of the task's partitions in their order. */
static void write_gradient(struct memory_world *world, const struct node *node, const struct task *task)
{
    const struct memory_world_settings *settings = &world->settings;
    const size_t count = node->setup->parameter_count;
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

void memory_world_end_task(struct memory_world *world, int index, uint32_t generation)
{
    struct memory_node *worker = &world->nodes[index];
    struct node *node = &worker->node;
    const size_t count = node->setup->parameter_count;
    if (!worker->model_copy || worker->generation != generation)
        return;
    if (worker->task.model && memcmp(worker->model_copy, worker->task.model, count * sizeof(float)) != 0)
        fail_msg("node %d changed its model while a gradient was computed at it", index);
    const int64_t samples = worker->task.kind == TASK_SAMPLES
                                ? world->settings.samples(world->settings.context, node->role_index, worker->task.step)
                                : node->setup->batch;
    if (samples > 0 || worker->task.kind != TASK_SAMPLES)
        write_gradient(world, node, &worker->task);
    free(worker->model_copy);
    worker->model_copy = NULL;
    struct task_result result = {.generation = generation,
                                 .step = worker->task.step,
                                 .kind = worker->task.kind,
                                 .parts = 1,
                                 .count = count,
                                 .samples = samples};
    if (world->settings.loss)
        result.loss = world->settings.loss(world->settings.context, node->role_index, worker->task.step);
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
    .arithmetic = world_arithmetic,
    .update = world_update,
    .span = world_span,
    .gradient = world_gradient,
    .round_finished = world_round_finished,
    .finished = world_finished,
    .fail = world_fail,
    .random = world_random,
    .initial_model = world_initial_model,
};
