/* virtual_compute.c: compute tasks on the virtual clock.
 *
 * A task that starts at time t with the drawn time X delivers its parts at t + X (cumulated share of its floats). Real gradients
 * are computed, wholly, when the first part is due: the model does not change before the result or the cancellation, and what is
 * cancelled costs nothing. Tasks run beside the node's other work, as on the second thread of an agent. */
#include <math.h>

#include "agents/compute_time.h"
#include "agents/virtual_internal.h"

/* Draws of heavy tails may be infinite; a campaign's end comes long before. */
static const double COMPUTE_FOR_EVER_NS = 1e18;

static double draw_ns(const struct virtual_node *own, const struct task *task)
{
    const struct virtual_options *options = &own->world->options;
    const struct node *node = &own->node;
    const bool slowed = node->role == ROLE_WORKER && options->slow_factors;
    double drawn = compute_time_draw(options->compute_time, node->setup->seed, (uint32_t)node->index, task->step);
    return slowed ? drawn * options->slow_factors[node->index] : drawn;
}

static void plan_times(struct virtual_node *own)
{
    struct virtual_compute *compute = &own->compute;
    const struct task *task = &compute->task;
    const int batch = own->node.setup->batch;
    double mini_batch_ns = draw_ns(own, task);
    compute->whole_ns = mini_batch_ns * workload_cost(own->workload, task);
    compute->samples = batch;
    if (task->kind == TASK_SAMPLES) {
        const struct work_samples done =
            workload_samples_in_time(task, batch, (double)(task->deadline_ns - compute->begin_ns), mini_batch_ns);
        compute->samples = done.count;
        compute->whole_ns = done.whole_ns;
    }
    compute->whole_ns = fmin(compute->whole_ns, COMPUTE_FOR_EVER_NS);
}

/* When the next part is due. */
static int64_t due_ns(const struct virtual_compute *compute, const struct work_parts *parts)
{
    size_t total = 0, done = 0;
    for (int i = 0; i < parts->count; i++) {
        total += parts->floats[i];
        done += i <= compute->delivered ? parts->floats[i] : 0;
    }
    double share = total > 0 ? (double)done / (double)total : 1;
    return compute->begin_ns + (int64_t)(compute->whole_ns * share);
}

static void await_part(struct virtual_node *own)
{
    struct virtual_compute *compute = &own->compute;
    struct work_parts parts;
    int64_t at_ns = compute->begin_ns + (int64_t)compute->whole_ns;
    if (compute->task.parts > 1) {
        workload_parts(own->workload, &compute->task, &parts);
        at_ns = due_ns(compute, &parts);
    }
    if (at_ns < own->world->now_ns) /* due while the node was paused: the clock does not go back */
        at_ns = own->world->now_ns;
    moments_add(&own->world->moments, at_ns, MOMENT_TASK, (uint32_t)own->node.index, compute->generation);
}

static void run(struct virtual_node *own)
{
    struct virtual_compute *compute = &own->compute;
    const struct task *task = &compute->task;
    workload_become(own->workload, own->node.role, own->node.role_index);
    if (!own->world->values)
        return;
    if (!workload_real(own->workload) && task->kind != TASK_MATRIX_BLOCK) {
        workload_fill(own->workload, task);
        return;
    }
    if (!task->model && task->kind != TASK_MATRIX_BLOCK)
        return;
    struct work work = {.task = *task, .samples = compute->samples, .stop_at_ns = INT64_MAX};
    workload_run(own->workload, &work);
    compute->loss = work.loss;
    compute->samples = task->kind == TASK_MATRIX_BLOCK ? compute->samples : work.samples_done;
}

static void compute_span(struct virtual_node *own, uint32_t flags)
{
    const struct virtual_compute *compute = &own->compute;
    recorder_span(&own->recorder, &(struct span_record){.round = compute->round,
                                                        .kind = SPAN_COMPUTE,
                                                        .peer = NO_PEER,
                                                        .flags = flags,
                                                        .begin_ns = compute->begin_ns,
                                                        .end_ns = own->clock_ns});
}

uint32_t virtual_compute_start(struct node *node, const struct task *task)
{
    struct virtual_node *own = virtual_of(node);
    struct virtual_compute *compute = &own->compute;
    workload_become(own->workload, node->role, node->role_index);
    const char *refusal =
        compute->active ? "the scheme started a task while another one was running" : workload_refuses(own->workload, task);
    if (refusal) {
        virtual_fail(own->world, "%s", refusal);
        return 1;
    }
    compute->generation += compute->generation == UINT32_MAX ? 2 : 1; /* never 0 */
    compute->active = true;
    compute->task = *task;
    compute->round = virtual_round(own);
    compute->begin_ns = own->clock_ns;
    compute->delivered = 0;
    compute->loss = 0;
    own->counters.compute_tasks++;
    plan_times(own);
    await_part(own);
    return compute->generation;
}

void virtual_compute_cancel(struct node *node, uint32_t generation)
{
    struct virtual_node *own = virtual_of(node);
    struct virtual_compute *compute = &own->compute;
    if (!compute->active || compute->generation != generation)
        return;
    compute->active = false;
    compute_span(own, SPAN_CANCELLED);
}

void virtual_compute_due(struct virtual_world *world, uint32_t node, uint32_t generation)
{
    struct virtual_node *own = &world->nodes[node];
    struct virtual_compute *compute = &own->compute;
    if (!compute->active || compute->generation != generation)
        return;
    struct work_parts parts;
    virtual_enter(own);
    if (compute->delivered == 0)
        run(own);
    workload_parts(own->workload, &compute->task, &parts);
    const int part = compute->delivered++;
    const bool last = compute->delivered == parts.count;
    const struct task_result result = {.generation = generation,
                                       .step = compute->task.step,
                                       .kind = compute->task.kind,
                                       .part = part,
                                       .parts = parts.count,
                                       .first = parts.first[part],
                                       .count = parts.floats[part],
                                       .samples = compute->samples,
                                       .loss = compute->loss};
    if (last) {
        compute->active = false;
        compute_span(own, 0);
    } else {
        await_part(own);
    }
    if (world->scheme->on_task)
        world->scheme->on_task(&own->node, &result);
    if (own->retry != RETRY_NONE)
        virtual_leave(own);
}
