/* world_virtual.c: the life of the virtual world: its nodes, its loop, its end. */
#include "agents/world_virtual.h"

#include <stdarg.h>
#include <stdio.h>

#include "agents/virtual_internal.h"
#include "base/arena.h"
#include "base/err.h"

enum { LOOK_EVERY = 1 << 16 }; /* moments between two questions whether to go on */

void virtual_fail(struct virtual_world *world, const char *format, ...)
{
    if (world->failed)
        return;
    world->failed = true;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(world->failure, sizeof(world->failure), format, arguments);
    va_end(arguments);
}

static struct workload *new_workload(const struct virtual_options *options, int node, struct err *err)
{
    const struct scheme_setup *setup = options->setup;
    const bool worker = node < setup->workers;
    struct workload_options workload = {.settings = options->workload,
                                        .seed = setup->seed,
                                        .workers = setup->workers,
                                        .role = worker ? ROLE_WORKER : ROLE_SERVER,
                                        .role_index = worker ? node : node - setup->workers,
                                        .dataset_fd = options->dataset_fd,
                                        .blas = false,
                                        .batches = setup->scheme->flags & SCHEME_NEEDS_BATCHES,
                                        .unmeasured = true,
                                        .arena = options->arena};
    return workload_new(&workload, err);
}

/* Nodes share one workload, but each checks synthetic values on its own. */
static int give_workloads(struct virtual_world *world, struct err *err)
{
    const bool own = world->values && world->options.workload->model == MODEL_SYNTHETIC;
    for (int i = 0; i < world->node_count; i++) {
        world->nodes[i].workload = i > 0 && !own ? world->nodes[0].workload : new_workload(&world->options, i, err);
        if (!world->nodes[i].workload)
            return -ERR_TRIAL;
    }
    return 0;
}

static int make_node(struct virtual_world *world, int index, struct err *err)
{
    const struct virtual_options *options = &world->options;
    const struct scheme_setup *setup = options->setup;
    struct virtual_node *own = &world->nodes[index];
    const bool worker = index < setup->workers;
    own->node = (struct node){.world = &virtual_operations,
                              .setup = setup,
                              .index = index,
                              .role = worker ? ROLE_WORKER : ROLE_SERVER,
                              .role_index = worker ? index : index - setup->workers,
                              .state = arena_alloc(options->arena, setup->scheme->state_bytes)};
    own->world = world;
    own->retry = RETRY_NONE;
    own->lost_ns = -1;
    own->flow = own->later_first = own->later_last = NONE;
    const bool leaps = worker && setup->scheme->flags & SCHEME_ROUNDS_AT_SERVER;
    const uint32_t rounds = (uint32_t)setup->rounds, share = rounds / (uint32_t)setup->workers;
    const struct recorder_options recorder = {
        .arena = options->arena,
        .rounds = rounds,
        .rounds_wanted = leaps ? share + share / 4 : 0, /* each worker one of a model's receivers, some more often than others */
        .spans_wanted = options->record_spans,
        .without_gradients = options->without_gradients,
        .leaps = leaps,
        .grows = true,
        .evaluate_every = options->evaluate_every,
        .snapshot_floats = workload_real(own->workload) && (index == 0 || index == setup->workers) ? setup->parameter_count : 0,
    };
    if (workload_real(own->workload) && options->workload->momentum != 0)
        own->velocity = arena_alloc(options->arena, setup->parameter_count * sizeof(float));
    return recorder_init(&own->recorder, &recorder, err);
}

/* Exactly one node evaluates: node 0 if it has a model, and holds that of every round; else the first server. */
static void choose_evaluator(struct virtual_world *world)
{
    const struct scheme *scheme = world->scheme;
    const struct scheme_setup *setup = world->options.setup;
    if (!workload_real(world->nodes[0].workload) || !scheme->model_to_evaluate)
        return;
    const bool first = !(scheme->flags & SCHEME_ROUNDS_AT_SERVER) && scheme->model_to_evaluate(&world->nodes[0].node);
    const int index = first ? 0 : setup->workers;
    if (index >= world->node_count || !scheme->model_to_evaluate(&world->nodes[index].node))
        return;
    world->nodes[index].evaluates = true;
    virtual_snapshot_if_due(&world->nodes[index], 0, 0);
}

