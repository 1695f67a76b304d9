/* results/plot_svg.h: what gnuplot draws as SVG made fit for readers who do not see it, and for a page with other pictures. */
#ifndef LAGGARD_RESULTS_PLOT_SVG_H
#define LAGGARD_RESULTS_PLOT_SVG_H

struct err;
struct picture;
struct text;

/* Puts the picture's title and description in; with an `id` makes it an element of a page, as plot.h says. */
int plot_svg_finish(const struct picture *picture, const char *id, const struct text *drawn, struct text *out, struct err *err);
/* Text from anywhere for HTML and XML: UTF-8, with markup and control characters as references or U+FFFD. */
void plot_svg_escape(struct text *out, const char *text);

#endif
