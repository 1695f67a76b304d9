/* harness/rounds.h: from the nodes' marks to the rounds of a trial. Pure.
 *
 * A synchronous round lasts from the moment when the last node holds a model to the moment when the last node holds the next; round
 * 0 begins at the trial's start. */
#ifndef LAGGARD_HARNESS_ROUNDS_H
#define LAGGARD_HARNESS_ROUNDS_H

#include "results/store.h"

struct err;

/* Fills summaries[0..round_count). Refuses (ERR_TRIAL) when a node did not mark a round, marked one twice or marked it before the
 * one before; names are for the sentence. */
int rounds_summarise(const struct node_result *nodes, int node_count, const char *const *names, int round_count, int warmup_rounds,
                     struct round_summary *summaries, struct err *err);

#endif
