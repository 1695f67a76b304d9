/* results/report_history.c: the report's section on several campaigns in time: the picture of their medians, and the change
 * points in it. */
#include <inttypes.h>
#include <math.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "results/history.h"
#include "results/plot_svg.h"
#include "results/report_internal.h"

static void add_number(struct text *page, double value, int decimals, const char *sign)
{
    text_add(page, "<td class=\"number\">");
    if (isfinite(value))
        text_printf(page, "%s%.*f", value > 0 ? sign : "", decimals, value);
    else
        text_add(page, "–");
    text_add(page, "</td>");
}

static void add_row(const struct history_series *series, const struct history_point *point, struct text *page)
{
    const struct change_point *change = point->change;
    text_add(page, "<tr><th scope=\"row\" class=\"name\">");
    plot_svg_escape(page, series->label[0] ? series->label : "the only cell");
    text_add(page, series->arm[0] ? ", " : "");
    plot_svg_escape(page, series->arm);
    text_printf(page, "</th><td>%" PRId64 ": ", point->campaign->data->campaign_id);
    plot_svg_escape(page, point->campaign->data->name);
    text_printf(page, "</td><td>%s</td>", history_is_worse(series, change) ? "worse" : "better");
    add_number(page, change->before / 1e6, 3, "");
    add_number(page, change->after / 1e6, 3, "");
    add_number(page, change->before > 0 ? 100 * (change->after / change->before - 1) : NAN, 2, "+");
    text_printf(page, "<td class=\"number\">%.2g</td></tr>\n", change->p);
}

static void add_change_points(const struct history *history, struct report *report)
{
    struct text *page = report->page;
    int rows = 0, changes = history->worse_count + history->better_count;
    if (changes == 0) {
        text_add(page, "<p class=\"empty\">No level changed, of those that have values of 4 campaigns or more.</p>\n");
        return;
    }
    text_printf(
        page,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"t%d\"><table>\n<caption id=\"t%d\"><span>Change "
        "points of the median round time: levels in ms, each the mean of its medians</span></caption>\n<thead><tr><th "
        "scope=\"col\">cell</th><th scope=\"col\">from campaign</th><th scope=\"col\">direction</th><th scope=\"col\" "
        "class=\"number\">level before</th><th scope=\"col\" class=\"number\">level after</th><th scope=\"col\" "
        "class=\"number\">change, %%</th><th scope=\"col\" class=\"number\">p</th></tr></thead>\n<tbody>\n",
        report->count, report->count);
    report->count++;
    for (int s = 0; s < history->series_count; s++)
        for (int p = 0; p < history->series[s].point_count; p++)
            if (history->series[s].points[p].change && rows++ < REPORT_ROWS_MAX)
                add_row(&history->series[s], &history->series[s].points[p], page);
    text_add(page, "</tbody></table></div>\n");
    if (rows > REPORT_ROWS_MAX)
        text_printf(page, "<p class=\"note\">The first %d of %d rows; <code>laggard history</code> has all.</p>\n", REPORT_ROWS_MAX,
                    rows);
}

int report_add_history(struct report *report, struct err *err)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    const struct history_question question = {.rule = HISTORY_RULE};
    struct history history;
    struct err why = {0};
    text_add(report->page, "<h2 id=\"history\">The campaigns in time</h2>\n");
    int result = history_read(report->sql, &question, arena, &history, &why);
    if (result == -ERR_USAGE) {
        text_add(report->page, "<p class=\"empty\">No campaign has a median round time.</p>\n");
        return 0;
    }
    if (result < 0)
        return err_set(err, why.kind, "%s", why.text);
    result = report_add_plot(report, "history", 0, err);
    if (result == 0)
        add_change_points(&history, report);
    return result;
}
