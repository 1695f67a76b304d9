/* harness/cpu_limit_plan.h: which nodes of a cell's network are limited to how much of the processors. Pure. */
#ifndef LAGGARD_HARNESS_CPU_LIMIT_PLAN_H
#define LAGGARD_HARNESS_CPU_LIMIT_PLAN_H

#include "schemas/settings.h"
#include "schemas/topology.h"

struct err;

struct cpu_limit_fault { /* which entry cannot be, and which of its nodes says so; -1: all of it */
    int entry, node;
};
/* limits: one a host, processors 0 where there is none. Refuses (ERR_USAGE) nodes that are not there, routers, and nodes that come
 * twice. */
int cpu_limit_plan(const struct settings *settings, const struct topology *topology, struct cpu_limit *limits,
                   struct cpu_limit_fault *fault, struct err *err);

#endif
