/* trial_cpu_limit.c: a trial's part: nodes that may use only so much of the processors. */
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "harness/cpu_limit.h"
#include "harness/cpu_limit_plan.h"
#include "harness/trial_internal.h"

struct trial_cpu_limits {
    struct cpu_limit *asked;  /* one a node */
    int *processes_fd;        /* one a node, until the programs are in their groups; -1: none */
    struct cpu_usage *before; /* one a node, at the start of the first round */
    bool started;
};

static int cpu_limits_prepare(struct trial *trial, struct err *err)
{
    size_t nodes = (size_t)trial->topology.host_count;
    if (trial->cell->settings.cpu_limits.count == 0)
        return 0;
    struct trial_cpu_limits *state = arena_new_object(trial->arena, struct trial_cpu_limits);
    struct cpu_limit_fault fault = {0};
    state->asked = arena_new_array(trial->arena, struct cpu_limit, nodes);
    state->processes_fd = arena_new_array(trial->arena, int, nodes);
    state->before = arena_new_array(trial->arena, struct cpu_usage, nodes);
    for (size_t n = 0; n < nodes; n++)
        state->processes_fd[n] = -1;
    trial->cpu_limits = state;
    int code = cpu_limit_plan(&trial->cell->settings, &trial->topology, state->asked, &fault, err);
    trial->evidence.cpu_limits = state->asked;
    return code < 0 ? err_wrap(err, "cpu_limits.%d", fault.entry) : 0;
}

static int cpu_limits_add(struct trial *trial, struct fabric_spec *spec, struct err *err)
{
    struct trial_cpu_limits *state = trial->cpu_limits;
    if (!state)
        return 0;
    for (int n = 0; n < trial->topology.host_count; n++)
        if (state->asked[n].processors > 0 &&
            cpu_limiter_add(trial->context->cpu_limiter, n, &state->asked[n], &state->processes_fd[n], err) < 0)
            return err_wrap(err, "cpu limit of node %s", trial->names[n]);
    struct fabric_program *programs = arena_copy(trial->arena, spec->programs, sizeof(*programs) * (size_t)spec->program_count);
    for (int p = 0; p < spec->program_count; p++) {
        int place = programs[p].place;
        if (place < trial->topology.host_count && state->processes_fd[place] >= 0)
            programs[p].cgroup_fd = state->processes_fd[place];
    }
    spec->programs = programs;
    return 0;
}

static void close_groups(struct trial_cpu_limits *state, int nodes)
{
    for (int n = 0; n < nodes; n++)
        close_fd(&state->processes_fd[n]);
}

static int cpu_limits_ready(struct trial *trial, struct err *err)
{
    (void)err;
    if (trial->cpu_limits)
        close_groups(trial->cpu_limits, trial->topology.host_count);
    return 0;
}

static void cpu_limits_start(struct trial *trial, int64_t start_ns)
{
    struct trial_cpu_limits *state = trial->cpu_limits;
    (void)start_ns;
    if (!state)
        return;
    state->started = true;
    for (int n = 0; n < trial->topology.host_count && state->started; n++)
        if (state->asked[n].processors > 0)
            state->started = cpu_limiter_usage(trial->context->cpu_limiter, n, &state->before[n], NULL) == 0;
}

/* Since the start; unknown where it cannot be read any more. */
static void count_node(const struct trial *trial, int node, struct cpu_limit_result *result)
{
    const struct cpu_usage *before = &trial->cpu_limits->before[node];
    struct cpu_usage now;
    struct err err;
    *result = (struct cpu_limit_result){.node = node, .asked = trial->cpu_limits->asked[node]};
    if (!trial->cpu_limits->started)
        return;
    if (cpu_limiter_usage(trial->context->cpu_limiter, node, &now, &err) < 0) {
        log_debug("node %s: %s", trial->names[node], err.text);
        return;
    }
    result->counted = true;
    result->usage = (struct cpu_usage){.period_count = now.period_count - before->period_count,
                                       .throttled_count = now.throttled_count - before->throttled_count,
                                       .throttled_ns = now.throttled_ns - before->throttled_ns};
}

static void count_nodes(struct trial *trial)
{
    struct trial_cpu_limits *state = trial->cpu_limits;
    int nodes = trial->topology.host_count, count = 0;
    struct cpu_limit_result *results = arena_new_array(trial->arena, struct cpu_limit_result, (size_t)nodes);
    for (int n = 0; n < nodes; n++)
        if (state->asked[n].processors > 0)
            count_node(trial, n, &results[count++]);
    trial->end.cpu_limits = results;
    trial->end.cpu_limit_count = count;
}

static void cpu_limits_done(struct trial *trial)
{
    if (trial->cpu_limits)
        count_nodes(trial);
}

/* A trial that failed has its rows, too. */
static void cpu_limits_conclude(struct trial *trial)
{
    if (trial->cpu_limits && !trial->end.cpu_limits)
        count_nodes(trial);
}

static void cpu_limits_clean(struct trial *trial)
{
    if (!trial->cpu_limits)
        return;
    close_groups(trial->cpu_limits, trial->topology.host_count);
    cpu_limiter_clear(trial->context->cpu_limiter);
}

const struct trial_part trial_cpu_limit = {
    .prepare = cpu_limits_prepare,
    .add = cpu_limits_add,
    .ready = cpu_limits_ready,
    .start = cpu_limits_start,
    .done = cpu_limits_done,
    .conclude = cpu_limits_conclude,
    .clean = cpu_limits_clean,
};
