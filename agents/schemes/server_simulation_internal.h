/* agents/schemes/server_simulation_internal.h: the state of the simulation in server_simulation.c (events), made and freed by
 * server_simulation_state.c. */
#ifndef LAGGARD_AGENTS_SCHEMES_SERVER_SIMULATION_INTERNAL_H
#define LAGGARD_AGENTS_SCHEMES_SERVER_SIMULATION_INTERNAL_H

#include "agents/schemes/server_lane.h"
#include "agents/schemes/server_simulation.h"
#include "agents/timetable.h"

struct peer {
    struct flight up, down;
    uint64_t version, told, done, step;
    int pushed;
    double mean_ns; /* of a gradient, where more are computed than drawn; 0: not known yet */
    bool waits, counted, owed;
    bool starved; /* would compute, but has no buffer free */
    bool covered; /* [group]: one of this group's workers is in the update being collected */
};
struct pending {
    int worker;
    uint64_t version;
    double at;
};
/* What happens to a worker, in its order at equal times; the server's one thing comes before all others. */
enum what { READY, UP_CROSSED, DOWN_CROSSED, MODEL_ARRIVED, GRADIENT_ARRIVED, KINDS };
enum { WORKED = 0 };

struct simulation {
    const struct scheme_setup *setup;
    const struct server_policy *policy;
    struct peer *clients;
    struct lane up, down;
    struct timetable next; /* crossings are the lanes' */
    double now, busy_until, add_ns, combine_ns;
    bool combining;          /* the update has its gradients, and is being made of them */
    struct pending *pending; /* a ring: arrived, not worked on */
    unsigned pending_first, pending_count, pending_capacity;
    int quota, collected;
    int *counted; /* whose gradients are in the update being collected */
    int counted_count;
    uint64_t least;          /* gradients that the slowest worker has finished, where the policy asks */
    int at_least;            /* workers with so many */
    int steps, load, group;  /* of a code: partitions a worker, workers that send the same */
    unsigned uncrossed_most; /* gradients of a worker */
    bool interrupts;
    uint64_t version;
};

static inline uint32_t thing(int worker, enum what what)
{
    return 1 + (uint32_t)worker * KINDS + what;
}

/* Nobody computes yet, nothing is under way. false: memory is short. Freed with server_simulation_free(), also after a failure. */
bool server_simulation_make(struct simulation *simulation, const struct server_simulation *spec);
void server_simulation_free(struct simulation *simulation);

#endif
