/* trial.c: the life of one trial; see trial.h.
 *
 * Order matters twice. The trial's row exists (status running) before the first namespace does, so that a killed controller leaves
 * a mark. And the fabric is taken down before anything is written: the store's work never overlaps a measured round. */
#include "harness/trial.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/units.h"
#include "harness/message_sizes.h"
#include "harness/trial_internal.h"
#include "results/statistics.h"

/* What a campaign may ask for beside the rounds, in the order in which it is called. */
static const struct trial_part *const parts[] = {&trial_cpu_limit, &trial_traffic,   &trial_events, &trial_capture,
                                                 &trial_samples,   &trial_byzantine, NULL};

static void trial_clean(struct trial *trial)
{
    for (size_t i = 0; parts[i]; i++)
        if (parts[i]->clean)
            parts[i]->clean(trial);
    trial->driver->clean(trial);
    loop_free(trial->loop);
    fabric_end(trial->fabric);
    arena_free(trial->arena);
}

/* ---- for the driver ---- */

int trial_build_fabric(struct trial *trial, const struct fabric_program *programs, int program_count, struct err *err)
{
    struct fabric_spec spec = {.topology = &trial->topology,
                               .engine = trial->engine,
                               .programs = programs,
                               .program_count = program_count,
                               .awake = trial->cell->settings.awake,
                               .enter = trial->context->store != NULL}; /* others would disturb what nobody sees */
    int result = 0;
    for (size_t i = 0; parts[i] && result == 0; i++)
        if (parts[i]->add)
            result = parts[i]->add(trial, &spec, err);
    return result == 0 ? fabric_build(&spec, &trial->fabric, err) : result;
}

int trial_ready(struct trial *trial, struct err *err)
{
    int result = 0;
    for (size_t i = 0; parts[i] && result == 0; i++)
        if (parts[i]->ready)
            result = parts[i]->ready(trial, err);
    return result;
}

void trial_start(struct trial *trial, int64_t start_ns)
{
    for (size_t i = 0; parts[i]; i++)
        if (parts[i]->start)
            parts[i]->start(trial, start_ns);
}

void trial_round(struct trial *trial, uint32_t rounds_done)
{
    for (size_t i = 0; parts[i]; i++)
        if (parts[i]->round)
            parts[i]->round(trial, rounds_done);
    if (trial->context->progress)
        trial->context->progress(trial->context->progress_context, rounds_done);
}

void trial_ending(struct trial *trial)
{
    for (size_t i = 0; parts[i]; i++)
        if (parts[i]->ending)
            parts[i]->ending(trial);
}

void trial_done(struct trial *trial)
{
    for (size_t i = 0; parts[i]; i++)
        if (parts[i]->done)
            parts[i]->done(trial);
    trial->load_after = host_load_now();
    trial->counters_read = fabric_counters(trial->fabric, trial->counters, NULL) == 0;
}

/* ---- stages ---- */

static void trial_lay_out_sizes(struct trial *trial)
{
    const struct settings *settings = &trial->cell->settings;
    const int count = message_sizes_count(settings), each = message_sizes_rounds_each(settings);
    trial->predicted = arena_new_array(trial->arena, struct prediction, (size_t)count);
    trial->predicted_measured = arena_new_array(trial->arena, struct prediction, (size_t)count);
    trial->undisturbed = arena_new_array(trial->arena, struct prediction, (size_t)count);
    if (!message_sizes_swept(settings))
        return;
    trial->sizes = arena_new_array(trial->arena, struct message_size, (size_t)count);
    for (int i = 0; i < count; i++)
        trial->sizes[i] =
            (struct message_size){.payload_bytes = settings->workload.sizes.bytes[i], .first_round = i * each, .round_count = each};
    trial->end.sizes = trial->sizes;
    trial->end.size_count = count;
}

/* A simulation of many updates may stand behind a prediction: more work for the controller than all else in a short trial. */
void trial_predict(struct trial *trial)
{
    struct cell_prediction *cached = trial->context->predictions ? &trial->context->predictions[trial->plan->cell] : NULL;
    const double gradient_ns = trial->asked.setup.gradient_ns;
    if (cached && cached->known && cached->gradient_ns == gradient_ns && !trial->sizes)
        trial->undisturbed[0] = cached->prediction;
    else
        forecast_undisturbed_sizes(&trial->asked, trial->undisturbed);
    if (cached && !cached->known)
        *cached = (struct cell_prediction){.known = true, .gradient_ns = gradient_ns, .prediction = trial->undisturbed[0]};
    for (int i = 0; i < message_sizes_count(&trial->cell->settings); i++) {
        trial->predicted[i] = trial->undisturbed[i];
        forecast_disturb(&trial->asked, &trial->predicted[i]);
    }
}

