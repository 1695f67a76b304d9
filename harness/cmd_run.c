/* cmd_run.c: `laggard run`: checks everything that can be wrong, then runs the campaign's trials one after the other and prints
 * what came out. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "agents/dataset.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/options.h"
#include "base/text.h"
#include "base/units.h"
#include "harness/agent_path.h"
#include "harness/campaign.h"
#include "harness/commands.h"
#include "harness/environment.h"
#include "harness/forecast.h"
#include "harness/interruption.h"
#include "harness/link_survey.h"
#include "harness/progress.h"
#include "harness/trial.h"
#include "results/store.h"
#include "results/summary.h"

struct run_options {
    const char *db, *only;
    int world, engine, color;
    uint64_t seed;
    int64_t max_time_ns;
    bool json, quiet;
};
static const struct option_row run_rows[] = {
    {.name = "db",
     .type = OPTION_STRING,
     .offset = offsetof(struct run_options, db),
     .value_name = "FILE",
     .help = "the database (default: NAME.db in the current folder, NAME being the campaign's)"},
    {.name = "world",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct run_options, world),
     .choices = world_names,
     .value_name = "WORLD",
     .help = "what carries the schemes, in place of the file's"},
    {.name = "engine",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct run_options, engine),
     .choices = engine_names,
     .value_name = "ENGINE",
     .help = "what delays packets, in place of the file's"},
    {.name = "seed",
     .type = OPTION_UNSIGNED,
     .offset = offsetof(struct run_options, seed),
     .value_name = "N",
     .help = "in place of the file's seed",
     .minimum = 0,
     .maximum = INT64_MAX},
    {.name = "only",
     .type = OPTION_STRING,
     .offset = offsetof(struct run_options, only),
     .value_name = "CELL",
     .help = "run one cell: its number or its label as `laggard plan` prints them"},
    {.name = "max-time",
     .type = OPTION_TIME,
     .offset = offsetof(struct run_options, max_time_ns),
     .value_name = "TIME",
     .help = "start no trial after this time; what is left out is said",
     .minimum = 1,
     .maximum = INT64_MAX},
    {.name = "json",
     .type = OPTION_FLAG,
     .offset = offsetof(struct run_options, json),
     .help = "print one JSON document instead of the table"},
    {.name = "quiet", .letter = 'q', .type = OPTION_FLAG, .offset = offsetof(struct run_options, quiet), .help = "no progress"},
    {.name = "color",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct run_options, color),
     .choices = colour_names,
     .value_name = "WHEN",
     .help = "auto, always or never; NO_COLOR is honoured"},
    {0},
};
static const struct option_table run_table = {
    .command = "run",
    .usage = "FILE [OPTIONS]",
    .summary = "Runs the campaign in FILE, stores every timing and prints one line a cell.",
    .rows = run_rows,
    .positional_minimum = 1,
    .positional_maximum = 1,
};
enum { NOT_GIVEN = -1 };

struct run {
    struct run_options options;
    struct arena *arena;
    struct plan plan;
    struct fabric_host host;
    struct link_survey survey;
    struct store *store;
    struct progress progress;
    char db_path[PATH_MAX], agent_path[PATH_MAX];
    int dataset_fd, signal_fd;
    int64_t campaign_id, started_ns;
    int only_cell; /* NOT_GIVEN: all */
};

static void run_clean(struct run *run)
{
    close_fd(&run->dataset_fd);
    close_fd(&run->signal_fd);
    arena_free(run->arena);
}

/* ---- before anything exists ---- */

static int choose_cell(struct run *run, struct err *err)
{
    run->only_cell = NOT_GIVEN;
    if (!run->options.only)
        return 0;
    for (int c = 0; c < run->plan.cell_count; c++) {
        char number[16];
        snprintf(number, sizeof(number), "%d", c);
        if (strcmp(run->options.only, number) == 0 || strcmp(run->options.only, run->plan.cells[c].label) == 0)
            run->only_cell = c;
    }
    if (run->only_cell != NOT_GIVEN)
        return 0;
    return err_set(err, ERR_USAGE, "--only '%s' is no cell of %s: `laggard plan %s` lists them", run->options.only,
                   run->plan.file_path, run->plan.file_path);
}

static bool wanted(const struct run *run, int cell)
{
    return run->only_cell == NOT_GIVEN || run->only_cell == cell;
}

