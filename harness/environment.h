/* harness/environment.h: facts about the host and the build that are stored with a campaign: those that affect performance make the
 * fingerprint by which campaigns compare, the others inform. */
#ifndef LAGGARD_HARNESS_ENVIRONMENT_H
#define LAGGARD_HARNESS_ENVIRONMENT_H

#include "results/store.h"

struct arena;

/* Facts in the arena; values that this host does not offer are "unknown". */
void environment_collect(struct arena *arena, int argc, char **argv, const struct environment_fact **facts, int *count);

/* Time stolen by the hypervisor and run-queue pressure, for before and after. */
struct environment_load {
    double load_average;
    long long steal_ticks;
};
struct environment_load environment_load(void);

#endif
