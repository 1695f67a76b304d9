/* agents/schemes/k_async.c: `k-async`: the next k gradients of different workers make an update, however stale; nobody gives up.
 * The protocol: server_rounds.c. */
#include "agents/schemes/schemes.h"
#include "agents/schemes/server_rounds.h"

static const struct server_policy policy = {
    .quota = QUOTA_K, .distinct = true, .compensate_parameter = 2, .adasync_parameter = 3, .aggregate_parameter = 4};

static const struct param params[] = {
    {.name = "k",
     .unit = PARAM_COUNT,
     .minimum = 1,
     .maximum = 1000,
     .standard = 1,
     .help = "workers whose gradients make an update"},
    SERVER_PARAM_COMPENSATE,
    SERVER_PARAM_ADASYNC,
    PARAM_AGGREGATE,
    PARAM_TRIM,
};

const struct scheme scheme_k_async = {
    .name = "k-async",
    .summary = "one server updates with the next k workers' gradients, stale or not; nobody gives up",
    .source = "Dutta et al., Slow and stale gradients can win the race, AISTATS 2018",
    .formula = "at most E[X_{K:P}] for new-longer-than-used X, equal for Exp",
    .flags = SERVER_ROUNDS_FLAGS | SCHEME_ASYNCHRONOUS,
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    SERVER_ROUNDS(policy),
};
