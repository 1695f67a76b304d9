/* agents/schemes/recursive_doubling.c: `recursive-doubling`, synchronous training: in log2 P steps every worker exchanges the sum
 * so far with a partner. The algorithm: agents/collectives/recursive_doubling.c; the rounds: allreduce_rounds.c. */
#include "agents/schemes/allreduce_rounds.h"
#include "agents/schemes/schemes.h"

static const struct param params[] = {ALLREDUCE_PARAMS};

const struct scheme scheme_recursive_doubling = {
    .name = "recursive-doubling",
    .summary = "in log2 P steps every worker exchanges the whole sum with a partner",
    .source = "Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in MPICH, IJHPCA 19 (2005)",
    .formula = "E[X_{P:P}] + log2 P (alpha + S/B + S gamma); P not a power of two: 2(alpha + S/B) + S gamma more",
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    ALLREDUCE_ROUNDS(&allreduce_recursive_doubling),
};
