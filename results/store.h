/* results/store.h: the database of a campaign: the only writer.
 *
 * One transaction a trial; everything of a trial comes or does not come as a whole, except its row in `trial`, which is there from
 * its start on with status `running`, so that a killed controller leaves a mark: store_open() turns such rows into `interrupted`.
 * Inserts happen outside the timed region only. All errors are ERR_HOST (the file system, or a file that is not ours: with the
 * remedy). */
#ifndef LAGGARD_RESULTS_STORE_H
#define LAGGARD_RESULTS_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/process.h"
#include "schemas/capture.h"
#include "schemas/events.h"
#include "schemas/plan.h"
#include "schemas/prediction.h"
#include "schemas/records.h"
#include "schemas/topology.h"
#include "schemas/traffic.h"

struct err;
struct store;

enum { STORE_VERSION = 2 }; /* of the schema */

/* Says why this path could not become or be continued as our database, changing nothing. A file that another run is writing is
 * refused, here and by store_open(); readers are never in the way. */
int store_check(const char *path, struct err *err);
/* Creates or opens for writing. *interrupted (may be NULL) counts the trials found `running` and marked `interrupted`. */
int store_open(const char *path, int *interrupted, struct store **store, struct err *err);
/* The same for a file that must be there and be a database: what is none does not become one; sentences as for readers. */
int store_open_existing(const char *path, struct store **store, struct err *err);
/* Secondary indexes, PRAGMA optimize, checkpoint, journal_mode DELETE: one file to copy. NULL allowed. */
int store_close(struct store *store, struct err *err);
/* Closes it at the end of what had `result`: an error that is there stays, and is returned. */
int store_close_after(struct store *store, int result, struct err *err);

/* One fact about the host or the build. Facts that affect performance go into the fingerprint. */
struct environment_fact {
    const char *name, *value;
    bool affects_performance;
};
/* The effective settings text of each entry of plan->cells is by campaign_dump(). Returns the campaign's row id. */
int store_campaign(struct store *store, const struct plan *plan, const char *const *cell_settings_text,
                   const struct environment_fact *facts, int fact_count, int64_t *campaign_id, struct err *err);

/* This campaign runs cells of an earlier one again, to confirm what a gate flagged. */
int store_confirms(struct store *store, int64_t campaign_id, int64_t confirmed_id, struct err *err);

struct message_size { /* of a trial that sweeps sizes */
    uint64_t payload_bytes;
    int first_round, round_count; /* warm-up included */
};

/* A trial begins: its row (status running), nodes. Returns its row id. */
struct trial_begin {
    int64_t campaign_id;
    int64_t replaces; /* the trial, not finished, whose place it takes: that one's rows go; 0: none */
    const struct trial_plan *plan;
    const char *arm; /* "" where there are no arms */
    int arm_count;   /* of the campaign: plan->cell counts cells and arms */
    enum world_kind world;
    enum engine_kind engine; /* resolved */
    int64_t started_unix_ns;
    const struct topology *topology; /* nodes (hosts, routers) and links as asked */
    int workers, servers;
    uint64_t payload_bytes; /* gradient bytes S; 0: not known, or several: */
    const struct message_size *sizes;
    int size_count;                     /* 0: sizes are not swept */
    int warmup_rounds;                  /* of each size */
    const struct prediction *predicted; /* with the links as asked: one, or one a size */
};
int store_trial_begin(struct store *store, const struct trial_begin *begin, int64_t *trial_id, struct err *err);

struct node_result { /* one a node, in node order */
    bool lost;       /* it has reported nothing, and counted nothing */
    const struct round_record *rounds;
    uint32_t round_count;
    const struct span_record *spans;
    uint32_t span_count;
    const struct gradient_record *gradients;
    uint32_t gradient_count;
    const struct evaluation_record *evaluations;
    uint32_t evaluation_count;
    const struct sample_record *samples; /* TCP's state over time */
    uint32_t sample_count;
    struct node_counters counters;
    double idle_gradient_ns;
    const char *blas;
    const uint8_t *model_sha256; /* 32 bytes or NULL */
};
struct round_summary { /* one a round: harness computed it from the nodes' marks */
    uint32_t round;
    bool warmup;
    int64_t begin_ns, end_ns; /* when the last node held the model before, and held this one */
    uint32_t last_node;       /* who held it last */
};
struct processor_load {                              /* of all processors' time while rounds ran; NAN: not known */
    double stolen_share;                             /* taken by a hypervisor */
    double pressure_some_share, pressure_full_share; /* some, all runnable processes of the host waited for a processor */
};
struct process_stream {
    const char *text; /* what was kept; UTF-8 */
    uint64_t bytes;   /* all that came */
    bool truncated;
};
struct process_result {  /* one a node: an outside program in place of an agent */
    const char *command; /* a JSON array of its words */
    bool ended;          /* by itself; then how and when */
    struct process_exit how;
    int64_t end_ns;
    struct process_stream streams[2]; /* standard output, standard error */
};
struct direction_sample { /* of one direction, up to this moment of the rounds; the backlog at it */
    uint64_t carried_bytes, queue_drops, unasked_drops, lost, backlog_bytes;
};
struct counter_sample {
    int64_t at_ns;
    struct processor_load load;                /* since the sample before */
    const struct direction_sample *directions; /* DIRECTIONS a link */
};
struct cpu_limit_result {
    int node;
    struct cpu_limit asked;
    bool counted; /* false: the rounds never began, or the kernel did not tell */
    struct cpu_usage usage;
};
struct trial_end {
    enum trial_status status;
    const char *reason; /* of failed and interrupted; NULL */
    enum fidelity fidelity;
    const char *fidelity_reason;     /* of degraded and void; NULL */
    int64_t duration_ns;             /* of all rounds; counts only when finished, as does setup_ns */
    int64_t setup_ns, fabric_ns;     /* whole set-up until agents were ready; of which the network, 0: there was none */
    int64_t teardown_ns;             /* until no process was left; 0: there was no network */
    const struct node_result *nodes; /* NULL when failed */
    int node_count;
    bool without_node_rows;                 /* neither round_held nor gradient gets rows */
    const struct process_result *processes; /* NULL: agents ran, and only then nodes have counters */
    int process_count;
    const struct round_summary *rounds;
    int round_count;
    const struct link_readback *readback; /* one a link; NULL when the fabric was never built */
    const struct link_counters *counters; /* one a link; NULL */
    const struct link_check *checks;      /* of this trial's topology; NULL when not measured */
    int link_count;
    const struct cpu_limit_result *cpu_limits; /* of the nodes that have one */
    int cpu_limit_count;
    const struct traffic_flow *flows; /* cross traffic; NULL: none, or the network was never built */
    const struct traffic_counters *traffic;
    int flow_count;
    const struct message_size *sizes; /* as trial_begin had them */
    int size_count;
    const struct prediction
        *predicted; /* one, or one a size: replaces the one of trial_begin when not NULL: the real gradient time is known now */
    const struct prediction *predicted_measured; /* NULL when there is none */
    int64_t parameter_count;
    const struct processor_load *load; /* NULL when failed */
    const struct counter_sample *samples;
    int sample_count;
    const struct event_record *events; /* what happened, and what did not, in the order of rows; also of a failed trial */
    int event_count;
    const struct capture_result *captures;
    int capture_count;
};
int store_trial_end(struct store *store, int64_t trial_id, const struct trial_end *end, struct err *err);

/* A short sentence with the present time into the event table; trial_id 0: of the campaign. */
int store_event(struct store *store, int64_t campaign_id, int64_t trial_id, const char *kind, const char *text, struct err *err);

#endif
