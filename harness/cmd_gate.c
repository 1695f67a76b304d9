/* cmd_gate.c: `laggard gate`: verdicts and an exit code out of a database. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/options.h"
#include "base/text.h"
#include "base/units.h"
#include "harness/commands.h"
#include "harness/gate_run.h"
#include "harness/output_file.h"
#include "harness/progress.h"
#include "results/gate_output.h"

struct gate_options {
    struct gate_asked asked;
    const char *slowdown, *markdown, *junit, *bmf, *benchmark;
    int color;
    bool calibrate, store, json, github;
};

static const struct option_row gate_rows[] = {
    {.name = "baseline",
     .type = OPTION_STRING,
     .offset = offsetof(struct gate_options, asked.baseline_db),
     .value_name = "DB2",
     .help = "compare with this database: its last baseline that was set, or its last campaign"},
    {.name = "baseline-name",
     .type = OPTION_STRING,
     .offset = offsetof(struct gate_options, asked.baseline_name),
     .value_name = "NAME",
     .help = "the last baseline of this name, as `laggard baselines set` gave it"},
    {.name = "revision",
     .type = OPTION_STRING,
     .offset = offsetof(struct gate_options, asked.revision),
     .value_name = "REVISION",
     .help = "the baseline of this revision: in CI the merge base"},
    {.name = "campaign",
     .type = OPTION_INTEGER,
     .offset = offsetof(struct gate_options, asked.campaign_id),
     .value_name = "N",
     .help = "judge this campaign of the database, by its campaign_id (default: the last)",
     .minimum = 1,
     .maximum = INT64_MAX},
    {.name = "thresholds",
     .type = OPTION_STRING,
     .offset = offsetof(struct gate_options, asked.thresholds),
     .value_name = "FILE",
     .help = "a threshold file, in place of `gate` in the campaign file"},
    {.name = "calibration",
     .type = OPTION_STRING,
     .offset = offsetof(struct gate_options, asked.calibration),
     .value_name = "DB3",
     .help = "a database with noise floors, beside the other two"},
    {.name = "calibrate",
     .type = OPTION_FLAG,
     .offset = offsetof(struct gate_options, calibrate),
     .help = "store the noise floor of every cell and metric, from a campaign of equal arms"},
    {.name = "self-test",
     .type = OPTION_FLAG,
     .offset = offsetof(struct gate_options, asked.self_test),
     .help = "make every candidate worse than its threshold allows; all must be caught"},
    {.name = "slowdown",
     .type = OPTION_STRING,
     .offset = offsetof(struct gate_options, slowdown),
     .value_name = "SHARE",
     .help = "of the self-test, at least (default: 10%), and twice what the threshold allows"},
    {.name = "store",
     .type = OPTION_FLAG,
     .offset = offsetof(struct gate_options, store),
     .help = "keep the verdicts in DB too: the view verdicts has those of a campaign's last gate"},
    {.name = "json",
     .type = OPTION_FLAG,
     .offset = offsetof(struct gate_options, json),
     .help = "print one JSON document instead of the table"},
    {.name = "markdown",
     .type = OPTION_STRING,
     .offset = offsetof(struct gate_options, markdown),
     .value_name = "FILE",
     .help = "append a table in Markdown to this file too"},
    {.name = "junit",
     .type = OPTION_STRING,
     .offset = offsetof(struct gate_options, junit),
     .value_name = "FILE",
     .help = "write JUnit's XML to this file too"},
    {.name = "bmf",
     .type = OPTION_STRING,
     .offset = offsetof(struct gate_options, bmf),
     .value_name = "FILE",
     .help = "write Bencher's metric format to this file too"},
    {.name = "benchmark-action",
     .type = OPTION_STRING,
     .offset = offsetof(struct gate_options, benchmark),
     .value_name = "PREFIX",
     .help = "write github-action-benchmark's JSON to PREFIX-smaller.json and PREFIX-bigger.json too"},
    {.name = "github",
     .type = OPTION_FLAG,
     .offset = offsetof(struct gate_options, github),
     .help = "print GitHub annotations behind the table"},
    {.name = "color",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct gate_options, color),
     .choices = colour_names,
     .value_name = "WHEN",
     .help = "whether there is colour (default: auto, on a terminal); NO_COLOR is honoured"},
    {0},
};
const struct option_table cmd_gate_table = {
    .command = "gate",
    .usage = "DB [OPTIONS]",
    .summary =
        "Judges the thresholds of the last campaign in DB, arm against arm or against a baseline, and says so by the exit code.",
    .rows = gate_rows,
    .positional_minimum = 1,
    .positional_maximum = 1,
};

/* Markdown is appended, as GITHUB_STEP_SUMMARY wants it. */
static int write_file(const char *path, const struct text *text, bool append, struct err *err)
{
    cleanup(output_file_discard) struct output_file file = {0};
    int result = output_file_open(path, append, &file, err);
    if (result < 0)
        return result;
    if (text->length > 0)
        fwrite(text->bytes, 1, text->length, file.stream);
    return output_file_commit(&file, err);
}

