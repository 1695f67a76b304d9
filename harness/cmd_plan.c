/* cmd_plan.c: `laggard plan`: what a campaign would run, with seeds, order, predictions and the time it will take; runs nothing. */
#include <inttypes.h>
#include <math.h>
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
#include "harness/event_outlook.h"
#include "harness/event_plan.h"
#include "harness/forecast.h"
#include "harness/message_sizes.h"
#include "harness/plan_duration.h"
#include "harness/plan_paths.h"
#include "netem/topology.h"

struct plan_options {
    bool json, paths, seed_given;
    int world; /* of campaign_world_choices; -1: not given */
    uint64_t seed;
};
static const struct option_row plan_rows[] = {
    {.name = "json", .type = OPTION_FLAG, .offset = offsetof(struct plan_options, json), .help = "print one JSON document"},
    {.name = "paths",
     .type = OPTION_FLAG,
     .offset = offsetof(struct plan_options, paths),
     .help = "which way each pair of nodes takes, for stars and large networks too"},
    {.name = "world",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct plan_options, world),
     .choices = campaign_world_choices,
     .value_name = "WORLD",
     .help = "what carries the schemes, in place of the file's: emulated, virtual, or both, every cell in each"},
    {.name = "seed",
     .type = OPTION_UNSIGNED,
     .offset = offsetof(struct plan_options, seed),
     .given = offsetof(struct plan_options, seed_given),
     .value_name = "N",
     .help = "in place of the file's seed"},
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
    struct event_plan events;
    const struct prediction *predictions; /* one a message size */
    double trial_seconds;
};

static int forecast_cells(const struct plan *plan, struct arena *arena, struct cell_forecast *forecasts,
                          struct plan_duration *duration, struct err *err)
{
    double *rounds_ns = arena_new_array(arena, double, (size_t)plan->cell_count);
    *duration = (struct plan_duration){0};
    for (int c = 0; c < plan->cell_count; c++) {
        const struct cell *cell = &plan->cells[c];
        int servers;
        int result = forecast_topology(&cell->settings, arena, &forecasts[c].topology, &servers, err);
        struct event_fault fault;
        if (result == 0)
            result = event_plan_make(&cell->settings, &forecasts[c].topology, arena, &forecasts[c].events, &fault, err);
        if (result < 0)
            return err_wrap(err, "cell %d (%s)", cell->index, cell_title(cell));
        struct forecast forecast;
        forecast_setup(cell, &forecasts[c].topology, NULL, 0, plan->seed, arena, &forecast);
        struct prediction *predictions = arena_new_array(arena, struct prediction, (size_t)message_sizes_count(&cell->settings));
        forecast_undisturbed_sizes(&forecast, predictions);
        forecasts[c].predictions = predictions;
        forecasts[c].trial_seconds = forecast_trial_seconds(&cell->settings, predictions);
        rounds_ns[c] = forecast_rounds_ns(&cell->settings, predictions);
        for (int i = 0; i < message_sizes_count(&cell->settings); i++)
            forecast_disturb(&forecast, &predictions[i]);
    }
    event_outlook_warn(plan, rounds_ns);
    for (int t = 0; t < plan->trial_count; t++)
        plan_duration_add(duration, &plan->cells[plan->trials[t].cell].settings, forecasts[plan->trials[t].cell].trial_seconds);
    return 0;
}

static const char *shown_time(char *text, double ns)
{
    return units_show_time(text, UNITS_TEXT_BYTES, ns);
}

static const char *label_of(const struct cell *cell)
{
    return cell_title(cell)[0] ? cell_title(cell) : cell->settings.scheme.name;
}