/* Where every cell reads the same data, they are unpacked once and shared; otherwise each agent reads its own. */
static int check_data(struct run *run, struct err *err)
{
    const struct workload_settings *first = NULL;
    bool same = true;
    for (int c = 0; c < run->plan.cell_count; c++) {
        const struct workload_settings *workload = &run->plan.cells[c].settings.workload;
        if (workload->model == MODEL_SYNTHETIC || !wanted(run, c))
            continue;
        int result = dataset_check(workload->dataset, workload->dataset_path, err);
        if (result < 0)
            return result;
        first = first ? first : workload;
        const char *path = workload->dataset_path ? workload->dataset_path : "";
        same = same && workload->dataset == first->dataset && strcmp(path, first->dataset_path ? first->dataset_path : "") == 0;
    }
    return first && same ? dataset_export(first->dataset, first->dataset_path, &run->dataset_fd, err) : 0;
}

static int check_all(struct run *run, struct err *err)
{
    int result = choose_cell(run, err);
    if (result == 0 && run->options.world != NOT_GIVEN && run->options.world != WORLD_EMULATED)
        result = err_set(err, ERR_USAGE, "--world %s: this version carries schemes in the emulated world only",
                         world_names[run->options.world]);
    if (result == 0)
        result = agent_path_find(run->agent_path, sizeof(run->agent_path), err);
    if (run->options.db)
        snprintf(run->db_path, sizeof(run->db_path), "%s", run->options.db);
    else
        snprintf(run->db_path, sizeof(run->db_path), "%s.db", run->plan.name);
    if (result == 0)
        result = store_check(run->db_path, err);
    if (result == 0)
        result = fabric_probe(&run->host, err);
    if (result == 0)
        result = link_survey_prepare(&run->plan, run->options.engine != NOT_GIVEN ? &run->options.engine : NULL, run->only_cell,
                                     &run->host, run->arena, &run->survey, err);
    if (result == 0)
        result = check_data(run, err);
    return result;
}

/* ---- the campaign ---- */

static int open_store(struct run *run, int argc, char **argv, struct err *err)
{
    int interrupted = 0;
    int result = store_open(run->db_path, &interrupted, &run->store, err);
    if (result < 0)
        return result;
    if (interrupted > 0)
        log_warning("%s: %d trial%s of an earlier run had not ended; now marked interrupted", run->db_path, interrupted,
                    interrupted == 1 ? "" : "s");
    const char **texts = arena_new_array(run->arena, const char *, (size_t)run->plan.cell_count);
    for (int c = 0; c < run->plan.cell_count; c++) {
        struct text text = {0};
        campaign_dump(&run->plan.cells[c].settings, &text);
        texts[c] = arena_strdup(run->arena, text.bytes ? text.bytes : "");
        text_free(&text);
    }
    const struct environment_fact *facts;
    int fact_count;
    environment_collect(run->arena, argc, argv, &facts, &fact_count);
    return store_campaign(run->store, &run->plan, texts, facts, fact_count, &run->campaign_id, err);
}

static double trial_seconds(const struct run *run, int cell_index)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    const struct cell *cell = &run->plan.cells[cell_index];
    struct forecast forecast;
    struct prediction prediction;
    forecast_setup(cell, &link_survey_of(&run->survey, cell_index)->topology, NULL, 0, run->plan.seed, arena, &forecast);
    forecast_predict(&forecast, &prediction);
    return forecast_trial_seconds(&cell->settings, &prediction);
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
        if (!wanted(run, c) || interrupted(run) || time_is_up(run))
            continue;
        struct survey_entry *entry = &run->survey.entries[run->survey.entry_of_cell[c]];
        if (entry->checks)
            continue;
        char what[80];
        snprintf(what, sizeof(what), "measuring %d links", entry->topology.link_count);
        progress_stage(&run->progress, what);
        int result = link_survey_measure(entry, run->signal_fd, run->arena, err);
        if (result < 0)
            return result;
    }
    return 0;
}

