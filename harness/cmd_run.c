/* cmd_run.c: `laggard run`: runs the campaign's trials one after the other and prints what came out; what can be wrong was checked
 * before (run_check.c). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/options.h"
#include "base/text.h"
#include "base/units.h"
#include "harness/byzantine_outlook.h"
#include "harness/campaign.h"
#include "harness/capture_links.h"
#include "harness/commands.h"
#include "harness/cpu_limit.h"
#include "harness/environment.h"
#include "harness/event_outlook.h"
#include "harness/forecast.h"
#include "harness/host_limits.h"
#include "harness/interruption.h"
#include "harness/link_survey.h"
#include "harness/message_cost.h"
#include "harness/progress.h"
#include "harness/run_internal.h"
#include "harness/trial.h"
#include "results/store.h"
#include "results/summary.h"

static void run_clean(struct run *run)
{
    cpu_limiter_close(run->limiter);
    close_fd(&run->dataset_fd);
    close_fd(&run->signal_fd);
    arena_free(run->arena);
}

int run_open_store(struct run *run, struct err *err)
{
    int interrupted = 0;
    int result = store_open(run->db_path, &interrupted, &run->store, err);
    if (interrupted > 0)
        log_warning("%s: %d trial%s of an earlier run had not ended; now marked interrupted", run->db_path, interrupted,
                    units_plural(interrupted));
    return result;
}

/* The campaign's rows, those of a new one or of the one that goes on. */
static int begin_campaign(struct run *run, int argc, char **argv, struct err *err)
{
    int result = run->store ? 0 : run_open_store(run, err);
    if (result < 0)
        return result;
    if (run->resumed_id > 0) {
        run->campaign_id = run->resumed_id;
        return run->wanted_count > 0 ? run_resume_store(run, err) : 0;
    }
    if (!run->options.resume && !run->flagged && (result = run_resume_hint(run, err)) < 0)
        return result;
    const char **texts = arena_new_array(run->arena, const char *, (size_t)run->plan.cell_count);
    for (int c = 0; c < run->plan.cell_count; c++) {
        struct text text = {0};
        campaign_dump(&run->plan.cells[c].settings, &text);
        texts[c] = arena_strdup(run->arena, text.bytes ? text.bytes : "");
        text_free(&text);
    }
    const struct environment_fact *of_host, *of_files;
    int host_count, file_count;
    environment_collect(run->arena, run->message_ns, argc, argv, &of_host, &host_count);
    run_files(run, &of_files, &file_count);
    struct environment_fact *facts = arena_new_array(run->arena, struct environment_fact, (size_t)(host_count + file_count));
    memcpy(facts, of_host, sizeof(*facts) * (size_t)host_count);
    memcpy(facts + host_count, of_files, sizeof(*facts) * (size_t)file_count);
    result = store_campaign(run->store, &run->plan, texts, facts, host_count + file_count, &run->campaign_id, err);
    return result == 0 && run->flagged ? store_confirms(run->store, run->campaign_id, run->confirmed_id, err) : result;
}

/* Of an outside program: the progress bar needs some length. */
static const double UNKNOWN_TRIAL_SECONDS = 10;

/* rounds_ns: NULL, or of the rounds alone; NAN: nobody knows. */
static double trial_seconds(const struct run *run, int cell_index, double *rounds_ns)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    const struct cell *cell = &run->plan.cells[cell_index];
    struct forecast forecast;
    struct prediction predictions[SIZES_MAX];
    forecast_setup(cell, &link_survey_of(&run->survey, cell_index)->topology, NULL, 0, run->plan.seed, arena, &forecast);
    forecast_message_cost(&forecast, run->message_ns);
    forecast_round_only(&forecast);
    forecast_undisturbed_sizes(&forecast, predictions);
    if (rounds_ns)
        *rounds_ns = forecast_rounds_ns(&cell->settings, predictions);
    double seconds = forecast_trial_seconds(&cell->settings, predictions);
    return isfinite(seconds) ? seconds : UNKNOWN_TRIAL_SECONDS;
}

static bool interrupted(const struct run *run)
{
    return run->signal_fd >= 0 && interruption_pending();
}

/* --max-time counts from the campaign's beginning, its links' measurement included. */
static bool time_is_up(const struct run *run)
{
    return run->options.max_time_ns > 0 && clock_now_ns() - run->started_ns >= run->options.max_time_ns;
}

static int measure_links(struct run *run, struct err *err)
{
    for (int c = 0; c < run->plan.cell_count; c++) {
        if (!run_wants(run, c) || interrupted(run) || time_is_up(run))
            continue;
        struct survey_entry *entry = &run->survey.entries[run->survey.entry_of_cell[c]];
        if (entry->checks || entry->virtual)
            continue;
        char what[80];
        snprintf(what, sizeof(what), "measuring %d link%s", entry->topology.link_count, units_plural(entry->topology.link_count));
        progress_stage(&run->progress, what);
        const struct measure_effort effort = {.sample = LINK_SURVEY_SAMPLE};
        int result = link_survey_measure(entry, &effort, run->signal_fd, run->arena, err);
        if (result < 0)
            return result;
        if (entry->changed)
            log_warning("somebody changed a network while it was measured: %s", entry->changed);
    }
    return 0;
}

