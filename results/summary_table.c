/* results/summary_table.c: the closing table of a campaign for people. A grid of texts is filled column by column from one list,
 * then printed with the widths that came out. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "base/units.h"
#include "results/summary_internal.h"

#define UNDEFINED "–"

enum { COLUMNS_MAX = SUMMARY_AXES_MAX + 15 };

enum colour { PLAIN, BOLD, YELLOW, RED };
static const char *const colour_codes[] = {[PLAIN] = "", [BOLD] = "\033[1m", [YELLOW] = "\033[33m", [RED] = "\033[31m"};

struct column {
    const char *title;
    bool right;          /* numbers stand flush right */
    bool hide_undefined; /* the column is left out when no cell has a value */
    const char *(*show)(const struct summary *, const struct summary_cell *, int axis);
};

static const char *show_time(const struct summary *summary, double ns)
{
    char text[UNITS_TEXT_BYTES];
    return isfinite(ns) ? arena_strdup(summary->arena, units_show_time(text, sizeof(text), ns)) : NULL;
}

static const char *show_scheme(const struct summary *summary, const struct summary_cell *cell, int axis)
{
    (void)summary, (void)axis;
    return cell->scheme_text;
}

static const char *show_workers(const struct summary *summary, const struct summary_cell *cell, int axis)
{
    (void)axis;
    return arena_printf(summary->arena, "%" PRId64, cell->workers);
}

static const char *show_axis(const struct summary *summary, const struct summary_cell *cell, int axis)
{
    (void)summary;
    return cell->axis_values[axis];
}

static const char *show_arm(const struct summary *summary, const struct summary_cell *cell, int axis)
{
    (void)summary, (void)axis;
    return cell->arm && cell->arm[0] ? cell->arm : NULL;
}

static const char *show_trials(const struct summary *summary, const struct summary_cell *cell, int axis)
{
    (void)axis;
    return arena_printf(summary->arena, "%" PRId64, cell->trials);
}

static const char *show_median(const struct summary *summary, const struct summary_cell *cell, int axis)
{
    (void)axis;
    if (!isfinite(cell->p50))
        return NULL;
    if (!isfinite(cell->low))
        return arena_printf(summary->arena, "%s (%s trials)", show_time(summary, cell->p50),
                            cell->trials < 6 ? "too few" : "too many");
    return arena_printf(summary->arena, "%s [%s, %s]", show_time(summary, cell->p50), show_time(summary, cell->low),
                        show_time(summary, cell->high));
}

/* Of cells that sweep sizes: elsewhere the table is about times. */
static const char *show_size(const struct summary *summary, const struct summary_cell *cell, int axis)
{
    (void)axis;
    char text[UNITS_TEXT_BYTES];
    units_spell_size(text, sizeof(text), isfinite(cell->payload_bytes) ? (uint64_t)cell->payload_bytes : 0);
    return cell->swept ? arena_strdup(summary->arena, text) : NULL;
}

