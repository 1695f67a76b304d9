/* cmd_plan.c: `laggard plan`: what a campaign would run, with seeds, order, predictions and the time it will take; runs nothing. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/options.h"
#include "base/text.h"
#include "base/units.h"
#include "harness/campaign.h"
#include "harness/commands.h"
#include "harness/forecast.h"
#include "harness/plan_paths.h"
#include "netem/topology.h"

struct plan_options {
    bool json, paths;
    uint64_t seed;
};
static const struct option_row plan_rows[] = {
    {.name = "json", .type = OPTION_FLAG, .offset = offsetof(struct plan_options, json), .help = "print one JSON document"},
    {.name = "paths",
     .type = OPTION_FLAG,
     .offset = offsetof(struct plan_options, paths),
     .help = "which way each pair of nodes takes, for stars and large networks too"},
    {.name = "seed",
     .type = OPTION_UNSIGNED,
     .offset = offsetof(struct plan_options, seed),
     .value_name = "N",
     .help = "in place of the file's seed",
     .minimum = 0,
     .maximum = INT64_MAX},
    {0},
};
static const struct option_table plan_table = {
    .command = "plan",
    .usage = "FILE [OPTIONS]",
    .summary = "Prints every cell and trial of the campaign in FILE; runs nothing.",
    .rows = plan_rows,
    .positional_minimum = 1,
    .positional_maximum = 1,
};

struct cell_forecast {
    struct topology topology;
    struct prediction prediction;
    double trial_seconds;
};

static int forecast_cells(const struct plan *plan, struct arena *arena, struct cell_forecast *forecasts, double *seconds,
                          struct err *err)
{
    *seconds = 0;
    for (int c = 0; c < plan->cell_count; c++) {
        const struct cell *cell = &plan->cells[c];
        int servers;
        int result = forecast_topology(&cell->settings, arena, &forecasts[c].topology, &servers, err);
        if (result < 0)
            return err_wrap(err, "cell %d (%s)", c, cell->label);
        struct forecast forecast;
        forecast_setup(cell, &forecasts[c].topology, NULL, 0, plan->seed, arena, &forecast);
        forecast_predict(&forecast, &forecasts[c].prediction);
        forecasts[c].trial_seconds = forecast_trial_seconds(&cell->settings, &forecasts[c].prediction);
    }
    for (int t = 0; t < plan->trial_count; t++)
        *seconds += forecasts[plan->trials[t].cell].trial_seconds;
    return 0;
}

static const char *shown_time(char *text, double ns)
{
    return units_show_time(text, UNITS_TEXT_BYTES, ns);
}

static const char *label_of(const struct cell *cell)
{
    return cell->label[0] ? cell->label : cell->settings.scheme.name;
}

enum { PLAN_NUMBER_WIDTH = 6, PLAN_TIME_WIDTH = 12, PLAN_SETTINGS_LEAST = 38 };

/* Columns of a row begin where these say; the settings' width follows the longest label. */
static void plan_columns(const struct plan *plan, size_t *columns, int count)
{
    size_t settings = PLAN_SETTINGS_LEAST;
    for (int c = 0; c < plan->cell_count; c++) {
        size_t width = text_width(label_of(&plan->cells[c])) + 2;
        settings = width > settings ? width : settings;
    }
    columns[0] = PLAN_NUMBER_WIDTH;
    for (int i = 1; i < count; i++)
        columns[i] = PLAN_NUMBER_WIDTH + settings + (size_t)(i - 1) * PLAN_TIME_WIDTH;
}

static void print_text(const struct plan *plan, const struct cell_forecast *forecasts, double seconds, struct text *out)
{
    static const char *const heads[] = {"cell", "settings", "predicted", "compute", "latency", "bandwidth", "reduce", "nodes"};
    enum { HEADS = sizeof(heads) / sizeof(heads[0]), PARTS = 5 };
    size_t columns[HEADS - 1];
    plan_columns(plan, columns, HEADS - 1);
    text_printf(out, "%s: %d cells, %d trials, about %d min %02d s, seed %" PRIu64 "\n\n", plan->name, plan->cell_count,
                plan->trial_count, (int)seconds / 60, (int)seconds % 60, plan->seed);
    for (int i = 0; i < HEADS; i++) {
        text_add(out, heads[i]);
        if (i < HEADS - 1)
            text_pad_to(out, columns[i]);
    }
    text_add(out, "\n");
    for (int c = 0; c < plan->cell_count; c++) {
        const struct prediction *prediction = &forecasts[c].prediction;
        const double parts[PARTS] = {prediction->round_ns, prediction->compute_ns, prediction->latency_ns, prediction->bandwidth_ns,
                                     prediction->reduce_ns};
        text_printf(out, "%d", c);
        text_pad_to(out, columns[0]);
        text_add(out, label_of(&plan->cells[c]));
        text_pad_to(out, columns[1]);
        for (int i = 0; i < PARTS; i++) {
            char time[UNITS_TEXT_BYTES];
            text_add(out, prediction->available ? shown_time(time, parts[i]) : "-");
            text_pad_to(out, columns[i + 2]);
        }
        text_printf(out, "%d\n", forecasts[c].topology.host_count);
        if (!prediction->available)
            text_printf(out, "      no prediction: %s\n", prediction->reason);
    }
    text_add(out, "\norder  repeat  seed                  cell\n");
    for (int t = 0; t < plan->trial_count; t++) {
        const struct trial_plan *trial = &plan->trials[t];
        text_printf(out, "%-6d %-7d %-21" PRIu64 " %d  %s\n", trial->order, trial->repeat, trial->seed, trial->cell,
                    plan->cells[trial->cell].label);
    }
}

