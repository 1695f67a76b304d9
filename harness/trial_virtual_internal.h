/* harness/trial_virtual_internal.h: a trial in the virtual world: what trial_virtual.c and trial_virtual_events.c share. */
#ifndef LAGGARD_HARNESS_TRIAL_VIRTUAL_INTERNAL_H
#define LAGGARD_HARNESS_TRIAL_VIRTUAL_INTERNAL_H

#include "agents/world_virtual.h"
#include "harness/trial_internal.h"

struct trial_virtual_state {
    struct virtual_world *world;
    const struct virtual_network *network;
    struct blob prepared;
    uint32_t told; /* rounds, to whoever watches */
};

#endif