static const char *show_bandwidth(const struct summary *summary, const struct summary_cell *cell, double bytes_per_second)
{
    static const struct {
        double bytes;
        const char *name;
    } units[] = {{1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1, "B/s"}}; /* as NCCL's tests count */
    size_t unit = 0;
    if (!cell->swept || !isfinite(bytes_per_second))
        return NULL;
    while (unit < 3 && bytes_per_second < units[unit].bytes)
        unit++;
    double value = bytes_per_second / units[unit].bytes;
    return arena_printf(summary->arena, "%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, units[unit].name);
}

static const char *show_algbw(const struct summary *summary, const struct summary_cell *cell, int axis)
{
    (void)axis;
    return show_bandwidth(summary, cell, cell->algbw);
}

static const char *show_busbw(const struct summary *summary, const struct summary_cell *cell, int axis)
{
    (void)axis;
    return show_bandwidth(summary, cell, cell->busbw);
}

static const char *show_mean(const struct summary *summary, const struct summary_cell *cell, int axis)
{
    (void)axis;
    return show_time(summary, cell->mean);
}

static const char *show_predicted(const struct summary *summary, const struct summary_cell *cell, int axis)
{
    (void)axis;
    return show_time(summary, cell->predicted);
}

static const char *show_ratio(const struct summary *summary, const struct summary_cell *cell, int axis)
{
    (void)axis;
    return isfinite(cell->ratio) ? arena_printf(summary->arena, "%.2f", cell->ratio) : NULL;
}

static const char *show_accuracy(const struct summary *summary, const struct summary_cell *cell, int axis)
{
    (void)axis;
    return isfinite(cell->accuracy) ? arena_printf(summary->arena, "%.3f", cell->accuracy) : NULL;
}

static const char *show_fidelity(const struct summary *summary, const struct summary_cell *cell, int axis)
{
    (void)summary, (void)axis;
    return cell->fidelity;
}

static const struct column columns_before[] = {
    {"scheme", false, false, show_scheme},
    {"workers", true, false, show_workers},
};
static const struct column columns_after[] = {
    {"arm", false, true, show_arm},
    {"size", true, true, show_size},
    {"trials", true, false, show_trials},
    {"median round [95 % interval]", false, false, show_median},
    {"mean", true, false, show_mean},
    {"algbw", true, true, show_algbw},
    {"busbw", true, true, show_busbw},
    {"predicted", true, false, show_predicted},
    {"mean/predicted", true, false, show_ratio},
    {"accuracy", true, true, show_accuracy},
    {"fidelity", false, false, show_fidelity},
};

/* The last part of a swept path, unless two axes share it. */
static const char *axis_title(const struct summary *summary, int axis)
{
    const char *path = summary->axes[axis], *dot = strrchr(path, '.');
    const char *last = dot ? dot + 1 : path;
    for (int i = 0; i < summary->axis_count; i++) {
        const char *other_dot = strrchr(summary->axes[i], '.');
        if (i != axis && strcmp(last, other_dot ? other_dot + 1 : summary->axes[i]) == 0)
            return path;
    }
    return last;
}

struct grid {
    struct column columns[COLUMNS_MAX];
    size_t widths[COLUMNS_MAX];
    const char **texts[COLUMNS_MAX]; /* one a cell */
    int count;
};

/* A name or a reason of a file that somebody else made may not break the table, nor speak to the terminal. */
static const char *one_line(const struct summary *summary, const char *string)
{
    cleanup(text_free) struct text line = {0};
    text_add_line(&line, string, '?');
    return line.length > 0 ? arena_strdup(summary->arena, line.bytes) : "";
}

static void grid_add(struct grid *grid, const struct summary *summary, const struct column *column, int axis)
{
    const char **texts = arena_new_array(summary->arena, const char *, (size_t)summary->cell_count + 1);
    const char *title = one_line(summary, column->title);
    size_t width = text_width(title);
    bool any = false;
    for (int i = 0; i < summary->cell_count; i++) {
        const char *text = column->show(summary, &summary->cells[i], axis);
        any |= text != NULL;
        texts[i] = text ? one_line(summary, text) : UNDEFINED;
        if (text_width(texts[i]) > width)
            width = text_width(texts[i]);
    }
    if (column->hide_undefined && !any)
        return;
    grid->columns[grid->count] = *column;
    grid->columns[grid->count].title = title;
    grid->widths[grid->count] = width;
    grid->texts[grid->count++] = texts;
}

static void add_spaces(struct text *out, size_t count)
{
    while (count-- > 0)
        text_add(out, " ");
}

static void print_text(struct text *out, const struct grid *grid, int column, const char *text, enum colour colour)
{
    size_t padding = grid->widths[column] - text_width(text);
    bool last = column == grid->count - 1;
    if (grid->columns[column].right)
        add_spaces(out, padding);
    text_add(out, colour_codes[colour]);
    text_add(out, text);
    text_add(out, colour == PLAIN ? "" : "\033[0m");
    if (!grid->columns[column].right && !last)
        add_spaces(out, padding);
    text_add(out, last ? "\n" : "  ");
}

static enum colour verdict_colour(const struct summary_cell *cell)
{
    return cell->void_count > 0 ? RED : cell->degraded > 0 ? YELLOW : PLAIN;
}

static void print_grid(struct text *out, const struct summary *summary, const struct grid *grid, bool colour)
{
    for (int c = 0; c < grid->count; c++)
        print_text(out, grid, c, grid->columns[c].title, colour ? BOLD : PLAIN);
    for (int i = 0; i < summary->cell_count; i++)
        for (int c = 0; c < grid->count; c++)
            print_text(out, grid, c, grid->texts[c][i],
                       colour && grid->columns[c].show == show_fidelity ? verdict_colour(&summary->cells[i]) : PLAIN);
}

/* What stands beneath: how many trials of a state, and the reason of the first one. */
static int print_remark(struct store *store, int64_t campaign_id, const struct summary *summary, struct text *out, int count,
                        const char *what, const char *sql, struct err *err)
{
    if (count == 0)
        return 0;
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    if (summary_query(store, sql, campaign_id, &rows, err) < 0)
        return -ERR_HOST;
    int found = sql_next(rows, err);
    if (found < 0)
        return found;
    const char *reason = found ? sql_text(rows, 0) : NULL;
    text_printf(out, "%d trial%s %s%s%s\n", count, units_plural(count), what, reason ? "; the first: " : "",
                one_line(summary, reason));
    return 0;
}

static int print_remarks(struct store *store, int64_t campaign_id, const struct summary *summary, struct text *out, struct err *err)
{
    const struct {
        int count;
        const char *what, *sql;
    } remarks[] = {
        {summary->counts.void_count, "void and left out",
         "SELECT fidelity_reason FROM trials WHERE campaign_id = ? AND fidelity = 'void' ORDER BY trial"},
        {summary->counts.degraded, "degraded, and counted",
         "SELECT fidelity_reason FROM trials WHERE campaign_id = ? AND fidelity = 'degraded' ORDER BY trial"},
        {summary->counts.failed, "failed", "SELECT reason FROM trials WHERE campaign_id = ? AND status = 'failed' ORDER BY trial"},
        {summary->counts.interrupted, "interrupted",
         "SELECT reason FROM trials WHERE campaign_id = ? AND status = 'interrupted' ORDER BY trial"},
    };
    for (size_t i = 0; i < sizeof(remarks) / sizeof(remarks[0]); i++)
        if (print_remark(store, campaign_id, summary, out, remarks[i].count, remarks[i].what, remarks[i].sql, err) < 0)
            return -ERR_HOST;
    if (summary->planned > summary->counts.trials)
        text_printf(out, "%" PRId64 " of %" PRId64 " planned trial%s did not run\n", summary->planned - summary->counts.trials,
                    summary->planned, units_plural(summary->planned));
    int too_few = 0;
    for (int i = 0; i < summary->cell_count; i++)
        too_few += isfinite(summary->cells[i].p50) && summary->cells[i].trials < 6;
    if (too_few > 0)
        text_printf(out, "too few trials: a 95 %% interval needs 6 finished trials of a cell (repeats: 6)\n");
    return 0;
}

int summary_table(struct store *store, int64_t campaign_id, bool colour, struct text *out, struct err *err)
{
    cleanup(summary_free) struct summary summary = {0};
    cleanup(text_free) struct text text = {0};
    struct grid grid = {0};
    if (summary_read(store, campaign_id, &summary, err) < 0)
        return -ERR_HOST;
    for (size_t i = 0; i < sizeof(columns_before) / sizeof(columns_before[0]); i++)
        grid_add(&grid, &summary, &columns_before[i], 0);
    for (int i = 0; i < summary.axis_count; i++)
        grid_add(&grid, &summary, &(struct column){axis_title(&summary, i), false, true, show_axis}, i);
    for (size_t i = 0; i < sizeof(columns_after) / sizeof(columns_after[0]); i++)
        grid_add(&grid, &summary, &columns_after[i], 0);
    if (summary.cell_count > 0)
        print_grid(&text, &summary, &grid, colour);
    if (print_remarks(store, campaign_id, &summary, &text, err) < 0)
        return -ERR_HOST;
    if (text.length > 0)
        text_add_bytes(out, text.bytes, text.length);
    return 0;
}
