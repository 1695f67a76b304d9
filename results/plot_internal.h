/* results/plot_internal.h: what the functions that draw share. */
#ifndef LAGGARD_RESULTS_PLOT_INTERNAL_H
#define LAGGARD_RESULTS_PLOT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "results/plot.h"
#include "results/plot_names.h"

struct sql_statement;

/* Colours by number, that stay apart for the colour-blind, on white; the report has others of the same order for a dark page. */
enum { PLOT_COLOUR_COUNT = 8, PLOT_LINES_MAX = 16, PLOT_ROWS_MAX = PLOT_NAMES_MAX, PLOT_WIDTH = 720 };
enum { PLOT_KEY_LETTERS = 38, PLOT_OTHERS_LETTERS = 28 }; /* of names in the key, and of what else is in it */
extern const char *const plot_colours[PLOT_COLOUR_COUNT];
#define PLOT_INK "#000001"   /* axes and letters: the page's colour of text */
#define PLOT_FAINT "#8a8f98" /* grids and what is in the background */

/* A query with whole numbers for its parameters, ready for sql_next(). */
int plot_ask(struct sql *sql, const char *query, int count, const int64_t *values, struct sql_statement **rows, struct err *err);

/* Text from anywhere as a quoted text of gnuplot's: one line of UTF-8, cut to `most` characters. */
void plot_quote(struct text *script, const char *text, size_t most);
/* Text that is a line of UTF-8 already, as the name of a place on an axis. */
void plot_quote_tick(struct text *script, const char *text);
/* A name of the list, which was shortened, for the key. */
void plot_quote_name(struct text *script, const struct plot_names *names, int row);
/* Names as rows of the vertical axis: the first at 1. */
void plot_name_rows(const struct plot_names *names, struct text *script);
/* A line of text for a description: bytes that are not UTF-8 and control characters replaced. */
void plot_add_line(struct text *out, const char *text);

/* Grid, border, key and letters, the same for all. */
void plot_begin(struct picture *picture);
/* Room for a key of so many entries, whose widest has so many characters, beneath a horizontal axis with a label: added to
 * picture->height, which until then is that of what is above. */
void plot_key(struct picture *picture, int entries, size_t widest);
/* Makes the axis, 'x' or 'y', logarithmic where its values are above 0 and span more than two decades. Returns whether it did. */
bool plot_use_decades(char axis, double lowest, double highest, struct text *script);

/* Lines with a name each, PLOT_LINES_MAX at most; zero: none yet. */
struct plot_lines {
    struct plot_names names;
    struct text blocks; /* the last is open: a point is a line "x y" */
};
void plot_lines_free(struct plot_lines *lines); /* for cleanup() */
void plot_line_begin(struct plot_lines *lines, const char *label, const char *arm);
/* Their key, data and plot command, behind what the script has of axes; there is one line at least, and none without a point. The
 * command is open: so many others follow, each ", $block with ... title '...'", whose titles have PLOT_OTHERS_LETTERS at most, and
 * the end of the line. */
void plot_lines_finish(struct plot_lines *lines, double point_size, int others, struct picture *picture);
/* Whether it is a number, and of a size that an axis can have. */
bool plot_can_show(double value);

int plot_draw_round_time(struct sql *sql, const struct plot_asked *asked, struct picture *picture, struct err *err);
int plot_draw_sizes(struct sql *sql, const struct plot_asked *asked, struct picture *picture, struct err *err);
int plot_draw_predictions(struct sql *sql, const struct plot_asked *asked, struct picture *picture, struct err *err);
int plot_draw_learning_time(struct sql *sql, const struct plot_asked *asked, struct picture *picture, struct err *err);
int plot_draw_learning_rounds(struct sql *sql, const struct plot_asked *asked, struct picture *picture, struct err *err);
int plot_draw_timeline(struct sql *sql, const struct plot_asked *asked, struct picture *picture, struct err *err);
int plot_draw_stragglers(struct sql *sql, const struct plot_asked *asked, struct picture *picture, struct err *err);
int plot_draw_history(struct sql *sql, const struct plot_asked *asked, struct picture *picture, struct err *err);
int plot_draw_links(struct sql *sql, const struct plot_asked *asked, struct picture *picture, struct err *err);

#endif
