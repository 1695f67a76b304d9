/* agents/schemes/async.c: `async`: the server makes an update of every gradient as it comes, and answers its worker alone.
 * The protocol, its source and its limits: server_rounds.c. */
#include "agents/schemes/schemes.h"
#include "agents/schemes/server_rounds.h"

static const struct server_policy policy = {
    .quota = QUOTA_ONE, .distinct = true, .compensate_parameter = 1, .adasync_parameter = 2};

static const struct param params[] = {
    SERVER_PARAM_COMPENSATE,
    SERVER_PARAM_ADASYNC,
};

const struct scheme scheme_async = {
    .name = "async",
    .summary = "one server updates with every gradient as it comes, stale or not",
    .source = "Dutta et al., Slow and stale gradients can win the race, AISTATS 2018; Dean et al., Large scale distributed deep "
              "networks, NIPS 2012",
    .formula = "E[X]/P",
    .flags = SERVER_ROUNDS_FLAGS | SCHEME_ASYNCHRONOUS,
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    SERVER_ROUNDS(policy),
};