static int run_trials(struct run *run, int *left_out, struct err *err)
{
    struct trial_context context = {
        .store = run->store,
        .campaign_id = run->campaign_id,
        .agent_path = run->agent_path,
        .dataset_fd = run->dataset_fd,
        .signal_fd = run->signal_fd,
        .progress = progress_rounds,
        .progress_context = &run->progress,
    };
    for (int t = 0; t < run->plan.trial_count; t++) {
        const struct trial_plan *trial = &run->plan.trials[t];
        if (!wanted(run, trial->cell))
            continue;
        if (interrupted(run))
            return err_set(err, ERR_INTERRUPTED, "interrupted between trials; %s holds what was finished", run->db_path);
        if (time_is_up(run)) {
            (*left_out)++;
            continue;
        }
        const struct survey_entry *entry = link_survey_of(&run->survey, trial->cell);
        progress_trial(&run->progress, trial, trial_seconds(run, trial->cell));
        struct trial_outcome outcome;
        int result = trial_run(&context, &run->plan.cells[trial->cell], trial, entry->engine, entry->checks, &outcome, err);
        if (result == 0 || result == -ERR_INTERRUPTED) /* what could not be stored has not come to a good end */
            progress_trial_done(&run->progress, &outcome);
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

static int run_campaign(struct run *run, int argc, char **argv, struct err *err)
{
    run->started_ns = clock_now_ns();
    cleanup(free_pointer) double *cell_seconds = calloc((size_t)run->plan.cell_count, sizeof(*cell_seconds));
    if (!cell_seconds)
        return err_set_errno(err, ERR_HOST, ENOMEM, "forecasting %d cells", run->plan.cell_count);
    double seconds = 0;
    int count = 0;
    for (int c = 0; c < run->plan.cell_count; c++)
        if (wanted(run, c))
            cell_seconds[c] = trial_seconds(run, c);
    for (int t = 0; t < run->plan.trial_count; t++) {
        count += wanted(run, run->plan.trials[t].cell);
        seconds += cell_seconds[run->plan.trials[t].cell];
    }
    progress_begin(&run->progress, &run->plan, count, seconds, run->options.quiet, (enum colour_mode)run->options.color);
    int result = open_store(run, argc, argv, err);
    int left_out = 0;
    if (result == 0)
        result = measure_links(run, err);
    if (result == 0)
        result = run_trials(run, &left_out, err);
    progress_end(&run->progress);
    if (result < 0 && result != -ERR_INTERRUPTED)
        return result;
    struct err print_err = {0};
    if (print_result(run, &print_err) < 0) {
        if (result == 0)
            return err_set(err, print_err.kind, "%s", print_err.text);
        log_error("%s", print_err.text);
    }
    if (left_out > 0)
        log_warning("--max-time left out %d trial%s", left_out, left_out == 1 ? "" : "s");
    struct summary_counts counts = {0};
    if (result == 0 && summary_counts(run->store, run->campaign_id, &counts, err) < 0)
        return -ERR_HOST;
    result = close_store(run, result, err);
    char limit[UNITS_TEXT_BYTES];
    if (result == 0 && left_out == count)
        return err_set(err, ERR_USAGE, "--max-time %s was over before the first trial: links are measured within it; give it more",
                       units_spell_time(limit, sizeof(limit), run->options.max_time_ns));
    if (result == 0 && counts.failed > 0)
        return err_set(
            err, ERR_TRIAL,
            "%d of %d trials failed; `sqlite3 %s \"SELECT run_order, label, reason FROM trials WHERE status = 'failed'\"` says why",
            counts.failed, counts.trials, run->db_path);
    return result;
}

/* Two descriptors a node: a large cell needs more than the usual soft limit. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

int cmd_run(int argc, char **argv, struct err *err)
{
    cleanup(run_clean) struct run run = {.arena = arena_new(), .dataset_fd = -1, .signal_fd = -1};
    run.options = (struct run_options){.world = NOT_GIVEN, .engine = NOT_GIVEN, .seed = UINT64_MAX};
    char **kept_argv = arena_copy(run.arena, argv, sizeof(*argv) * (size_t)(argc + 1)); /* options_parse() permutes argv */
    int files;
    int result = options_parse(&run_table, argc, argv, &run.options, &files, err);
    if (result != 0)
        return result < 0 ? result : 0;
    raise_descriptor_limit();
    result = campaign_load(argv[0], run.options.seed != UINT64_MAX ? &run.options.seed : NULL, run.arena, &run.plan, err);
    if (result == 0)
        result = check_all(&run, err);
    if (result == 0)
        result = interruption_open(&run.signal_fd, err);
    if (result == 0)
        result = run_campaign(&run, argc, kept_argv, err);
    return close_store(&run, result, err);
}
