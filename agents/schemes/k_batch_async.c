/* agents/schemes/k_batch_async.c: `k-batch-async`: the next k mini-batches make an update, however stale; a worker gets the model
 * as soon as its gradient has come, and goes on. The protocol: server_rounds.c. */
#include "agents/schemes/schemes.h"
#include "agents/schemes/server_rounds.h"

static const struct server_policy policy = {
    .quota = QUOTA_K, .pulls_at_once = true, .compensate_parameter = 2, .adasync_parameter = 3, .aggregate_parameter = 4};

static const struct param params[] = {
    {.name = "k", .unit = PARAM_COUNT, .minimum = 1, .maximum = 1000, .standard = 1, .help = "mini-batches that make an update"},
    SERVER_PARAM_COMPENSATE,
    SERVER_PARAM_ADASYNC,
    PARAM_AGGREGATE,
    PARAM_TRIM,
};

const struct scheme scheme_k_batch_async = {
    .name = "k-batch-async",
    .summary = "one server updates with the next k mini-batches, stale or not; each worker pulls and goes on at once",
    .source = "Dutta et al., Slow and stale gradients can win the race, AISTATS 2018",
    .formula = "K E[X]/P",
    .flags = SERVER_ROUNDS_FLAGS | SCHEME_ASYNCHRONOUS | SCHEME_REPEATS_WORKERS,
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    SERVER_ROUNDS(policy),
};
