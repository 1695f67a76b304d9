/* plan.h: what a campaign will run: cells (combinations of the matrix) and trials (repeats of a cell) in their seeded order. */
#ifndef LAGGARD_SCHEMAS_PLAN_H
#define LAGGARD_SCHEMAS_PLAN_H

#include <stdint.h>

#include "schemas/settings.h"

struct gate_rules;

struct swept {        /* one axis of the matrix in one cell */
    const char *path; /* "topology.link.delay" */
    const char *text; /* as written in the file: "250us"; for a scheme with parameters "backup(backups=1)" */
};

struct arm { /* one of several builds or settings under comparison */
    const char *name;
    const char *agent;              /* path of its agent program; NULL: the campaign's */
    const char *const *environment; /* NULL-terminated "NAME=value"; NULL: nothing of its own */
    const char *text;               /* what it changes, as one line that can be read: "{}" when nothing */
};

struct cell {
    int index;             /* its number; arms of a cell have the same */
    const struct arm *arm; /* NULL: the campaign has none */
    const char *label;     /* "scheme=ring workers=4" */
    const char *title;     /* the same and, where there are arms, " arm=NAME"; NULL: the label */
    struct settings settings;
    const struct swept *swept;
    int swept_count;
};

struct trial_plan {
    int cell;   /* index into cells */
    int repeat; /* 0 ..; also the block: a block holds one trial of every cell and arm: cells in random order, and within each cell
                 * its arms in random order */
    int order;  /* position in the campaign, 0 .. */
    /* Of the trial's random streams: depends on (campaign seed, repeat) only, so that the cells of a block draw the same compute
     * times. */
    uint64_t seed;
};

struct plan_file {              /* that the campaign file names, and whose content decides what runs */
    const char *path, *written; /* from where laggard runs, and as it stands there */
    const struct plan_file *next;
};

struct plan {
    const char *name;
    const char *file_path, *file_text;
    const struct plan_file *files; /* each once; NULL: none. Shared objects are in the settings */
    uint64_t seed;
    const struct arm *arms; /* NULL: there are none */
    int arm_count;
    const struct gate_rules *gate; /* NULL: the file has none */
    const struct cell *cells;      /* one a cell and arm: those of a cell side by side, in the order of arms */
    int cell_count;
    const struct trial_plan *trials; /* in running order */
    int trial_count;
};

/* How many entries of `cells` are one cell. */
static inline int plan_variants(const struct plan *plan)
{
    return plan->arm_count > 0 ? plan->arm_count : 1;
}

static inline const char *cell_title(const struct cell *cell)
{
    return cell->title ? cell->title : cell->label;
}

static inline bool plan_same_cell(const struct plan *plan, int a, int b)
{
    return a / plan_variants(plan) == b / plan_variants(plan);
}

#endif
