/* control.h: the control protocol between controller and agent, version 1: one frame (base/frame.h) an operation, bodies by the
 * tables below (base/wire.h). It runs over a socket pair made before the agent starts; the agent finds its end at CONTROL_FD.
 *
 *     controller                      agent
 *     SETUP        ------------------>         who you are and what to do
 *                  <------------------ LISTENING   sandboxed, data loaded, port open
 *     CONNECT      ------------------>
 *                  <------------------ READY       every connection is up
 *     START        ------------------>         at this CLOCK_MONOTONIC time
 *                  <------------------ PROGRESS    from one node (scheme_round_node()): five a second at most, and at once after
 *                                              each round of `marks`
 *                  <------------------ DONE        all rounds of this message size
 *     SIZE         ------------------>         when every agent is done, and there is a next size
 *                  <------------------ READY       nothing of the size before is under way; START follows
 *     COLLECT      ------------------>         when every agent is done with the last size
 *                  <------------------ REPORT      rounds, spans, evaluations, counters
 *     PEER         ------------------>         a node was lost (schemes that survive it)
 *     QUIT         ------------------>         exit with status 0
 *                  <------------------ FAILURE     at any time: a sentence; the agent then exits
 */
#ifndef LAGGARD_SCHEMAS_CONTROL_H
#define LAGGARD_SCHEMAS_CONTROL_H

#include <stdint.h>

#include "base/wire.h"
#include "schemas/records.h"

enum { CONTROL_VERSION = 2, CONTROL_FD = 3 };
enum { CONTROL_SHORT_MOST = 4096 }; /* bytes of whatever an agent sends but REPORT */

enum control_operation {
    CONTROL_SETUP = 1,
    CONTROL_LISTENING,
    CONTROL_CONNECT,
    CONTROL_READY,
    CONTROL_START,
    CONTROL_PROGRESS,
    CONTROL_DONE,
    CONTROL_COLLECT,
    CONTROL_REPORT,
    CONTROL_PEER,
    CONTROL_QUIT,
    CONTROL_FAILURE,
    CONTROL_SIZE,
    CONTROL_OPERATION_END
};

struct control_layer {
    uint32_t width;
};
struct control_value {
    double value;
};
struct control_scheme_object {
    const char *file, *sha256; /* absolute path; hexadecimal digest of what the controller loaded */
};
struct control_mark {
    uint32_t rounds_done; /* warm-up included */
};
struct control_message_size { /* of a trial that sweeps sizes */
    uint64_t bytes;
    const uint8_t *prepared; /* what the scheme's prepare() made for it */
    uint32_t prepared_bytes;
};
struct control_node { /* the roster: one row a node, workers first, then servers */
    const char *name;
    uint32_t role;      /* enum node_role */
    uint32_t address;   /* IPv4, host byte order */
    double slow_factor; /* multiplies that worker's drawn compute times */
    uint32_t samples;   /* that a worker owns; 0: there is no data */
};
struct control_path {     /* from the receiver of this message to one other node */
    int64_t latency_ns;   /* one-way delay */
    uint64_t payload_bps; /* payload bits a second; 0: not limited */
};
struct control_distribution { /* struct distribution */
    uint32_t kind;
    double value_ns, mean_ns, shift_ns, mu, sigma, unit_ns, scale_ns, shape;
};
struct control_setup {
    uint32_t node;                    /* index into nodes */
    const struct control_node *nodes; /* the same rows for every node */
    uint32_t node_count;
    const struct control_path
        *paths;          /* one a node, where the scheme asks for them (SCHEME_NEEDS_PATHS): no other message has more */
    uint32_t path_count; /* 0, or node_count */
    uint32_t port;       /* TCP, the same on every node */
    uint64_t seed;       /* of this trial */
    uint32_t cell;
    const char *scheme;
    const struct control_scheme_object *scheme_objects; /* loaded before `scheme` is looked for */
    uint32_t scheme_object_count;
    const struct control_value *values; /* the scheme's parameters, in its table's order */
    uint32_t value_count;
    uint32_t model, dataset, gradients; /* enum model_kind, dataset_kind, gradient_kind */
    const char *dataset_path;
    uint32_t
        dataset_fd; /* descriptor of the data set that the controller unpacked once for all agents; 0: none, read dataset_path */
    const struct control_layer *layers;
    uint32_t layer_count;
    uint32_t shard_split; /* enum shard_kind */
    double shard_alpha, shard_size_alpha;
    uint32_t batch;
    double learning_rate, momentum, weight_decay, decay_factor;
    uint32_t decay_every; /* rounds; 0: never */
    uint32_t rounds;      /* warm-up rounds included; of each size */
    uint32_t warmup_rounds;
    uint32_t evaluate_every;
    uint64_t size_bytes;                      /* synthetic */
    const struct control_message_size *sizes; /* in place of size_bytes and prepared: one after the other */
    uint32_t size_count;                      /* 0: none is swept */
    uint32_t byzantine;                       /* 1: this node's gradients are falsified */
    uint32_t attack;                          /* enum attack_kind */
    double attack_factor;
    struct control_distribution compute_time;
    uint32_t record_spans;            /* 0 or 1 */
    int64_t sample_every_ns;          /* 0: no samples */
    int64_t busy_wait_ns;             /* how long the agent looks for messages before it sleeps; 0: not at all */
    const struct control_mark *marks; /* the one that tells: after these many rounds PROGRESS is sent at once; ascending */
    uint32_t mark_count;
    const uint8_t *prepared; /* what the scheme's prepare() made */
    uint32_t prepared_bytes;
};
struct control_listening {
    const char *blas;         /* "OpenBLAS 0.3.21 Haswell" or "" */
    double gradient_ns;       /* real work of one gradient, measured while idle; 0: not a worker */
    uint64_t parameter_count; /* floats in the model */
};
struct control_size {
    uint32_t position; /* in SETUP's sizes: the next one */
};
struct control_start {
    int64_t start_ns; /* CLOCK_MONOTONIC */
};
struct control_progress {
    uint32_t rounds_done;
    int64_t at_ns; /* CLOCK_MONOTONIC: when they were */
};
struct control_report {
    const struct round_record *rounds;
    uint32_t round_count;
    const struct span_record *spans;
    uint32_t span_count;
    const struct gradient_record *gradients;
    uint32_t gradient_count;
    const struct evaluation_record *evaluations;
    uint32_t evaluation_count;
    const struct sample_record *samples;
    uint32_t sample_count;
    struct node_counters counters;
    const uint8_t *model_sha256; /* of the final model's bytes, synthetic: of the last sum's; NULL and 0 where there is none */
    uint32_t model_sha256_bytes;
};
struct control_peer {
    uint32_t node;
    uint32_t lost; /* 1: lost */
};
struct control_failure {
    uint32_t round;
    const char *text;
};

struct control_row {
    const char *name;
    const struct wire_table *body; /* NULL: empty body */
    int from_agent;                /* 0: controller to agent */
};
extern const struct control_row control_operations[CONTROL_OPERATION_END]; /* row 0 is empty */

#endif
