/* agents/schemes/ring.c: `ring`, synchronous training with a ring all-reduce of every gradient.
 * The algorithm, an example and the bounds: agents/collectives/ring_allreduce.c; the rounds: allreduce_rounds.c. */
#include "agents/schemes/allreduce_rounds.h"
#include "agents/schemes/schemes.h"

static const struct param params[] = {ALLREDUCE_PARAM_SEGMENT, ALLREDUCE_PARAMS};

const struct scheme scheme_ring = {
    .name = "ring",
    .summary = "every worker sums all gradients with its neighbours in a ring; no server",
    .source = "Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, JPDC 69 (2009); "
              "Gibiansky, Bringing HPC techniques to deep learning (Baidu, 2017)",
    .formula = "E[X_{P:P}] + 2(P-1) alpha + 2(P-1)/P S/B + (P-1)/P S gamma for one segment a chunk; "
               "with m segments the exact recurrence: 2(P-1) s + alpha where s = S/(P B) >= alpha + s/m",
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    ALLREDUCE_ROUNDS(&allreduce_ring),
};
