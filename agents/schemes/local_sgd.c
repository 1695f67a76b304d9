/* agents/schemes/local_sgd.c: `local-sgd`: every worker takes `period` steps of its own model, then all take the mean of the
 * models.
 *
 * Source: S. U. Stich, "Local SGD converges fast and communicates little", ICLR 2019. The rounds, an example and the bytes:
 * local_rounds.c. With a period of 1 it is synchronous SGD, up to the rounding of sums. */
#include "agents/schemes/local_rounds.h"
#include "agents/schemes/schemes.h"

static const struct local_policy policy = {.vectors = 1};

static const struct param params[] = {
    LOCAL_PARAM_PERIOD(10, "steps of a worker's own model between averages"),
    LOCAL_PARAM_ALGORITHM,
};

const struct scheme scheme_local_sgd = {
    .name = "local-sgd",
    .summary = "workers train models of their own; every `period` steps all take the mean of the models",
    .source = "Stich, Local SGD converges fast and communicates little, ICLR 2019",
    .formula = "E[max over workers of the sum of `period` X]/period + (all-reduce)/period",
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    .state_bytes = sizeof(struct local_rounds),
    LOCAL_ROUNDS(policy),
};