static int write_files(const struct gate_options *options, const struct gate_result *judged, struct err *err)
{
    const struct {
        const char *path;
        void (*print)(const struct gate_result *, struct text *);
        bool append;
    } files[] = {{options->markdown, gate_print_markdown, true},
                 {options->junit, gate_print_junit, false},
                 {options->bmf, gate_print_bmf, false}};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        cleanup(text_free) struct text text = {0};
        if (!files[i].path)
            continue;
        files[i].print(judged, &text);
        int result = write_file(files[i].path, &text, files[i].append, err);
        if (result < 0)
            return result;
    }
    for (int lower = 0; options->benchmark && lower < 2; lower++) {
        cleanup(text_free) struct text text = {0}, path = {0};
        text_printf(&path, "%s-%s.json", options->benchmark, lower ? "smaller" : "bigger");
        gate_print_benchmark(judged, lower, &text);
        int result = write_file(path.bytes, &text, false, err);
        if (result < 0)
            return result;
    }
    return 0;
}

static int calibrate(const struct gate_options *options)
{
    struct err err = {0};
    int count = 0;
    int result = gate_calibrate(options->asked.db, options->asked.campaign_id, clock_wall_ns(), &count, &err);
    if (result < 0) {
        log_error("%s", err.text);
        return err_exit_code(err.kind);
    }
    printf("%d noise floor%s stored in %s; the view noise_floors shows them\n", count, count == 1 ? "" : "s", options->asked.db);
    return 0;
}

/* A self-test is good when everything was caught. */
static int self_test(const struct gate_result *result)
{
    int caught = result->counts[GATE_REGRESSED];
    for (int i = 0; i < result->row_count; i++)
        caught += result->rows[i].waiver && result->rows[i].verdict == GATE_REGRESSED;
    if (caught == result->row_count)
        return 0;
    log_error("the self-test failed: %d of %d injected slowdowns were caught; the others stand in the table with their reason",
              caught, result->row_count);
    return gate_verdicts[GATE_INCONCLUSIVE].exit_code;
}

static int judge(const struct gate_options *options, struct err *err)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    cleanup(text_free) struct text text = {0};
    struct gate_result result;
    int status = gate_run(&options->asked, arena, &result, err);
    if (status < 0)
        return status;
    if (options->json)
        gate_print_json(&result, &text);
    else
        gate_print_table(&result, progress_colour((enum colour_mode)options->color, STDOUT_FILENO), &text);
    if (options->github)
        gate_print_github(&result, &text);
    fputs(text.bytes, stdout);
    status = write_files(options, &result, err);
    if (status == 0 && options->store)
        status = gate_store(options->asked.db, &result, err);
    if (status < 0)
        return status;
    return options->asked.self_test ? self_test(&result) : result.exit_code;
}

/* What is asked for and would not come is refused: whoever waits for a file should not wait in vain. */
static int check_calibrate(const struct gate_options *options, struct err *err)
{
    const struct gate_asked *asked = &options->asked;
    const struct {
        const char *name;
        bool given;
    } judging[] = {{"self-test", asked->self_test},          {"store", options->store},     {"json", options->json},
                   {"markdown", options->markdown},          {"junit", options->junit},     {"bmf", options->bmf},
                   {"benchmark-action", options->benchmark}, {"github", options->github},   {"baseline", asked->baseline_db},
                   {"baseline-name", asked->baseline_name},  {"revision", asked->revision}, {"thresholds", asked->thresholds},
                   {"calibration", asked->calibration}};
    for (size_t i = 0; i < sizeof(judging) / sizeof(judging[0]); i++)
        if (judging[i].given)
            return err_set(err, ERR_USAGE, "--%s: --calibrate judges nothing, so there are no verdicts; leave --%s out",
                           judging[i].name, judging[i].name);
    return 0;
}

int cmd_gate(int argc, char **argv, struct err *err)
{
    struct gate_options options = {.asked.slowdown = 0.1};
    int files;
    int result = options_parse(&cmd_gate_table, argc, argv, &options, &files, err);
    if (result != 0)
        return result < 0 ? result : 0;
    options.asked.db = argv[0];
    if (options.slowdown && units_parse_share(options.slowdown, 1e-6, 1, &options.asked.slowdown, err) < 0)
        return err_wrap(err, "--slowdown");
    if (options.slowdown && !options.asked.self_test)
        return err_set(err, ERR_USAGE, "--slowdown is about --self-test: leave it out, or add that");
    if (options.calibrate && (result = check_calibrate(&options, err)) < 0)
        return result;
    if (options.json && options.github)
        return err_set(err, ERR_USAGE,
                       "--github: annotations are lines between others, which no JSON document has; leave --json out");
    if (options.store && options.asked.self_test)
        return err_set(err, ERR_USAGE, "--store: a self-test judges numbers that nobody measured; leave --store out");
    if (options.calibrate)
        return calibrate(&options);
    return judge(&options, err);
}
