/* plan_print_text.c: a plan for people; see plan_print.h. */
#include "harness/plan_print.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/units.h"
#include "harness/event_outlook.h"
#include "harness/message_sizes.h"
#include "harness/plan_paths.h"
#include "netem/topology.h"

static const char *shown_time(char *text, double ns)
{
    return units_show_time(text, UNITS_TEXT_BYTES, ns);
}

static const char *label_of(const struct cell *cell)
{
    return cell_title(cell)[0] ? cell_title(cell) : cell->settings.scheme.name;
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

/* What the columns have no place for. */
static void print_remarks(const struct prediction *prediction, struct text *out)
{
    if (!prediction->available)
        text_printf(out, "      no prediction: %s\n", prediction->reason);
    else if (prediction->counts_samples)
        text_printf(out, "      predicted samples a round: %.4g\n", prediction->samples);
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
    print_remarks(&forecast->predictions[0], out);
}

static void print_heading(const struct planned *planned, struct text *out)
{
    const struct plan *plan = planned->plan;
    int cells = plan->cell_count / plan_variants(plan);
    text_printf(out, "%s: %d cell%s, ", plan->name, cells, units_plural(cells));
    if (plan->arm_count > 0)
        text_printf(out, "%d arm%s, ", plan->arm_count, units_plural(plan->arm_count));
    text_printf(out, "%d trial%s, ", plan->trial_count, units_plural(plan->trial_count));
    plan_duration_print(&planned->duration, out);
    text_printf(out, ", seed %" PRIu64 "\n\n", plan->seed);
}

static void print_cells(const struct planned *planned, struct text *out)
{
    static const char *const heads[] = {"cell", "settings", "predicted", "compute", "latency", "bandwidth", "reduce", "nodes"};
    enum { HEADS = sizeof(heads) / sizeof(heads[0]) };
    const struct plan *plan = planned->plan;
    const struct cell_forecast *forecasts = planned->forecasts;
    size_t columns[HEADS - 1];
    plan_columns(plan, columns, HEADS - 1);
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
            print_remarks(forecasts[c].predictions, out);
    }
    if (planned->messages_cost)
        text_printf(out, "\nPredictions take %s for what a message costs beyond its bytes; `laggard run` measures that first.\n",
                    shown_time((char[UNITS_TEXT_BYTES]){0}, FORECAST_MESSAGE_NS));
}

static void print_trials(const struct plan *plan, struct text *out)
{
    text_add(out, "\norder  repeat  seed                  cell\n");
    for (int t = 0; t < plan->trial_count; t++) {
        const struct trial_plan *trial = &plan->trials[t];
        text_printf(out, "%-6d %-7d %-21" PRIu64 " %d  %s\n", trial->order, trial->repeat, trial->seed,
                    plan->cells[trial->cell].index, cell_title(&plan->cells[trial->cell]));
    }
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

void plan_print_text(const struct planned *planned, bool all_paths, struct text *out)
{
    print_heading(planned, out);
    print_cells(planned, out);
    print_trials(planned->plan, out);
    print_events(planned->plan, planned->forecasts, out);
    print_paths(planned->plan, planned->forecasts, all_paths, out);
}
