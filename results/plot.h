/* results/plot.h: pictures of what a database holds, by name, drawn by gnuplot. A plot is a function that asks views and writes a
 * script; names from the database reach the script only as quoted texts. Used by `laggard plot` and by the report. */
#ifndef LAGGARD_RESULTS_PLOT_H
#define LAGGARD_RESULTS_PLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

struct err;
struct sql;

enum plot_format { PLOT_SVG, PLOT_PNG, PLOT_PDF, PLOT_FORMAT_COUNT };
extern const char *const plot_format_names[PLOT_FORMAT_COUNT + 1];

struct plot_asked {
    int64_t campaign_id; /* of plot_campaign() */
    int64_t trial;       /* 0: the first one that fits */
    int64_t round;       /* -1: the one whose time is nearest to its trial's median */
};

/* What was drawn. When there is nothing to draw `script` is empty and `description` says why. */
struct picture {
    struct text title, description; /* UTF-8, a line each; for those who do not see it the description has the picture's point */
    struct text script;             /* gnuplot's, without terminal and title */
    int width, height;              /* in CSS pixels */
    bool partial;                   /* something has no room: the description says what */
};
void picture_free(struct picture *picture); /* for cleanup() */

struct plot_kind {
    const char *name, *summary;
    int (*draw)(struct sql *sql, const struct plot_asked *asked, struct picture *picture, struct err *err);
    bool of_a_trial, of_a_round; /* looks at plot_asked's */
};
extern const struct plot_kind plot_kinds[]; /* ends with a row without a name */
/* NULL when there is none; then `err` says which is near. */
const struct plot_kind *plot_find(const char *name, struct err *err);

/* The campaign that is meant: `asked`, or for 0 the last that is no confirming rerun. ERR_USAGE: there is no such. */
int plot_campaign(struct sql *sql, int64_t asked, int64_t *campaign_id, struct err *err);

/* A picture as the bytes of a file. `id` NULL: a file of its own, dark on white, its title in it. Otherwise (SVG) an element for
 * an HTML page: ids begin with `id`, colours are the page's (currentColor and --plot-0 ... --plot-7, --plot-faint), the size
 * follows the page. */
int plot_render(const struct picture *picture, enum plot_format format, const char *id, struct text *out, struct err *err);

#endif
