/* harness/environment.h: facts about the host and the build that are stored with a campaign: those that affect performance make the
 * fingerprint by which campaigns compare, the others inform. */
#ifndef LAGGARD_HARNESS_ENVIRONMENT_H
#define LAGGARD_HARNESS_ENVIRONMENT_H

#include "results/store.h"

struct arena;

/* Facts in the arena; values that this host does not offer are "unknown". */
/* message_ns: what a message costs (harness/message_cost.h); 0: not measured. */
void environment_collect(struct arena *arena, double message_ns, int argc, char **argv, const struct environment_fact **facts,
                         int *count);

#endif
