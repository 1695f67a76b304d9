/* tbf.h: the rate of one direction: a token bucket at the root of the sender's device, written and read back with raw attributes.
 *
 * libnl's own tbf knows neither rates from 2^32 bytes a second on nor a burst in bytes (it truncates to ticks and derives too small
 * a largest packet). The kernel takes TCA_TBF_BURST in bytes, but reports only the ticks it became: what is read back is compared
 * within one tick. */
#ifndef LAGGARD_NETEM_TBF_H
#define LAGGARD_NETEM_TBF_H

#include <stdint.h>

#include "netem/shaping.h"

struct err;
struct netlink;
struct nl_msg;
struct nlattr;

/* Appends TCA_OPTIONS; 0, or negative when the message has no room. */
int tbf_put(struct nl_msg *message, const struct shaping *shaping);
/* Requests the qdisc at the device's root, and a queue below it where that is counted in packets. */
void tbf_add(struct netlink *netlink, int index, const char *device, const struct shaping *shaping);
/* Requests other settings of what tbf_add() made, in place: what waits goes on waiting, the bucket is filled. The queue is counted
 * as before, in bytes or in packets. */
void tbf_change(struct netlink *netlink, int index, const char *device, const struct shaping *shaping);
enum { TBF_QUEUE_PARENT = 0x10001 }; /* of the queue in packets: 1:1 */

struct tbf_state { /* as the kernel reports it */
    uint64_t rate_bytes_per_second;
    uint64_t peak_bytes_per_second;
    uint32_t burst_ticks, peak_burst_ticks, limit_bytes, overhead_bytes;
};
/* From TCA_OPTIONS of a dump. */
int tbf_parse(const struct nlattr *options, struct tbf_state *state, struct err *err);
/* The burst in bytes that the ticks stand for. */
uint32_t tbf_burst_bytes(const struct tbf_state *state);
/* A difference is an error that says what was asked and what is set. */
int tbf_compare(const struct shaping *asked, const struct tbf_state *state, const char *device, struct err *err);
/* The same for the packet queue, from its TCA_OPTIONS. */
int tbf_compare_packets(const struct shaping *asked, const struct nlattr *options, const char *device, struct err *err);

#endif
