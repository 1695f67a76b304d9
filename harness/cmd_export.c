/* cmd_export.c: `laggard export`: a database in the formats of other programs; one row a format. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/options.h"
#include "base/text.h"
#include "harness/commands.h"
#include "harness/gate_run.h"
#include "harness/output_file.h"
#include "results/database.h"
#include "results/export.h"
#include "results/gate_output.h"
#include "results/query.h"
#include "results/sqlite_wrap.h"

enum export_format {
    EXPORT_CSV,
    EXPORT_JSONL,
    EXPORT_TRACE,
    EXPORT_TRACE_JSON,
    EXPORT_OPENMETRICS,
    EXPORT_JUNIT,
    EXPORT_BMF,
    EXPORT_SMALLER,
    EXPORT_BIGGER,
    EXPORT_COUNT
};
static const char *const format_names[EXPORT_COUNT + 1] = {
    "csv", "jsonl", "trace", "trace-json", "openmetrics", "junit", "bmf", "benchmark-action-smaller", "benchmark-action-bigger"};

struct export_options {
    const char *view, *output, *thresholds;
    int64_t campaign, trial;
    int format;
};

static const struct option_row export_rows[] = {
    {.name = "format",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct export_options, format),
     .choices = format_names,
     .value_name = "FORMAT",
     .help = "what to print (default: csv)"},
    {.name = "view",
     .type = OPTION_STRING,
     .offset = offsetof(struct export_options, view),
     .value_name = "VIEW",
     .help = "csv, jsonl: this view (default: trials)"},
    {.name = "campaign",
     .type = OPTION_INTEGER,
     .offset = offsetof(struct export_options, campaign),
     .value_name = "N",
     .help = "this campaign alone, by its campaign_id",
     .minimum = 1,
     .maximum = INT64_MAX},
    {.name = "trial",
     .type = OPTION_INTEGER,
     .offset = offsetof(struct export_options, trial),
     .value_name = "N",
     .help = "trace, trace-json: this trial (default: the first finished one)",
     .minimum = 1,
     .maximum = INT64_MAX},
    {.name = "thresholds",
     .type = OPTION_STRING,
     .offset = offsetof(struct export_options, thresholds),
     .value_name = "FILE",
     .help = "junit: a threshold file, in place of `gate` in the campaign file"},
    {.name = "output",
     .letter = 'o',
     .type = OPTION_STRING,
     .offset = offsetof(struct export_options, output),
     .value_name = "FILE",
     .help = "write there, in place of standard output"},
    {0},
};
const struct option_table cmd_export_table = {
    .command = "export",
    .usage = "DB [OPTIONS]",
    .summary = "Prints what DB holds in a format of other programs.",
    .rows = export_rows,
    .positional_minimum = 1,
    .positional_maximum = 1,
};

static int no_view(struct sql *sql, const char *view, struct err *err)
{
    char near[80];
    sql_nearest_name(sql, "SELECT name FROM sqlite_schema WHERE type = 'view'", view, near, sizeof(near));
    return err_set(err, ERR_USAGE,
                   "--view '%.80s' is no view of '%s'%s%s%s `laggard sql %s columns` lists them, trials and rounds among them",
                   view, sql_path(sql), near[0] ? ", did you mean '" : ":", near, near[0] ? "'?" : "", sql_path(sql));
}

/* A view by its name, so that no name can be SQL; those that know campaigns have a column campaign_id. */
static int check_view(struct sql *sql, const char *view, bool *has_campaign, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    if (sql_prepare(sql,
                    "SELECT count(*), (SELECT count(*) FROM pragma_table_info(?1) WHERE name = 'campaign_id') FROM sqlite_schema "
                    "WHERE type = 'view' AND name = ?1",
                    &rows, err) < 0)
        return -ERR_HOST;
    sql_start(rows);
    sql_put_text(rows, view);
    if (sql_next(rows, err) < 0)
        return -ERR_HOST;
    *has_campaign = sql_integer(rows, 1) > 0;
    return sql_integer(rows, 0) == 0 ? no_view(sql, view, err) : 0;
}