static bool messages_cost(const struct plan *plan, const struct cell_forecast *forecasts)
{
    bool any = false;
    for (int c = 0; c < plan->cell_count; c++)
        any = any || (forecasts[c].predictions[0].available && forecast_wants_message_cost(&plan->cells[c].settings));
    return any;
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

/* The columns of times, from that of the whole on; where there is no prediction, a line below says why. */
enum { PLAN_PARTS = 5 };
static void print_times(const struct prediction *prediction, const size_t *columns, struct text *out)
{
    const double parts[PLAN_PARTS] = {prediction->round_ns, prediction->compute_ns, prediction->latency_ns,
                                      prediction->bandwidth_ns, prediction->reduce_ns};
    for (int i = 0; i < PLAN_PARTS; i++) {
        char time[UNITS_TEXT_BYTES];
        text_pad_to(out, columns[i + 1]);
        text_add(out, prediction->available ? shown_time(time, parts[i]) : "-");
    }
}

static void print_reason(const struct prediction *prediction, struct text *out)
{
    if (!prediction->available)
        text_printf(out, "      no prediction: %s\n", prediction->reason);
}

/* A line a message size, beneath their cell's. */
static void print_sizes(const struct cell *cell, const struct cell_forecast *forecast, const size_t *columns, struct text *out)
{
    const struct size_list *sizes = &cell->settings.workload.sizes;
    for (int i = 0; i < sizes->count; i++) {
        char size[UNITS_TEXT_BYTES];
        text_pad_to(out, columns[0]);
        text_printf(out, "  size %s", units_spell_size(size, sizeof(size), sizes->bytes[i]));
        print_times(&forecast->predictions[i], columns, out);
        text_add(out, "\n");
    }
    print_reason(&forecast->predictions[0], out);
}

static void print_text(const struct plan *plan, const struct cell_forecast *forecasts, const struct plan_duration *duration,
                       struct text *out)
{
    static const char *const heads[] = {"cell", "settings", "predicted", "compute", "latency", "bandwidth", "reduce", "nodes"};
    enum { HEADS = sizeof(heads) / sizeof(heads[0]) };
    size_t columns[HEADS - 1];
    plan_columns(plan, columns, HEADS - 1);
    int cells = plan->cell_count / plan_variants(plan);
    text_printf(out, "%s: %d cell%s, ", plan->name, cells, units_plural(cells));
    if (plan->arm_count > 0)
        text_printf(out, "%d arm%s, ", plan->arm_count, units_plural(plan->arm_count));
    text_printf(out, "%d trial%s, ", plan->trial_count, units_plural(plan->trial_count));
    plan_duration_print(duration, out);
    text_printf(out, ", seed %" PRIu64 "\n\n", plan->seed);
    for (int i = 0; i < HEADS; i++) {
        text_add(out, heads[i]);
        if (i < HEADS - 1)
            text_pad_to(out, columns[i]);
    }
    text_add(out, "\n");
    for (int c = 0; c < plan->cell_count; c++) {
        const bool swept = message_sizes_swept(&plan->cells[c].settings);
        text_printf(out, "%d", plan->cells[c].index);
        text_pad_to(out, columns[0]);
        text_add(out, label_of(&plan->cells[c]));
        if (!swept)
            print_times(forecasts[c].predictions, columns, out);
        text_pad_to(out, columns[HEADS - 2]);
        text_printf(out, "%d\n", forecasts[c].topology.host_count);
        if (swept)
            print_sizes(&plan->cells[c], &forecasts[c], columns, out);
        else
            print_reason(forecasts[c].predictions, out);
    }
    if (messages_cost(plan, forecasts))
        text_printf(out, "\nPredictions take %s for what a message costs beyond its bytes; `laggard run` measures that first.\n",
                    shown_time((char[UNITS_TEXT_BYTES]){0}, FORECAST_MESSAGE_NS));
    text_add(out, "\norder  repeat  seed                  cell\n");
    for (int t = 0; t < plan->trial_count; t++) {
        const struct trial_plan *trial = &plan->trials[t];
        text_printf(out, "%-6d %-7d %-21" PRIu64 " %d  %s\n", trial->order, trial->repeat, trial->seed,
                    plan->cells[trial->cell].index, cell_title(&plan->cells[trial->cell]));
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

/* The members of one message size, or one object a size. */
static void print_json_predictions(const struct cell *cell, const struct cell_forecast *forecast, struct json *json)
{
    const struct size_list *sizes = &cell->settings.workload.sizes;
    if (sizes->count == 0) {
        print_prediction(forecast->predictions, json);
        return;
    }
    json_begin_array(json, "sizes");
    for (int i = 0; i < sizes->count; i++) {
        json_begin_object(json, NULL);
        json_integer(json, "payload_bytes", (int64_t)sizes->bytes[i]);
        print_prediction(&forecast->predictions[i], json);
        json_end_object(json);
    }
    json_end_array(json);
}

/* Over 2^53, where readers of JSON numbers begin to round: a string. */
static void json_seed(struct json *json, uint64_t seed)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRIu64, seed);
    json_string(json, "seed", text);
}

static void print_json_events(const struct cell_forecast *forecast, struct json *json)
{
    if (forecast->events.count == 0)
        return;
    json_begin_array(json, "events");
    for (int i = 0; i < forecast->events.count; i++) {
        const struct event_request *asked = forecast->events.events[i].asked;
        cleanup(text_free) struct text text = {0};
        event_describe(&forecast->events.events[i], &forecast->topology, &text);
        json_begin_object(json, NULL);
        json_string(json, "do", event_names[asked->kind]);
        if (asked->round == EVENT_BY_TIME)
            json_integer(json, "at_ns", asked->at_ns);
        else
            json_integer(json, "round", asked->round);
        json_string(json, "text", text.bytes);
        json_end_object(json);
    }
    json_end_array(json);
}

static void print_json(const struct plan *plan, const struct cell_forecast *forecasts, const struct plan_duration *duration,
                       struct text *out)
{
    struct json json = {.out = out};
    json_begin_object(&json, NULL);
    json_string(&json, "campaign", plan->name);
    json_seed(&json, plan->seed);
    json_double(&json, "estimated_seconds", duration->seconds);
    json_double(&json, "estimated_virtual_seconds", duration->virtual_seconds);
    json_double(&json, "assumed_message_ns", messages_cost(plan, forecasts) ? FORECAST_MESSAGE_NS : 0);
    json_begin_array(&json, "cells");
    for (int c = 0; c < plan->cell_count; c++) {
        const struct cell *cell = &plan->cells[c];
        json_begin_object(&json, NULL);
        json_integer(&json, "cell", cell->index);
        if (cell->arm)
            json_string(&json, "arm", cell->arm->name);
        json_string(&json, "label", cell->label);
        json_string(&json, "scheme", cell->settings.scheme.name);
        json_integer(&json, "workers", cell->settings.workers);
        json_integer(&json, "nodes", forecasts[c].topology.host_count);
        for (int s = 0; s < cell->swept_count; s++)
            if (strcmp(cell->swept[s].path, "scheme") != 0 && strcmp(cell->swept[s].path, "workers") != 0)
                json_string(&json, cell->swept[s].path, cell->swept[s].text);
        print_json_predictions(cell, &forecasts[c], &json);
        json_double(&json, "estimated_trial_seconds", forecasts[c].trial_seconds);
        print_json_events(&forecasts[c], &json);
        json_end_object(&json);
    }
    json_end_array(&json);
    json_begin_array(&json, "trials");
    for (int t = 0; t < plan->trial_count; t++) {
        const struct trial_plan *trial = &plan->trials[t];
        json_begin_object(&json, NULL);
        json_integer(&json, "order", trial->order);
        json_integer(&json, "cell", plan->cells[trial->cell].index);
        if (plan->cells[trial->cell].arm)
            json_string(&json, "arm", plan->cells[trial->cell].arm->name);
        json_integer(&json, "repeat", trial->repeat);
        json_seed(&json, trial->seed);
        json_end_object(&json);
    }
    json_end_array(&json);
    json_end_object(&json);
    text_add(out, "\n");
}

static void describe_events(const struct cell_forecast *forecast, struct text *out)
{
    if (forecast->events.count == 0)
        return;
    size_t column = 13;
    for (int i = 0; i < forecast->events.count; i++) { /* as wide as the longest moment, two spaces between */
        cleanup(text_free) struct text when = {0};
        event_describe_when(forecast->events.events[i].asked, &when);
        column = when.length + 9 > column ? when.length + 9 : column;
    }
    text_add(out, "event  when");
    text_pad_to(out, column);
    text_add(out, "what\n");
    for (int i = 0; i < forecast->events.count; i++) {
        text_printf(out, "%-5d  ", i);
        event_describe_when(forecast->events.events[i].asked, out);
        text_pad_to(out, column);
        event_describe(&forecast->events.events[i], &forecast->topology, out);
        text_add(out, "\n");
    }
}

/* Of cells in a row that have the same ones once. */
static void print_events(const struct plan *plan, const struct cell_forecast *forecasts, struct text *out)
{
    cleanup(text_free) struct text before = {0};
    for (int c = 0; c < plan->cell_count; c++) {
        cleanup(text_free) struct text events = {0};
        describe_events(&forecasts[c], &events);
        if (!events.bytes || (before.bytes && strcmp(before.bytes, events.bytes) == 0))
            continue;
        text_free(&before);
        before = (struct text){0};
        text_add(&before, events.bytes);
        text_printf(out, "\nevents of cell %d (%s)\n%s", plan->cells[c].index, cell_title(&plan->cells[c]), events.bytes);
    }
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
        text_printf(out, "\npaths of cell %d (%s)\n", plan->cells[c].index, cell_title(&plan->cells[c]));
        plan_paths_print(topology, all, out);
    }
}

int cmd_plan(int argc, char **argv, struct err *err)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan_options options = {.world = -1};
    int files;
    int result = options_parse(&plan_table, argc, argv, &options, &files, err);
    if (result != 0)
        return result < 0 ? result : 0;
    struct plan plan;
    const struct campaign_overrides overrides = {
        .seed = options.seed_given ? &options.seed : NULL,
        .world = options.world >= 0 ? campaign_world_choices[options.world] : NULL,
    };
    result = campaign_load(argv[0], &overrides, arena, &plan, err);
    if (result < 0)
        return result;
    struct cell_forecast *forecasts = arena_new_array(arena, struct cell_forecast, (size_t)plan.cell_count);
    struct plan_duration duration;
    result = forecast_cells(&plan, arena, forecasts, &duration, err);
    if (result < 0)
        return result;
    cleanup(text_free) struct text out = {0};
    if (options.json)
        print_json(&plan, forecasts, &duration, &out);
    else {
        print_text(&plan, forecasts, &duration, &out);
        print_events(&plan, forecasts, &out);
        print_paths(&plan, forecasts, options.paths, &out);
    }
    fputs(out.bytes, stdout);
    return 0;
}
