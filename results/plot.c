/* results/plot.c: the table of plots, what they share, and the terminals of gnuplot; see plot.h. */
#include "results/plot.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/options.h"
#include "results/gnuplot.h"
#include "results/plot_internal.h"
#include "results/plot_svg.h"
#include "results/sqlite_wrap.h"

const char *const plot_format_names[PLOT_FORMAT_COUNT + 1] = {[PLOT_SVG] = "svg", [PLOT_PNG] = "png", [PLOT_PDF] = "pdf"};

/* After Okabe and Ito, the two light ones darker, so that they stand on white. */
const char *const plot_colours[PLOT_COLOUR_COUNT] = {"#0072b2", "#d55e00", "#008a64", "#b8568f",
                                                     "#9a6a00", "#2a8cc7", "#5b4bb5", "#6b6b00"};

const struct plot_kind plot_kinds[] = {
    {"round-time", "cells compared: every trial, medians with 95 % intervals, predictions", plot_draw_round_time, false, false},
    {"sizes", "bandwidth against message size", plot_draw_sizes, false, false},
    {"predictions", "measured mean round times against predicted ones", plot_draw_predictions, false, false},
    {"learning", "loss against time", plot_draw_learning_time, false, false},
    {"learning-rounds", "loss against rounds", plot_draw_learning_rounds, false, false},
    {"timeline", "one round of one trial: who computed, sent and received when", plot_draw_timeline, true, true},
    {"stragglers", "how far each worker is behind the fastest", plot_draw_stragglers, false, false},
    {"history", "a metric over the campaigns of a file, and where its level changed", plot_draw_history, false, false},
    {"links", "links as measured, beside what was asked", plot_draw_links, true, false},
    {NULL, NULL, NULL, false, false},
};

void picture_free(struct picture *picture)
{
    text_free(&picture->title);
    text_free(&picture->description);
    text_free(&picture->script);
}

const struct plot_kind *plot_find(const char *name, struct err *err)
{
    enum { NAMES_MAX = 32 };
    const char *names[NAMES_MAX];
    size_t count = 0;
    cleanup(text_free) struct text list = {0};
    for (const struct plot_kind *kind = plot_kinds; kind->name && count < NAMES_MAX; kind++) {
        if (strcmp(kind->name, name) == 0)
            return kind;
        text_printf(&list, "%s%s", count ? ", " : "", kind->name);
        names[count++] = kind->name;
    }
    const char *near = options_nearest(name, names, count);
    if (near)
        err_set(err, ERR_USAGE, "there is no plot '%.80s', did you mean '%s'?", name, near);
    else
        err_set(err, ERR_USAGE, "there is no plot '%.80s'; there are %s", name, list.bytes);
    return NULL;
}

int plot_campaign(struct sql *sql, int64_t asked, int64_t *campaign_id, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    int result = plot_ask(sql,
                          "SELECT max(campaign_id) FROM campaign WHERE campaign_id = ?1 "
                          "OR (?1 = 0 AND campaign_id NOT IN (SELECT campaign_id FROM confirmation))",
                          1, (int64_t[]){asked}, &rows, err);
    if (result == 0)
        result = sql_next(rows, err);
    if (result < 0)
        return result;
    if (sql_kind(rows, 0) == SQL_NULL && asked == 0)
        return err_set(err, ERR_USAGE, "'%s' holds no campaign: there is nothing to show; `laggard run FILE --db %s` adds one",
                       sql_path(sql), sql_path(sql));
    if (sql_kind(rows, 0) == SQL_NULL)
        return err_set(err, ERR_USAGE, "'%s' holds no campaign %" PRId64 "; `laggard sql %s trials` has their campaign_id",
                       sql_path(sql), asked, sql_path(sql));
    *campaign_id = sql_integer(rows, 0);
    return 0;
}

int plot_ask(struct sql *sql, const char *query, int count, const int64_t *values, struct sql_statement **rows, struct err *err)
{
    if (sql_prepare(sql, query, rows, err) < 0)
        return -ERR_HOST;
    sql_start(*rows);
    for (int i = 0; i < count; i++)
        sql_put_integer(*rows, values[i]);
    return 0;
}

void plot_add_line(struct text *out, const char *text)
{
    text_add_line(out, text, ' ');
}

/* Between double quotes gnuplot reads escapes, commands and macros; every character of ASCII that is no letter is therefore spelled
 * as its octal number, and nothing in the text can end it. (A digit, too: it would go on with the number in front of it.) */
static void quote(struct text *script, const char *text, const char *percent)
{
    text_add(script, "\"");
    for (const char *c = text; *c; c++) {
        unsigned char byte = (unsigned char)*c;
        if (byte == '%')
            text_add(script, percent);
        else if (byte >= 0x80 || byte == ' ' || isalpha(byte))
            text_add_bytes(script, c, 1);
        else
            text_printf(script, "\\%03o", byte);
    }
    text_add(script, "\"");
}

