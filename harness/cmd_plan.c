/* cmd_plan.c: `laggard plan`: what a campaign would run, with seeds, order, predictions and the time it will take; runs nothing. */
#include <stddef.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/options.h"
#include "base/text.h"
#include "harness/byzantine_outlook.h"
#include "harness/campaign.h"
#include "harness/commands.h"
#include "harness/event_outlook.h"
#include "harness/message_sizes.h"
#include "harness/plan_print.h"

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
     .help = "what carries the schemes, in place of the file's; both: every cell in each"},
    {.name = "seed",
     .type = OPTION_UNSIGNED,
     .offset = offsetof(struct plan_options, seed),
     .given = offsetof(struct plan_options, seed_given),
     .value_name = "N",
     .help = "in place of the file's seed"},
    {0},
};
const struct option_table cmd_plan_table = {
    .command = "plan",
    .usage = "FILE [OPTIONS]",
    .summary = "Prints every cell and trial of the campaign in FILE; runs nothing.",
    .rows = plan_rows,
    .positional_minimum = 1,
    .positional_maximum = 1,
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
    for (int c = 0; c < plan->cell_count; c++)
        byzantine_outlook_warn(&plan->cells[c]);
    for (int t = 0; t < plan->trial_count; t++)
        plan_duration_add(duration, &plan->cells[plan->trials[t].cell].settings, forecasts[plan->trials[t].cell].trial_seconds);
    return 0;
}

static bool messages_cost(const struct plan *plan, const struct cell_forecast *forecasts)
{
    bool any = false;
    for (int c = 0; c < plan->cell_count; c++)
        any = any || (forecasts[c].predictions[0].available && forecast_wants_message_cost(&plan->cells[c].settings));
    return any;
}

int cmd_plan(int argc, char **argv, struct err *err)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan_options options = {.world = -1};
    int files;
    int result = options_parse(&cmd_plan_table, argc, argv, &options, &files, err);
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
    const struct planned planned = {&plan, forecasts, duration, messages_cost(&plan, forecasts)};
    cleanup(text_free) struct text out = {0};
    if (options.json)
        plan_print_json(&planned, &out);
    else
        plan_print_text(&planned, options.paths, &out);
    fputs(out.bytes, stdout);
    return 0;
}
