/* cmd_verify.c: `laggard verify`: builds each distinct network of a campaign, measures its links thoroughly and says whether they
 * are what was asked. Stores nothing: a campaign's database is of trials. */
#include <math.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/options.h"
#include "base/text.h"
#include "base/units.h"
#include "harness/campaign.h"
#include "harness/commands.h"
#include "harness/host_limits.h"
#include "harness/interruption.h"
#include "harness/plan_cell.h"
#include "harness/plan_duration.h"
#include "harness/verify_result.h"
#include "netem/fabric.h"
#include "netem/measure.h"

struct verify_options {
    const char *cell;
    int engine;
    int64_t time_ns, links;
    bool json, quiet;
};
static const struct option_row verify_rows[] = {
    {.name = "cell",
     .type = OPTION_STRING,
     .offset = offsetof(struct verify_options, cell),
     .value_name = "CELL",
     .help = "the network of this cell alone: its number or its label as `laggard plan` prints them"},
    {.name = "engine",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct verify_options, engine),
     .choices = engine_names,
     .value_name = "ENGINE",
     .help = "what delays packets, in place of the file's"},
    {.name = "time",
     .type = OPTION_TIME,
     .offset = offsetof(struct verify_options, time_ns),
     .value_name = "TIME",
     .help = "how long delays are watched for drift, and the most that a direction's delays and its packets' fates may each take "
             "(default 5s)",
     .minimum = 100 * NS_PER_MS,
     .maximum = 3600 * NS_PER_S},
    {.name = "links",
     .type = OPTION_INTEGER,
     .offset = offsetof(struct verify_options, links),
     .value_name = "N",
     .help = "of more than N links N are measured, spread evenly; 0: all (default 32)",
     .minimum = 0,
     .maximum = 1000000},
    {.name = "json",
     .type = OPTION_FLAG,
     .offset = offsetof(struct verify_options, json),
     .help = "print one JSON document instead of the table"},
    {.name = "quiet", .letter = 'q', .type = OPTION_FLAG, .offset = offsetof(struct verify_options, quiet), .help = "no progress"},
    {0},
};
const struct option_table cmd_verify_table = {
    .command = "verify",
    .usage = "FILE [OPTIONS]",
    .summary = "Builds each network of the campaign in FILE, measures its links and compares them with what was asked.",
    .rows = verify_rows,
    .positional_minimum = 1,
    .positional_maximum = 1,
};
enum { NOT_GIVEN = -1 };

/* What is of the virtual world has no links to measure. */
static int leave_out_virtual(struct link_survey *survey, int cell_count, const char *file, struct err *err)
{
    int kept = 0;
    for (int e = 0; e < survey->count; e++) {
        bool keep = !survey->entries[e].virtual;
        for (int c = 0; c < cell_count; c++)
            if (survey->entry_of_cell[c] == e)
                survey->entry_of_cell[c] = keep ? kept : -1;
        if (keep)
            survey->entries[kept++] = survey->entries[e];
    }
    survey->count = kept;
    if (kept == 0)
        return err_set(err, ERR_USAGE,
                       "'%s' has no links to measure: what is to be verified is of the virtual world; give it the world 'emulated'",
                       file);
    return 0;
}

static int measured_links(const struct survey_entry *entry, const struct measure_effort *effort)
{
    int links = entry->topology.link_count;
    return effort->sample > 0 && effort->sample < links ? effort->sample : links;
}

static int check_limits(const struct link_survey *survey, const struct measure_effort *effort, struct err *err)
{
    struct host_limits limits;
    host_limits_read(&limits);
    for (int e = 0; e < survey->count; e++) {
        const struct survey_entry *entry = &survey->entries[e];
        struct host_demand demand;
        host_demand_of_measurement(&entry->topology, entry->engine, measured_links(entry, effort), &demand);
        if (host_limits_check(&limits, &demand, err) < 0)
            return err_wrap(err, "network %d of %d", e + 1, survey->count);
    }
    return 0;
}

