/* results/plot_learning.c: loss against time and against rounds, a line a cell: the mean over its trials. */
#include <inttypes.h>
#include <math.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "results/plot_internal.h"
#include "results/sqlite_wrap.h"

static const char query[] =
    "SELECT l.label, l.arm, avg(l.at_ns) / 1e9, l.round, avg(l.loss), dense_rank() OVER (ORDER BY l.cell, l.arm) FROM "
    "learning_curves l JOIN trial t ON t.trial_id = l.trial WHERE l.campaign_id = ?1 AND t.status = 'finished' AND t.fidelity <> "
    "'void' AND l.loss IS NOT NULL GROUP BY l.cell, l.arm, l.round ORDER BY l.cell, l.arm, l.round";

static int draw(struct sql *sql, const struct plot_asked *asked, bool by_round, struct picture *picture, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    cleanup(text_free) struct text blocks = {0}, plot = {0};
    double lowest = INFINITY;
    int64_t line = 0, count = 0;
    int result = plot_ask(sql, query, 1, (int64_t[]){asked->campaign_id}, &rows, err);
    while (result == 0 && (result = sql_next(rows, err)) > 0) {
        result = 0;
        count = sql_integer(rows, 5);
        if (count > PLOT_LINES_MAX)
            continue;
        if (count != line) {
            text_printf(&blocks, "%s$line%" PRId64 " << END\n", line ? "END\n" : "", line);
            text_printf(&plot, "%s$line%" PRId64 " with linespoints lw 1.6 pt 7 ps 0.4 dt %d lc rgb '%s' title ",
                        line ? ", " : "plot ", line, line < PLOT_COLOUR_COUNT ? 1 : 2, plot_colours[line % PLOT_COLOUR_COUNT]);
            plot_quote_cell(&plot, sql_text(rows, 0), sql_text(rows, 1));
        }
        line = count;
        lowest = fmin(lowest, sql_real(rows, 4));
        if (by_round)
            text_printf(&blocks, "%" PRId64 " %.6g\n", sql_integer(rows, 3), sql_real(rows, 4));
        else
            text_printf(&blocks, "%.6g %.6g\n", sql_real(rows, 2), sql_real(rows, 4));
    }
    if (result < 0)
        return result;
    text_printf(&picture->title, "Loss against %s", by_round ? "rounds" : "time");
    if (count == 0) {
        text_add(&picture->description, "No finished trial evaluated its model.");
        return 0;
    }
    text_printf(&picture->description, "Loss against %s, the mean over trials of %" PRId64 " cell%s; the lowest is %.3g.",
                by_round ? "rounds" : "time since the trial's start", line, line == 1 ? "" : "s", lowest);
    if (count > line)
        text_printf(&picture->description, " %" PRId64 " more cells are left out.", count - line);
    plot_begin(picture);
    picture->height = 320 + 20 * (int)((line + 1) / 2);
    text_printf(&picture->script, "set key maxcols 2\nset xlabel '%s'\nset ylabel 'loss'\n%sEND\n%s\n",
                by_round ? "round" : "time since the trial''s start, s", blocks.bytes, plot.bytes);
    return 0;
}

int plot_draw_learning_time(struct sql *sql, const struct plot_asked *asked, struct picture *picture, struct err *err)
{
    return draw(sql, asked, false, picture, err);
}

int plot_draw_learning_rounds(struct sql *sql, const struct plot_asked *asked, struct picture *picture, struct err *err)
{
    return draw(sql, asked, true, picture, err);
}
