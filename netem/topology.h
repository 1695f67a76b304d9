/* netem/topology.h: settings to the graph of a network, its addresses and the paths through it. */
#ifndef LAGGARD_NETEM_TOPOLOGY_H
#define LAGGARD_NETEM_TOPOLOGY_H

#include <stddef.h>
#include <stdint.h>

#include "schemas/settings.h"
#include "schemas/topology.h"

struct arena;
struct err;
struct text;

/* Host i owns 10.64.0.1 + i, router i 10.127.255.254 - i. A process in a place's namespace may bind to its address, and to the
 * device of one of its links: then it reaches the place at the other end over exactly that link, whatever the routes prefer. */
#define TOPOLOGY_FIRST_ADDRESS UINT32_C(0x0a400001)  /* 10.64.0.1 */
#define TOPOLOGY_ROUTER_ADDRESS UINT32_C(0x0a7ffffe) /* 10.127.255.254 */

/* One host for each worker (w0, w1 ...), then one for each server (s0 ...). The graph lives in the arena. Refuses (ERR_USAGE) what
 * has no addresses or could not work: more hosts than addresses, a queue below one frame, a delay over what an engine holds. */
int topology_build(const struct settings *settings, int workers, int servers, struct arena *arena, struct topology *topology,
                   struct err *err);

/* The setting that is at fault when no topology can be built of them: its path, and which entry of a list (-1: no list). */
struct topology_fault {
    const char *path;
    int index;
};
int topology_build_or_fault(const struct settings *settings, int workers, int servers, struct arena *arena,
                            struct topology *topology, struct topology_fault *fault, struct err *err);

/* A host's own address; a router's, on its loopback device. */
uint32_t topology_address(const struct topology *topology, int place);

/* The way from host to host: the sum of the one-way delays and the narrowest rate (0: not limited) along the route
 * (netem/routes.h). */
struct topology_path {
    int64_t delay_ns;
    uint64_t rate_bps;
    int hops; /* links */
};
struct topology_path topology_path(const struct topology *topology, int from_host, int to_host);

/* Payload share of a rate: (mtu - 52) / (mtu + 14), TCP over IPv4 with timestamps, frames without preamble, FCS and gap; with
 * framing l1 these take 24 bytes more of each frame. */
double topology_payload_share(int mtu, enum framing_kind framing);

/* A canonical text of everything that decides how the network behaves: equal texts, equal networks. Used to measure each distinct
 * topology once a campaign. */
void topology_describe(const struct topology *topology, struct text *out);

#endif
