/* results/report.c: the page around a report's sections; see report.h. The page's policy allows its own style, by its digest, and
 * nothing else: no script, no picture from outside, no form. */
#include "results/report.h"

#include <inttypes.h>
#include <limits.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "results/digest.h"
#include "results/gnuplot.h"
#include "results/plot_internal.h"
#include "results/plot_svg.h"
#include "results/report_internal.h"
#include "results/sqlite_wrap.h"

static void add_head(struct report *report, const char *title)
{
    char digest[DIGEST_BASE64_BYTES];
    struct text *page = report->page;
    digest_base64_of_text(report_style, digest);
    text_printf(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; "
        "form-action 'none'\"/>\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>",
        digest);
    plot_svg_escape(page, title);
    text_printf(page, "</title>\n<style>%s</style>\n</head>\n<body>\n", report_style);
}

/* One campaign's name is the page's; several are counted. */
static int add_title(struct report *report, int64_t campaign_id, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    cleanup(text_free) struct text title = {0};
    int result = plot_ask(report->sql, "SELECT count(*), max(name) FROM campaign WHERE ?1 IN (0, campaign_id)", 1,
                          (int64_t[]){campaign_id}, &rows, err);
    if (result == 0)
        result = sql_next(rows, err);
    if (result < 0)
        return result;
    report->several = sql_integer(rows, 0) > 1;
    if (!report->several)
        plot_add_line(&title, sql_text(rows, 1));
    else
        text_printf(&title, "%" PRId64 " campaigns", sql_integer(rows, 0));
    text_add(&title, ": laggard report");
    add_head(report, title.bytes);
    text_add(report->page, "<header><h1>");
    plot_svg_escape(report->page, title.bytes);
    text_add(report->page,
             "</h1>\n<p>Medians are over trials, with order-statistic intervals; failed and void trials are left out. Every number "
             "comes from the database, whose views <code>laggard sql</code> asks.</p>\n");
    return 0;
}

static int list_campaigns(struct report *report, int64_t campaign_id, struct sql_statement **rows, struct err *err)
{
    return plot_ask(report->sql, "SELECT campaign_id, name FROM campaign WHERE ?1 IN (0, campaign_id) ORDER BY campaign_id", 1,
                    (int64_t[]){campaign_id}, rows, err);
}

static void add_name(struct report *report, int64_t id, const char *name)
{
    if (report->several)
        text_printf(report->page, "%" PRId64 ": ", id);
    plot_svg_escape(report->page, name);
}

/* Of one campaign its sections, of several themselves. */
static int add_navigation(struct report *report, int64_t campaign_id, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    int result = list_campaigns(report, campaign_id, &rows, err);
    text_add(report->page, "<nav aria-label=\"Sections\">\n<ul>\n");
    if (report->several)
        text_add(report->page, "<li><a href=\"#comparison\">The campaigns compared</a></li>\n");
    while (result == 0 && (result = sql_next(rows, err)) > 0) {
        int64_t id = sql_integer(rows, 0);
        result = 0;
        text_printf(report->page, "<li><a href=\"#c%" PRId64 "\"><strong>", id);
        add_name(report, id, sql_text(rows, 1));
        text_add(report->page, "</strong></a></li>\n");
        for (const struct report_section *section = report_sections; section->id && !report->several; section++)
            text_printf(report->page, "<li><a href=\"#c%" PRId64 "-%s\">%s</a></li>\n", id, section->id, section->heading);
    }
    text_add(report->page, "</ul></nav></header>\n<main>\n");
    return result;
}

/* Cells with the same label and arm, side by side. */
static int add_comparison(struct report *report, struct err *err)
{
    static const struct report_table table = {
        "Median round times, in ms, of cells that several campaigns have, beside that of the first of them",
        "WITH shared AS (SELECT *, count(*) OVER (PARTITION BY label, arm, size_position) AS campaigns, "
        "first_value(round_time_p50_ns) OVER (PARTITION BY label, arm, size_position ORDER BY campaign_id) AS "
        "first_ns FROM cells) SELECT " REPORT_NAME(
            "s") " AS \"cell\", s.payload_bytes AS \"#bytes\", s.campaign_id || ': ' || "
                 "s.campaign AS \"campaign\", s.trials AS \"#trials\", s.round_time_p50_ns / 1e6 AS \"#3median\", coalesce(CASE "
                 "WHEN "
                 "s.round_time_low_ns IS NOT NULL THEN printf('%.3f to %.3f', s.round_time_low_ns / 1e6, s.round_time_high_ns "
                 "/ 1e6) END, s.round_time_interval_reason) AS \"95 % interval\", 1.0 * s.round_time_p50_ns / nullif(s.first_ns, "
                 "0) AS \"#3over the first\" FROM shared s WHERE s.campaigns > 1 ORDER BY s.label, s.arm, s.size_position, "
                 "s.campaign_id",
        "No cell is in more than one of the campaigns."};
    text_add(report->page, "<h2 id=\"comparison\">The campaigns compared</h2>\n");
    return report_add_table(report, &table, err);
}

static int add_campaigns(struct report *report, int64_t campaign_id, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    int result = list_campaigns(report, campaign_id, &rows, err);
    while (result == 0 && (result = sql_next(rows, err)) > 0) {
        report->campaign_id = sql_integer(rows, 0);
        text_printf(report->page, "<section aria-labelledby=\"c%" PRId64 "\">\n<h2 id=\"c%" PRId64 "\">", report->campaign_id,
                    report->campaign_id);
        add_name(report, report->campaign_id, sql_text(rows, 1));
        text_add(report->page, "</h2>\n");
        result = report_add_campaign(report, err);
        text_add(report->page, "</section>\n");
    }
    return result;
}

int report_write(struct sql *sql, const struct report_asked *asked, struct text *page, struct err *err)
{
    struct report report = {.sql = sql, .page = page, .no_plots = asked->no_plots};
    int64_t campaign_id = 0;
    char gnuplot[PATH_MAX];
    int result = plot_campaign(sql, asked->campaign_id, &campaign_id, err);
    if (result == 0 && !asked->no_plots && gnuplot_find(gnuplot, sizeof(gnuplot), err) < 0)
        return err_set(
            err, ERR_HOST,
            "the report's pictures are drawn by gnuplot, and no folder of PATH has it: install Debian's package gnuplot-nox, or "
            "that of your system, or ask for --no-plots");
    if (result == 0)
        result = add_title(&report, asked->campaign_id, err);
    if (result == 0)
        result = add_navigation(&report, asked->campaign_id, err);
    if (result == 0 && report.several)
        result = add_comparison(&report, err);
    if (result == 0)
        result = add_campaigns(&report, asked->campaign_id, err);
    text_add(page, "</main>\n<footer><p>Made by laggard");
    text_add(page, asked->no_plots ? ", without pictures: --no-plots was asked for" : "; pictures by gnuplot");
    text_add(page, ".</p></footer>\n</body>\n</html>\n");
    return result;
}
