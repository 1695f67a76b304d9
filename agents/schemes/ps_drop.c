/* agents/schemes/ps_drop.c: `ps-drop`: synchronous training that drops the last gradients of each round. No worker is a spare, so
 * the batch is smaller; otherwise it is `backup` without `cancel`. The protocol: server_rounds.c. */
#include "agents/schemes/schemes.h"
#include "agents/schemes/server_rounds.h"

static const struct server_policy policy = {
    .quota = QUOTA_ALL_BUT, .current_only = true, .distinct = true, .aggregate_parameter = 2};

static const struct param params[] = {
    {.name = "drop",
     .unit = PARAM_COUNT,
     .minimum = 0,
     .maximum = 999,
     .standard = 1,
     .help = "stragglers whose gradients are dropped in each round"},
    PARAM_AGGREGATE,
    PARAM_TRIM,
};

const struct scheme scheme_ps_drop = {
    .name = "ps-drop",
    .summary = "one server updates with the first P - drop gradients of a round: a smaller batch, no spare workers",
    .source = "Chen et al., Revisiting distributed synchronous SGD, ICLR workshop 2016, section 2.2",
    .formula = "as backup without cancel",
    .flags = SERVER_ROUNDS_FLAGS,
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    SERVER_ROUNDS(policy),
};
