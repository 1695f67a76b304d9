/* agents/schemes/binomial_tree.c: `binomial-tree`, synchronous training: whole gradients go up a binomial tree to worker 0, and the
 * sum comes down. The algorithm: agents/collectives/binomial_tree.c; the rounds: allreduce_rounds.c. */
#include "agents/schemes/allreduce_rounds.h"
#include "agents/schemes/schemes.h"

static const struct param params[] = {ALLREDUCE_PARAMS};

const struct scheme scheme_binomial_tree = {
    .name = "binomial-tree",
    .summary = "whole gradients go up a binomial tree to worker 0, and the sum comes down",
    .source = "Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in MPICH, IJHPCA 19 (2005)",
    .formula = "E[X_{P:P}] + 2 log2 P (alpha + S/B) + log2 P S gamma",
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    ALLREDUCE_ROUNDS(&allreduce_binomial_tree),
};
