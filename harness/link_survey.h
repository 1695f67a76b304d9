/* harness/link_survey.h: each distinct topology of a campaign, measured once before the first trial that needs it. */
#ifndef LAGGARD_HARNESS_LINK_SURVEY_H
#define LAGGARD_HARNESS_LINK_SURVEY_H

#include "schemas/plan.h"
#include "schemas/topology.h"

struct arena;
struct err;
struct fabric_host;

struct survey_entry {
    const char *description; /* topology_describe() and the engine asked */
    struct topology topology;
    enum engine_kind engine;         /* resolved */
    const struct link_check *checks; /* one a link; NULL until measured */
};
struct link_survey {
    struct survey_entry *entries;
    int count;
    int *entry_of_cell; /* one a cell; -1: this cell is not run */
};

/* Builds no network: topologies of all cells that run, engines resolved, refusals (ERR_USAGE, ERR_HOST) before anything exists.
 * Memory is the arena's. engine_override: NULL: as each cell says. only_cell: -1: all. */
int link_survey_prepare(const struct plan *plan, const int *engine_override, int only_cell, const struct fabric_host *host,
                        struct arena *arena, struct link_survey *survey, struct err *err);
/* cell: one that runs. */
const struct survey_entry *link_survey_of(const struct link_survey *survey, int cell);
/* Measures one entry in a fabric without programs, once more when something in it died. interrupt_fd as for fabric_measure(). */
int link_survey_measure(struct survey_entry *entry, int interrupt_fd, struct arena *arena, struct err *err);

#endif
