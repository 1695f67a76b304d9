/* agents/schemes/double_binary_tree.c: `double-binary-tree`, synchronous training: each half of the gradient goes up and down a
 * binary tree of its own, in segments. The algorithm: agents/collectives/double_binary_tree.c; the rounds: allreduce_rounds.c. */
#include "agents/schemes/allreduce_rounds.h"
#include "agents/schemes/schemes.h"

static const struct param params[] = {ALLREDUCE_PARAM_SEGMENT, ALLREDUCE_PARAMS};

const struct scheme scheme_double_binary_tree = {
    .name = "double-binary-tree",
    .summary = "halves of the gradient go up and down two binary trees at once, in segments",
    .source = "Sanders, Speck and Traff, Two-tree algorithms for full bandwidth broadcast, reduction and scan, Parallel Computing "
              "35 (2009)",
    .formula = "E[X_{P:P}] + about 2 log2 P alpha + 2 S/B",
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    ALLREDUCE_ROUNDS(&allreduce_double_binary_tree),
};
