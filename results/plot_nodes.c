/* results/plot_nodes.c: plots of workers and links: straggling, and links as measured beside what was asked. */
#include <inttypes.h>
#include <math.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"
#include "results/plot_internal.h"
#include "results/sqlite_wrap.h"

/* Their names, 44 or fewer characters each, and the room for them. */
static void finish_rows(struct plot_names *names, size_t most, struct picture *picture)
{
    plot_names_shorten(names, most);
    plot_name_rows(names, &picture->script);
    picture->height = 44 + 22 * names->count;
    text_printf(&picture->script, "set yrange [%d.6:0.4]\nset xrange [0:*]\n", names->count);
}

int plot_draw_stragglers(struct sql *sql, const struct plot_asked *asked, struct picture *picture, struct err *err)
{
    static const char query[] = "SELECT w.label, w.arm, w.node_name, avg(w.straggling_mean_ns) / 1e6, avg(w.straggling_p99_ns) / "
                                "1e6, count(*) OVER () FROM "
                                "workers w JOIN trial t ON t.trial_id = w.trial WHERE w.campaign_id = ?1 AND t.status = 'finished' "
                                "AND t.fidelity <> 'void' "
                                "GROUP BY w.cell, w.arm, w.node ORDER BY w.cell, w.arm, w.node LIMIT ?2";
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    cleanup(text_free) struct text bars = {0}, tails = {0}, worst = {0};
    cleanup(plot_names_free) struct plot_names names = {0};
    int64_t count = 0;
    int shown = 0;
    double longest = -1;
    char time[UNITS_TEXT_BYTES];
    int result = plot_ask(sql, query, 2, (int64_t[]){asked->campaign_id, PLOT_ROWS_MAX}, &rows, err);
    while (result == 0 && (result = sql_next(rows, err)) > 0) {
        cleanup(text_free) struct text name = {0};
        result = 0;
        count = sql_integer(rows, 5);
        shown++;
        text_printf(&name, "%s%s%s%s%s", sql_text(rows, 0), sql_text(rows, 0)[0] ? ", " : "", sql_text(rows, 1),
                    sql_text(rows, 1)[0] ? ", " : "", sql_text(rows, 2));
        plot_names_add(&names, sql_text(rows, 0), sql_text(rows, 1), sql_text(rows, 2));
        text_printf(&bars, "%.6f %d 0 %.6f %.2f %.2f\n", sql_real(rows, 3), shown, sql_real(rows, 3), shown - 0.3, shown + 0.3);
        text_printf(&tails, "%.6f %d\n", sql_real(rows, 4), shown);
        if (sql_real(rows, 3) > longest) {
            longest = sql_real(rows, 3);
            text_free(&worst);
            plot_add_line(&worst, name.bytes);
        }
    }
    if (result < 0)
        return result;
    text_add(&picture->title, "How far each worker is behind the fastest");
    if (shown == 0) {
        text_add(&picture->description, "No finished trial has compute spans of workers.");
        return 0;
    }
    text_printf(&picture->description,
                "Compute time minus that of the round's fastest worker, mean and 99th percentile, of %d worker%s", shown,
                shown == 1 ? "" : "s");
    picture->partial = count > shown;
    if (picture->partial)
        text_printf(&picture->description, " (the first of %" PRId64 ")", count);
    text_printf(&picture->description, ". Furthest behind: %s (mean %s).", worst.bytes,
                units_show_time(time, sizeof(time), 1e6 * longest));
    plot_begin(picture);
    finish_rows(&names, 44, picture);
    plot_key(picture, 2, 15);
    text_printf(&picture->script,
                "set xlabel 'behind the fastest worker, ms'\n$bars << END\n%sEND\n$tails << END\n%sEND\n"
                "plot $bars with boxxyerror fs solid 1 noborder lc rgb '%s' title 'mean', $tails with points pt 13 ps 0.8 lc rgb "
                "'%s' title '99th percentile'\n",
                bars.bytes, tails.bytes, plot_colours[0], plot_colours[1]);
    return 0;
}

/* ---- links ---- */

struct link_rows {
    struct plot_names names;
    struct text asked_rate, rate, asked_delay, delay;
    int64_t count, outside;
    double highest_rate, longest_delay;
};

static void link_rows_free(struct link_rows *links)
{
    plot_names_free(&links->names);
    text_free(&links->asked_rate);
    text_free(&links->rate);
    text_free(&links->asked_delay);
    text_free(&links->delay);
}

