/* agents/schemes/ps_sync.c: `ps-sync`, synchronous training with a parameter server, or several that hold a shard of the model
 * each: the row; rounds are those of ps_rounds.c.
 *
 * Source: M. Li et al., "Scaling distributed machine learning with the parameter server", OSDI 2014 (its consistency model
 * "sequential"; its servers are sharded by ranges of keys, as here by ranges of floats). */
#include "agents/schemes/ps_rounds.h"
#include "agents/schemes/schemes.h"

static const struct ps_policy policy = {.weighted = false, .aggregate_parameter = PS_PARAM_COUNT + 1};
static const struct param params[] = {PS_PARAMS, PARAM_AGGREGATE, PARAM_TRIM};

const struct scheme scheme_ps_sync = {
    .name = "ps-sync",
    .summary = "parameter servers sum every worker's gradient each round: one, or several with a shard of the model each",
    .source = "Li et al., Scaling distributed machine learning with the parameter server, OSDI 2014",
    .formula = "2 alpha + P S/B_s + E[max_k(X_{k:P} + (P-k+1) S/B_s)] + the part of the sum that is left after the last gradient; "
               "M shards: S/M on each; colocated, M = P: 2 alpha + 2(P-1)/P S/B + (P-1)/P S gamma",
    PS_ROUNDS(policy),
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    .predict = ps_rounds_predict,
};
