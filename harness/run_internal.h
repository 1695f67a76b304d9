/* harness/run_internal.h: one `laggard run`, from its options to its database: what cmd_run.c and run_check.c share. */
#ifndef LAGGARD_HARNESS_RUN_INTERNAL_H
#define LAGGARD_HARNESS_RUN_INTERNAL_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "harness/host_limits.h"
#include "harness/link_survey.h"
#include "harness/progress.h"
#include "netem/fabric.h"
#include "schemas/plan.h"

struct arena;
struct cpu_limiter;
struct err;
struct store;

struct run_options {
    const char *db, *only, *capture, *baseline, *thresholds;
    int world, engine, color;
    uint64_t seed;
    int64_t max_time_ns;
    bool json, quiet, confirm, seed_given;
};
enum { NOT_GIVEN = -1 };

struct run {
    struct run_options options;
    struct arena *arena;
    struct plan plan;
    struct fabric_host host;
    struct host_limits limits;
    struct link_survey survey;
    struct store *store;
    struct cpu_limiter *limiter; /* NULL: no cell needs it */
    struct progress progress;
    char db_path[PATH_MAX], agent_path[PATH_MAX];
    int dataset_fd, signal_fd;
    const char **agent_paths;   /* one an arm; NULL: there are no arms */
    const char **program_paths; /* one an entry of plan.cells, NULL: our agents run there */
    double message_ns;          /* what a message costs on this host; 0: not measured */
    int64_t campaign_id, started_ns;
    int only_cell;       /* NOT_GIVEN: all */
    const bool *flagged; /* one an entry of plan.cells: a gate has flagged it; NULL: no --confirm */
    int flagged_count;
    int64_t confirmed_id; /* the campaign whose cells these are */
    double *cell_seconds; /* one an entry of plan.cells: how long a trial will take */
};

/* Whether this cell's trials are to be run. */
static inline bool run_wants(const struct run *run, int cell)
{
    return (run->only_cell == NOT_GIVEN || plan_same_cell(&run->plan, run->only_cell, cell)) &&
           (!run->flagged || run->flagged[cell]);
}

/* --confirm: asks the gate about the database, loads the campaign again with another seed, and fills in what was flagged. */
int run_confirm(struct run *run, struct err *err);
/* Everything that can be wrong before anything exists: fills in what lies behind `plan`. Where nodes are limited it starts the
 * process that looks after their groups, last of all. */
int run_check(struct run *run, struct err *err);

#endif
