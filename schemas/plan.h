/* plan.h: what a campaign will run: cells (combinations of the matrix) and trials (repeats of a cell) in their seeded order. */
#ifndef LAGGARD_SCHEMAS_PLAN_H
#define LAGGARD_SCHEMAS_PLAN_H

#include <stdint.h>

#include "schemas/settings.h"

struct swept {        /* one axis of the matrix in one cell */
    const char *path; /* "topology.link.delay" */
    const char *text; /* as written in the file: "250us"; for a scheme with parameters "backup(backups=1)" */
};

struct cell {
    int index;
    const char *label; /* "scheme=ring workers=4" */
    struct settings settings;
    const struct swept *swept;
    int swept_count;
};

struct trial_plan {
    int cell;   /* index into cells */
    int repeat; /* 0 ..; also the block: a block holds one trial of every cell, in random order */
    int order;  /* position in the campaign, 0 .. */
    /* Of the trial's random streams: depends on (campaign seed, repeat) only, so that the cells of a block draw the same compute
     * times. */
    uint64_t seed;
};

struct plan {
    const char *name;
    const char *file_path, *file_text;
    uint64_t seed;
    const struct cell *cells;
    int cell_count;
    const struct trial_plan *trials; /* in running order */
    int trial_count;
};

#endif
