/* results/report_parts.c: tables and pictures of a report; see report_internal.h. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "results/plot_internal.h"
#include "results/plot_svg.h"
#include "results/report_internal.h"
#include "results/sqlite_wrap.h"

/* *decimals: -1 where values are shown as they are. */
static const char *heading_of(struct sql_statement *rows, int column, bool *number, int *decimals)
{
    const char *name = sql_column_name(rows, column);
    *number = name[0] == '#';
    name += *number;
    bool counted = *number && name[0] >= '0' && name[0] <= '9';
    *decimals = counted ? name[0] - '0' : -1;
    return name + counted;
}

static void add_head(struct sql_statement *rows, struct text *page)
{
    text_add(page, "<thead><tr>");
    for (int c = 0; c < sql_column_count(rows); c++) {
        bool number;
        int decimals;
        const char *heading = heading_of(rows, c, &number, &decimals);
        text_printf(page, "<th scope=\"col\"%s>", number ? " class=\"number\"" : "");
        plot_svg_escape(page, heading);
        text_add(page, "</th>");
    }
    text_add(page, "</tr></thead>\n<tbody>\n");
}

/* Words that have a colour of their own. */
static const char *class_of(const char *text)
{
    static const char *const words[] = {"faithful", "degraded", "void", "failed", "interrupted"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(text, words[i]) == 0)
            return words[i];
    return NULL;
}

static void add_cell(struct sql_statement *rows, int column, struct text *page)
{
    enum { SHORT = 20 }; /* letters of a text that stays on one line, such as a date */
    bool number;
    int decimals;
    char spelled[400]; /* the longest double with nine decimals has 319 characters */
    heading_of(rows, column, &number, &decimals);
    const char *text = sql_text(rows, column), *class = text ? class_of(text) : "none";
    enum sql_kind kind = sql_kind(rows, column);
    bool figure = kind == SQL_REAL || kind == SQL_INTEGER;
    if (figure && !isfinite(sql_real(rows, column))) {
        text = NULL;
        class = "none";
    } else if (figure && decimals >= 0) {
        snprintf(spelled, sizeof(spelled), "%.*f", decimals, sql_real(rows, column));
        text = spelled;
    }
    text_add(page, column == 0 ? "<th scope=\"row\"" : "<td");
    if (number)
        text_add(page, " class=\"number\"");
    else if (class)
        text_printf(page, " class=\"%s\"", class);
    else if (column > 0 && text_width(text) <= SHORT && strpbrk(text, " -"))
        text_add(page, " class=\"short\"");
    else if (column == 0)
        text_add(page, " class=\"name\"");
    text_add(page, ">");
    plot_svg_escape(page, text ? text : "–");
    text_add(page, column == 0 ? "</th>" : "</td>");
}

int report_add_table(struct report *report, const struct report_table *table, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    struct text *page = report->page;
    int64_t count = 0;
    bool asks = strstr(table->query, "?1") != NULL;
    int result = plot_ask(report->sql, table->query, asks ? 1 : 0, (int64_t[]){report->campaign_id}, &rows, err);
    while (result == 0 && (result = sql_next(rows, err)) > 0) {
        result = 0;
        if (++count > REPORT_ROWS_MAX)
            continue;
        if (count == 1) {
            text_printf(
                page,
                "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"t%d\"><table>\n<caption id=\"t%d\"><span>",
                report->count, report->count);
            plot_svg_escape(page, table->caption);
            text_add(page, "</span></caption>\n");
            add_head(rows, page);
            report->count++;
        }
        text_add(page, "<tr>");
        for (int c = 0; c < sql_column_count(rows); c++)
            add_cell(rows, c, page);
        text_add(page, "</tr>\n");
    }
    if (result < 0)
        return result;
    if (count == 0 && !table->empty)
        return 0;
    if (count == 0) {
        text_add(page, "<p class=\"empty\">");
        plot_svg_escape(page, table->empty);
        text_add(page, "</p>\n");
        return 0;
    }
    text_add(page, "</tbody></table></div>\n");
    if (count > REPORT_ROWS_MAX)
        text_printf(page, "<p class=\"note\">The first %d of %" PRId64 " rows; <code>laggard sql</code> has all.</p>\n",
                    REPORT_ROWS_MAX, count);
    return 0;
}

int report_add_plot(struct report *report, const char *name, int64_t trial, struct err *err)
{
    cleanup(picture_free) struct picture picture = {0};
    const struct plot_asked asked = {.campaign_id = report->campaign_id, .trial = trial, .round = -1};
    const struct plot_kind *kind = report->no_plots ? NULL : plot_find(name, err);
    struct text *page = report->page;
    char id[24];
    if (!kind)
        return report->no_plots ? 0 : -ERR_USAGE;
    int result = kind->draw(report->sql, &asked, &picture, err);
    if (result < 0)
        return result;
    if (picture.script.length == 0)
        return 0;
    report->pictures++;
    snprintf(id, sizeof(id), "p%d", report->count++);
    text_printf(page, "<figure><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"");
    plot_svg_escape(page, picture.title.bytes);
    text_add(page, "\">\n");
    result = plot_render(&picture, PLOT_SVG, id, page, err);
    if (result < 0)
        return err_wrap(err, "picture %s", name);
    text_add(page, "</div><figcaption>");
    plot_svg_escape(page, picture.title.bytes);
    text_add(page, ". ");
    plot_svg_escape(page, picture.description.bytes);
    text_add(page, "</figcaption></figure>\n");
    return 0;
}

void report_add_heading(struct report *report, const char *id, const char *heading)
{
    text_printf(report->page, "<h3 id=\"c%" PRId64 "-%s\">%s</h3>\n", report->campaign_id, id, heading);
}
