/* agents/schemes/halving_doubling.c: `halving-doubling`, synchronous training: gradients are summed by halves in log2 P steps, and
 * gathered in as many. The algorithm: agents/collectives/halving_doubling.c; the rounds: allreduce_rounds.c. */
#include "agents/schemes/allreduce_rounds.h"
#include "agents/schemes/schemes.h"

static const struct param params[] = {ALLREDUCE_PARAMS};

const struct scheme scheme_halving_doubling = {
    .name = "halving-doubling",
    .summary = "gradients are summed by halves in log2 P steps, then gathered in as many",
    .source = "Rabenseifner, Optimization of collective reduction operations, ICCS 2004",
    .formula = "E[X_{P:P}] + 2 log2 P alpha + 2(P-1)/P S/B + (P-1)/P S gamma; P not a power of two: 2(alpha + S/B) + S gamma more",
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    ALLREDUCE_ROUNDS(&allreduce_halving_doubling),
};
