/* cmd_baselines.c: `laggard baselines`: which campaigns of a database others are compared with. */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/options.h"
#include "base/text.h"
#include "harness/commands.h"
#include "harness/gate_run.h"
#include "harness/progress.h"
#include "results/baselines.h"
#include "results/database.h"
#include "results/gate_data.h"
#include "results/gate_output.h"
#include "results/sqlite_wrap.h"

struct baselines_options {
    const char *name, *revision, *baseline, *thresholds;
    int64_t campaign;
    bool ratchet, json;
};

static const struct option_row baselines_rows[] = {
    {.name = "name",
     .type = OPTION_STRING,
     .offset = offsetof(struct baselines_options, name),
     .value_name = "NAME",
     .help = "the baseline's name (default: main)"},
    {.name = "revision",
     .type = OPTION_STRING,
     .offset = offsetof(struct baselines_options, revision),
     .value_name = "REVISION",
     .help = "set: of the source code that ran, such as git's; diff: the baseline of this revision"},
    {.name = "campaign",
     .type = OPTION_INTEGER,
     .offset = offsetof(struct baselines_options, campaign),
     .value_name = "N",
     .help = "this campaign of the database, by its campaign_id (default: the last)",
     .minimum = 1,
     .maximum = INT64_MAX},
    {.name = "ratchet",
     .type = OPTION_FLAG,
     .offset = offsetof(struct baselines_options, ratchet),
     .help = "set: only if it improved on the baseline of this name and is nowhere worse"},
    {.name = "thresholds",
     .type = OPTION_STRING,
     .offset = offsetof(struct baselines_options, thresholds),
     .value_name = "FILE",
     .help = "set --ratchet: a threshold file, in place of `gate` in the campaign file"},
    {.name = "baseline",
     .type = OPTION_STRING,
     .offset = offsetof(struct baselines_options, baseline),
     .value_name = "DB2",
     .help = "diff: the baseline is in this database"},
    {.name = "json",
     .type = OPTION_FLAG,
     .offset = offsetof(struct baselines_options, json),
     .help = "diff: print one JSON document instead of the table"},
    {0},
};
static const char *const action_names[] = {"set", "show", "diff", "export", NULL};
const struct option_table cmd_baselines_table = {
    .command = "baselines",
    .usage = "set|show|diff|export DB [OPTIONS]",
    .summary = "Sets the last campaign in DB as a baseline, lists baselines, compares with one, or prints them as JSON.",
    .rows = baselines_rows,
    .positional_minimum = 2,
    .positional_maximum = 2,
    .first_words = action_names,
};

static const char STANDARD_NAME[] = "main";

/* Lets the baseline move only forward. *moves: it may. Returns the gate's exit code where it may not. */
static int ratchet(const char *db, const struct baselines_options *options, bool *moves, struct err *err)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    cleanup(text_free) struct text text = {0};
    cleanup(sql_cleanup) struct sql *sql = NULL;
    struct gate_result result;
    int64_t before = 0, campaign = options->campaign;
    *moves = true;
    int status = database_open(db, &sql, err);
    if (status == 0)
        status = baselines_find(sql, options->name, NULL, &before, err);
    if (status < 0 || before == 0)
        return status; /* the first one of a name has nothing to be worse than */
    if (campaign == 0 && (status = gate_data_last_campaign(sql, &campaign, err)) < 0)
        return status;
    *moves = campaign != before; /* what is the baseline already has nothing to improve on */
    if (!*moves)
        return 0;
    const struct gate_asked asked = {.db = db,
                                     .baseline_db = db,
                                     .baseline_name = options->name,
                                     .thresholds = options->thresholds,
                                     .campaign_id = options->campaign};
    status = gate_run(&asked, arena, &result, err);
    if (status < 0)
        return status;
    gate_print_table(&result, false, &text);
    fputs(text.bytes, stdout);
    *moves = result.exit_code == 0 && result.counts[GATE_IMPROVED] > 0;
    return result.exit_code;
}

static int set(const char *db, struct baselines_options *options, struct err *err)
{
    options->name = options->name ? options->name : STANDARD_NAME;
    bool moves = true;
    int code = options->ratchet ? ratchet(db, options, &moves, err) : 0;
    if (code < 0)
        return code;
    if (!moves) {
        printf("baseline %s stays: nothing improved%s\n", options->name, code ? ", and not all is well" : "");
        return code;
    }
    int result = baselines_set(db, options->campaign, options->name, options->revision, clock_wall_ns(), err);
    if (result == 0)
        printf("baseline %s is set in %s\n", options->name, db);
    return result;
}

