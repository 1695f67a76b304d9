/* harness/virtual_network.h: a topology as the virtual world takes it: rates of payload as in predictions, impairments as in the
 * emulator's own engine. */
#ifndef LAGGARD_HARNESS_VIRTUAL_NETWORK_H
#define LAGGARD_HARNESS_VIRTUAL_NETWORK_H

#include "agents/world_virtual.h"
#include "schemas/topology.h"

struct arena;

/* Lives in the arena; the topology must stay. Losses and jitter come from the topology's seed. */
const struct virtual_network *virtual_network_of(const struct topology *topology, struct arena *arena);
/* What an end that changes during a trial (struct direction's marks) is from now on; its losses and jitter follow at once. */
struct virtual_end virtual_network_change(const struct virtual_network *network, int end, const struct direction *then);

#endif
