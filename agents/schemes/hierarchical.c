/* agents/schemes/hierarchical.c: `hierarchical`, synchronous training: rings within groups of workers, and rings across the groups.
 * The algorithm: agents/collectives/hierarchical_allreduce.c; the rounds: allreduce_rounds.c. */
#include "agents/schemes/allreduce_rounds.h"
#include "agents/schemes/schemes.h"

static const struct param params[] = {
    {.name = "group",
     .unit = PARAM_COUNT,
     .minimum = 1,
     .maximum = 1000,
     .standard = 2,
     .help = "workers a group; must divide the number of workers"},
    ALLREDUCE_PARAMS,
};

const struct scheme scheme_hierarchical = {
    .name = "hierarchical",
    .summary = "rings within groups of workers, and rings across the groups",
    .source = "Jia et al., Highly scalable deep learning training system with mixed-precision, 2018",
    .formula = "E[X_{P:P}] + 2(G-1)(alpha + S/(G B)) + 2(M-1)(alpha + S/(G M B)), M = P/G",
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    ALLREDUCE_ROUNDS(&allreduce_hierarchical),
};
