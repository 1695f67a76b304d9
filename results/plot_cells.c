/* results/plot_cells.c: plots of a whole campaign, cell by cell: round times, message sizes, predictions. */
#include <inttypes.h>
#include <math.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"
#include "results/plot_internal.h"
#include "results/sqlite_wrap.h"

/* ---- round-time ---- */

/* The cells that are shown, numbered from the top: as a subquery, so that trials and cells get the same numbers. */
#define NUMBERED_CELLS                                                                                                             \
    "SELECT *, row_number() OVER (ORDER BY cell, arm) AS place, count(*) OVER () AS cell_count, "                                  \
    "row_number() OVER (ORDER BY round_time_p50_ns) AS speed FROM cells "                                                          \
    "WHERE campaign_id = ?1 AND size_position IS NULL AND round_time_p50_ns IS NOT NULL"

struct range {
    double low, high;
};

static void widen(struct range *range, double value)
{
    if (!isfinite(value))
        return;
    range->low = fmin(range->low, value);
    range->high = fmax(range->high, value);
}

static int add_trials(struct sql *sql, int64_t campaign_id, struct text *points, struct range *range, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    int result = plot_ask(sql,
                          "WITH numbered AS (" NUMBERED_CELLS ") SELECT t.round_time_p50_ns / 1e6, n.place + "
                          "0.24 * ((row_number() OVER (PARTITION BY n.place ORDER BY t.trial)) % 5 - 2) / 2 FROM trials t "
                          "JOIN numbered n ON n.cell_id = t.cell_id AND n.arm = t.arm WHERE t.campaign_id = ?1 AND n.place <= ?2 "
                          "AND t.status = 'finished' AND t.fidelity <> 'void' AND t.round_time_p50_ns IS NOT NULL",
                          2, (int64_t[]){campaign_id, PLOT_ROWS_MAX}, &rows, err);
    if (result < 0)
        return result;
    while ((result = sql_next(rows, err)) > 0) {
        widen(range, sql_real(rows, 0));
        text_printf(points, "%.6f %.3f\n", sql_real(rows, 0), sql_real(rows, 1));
    }
    return result;
}

static void describe_round_time(struct sql_statement *rows, int shown, struct picture *picture, struct text *fastest,
                                struct text *slowest)
{
    int64_t count = sql_integer(rows, 7), speed = sql_integer(rows, 8);
    char time[UNITS_TEXT_BYTES];
    struct text *which = speed == 1 ? fastest : speed == count ? slowest : NULL;
    if (which) {
        plot_add_line(which, sql_text(rows, 0) && sql_text(rows, 0)[0] ? sql_text(rows, 0) : "the only cell");
        text_printf(which, " (median %s)", units_show_time(time, sizeof(time), 1e6 * sql_real(rows, 3)));
    }
    if (shown > 1)
        return;
    text_printf(&picture->description, "Median round times of %" PRId64 " cell%s", count, count == 1 ? "" : "s");
    picture->partial = count > PLOT_ROWS_MAX;
    if (picture->partial)
        text_printf(&picture->description, ", of which the first %d are shown", PLOT_ROWS_MAX);
}

struct round_times {
    struct plot_names names;
    struct text cells, intervals, predictions, trials, fastest, slowest;
    struct range medians, all; /* medians near each other are looked at closely */
    int count;
};

static void round_times_free(struct round_times *times)
{
    plot_names_free(&times->names);
    text_free(&times->cells);
    text_free(&times->intervals);
    text_free(&times->predictions);
    text_free(&times->trials);
    text_free(&times->fastest);
    text_free(&times->slowest);
}

static void add_round_time(struct sql_statement *rows, struct round_times *times)
{
    double median = sql_real(rows, 3), low = sql_real(rows, 4), high = sql_real(rows, 5), predicted = sql_real(rows, 6);
    int place = times->names.count + 1;
    plot_names_add(&times->names, sql_text(rows, 0), sql_text(rows, 1), NULL);
    widen(&times->medians, median);
    widen(&times->all, median);
    text_printf(&times->cells, "%.6f %d\n", median, place);
    if (isfinite(low) && isfinite(high)) {
        widen(&times->all, low);
        widen(&times->all, high);
        text_printf(&times->intervals, "%.6f %d %.6f %.6f\n", median, place, low, high);
    }
    if (isfinite(predicted)) {
        widen(&times->all, predicted);
        text_printf(&times->predictions, "%.6f %d\n", predicted, place);
    }
}

static void add_block(const char *name, const struct text *points, struct text *script)
{
    if (points->length)
        text_printf(script, "$%s << END\n%sEND\n", name, points->bytes);
}

