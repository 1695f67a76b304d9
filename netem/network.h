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

#include "base/rng.h"
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
enum network_settling { NETWORK_SETTLED, NETWORK_DRAINING, NETWORK_VERIFYING };
struct network_end {
    struct direction sent; /* what leaves here, as asked: the topology's, until it is changed */
    bool down;
    bool lossy;             /* packets are to be lost on the way */
    struct shaping shaping; /* as the qdisc has it */
    struct shaping wanted;  /* as it is to have it, once it has settled (network_settle.c) */
    enum network_settling settling;
    uint32_t room_bytes; /* of the largest packet that may wait in the queue */
    uint64_t mark_bytes; /* tbf_bytes when all that was in the queue has left */
    int64_t look_ns, pause_ns, moved_ns;
    uint64_t tbf_bytes;           /* what has passed, when last read back */
    uint32_t tbf_backlog_bytes;   /* and what waited */
    int next_end;                 /* at the same place, or -1 */
    struct netlink_device device; /* as asked */
    struct rng netem_seeds;       /* of the netem that delays what leaves here */
    uint64_t netem_seed;
    uint32_t netem_drops_seen; /* netem has one counter for what it loses on purpose and what its limit drops: */
    uint64_t netem_lost, netem_unasked;
    bool running; /* the kernel has said so since it was made */
};
enum { SYSCTL_COUNT = 10, SYSCTL_VALUE_BYTES = 64 };
struct network_sysctl {                /* of one setting, as text */
    char born[SYSCTL_VALUE_BYTES];     /* what the kernel gave the first namespace made here; "" until read, or unknown */
    char standing[SYSCTL_VALUE_BYTES]; /* what the namespace made last has */
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
    struct network_sysctl sysctls[SYSCTL_COUNT];
    struct link_readback *changed; /* one a link: as read back after its last change */
    int *group;                    /* one a host: how the network is parted, where rule_priority is not 0 */
    uint32_t rule_priority;        /* of the rules that part it */
    bool local_rule_moved;
};

/* The namespaces, and the TAPs, so that a relay can be started while the rest is made. Memory and files belong to the process: the
 * warden ends by exiting. */
typedef int network_place_made(void *context, int place, struct err *err); /* a negative return ends the making */
int network_make(struct network *network, const struct topology *topology, enum engine_kind engine,
                 struct relay_counters *relay_counters, network_place_made *made, void *context, struct err *err);
/* The other links, addresses, routes and qdiscs; every device comes up. */
int network_configure(struct network *network, struct err *err);
/* Waits until every device runs, reads everything back and compares it with what was asked. */
int network_read_back(struct network *network, struct link_readback *readback, struct err *err);
/* Since the last network_reset(), or since the network was built. */
int network_count(struct network *network, struct link_counters *counters, struct err *err);
int network_reset(struct network *network, struct err *err);

/* Has what leaves an end be another direction, in place, and reads it back. `relay_control` is the relay's (relay.h). */
int network_change(struct network *network, int end, const struct direction *to, bool down, int relay_control, struct err *err);
/* Hosts of different groups (one number a host) no longer reach each other; NULL: all reach all. */
int network_separate(struct network *network, const int *group, struct err *err);

/* Changes go on for as long as large packets are in a queue that is to hold small ones. network_settle() when the time that it
 * returned (CLOCK_MONOTONIC; INT64_MAX: nothing is to be done) has come, or network_change() was called. */
int network_settle(struct network *network, int64_t *next_ns, struct err *err);

/* What the parts of this module share. */
struct routes_longest;
/* Of the namespace that the process has just made and is in: place `index`. Places come in order. */
int network_set_sysctls(struct network *network, int index, const struct routes_longest *longest, struct err *err);
int network_configure_routes(struct network *network, int place, struct err *err); /* neighbours and routes, into the batch */
enum engine_kind network_link_engine(const struct network *network, int link);     /* ENGINE_NONE: a veth pair and nothing else */
int network_end_place(const struct network *network, int end);                     /* end: 2 * link + end */
void network_shape_end(struct network *network, int end); /* what its direction asks of its device and its qdisc */
/* The most that a direction is or may change to. */
uint64_t network_rate_most_bps(const struct direction *built);
uint64_t network_queue_most_bytes(const struct direction *built);
struct relay_direction network_relay_direction(const struct network *network, int end);
int network_read_back_end(struct network *network, int end, struct err *err);  /* its device and qdiscs alone, into `changed` */
int network_read_back_rate(struct network *network, int end, struct err *err); /* its tbf alone */
/* Its tbf has got `shaping`, which has more room than `wanted`: begins to settle, at once where nothing waits. */
int network_begin_settling(struct network *network, int end, struct err *err);
/* Has the tbf of an end look at its queue again: a timer that was set at a lower rate would be late. */
void network_wake_rate(const struct network *network, int end);
static inline int network_end_index(int end)
{
    return 2 + 4 * (end / ENDS) + end % ENDS;
}
static inline int network_ifb_index(int end)
{
    return network_end_index(end) + ENDS;
}
struct netlink_device network_ifb(const struct network *network, int end);
/* The largest prefix that begins at `from` and holds no address behind `to`: how many bits of an address it leaves free. */
int network_prefix_bits(uint32_t from, uint32_t to);
/* The netem at an end: delay and impairments of the direction that arrives there; `down`: all is lost. */
bool network_has_netem(const struct network *network, int end);
struct netem_setting;
struct netem_setting network_netem_setting(const struct network *network, int end);

#endif