void plot_quote(struct text *script, const char *text, size_t most)
{
    cleanup(plot_names_free) struct plot_names names = {0};
    plot_names_add(&names, text, NULL, NULL);
    plot_names_shorten(&names, most);
    quote(script, plot_names_get(&names, 0), "\\045");
}

/* gnuplot takes a label of an axis for a format. */
void plot_quote_tick(struct text *script, const char *text)
{
    quote(script, text, "\\045\\045");
}

void plot_quote_name(struct text *script, const struct plot_names *names, int row)
{
    quote(script, plot_names_get(names, row), "\\045");
}

void plot_name_rows(const struct plot_names *names, struct text *script)
{
    for (int row = 0; row < names->count; row++) {
        text_add(script, row > 0 ? ", " : "set ytics scale 0 (");
        plot_quote_tick(script, plot_names_get(names, row));
        text_printf(script, " %d", row + 1);
    }
    text_add(script, names->count ? ")\n" : "");
}

void plot_begin(struct picture *picture)
{
    picture->width = PLOT_WIDTH;
    text_add(&picture->script, "set encoding utf8\n"
                               "set rmargin 4\nset border 3 lc rgb '" PLOT_INK "'\n"
                               "set tics nomirror out scale 0.6 tc rgb '" PLOT_INK "'\n"
                               "set grid x y lw 0.5 lc rgb '" PLOT_FAINT "' dt '.'\n"
                               "set key bmargin center horizontal Left reverse samplen 1.5 height 1 tc rgb '" PLOT_INK "'\n"
                               "set title heading tc rgb '" PLOT_INK "'\n"
                               "set xlabel tc rgb '" PLOT_INK "'\nset ylabel tc rgb '" PLOT_INK "'\n");
}

/* In the middle of the picture, not beneath the axis, which names to its left move to the right: gnuplot would cut what does not
 * fit there. A line is 20 high; the axis' numbers and words take 66. gnuplot takes columns away that do not fit beneath the axis
 * by its own estimate, the narrowest of which has 78 letters: one more line than there is room for would lie on the axis. */
void plot_key(struct picture *picture, int entries, size_t widest)
{
    enum { LETTERS = 78, SAMPLE = 7, LINE = 20, AXIS = 66 };
    int columns = LETTERS / ((int)widest + SAMPLE);
    columns = columns > entries ? entries : columns;
    columns = columns < 1 ? 1 : columns;
    int margin = AXIS + LINE * ((entries + columns - 1) / columns) + 10;
    picture->height += margin;
    text_printf(
        &picture->script,
        "set bmargin at screen %.6f\nset key at screen 0.5,%.6f center bottom horizontal maxcols %d Left reverse samplen 1.5 "
        "height 0 tc rgb '" PLOT_INK "'\n",
        (double)margin / picture->height, 4.0 / picture->height, columns);
}

bool plot_use_decades(char axis, double lowest, double highest, struct text *script)
{
    if (!(lowest > 0 && highest > 100 * lowest && plot_can_show(highest)))
        return false;
    text_printf(script, "set logscale %c\nset %crange [%.6g:%.6g]\n", axis, axis, 0.8 * lowest, 1.25 * highest);
    return true;
}

static void add_terminal(const struct picture *picture, enum plot_format format, const char *id, struct text *script)
{
    switch (format) {
    case PLOT_SVG:
        text_printf(script, "set terminal svg size %d,%d noenhanced font 'sans-serif,13' name '%s'%s\n", picture->width,
                    picture->height, id ? id : "laggard", id ? "" : " background '#ffffff'");
        break;
    case PLOT_PNG:
        text_printf(script,
                    "set terminal pngcairo size %d,%d noenhanced font 'sans-serif,20' background '#ffffff' fontscale 1 "
                    "linewidth 2 pointscale 2\n",
                    2 * picture->width, 2 * picture->height);
        break;
    case PLOT_PDF:
    default:
        text_printf(script, "set terminal pdfcairo size %.3fin,%.3fin noenhanced font 'sans-serif,10'\n", picture->width / 96.0,
                    picture->height / 96.0);
        break;
    }
}

int plot_render(const struct picture *picture, enum plot_format format, const char *id, struct text *out, struct err *err)
{
    cleanup(text_free) struct text script = {0}, drawn = {0};
    add_terminal(picture, format, id, &script);
    text_add(&script, "heading = ");
    if (id)
        text_add(&script, "''");
    else
        plot_quote(&script, picture->title.bytes, 76);
    text_add(&script, "\n");
    text_add_bytes(&script, picture->script.bytes, picture->script.length);
    int result = gnuplot_run(&script, &drawn, err);
    if (result < 0)
        return result;
    if (format == PLOT_SVG)
        return plot_svg_finish(picture, id, &drawn, out, err);
    text_add_bytes(out, drawn.bytes, drawn.length);
    return 0;
}
