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

/* The place of that name, else of that index (hosts first, then routers). ERR_USAGE with the nearest name. */
int topology_find(const struct topology *topology, const char *word, int *place, struct err *err);

/* A host's own address; a router's, on its loopback device. */
uint32_t topology_address(const struct topology *topology, int place);

/* What campaign files and command lines mean by a word; -1: nothing. A name wins over an index, everywhere. A place has its own
 * name, or (in a graph) that of a node's host; only nodes have indexes. */
int topology_find_link(const struct topology *topology, const char *word);
int topology_find_place(const struct topology *topology, const struct name_list *hosts, const char *word);
/* The same in any `count` records of `stride` bytes that begin with their names, the first `indexes` of which have indexes. */
int topology_find_word(const void *first, size_t stride, int count, int indexes, const char *word);

/* The way from host to host: the sum of the one-way delays and the narrowest rate (0: not limited) along the route
 * (netem/routes.h). */
struct topology_path {
    int64_t delay_ns;
    uint64_t rate_bps;
    int hops; /* links */
};
struct topology_path topology_path(const struct topology *topology, int from_host, int to_host);

/* What a direction becomes when it is changed: members that the patch does not name stay, and so do the marks of what is to come.
 * Refuses (ERR_USAGE) what could not be built so. */
int topology_change_direction(const struct direction *now, const struct link_patch *patch, int mtu, struct direction *then,
                              struct err *err);
#define TOPOLOGY_IN_FLIGHT_MOST_BYTES (UINT64_C(1) << 30) /* rate x delay of one direction */
uint64_t topology_in_flight_bytes(uint64_t rate_bps, int64_t delay_ns);

/* Payload share of a rate: (mtu - 52) / (mtu + 14), TCP over IPv4 with timestamps, frames without preamble, FCS and gap; with
 * framing l1 these take 24 bytes more of each frame. */
double topology_payload_share(int mtu, enum framing_kind framing);

/* A canonical text of everything that decides how the network behaves: equal texts, equal networks. Used to measure each distinct
 * topology once a campaign. */
void topology_describe(const struct topology *topology, struct text *out);

#endif
