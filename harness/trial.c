/* trial.c: the life of one trial; see trial.h.
 *
 * Order matters twice. The trial's row exists (status running) before the first namespace does, so that a killed controller leaves
 * a mark. And the fabric is taken down before anything is written: the store's work never overlaps a measured round. */
#include "harness/trial.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"
#include "harness/crew.h"
#include "harness/environment.h"
#include "harness/fidelity.h"
#include "harness/forecast.h"
#include "harness/rounds.h"
#include "harness/trial_setup.h"
#include "results/statistics.h"

enum { TRIAL_DESCRIPTORS_MAX = 2 };

static const int64_t SETUP_DEADLINE_NS = 30 * NS_PER_S, SETUP_DEADLINE_PER_NODE_NS = 100 * NS_PER_MS;
/* Without trial_deadline in the campaign file: ten times the prediction, more where agents share processors, and never under half a
 * minute. */
static const double RUN_DEADLINE_FACTOR = 10;
static const int64_t RUN_DEADLINE_MINIMUM_NS = 30 * NS_PER_S, RUN_DEADLINE_UNPREDICTED_NS = 600 * NS_PER_S,
                     RUN_DEADLINE_MAXIMUM_NS = INT64_MAX / 4;

struct trial {
    const struct trial_context *context;
    const struct cell *cell;
    const struct trial_plan *plan;
    struct arena *arena;
    struct topology topology;
    struct forecast asked;
    struct fabric *fabric;
    struct loop *loop;
    struct crew *crew;
    const char **names;
    int64_t id;
    struct link_counters *counters;
    bool counters_read;
    struct environment_load load_before, load_after;
    struct trial_end end;
    struct prediction predicted, predicted_measured;
};

static void trial_clean(struct trial *trial)
{
    crew_free(trial->crew);
    loop_free(trial->loop);
    fabric_end(trial->fabric);
    arena_free(trial->arena);
}

/* ---- hooks of the loop and the crew ---- */

static void on_fabric_event(void *context, uint32_t events)
{
    (void)events;
    struct trial *trial = context;
    int program;
    struct process_exit how;
    struct err err = {0};
    int got;
    while ((got = fabric_next_exit(trial->fabric, &program, &how, &err)) == 1) {
        char text[64];
        crew_process_ended(trial->crew, program, process_describe(text, sizeof(text), &how));
    }
    if (got < 0)
        crew_abandon(trial->crew, &err);
}

static void on_signal(void *context, uint32_t events)
{
    (void)events;
    struct trial *trial = context;
    crew_interrupt(trial->crew); /* the signal stays pending for the campaign's own look */
}

static int64_t run_deadline_ns(const struct trial *trial)
{
    const struct settings *settings = &trial->cell->settings;
    if (settings->trial_deadline_ns > 0)
        return settings->trial_deadline_ns;
    double crowding = 1 + trial->topology.host_count / (double)sysconf(_SC_NPROCESSORS_ONLN); /* agents share the processors */
    double run_ns = trial->predicted.round_ns * trial->asked.setup.rounds * RUN_DEADLINE_FACTOR * crowding;
    if (!trial->predicted.available || !(run_ns < (double)RUN_DEADLINE_MAXIMUM_NS)) /* infinite: a heavy tail without a mean */
        return RUN_DEADLINE_UNPREDICTED_NS;
    return run_ns > (double)RUN_DEADLINE_MINIMUM_NS ? (int64_t)run_ns : RUN_DEADLINE_MINIMUM_NS;
}

/* c, the real work of a gradient, as the agents measured it while idle: the prediction for the network as asked uses it. */
static void predict_with_gradient(struct trial *trial)
{
    const struct node_result *results = crew_results(trial->crew);
    trial->asked.setup.gradient_ns = 0;
    for (int n = 0; n < trial->topology.host_count; n++)
        trial->asked.setup.gradient_ns = fmax(trial->asked.setup.gradient_ns, results[n].idle_gradient_ns);
    forecast_predict(&trial->asked, &trial->predicted);
}

