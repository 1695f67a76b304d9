/* netlink.h: route netlink in batches: links, addresses, neighbours, routes and qdiscs of one network namespace.
 *
 * Theory of operation. A socket belongs to the namespace it was opened in. Requests are appended to a batch; netlink_flush() sends
 * it in as few system calls as the kernel's buffers allow. The kernel works a batch off in order while sending, answers only
 * failures, and the last message of each piece asks for an acknowledgement: when that has come, everything before it is done. A
 * failed message does not stop the ones behind it; the first failure is the one reported, as a sentence that names device, setting
 * and the kernel's own words.
 *
 * Interface indexes are chosen by the caller (of both ends of a veth pair as well), so that nothing is looked up while building.
 * Messages are built with libnl's builders; attributes are raw, because libnl-route has no way to set most of those needed here
 * (gso_max_size, a peer's index, a route's congestion control, tbf's burst in bytes). */
#ifndef LAGGARD_NETEM_NETLINK_H
#define LAGGARD_NETEM_NETLINK_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct netlink;
struct nl_msg;
struct nlattr;

enum { NETLINK_NAME_BYTES = 16, NETLINK_MAC_BYTES = 6, LOOPBACK_INDEX = 1 };
#define NETLINK_ROOT UINT32_C(0xffffffff) /* TC_H_ROOT */
enum { PSCHED_TICK_NS = 64 };             /* the unit of qdisc times: the kernel's PSCHED_SHIFT since 2.6.31 */

/* In the calling thread's current network namespace. */
int netlink_open(struct netlink **netlink, struct err *err);
void netlink_cleanup(struct netlink **netlink); /* closes it; for cleanup() */

struct netlink_device {
    int index;
    char name[NETLINK_NAME_BYTES];
    uint8_t mac[NETLINK_MAC_BYTES];
    int mtu;
    uint32_t gso_max_bytes;                                /* 0: the driver's */
    uint32_t gso_ipv4_max_bytes;                           /* read only; 0 on kernels before 6.3 */
    uint32_t gso_max_segments;                             /* 0: the driver's; 1: every packet is one frame */
    uint32_t queue_packets;                                /* txqueuelen; 0: the driver's */
    bool running;                                          /* read only: up, with a carrier, and its qdisc active */
    uint64_t tx_packets, tx_bytes, tx_dropped, rx_dropped; /* read only */
};

/* Requests. `device` names the device in errors only; index chooses it. */
void netlink_add_veth(struct netlink *netlink, const struct netlink_device *end, const struct netlink_device *peer,
                      int peer_namespace);
void netlink_add_ifb(struct netlink *netlink, const struct netlink_device *device);
void netlink_set_device(struct netlink *netlink, const struct netlink_device *device); /* mac, mtu, gso, queue of one that exists */
void netlink_set_up(struct netlink *netlink, int index, const char *device);
/* Asks for the device and ignores the answer: kernels since 6.8 then take notice of its carrier at once. */
void netlink_notice_carrier(struct netlink *netlink, int index, const char *device);
void netlink_add_altname(struct netlink *netlink, int index, const char *device, const char *altname);
void netlink_add_address(struct netlink *netlink, int index, const char *device, uint32_t address, int prefix);
void netlink_add_neighbour(struct netlink *netlink, int index, const char *device, uint32_t address,
                           const uint8_t mac[NETLINK_MAC_BYTES]);

struct netlink_nexthop {
    int index;
    uint32_t gateway; /* on the link */
};
struct netlink_route {
    int index;
    const char *device;
    uint32_t destination; /* with prefix 0: the default route */
    int prefix;
    uint32_t gateway;               /* on the link, whatever the prefixes say; 0: the destination itself is the neighbour */
    uint32_t source;                /* preferred source address; 0: the kernel's choice */
    const char *congestion_control; /* NULL: the namespace's; locked against setsockopt otherwise */
    uint32_t metric;                /* among routes of one prefix, the lowest is used */
    const struct netlink_nexthop *next_hops; /* with a count: flows are shared between them; index and gateway do not count */
    int next_hop_count;
    int64_t rto_min_ns; /* 0: the kernel's; whole milliseconds, rounded up; locked */
};
void netlink_add_route(struct netlink *netlink, const struct netlink_route *route);
/* Has every connection look its route up again with its next packet, which is when it takes over what has changed of its device:
 * gso_max_size and gso_max_segs. */
void netlink_refresh_routes(struct netlink *netlink);

struct netlink_rule { /* packets from one prefix to one address are dropped silently */
    uint32_t priority, from, to;
    int from_prefix;
};
void netlink_add_rule(struct netlink *netlink, const struct netlink_rule *rule);
void netlink_delete_rule(struct netlink *netlink, const struct netlink_rule *rule);
/* From 0, where nothing can come before it. Once a namespace. */
void netlink_move_local_rule(struct netlink *netlink, uint32_t priority);

/* For qdiscs and filters: a message that its kind's file completes with attributes and gives back. `setting` is a static string for
 * errors ("rate (tbf)"). */
enum netlink_tc {
    NETLINK_QDISC,
    NETLINK_LARGE_QDISC, /* up to 48 KiB, for a table */
    NETLINK_FILTER,
    NETLINK_QDISC_CHANGE, /* of one that exists: it is never made anew, and keeps its packets and counters */
    NETLINK_LARGE_QDISC_CHANGE,
};
struct nl_msg *netlink_begin_tc(enum netlink_tc what, int index, uint32_t parent, uint32_t handle, uint32_t info, const char *kind);
void netlink_push(struct netlink *netlink, struct nl_msg *message, const char *device, const char *setting);

int netlink_flush(struct netlink *netlink, struct err *err);

/* Dumps: the callback gets every object of the namespace; a negative return stops and is passed on. */
typedef int netlink_device_callback(void *context, const struct netlink_device *device, struct err *err);
int netlink_dump_devices(struct netlink *netlink, netlink_device_callback *callback, void *context, struct err *err);
/* One alone; an error when there is none. */
int netlink_get_device(struct netlink *netlink, int index, netlink_device_callback *callback, void *context, struct err *err);

struct netlink_qdisc {
    int index;
    uint32_t parent, handle;
    const char *kind;
    const struct nlattr *options; /* NULL: none */
    uint64_t bytes, packets;
    uint32_t drops, backlog_bytes;
};
typedef int netlink_qdisc_callback(void *context, const struct netlink_qdisc *qdisc, struct err *err);
int netlink_dump_qdiscs(struct netlink *netlink, netlink_qdisc_callback *callback, void *context, struct err *err);
int netlink_get_qdisc(struct netlink *netlink, int index, uint32_t parent, netlink_qdisc_callback *callback, void *context,
                      struct err *err);

#endif
