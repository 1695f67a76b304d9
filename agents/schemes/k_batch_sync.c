/* agents/schemes/k_batch_sync.c: `k-batch-sync`: the first k mini-batches at one model make an update, several of a fast worker
 * among them; what is not done by then is given up. The protocol: server_rounds.c. */
#include "agents/schemes/schemes.h"
#include "agents/schemes/server_rounds.h"

static const struct server_policy policy = {.quota = QUOTA_K,
                                            .current_only = true,
                                            .keeps_going = true,
                                            .interrupts = server_rounds_always,
                                            .adasync_parameter = 2,
                                            .aggregate_parameter = 3};

static const struct param params[] = {
    {.name = "k", .unit = PARAM_COUNT, .minimum = 1, .maximum = 1000, .standard = 1, .help = "mini-batches that make an update"},
    SERVER_PARAM_ADASYNC,
    PARAM_AGGREGATE,
    PARAM_TRIM,
};

const struct scheme scheme_k_batch_sync = {
    .name = "k-batch-sync",
    .summary = "one server updates with the first k mini-batches at the same model, whoever computed them; the others give up",
    .source = "Dutta et al., Slow and stale gradients can win the race, AISTATS 2018",
    .formula = "Exp: K/(P mu) + communication",
    .flags = SERVER_ROUNDS_FLAGS | SCHEME_REPEATS_WORKERS,
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    SERVER_ROUNDS(policy),
};
