/* tests/unit/local_rig.h: runs of schemes with local steps in a hostile world, for their tests. */
#ifndef LAGGARD_TESTS_UNIT_LOCAL_RIG_H
#define LAGGARD_TESTS_UNIT_LOCAL_RIG_H

#include "tests/unit/memory_world.h"

enum { LOCAL_RIG_ROUNDS = 20, LOCAL_RIG_WORKERS_MAX = 8, LOCAL_RIG_WORKER_COUNTS = 5 };
extern const int local_rig_workers[LOCAL_RIG_WORKER_COUNTS];

/* LOCAL_RIG_ROUNDS rounds; adacomm's period stays as it is. */
struct scheme_setup local_rig_setup(const char *scheme, int workers, size_t count, double period);
void local_rig_set(struct scheme_setup *setup, const char *parameter, double value);
/* To its good end: all nodes have finished all rounds, and no buffer is left. */
void local_rig_run(struct memory_world *world, const struct scheme_setup *setup);

#endif
