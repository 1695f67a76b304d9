/* tests/unit/virtual_rig.h: a virtual world in a star for tests: hosts 0 .. n-1 around one router. */
#ifndef LAGGARD_TESTS_UNIT_VIRTUAL_RIG_H
#define LAGGARD_TESTS_UNIT_VIRTUAL_RIG_H

#include "agents/world_virtual.h"

struct virtual_rig {
    struct arena *arena;
    struct scheme_setup setup;
    struct workload_settings workload;
    struct distribution compute_time;
    struct virtual_network network;
    struct virtual_end *ends; /* 2 a host: to the router, back */
    struct virtual_options options;
    struct virtual_world *world;
};

/* Links without a limit and delay, packets of 1,000 bytes, compute times of 1 ms, a synthetic gradient of setup.parameter_count
 * floats, spans recorded. All may be changed before virtual_rig_run(). */
struct virtual_rig virtual_rig_new(struct scheme_setup setup);
void virtual_rig_links(struct virtual_rig *rig, double bytes_per_second, int64_t delay_ns);
void virtual_rig_make(struct virtual_rig *rig); /* the world alone, for what is to be done before it runs */
/* Makes the world, if it is not there, and runs it; a failure fails the test with its sentence. */
void virtual_rig_run(struct virtual_rig *rig);
int virtual_rig_try(struct virtual_rig *rig, struct err *err);
void virtual_rig_free(struct virtual_rig *rig);

#endif
