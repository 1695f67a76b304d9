/* harness/trial.h: one trial from nothing to its rows in the database: fabric, agents, rounds, verdict. */
#ifndef LAGGARD_HARNESS_TRIAL_H
#define LAGGARD_HARNESS_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "netem/fabric.h"
#include "results/store.h"
#include "schemas/plan.h"

struct err;

/* Of the network as asked, as if no event ever came: the same in every repeat whose gradients take the same time. */
struct cell_prediction {
    bool known;
    double gradient_ns; /* measured; 0: not yet, or there is no real work */
    struct prediction prediction;
};

/* What stays the same over a campaign. */
struct trial_context {
    struct store *store; /* NULL: nothing is stored, and nobody can enter the nodes (measurements, benchmarks) */
    int64_t campaign_id;
    const char *agent_path;           /* of the trial's arm */
    int arm_count;                    /* of the campaign; 0: it has none */
    const char *const *program_paths; /* one an entry of plan.cells: where its outside program is; NULL where it has none */
    int dataset_fd;                   /* -1: no cell needs it */
    double message_ns;                /* what a message costs (harness/message_cost.h); 0: not measured */
    struct cpu_limiter *cpu_limiter;  /* NULL: no cell limits a node */
    /* One an entry of plan.cells, filled in as trials come by; NULL: each trial works it out. */
    struct cell_prediction *predictions;
    int64_t replaces; /* of the trial that is to run: the row, of one that did not finish, whose place its own takes; 0: none */
    int signal_fd;    /* SIGINT, SIGTERM */
    void (*progress)(void *context, uint32_t rounds_done);
    void *progress_context;
};

struct trial_outcome {
    enum trial_status status;
    enum fidelity fidelity;
    char reason[1024];                     /* of failed, interrupted, degraded, void */
    struct prediction predicted;           /* of the first message size */
    double round_median_ns, round_mean_ns; /* measured rounds; NAN when failed, or of several message sizes */
    int64_t fabric_ns, setup_ns;
    int64_t trial_id; /* its row; 0: nothing is stored */
};

/* 0 also when the trial failed (the outcome and the database say so); negative only when the campaign cannot go on: the store
 * refused, or ERR_INTERRUPTED after the interrupted trial was stored. checks: measured links of this cell's topology, NULL when
 * unknown. */
int trial_run(const struct trial_context *context, const struct cell *cell, const struct trial_plan *plan, enum engine_kind engine,
              const struct link_check *checks, struct trial_outcome *outcome, struct err *err);

#endif
