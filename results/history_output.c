/* results/history_output.c: a history for people, as a table, and for programs, as JSON; see history.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "results/gate_output.h"
#include "results/history.h"

enum {
    COLUMN_CELL,
    COLUMN_ARM,
    COLUMN_METRIC,
    COLUMN_CAMPAIGN,
    COLUMN_TIME,
    COLUMN_REVISION,
    COLUMN_TRIALS,
    COLUMN_MEDIAN,
    COLUMN_CHANGE,
    COLUMNS
};
static const char *const titles[COLUMNS] = {
    "cell", "arm", "metric", "campaign", "started (UTC)", "revision", "trials", "median [interval]", "change"};

struct line {
    struct text cells[COLUMNS];
    struct text notes;
    const char *colour;
};

static void add_minute(struct text *out, int64_t unix_ns)
{
    time_t seconds = (time_t)(unix_ns / NS_PER_S);
    struct tm date;
    char text[32] = "";
    if (gmtime_r(&seconds, &date))
        strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &date);
    text_add(out, text);
}

/* In percent of the level before where that is above 0, else in the metric's unit. */
static void add_size(struct text *out, const struct history_series *series, const struct change_point *change)
{
    char value[64];
    double difference = change->after - change->before;
    if (change->before > 0)
        text_printf(out, "%+.2f %%", 100 * difference / change->before);
    else
        text_printf(out, "%s%s", difference > 0 ? "+" : "", gate_show_value(value, sizeof(value), difference, series->unit));
}

static void add_change(struct text *out, const struct history_series *series, const struct change_point *change)
{
    text_add(out, history_is_worse(series, change) ? "worse " : "better ");
    add_size(out, series, change);
    text_printf(out, " (p %.2g)", change->p);
}

static void make_line(const struct history_series *series, int index, struct line *line)
{
    const struct history_point *point = &series->points[index];
    const struct gate_data *data = point->campaign->data;
    const char *revision = point->campaign->revision ? point->campaign->revision : point->campaign->laggard_revision;
    char value[64];
    text_add_line(&line->cells[COLUMN_CELL], series->label[0] ? series->label : "the cell", '?');
    text_add_line(&line->cells[COLUMN_ARM], series->arm, '?');
    text_add_line(&line->cells[COLUMN_METRIC], series->metric, '?');
    text_add_line(&line->cells[COLUMN_CAMPAIGN], data->name, '?');
    text_printf(&line->cells[COLUMN_CAMPAIGN], " (%lld)", (long long)data->campaign_id);
    add_minute(&line->cells[COLUMN_TIME], data->started_unix_ns);
    text_add_line(&line->cells[COLUMN_REVISION], revision ? revision : "–", '?');
    text_printf(&line->cells[COLUMN_TRIALS], "%d", point->count);
    struct text *median = &line->cells[COLUMN_MEDIAN];
    text_add(median, gate_show_value(value, sizeof(value), point->median, series->unit));
    if (isfinite(point->low)) {
        text_printf(median, " [%s, ", gate_show_value(value, sizeof(value), point->low, series->unit));
        text_printf(median, "%s]", gate_show_value(value, sizeof(value), point->high, series->unit));
    }
    line->colour = "";
    if (point->change) {
        add_change(&line->cells[COLUMN_CHANGE], series, point->change);
        line->colour = history_is_worse(series, point->change) ? "\033[31m" : "\033[32m";
    }
    if (index == 0 && series->differs)
        text_add_line(&line->notes, series->differs, '?');
    if (point->remark) {
        text_add(&line->notes, line->notes.length > 0 ? "; " : "");
        text_add_line(&line->notes, point->remark, '?');
    }
}

static void free_lines(struct line *lines, size_t count)
{
    for (size_t i = 0; lines && i < count; i++) {
        for (int c = 0; c < COLUMNS; c++)
            text_free(&lines[i].cells[c]);
        text_free(&lines[i].notes);
    }
    free(lines);
}

static const char *cell_of(const struct line *line, int column)
{
    return line->cells[column].bytes ? line->cells[column].bytes : "";
}

static void print_lines(const struct line *lines, size_t count, bool colour, struct text *out)
{
    size_t widths[COLUMNS];
    bool used[COLUMNS];
    for (int c = 0; c < COLUMNS; c++) {
        widths[c] = text_width(titles[c]);
        used[c] = c != COLUMN_ARM && c != COLUMN_CHANGE; /* where there are some */
        for (size_t i = 0; i < count; i++) {
            size_t width = text_width(cell_of(&lines[i], c));
            widths[c] = width > widths[c] ? width : widths[c];
            used[c] = used[c] || width > 0;
        }
    }
    for (size_t i = 0; i <= count; i++) { /* 0: the titles */
        size_t spaces = 0;
        for (int c = 0; c < COLUMNS; c++) {
            const char *cell = i == 0 ? titles[c] : cell_of(&lines[i - 1], c);
            if (!used[c])
                continue;
            if (cell[0])
                text_printf(out, "%*s", (int)spaces, "");
            bool coloured = colour && i > 0 && c == COLUMN_CHANGE && cell[0];
            text_printf(out, "%s%s%s", coloured ? lines[i - 1].colour : "", cell, coloured ? "\033[0m" : "");
            spaces = (cell[0] ? 0 : spaces) + widths[c] - text_width(cell) + 2;
        }
        text_add(out, "\n");
        if (i > 0 && lines[i - 1].notes.length > 0)
            text_printf(out, "    %s\n", lines[i - 1].notes.bytes);
    }
}

