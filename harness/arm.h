/* harness/arm.h: what an arm changes for the programs of its trials. */
#ifndef LAGGARD_HARNESS_ARM_H
#define LAGGARD_HARNESS_ARM_H

#include "schemas/plan.h"

struct arena;

/* The caller's environment with the arm's variables in place of those of the same name, NULL-terminated, with room for one more.
 * arm NULL: the caller's alone. */
char **arm_environment(struct arena *arena, const struct arm *arm);

#endif
