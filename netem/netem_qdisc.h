/* netem_qdisc.h: engine `netem`: the kernel's delay line, on an IFB at the receiver's ingress.
 *
 * Theory of operation. At the sender's egress netem would hide the queue from TCP, at a router's egress it would mix senders. So
 * the receiver's device gets a clsact whose ingress filter (u32, matches everything) redirects each packet to an IFB device of its
 * own; the IFB's root qdisc is netem; when the delay is over, the packet goes on as if it had just come in from the receiver's
 * device.
 *
 * Every message carries the complete set of settings: the kernel keeps what a change does not mention. So jitter comes with a table
 * always, uniform too, and what is off is sent as 0; only the loss model is reset by its absence.
 *
 * netem sorts packets by the time at which they are to leave, so that jitter would reorder them; but where it has a rate, a packet
 * leaves no sooner than the one in front. With jitter, and where the delay may be lowered while packets are under way, it gets a
 * rate at which a packet takes less than a nanosecond: order is kept, and nothing else changes. */
#ifndef LAGGARD_NETEM_NETEM_QDISC_H
#define LAGGARD_NETEM_NETEM_QDISC_H

#include <stdbool.h>
#include <stdint.h>

#include "schemas/topology.h"

struct err;
struct netlink;
struct nl_msg;
struct nlattr;

struct netem_setting {
    int64_t delay_ns;
    struct impairments impairments;
    uint32_t limit_packets;
    uint64_t seed; /* always sent; kernels before 6.6 ignore it and report none */
    bool changes;  /* so that order must be kept from one setting to the next */
};
/* The limit counts packets: what is in flight at the rate in the smallest packets, and what the sender's queue may send after
 * it. */
uint32_t netem_qdisc_limit(uint64_t rate_bps, int64_t delay_most_ns, uint64_t queue_bytes);

/* Appends TCA_OPTIONS; 0, or negative when the message has no room. */
int netem_qdisc_put(struct nl_msg *message, const struct netem_setting *setting);
/* Appends the TCA_OPTIONS of the filter: match everything, redirect to the egress of device `ifb_index`. */
int netem_qdisc_put_redirect(struct nl_msg *message, int ifb_index);
/* Requests clsact and filter on the receiver's device. */
void netem_qdisc_add_hook(struct netlink *netlink, int device_index, const char *device, int ifb_index);
/* Requests netem at the root of the IFB, which is still down. */
void netem_qdisc_add_delay(struct netlink *netlink, int ifb_index, const char *ifb, const struct netem_setting *setting);

/* Requests other settings of the one that is there; what is under way keeps its time. */
void netem_qdisc_change_delay(struct netlink *netlink, int ifb_index, const char *ifb, const struct netem_setting *setting);

struct netem_state { /* as the kernel reports it */
    int64_t delay_ns, jitter_ns;
    uint64_t rate_bytes_per_second;
    uint32_t limit_packets, loss, duplicate, gap, reorder, corrupt, jitter_correlation;
    uint32_t to_bad, to_good, keep_bad, loss_good; /* Gilbert-Elliott: p, r, h, 1-k */
    bool bursts, seeded;
    uint64_t seed;
};
int netem_qdisc_parse(const struct nlattr *options, struct netem_state *state, struct err *err);
int netem_qdisc_compare(const struct netem_setting *asked, const struct netem_state *state, const char *device, struct err *err);

#endif
