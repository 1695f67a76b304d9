/* names.h: the enumerations that cross stage boundaries, each with its string table (names.c). The strings are what campaign files,
 * the database and messages use; they never change once released. */
#ifndef LAGGARD_SCHEMAS_NAMES_H
#define LAGGARD_SCHEMAS_NAMES_H

enum world_kind { WORLD_EMULATED, WORLD_VIRTUAL, WORLD_COUNT };
enum engine_kind { ENGINE_AUTO, ENGINE_NETEM, ENGINE_RELAY, ENGINE_NONE, ENGINE_COUNT };
enum topology_shape { SHAPE_STAR, SHAPE_RING, SHAPE_MESH, SHAPE_DUMBBELL, SHAPE_TREE, SHAPE_GRAPH, SHAPE_SITES, SHAPE_COUNT };
enum model_kind { MODEL_SOFTMAX, MODEL_MLP, MODEL_SYNTHETIC, MODEL_COUNT };
enum dataset_kind { DATASET_FASHION_MNIST, DATASET_COUNT };
enum jitter_kind { JITTER_UNIFORM, JITTER_NORMAL, JITTER_PARETO, JITTER_LOGNORMAL, JITTER_TABLE, JITTER_COUNT };
enum framing_kind {
    FRAMING_L2,
    FRAMING_L1,
    FRAMING_COUNT
}; /* whether a rate counts Ethernet frames or all that they occupy on a cable */
enum transport_kind { TRANSPORT_UDP, TRANSPORT_TCP, TRANSPORT_COUNT };
enum spread_kind { SPREAD_CONSTANT, SPREAD_EXPONENTIAL, SPREAD_COUNT }; /* of times around their mean */
enum shard_kind { SHARDS_IID, SHARDS_DIRICHLET, SHARDS_COUNT };         /* how labels are spread over workers */
/* How the gradients of Byzantine workers are falsified (agents/byzantine.h). */
enum attack_kind { ATTACK_SIGN_FLIP, ATTACK_SCALE, ATTACK_RANDOM, ATTACK_LABEL_FLIP, ATTACK_COUNT };
enum gradient_kind { GRADIENTS_REAL, GRADIENTS_NONE, GRADIENTS_COUNT };
enum distribution_kind {
    DISTRIBUTION_MEASURED, /* no drawn time: the real work's own duration */
    DISTRIBUTION_CONSTANT,
    DISTRIBUTION_EXPONENTIAL,
    DISTRIBUTION_SHIFTED_EXPONENTIAL,
    DISTRIBUTION_LOGNORMAL,
    DISTRIBUTION_PARETO,
    DISTRIBUTION_COUNT
};
enum node_role { ROLE_WORKER, ROLE_SERVER, ROLE_COUNT };
enum span_kind { SPAN_COMPUTE, SPAN_SEND, SPAN_RECEIVE, SPAN_REDUCE, SPAN_APPLY, SPAN_WAIT, SPAN_EVALUATE, SPAN_COUNT };
enum gradient_fate {
    GRADIENT_USED,
    GRADIENT_LATE,      /* came after its update had been made without it, and was not used */
    GRADIENT_DROPPED,   /* came in time, but the scheme had no use for it */
    GRADIENT_CANCELLED, /* was given up before it was done or sent */
    GRADIENT_FATE_COUNT
};
enum trial_status { TRIAL_PLANNED, TRIAL_RUNNING, TRIAL_FINISHED, TRIAL_FAILED, TRIAL_INTERRUPTED, TRIAL_STATUS_COUNT };
/* What a campaign may ask to happen while a trial runs. */
enum event_kind {
    EVENT_SET,       /* a link's settings change */
    EVENT_DOWN,      /* a link drops everything */
    EVENT_UP,        /* and no longer */
    EVENT_FLAP,      /* a link goes down and up several times */
    EVENT_PARTITION, /* nodes no longer reach the others */
    EVENT_HEAL,      /* and do again */
    EVENT_PAUSE,     /* a node stops for a while */
    EVENT_CRASH,     /* a node is killed */
    EVENT_TRACE,     /* a link follows a file */
    EVENT_COUNT
};
enum trace_format { TRACE_MAHIMAHI, TRACE_CSV, TRACE_FORMAT_COUNT };
enum fidelity { FIDELITY_FAITHFUL, FIDELITY_DEGRADED, FIDELITY_VOID, FIDELITY_COUNT };

extern const char *const world_names[WORLD_COUNT + 1]; /* every table ends with NULL */
extern const char *const engine_names[ENGINE_COUNT + 1];
extern const char *const shape_names[SHAPE_COUNT + 1];
extern const char *const model_names[MODEL_COUNT + 1];
extern const char *const dataset_names[DATASET_COUNT + 1];
extern const char *const jitter_names[JITTER_COUNT + 1];
extern const char *const framing_names[FRAMING_COUNT + 1];
extern const char *const transport_names[TRANSPORT_COUNT + 1];
extern const char *const spread_names[SPREAD_COUNT + 1];
extern const char *const shard_names[SHARDS_COUNT + 1];
extern const char *const attack_names[ATTACK_COUNT + 1];
extern const char *const gradient_names[GRADIENTS_COUNT + 1];
extern const char *const distribution_names[DISTRIBUTION_COUNT + 1];
extern const char *const role_names[ROLE_COUNT + 1];
extern const char *const span_names[SPAN_COUNT + 1];
extern const char *const gradient_fate_names[GRADIENT_FATE_COUNT + 1];
extern const char *const trial_status_names[TRIAL_STATUS_COUNT + 1];
extern const char *const event_names[EVENT_COUNT + 1];
extern const char *const trace_format_names[TRACE_FORMAT_COUNT + 1];
extern const char *const fidelity_names[FIDELITY_COUNT + 1];

#endif