static int trial_forecast(struct trial *trial, struct err *err)
{
    int servers;
    int result = forecast_topology(&trial->cell->settings, trial->arena, &trial->topology, &servers, err);
    trial->topology.seed = trial->plan->seed; /* so that repeats lose different packets, and all cells of a block the same */
    if (result < 0)
        return result;
    forecast_setup(trial->cell, &trial->topology, NULL, 0, trial->plan->seed, trial->arena, &trial->asked);
    forecast_message_cost(&trial->asked, trial->context->message_ns);
    trial_lay_out_sizes(trial);
    trial_predict(trial);
    trial->names = arena_new_array(trial->arena, const char *, (size_t)trial->topology.host_count);
    for (int i = 0; i < trial->topology.host_count; i++)
        trial->names[i] = trial->topology.places[i].name;
    trial->counters = arena_new_array(trial->arena, struct link_counters, (size_t)trial->topology.link_count);
    int prepared = 0;
    for (size_t i = 0; parts[i] && prepared == 0; i++)
        if (parts[i]->prepare)
            prepared = parts[i]->prepare(trial, err);
    return prepared;
}

static int trial_store_begin(struct trial *trial, struct err *err)
{
    if (!trial->context->store)
        return 0;
    struct trial_begin begin = {
        .campaign_id = trial->context->campaign_id,
        .replaces = trial->context->replaces,
        .plan = trial->plan,
        .arm = trial->cell->arm ? trial->cell->arm->name : "",
        .arm_count = trial->context->arm_count,
        .world = trial->cell->settings.world,
        .engine = trial->engine,
        .started_unix_ns = clock_wall_ns(),
        .topology = &trial->topology,
        .workers = trial->asked.setup.workers,
        .servers = trial->asked.setup.servers,
        .payload_bytes = trial->sizes ? 0 : trial->asked.setup.parameter_count * sizeof(float),
        .sizes = trial->sizes,
        .size_count = trial->end.size_count,
        .warmup_rounds = trial->cell->settings.warmup_rounds,
        .predicted = trial->predicted,
    };
    return store_trial_begin(trial->context->store, &begin, &trial->id, err);
}

static void trial_copy_links(struct trial *trial, const struct link_check *checks)
{
    trial->end.link_count = trial->topology.link_count;
    trial->end.checks = checks;
    trial->end.counters = trial->counters_read ? trial->counters : NULL;
    if (!trial->fabric)
        return;
    size_t bytes = sizeof(struct link_readback) * (size_t)trial->topology.link_count;
    trial->end.readback = arena_copy(trial->arena, fabric_readback(trial->fabric), bytes);
    trial->end.fabric_ns = fabric_build_ns(trial->fabric);
    trial->evidence.entered = fabric_entered(trial->fabric);
}

/* What the driver found, in numbers; and how far the network was from what was asked. */
static void trial_weigh(struct trial *trial, const struct trial_found *found, const struct link_check *checks,
                        struct trial_outcome *outcome)
{
    double *times = arena_new_array(trial->arena, double, (size_t)found->round_count);
    size_t measured = 0;
    for (int r = 0; r < found->round_count; r++)
        if (!found->rounds[r].warmup)
            times[measured++] = (double)(found->rounds[r].end_ns - found->rounds[r].begin_ns);
    if (trial->end.size_count < 2) {
        outcome->round_median_ns = statistics_median(times, measured);
        outcome->round_mean_ns = statistics_mean(times, measured);
    }

    /* For the network as measured c is the gradient's real work as it was in the trial, on shared processors. */
    if (checks) {
        struct forecast measured_forecast;
        forecast_setup(trial->cell, &trial->topology, checks, found->gradient_ns, trial->plan->seed, trial->arena,
                       &measured_forecast);
        forecast_message_cost(&measured_forecast, trial->context->message_ns);
        forecast_predict_sizes(&measured_forecast, trial->predicted_measured);
        trial->end.predicted_measured = trial->predicted_measured;
    }
    if (trial->driver->virtual_clock) {
        snprintf(trial->predicted_measured->reason, sizeof(trial->predicted_measured->reason),
                 "links of the virtual world are what was asked: there is nothing to measure");
        trial->end.predicted_measured = trial->predicted_measured;
    }
    struct fidelity_evidence *evidence = &trial->evidence;
    evidence->topology = &trial->topology;
    evidence->counters = trial->counters_read ? trial->counters : NULL;
    evidence->checks = checks;
    evidence->nodes = found->nodes;
    evidence->node_count = found->node_count;
    evidence->duration_ns = found->duration_ns - found->between_ns;
    evidence->busy_waits = trial->cell->settings.busy_wait_ns > 0;
    if (!trial->driver->virtual_clock) {
        trial->load = host_load_between(&trial->load_before, &trial->load_after);
        trial->end.load = &trial->load;
        evidence->suspended_ns = host_load_suspended_ns(&trial->load_before, &trial->load_after);
    }
    evidence->stolen_share = trial->driver->virtual_clock ? NAN : trial->load.stolen_share;
    char reason[FIDELITY_REASON_BYTES];
    outcome->fidelity = trial->end.fidelity = fidelity_judge(evidence, reason);
    snprintf(outcome->reason, sizeof(outcome->reason), "%s", reason);
    trial->end.fidelity_reason = reason[0] ? arena_strdup(trial->arena, reason) : NULL;
    trial->end.nodes = found->nodes;
    trial->end.node_count = found->node_count;
    trial->end.without_node_rows = !trial->cell->settings.record_nodes;
    trial->end.rounds = found->rounds;
    trial->end.round_count = found->round_count;
    trial->end.parameter_count = found->parameter_count;
    trial->end.duration_ns = found->duration_ns;
}

