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
enum trial_status { TRIAL_PLANNED, TRIAL_RUNNING, TRIAL_FINISHED, TRIAL_FAILED, TRIAL_INTERRUPTED, TRIAL_STATUS_COUNT };
enum fidelity { FIDELITY_FAITHFUL, FIDELITY_DEGRADED, FIDELITY_VOID, FIDELITY_COUNT };

extern const char *const world_names[WORLD_COUNT + 1]; /* every table ends with NULL */
extern const char *const engine_names[ENGINE_COUNT + 1];
extern const char *const shape_names[SHAPE_COUNT + 1];
extern const char *const model_names[MODEL_COUNT + 1];
extern const char *const dataset_names[DATASET_COUNT + 1];
extern const char *const jitter_names[JITTER_COUNT + 1];
extern const char *const framing_names[FRAMING_COUNT + 1];
extern const char *const gradient_names[GRADIENTS_COUNT + 1];
extern const char *const distribution_names[DISTRIBUTION_COUNT + 1];
extern const char *const role_names[ROLE_COUNT + 1];
extern const char *const span_names[SPAN_COUNT + 1];
extern const char *const trial_status_names[TRIAL_STATUS_COUNT + 1];
extern const char *const fidelity_names[FIDELITY_COUNT + 1];

#endif