static void add_round_times(const struct round_times *times, struct picture *picture)
{
    struct text *script = &picture->script;
    plot_begin(picture);
    picture->height = 44 + 24 * times->names.count;
    plot_key(picture, 2 + (times->predictions.length > 0) + (times->intervals.length > 0), 18);
    if (!plot_use_decades('x', times->all.low, times->all.high, script))
        text_printf(script, "set xrange [%s:*]\n", times->medians.low < 0.4 * times->medians.high ? "0" : "*");
    text_printf(script, "set yrange [%d.6:0.4]\nset xlabel 'round time, ms'\n", times->names.count);
    plot_name_rows(&times->names, script);
    add_block("cells", &times->cells, script);
    add_block("intervals", &times->intervals, script);
    add_block("predictions", &times->predictions, script);
    add_block("trials", &times->trials, script);
    text_add(script, "plot ");
    if (times->trials.length)
        text_add(script, "$trials with points pt 7 ps 0.4 lc rgb '" PLOT_FAINT "' title 'a trial''s median', ");
    if (times->predictions.length)
        text_printf(script, "$predictions with points pt 2 ps 0.9 lw 1.5 lc rgb '%s' title 'predicted mean', ", plot_colours[1]);
    if (times->intervals.length)
        text_printf(script, "$intervals with xerrorbars pt 7 ps 0.01 lw 1.8 lc rgb '%s' title '95 %% interval', ", plot_colours[0]);
    text_printf(script, "$cells with points pt 13 ps 0.7 lc rgb '%s' title 'median over trials'\n", plot_colours[0]);
}

int plot_draw_round_time(struct sql *sql, const struct plot_asked *asked, struct picture *picture, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    cleanup(round_times_free) struct round_times times = {.medians = {INFINITY, 0}, .all = {INFINITY, 0}};
    int result = plot_ask(sql,
                          "SELECT label, arm, place, round_time_p50_ns / 1e6, round_time_low_ns / 1e6, round_time_high_ns / 1e6, "
                          "predicted_round_ns / 1e6, cell_count, speed FROM (" NUMBERED_CELLS ") ORDER BY place",
                          1, (int64_t[]){asked->campaign_id}, &rows, err);
    while (result == 0 && (result = sql_next(rows, err)) > 0) {
        result = 0;
        describe_round_time(rows, ++times.count, picture, &times.fastest, &times.slowest);
        if (times.count <= PLOT_ROWS_MAX)
            add_round_time(rows, &times);
    }
    if (result == 0)
        result = add_trials(sql, asked->campaign_id, &times.trials, &times.all, err);
    if (result < 0)
        return result;
    text_add(&picture->title, "Round time of each cell");
    if (times.count == 0) {
        text_add(&picture->description, "No cell with a single message size has a round time.");
        return 0;
    }
    text_printf(&picture->description, ". Fastest: %s%s%s.", times.fastest.bytes ? times.fastest.bytes : "unknown",
                times.slowest.bytes ? "; slowest: " : "", times.slowest.bytes ? times.slowest.bytes : "");
    plot_names_shorten(&times.names, 44);
    add_round_times(&times, picture);
    return 0;
}

/* ---- sizes ---- */

/* Sizes within one trial, or a campaign that sweeps workload.size in its matrix: then the label without the size names the line. */
int plot_draw_sizes(struct sql *sql, const struct plot_asked *asked, struct picture *picture, struct err *err)
{
    static const char query[] =
        "WITH sized AS (SELECT c.cell, c.arm, c.payload_bytes, c.algbw_bytes_per_second AS algbw, c.busbw_bytes_per_second AS "
        "busbw, "
        "CASE WHEN s.path IS NULL THEN c.label ELSE trim(replace(replace(c.label, s.path || '=' || s.value, ''), '  ', ' ')) END "
        "AS line "
        "FROM cells c LEFT JOIN cell_setting s ON s.cell_id = c.cell_id AND s.path = 'workload.size' "
        "WHERE c.campaign_id = ?1 AND c.algbw_bytes_per_second IS NOT NULL AND (c.size_position IS NOT NULL OR s.path IS NOT "
        "NULL)) "
        "SELECT line, arm, payload_bytes, CASE WHEN (SELECT count(*) FROM sized WHERE busbw IS NULL) = 0 THEN busbw ELSE algbw END "
        "/ 1e6, dense_rank() OVER (ORDER BY line, arm), (SELECT count(*) FROM sized WHERE busbw IS NULL) FROM sized "
        "ORDER BY line, arm, payload_bytes";
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    cleanup(plot_lines_free) struct plot_lines lines = {0};
    double highest = 0;
    int64_t line = 0, seen = 0;
    bool bus = true;
    int result = plot_ask(sql, query, 1, (int64_t[]){asked->campaign_id}, &rows, err);
    while (result == 0 && (result = sql_next(rows, err)) > 0) {
        result = 0;
        bus = sql_integer(rows, 5) == 0;
        seen = sql_integer(rows, 4);
        if (seen > PLOT_LINES_MAX)
            continue;
        if (seen != line)
            plot_line_begin(&lines, sql_text(rows, 0), sql_text(rows, 1));
        line = seen;
        highest = fmax(highest, sql_real(rows, 3));
        text_printf(&lines.blocks, "%" PRId64 " %.6g\n", sql_integer(rows, 2), sql_real(rows, 3));
    }
    if (result < 0)
        return result;
    text_printf(&picture->title, "%s bandwidth against message size", bus ? "Bus" : "Algorithm");
    if (lines.names.count == 0) {
        text_add(&picture->description, "No cell sweeps message sizes.");
        return 0;
    }
    text_printf(&picture->description, "%s bandwidth by message size, %d line%s; the highest is %.3g MB/s.",
                bus ? "Bus" : "Algorithm", lines.names.count, lines.names.count == 1 ? "" : "s", highest);
    picture->partial = seen > line;
    if (picture->partial)
        text_printf(&picture->description, " %" PRId64 " more are left out.", seen - line);
    plot_begin(picture);
    picture->height = 300;
    text_printf(&picture->script,
                "set logscale x\nset autoscale xfix\nset format x '%%.0s %%cB'\nset yrange [0:*]\nset xlabel 'message size'\n"
                "set ylabel '%s bandwidth, MB/s'\n",
                bus ? "bus" : "algorithm");
    plot_lines_finish(&lines, 0.6, 0, picture);
    text_add(&picture->script, "\n");
    return 0;
}