static void on_before_start(void *context)
{
    struct trial *trial = context;
    predict_with_gradient(trial);
    crew_set_run_deadline(trial->crew, run_deadline_ns(trial));
    fabric_reset_counters(trial->fabric, NULL);
    trial->load_before = environment_load();
}

static void on_after_done(void *context)
{
    struct trial *trial = context;
    trial->load_after = environment_load();
    trial->counters_read = fabric_counters(trial->fabric, trial->counters, NULL) == 0;
}

static void on_progress(void *context, uint32_t rounds_done)
{
    struct trial *trial = context;
    if (trial->context->progress)
        trial->context->progress(trial->context->progress_context, rounds_done);
}

/* ---- stages ---- */

static int trial_forecast(struct trial *trial, struct err *err)
{
    int servers;
    int result = forecast_topology(&trial->cell->settings, trial->arena, &trial->topology, &servers, err);
    trial->topology.seed = trial->plan->seed; /* so that repeats lose different packets, and all cells of a block the same */
    if (result < 0)
        return result;
    forecast_setup(trial->cell, &trial->topology, NULL, 0, trial->plan->seed, trial->arena, &trial->asked);
    forecast_predict(&trial->asked, &trial->predicted);
    trial->names = arena_new_array(trial->arena, const char *, (size_t)trial->topology.host_count);
    for (int i = 0; i < trial->topology.host_count; i++)
        trial->names[i] = trial->topology.places[i].name;
    trial->counters = arena_new_array(trial->arena, struct link_counters, (size_t)trial->topology.link_count);
    return 0;
}

static void blob_clean(struct blob *blob)
{
    free(blob->bytes);
}

static int trial_prepare(const struct trial *trial, struct blob *prepared, struct err *err)
{
    const struct scheme_setup *setup = &trial->asked.setup;
    if (!setup->scheme->prepare)
        return 0;
    int result = setup->scheme->prepare(setup, prepared, err);
    return result < 0 ? err_wrap(err, "preparing scheme %s", setup->scheme->name) : 0;
}

static int trial_store_begin(struct trial *trial, enum engine_kind engine, struct err *err)
{
    if (!trial->context->store)
        return 0;
    struct trial_begin begin = {
        .campaign_id = trial->context->campaign_id,
        .plan = trial->plan,
        .arm = "",
        .world = WORLD_EMULATED,
        .engine = engine,
        .started_unix_ns = clock_wall_ns(),
        .topology = &trial->topology,
        .workers = trial->asked.setup.workers,
        .servers = trial->asked.setup.servers,
        .payload_bytes = trial->asked.setup.parameter_count * sizeof(float),
        .warmup_rounds = trial->cell->settings.warmup_rounds,
        .predicted = &trial->predicted,
    };
    return store_trial_begin(trial->context->store, &begin, &trial->id, err);
}

/* The agents' ends are closed here: only the agents themselves may keep a socket open, so that its closing means an agent's end. */
static int trial_build(struct trial *trial, enum engine_kind engine, int *sockets, struct err *err)
{
    int count = trial->topology.host_count;
    int(*pairs)[2] = arena_calloc(trial->arena, (size_t)count, sizeof(*pairs));
    int(*descriptors)[TRIAL_DESCRIPTORS_MAX] = arena_calloc(trial->arena, (size_t)count, sizeof(*descriptors));
    char *(*arguments)[3] = arena_calloc(trial->arena, (size_t)count, sizeof(*arguments));
    struct fabric_program *programs = arena_new_array(trial->arena, struct fabric_program, (size_t)count);
    int result = 0, made = 0;
    for (; made < count; made++) {
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pairs[made]) < 0) {
            result =
                err_set_errno(err, ERR_HOST, errno, "making the control socket of node %s (raise the hard limit with `ulimit -Hn`)",
                              trial->names[made]);
            break;
        }
        descriptors[made][0] = pairs[made][1];
        descriptors[made][1] = trial->context->dataset_fd;
        arguments[made][0] = "laggard-agent";
        arguments[made][1] = (char *)trial->names[made];
        programs[made] = (struct fabric_program){
            .place = made,
            .path = trial->context->agent_path,
            .arguments = arguments[made],
            .descriptors = descriptors[made],
            .early = true, /* SETUP comes when the network stands */
            .descriptor_count = trial->context->dataset_fd >= 0 ? 2 : 1,
        };
    }
    struct fabric_spec spec = {.topology = &trial->topology, .engine = engine, .programs = programs, .program_count = count};
    if (result == 0)
        result = fabric_build(&spec, &trial->fabric, err);
    for (int i = 0; i < made; i++) {
        close_fd(&pairs[i][1]);
        sockets[i] = pairs[i][0];
        if (result < 0)
            close_fd(&sockets[i]);
    }
    return result;
}