static void say_progress(const struct verify_result *result, int index, int network_count)
{
    const struct survey_entry *entry = &result->survey->entries[index];
    int links = entry->topology.link_count;
    cleanup(text_free) struct text how_long = {0};
    struct plan_duration duration = {.seconds = (double)measure_expected_ns(&entry->topology, &result->effort) / (double)NS_PER_S};
    plan_duration_print(&duration, &how_long);
    fprintf(stderr, "network %d of %d: measuring %d of %d link%s, %s\n", index + 1, network_count,
            measured_links(entry, &result->effort), links, units_plural(links), how_long.bytes);
}

static int measure_networks(struct verify_result *result, struct link_survey *survey, bool quiet, int signal_fd,
                            struct arena *arena, struct err *err)
{
    for (int e = 0; e < survey->count; e++) {
        if (interruption_pending())
            return err_set(err, ERR_INTERRUPTED, "interrupted before network %d of %d", e + 1, survey->count);
        if (!quiet)
            say_progress(result, e, survey->count);
        int code = link_survey_measure(&survey->entries[e], &result->effort, signal_fd, arena, err);
        if (code < 0)
            return err_wrap(err, "network %d of %d", e + 1, survey->count);
    }
    return 0;
}

/* The host's part in what is not as asked, as far as it shows. */
static void blame_host(const struct link_survey *survey, struct text *out)
{
    double pressure = 0, stolen = 0;
    for (int e = 0; e < survey->count; e++) {
        pressure = fmax(pressure, survey->entries[e].load.pressure_some_share); /* fmax() passes over what is not known */
        stolen = fmax(stolen, survey->entries[e].load.stolen_share);
    }
    text_printf(
        out,
        "meanwhile some process of this host waited for a processor for %.0f %% of the time, and a hypervisor took %.0f %% of "
        "the processors",
        100 * pressure, 100 * stolen);
}

static int conclude(const struct verify_result *result, struct err *err)
{
    struct verify_counts counts = verify_count(result);
    for (int e = 0; e < result->survey->count; e++)
        if (result->survey->entries[e].changed)
            return err_set(err, ERR_TRIAL, "somebody changed network %d of %d while it was measured: %s", e + 1,
                           result->survey->count, result->survey->entries[e].changed);
    if (counts.out_of_tolerance == 0)
        return 0;
    cleanup(text_free) struct text host = {0};
    blame_host(result->survey, &host);
    return err_set(err, ERR_TRIAL, "%d of %d directions are not as asked; %s", counts.out_of_tolerance, counts.directions,
                   host.bytes);
}

int cmd_verify(int argc, char **argv, struct err *err)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct verify_options options = {.engine = NOT_GIVEN, .time_ns = 5 * NS_PER_S, .links = LINK_SURVEY_SAMPLE};
    cleanup(close_fd) int signal_fd = -1;
    int files, cell = NOT_GIVEN;
    int code = options_parse(&cmd_verify_table, argc, argv, &options, &files, err);
    if (code != 0)
        return code < 0 ? code : 0;
    host_limits_raise();
    struct plan plan;
    struct fabric_host host;
    struct link_survey survey = {0};
    code = campaign_load(argv[0], NULL, arena, &plan, err);
    if (code == 0 && options.cell)
        code = plan_cell_find(&plan, "cell", options.cell, &cell, err);
    if (code == 0)
        code = fabric_probe(&host, err);
    if (code == 0)
        code = link_survey_prepare(&plan, options.engine != NOT_GIVEN ? &options.engine : NULL, cell, &host, arena, &survey, err);
    if (code == 0)
        code = leave_out_virtual(&survey, plan.cell_count, argv[0], err);
    struct verify_result result = {
        .plan = &plan, .survey = &survey, .effort = {.sample = (int)options.links, .time_ns = options.time_ns}};
    if (code == 0)
        code = check_limits(&survey, &result.effort, err);
    if (code == 0)
        code = interruption_open(&signal_fd, err);
    if (code < 0)
        return code;
    code = measure_networks(&result, &survey, options.quiet, signal_fd, arena, err);
    if (code < 0)
        return code;
    cleanup(text_free) struct text out = {0};
    if (options.json)
        verify_print_json(&result, &out);
    else
        verify_print_text(&result, &out);
    fputs(out.bytes ? out.bytes : "", stdout);
    return conclude(&result, err);
}