static void add_link(struct sql_statement *rows, struct link_rows *links)
{
    int place = links->names.count + 1;
    cleanup(text_free) struct text name = {0};
    links->count = sql_integer(rows, 8);
    links->outside = sql_integer(rows, 9);
    text_printf(&name, "%s to %s", sql_text(rows, 0), sql_text(rows, 1));
    plot_names_add(&links->names, name.bytes, NULL, NULL);
    if (isfinite(sql_real(rows, 2)))
        text_printf(&links->asked_rate, "%.6f %d\n", sql_real(rows, 2), place);
    if (isfinite(sql_real(rows, 3)))
        text_printf(&links->rate, "%.6f %d\n", sql_real(rows, 3), place);
    links->highest_rate = fmax(links->highest_rate, fmax(sql_real(rows, 2), sql_real(rows, 3))); /* fmax leaves NAN out */
    links->longest_delay = fmax(links->longest_delay, fmax(sql_real(rows, 4), sql_real(rows, 7)));
    text_printf(&links->asked_delay, "%.6f %d\n", sql_real(rows, 4), place);
    if (isfinite(sql_real(rows, 5)))
        text_printf(&links->delay, "%.6f %d %.6f %.6f\n", sql_real(rows, 5), place, sql_real(rows, 6), sql_real(rows, 7));
}

/* Between the labels of a narrow axis that begins at 0: about a quarter of it, one significant digit. */
static double tick_step(double highest)
{
    double quarter = highest > 0 ? highest / 4 : 1, decade = pow(10, floor(log10(quarter)));
    return ceil(quarter / decade) * decade;
}

/* Empty data would be an error of gnuplot's. */
static void add_panel(const char *label, double step, const struct text *asked, const struct text *measured, const char *style,
                      struct text *script)
{
    if (!asked->length && !measured->length)
        return;
    text_printf(script, "set xlabel '%s'\nset xtics %.9g\n", label, step);
    if (asked->length)
        text_printf(script, "$asked << END\n%sEND\n", asked->bytes);
    if (measured->length)
        text_printf(script, "$measured << END\n%sEND\n", measured->bytes);
    text_add(script, "plot ");
    if (asked->length)
        text_printf(script, "$asked with points pt 2 ps 1 lw 1.5 lc rgb '%s' title 'asked'%s", plot_colours[1],
                    measured->length ? ", " : "");
    if (measured->length)
        text_printf(script, "$measured with %s lc rgb '%s' title 'measured'", style, plot_colours[0]);
    text_add(script, "\n");
}

/* Of the trial asked for, or of the first that has measurements: each distinct network is measured once a campaign. What a rate
 * lets through of the payload is 1448 of a full packet's 1514 bytes (1538 where the preamble and the gap count). */
int plot_draw_links(struct sql *sql, const struct plot_asked *asked, struct picture *picture, struct err *err)
{
    static const char query[] =
        "SELECT from_name, to_name, asked_rate_bps / 1e6 * 1448 / CASE asked_framing WHEN 'l1' THEN 1538 ELSE 1514 END, "
        "measured_goodput_bps / 1e6, asked_delay_ns / 1e3, measured_delay_mean_ns / 1e3, measured_delay_minimum_ns / 1e3, "
        "measured_delay_maximum_ns / 1e3, count(*) OVER (), sum(within_tolerance = 0) OVER (), trial FROM links WHERE trial = "
        "(SELECT min(c.trial_id) FROM link_check c JOIN trial t USING (trial_id) WHERE CASE WHEN ?2 > 0 THEN trial_id = ?2 ELSE "
        "campaign_id = ?1 END AND (c.goodput_bps IS NOT NULL OR c.delay_mean_ns IS NOT NULL)) AND (measured_goodput_bps IS NOT "
        "NULL "
        "OR measured_delay_mean_ns IS NOT NULL) ORDER BY link, direction DESC LIMIT ?3";
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    cleanup(link_rows_free) struct link_rows links = {0};
    int64_t trial = 0;
    int result = plot_ask(sql, query, 3, (int64_t[]){asked->campaign_id, asked->trial, PLOT_ROWS_MAX}, &rows, err);
    while (result == 0 && (result = sql_next(rows, err)) > 0) {
        result = 0;
        trial = sql_integer(rows, 10);
        add_link(rows, &links);
    }
    if (result < 0)
        return result;
    text_add(&picture->title, "Links as measured, beside what was asked");
    if (links.names.count == 0) {
        text_add(&picture->description, "No link was measured; in the virtual world links are as asked.");
        return 0;
    }
    text_printf(&picture->description,
                "Rate and delay of %" PRId64 " link direction%s of trial %" PRId64 "; %" PRId64 " outside the tolerance.",
                links.count, links.count == 1 ? "" : "s", trial, links.outside);
    picture->partial = links.count > links.names.count;
    if (picture->partial)
        text_printf(&picture->description, " The first %d are shown.", links.names.count);
    plot_begin(picture);
    finish_rows(&links.names, 30, picture);
    picture->height += 86; /* each half has its key beneath it */
    text_add(&picture->script, "set multiplot layout 1,2 title heading\nunset title\n");
    add_panel("payload rate, Mbit/s", tick_step(links.highest_rate), &links.asked_rate, &links.rate, "points pt 7 ps 0.6",
              &picture->script);
    add_panel("one-way delay, µs: mean and range", tick_step(links.longest_delay), &links.asked_delay, &links.delay,
              "xerrorbars pt 7 ps 0.6 lw 1.3", &picture->script);
    text_add(&picture->script, "unset multiplot\n");
    return 0;
}