static int trial_drive(struct trial *trial, int *sockets, const struct blob *prepared, struct err *err)
{
    int count = trial->topology.host_count;
    struct crew_spec spec = {
        .setups = trial_setups(trial->cell, trial->plan, &trial->asked, prepared, trial->context->dataset_fd >= 0, trial->arena),
        .names = trial->names,
        .count = count,
        .sockets = sockets,
        .arena = trial->arena,
        .setup_deadline_ns = SETUP_DEADLINE_NS + count * SETUP_DEADLINE_PER_NODE_NS,
        .run_deadline_ns = RUN_DEADLINE_UNPREDICTED_NS, /* on_before_start() knows better */
        .hooks = {.before_start = on_before_start, .progress = on_progress, .after_done = on_after_done, .context = trial},
    };
    spec.loop = trial->loop = loop_new(err);
    if (!trial->loop) {
        for (int i = 0; i < count; i++)
            close_fd(&sockets[i]);
        return -ERR_HOST;
    }
    trial->crew = crew_new(&spec, err);
    if (!trial->crew)
        return -ERR_HOST;
    if (!loop_watch(trial->loop, fabric_event_fd(trial->fabric), EPOLLIN, on_fabric_event, trial, err) ||
        (trial->context->signal_fd >= 0 && !loop_watch(trial->loop, trial->context->signal_fd, EPOLLIN, on_signal, trial, err)))
        return -ERR_HOST;
    return crew_run(trial->crew, err);
}

static int trial_judge(struct trial *trial, const struct link_check *checks, struct trial_outcome *outcome, struct err *err)
{
    const struct node_result *results = crew_results(trial->crew);
    int count = trial->topology.host_count, rounds = trial->asked.setup.rounds;
    struct round_summary *summaries = arena_new_array(trial->arena, struct round_summary, (size_t)rounds);
    int result = rounds_summarise(results, count, trial->names, rounds, trial->cell->settings.warmup_rounds, summaries, err);
    if (result < 0)
        return result;
    for (int n = 0; n < count; n++)
        if (results[n].counters.check_failures > 0)
            return err_set(err, ERR_TRIAL,
                           "node %s found %" PRIu64 " of %" PRIu64
                           " values different from the exact mean: the scheme's result is wrong",
                           trial->names[n], results[n].counters.check_failures, results[n].counters.checks);

    double *times = arena_new_array(trial->arena, double, (size_t)rounds);
    size_t measured = 0;
    double gradient_ns = 0;
    for (int r = 0; r < rounds; r++)
        if (!summaries[r].warmup)
            times[measured++] = (double)(summaries[r].end_ns - summaries[r].begin_ns);
    for (int n = 0; n < count; n++)
        gradient_ns = fmax(gradient_ns, results[n].counters.gradient_mean_ns);
    outcome->round_median_ns = statistics_median(times, measured);
    outcome->round_mean_ns = statistics_mean(times, measured);

    /* For the network as measured c is the gradient's real work as it was in the trial, on shared processors. */
    if (checks) {
        struct forecast measured_forecast;
        forecast_setup(trial->cell, &trial->topology, checks, gradient_ns, trial->plan->seed, trial->arena, &measured_forecast);
        forecast_predict(&measured_forecast, &trial->predicted_measured);
        trial->end.predicted_measured = &trial->predicted_measured;
    }
    struct fidelity_evidence evidence = {
        .topology = &trial->topology,
        .counters = trial->counters_read ? trial->counters : NULL,
        .checks = checks,
        .nodes = results,
        .node_count = count,
        .stolen_share = environment_stolen_share(trial->load_before, trial->load_after),
    };
    char reason[FIDELITY_REASON_BYTES];
    outcome->fidelity = trial->end.fidelity = fidelity_judge(&evidence, reason);
    snprintf(outcome->reason, sizeof(outcome->reason), "%s", reason);
    trial->end.fidelity_reason = reason[0] ? arena_strdup(trial->arena, reason) : NULL;
    trial->end.nodes = results;
    trial->end.node_count = count;
    trial->end.rounds = summaries;
    trial->end.round_count = rounds;
    trial->end.parameter_count = (int64_t)crew_parameter_count(trial->crew);
    trial->end.duration_ns = crew_times(trial->crew).done_ns - crew_times(trial->crew).start_ns;
    return 0;
}

