/* harness/virtual_demand.h: how much memory a trial in the virtual world takes, before it takes it. */
#ifndef LAGGARD_HARNESS_VIRTUAL_DEMAND_H
#define LAGGARD_HARNESS_VIRTUAL_DEMAND_H

#include <stdint.h>

#include "harness/host_limits.h"
#include "schemas/plan.h"

/* Rough: nodes and links, what is recorded, and, where values are carried, vectors and what is on its way. */
uint64_t virtual_demand_bytes(const struct cell *cell, const struct topology *topology);
/* ERR_HOST, with the estimate and what makes it less, where the host has not so much. */
int virtual_demand_check(const struct cell *cell, const struct topology *topology, const struct host_limits *limits,
                         struct err *err);

#endif
