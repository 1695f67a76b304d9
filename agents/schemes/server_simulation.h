/* agents/schemes/server_simulation.h: updates of a server that does not wait for everyone, followed by a seeded computation. */
#ifndef LAGGARD_AGENTS_SCHEMES_SERVER_SIMULATION_H
#define LAGGARD_AGENTS_SCHEMES_SERVER_SIMULATION_H

#include "agents/schemes/server_rounds.h"

struct server_simulation {
    const struct scheme_setup *setup;
    const struct server_policy *policy;
    int quota;
    double work;                     /* vectors that the server works on for a gradient */
    double combine;                  /* and before an update */
    int steps;                       /* gradients that a worker computes before it pushes */
    bool bytes, latency, arithmetic; /* what of the network and the server takes time */
};

/* How many updates are followed, a matter of how much happens in one of them. 0: memory is short. */
uint64_t server_simulation_updates(const struct server_simulation *spec);
/* The mean of so many updates without the first tenth of them, the same draws for the same setup whatever takes time. NAN:
 * memory is short, or nothing happens any more. */
double server_simulation_update_ns(const struct server_simulation *spec, uint64_t updates);

#endif
