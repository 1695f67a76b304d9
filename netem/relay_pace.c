/* netem/relay_pace.c: when a packet is to leave.
 *
 * Theory of operation. tbf, in front of the relay, keeps the mean rate but lets a full bucket through at once: at 1 Gbit/s 20 kB
 * and more, so that a message of 64 KiB after silence would cross a third too fast. The relay sends such a burst out at the link's
 * rate: a virtual transmitter takes each packet when it has been delayed, and is busy with it for as long as its bytes take at the
 * rate, a little less so that it drains. A packet leaves when the transmitter is done with it, but for one full frame's time, so
 * that a single frame is held up as little as by tbf, and for WAKE_NS, which is about what sender and receiver need to wake up for
 * a message after silence.
 *
 * The transmitter's backlog has an end. What lies further back than two buckets cannot be the bucket's doing; it piled up while
 * this process was not running, has waited already, and is let go. */
#include <linux/virtio_net.h>
#include <string.h>

#include "base/clock.h"
#include "netem/relay_internal.h"
#include "netem/shaping.h"

enum { USUAL_MTU = 1500, USUAL_FRAME = 1514, BUCKETS_MOST = 2, TCP_OFFSET_BYTE = 12 };
#define WAKE_NS (15 * NS_PER_US)
#define FASTER 1.005 /* than the rate, which is tbf's to keep */

struct relay_pace relay_pace_for(const struct relay_direction *direction)
{
    struct relay_pace pace = {.delay_ns = direction->delay_ns};
    if (direction->rate_bps > 0) {
        struct shaping shaping = shaping_for_relay(shaping_for_rate(direction->rate_bps, direction->queue_bytes, USUAL_MTU));
        pace.byte_ns = 8 * (double)NS_PER_S / ((double)direction->rate_bps * FASTER);
        pace.overhead_ns = direction->overhead_bytes * pace.byte_ns;
        pace.ahead_ns = WAKE_NS + (int64_t)(USUAL_FRAME * pace.byte_ns);
        pace.backlog_most_ns = (int64_t)(BUCKETS_MOST * (double)shaping.burst_bytes * pace.byte_ns);
    }
    return pace;
}

/* None before its own time, none later than it was, one transmission after the other. */
static void hurry(struct relay_pace *pace, struct relay_ring *ring, int64_t now_ns)
{
    int64_t front_ns = now_ns;
    for (struct relay_packet *packet = relay_ring_oldest(ring); packet; packet = relay_ring_behind(ring, packet)) {
        int64_t due_ns = packet->deadline_ns - packet->held_ns;
        int64_t sent_ns = front_ns + (int64_t)(relay_wire_bytes(packet->data, packet->length) * pace->byte_ns + pace->overhead_ns);
        int64_t deadline_ns = due_ns > sent_ns ? due_ns : sent_ns;
        if (deadline_ns < packet->deadline_ns) {
            packet->held_ns = deadline_ns > due_ns ? (uint32_t)(deadline_ns - due_ns) : 0;
            packet->deadline_ns = deadline_ns;
        }
        front_ns = packet->deadline_ns > front_ns ? packet->deadline_ns : front_ns;
        pace->last_ns = packet->deadline_ns;
        pace->busy_until_ns = packet->deadline_ns + pace->ahead_ns;
    }
}

void relay_pace_change(struct relay_pace *pace, const struct relay_direction *direction, struct relay_ring *ring, int64_t now_ns)
{
    struct relay_pace before = *pace;
    *pace = relay_pace_for(direction);
    pace->busy_until_ns = before.busy_until_ns;
    pace->last_ns = before.last_ns;
    if (pace->byte_ns < before.byte_ns)
        hurry(pace, ring, now_ns);
}

int64_t relay_pace_deadline_ns(struct relay_pace *pace, int64_t now_ns, int64_t arrival_ns, int64_t early_ns, int64_t jitter_ns,
                               uint32_t wire_bytes)
{
    int64_t deadline_ns = arrival_ns + pace->delay_ns - early_ns, due_ns;
    if (deadline_ns < now_ns)
        deadline_ns = now_ns;
    due_ns = deadline_ns + jitter_ns > now_ns ? deadline_ns + jitter_ns : now_ns;
    if (pace->byte_ns > 0) {
        int64_t backlog_ns = pace->busy_until_ns - deadline_ns;
        if (backlog_ns < 0)
            backlog_ns = 0;
        else if (backlog_ns > pace->backlog_most_ns)
            backlog_ns = pace->backlog_most_ns;
        pace->busy_until_ns = deadline_ns + backlog_ns + (int64_t)(wire_bytes * pace->byte_ns + pace->overhead_ns);
        if (pace->busy_until_ns - pace->ahead_ns > deadline_ns)
            deadline_ns = pace->busy_until_ns - pace->ahead_ns;
    }
    deadline_ns += jitter_ns; /* last: the transmitter has nothing to do with it */
    if (deadline_ns < now_ns)
        deadline_ns = now_ns;
    if (deadline_ns < pace->last_ns)
        deadline_ns = pace->last_ns;
    pace->last_ns = deadline_ns;
    pace->held_ns = (uint32_t)(deadline_ns - due_ns < UINT32_MAX ? deadline_ns - due_ns : UINT32_MAX);
    return deadline_ns;
}

uint32_t relay_wire_bytes(const unsigned char *packet, uint32_t length)
{
    struct virtio_net_hdr header;
    memcpy(&header, packet, sizeof(header));
    const unsigned char *frame = packet + sizeof(header);
    uint32_t frame_bytes = length - (uint32_t)sizeof(header);
    bool tcp = (header.gso_type & ~VIRTIO_NET_HDR_GSO_ECN) == VIRTIO_NET_HDR_GSO_TCPV4 ||
               (header.gso_type & ~VIRTIO_NET_HDR_GSO_ECN) == VIRTIO_NET_HDR_GSO_TCPV6;
    if (!tcp || header.gso_size == 0 || (uint32_t)header.csum_start + TCP_OFFSET_BYTE >= frame_bytes)
        return frame_bytes;
    /* hdr_len is only a hint; the checksum starts where the TCP header does, and that says how long it is. */
    uint32_t header_bytes = header.csum_start + 4 * (uint32_t)(frame[header.csum_start + TCP_OFFSET_BYTE] >> 4);
    if (header_bytes >= frame_bytes)
        return frame_bytes;
    uint32_t segments = (frame_bytes - header_bytes + header.gso_size - 1) / header.gso_size;
    return frame_bytes + (segments - 1) * header_bytes;
}