/* "8 campaigns: 2 change points (1 worse, 1 better)" */
static void conclude(const struct history *history, struct text *out)
{
    int most = 0, changes = history->worse_count + history->better_count;
    for (int s = 0; s < history->series_count; s++)
        most = history->series[s].measured_count > most ? history->series[s].measured_count : most;
    text_printf(out, "%d campaign%s: ", history->campaign_count, history->campaign_count == 1 ? "" : "s");
    if (changes > 0)
        text_printf(out, "%d change point%s (%d worse, %d better)\n", changes, changes == 1 ? "" : "s", history->worse_count,
                    history->better_count);
    else if (most < CHANGE_POINTS_LEAST)
        text_printf(out, "no change point can be found in fewer than %d that can be compared, here %s %d\n", CHANGE_POINTS_LEAST,
                    most == 1 ? "there is" : "there are", most);
    else
        text_add(out, "no change point\n");
}

void history_print_table(const struct history *history, bool changes_alone, bool colour, struct text *out)
{
    size_t most = 0, count = 0;
    for (int s = 0; s < history->series_count; s++)
        most += (size_t)history->series[s].point_count;
    struct line *lines = calloc(most + 1, sizeof(*lines));
    for (int s = 0; lines && s < history->series_count; s++)
        for (int p = 0; p < history->series[s].point_count; p++)
            if (!changes_alone || history->series[s].points[p].change)
                make_line(&history->series[s], p, &lines[count++]);
    if (count > 0)
        print_lines(lines, count, colour, out);
    free_lines(lines, count);
    conclude(history, out);
}

/* ---- JSON ---- */

static void add_campaign(struct json *json, const struct history_campaign *campaign)
{
    const struct gate_data *data = campaign->data;
    json_begin_object(json, NULL);
    json_integer(json, "campaign_id", data->campaign_id);
    json_string(json, "name", data->name);
    json_integer(json, "started_unix_s", data->started_unix_ns / NS_PER_S); /* in ns it would exceed 2^53 */
    json_string(json, "revision", campaign->revision);
    json_string(json, "laggard_revision", campaign->laggard_revision);
    json_string(json, "fingerprint", data->fingerprint);
    json_integer(json, "planned_trials", data->planned_count);
    json_integer(json, "trials", data->trial_count);
    json_end_object(json);
}

static void add_json_change(struct json *json, const struct history_series *series, const struct change_point *change)
{
    if (!change) {
        json_null(json, "change");
        return;
    }
    json_begin_object(json, "change");
    json_string(json, "direction", history_is_worse(series, change) ? "worse" : "better");
    json_double(json, "before", change->before);
    json_double(json, "after", change->after);
    json_double(json, "ratio", change->before > 0 ? change->after / change->before : NAN);
    json_double(json, "difference", change->after - change->before);
    json_double(json, "p", change->p);
    json_end_object(json);
}

static void add_series(struct json *json, const struct history_series *series)
{
    json_begin_object(json, NULL);
    json_string(json, "label", series->label);
    json_string(json, "arm", series->arm);
    json_string(json, "metric", series->metric);
    json_string(json, "unit", series->unit);
    json_string(json, "better", series->lower ? "lower" : "higher");
    json_string(json, "differs", series->differs);
    json_begin_array(json, "points");
    for (int p = 0; p < series->point_count; p++) {
        const struct history_point *point = &series->points[p];
        json_begin_object(json, NULL);
        json_integer(json, "campaign_id", point->campaign->data->campaign_id);
        json_integer(json, "trials", point->count);
        json_double(json, "median", point->median);
        json_double(json, "median_low", point->low);
        json_double(json, "median_high", point->high);
        json_string(json, "remark", point->remark);
        add_json_change(json, series, point->change);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

void history_print_json(const struct history *history, struct text *out)
{
    struct json json = {.out = out};
    json_begin_object(&json, NULL);
    json_string(&json, "db", history->path);
    json_double(&json, "alpha", history->rule.alpha);
    json_double(&json, "min_effect", history->rule.min_effect);
    json_begin_object(&json, "counts");
    json_integer(&json, "worse", history->worse_count);
    json_integer(&json, "better", history->better_count);
    json_end_object(&json);
    json_begin_array(&json, "campaigns");
    for (int c = 0; c < history->campaign_count; c++)
        add_campaign(&json, &history->campaigns[c]);
    json_end_array(&json);
    json_begin_array(&json, "series");
    for (int s = 0; s < history->series_count; s++)
        add_series(&json, &history->series[s]);
    json_end_array(&json);
    json_end_object(&json);
    text_add(out, "\n");
}
