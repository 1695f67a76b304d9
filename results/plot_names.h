/* results/plot_names.h: the names of a picture's rows or lines, short enough to stand beside them and still told apart. Pure:
 * strings in, strings out. */
#ifndef LAGGARD_RESULTS_PLOT_NAMES_H
#define LAGGARD_RESULTS_PLOT_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

enum { PLOT_NAMES_MAX = 40, PLOT_NAME_PARTS_MAX = 12 };

/* Private to plot_names.c, but for the size. */
struct plot_name_part {
    struct text path, value; /* a setting; or the whole label, an arm, a node: then without a path */
};
struct plot_name_column { /* how a part is shown, in all names alike; in characters */
    size_t path_skipped;  /* bytes */
    size_t shared, need;  /* of the values: what all begin with, and up to where the most alike of them differ */
    size_t skipped, limit;
    bool setting, dropped;
};
struct plot_names {
    struct text labels[PLOT_NAMES_MAX], arms[PLOT_NAMES_MAX], nodes[PLOT_NAMES_MAX], shown[PLOT_NAMES_MAX];
    struct plot_name_part parts[PLOT_NAMES_MAX][PLOT_NAME_PARTS_MAX];
    struct plot_name_column columns[PLOT_NAME_PARTS_MAX];
    int count, column_count;
};

void plot_names_free(struct plot_names *names); /* for cleanup() */

/* One more, of PLOT_NAMES_MAX at most: a cell's label, and an arm and a node where there are any ("" or NULL: none). */
void plot_names_add(struct plot_names *names, const char *label, const char *arm, const char *node);

/* After the last was added: none is wider than `most` characters (16 at least), and no two names that differ are shown alike. */
void plot_names_shorten(struct plot_names *names, size_t most);

/* UTF-8, a line; valid until they are freed. */
const char *plot_names_get(const struct plot_names *names, int row);
/* Of the widest, in characters. */
size_t plot_names_width(const struct plot_names *names);

#endif