struct virtual_world *virtual_new(const struct virtual_options *options, struct err *err)
{
    const struct scheme_setup *setup = options->setup;
    struct virtual_world *world = arena_new_object(options->arena, struct virtual_world);
    world->options = *options;
    world->scheme = setup->scheme;
    world->network = options->network;
    world->node_count = setup->nodes;
    world->values = setup->values_carried;
    world->charges_update = options->workload->model != MODEL_SYNTHETIC;
    world->pool.arena = options->arena;
    world->free_parcel = NONE;
    world->scratch_bytes = 64;
    world->scratch = arena_alloc(options->arena, world->scratch_bytes);
    world->nodes = arena_new_array(options->arena, struct virtual_node, (size_t)world->node_count);
    virtual_links_init(world);
    int result = give_workloads(world, err);
    for (int i = 0; i < world->node_count && result == 0; i++)
        result = make_node(world, i, err);
    world->preparing = true;
    for (int i = 0; i < world->node_count && result == 0; i++) {
        if (world->scheme->prepare_node)
            world->scheme->prepare_node(&world->nodes[i].node);
        moments_add(&world->moments, 0, MOMENT_START, (uint32_t)i, 0);
    }
    world->preparing = false;
    if (result == 0) {
        choose_evaluator(world);
        return world;
    }
    virtual_free(world);
    return NULL;
}

static void on_start(struct virtual_world *world, uint32_t node)
{
    struct virtual_node *own = &world->nodes[node];
    virtual_enter(own);
    world->scheme->start(&own->node);
    virtual_leave(own);
}

static void on_timer(struct virtual_world *world, uint32_t number, uint32_t arming)
{
    const struct virtual_timer timer = world->timers[number];
    struct virtual_node *own = &world->nodes[timer.node];
    if (!timer.armed || timer.arming != arming || !world->scheme->on_timer)
        return;
    world->timers[number].armed = false;
    virtual_enter(own);
    world->scheme->on_timer(&own->node, timer.number);
    virtual_leave(own);
}

static void happen(struct virtual_world *world, const struct moment *moment)
{
    world->now_ns = moment->at_ns;
    if (world->troubled && virtual_defer(world, moment))
        return;
    switch ((enum moment_kind)moment_kind(moment)) {
    case MOMENT_START:
        on_start(world, moment->subject);
        break;
    case MOMENT_TASK:
        virtual_compute_due(world, moment->subject, moment->detail);
        break;
    case MOMENT_TIMER:
        on_timer(world, moment->subject, moment->detail);
        break;
    case MOMENT_TURN:
        virtual_links_turn(world, (int)moment->subject);
        if (moment->detail != NONE)
            virtual_departed(world, moment->detail);
        break;
    case MOMENT_DEPART:
        virtual_tell_departed(world, moment->subject);
        break;
    case MOMENT_LOSS:
        virtual_told_of_loss(world, moment->subject, moment->detail);
        break;
    case MOMENT_ALARM:
        virtual_sound_alarm(world, moment->detail);
        break;
    case MOMENT_HOP:
        virtual_links_hop(world, moment->subject);
        break;
    case MOMENT_ARRIVE:
        virtual_arrive(world, moment->subject);
        break;
    case MOMENT_COUNT:
        break;
    }
}

static void look(struct virtual_world *world)
{
    const struct virtual_options *options = &world->options;
    if (options->go_on && !options->go_on(options->context, virtual_rounds_done(world)))
        world->interrupted = true;
}

