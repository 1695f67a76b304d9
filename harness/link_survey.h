/* harness/link_survey.h: each distinct topology of a campaign, measured once before the first trial that needs it. */
#ifndef LAGGARD_HARNESS_LINK_SURVEY_H
#define LAGGARD_HARNESS_LINK_SURVEY_H

#include "harness/host_load.h"
#include "schemas/plan.h"
#include "schemas/topology.h"

struct arena;
struct err;
struct fabric_host;
struct host_limits;

struct survey_entry {
    const char *description; /* topology_describe() and the engine asked */
    struct topology topology;
    bool virtual;                         /* of cells in the virtual world alone: nothing to build or measure */
    enum engine_kind engine;              /* resolved */
    const struct link_check *checks;      /* one a link; NULL until measured */
    const struct link_readback *readback; /* likewise */
    struct processor_load load;           /* of the host while links were measured */
    const char *changed; /* how the network was changed meanwhile, by somebody else: a sentence; NULL: it was not */
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
/* Before even fabric_probe(), which starts processes: refuses (ERR_HOST) cells of which this host cannot run all processes. */
int link_survey_check_processes(const struct plan *plan, int only_cell, const struct host_limits *limits, struct err *err);
/* Refuses (ERR_HOST, a sentence) cells for which this host has no room: harness/host_limits.h. */
int link_survey_check_limits(const struct plan *plan, const struct link_survey *survey, const struct host_limits *limits,
                             struct err *err);
/* cell: one that runs. */
const struct survey_entry *link_survey_of(const struct link_survey *survey, int cell);
/* Above this many links a sample of them is measured. */
enum { LINK_SURVEY_SAMPLE = 32 };
/* Measures one entry in a fabric without programs, once more when something in it died. effort and interrupt_fd as for
 * fabric_measure(). */
int link_survey_measure(struct survey_entry *entry, const struct measure_effort *effort, int interrupt_fd, struct arena *arena,
                        struct err *err);

#endif
