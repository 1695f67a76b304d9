/* harness/rounds.h: from the nodes' marks to the rounds of a trial. Pure.
 *
 * A synchronous round lasts from the moment when the last node holds a model to the moment when the last node holds the next; round
 * 0 begins at the trial's start. */
#ifndef LAGGARD_HARNESS_ROUNDS_H
#define LAGGARD_HARNESS_ROUNDS_H

#include "results/store.h"

struct err;

struct rounds_shape { /* message sizes follow each other, with as many rounds each; after a pause the next one begins anew */
    int size_count, rounds_each, warmup_each;
    const int64_t *begins_ns; /* one a size, after the trial's start; NULL: there is one size, at 0 */
};

/* server: the node whose updates alone end rounds (SCHEME_ROUNDS_AT_SERVER), the others may leave some out; -1: there is none.
 * Fills summaries[0..size_count x rounds_each). Refuses (ERR_TRIAL) when a node did not mark a round, marked one twice or marked it
 * before the one before; names are for the sentence. */
int rounds_summarise(const struct node_result *nodes, int node_count, const char *const *names, const struct rounds_shape *shape,
                     int server, struct round_summary *summaries, struct err *err);

#endif
