/* agents/schemes/k_sync.c: `k-sync`: the first k of P workers' gradients make an update; the other workers give theirs up and take
 * the new model. The protocol: server_rounds.c. */
#include "agents/schemes/schemes.h"
#include "agents/schemes/server_rounds.h"

static const struct server_policy policy = {.quota = QUOTA_K,
                                            .current_only = true,
                                            .distinct = true,
                                            .interrupts = server_rounds_always,
                                            .adasync_parameter = 2,
                                            .aggregate_parameter = 3};

static const struct param params[] = {
    {.name = "k",
     .unit = PARAM_COUNT,
     .minimum = 1,
     .maximum = 1000,
     .standard = 1,
     .help = "workers whose gradients make an update"},
    SERVER_PARAM_ADASYNC,
    PARAM_AGGREGATE,
    PARAM_TRIM,
};

const struct scheme scheme_k_sync = {
    .name = "k-sync",
    .summary = "one server updates with the first k workers' gradients; the others give up",
    .source = "Dutta et al., Slow and stale gradients can win the race, AISTATS 2018",
    .formula = "E[X_{K:P}] + communication; Exp: (H_P - H_{P-K})/mu",
    .flags = SERVER_ROUNDS_FLAGS,
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    SERVER_ROUNDS(policy),
};
