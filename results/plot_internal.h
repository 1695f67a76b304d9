/* results/plot_internal.h: what the functions that draw share. */
#ifndef LAGGARD_RESULTS_PLOT_INTERNAL_H
#define LAGGARD_RESULTS_PLOT_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "results/plot.h"

struct sql_statement;

/* Colours by number, that stay apart for the colour-blind, on white; the report has others of the same order for a dark page. */
enum { PLOT_COLOUR_COUNT = 8, PLOT_LINES_MAX = 16, PLOT_ROWS_MAX = 40, PLOT_WIDTH = 720 };
extern const char *const plot_colours[PLOT_COLOUR_COUNT];
#define PLOT_INK "#000001"   /* axes and letters: the page's colour of text */
#define PLOT_FAINT "#8a8f98" /* grids and what is in the background */

/* A query with whole numbers for its parameters, ready for sql_next(). */
int plot_ask(struct sql *sql, const char *query, int count, const int64_t *values, struct sql_statement **rows, struct err *err);

/* Text from anywhere as a quoted text of gnuplot's: one line of UTF-8, cut to `most` characters. */
void plot_quote(struct text *script, const char *text, size_t most);
/* The name of a cell or line: its label, and the arm when there is one. */
void plot_quote_cell(struct text *script, const char *label, const char *arm);
/* A line of text for a description: bytes that are not UTF-8 and control characters replaced. */
void plot_add_line(struct text *out, const char *text);

/* Grid, border, key and letters, the same for all. */
void plot_begin(struct picture *picture);

int plot_draw_round_time(struct sql *sql, const struct plot_asked *asked, struct picture *picture, struct err *err);
int plot_draw_sizes(struct sql *sql, const struct plot_asked *asked, struct picture *picture, struct err *err);
int plot_draw_predictions(struct sql *sql, const struct plot_asked *asked, struct picture *picture, struct err *err);
int plot_draw_learning_time(struct sql *sql, const struct plot_asked *asked, struct picture *picture, struct err *err);
int plot_draw_learning_rounds(struct sql *sql, const struct plot_asked *asked, struct picture *picture, struct err *err);
int plot_draw_timeline(struct sql *sql, const struct plot_asked *asked, struct picture *picture, struct err *err);
int plot_draw_stragglers(struct sql *sql, const struct plot_asked *asked, struct picture *picture, struct err *err);
int plot_draw_links(struct sql *sql, const struct plot_asked *asked, struct picture *picture, struct err *err);

#endif
