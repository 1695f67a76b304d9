/* results/plot_history.c: median round times over the campaigns of a file, oldest first, and where their level changed; what
 * `laggard history` prints as a table. Campaigns stand side by side however long the time between them: nights and quiet weeks
 * look alike. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "results/history.h"
#include "results/plot_internal.h"

enum { TICKS_MAX = 6, CHANGES_SPELLED_MAX = 6 };

struct marks {
    struct text worse, better, intervals, levels;
    double lowest, highest;
};

static void marks_free(struct marks *marks)
{
    text_free(&marks->worse);
    text_free(&marks->better);
    text_free(&marks->intervals);
    text_free(&marks->levels);
}

enum { DATE_BYTES = 32, YEAR_LETTERS = 5, DAY_LETTERS = 10 };
/* 2026-11-30 15:04; nanoseconds in 64 bits always have a year of four digits. */
static const char *date_of(const struct history_campaign *campaign, char text[DATE_BYTES])
{
    time_t seconds = (time_t)(campaign->data->started_unix_ns / NS_PER_S);
    struct tm date = {0};
    gmtime_r(&seconds, &date);
    strftime(text, DATE_BYTES, "%Y-%m-%d %H:%M", &date);
    return text;
}

static int place_of(const struct history *history, const struct history_point *point)
{
    return (int)(point->campaign - history->campaigns) + 1;
}

static void add_point(const struct history *history, const struct history_series *series, int p, struct text *line,
                      struct marks *marks)
{
    const struct history_point *point = &series->points[p];
    int place = place_of(history, point);
    double median = point->median / 1e6, low = point->low / 1e6, high = point->high / 1e6;
    if (!plot_can_show(median))
        return;
    marks->lowest = fmin(marks->lowest, plot_can_show(low) ? low : median);
    marks->highest = fmax(marks->highest, plot_can_show(high) ? high : median);
    text_printf(line, "%d %.6f\n", place, median);
    if (plot_can_show(low) && plot_can_show(high))
        text_printf(&marks->intervals, "%d %.6f 0 %.6f\n", place, low, high - low);
    if (point->change)
        text_printf(history_is_worse(series, point->change) ? &marks->worse : &marks->better, "%d %.6f\n", place, median);
}

/* From a change point to the next, and from the series' begin to the first. */
static void add_levels(const struct history *history, const struct history_series *series, struct marks *marks)
{
    int from = place_of(history, &series->points[0]), last = place_of(history, &series->points[series->point_count - 1]);
    const struct change_point *before = NULL;
    for (int p = 0; p < series->point_count; p++) {
        const struct change_point *change = series->points[p].change;
        if (!change)
            continue;
        int place = place_of(history, &series->points[p]);
        text_printf(&marks->levels, "%.2f %.6f\n%.2f %.6f\n\n", from - 0.3, change->before / 1e6, place - 0.7,
                    change->before / 1e6);
        from = place;
        before = change;
    }
    if (before)
        text_printf(&marks->levels, "%.2f %.6f\n%.2f %.6f\n\n", from - 0.3, before->after / 1e6, last + 0.3, before->after / 1e6);
}

/* Series of one cell and arm are one line, with a gap where settings or environment changed. Returns how many lines are left
 * out. */
static int add_lines(const struct history *history, struct plot_lines *lines, struct marks *marks)
{
    int left_out = 0;
    const struct history_series *last = NULL;
    for (int s = 0; s < history->series_count; s++) {
        const struct history_series *series = &history->series[s];
        bool another = !last || strcmp(last->label, series->label) != 0 || strcmp(last->arm, series->arm) != 0;
        cleanup(text_free) struct text points = {0};
        last = series;
        if ((another && lines->names.count == PLOT_LINES_MAX) || (!another && left_out > 0)) {
            left_out += another;
            continue;
        }
        for (int p = 0; p < series->point_count; p++)
            add_point(history, series, p, &points, marks);
        if (points.length == 0)
            continue;
        if (another || lines->names.count == 0)
            plot_line_begin(lines, series->label, series->arm);
        text_printf(&lines->blocks, "%s%s", another ? "" : "\n", points.bytes);
        add_levels(history, series, marks);
    }
    return left_out;
}

static void add_ticks(const struct history *history, struct text *script)
{
    int step = (history->campaign_count + TICKS_MAX - 1) / TICKS_MAX;
    char text[DATE_BYTES];
    text_add(script, "set xtics (");
    for (int c = 0; c < history->campaign_count; c += step) {
        text_add(script, c ? ", " : "");
        plot_quote_tick(script, date_of(&history->campaigns[c], text) + YEAR_LETTERS);
        text_printf(script, " %d", c + 1);
    }
    text_printf(script,
                ")\nset xrange [0.5:%d.5]\nset xlabel 'campaigns by their start, UTC'\nset ylabel 'median round time, ms'\n",
                history->campaign_count);
}

