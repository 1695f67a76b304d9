/* harness/trial_setup.h: what each agent is told: SETUP messages out of a cell and its network. Pure. */
#ifndef LAGGARD_HARNESS_TRIAL_SETUP_H
#define LAGGARD_HARNESS_TRIAL_SETUP_H

#include "harness/forecast.h"
#include "schemas/control.h"
#include "schemas/plan.h"

struct arena;

enum { AGENT_PORT = 7700, DATASET_FD = 4 };

/* One complete setup a node, in the arena. forecast: links as asked. prepared: one a message size, of which nothing is copied;
 * NULL: nothing was. */
const struct control_setup *trial_setups(const struct cell *cell, const struct trial_plan *plan, const struct forecast *forecast,
                                         const struct blob *prepared, bool dataset_shared, struct arena *arena);

#endif