static void trial_copy_links(struct trial *trial, const struct link_check *checks)
{
    trial->end.link_count = trial->topology.link_count;
    trial->end.checks = checks;
    if (!trial->fabric)
        return;
    size_t bytes = sizeof(struct link_readback) * (size_t)trial->topology.link_count;
    trial->end.readback = arena_copy(trial->arena, fabric_readback(trial->fabric), bytes);
    trial->end.counters = trial->counters_read ? trial->counters : NULL;
    trial->end.fabric_ns = fabric_build_ns(trial->fabric);
}

int trial_run(const struct trial_context *context, const struct cell *cell, const struct trial_plan *plan, enum engine_kind engine,
              const struct link_check *checks, struct trial_outcome *outcome, struct err *err)
{
    cleanup(trial_clean) struct trial trial = {.context = context, .cell = cell, .plan = plan, .arena = arena_new()};
    cleanup(blob_clean) struct blob prepared = {0};
    *outcome = (struct trial_outcome){.status = TRIAL_FINISHED, .round_median_ns = NAN, .round_mean_ns = NAN};

    int64_t begin_ns = clock_now_ns();
    int result = trial_forecast(&trial, err);
    if (result == 0)
        result = trial_store_begin(&trial, engine, err);
    if (result < 0)
        return result;

    /* From here on whatever fails is this trial's failure, with its row. */
    struct err failure = {0};
    result = trial_prepare(&trial, &prepared, &failure);
    if (result == 0) {
        int *sockets = arena_new_array(trial.arena, int, (size_t)trial.topology.host_count);
        result = trial_build(&trial, engine, sockets, &failure);
        if (result == 0)
            result = trial_drive(&trial, sockets, &prepared, &failure);
        if (result == 0)
            trial.end.setup_ns = outcome->setup_ns = crew_times(trial.crew).ready_ns - begin_ns;
    }
    trial_copy_links(&trial, checks);
    outcome->fabric_ns = trial.end.fabric_ns;
    fabric_end(steal_pointer(&trial.fabric));

    if (result == 0)
        result = trial_judge(&trial, checks, outcome, &failure);
    if (result < 0) {
        outcome->status = failure.kind == ERR_INTERRUPTED ? TRIAL_INTERRUPTED : TRIAL_FAILED;
        snprintf(outcome->reason, sizeof(outcome->reason), "%s", failure.text);
        trial.end.reason = outcome->reason;
    }
    outcome->predicted = trial.predicted;
    trial.end.predicted = &trial.predicted;
    trial.end.status = outcome->status;
    if (context->store && trial.id > 0) {
        result = store_trial_end(context->store, trial.id, &trial.end, err);
        if (result < 0)
            return result;
    }
    return outcome->status == TRIAL_INTERRUPTED ? err_set(err, ERR_INTERRUPTED, "%s", failure.text) : 0;
}
