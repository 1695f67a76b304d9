/* results/store.h: the database of a campaign: the only writer. results/sqlite_wrap.c is the only file that includes sqlite3.h.
 *
 * One transaction a trial; everything of a trial comes or does not come as a whole, except its row in `trial`, which is there from
 * its start on with status `running`, so that a killed controller leaves a mark: store_open() turns such rows into `interrupted`.
 * Inserts happen outside the timed region only. All errors are ERR_HOST (the file system, or a file that is not ours: with the
 * remedy). */
#ifndef LAGGARD_RESULTS_STORE_H
#define LAGGARD_RESULTS_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "schemas/plan.h"
#include "schemas/prediction.h"
#include "schemas/records.h"
#include "schemas/topology.h"

struct err;
struct store;

/* Says why this path could not become or be continued as our database, changing nothing. A file that another run is writing is
 * refused, here and by store_open(); readers are never in the way. */
int store_check(const char *path, struct err *err);
/* Creates or opens for writing. *interrupted (may be NULL) counts the trials found `running` and marked `interrupted`. */
int store_open(const char *path, int *interrupted, struct store **store, struct err *err);
/* Secondary indexes, PRAGMA optimize, checkpoint, journal_mode DELETE: one file to copy. NULL allowed. */
int store_close(struct store *store, struct err *err);

/* One fact about the host or the build. Facts that affect performance go into the fingerprint. */
struct environment_fact {
    const char *name, *value;
    bool affects_performance;
};
/* The effective settings text of each cell is by campaign_dump(). Returns the campaign's row id. */
int store_campaign(struct store *store, const struct plan *plan, const char *const *cell_settings_text,
                   const struct environment_fact *facts, int fact_count, int64_t *campaign_id, struct err *err);

/* A trial begins: its row (status running), nodes. Returns its row id. */
struct trial_begin {
    int64_t campaign_id;
    const struct trial_plan *plan;
    const char *arm; /* "" where there are no arms */
    enum world_kind world;
    enum engine_kind engine; /* resolved */
    int64_t started_unix_ns;
    const struct topology *topology; /* nodes (hosts, routers) and links as asked */
    int workers, servers;
    uint64_t payload_bytes; /* gradient bytes S */
    int warmup_rounds;
    const struct prediction *predicted; /* with the links as asked */
};
int store_trial_begin(struct store *store, const struct trial_begin *begin, int64_t *trial_id, struct err *err);

struct node_result { /* one a node, in node order */
    const struct round_record *rounds;
    uint32_t round_count;
    const struct span_record *spans;
    uint32_t span_count;
    const struct evaluation_record *evaluations;
    uint32_t evaluation_count;
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
struct trial_end {
    enum trial_status status;
    const char *reason; /* of failed and interrupted; NULL */
    enum fidelity fidelity;
    const char *fidelity_reason; /* of degraded and void; NULL */
    int64_t duration_ns;
    int64_t setup_ns, fabric_ns;     /* whole set-up until agents were ready; of which the network */
    const struct node_result *nodes; /* NULL when failed */
    int node_count;
    const struct round_summary *rounds;
    int round_count;
    const struct link_readback *readback; /* one a link; NULL when the fabric was never built */
    const struct link_counters *counters; /* one a link; NULL */
    const struct link_check *checks;      /* of this trial's topology; NULL when not measured */
    int link_count;
    const struct prediction *predicted; /* replaces the one of trial_begin when not NULL: the real gradient time is known now */
    const struct prediction *predicted_measured; /* NULL when there is none */
    int64_t parameter_count;
};
int store_trial_end(struct store *store, int64_t trial_id, const struct trial_end *end, struct err *err);

/* A short sentence with a time into the event table; trial_id 0: of the campaign. */
int store_event(struct store *store, int64_t campaign_id, int64_t trial_id, const char *kind, const char *text, struct err *err);

#endif