/* ---- predictions ---- */

/* On a logarithmic axis of a few octaves gnuplot labels too little: 1, 2 and 5 of each decade. */
static void add_ticks(double low, double high, struct text *script)
{
    const char *comma = "set xtics (";
    for (int decade = (int)floor(log10(low)); pow(10, decade) < high; decade++)
        for (int i = 0; i < 3; i++) {
            double at = pow(10, decade) * (i == 0 ? 1 : i == 1 ? 2 : 5);
            if (at < low || at > high)
                continue;
            text_printf(script, "%s%.9g", comma, at);
            comma = ", ";
        }
    text_add(script, ")\n");
}

int plot_draw_predictions(struct sql *sql, const struct plot_asked *asked, struct picture *picture, struct err *err)
{
    static const char query[] =
        "SELECT scheme, predicted_round_ns / 1e6, round_time_mean_ns / 1e6, prediction_ratio, dense_rank() OVER (ORDER BY scheme) "
        "FROM cells WHERE campaign_id = ?1 AND predicted_round_ns > 0 AND round_time_mean_ns > 0 ORDER BY scheme, "
        "predicted_round_ns";
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    cleanup(text_free) struct text blocks = {0}, plot = {0};
    double low = INFINITY, high = 0, least = INFINITY, most = 0;
    int64_t line = 0, count = 0;
    int result = plot_ask(sql, query, 1, (int64_t[]){asked->campaign_id}, &rows, err);
    while (result == 0 && (result = sql_next(rows, err)) > 0) {
        static const int shapes[] = {7, 5, 9, 11, 13, 6, 4, 8};
        result = 0;
        if (sql_integer(rows, 4) != line) {
            int64_t which = line % PLOT_COLOUR_COUNT;
            text_printf(&blocks, "%s$line%" PRId64 " << END\n", line ? "END\n" : "", line);
            text_printf(&plot, ", $line%" PRId64 " with points pt %d ps 0.9 lc rgb '%s' title ", line, shapes[which],
                        plot_colours[which]);
            plot_quote(&plot, sql_text(rows, 0), 20);
        }
        line = sql_integer(rows, 4);
        count++;
        text_printf(&blocks, "%.6f %.6f\n", sql_real(rows, 1), sql_real(rows, 2));
        low = fmin(low, fmin(sql_real(rows, 1), sql_real(rows, 2)));
        high = fmax(high, fmax(sql_real(rows, 1), sql_real(rows, 2)));
        least = fmin(least, sql_real(rows, 3));
        most = fmax(most, sql_real(rows, 3));
    }
    if (result < 0)
        return result;
    text_add(&picture->title, "Measured mean round times against predicted ones");
    if (count == 0) {
        text_add(&picture->description, "No cell has both a measured and a predicted round time.");
        return 0;
    }
    text_printf(&picture->description,
                "Measured over predicted mean round time of %" PRId64
                " cell%s lies between %.3g and %.3g; on the line they are equal.",
                count, count == 1 ? "" : "s", least, most);
    plot_begin(picture);
    picture->height = 360;
    plot_key(picture, (int)line + 1, 20);
    low *= 0.85;
    high *= 1.18;
    if (high > 8 * low) {
        text_add(&picture->script, "set logscale xy\n");
        cleanup(text_free) struct text ticks = {0};
        add_ticks(low, high, &ticks);
        text_printf(&picture->script, "%sset y%s", ticks.bytes, ticks.bytes + 5);
    }
    text_printf(&picture->script,
                "set xrange [%.9g:%.9g]\nset yrange [%.9g:%.9g]\nset xlabel 'predicted mean round time, ms'\n"
                "set ylabel 'measured mean round time, ms'\n%sEND\n"
                "plot x with lines lw 1 lc rgb '" PLOT_FAINT "' title 'equal'%s\n",
                low, high, low, high, blocks.bytes, plot.bytes);
    return 0;
}
