/* netem/shaping.h: how a rate becomes tbf's numbers. Pure arithmetic; docs/emulator.md explains the choice.
 *
 * A GSO packet larger than the burst is cut into MTU packets by tbf (costly); a burst that holds a whole 64 KiB packet lets short
 * messages through far above the rate. So the sender's gso_max_size is lowered to about 80 us worth of the rate (at least one
 * segment, at most 64 KiB), and burst = gso_max_size + rate x 80 us of timer slack. That bucket makes up for late timers; so that
 * it does not pass at once after silence either, a second one (tbf's peakrate) lets out little more than one packet at a time, at
 * the rate and 2 %. Where one segment is worth more than 80 us there is none: the bucket is small enough. */
#ifndef LAGGARD_NETEM_SHAPING_H
#define LAGGARD_NETEM_SHAPING_H

#include <stdint.h>

#include "schemas/topology.h"

struct shaping {
    uint64_t rate_bytes_per_second;
    uint32_t burst_bytes;
    uint32_t limit_bytes; /* tbf's limit: queue + burst */
    uint32_t gso_max_bytes;
    uint32_t gso_max_segments;      /* 1: packets of one frame only; 0: as many as gso_max_bytes holds */
    uint32_t overhead_bytes;        /* counted for each packet beyond its own bytes */
    uint64_t peak_bytes_per_second; /* how fast the bucket may be emptied; 0: at once */
    uint32_t peak_burst_bytes;
    uint32_t queue_packets; /* 0: the queue is counted in bytes */
};
struct shaping shaping_for_rate(uint64_t rate_bps, uint64_t queue_bytes, int mtu);
/* What else a direction asks of its sender. Where something counts or happens packet by packet on the wire (probabilities, the gaps
 * of framing l1, a queue in packets), the sender's packets must be frames: gso_max_segs 1, which binds forwarded packets too, other
 * than gso_max_size. */
struct shaping shaping_for_direction(const struct direction *direction, int mtu);
/* In front of the relay, which spreads bursts itself (relay_pace.c): a bucket for timers that are 240 us late, and no peak. */
struct shaping shaping_for_relay(struct shaping shaping);
/* What a frame occupies of the rate beyond its own bytes: preamble 8, FCS 4, gap 12 with framing l1. */
uint32_t shaping_overhead_bytes(enum framing_kind framing);
/* The largest packet on the wire that the queue takes as it is; tbf cuts others when they come. */
uint32_t shaping_admits(const struct shaping *shaping, int mtu);
/* The same with buckets that let a packet of `bytes` pass: one that is larger than its bucket never leaves the queue. */
struct shaping shaping_with_room(struct shaping shaping, uint32_t bytes);
/* The queue where none is given: max(rate x 12 ms, 150 kB). */
uint64_t shaping_default_queue_bytes(uint64_t rate_bps);

#endif
