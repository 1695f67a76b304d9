/* trial_virtual.c: the driver of trials on a virtual clock: all nodes in this process, no network, nothing of the host but one
 * processor. What it finds takes the same way into the database as what agents report. */
#include <inttypes.h>
#include <stdlib.h>

#include "agents/node_report.h"
#include "agents/recorder.h"
#include "agents/workload.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "harness/interruption.h"
#include "harness/rounds.h"
#include "harness/trial_virtual_internal.h"
#include "harness/virtual_network.h"

static int prepare_scheme(struct trial *trial, struct err *err)
{
    struct scheme_setup *setup = &trial->asked.setup;
    struct blob *prepared = &trial->virtual->prepared;
    if (!setup->scheme->prepare)
        return 0;
    interruption_listen();
    int result = setup->scheme->prepare(setup, prepared, err);
    interruption_listen_no_more();
    if (result < 0)
        return err_wrap(err, "preparing scheme %s", setup->scheme->name);
    setup->prepared = prepared->bytes;
    setup->prepared_bytes = prepared->length;
    return 0;
}

static bool go_on(void *context, uint32_t rounds_done)
{
    struct trial *trial = context;
    const struct trial_context *outside = trial->context;
    if (outside->progress && rounds_done > trial->virtual->told)
        outside->progress(outside->progress_context, rounds_done);
    trial->virtual->told = rounds_done;
    return outside->signal_fd < 0 || !interruption_pending();
}

static void alarm(void *context, uint32_t rounds_done)
{
    struct trial *trial = context;
    trial->round_ns = virtual_clock_ns(trial->virtual->world);
    trial_events.round(trial, rounds_done);
}

static int build_virtual(struct trial *trial, struct err *err)
{
    const struct settings *settings = &trial->cell->settings;
    trial->virtual = arena_new_object(trial->arena, struct trial_virtual_state);
    int result = prepare_scheme(trial, err);
    if (result < 0)
        return result;
    trial->virtual->network = virtual_network_of(&trial->topology, trial->arena);
    const struct virtual_options options = {
        .arena = trial->arena,
        .setup = &trial->asked.setup,
        .network = trial->virtual->network,
        .compute_time = &settings->compute_time,
        .slow_factors = trial->asked.setup.slow_factors,
        .workload = &settings->workload,
        .dataset_fd = trial->context->dataset_fd,
        .evaluate_every = (uint32_t)settings->workload.evaluate_every,
        .record_spans = settings->record_spans,
        .without_gradients = !settings->record_nodes,
        .deadline_ns = settings->trial_deadline_ns,
        .go_on = go_on,
        .alarm = trial->events ? alarm : NULL,
        .context = trial,
    };
    trial->virtual->world = virtual_new(&options, err);
    return trial->virtual->world ? 0 : -ERR_TRIAL;
}

static int run_virtual(struct trial *trial, struct err *err)
{
    trial->ready_ns = clock_now_ns();
    trial_events.start(trial, 0); /* of all parts the only one that the virtual world has */
    interruption_listen();        /* a scheme of somebody else's may not come back, and a step of a large model takes long */
    int result = virtual_run(trial->virtual->world, err);
    interruption_listen_no_more();
    trial_events.ending(trial);
    return result;
}

/* Packets and bytes are of payload; a virtual link keeps its moments. */
static void count_links(struct trial *trial)
{
    const struct virtual_world *world = trial->virtual->world;
    for (int end = 0; end < DIRECTIONS * trial->topology.link_count; end++) {
        const struct virtual_end_counters *counted = virtual_end_counters(world, end);
        trial->counters[end / DIRECTIONS].direction[end % DIRECTIONS] = (struct direction_counters){
            .packets = counted->packets,
            .bytes = counted->bytes,
            .queue_drops = counted->queue_drops,
            .lost = counted->lost,
            .lateness_p50_ns = -1,
            .lateness_p99_ns = -1,
            .lateness_max_ns = -1,
        };
    }
    trial->counters_read = true;
}