/* Of our agents' messages. A host too busy for it can still run the campaign: predictions then take the usual cost. */
static int measure_messages(struct run *run, struct err *err)
{
    bool needed = false;
    for (int c = 0; c < run->plan.cell_count; c++)
        needed = needed || (run_wants(run, c) && !run->plan.cells[c].settings.scheme.outside &&
                            forecast_wants_message_cost(&run->plan.cells[c].settings));
    if (!needed || interrupted(run) || time_is_up(run))
        return 0;
    progress_stage(&run->progress, "measuring what a message costs");
    const struct trial_context context = {.agent_path = run->agent_path, .signal_fd = run->signal_fd};
    int result = message_cost_measure(&context, &run->message_ns, err);
    if (result == 0 || result == -ERR_INTERRUPTED)
        return result;
    log_warning("%s; predictions take %g us", err->text, FORECAST_MESSAGE_NS / NS_PER_US);
    return 0;
}

/* Again and again, as often as --retries says, until it does not fail. */
static int run_trial(struct run *run, struct trial_context *context, int number, struct err *err)
{
    const struct trial_plan *trial = &run->plan.trials[number];
    const struct survey_entry *entry = link_survey_of(&run->survey, trial->cell);
    if (run->agent_paths)
        context->agent_path = run->agent_paths[trial->cell % run->plan.arm_count];
    context->replaces = run->replaced ? run->replaced[number] : 0;
    for (int64_t retry = 0;; retry++) {
        struct trial_outcome outcome;
        progress_trial(&run->progress, trial, run->cell_seconds[trial->cell]);
        int result = trial_run(context, &run->plan.cells[trial->cell], trial, entry->engine, entry->checks, &outcome, err);
        if (result == 0 || result == -ERR_INTERRUPTED) /* what could not be stored has not come to a good end */
            progress_trial_done(&run->progress, &outcome);
        if (result < 0 || outcome.status != TRIAL_FAILED || retry == run->options.retries || interrupted(run) || time_is_up(run))
            return result;
        context->replaces = outcome.trial_id;
        progress_trial_again(&run->progress, retry + 1, run->options.retries);
    }
}

static int run_trials(struct run *run, int *left_out, struct err *err)
{
    struct trial_context context = {
        .store = run->store,
        .campaign_id = run->campaign_id,
        .agent_path = run->agent_path,
        .arm_count = run->plan.arm_count,
        .program_paths = run->program_paths,
        .dataset_fd = run->dataset_fd,
        .message_ns = run->message_ns,
        .cpu_limiter = run->limiter,
        .predictions = arena_new_array(run->arena, struct cell_prediction, (size_t)run->plan.cell_count),
        .signal_fd = run->signal_fd,
        .progress = progress_rounds,
        .progress_context = &run->progress,
    };
    for (int t = 0; t < run->plan.trial_count; t++) {
        if (!run->trial_wanted[t])
            continue;
        if (interrupted(run))
            return err_set(err, ERR_INTERRUPTED,
                           "interrupted between trials; %s holds what was finished, and the same command with --resume goes on",
                           run->db_path);
        if (time_is_up(run)) {
            (*left_out)++;
            continue;
        }
        int result = run_trial(run, &context, t, err);
        if (result < 0)
            return result;
    }
    return 0;
}

static int print_result(struct run *run, struct err *err)
{
    cleanup(text_free) struct text text = {0};
    int result = run->options.json
                     ? summary_json(run->store, run->campaign_id, run->db_path, &text, err)
                     : summary_table(run->store, run->campaign_id,
                                     progress_colour((enum colour_mode)run->options.color, STDOUT_FILENO), &text, err);
    if (result < 0)
        return result;
    fputs(text.bytes ? text.bytes : "", stdout);
    return 0;
}

/* A database that refuses rows also refuses to be closed in good order: after an error that has been said, that is no news. */
static int close_store(struct run *run, int result, struct err *err)
{
    struct err close_err = {0};
    int closed = store_close(steal_pointer(&run->store), &close_err);
    if (closed < 0 && result == 0)
        return err_set(err, close_err.kind, "%s", close_err.text);
    if (closed < 0 && result == -ERR_INTERRUPTED)
        log_error("%s", close_err.text);
    return result;
}

static int say_left_out(struct run *run, int count, struct err *err)
{
    char text[80];
    snprintf(text, sizeof(text), "--max-time left out %d trial%s", count, units_plural(count));
    log_warning("%s", text);
    return store_event(run->store, run->campaign_id, 0, "left-out", text, err);
}