static void trial_take_down(struct trial *trial)
{
    if (!trial->fabric)
        return;
    int64_t begin_ns = clock_now_ns();
    fabric_end(steal_pointer(&trial->fabric));
    trial->end.teardown_ns = clock_now_ns() - begin_ns;
}

/* A process that ends by SIGKILL tells nobody why: the kernel's count may. */
static void explain_failure(const struct trial *trial, struct trial_outcome *outcome)
{
    const int64_t kills = trial->memory_kills_before < 0 ? 0 : host_load_memory_kills() - trial->memory_kills_before;
    const size_t length = strlen(outcome->reason);
    if (kills > 0 && outcome->status == TRIAL_FAILED)
        snprintf(outcome->reason + length, sizeof(outcome->reason) - length,
                 "; meanwhile memory ran out and the kernel ended %" PRId64
                 " process%s for that: give the host, or the control group "
                 "that it runs in, more memory, or the campaign fewer workers or a smaller model",
                 kills, kills == 1 ? "" : "es");
}

/* Spans and rounds count on a clock that nobody can set; when trials began is of the wall clock. */
static int tell_of_clock(const struct trial *trial, struct err *err)
{
    const int64_t step_ns = trial->end.load ? host_load_clock_step_ns(&trial->load_before, &trial->load_after) : 0;
    char text[160], time[UNITS_TEXT_BYTES];
    if (step_ns == 0)
        return 0;
    snprintf(text, sizeof(text), "the wall clock was set %s by %s while rounds ran; their times do not depend on it",
             step_ns > 0 ? "forward" : "back", units_show_time(time, sizeof(time), fabs((double)step_ns)));
    return store_event(trial->context->store, trial->context->campaign_id, trial->id, "clock", text, err);
}

static const struct trial_driver *driver_of(const struct settings *settings)
{
    if (settings->world == WORLD_VIRTUAL)
        return &trial_virtual;
    return settings->scheme.outside ? &trial_programs : &trial_agents;
}

int trial_run(const struct trial_context *context, const struct cell *cell, const struct trial_plan *plan, enum engine_kind engine,
              const struct link_check *checks, struct trial_outcome *outcome, struct err *err)
{
    cleanup(trial_clean) struct trial trial = {.context = context,
                                               .cell = cell,
                                               .plan = plan,
                                               .engine = engine,
                                               .driver = driver_of(&cell->settings),
                                               .memory_kills_before = host_load_memory_kills(),
                                               .arena = arena_new()};
    *outcome = (struct trial_outcome){.status = TRIAL_FINISHED, .round_median_ns = NAN, .round_mean_ns = NAN};

    int64_t begin_ns = clock_now_ns();
    int result = trial_forecast(&trial, err);
    if (result == 0)
        result = trial_store_begin(&trial, err);
    if (result < 0)
        return result;

    outcome->trial_id = trial.id;

    /* From here on whatever fails is this trial's failure, with its row. */
    struct err failure = {0};
    result = trial.driver->build(&trial, &failure);
    if (result == 0)
        result = trial.driver->run(&trial, &failure);
    if (result == 0)
        trial.end.setup_ns = outcome->setup_ns = trial.ready_ns - begin_ns;
    if (trial.driver->conclude)
        trial.driver->conclude(&trial);
    trial_copy_links(&trial, checks);
    for (size_t i = 0; parts[i]; i++)
        if (parts[i]->conclude)
            parts[i]->conclude(&trial);
    outcome->fabric_ns = trial.end.fabric_ns;
    trial_take_down(&trial);

    struct trial_found found = {0};
    if (result == 0)
        result = trial.driver->judge(&trial, &found, &failure);
    if (result == 0)
        trial_weigh(&trial, &found, checks, outcome);
    if (result < 0) {
        outcome->status = failure.kind == ERR_INTERRUPTED ? TRIAL_INTERRUPTED : TRIAL_FAILED;
        snprintf(outcome->reason, sizeof(outcome->reason), "%s", failure.text);
        explain_failure(&trial, outcome);
        trial.end.reason = outcome->reason;
    }
    outcome->predicted = trial.predicted[0];
    trial.end.predicted = trial.predicted;
    trial.end.status = outcome->status;
    if (context->store && trial.id > 0) {
        result = store_trial_end(context->store, trial.id, &trial.end, err);
        if (result == 0)
            result = tell_of_clock(&trial, err);
        if (result < 0)
            return result;
    }
    return outcome->status == TRIAL_INTERRUPTED ? err_set(err, ERR_INTERRUPTED, "%s", failure.text) : 0;
}
