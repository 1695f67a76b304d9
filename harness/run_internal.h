/* harness/run_internal.h: one `laggard run`, from its options to its database: what cmd_run.c and the files run_*.c share. */
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
struct environment_fact;
struct err;
struct store;
struct stored_campaign;

struct run_options {
    const char *db, *only, *capture, *baseline, *thresholds, *shard;
    int world, engine, color;
    uint64_t seed;
    int64_t max_time_ns, retries;
    bool json, quiet, confirm, resume, accept_environment, seed_given;
};
int run_options_check(const struct run_options *options, struct err *err); /* options that contradict each other */
enum { NOT_GIVEN = -1 };

struct run {
    struct run_options options;
    struct arena *arena;
    struct plan plan;
    struct fabric_host host;
    struct host_limits limits;
    struct link_survey survey;
    struct store *store;         /* open from --resume on, or from the first trial */
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
    int64_t confirmed_id;        /* the campaign whose cells these are */
    int64_t resumed_id;          /* the campaign that goes on; 0: this is a new one */
    const bool *finished_before; /* one an entry of plan.trials; NULL: nothing is resumed */
    int finished_count;          /* of these */
    int64_t *replaced; /* one an entry of plan.trials: the row, of a trial that did not finish, whose place it takes; 0: none */
    const struct stored_campaign *resumed; /* as it was found; NULL: this is a new one */
    const char *environment_changes;       /* that --accept-environment accepted; NULL: none */
    bool *trial_wanted, *cell_wanted;      /* one an entry of plan.trials, plan.cells: it is to run; any of its trials is */
    int wanted_count;                      /* of trials */
    double *cell_seconds;                  /* one an entry of plan.cells: how long a trial will take */
};

/* Whether any trial of this cell is to be run. */
static inline bool run_wants(const struct run *run, int cell)
{
    return run->cell_wanted[cell];
}

/* The database, and what trials had not ended there is said. */
int run_open_store(struct run *run, struct err *err);
/* --resume: opens the database, finds the campaign that is to go on, refuses what has changed, and fills in what has finished. */
int run_resume(struct run *run, struct err *err);
/* A new campaign begins beside one of the same file that did not come to its end: says so. */
int run_resume_hint(const struct run *run, struct err *err);
/* What only the host can tell: which programs would run now, and what would delay packets. */
int run_resume_check(struct run *run, struct err *err);
/* On standard error, unless --quiet: how much of a campaign that goes on is left to do. */
void run_resume_say(const struct run *run);
/* Events of the campaign: that it goes on, and what of the host has changed. */
int run_resume_store(const struct run *run, struct err *err);
/* Facts of the environment: the digests of files that the campaign names, RUN_FILE_FACT "./trace.csv", and, once they have been
 * looked for, of its programs. In the arena. */
#define RUN_FILE_FACT "file "
#define RUN_PROGRAM_FACT "program "
void run_files(const struct run *run, const struct environment_fact **facts, int *count);
/* --only, --confirm, --shard, --resume: fills in what is wanted. */
int run_select(struct run *run, struct err *err);
/* --confirm: asks the gate about the database, loads the campaign again with another seed, and fills in what was flagged. */
int run_confirm(struct run *run, struct err *err);
/* Everything that can be wrong before anything exists: fills in what lies behind `plan`. Where nodes are limited it starts the
 * process that looks after their groups, last of all. */
int run_check(struct run *run, struct err *err);

#endif
