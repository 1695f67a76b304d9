/* agents/schemes/naive.c: `naive`, synchronous training: every worker sends its whole gradient to every other.
 * The algorithm: agents/collectives/naive_allreduce.c; the rounds: allreduce_rounds.c. */
#include "agents/schemes/allreduce_rounds.h"
#include "agents/schemes/schemes.h"

static const struct param params[] = {ALLREDUCE_PARAMS};

const struct scheme scheme_naive = {
    .name = "naive",
    .summary = "every worker sends its whole gradient to every other",
    .source = "the plainest way",
    .formula = "E[X_{P:P}] + alpha + (P-1)(S/B + S gamma)",
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    ALLREDUCE_ROUNDS(&allreduce_naive),
};
