/* results/gnuplot.h: gnuplot as a child process: a script goes in over a pipe, a picture comes out over another. No shell, no
 * file. */
#ifndef LAGGARD_RESULTS_GNUPLOT_H
#define LAGGARD_RESULTS_GNUPLOT_H

#include <stddef.h>

struct err;
struct text;

/* Is it installed? ERR_HOST with the remedy when not. `found` takes its path. */
int gnuplot_find(char *found, size_t size, struct err *err);
/* Runs a script and adds what it prints to `output`. ERR_HOST: gnuplot is missing, refuses the script, or takes over a minute. */
int gnuplot_run(const struct text *script, struct text *output, struct err *err);

#endif