static int run_campaign(struct run *run, int argc, char **argv, struct err *err)
{
    run->started_ns = clock_now_ns();
    run->cell_seconds = arena_new_array(run->arena, double, (size_t)run->plan.cell_count);
    double *rounds_ns = arena_new_array(run->arena, double, (size_t)run->plan.cell_count);
    double seconds = 0;
    for (int c = 0; c < run->plan.cell_count; c++) {
        rounds_ns[c] = NAN; /* of cells that are not run nothing is said */
        if (!run_wants(run, c))
            continue;
        run->cell_seconds[c] = trial_seconds(run, c, &rounds_ns[c]);
        byzantine_outlook_warn(&run->plan.cells[c]);
    }
    event_outlook_warn(&run->plan, rounds_ns);
    for (int t = 0; t < run->plan.trial_count; t++)
        seconds += run->trial_wanted[t] ? run->cell_seconds[run->plan.trials[t].cell] : 0;
    progress_begin(&run->progress, &run->plan, run->wanted_count, seconds, run->options.quiet,
                   (enum colour_mode)run->options.color);
    run_resume_say(run);
    int result = measure_messages(run, err);
    if (result == 0)
        result = begin_campaign(run, argc, argv, err);
    int left_out = 0;
    if (result == 0)
        result = measure_links(run, err);
    if (result == 0)
        result = run_trials(run, &left_out, err);
    progress_end(&run->progress);
    if (result < 0 && (result != -ERR_INTERRUPTED || run->campaign_id == 0)) /* interrupted before it began: nothing to show */
        return result;
    struct err print_err = {0};
    if (print_result(run, &print_err) < 0) {
        if (result == 0)
            return err_set(err, print_err.kind, "%s", print_err.text);
        log_error("%s", print_err.text);
    }
    if (left_out > 0 && result == 0)
        result = say_left_out(run, left_out, err);
    struct summary_counts counts = {0};
    if (result == 0 && summary_counts(run->store, run->campaign_id, &counts, err) < 0)
        return -ERR_HOST;
    result = close_store(run, result, err);
    char limit[UNITS_TEXT_BYTES];
    if (result == 0 && left_out > 0 && left_out == run->wanted_count)
        return err_set(err, ERR_USAGE, "--max-time %s was over before the first trial: links are measured within it; give it more",
                       units_spell_time(limit, sizeof(limit), run->options.max_time_ns));
    if (result == 0 && counts.failed > 0)
        return err_set(err, ERR_TRIAL, "%d of %d trial%s failed; `laggard sql %s problems` says why", counts.failed, counts.trials,
                       units_plural(counts.trials), run->db_path);
    return result;
}

static void name_database(struct run *run)
{
    if (run->options.db)
        snprintf(run->db_path, sizeof(run->db_path), "%s", run->options.db);
    else
        snprintf(run->db_path, sizeof(run->db_path), "%s.db", run->plan.name);
}

static int say_nothing_flagged(const struct run *run)
{
    cleanup(text_free) struct text text = {0};
    struct json json = {.out = &text};
    json_begin_object(&json, NULL);
    json_string(&json, "campaign", run->plan.name);
    json_string(&json, "db", run->db_path);
    static const char *const counts[] = {"trials", "failed", "void", "interrupted", "degraded"};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        json_integer(&json, counts[i], 0);
    json_begin_array(&json, "cells");
    json_end_array(&json);
    json_end_object(&json);
    if (run->options.json)
        printf("%s\n", text.bytes);
    else
        printf("there is nothing to confirm: `laggard gate %s` leaves no cell unconfirmed\n", run->db_path);
    return 0;
}

int cmd_run(int argc, char **argv, struct err *err)
{
    cleanup(run_clean) struct run run = {.arena = arena_new(), .dataset_fd = -1, .signal_fd = -1};
    run.options = (struct run_options){.world = NOT_GIVEN, .engine = NOT_GIVEN};
    char **kept_argv = arena_copy(run.arena, argv, sizeof(*argv) * (size_t)(argc + 1)); /* options_parse() permutes argv */
    int files;
    int result = options_parse(&cmd_run_table, argc, argv, &run.options, &files, err);
    if (result != 0)
        return result < 0 ? result : 0;
    if (run_options_check(&run.options, err) < 0)
        return -ERR_USAGE;
    host_limits_raise();
    const struct campaign_overrides overrides = {
        .seed = run.options.seed_given ? &run.options.seed : NULL,
        .world = run.options.world != NOT_GIVEN ? campaign_world_choices[run.options.world] : NULL,
    };
    result = campaign_load(argv[0], &overrides, run.arena, &run.plan, err);
    if (result == 0)
        name_database(&run);
    if (result == 0 && run.options.confirm)
        result = run_confirm(&run, err);
    if (result == 0 && run.options.confirm && run.flagged_count == 0)
        return say_nothing_flagged(&run);
    if (result == 0 && run.options.capture)
        result = capture_links_override(run.options.capture, run.arena, &run.plan, err);
    if (result == 0 && run.options.resume)
        result = run_resume(&run, err);
    if (result == 0)
        result = run_check(&run, err);
    if (result == 0)
        result = interruption_open(&run.signal_fd, err);
    if (result == 0)
        result = run_campaign(&run, argc, kept_argv, err);
    return close_store(&run, result, err);
}
