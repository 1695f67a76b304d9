/* harness/environment.h: facts about the host and the build that are stored with a campaign: those that affect performance make the
 * fingerprint by which campaigns compare, the others inform. */
#ifndef LAGGARD_HARNESS_ENVIRONMENT_H
#define LAGGARD_HARNESS_ENVIRONMENT_H

#include "results/store.h"

struct arena;

/* Facts in the arena; values that this host does not offer are "unknown". */
void environment_collect(struct arena *arena, int argc, char **argv, const struct environment_fact **facts, int *count);

/* What the processors did since boot, in ticks: two looks tell what share of a trial a hypervisor took away. */
struct environment_load {
    long long stolen_ticks, total_ticks; /* both 0: not known */
};
struct environment_load environment_load(void);
double environment_stolen_share(struct environment_load before, struct environment_load after); /* 0 when not known */

#endif