static int say_what_stopped(const struct virtual_world *world, struct err *err)
{
    int waiting = 0;
    if (world->failed)
        return err_set(err, ERR_TRIAL, "%s", world->failure);
    if (world->interrupted)
        return err_set(err, ERR_INTERRUPTED, "interrupted in round %u", virtual_rounds_done(world));
    while (waiting < world->node_count - 1 && world->nodes[waiting].finished)
        waiting++;
    if (world->moments.count > 0)
        return err_set(err, ERR_TRIAL,
                       "the deadline of the virtual clock passed in round %u: node %d has not finished (trial_deadline in the "
                       "campaign file sets the limit)",
                       world->nodes[waiting].recorder.next_round, waiting);
    return err_set(err, ERR_TRIAL,
                   "nothing is left to happen in round %u, but node %d has not finished: scheme '%s' waits for what never comes",
                   world->nodes[waiting].recorder.next_round, waiting, world->scheme->name);
}

static void stop(struct virtual_world *world)
{
    for (int i = 0; world->scheme->stop && i < world->node_count; i++)
        if (virtual_lives(&world->nodes[i]))
            world->scheme->stop(&world->nodes[i].node);
}

int virtual_run(struct virtual_world *world, struct err *err)
{
    const int64_t deadline_ns = world->options.deadline_ns > 0 ? world->options.deadline_ns : INT64_MAX;
    while (world->finished_count < world->node_count && world->moments.count > 0 && !world->failed && !world->interrupted &&
           world->moments.heap[0].at_ns <= deadline_ns) {
        const struct moment moment = moments_take(&world->moments);
        happen(world, &moment);
        if (++world->done % LOOK_EVERY == 0)
            look(world);
    }
    if (world->failed || world->finished_count < world->node_count)
        return say_what_stopped(world, err);
    stop(world);
    return 0;
}

int64_t virtual_now_ns(const struct virtual_world *world)
{
    int64_t latest_ns = world->now_ns;
    for (int i = 0; i < world->node_count; i++) {
        const struct recorder *recorder = &world->nodes[i].recorder;
        if (recorder->round_count > 0 && recorder->rounds[recorder->round_count - 1].held_ns > latest_ns)
            latest_ns = recorder->rounds[recorder->round_count - 1].held_ns;
    }
    return latest_ns;
}

uint64_t virtual_moments(const struct virtual_world *world)
{
    return world->done;
}

struct virtual_node_view virtual_node(struct virtual_world *world, int node)
{
    struct virtual_node *own = &world->nodes[node];
    own->counters.spans_lost = own->recorder.spans_lost;
    workload_become(own->workload, own->node.role, own->node.role_index);
    if (workload_real(own->workload) || !world->values)
        own->counters.checks = own->counters.check_failures = 0;
    else
        workload_checks(own->workload, &own->counters.checks, &own->counters.check_failures);
    return (struct virtual_node_view){.node = &own->node,
                                      .recorder = &own->recorder,
                                      .workload = own->workload,
                                      .counters = &own->counters,
                                      .lost_ns = own->lost_ns};
}

const struct virtual_end_counters *virtual_end_counters(const struct virtual_world *world, int end)
{
    return &world->ends[end].counters;
}

size_t virtual_bytes_a_node(void)
{
    /* A node with two flows, in a hash table that is a quarter full at the least; its two ends, and a parcel on its way. */
    return sizeof(struct virtual_node) + 2 * (2 * sizeof(struct flow) + 8 * sizeof(uint32_t)) + 2 * sizeof(struct end) +
           2 * (sizeof(struct parcel) + sizeof(struct segment) + 2 * sizeof(struct moment));
}

void virtual_free(struct virtual_world *world)
{
    if (!world)
        return;
    for (int i = 0; i < world->node_count; i++)
        if (world->nodes[i].workload && (i == 0 || world->nodes[i].workload != world->nodes[0].workload))
            workload_free(world->nodes[i].workload);
    moments_free(&world->moments);
    grow_free(world->parcels);
    grow_free(world->segments);
    grow_free(world->flows);
    grow_free(world->pairs);
    grow_free(world->timers);
    grow_free(world->deferred);
}