/* 0: none was asked for. */
static int check_campaign(struct sql *sql, int64_t campaign, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    if (sql_prepare(sql, "SELECT ?1 = 0 OR EXISTS (SELECT 1 FROM campaign WHERE campaign_id = ?1)", &rows, err) < 0)
        return -ERR_HOST;
    sql_start(rows);
    sql_put_integer(rows, campaign);
    if (sql_next(rows, err) < 0)
        return -ERR_HOST;
    return sql_integer(rows, 0)
               ? 0
               : err_set(err, ERR_USAGE,
                         "the database '%s' holds no campaign %" PRId64 "; `laggard sql %s trials` has their campaign_id",
                         sql_path(sql), campaign, sql_path(sql));
}

static int export_view(struct sql *sql, const struct export_options *options, FILE *stream, struct err *err)
{
    bool has_campaign;
    cleanup(text_free) struct text query = {0};
    const char *view = options->view ? options->view : "trials";
    int result = check_view(sql, view, &has_campaign, err);
    if (result < 0)
        return result;
    if (options->campaign > 0 && !has_campaign)
        return err_set(err, ERR_USAGE, "export: the view '%s' has no column campaign_id: leave --campaign out", view);
    text_printf(&query, "SELECT * FROM \"%s\"", view);
    if (options->campaign > 0)
        text_printf(&query, " WHERE campaign_id = %" PRId64, options->campaign);
    return query_print(sql, query.bytes, options->format == EXPORT_CSV ? QUERY_CSV : QUERY_JSONL, stream, err);
}

/* The gate knows medians, intervals and names: JUnit needs its thresholds, the others every metric. */
static int export_gate(const char *db, const struct export_options *options, FILE *stream, struct err *err)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    cleanup(text_free) struct text text = {0};
    struct gate_result result;
    const struct gate_asked asked = {.db = db,
                                     .campaign_id = options->campaign,
                                     .thresholds = options->thresholds,
                                     .values_only = options->format != EXPORT_JUNIT};
    int status = gate_run(&asked, arena, &result, err);
    if (status < 0)
        return status;
    if (options->format == EXPORT_JUNIT)
        gate_print_junit(&result, &text);
    else if (options->format == EXPORT_BMF)
        gate_print_bmf(&result, &text);
    else
        gate_print_benchmark(&result, options->format == EXPORT_SMALLER, &text);
    fputs(text.bytes, stream);
    return 0;
}

static bool is_trace(const struct export_options *options)
{
    return options->format == EXPORT_TRACE || options->format == EXPORT_TRACE_JSON;
}

static int export_to(const char *db, const struct export_options *options, FILE *stream, struct err *err)
{
    cleanup(sql_cleanup) struct sql *sql = NULL;
    if (options->format >= EXPORT_JUNIT)
        return export_gate(db, options, stream, err);
    int result = database_open(db, &sql, err);
    if (result == 0)
        result = check_campaign(sql, options->campaign, err);
    if (result < 0)
        return result;
    if (is_trace(options))
        return export_trace(sql, options->trial, options->format == EXPORT_TRACE ? TRACE_PERFETTO : TRACE_CHROME, stream, err);
    if (options->format == EXPORT_OPENMETRICS)
        return export_openmetrics(sql, options->campaign, stream, err);
    return export_view(sql, options, stream, err);
}

int cmd_export(int argc, char **argv, struct err *err)
{
    struct export_options options = {0};
    int files;
    int result = options_parse(&cmd_export_table, argc, argv, &options, &files, err);
    if (result != 0)
        return result < 0 ? result : 0;
    bool views = options.format == EXPORT_CSV || options.format == EXPORT_JSONL;
    if ((options.view && !views) || (options.trial && !is_trace(&options)) ||
        (options.thresholds && options.format != EXPORT_JUNIT) || (options.campaign && is_trace(&options)))
        return err_set(err, ERR_USAGE, "export: --format %s takes no --%s", format_names[options.format],
                       options.view && !views                                 ? "view"
                       : options.trial && !is_trace(&options)                 ? "trial"
                       : options.thresholds && options.format != EXPORT_JUNIT ? "thresholds"
                                                                              : "campaign: a trial has one");
    if (!options.output && options.format == EXPORT_TRACE && isatty(STDOUT_FILENO))
        return err_set(err, ERR_USAGE, "export: a trace is no text for a terminal: name a file with -o, or use a pipe");
    if (!options.output)
        return export_to(argv[0], &options, stdout, err);
    cleanup(output_file_discard) struct output_file file = {0};
    result = output_file_open(options.output, false, &file, err);
    if (result == 0)
        result = export_to(argv[0], &options, file.stream, err);
    return result == 0 ? output_file_commit(&file, err) : result;
}
