/* cmd_history.c: `laggard history`: a metric over the campaigns of a database, and where its level changed. */
#include <stdio.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/options.h"
#include "base/text.h"
#include "base/units.h"
#include "harness/commands.h"
#include "harness/progress.h"
#include "results/database.h"
#include "results/history.h"
#include "results/sqlite_wrap.h"

enum { FORMAT_TABLE, FORMAT_JSON };
static const char *const format_names[] = {"table", "json", NULL};

struct history_options {
    const char *metric, *cell, *alpha, *min_effect;
    int format, color;
    bool changes, json;
};

static const struct option_row history_rows[] = {
    {.name = "metric",
     .type = OPTION_STRING,
     .offset = offsetof(struct history_options, metric),
     .value_name = "METRIC",
     .help = "this metric, or those that match a pattern with * and ? (default: round_time_ns.p50)"},
    {.name = "cell",
     .type = OPTION_STRING,
     .offset = offsetof(struct history_options, cell),
     .value_name = "PATTERN",
     .help = "only cells whose label matches, with * and ? as in a shell"},
    {.name = "changes",
     .type = OPTION_FLAG,
     .offset = offsetof(struct history_options, changes),
     .help = "only rows where a level changed"},
    {.name = "alpha",
     .type = OPTION_STRING,
     .offset = offsetof(struct history_options, alpha),
     .value_name = "SHARE",
     .help = "how often a series without a change may have one all the same (default: 1%)"},
    {.name = "min-effect",
     .type = OPTION_STRING,
     .offset = offsetof(struct history_options, min_effect),
     .value_name = "SHARE",
     .help = "smaller changes are none (default: 0)"},
    {.name = "format",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct history_options, format),
     .choices = format_names,
     .value_name = "FORMAT",
     .help = "how to print it (default: table)"},
    {.name = "json",
     .type = OPTION_FLAG,
     .offset = offsetof(struct history_options, json),
     .help = "as --format json: one JSON document"},
    {.name = "color",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct history_options, color),
     .choices = colour_names,
     .value_name = "WHEN",
     .help = "whether there is colour (default: auto, on a terminal); NO_COLOR is honoured"},
    {0},
};
const struct option_table cmd_history_table = {
    .command = "history",
    .usage = "DB [OPTIONS]",
    .summary = "Prints the medians of a metric over the campaigns in DB, oldest first, and marks where their level changed.",
    .rows = history_rows,
    .positional_minimum = 1,
    .positional_maximum = 1,
};

static int read_shares(const struct history_options *options, struct change_rule *rule, struct err *err)
{
    *rule = HISTORY_RULE;
    if (options->alpha && units_parse_share(options->alpha, 1e-9, 0.5, &rule->alpha, err) < 0)
        return err_wrap(err, "--alpha");
    if (options->min_effect && units_parse_share(options->min_effect, 0, 1e6, &rule->min_effect, err) < 0)
        return err_wrap(err, "--min-effect");
    return 0;
}

int cmd_history(int argc, char **argv, struct err *err)
{
    struct history_options options = {0};
    struct history_question question = {0};
    struct history history;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    cleanup(text_free) struct text text = {0};
    cleanup(sql_cleanup) struct sql *sql = NULL;
    int files;
    int result = options_parse(&cmd_history_table, argc, argv, &options, &files, err);
    if (result != 0)
        return result < 0 ? result : 0;
    question.metric = options.metric;
    question.cell = options.cell;
    result = read_shares(&options, &question.rule, err);
    if (result == 0)
        result = database_open(argv[0], &sql, err);
    if (result == 0)
        result = history_read(sql, &question, arena, &history, err);
    if (result < 0)
        return result;
    if (options.json || options.format == FORMAT_JSON)
        history_print_json(&history, &text);
    else
        history_print_table(&history, options.changes, progress_colour((enum colour_mode)options.color, STDOUT_FILENO), &text);
    fputs(text.bytes, stdout);
    return 0;
}