/* A row for each node that was lost. */
static void note_losses(struct trial *trial)
{
    struct event_record *records = arena_new_array(trial->arena, struct event_record, (size_t)trial->topology.host_count);
    int count = 0;
    for (int n = 0; n < trial->topology.host_count; n++) {
        const int64_t lost_ns = virtual_node(trial->virtual->world, n).lost_ns;
        if (lost_ns >= 0)
            records[count++] =
                (struct event_record){.kind = "node-lost",
                                      .text = arena_printf(trial->arena, "node %s crashed, as it was asked to", trial->names[n]),
                                      .at_unix_ns = clock_wall_ns(),
                                      .event = EVENT_NO_NUMBER,
                                      .step = EVENT_NO_NUMBER,
                                      .link = EVENT_NO_NUMBER,
                                      .node = n,
                                      .direction = EVENT_NO_NUMBER,
                                      .happened = true,
                                      .at_ns = lost_ns};
    }
    trial->end.events = count > 0 ? records : NULL;
    trial->end.event_count = count;
}

static void conclude_virtual(struct trial *trial)
{
    if (!trial->virtual->world)
        return;
    count_links(trial);
    note_losses(trial);
}

static struct node_result result_of(struct virtual_world *world, int index, struct arena *arena)
{
    struct virtual_node_view view = virtual_node(world, index);
    if (view.lost_ns >= 0)
        return (struct node_result){.lost = true};
    const struct recorder *recorder = view.recorder;
    struct node_counters counters = *view.counters;
    counters.loop_busy_ns = counters.loop_wait_ns = counters.compute_busy_ns = counters.compute_wait_ns = -1;
    return (struct node_result){
        .rounds = recorder->rounds,
        .round_count = recorder->round_count,
        .spans = recorder->spans,
        .span_count = recorder->span_count,
        .gradients = recorder->gradients,
        .gradient_count = recorder->gradient_count,
        .evaluations = node_report_evaluations(recorder, view.workload, arena),
        .evaluation_count = recorder->snapshot_count,
        .counters = counters,
        .blas = workload_blas(view.workload),
        .model_sha256 = node_report_digest(view.node, view.workload, arena),
    };
}

static int check_last(struct trial *trial, int node, struct err *err)
{
    struct virtual_node_view view = virtual_node(trial->virtual->world, node);
    char sentence[512];
    if (!trial->asked.setup.values_carried || view.lost_ns >= 0 || workload_check_last(view.workload, sentence, sizeof(sentence)))
        return 0;
    return err_set(err, ERR_TRIAL, "node %s: %s", trial->names[node], sentence);
}

static int judge_virtual(struct trial *trial, struct trial_found *found, struct err *err)
{
    struct virtual_world *world = trial->virtual->world;
    const struct scheme_setup *setup = &trial->asked.setup;
    const int count = setup->nodes, rounds = setup->rounds;
    struct node_result *results = arena_new_array(trial->arena, struct node_result, (size_t)count);
    struct round_summary *summaries = arena_new_array(trial->arena, struct round_summary, (size_t)rounds);
    for (int n = 0; n < count; n++) {
        if (check_last(trial, n, err) < 0)
            return -ERR_TRIAL;
        results[n] = result_of(world, n, trial->arena);
    }
    const bool at_server = setup->scheme->flags & SCHEME_ROUNDS_AT_SERVER;
    const struct rounds_shape shape = {.size_count = 1, .rounds_each = rounds, .warmup_each = trial->cell->settings.warmup_rounds};
    int result = rounds_summarise(results, count, trial->names, &shape, at_server ? setup->workers : -1, summaries, err);
    if (result < 0)
        return result;
    *found = (struct trial_found){
        .nodes = results,
        .node_count = count,
        .rounds = summaries,
        .round_count = rounds,
        .parameter_count = (int64_t)setup->parameter_count,
        .duration_ns = virtual_now_ns(world),
    };
    return 0;
}

static void abandon_virtual(struct trial *trial, const struct err *reason)
{
    virtual_abandon(trial->virtual->world, reason->text);
}

static void clean_virtual(struct trial *trial)
{
    if (!trial->virtual)
        return;
    virtual_free(trial->virtual->world);
    free(trial->virtual->prepared.bytes);
}

const struct trial_driver trial_virtual = {.virtual_clock = true,
                                           .build = build_virtual,
                                           .run = run_virtual,
                                           .conclude = conclude_virtual,
                                           .judge = judge_virtual,
                                           .abandon = abandon_virtual,
                                           .clean = clean_virtual};
