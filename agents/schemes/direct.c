/* agents/schemes/direct.c: `direct`, synchronous training: every worker sums one chunk of all gradients and sends it to everyone.
 * The algorithm: agents/collectives/direct_allreduce.c; the rounds: allreduce_rounds.c. */
#include "agents/schemes/allreduce_rounds.h"
#include "agents/schemes/schemes.h"

static const struct param params[] = {ALLREDUCE_PARAMS};

const struct scheme scheme_direct = {
    .name = "direct",
    .summary = "every worker sums one chunk of all gradients and sends it to everyone",
    .source = "Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in MPICH, IJHPCA 19 (2005)",
    .formula = "E[X_{P:P}] + 2 alpha + 2(P-1)/P S/B + (P-1)/P S gamma",
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    ALLREDUCE_ROUNDS(&allreduce_direct),
};
