/* netem/relay.h: engine `relay`: a delay line in user space between pairs of TAP devices.
 *
 * Theory of operation. Each link that needs delay is a pair of TAP devices (IFF_VNET_HDR, offloads on), one in each end's
 * namespace. The rate is tbf's on each TAP's egress, so that what the relay reads is already shaped. One process reads a packet,
 * gives it the deadline max(previous deadline, arrival + delay), and writes it to the other TAP when the deadline has come; packets
 * keep their order. Arrival is taken as soon as the packet can be read; deadlines are logical, so lateness never adds up along a
 * path. Where a rate is set, what tbf's full bucket lets through at once is spread over the time that it takes at the rate
 * (relay_pace.c), so that a short message after silence takes as long as its bytes ask; no packet is held for this longer than two
 * buckets and itself take.
 *
 * Impairments (impairment.h) are decided when a packet comes, before it is kept: a lost packet takes no room, a duplicate is a
 * packet of its own, jitter is part of the deadline and keeps order as everything does, and a reordered packet is written at once,
 * in front of those that are still held. All settings can change between two packets: those that are held keep their deadlines, the
 * ones behind them leave no sooner, and the random streams go on. What nobody can see on a wire is not there: a large packet counts
 * as one, so that a direction with probabilities must get packets of one frame (shaping.h).
 *
 * Packets in flight lie end to end in one ring of bytes a direction, sized before the first packet: rate x (delay + 10 ms) plus
 * headers. Nothing is allocated afterwards. A full ring or a refused write is counted, never silent. The bias from wake-up latency
 * is measured before the first packet and learned further while running; it is taken off the deadlines, so that the delay is right
 * as a program at each end sees it. A packet never leaves before it came, and each of the three wake-ups on its way (ours when it
 * comes, ours at the deadline, the receiver's) takes off at most 200 us. */
#ifndef LAGGARD_NETEM_RELAY_H
#define LAGGARD_NETEM_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schemas/topology.h"

struct err;

enum { RELAY_LATENESS_BUCKETS = 512 }; /* log-linear: 8 buckets an octave from 1 us */

/* One direction's counters, in memory shared between relay and caller; written by the relay only. */
struct relay_counters {
    uint64_t packets, bytes;                         /* written; frames without the virtio header, a GSO packet is one */
    uint64_t lost, duplicated, corrupted, reordered; /* as asked: read + duplicated = packets + lost + ring_full + write_refused */
    uint64_t ring_full, write_refused, read_failed;  /* lost: packets, packets, read errors */
    int64_t lateness_max_ns;                         /* of a packet's write after its deadline, the bias taken off */
    uint64_t lateness[RELAY_LATENESS_BUCKETS];
};
int64_t relay_lateness_quantile_ns(const struct relay_counters *counters, double quantile); /* -1 without packets */

struct relay_direction { /* packets read from one port are written to the other */
    int64_t delay_ns;
    uint64_t rate_bps; /* what tbf is set to: sizes the ring and spreads bursts; 0: not limited */
    uint64_t queue_bytes;
    uint32_t overhead_bytes; /* what a frame takes of the rate beyond its own bytes */
    struct impairments impairments;
    /* Of one that changes, else 0: the ring is sized for the most that can come. */
    uint64_t rate_most_bps;
    int64_t delay_most_ns;
    bool changes;
};
struct relay_link {
    int port[2];                         /* descriptors of the two TAPs: [0] at link.from, [1] at link.to */
    struct relay_direction direction[2]; /* [0]: from port 0 to port 1 */
    uint64_t seed;                       /* with the number, of the impairments' random streams */
    uint32_t number;
};

/* Bytes of shared memory for `link_count` links; [2 * link + direction] counters follow each other. */
size_t relay_shared_bytes(int link_count);

/* Runs until the control descriptor, one of a pair of packet sockets, is closed by its other end (returns 0) or it fails. To be
 * called in a process of its own (it starts a thread), with nonblocking ports. Measures wake-ups for about 11 ms, then writes one
 * byte to `control_fd`: packets flow. Takes SCHED_FIFO and timer slack 1 ns where allowed; leaves SCHED_FIFO while it has no time
 * left to sleep. */
int relay_run(const struct relay_link *links, int link_count, struct relay_counters *counters, int control_fd, struct err *err);

/* On the other end of the control descriptor, once that byte has come: has a direction be another from its next packet on, or,
 * `down`, lose every packet. Waits for the relay's answer, which is what it then has; a difference is an error. The ring stays as
 * large as it is. A jitter_table must be memory that was there before the relay's process. */
int relay_change(int control_fd, int link, int direction, const struct relay_direction *to, bool down, struct err *err);

#endif