static void print_prediction(const struct prediction *prediction, struct json *json)
{
    if (!prediction->available) {
        json_null(json, "predicted_round_ns");
        json_string(json, "prediction_reason", prediction->reason);
        return;
    }
    json_double(json, "predicted_round_ns", prediction->round_ns);
    json_double(json, "predicted_compute_ns", prediction->compute_ns);
    json_double(json, "predicted_latency_ns", prediction->latency_ns);
    json_double(json, "predicted_bandwidth_ns", prediction->bandwidth_ns);
    json_double(json, "predicted_reduce_ns", prediction->reduce_ns);
    json_string(json, "prediction_method", prediction->method);
}

/* Over 2^53, where readers of JSON numbers begin to round: a string. */
static void json_seed(struct json *json, uint64_t seed)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRIu64, seed);
    json_string(json, "seed", text);
}

static void print_json(const struct plan *plan, const struct cell_forecast *forecasts, double seconds, struct text *out)
{
    struct json json = {.out = out};
    json_begin_object(&json, NULL);
    json_string(&json, "campaign", plan->name);
    json_seed(&json, plan->seed);
    json_double(&json, "estimated_seconds", seconds);
    json_begin_array(&json, "cells");
    for (int c = 0; c < plan->cell_count; c++) {
        const struct cell *cell = &plan->cells[c];
        json_begin_object(&json, NULL);
        json_integer(&json, "cell", c);
        json_string(&json, "label", cell->label);
        json_string(&json, "scheme", cell->settings.scheme.name);
        json_integer(&json, "workers", cell->settings.workers);
        json_integer(&json, "nodes", forecasts[c].topology.host_count);
        for (int s = 0; s < cell->swept_count; s++)
            if (strcmp(cell->swept[s].path, "scheme") != 0 && strcmp(cell->swept[s].path, "workers") != 0)
                json_string(&json, cell->swept[s].path, cell->swept[s].text);
        print_prediction(&forecasts[c].prediction, &json);
        json_double(&json, "estimated_trial_seconds", forecasts[c].trial_seconds);
        json_end_object(&json);
    }
    json_end_array(&json);
    json_begin_array(&json, "trials");
    for (int t = 0; t < plan->trial_count; t++) {
        const struct trial_plan *trial = &plan->trials[t];
        json_begin_object(&json, NULL);
        json_integer(&json, "order", trial->order);
        json_integer(&json, "cell", trial->cell);
        json_integer(&json, "repeat", trial->repeat);
        json_seed(&json, trial->seed);
        json_end_object(&json);
    }
    json_end_array(&json);
    json_end_object(&json);
    text_add(out, "\n");
}

/* Of each distinct network once. */
static void print_paths(const struct plan *plan, const struct cell_forecast *forecasts, bool all, struct text *out)
{
    cleanup(text_free) struct text before = {0};
    for (int c = 0; c < plan->cell_count; c++) {
        const struct topology *topology = &forecasts[c].topology;
        cleanup(text_free) struct text description = {0};
        topology_describe(topology, &description);
        bool same = before.bytes && strcmp(before.bytes, description.bytes) == 0;
        if (same || (topology->shape == SHAPE_STAR && !all))
            continue;
        text_free(&before);
        before = (struct text){0};
        text_add(&before, description.bytes);
        text_printf(out, "\npaths of cell %d (%s)\n", c, plan->cells[c].label);
        plan_paths_print(topology, all, out);
    }
}

int cmd_plan(int argc, char **argv, struct err *err)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan_options options = {.seed = UINT64_MAX};
    int files;
    int result = options_parse(&plan_table, argc, argv, &options, &files, err);
    if (result != 0)
        return result < 0 ? result : 0;
    struct plan plan;
    result = campaign_load(argv[0], options.seed != UINT64_MAX ? &options.seed : NULL, arena, &plan, err);
    if (result < 0)
        return result;
    struct cell_forecast *forecasts = arena_new_array(arena, struct cell_forecast, (size_t)plan.cell_count);
    double seconds;
    result = forecast_cells(&plan, arena, forecasts, &seconds, err);
    if (result < 0)
        return result;
    cleanup(text_free) struct text out = {0};
    if (options.json)
        print_json(&plan, forecasts, seconds, &out);
    else {
        print_text(&plan, forecasts, seconds, &out);
        print_paths(&plan, forecasts, options.paths, &out);
    }
    fputs(out.bytes, stdout);
    return 0;
}
