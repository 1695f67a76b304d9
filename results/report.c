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

/* A campaign's section. */
struct section {
    int64_t campaign_id;
    struct text text, name; /* its number where there are several, and its name, as HTML */
};

struct sections {
    struct section shown[REPORT_CAMPAIGNS_MAX]; /* the last first */
    int count;
    int64_t left_out;
    size_t bytes;
};

static void sections_free(struct sections *sections)
{
    for (int i = 0; i < sections->count; i++) {
        text_free(&sections->shown[i].text);
        text_free(&sections->shown[i].name);
    }
}

/* Of one campaign its sections, of several themselves. */
static void add_navigation(struct report *report, const struct sections *sections)
{
    text_add(report->page, "<nav aria-label=\"Sections\">\n<ul>\n");
    if (report->several)
        text_add(report->page, "<li><a href=\"#comparison\">The campaigns compared</a></li>\n"
                               "<li><a href=\"#history\">The campaigns in time</a></li>\n");
    for (int i = sections->count - 1; i >= 0; i--) {
        int64_t id = sections->shown[i].campaign_id;
        text_printf(report->page, "<li><a href=\"#c%" PRId64 "\"><strong>%s</strong></a></li>\n", id,
                    sections->shown[i].name.bytes);
        for (const struct report_section *section = report_sections; section->id && !report->several; section++)
            text_printf(report->page, "<li><a href=\"#c%" PRId64 "-%s\">%s</a></li>\n", id, section->id, section->heading);
    }
    text_add(report->page, "</ul></nav></header>\n<main>\n");
    if (sections->left_out == 0)
        return;
    text_printf(report->page,
                "<p class=\"note\" id=\"left-out\">The page has the last %d of %" PRId64
                " campaigns; all of them would make it too long. <code>laggard report ",
                sections->count, sections->count + sections->left_out);
    plot_svg_escape(report->page, sql_path(report->sql));
    text_add(report->page, " --campaign N</code> writes that of another, and <code>laggard sql ");
    plot_svg_escape(report->page, sql_path(report->sql));
    text_add(report->page, " 'SELECT campaign_id, name FROM campaign'</code> lists them.</p>\n");
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

/* Its pictures where `drawn`; otherwise which command draws them. */
static int write_section(struct report *report, struct section *section, bool drawn, struct err *err)
{
    struct report own = *report;
    text_clear(&section->text);
    own.page = &section->text;
    own.campaign_id = section->campaign_id;
    own.no_plots = !drawn;
    text_printf(own.page, "<section aria-labelledby=\"c%" PRId64 "\">\n<h2 id=\"c%" PRId64 "\">%s</h2>\n", own.campaign_id,
                own.campaign_id, section->name.bytes);
    if (!drawn && !report->no_plots) {
        text_add(own.page,
                 "<p class=\"note\">Its pictures are not here, for those of later campaigns fill the page: <code>laggard report ");
        plot_svg_escape(own.page, sql_path(report->sql));
        text_printf(own.page, " --campaign %" PRId64 "</code> draws them.</p>\n", own.campaign_id);
    }
    int result = report_add_campaign(&own, err);
    text_add(own.page, "</section>\n");
    report->count = own.count;
    if (result == 0)
        report->pictures = own.pictures;
    return result;
}

/* Those of the last campaigns, as many as the page has room for: with pictures, without them, or not at all. */
static int write_sections(struct report *report, int64_t campaign_id, struct sections *sections, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    int result =
        plot_ask(report->sql, "SELECT campaign_id, name FROM campaign WHERE ?1 IN (0, campaign_id) ORDER BY campaign_id DESC", 1,
                 (int64_t[]){campaign_id}, &rows, err);
    while (result == 0 && (result = sql_next(rows, err)) > 0) {
        result = 0;
        if (sections->count == REPORT_CAMPAIGNS_MAX || sections->left_out > 0) {
            sections->left_out++;
            continue;
        }
        struct section *section = &sections->shown[sections->count++];
        size_t room = sections->count == 1 ? SIZE_MAX : REPORT_BYTES_MAX - sections->bytes;
        int drawn = report->pictures;
        section->campaign_id = sql_integer(rows, 0);
        if (report->several)
            text_printf(&section->name, "%" PRId64 ": ", section->campaign_id);
        plot_svg_escape(&section->name, sql_text(rows, 1));
        result = write_section(report, section, !report->no_plots && drawn < REPORT_PICTURES_MAX, err);
        if (result == 0 && section->text.length > room && report->pictures > drawn) {
            report->pictures = REPORT_PICTURES_MAX;
            result = write_section(report, section, false, err);
        }
        if (result == 0 && section->text.length > room) {
            text_free(&section->text);
            text_free(&section->name);
            sections->count--;
            sections->left_out++;
            continue;
        }
        sections->bytes += section->text.length;
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
    cleanup(sections_free) struct sections sections = {0};
    if (result == 0)
        result = add_title(&report, asked->campaign_id, err);
    if (result == 0)
        result = write_sections(&report, asked->campaign_id, &sections, err);
    if (result == 0)
        add_navigation(&report, &sections);
    if (result == 0 && report.several)
        result = add_comparison(&report, err);
    if (result == 0 && report.several)
        result = report_add_history(&report, err);
    for (int i = sections.count - 1; i >= 0 && result == 0; i--)
        text_add_bytes(page, sections.shown[i].text.bytes, sections.shown[i].text.length);
    text_add(page, "</main>\n<footer><p>Made by laggard");
    text_add(page, asked->no_plots ? ", without pictures: --no-plots was asked for" : "; pictures by gnuplot");
    text_add(page, ".</p></footer>\n</body>\n</html>\n");
    return result;
}
