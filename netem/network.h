/* network.h: the warden's view of the network it builds: one network namespace a place, two ends a link.
 *
 * Theory of operation. End e of link k (0: at link.from, 1: at link.to) sends direction e. Both ends are called l<k> in their
 * namespaces; their indexes are 2 + 4k + e, and 2 + 4k + 2 + e is the IFB (i<k>) of engine netem beside it; so an index tells its
 * end. The ends of a veth pair must not have the same index: the kernel would take them for no pair and put off its notice of the
 * carrier for up to a second. Everything but a place's creation happens in one batch a place. The order within matters: a qdisc
 * goes on before its device comes up, because replacing the qdisc of a running device waits for an RCU grace period, 10 ms and
 * more. */
#ifndef LAGGARD_NETEM_NETWORK_H
#define LAGGARD_NETEM_NETWORK_H

#include <stdint.h>

#include "netem/netlink.h"
#include "netem/relay.h"
#include "netem/shaping.h"
#include "schemas/topology.h"

struct err;

enum { ENDS = 2, NO_RELAY = -1 };

struct network_place {
    int namespace_fd;
    struct netlink *netlink;
    int first_end; /* 2 * link + end, or -1 */
};
struct network_end {
    struct shaping shaping;
    int next_end;                 /* at the same place, or -1 */
    struct netlink_device device; /* as asked */
};
struct network {
    const struct topology *topology;
    enum engine_kind engine; /* of the links that have a delay */
    struct network_place *places;
    struct network_end *ends; /* 2 * link + end */
    struct relay_link *relay; /* those links that the relay carries */
    int *relay_index;         /* one a link: into `relay`, or NO_RELAY */
    int relay_count;
    struct relay_counters *relay_counters; /* shared with the relay */
    struct link_counters *baseline;        /* one a link */
    struct relay_counters *relay_baseline;
};

/* The namespaces, and the TAPs, so that a relay can be started while the rest is made. Memory and files belong to the process: the
 * warden ends by exiting. */
int network_make(struct network *network, const struct topology *topology, enum engine_kind engine,
                 struct relay_counters *relay_counters, struct err *err);
/* The other links, addresses, routes and qdiscs; every device comes up. */
int network_configure(struct network *network, struct err *err);
/* Waits until every device runs, reads everything back and compares it with what was asked. */
int network_read_back(struct network *network, struct link_readback *readback, struct err *err);
/* Since the last network_reset(), or since the network was built. */
int network_count(struct network *network, struct link_counters *counters, struct err *err);
int network_reset(struct network *network, struct err *err);

/* What the parts of this module share. */
int network_configure_routes(struct network *network, int place, struct err *err); /* neighbours and routes, into the batch */
enum engine_kind network_link_engine(const struct network *network, int link);     /* ENGINE_NONE: a veth pair and nothing else */
int network_end_place(const struct network *network, int end);                     /* end: 2 * link + end */
static inline int network_end_index(int end)
{
    return 2 + 4 * (end / ENDS) + end % ENDS;
}
static inline int network_ifb_index(int end)
{
    return network_end_index(end) + ENDS;
}
/* The netem at an end: delay and impairments of the direction that arrives there. */
bool network_has_netem(const struct network *network, int end);
struct netem_setting;
struct netem_setting network_netem_setting(const struct network *network, int end);

#endif
