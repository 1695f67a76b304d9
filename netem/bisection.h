/* netem/bisection.h: how much the first half of the hosts can send to the second at once, whatever the routes: a cut's width. */
#ifndef LAGGARD_NETEM_BISECTION_H
#define LAGGARD_NETEM_BISECTION_H

#include <stdint.h>

#include "schemas/topology.h"

enum { BISECTION_LINKS_MOST = 20000 }; /* beyond, it takes too long to tell */

/* Bits a second from hosts 0 .. (n + 1) / 2 - 1 to the others, or back; UINT64_MAX: some way has no limit. At most
 * BISECTION_LINKS_MOST links. */
uint64_t bisection_bps(const struct topology *topology, bool back);

#endif
