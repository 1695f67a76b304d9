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
    cleanup(plot_lines_free) struct plot_lines lines = {0};
    double lowest = INFINITY;
    int64_t cell = 0, left_out = 0, endless = 0;
    int result = plot_ask(sql, query, 1, (int64_t[]){asked->campaign_id}, &rows, err);
    while (result == 0 && (result = sql_next(rows, err)) > 0) {
        result = 0;
        double loss = sql_real(rows, 4);
        bool another = sql_integer(rows, 5) != cell, full = lines.names.count == PLOT_LINES_MAX;
        endless += !plot_can_show(loss);
        if (!plot_can_show(loss))
            continue;
        left_out += another && full;
        cell = sql_integer(rows, 5);
        if (another && !full)
            plot_line_begin(&lines, sql_text(rows, 0), sql_text(rows, 1));
        if (left_out > 0)
            continue;
        lowest = fmin(lowest, loss);
        if (by_round)
            text_printf(&lines.blocks, "%" PRId64 " %.6g\n", sql_integer(rows, 3), loss);
        else
            text_printf(&lines.blocks, "%.6g %.6g\n", sql_real(rows, 2), loss);
    }
    if (result < 0)
        return result;
    int count = lines.names.count;
    text_printf(&picture->title, "Loss against %s", by_round ? "rounds" : "time");
    if (count == 0) {
        text_add(&picture->description, endless ? "No mean loss is a finite number." : "No finished trial evaluated its model.");
        return 0;
    }
    text_printf(&picture->description, "Loss against %s, the mean over trials of %d cell%s; the lowest is %.3g.",
                by_round ? "rounds" : "time since the trial's start", count, count == 1 ? "" : "s", lowest);
    picture->partial = left_out > 0;
    if (picture->partial)
        text_printf(&picture->description, " %" PRId64 " more cells are left out.", left_out);
    if (endless > 0)
        text_printf(&picture->description, " %" PRId64 " mean%s no finite number, and left out.", endless,
                    endless == 1 ? " is" : "s are");
    plot_begin(picture);
    picture->height = 280;
    text_printf(&picture->script, "set xlabel '%s'\nset ylabel 'loss'\n", by_round ? "round" : "time since the trial''s start, s");
    plot_lines_finish(&lines, 0.4, 0, picture);
    text_add(&picture->script, "\n");
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
