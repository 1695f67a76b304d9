/* harness/program_rounds.h: from what outside programs reported to the rounds of a trial. Pure.
 *
 * Rounds are those of the nodes that reported any; they must have reported as many. A round ends with the last of their marks, as
 * among agents (rounds.h). Where nobody reported a round, the whole run is the trial's one round, and a node's mark is its exit. */
#ifndef LAGGARD_HARNESS_PROGRAM_ROUNDS_H
#define LAGGARD_HARNESS_PROGRAM_ROUNDS_H

#include "results/store.h"

struct arena;
struct err;

/* ends_ns: when each node's program ended, after the trial's start. Sets the marks of nodes[] where nobody reported one. Refuses
 * (ERR_TRIAL) different numbers of rounds, reports that hold warm-up rounds alone, and spans of rounds that did not come. */
int program_rounds(struct node_result *nodes, int node_count, const char *const *names, const int64_t *ends_ns, int warmup_rounds,
                   struct arena *arena, const struct round_summary **rounds, int *round_count, struct err *err);

#endif
