/* harness/plan_paths.h: which way each pair of nodes takes, as lines of `laggard plan`. */
#ifndef LAGGARD_HARNESS_PLAN_PATHS_H
#define LAGGARD_HARNESS_PLAN_PATHS_H

#include <stdbool.h>

#include "schemas/topology.h"

struct text;

/* All pairs, or the first few dozen of them; then the bisection. */
void plan_paths_print(const struct topology *topology, bool all, struct text *out);

#endif
