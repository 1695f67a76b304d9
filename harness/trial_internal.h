/* trial_internal.h: one trial while it runs; its driver: what runs on its nodes; and its parts: what a campaign may ask for beside
 * the rounds themselves.
 *
 * A part is one file (trial_NAME.c), one const struct trial_part and one row of the table in trial.c. It adds to the fabric before
 * that is built, acts when the rounds begin and end, and hands what came of it to the trial's end, which the store writes in one
 * transaction. Its state hangs in struct trial, in the arena. */
#ifndef LAGGARD_HARNESS_TRIAL_INTERNAL_H
#define LAGGARD_HARNESS_TRIAL_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/fidelity.h"
#include "harness/forecast.h"
#include "harness/host_load.h"
#include "harness/trial.h"

struct arena;
struct capture_session;
struct crew;
struct err;
struct loop;
struct trial_crew;
struct trial_programs_state;
struct trial_virtual_state;

struct trial {
    const struct trial_context *context;
    const struct cell *cell;
    const struct trial_plan *plan;
    enum engine_kind engine;
    const struct trial_driver *driver;
    struct arena *arena;
    struct topology topology;
    struct forecast asked;
    struct trial_cpu_limits *cpu_limits; /* NULL: no node is limited */
    const struct traffic_flow *flows;    /* cross traffic, one a setting */
    struct fabric *fabric;               /* NULL before it is built and once it is gone */
    struct loop *loop;
    struct trial_crew *agents;             /* the state of driver trial_agents; NULL: another one drives */
    struct trial_programs_state *programs; /* likewise, of trial_programs */
    struct trial_virtual_state *virtual;   /* likewise, of trial_virtual */
    struct trial_events *events;           /* the state of part trial_events */
    struct capture_session *captures;      /* of part trial_capture; NULL: nothing is captured */
    struct trial_samples *samples;         /* of part trial_samples; NULL: no counter is read before the end */
    int64_t ready_ns;                      /* when all was set up; by the driver */
    int64_t round_ns;   /* when node 0 had done the rounds that trial_round() tells; by the driver; 0: it does not know */
    const char **names; /* of the nodes */
    int64_t id;
    struct link_counters *counters;
    bool counters_read;
    struct host_load load_before, load_after;
    int64_t memory_kills_before;
    struct processor_load load;
    struct fidelity_evidence evidence; /* parts add what they know in conclude() */
    struct trial_end end;
    struct message_size *sizes;                        /* that are swept, message_sizes_count() of them; NULL: none is */
    struct prediction *predicted, *predicted_measured; /* one a message size */
    struct prediction *undisturbed;                    /* as `predicted`, as if no event ever came */
};

/* In the order in which a trial calls them; any may be NULL. A negative return of prepare() ends the campaign (what a campaign file
 * can do wrong was checked long before), of the others the trial, with its sentence. */
struct trial_part {
    int (*prepare)(struct trial *trial, struct err *err); /* the topology is known (and may still be marked), nothing is built */
    int (*add)(struct trial *trial, struct fabric_spec *spec, struct err *err); /* to what will be built */
    int (*ready)(struct trial *trial, struct err *err);       /* the fabric stands, the loop is there, no round has begun */
    void (*start)(struct trial *trial, int64_t start_ns);     /* the rounds will begin at this CLOCK_MONOTONIC time */
    void (*round)(struct trial *trial, uint32_t rounds_done); /* node 0 said so: warm-up rounds included */
    void (*ending)(struct trial *trial);                      /* servers have done all rounds, and only workers are waited for */
    void (*done)(struct trial *trial);                        /* all rounds are over; the fabric still stands */
    void (*conclude)(struct trial *trial);                    /* the fabric is about to go, also after a failure: fill trial->end */
    void (*clean)(struct trial *trial);                       /* always, last */
};

extern const struct trial_part trial_cpu_limit, trial_traffic, trial_events, trial_capture, trial_samples, trial_byzantine;

/* What runs on the nodes: one file (trial_NAME.c) and one const struct a kind. A negative return is the trial's failure, with its
 * sentence. */
struct trial_found { /* what a driver makes of a trial that came to its end; all in the arena */
    const struct node_result *nodes;
    int node_count;
    const struct round_summary *rounds;
    int round_count;
    double gradient_ns; /* real work of a gradient; 0: there is none */
    int64_t parameter_count, duration_ns;
    int64_t between_ns; /* of the duration: between message sizes */
};
struct trial_driver {
    bool virtual_clock;                                 /* no fabric, no loop, and nothing that this host does counts */
    int (*build)(struct trial *trial, struct err *err); /* its programs, then trial_build_fabric() */
    int (*run)(struct trial *trial, struct err *err);   /* until all is over; with the calls below as it goes */
    void (*conclude)(struct trial *trial); /* the fabric is about to go, also after a failure, before parts do; NULL: nothing */
    int (*judge)(struct trial *trial, struct trial_found *found, struct err *err); /* the fabric is gone */
    void (*abandon)(struct trial *trial, const struct err *reason); /* run() is to end soon with this reason, unless it is over */
    void (*clean)(struct trial *trial);
};
extern const struct trial_driver trial_agents, trial_programs, trial_virtual;

/* For drivers, in this order. */
int trial_build_fabric(struct trial *trial, const struct fabric_program *programs, int program_count, struct err *err);
void trial_predict(struct trial *trial);                     /* for the network as asked, with the gradient's work as known */
int trial_ready(struct trial *trial, struct err *err);       /* fabric and loop are there */
void trial_start(struct trial *trial, int64_t start_ns);     /* rounds begin then (CLOCK_MONOTONIC) */
void trial_round(struct trial *trial, uint32_t rounds_done); /* on node 0 */
void trial_ending(struct trial *trial);                      /* servers have done all rounds; not always called */
void trial_done(struct trial *trial);                        /* all rounds are over, the fabric stands */

#endif