static void describe(const struct history *history, int lines, int left_out, struct text *out)
{
    char first[DATE_BYTES], last[DATE_BYTES];
    int changes = history->worse_count + history->better_count, spelled = 0;
    text_printf(out, "Median round times over %d campaign%s, from %.*s to %.*s, of %d cell%s", history->campaign_count,
                history->campaign_count == 1 ? "" : "s", DAY_LETTERS, date_of(&history->campaigns[0], first), DAY_LETTERS,
                date_of(&history->campaigns[history->campaign_count - 1], last), lines, lines == 1 ? "" : "s");
    if (left_out > 0)
        text_printf(out, " (%d more are left out)", left_out);
    text_printf(out, "; %d change point%s", changes, changes == 1 ? "" : "s");
    for (int s = 0; s < history->series_count; s++)
        for (int p = 0; p < history->series[s].point_count; p++) {
            const struct history_point *point = &history->series[s].points[p];
            if (!point->change || spelled == CHANGES_SPELLED_MAX)
                continue;
            text_printf(out, "%s%s from campaign ", spelled++ ? ", " : ": ",
                        history_is_worse(&history->series[s], point->change) ? "worse" : "better");
            plot_add_line(out, point->campaign->data->name);
            text_printf(out, " (%" PRId64 ") on in ", point->campaign->data->campaign_id);
            plot_add_line(out, history->series[s].label[0] ? history->series[s].label : "the only cell");
        }
    text_add(out, changes > spelled ? " and others." : ".");
}

static void add_mark_data(const char *name, const struct text *points, struct text *script)
{
    if (points->length)
        text_printf(script, "$%s << END\n%sEND\n", name, points->bytes);
}

/* They lie on the lines, which plot_lines_finish() draws first. */
static void add_marks(const struct marks *marks, struct text *script)
{
    if (marks->levels.length)
        text_add(script, ", $levels with lines lw 1.2 dt '-' lc rgb '" PLOT_FAINT "' title 'level: mean of its medians'");
    if (marks->intervals.length)
        text_add(script, ", $intervals with vectors nohead lw 3 lc rgb '" PLOT_FAINT "' title '95 % interval'");
    if (marks->worse.length)
        text_add(script, ", $worse with points pt 8 ps 1.8 lw 2 lc rgb '" PLOT_INK "' title 'worse from here on'");
    if (marks->better.length)
        text_add(script, ", $better with points pt 10 ps 1.8 lw 2 lc rgb '" PLOT_INK "' title 'better from here on'");
    text_add(script, "\n");
}

static void draw(const struct history *history, struct plot_lines *lines, const struct marks *marks, struct picture *picture)
{
    struct text *script = &picture->script;
    plot_begin(picture);
    picture->height = 280;
    add_ticks(history, script);
    plot_use_decades('y', marks->lowest, marks->highest, script);
    add_mark_data("levels", &marks->levels, script);
    add_mark_data("intervals", &marks->intervals, script);
    add_mark_data("worse", &marks->worse, script);
    add_mark_data("better", &marks->better, script);
    plot_lines_finish(lines, 0.6,
                      (marks->levels.length > 0) + (marks->intervals.length > 0) + (marks->worse.length > 0) +
                          (marks->better.length > 0),
                      picture);
    add_marks(marks, script);
}

int plot_draw_history(struct sql *sql, const struct plot_asked *asked, struct picture *picture, struct err *err)
{
    (void)asked; /* all campaigns */
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    cleanup(plot_lines_free) struct plot_lines lines = {0};
    cleanup(marks_free) struct marks marks = {.lowest = INFINITY};
    const struct history_question question = {.rule = HISTORY_RULE};
    struct history history;
    struct err why = {0};
    int result = history_read(sql, &question, arena, &history, &why);
    text_add(&picture->title, "Round time over campaigns");
    if (result == -ERR_USAGE) { /* a file without values is no error: there is nothing to draw */
        plot_add_line(&picture->description, why.text);
        text_add(&picture->description, ".");
        return 0;
    }
    if (result < 0)
        return err_set(err, why.kind, "%s", why.text);
    int left_out = add_lines(&history, &lines, &marks);
    if (lines.names.count == 0) {
        text_add(&picture->description, "No median is a number that can be drawn.");
        return 0;
    }
    picture->partial = left_out > 0;
    describe(&history, lines.names.count, left_out, &picture->description);
    draw(&history, &lines, &marks, picture);
    return 0;
}
