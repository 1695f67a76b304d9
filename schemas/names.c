/* names.c: the string tables of names.h. */
#include "schemas/names.h"

#include <assert.h>

#define TABLE(name, count, ...)                                                                                                    \
    const char *const name[(count) + 1] = {__VA_ARGS__, 0};                                                                        \
    static_assert(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *) == (count), #name " has one string per value")

TABLE(world_names, WORLD_COUNT, "emulated", "virtual");
TABLE(engine_names, ENGINE_COUNT, "auto", "netem", "relay", "none");
TABLE(shape_names, SHAPE_COUNT, "star", "ring", "mesh", "dumbbell", "tree", "graph", "sites");
TABLE(model_names, MODEL_COUNT, "softmax", "mlp", "synthetic");
TABLE(dataset_names, DATASET_COUNT, "fashion-mnist");
TABLE(jitter_names, JITTER_COUNT, "uniform", "normal", "pareto", "lognormal", "table");
TABLE(framing_names, FRAMING_COUNT, "l2", "l1");
TABLE(transport_names, TRANSPORT_COUNT, "udp", "tcp");
TABLE(spread_names, SPREAD_COUNT, "constant", "exponential");
TABLE(shard_names, SHARDS_COUNT, "iid", "dirichlet");
TABLE(attack_names, ATTACK_COUNT, "sign-flip", "scale", "random", "label-flip");
TABLE(gradient_names, GRADIENTS_COUNT, "real", "none");
TABLE(distribution_names, DISTRIBUTION_COUNT, "measured", "constant", "exponential", "shifted-exponential", "lognormal", "pareto");
TABLE(role_names, ROLE_COUNT, "worker", "server");
TABLE(span_names, SPAN_COUNT, "compute", "send", "receive", "reduce", "apply", "wait", "evaluate");
TABLE(gradient_fate_names, GRADIENT_FATE_COUNT, "used", "late", "dropped", "cancelled");
TABLE(trial_status_names, TRIAL_STATUS_COUNT, "planned", "running", "finished", "failed", "interrupted");
TABLE(event_names, EVENT_COUNT, "set", "down", "up", "flap", "partition", "heal", "pause", "crash", "trace");
TABLE(trace_format_names, TRACE_FORMAT_COUNT, "mahimahi", "csv");
TABLE(fidelity_names, FIDELITY_COUNT, "faithful", "degraded", "void");