static int show(const char *db, struct baselines_options *options, struct err *err)
{
    (void)options; /* it takes none */
    cleanup(sql_cleanup) struct sql *sql = NULL;
    cleanup(text_free) struct text text = {0};
    int result = database_open(db, &sql, err);
    if (result == 0)
        result = baselines_show(sql, &text, err);
    if (result == 0)
        fputs(text.bytes, stdout);
    return result;
}

static int export(const char *db, struct baselines_options *options, struct err *err)
{
    cleanup(sql_cleanup) struct sql *sql = NULL;
    cleanup(text_free) struct text text = {0};
    int result = database_open(db, &sql, err);
    if (result == 0)
        result = baselines_export(sql, options->name, &text, err);
    if (result == 0)
        fputs(text.bytes, stdout);
    return result;
}

/* Every metric, and no threshold: what differs is shown, nothing is judged. */
static int diff(const char *db, struct baselines_options *options, struct err *err)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    cleanup(text_free) struct text text = {0};
    struct gate_result result;
    const struct gate_asked asked = {.db = db,
                                     .baseline_db = options->baseline ? options->baseline : db,
                                     .baseline_name = options->name,
                                     .revision = options->revision,
                                     .campaign_id = options->campaign,
                                     .every_metric = true};
    int status = gate_run(&asked, arena, &result, err);
    if (status < 0)
        return status;
    if (options->json)
        gate_print_json(&result, &text);
    else
        gate_print_table(&result, progress_colour(COLOUR_AUTO, STDOUT_FILENO), &text);
    fputs(text.bytes, stdout);
    return 0;
}

/* In the order of action_names. */
static const struct {
    int (*run)(const char *db, struct baselines_options *options, struct err *err);
    const char *options; /* those that it takes: each with a blank behind it */
} actions[] = {
    {set, "name revision campaign ratchet thresholds "},
    {show, ""},
    {diff, "name revision campaign baseline json "},
    {export, "name "},
};
enum { ACTIONS = sizeof(actions) / sizeof(actions[0]) };
static_assert(ACTIONS + 1 == sizeof(action_names) / sizeof(action_names[0]), "each action has a name");

/* What an action would pass over is refused: somebody meant something by it. */
static int check_options(int action, const struct baselines_options *options, struct err *err)
{
    const struct {
        const char *name;
        bool given;
    } given[] = {{"name ", options->name},       {"revision ", options->revision},     {"campaign ", options->campaign > 0},
                 {"ratchet ", options->ratchet}, {"thresholds ", options->thresholds}, {"baseline ", options->baseline},
                 {"json ", options->json}};
    static_assert(sizeof(given) / sizeof(given[0]) + 1 == sizeof(baselines_rows) / sizeof(baselines_rows[0]),
                  "each option is checked");
    for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
        if (given[i].given && !strstr(actions[action].options, given[i].name))
            return err_set(err, ERR_USAGE, "baselines %s takes no --%.*s: leave it out", action_names[action],
                           (int)strlen(given[i].name) - 1, given[i].name);
    if (options->thresholds && !options->ratchet)
        return err_set(err, ERR_USAGE, "--thresholds is about --ratchet: leave it out, or add that");
    return 0;
}

int cmd_baselines(int argc, char **argv, struct err *err)
{
    struct baselines_options options = {0};
    int words;
    int result = options_parse(&cmd_baselines_table, argc, argv, &options, &words, err);
    if (result != 0)
        return result < 0 ? result : 0;
    for (int i = 0; i < ACTIONS; i++)
        if (strcmp(argv[0], action_names[i]) == 0)
            return (result = check_options(i, &options, err)) < 0 ? result : actions[i].run(argv[1], &options, err);
    const char *near = options_nearest(argv[0], action_names, ACTIONS);
    return err_set(err, ERR_USAGE, "baselines: found '%s'%s%s%s are: set, show, diff, export", argv[0],
                   near ? ", did you mean '" : ", allowed", near ? near : "", near ? "'? Allowed" : "");
}
