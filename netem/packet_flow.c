/* packet_flow.c: one direction of one TCP connection as it passes a device.
 *
 * Sequence numbers are counted on beyond 32 bits, so that they compare. At the sender's own device they come in order, and whatever
 * lies below the highest has passed before. Further on, packets may be missing that were lost on the way: what fills such a hole
 * passes here for the first time, though its sender sends it again.
 *
 * Round trips follow Karn's rule without its gaps, as RFC 7323 has it: a timestamp comes back from the first segment that it
 * acknowledges. The kernel's clock for them ticks in milliseconds, so that many segments share one: the first that leaves with data
 * counts, and the first acknowledgement behind it. */
#include "netem/packet_flow.h"

#include <string.h>

#include "base/clock.h"

/* No window is larger: a number further away belongs to another connection between the same ports. */
#define WINDOW_MOST (INT64_C(1) << 30)
static const int64_t STAMP_LIFE_NS = 60 * NS_PER_S;

static void remove_hole(struct packet_flow *flow, int index)
{
    flow->hole_count--;
    memmove(&flow->holes[index], &flow->holes[index + 1], (size_t)(flow->hole_count - index) * sizeof(flow->holes[0]));
}

/* At `index`; when all are taken the lowest goes. */
static void insert_hole(struct packet_flow *flow, int index, int64_t begin, int64_t end)
{
    if (flow->hole_count == PACKET_FLOW_HOLES) {
        remove_hole(flow, 0);
        if (index > 0)
            index--;
    }
    memmove(&flow->holes[index + 1], &flow->holes[index], (size_t)(flow->hole_count - index) * sizeof(flow->holes[0]));
    flow->holes[index] = (struct packet_flow_range){begin, end};
    flow->hole_count++;
}

/* Takes [begin, end) out of the holes; returns how much of it there was. */
static int64_t fill_holes(struct packet_flow *flow, int64_t begin, int64_t end)
{
    int64_t filled = 0;
    for (int i = 0; i < flow->hole_count;) {
        struct packet_flow_range *hole = &flow->holes[i];
        int64_t from = hole->begin > begin ? hole->begin : begin, to = hole->end < end ? hole->end : end;
        if (from >= to) {
            i++;
            continue;
        }
        filled += to - from;
        struct packet_flow_range behind = {to, hole->end};
        hole->end = from;
        int next = i + 1;
        if (hole->begin >= hole->end)
            remove_hole(flow, next = i);
        if (behind.begin < behind.end) { /* the range ends here */
            insert_hole(flow, next, behind.begin, behind.end);
            break;
        }
        i = next;
    }
    return filled;
}

/* Forgets the connection before. Echoes of one of which nothing was told yet are this one's, told first. */
static void restart(struct packet_flow *flow, struct packet_flow begun)
{
    if (!flow->begun) {
        memcpy(begun.stamps, flow->stamps, sizeof(begun.stamps));
        begun.last_echo = flow->last_echo;
        begun.has_echo = flow->has_echo;
    }
    *flow = begun;
}

void packet_flow_begin(struct packet_flow *flow, uint32_t sequence)
{
    if (flow->has_initial && flow->initial == sequence)
        return;
    restart(flow, (struct packet_flow){.begun = true, .initial = sequence, .has_initial = true, .next = sequence});
}

uint32_t packet_flow_pass(struct packet_flow *flow, uint32_t sequence, uint32_t length)
{
    int64_t begin = flow->next + (int32_t)(sequence - (uint32_t)flow->next);
    if (!flow->begun || begin > flow->next + WINDOW_MOST || begin < flow->next - WINDOW_MOST) {
        restart(flow, (struct packet_flow){.begun = true, .next = sequence});
        begin = sequence;
    }
    int64_t end = begin + length;
    if (begin > flow->next)
        insert_hole(flow, flow->hole_count, flow->next, begin);
    int64_t known = end < flow->next ? end : flow->next, seen = 0;
    if (begin < known)
        seen = known - begin - fill_holes(flow, begin, known);
    if (end > flow->next)
        flow->next = end;
    return (uint32_t)seen;
}

static bool is_before(uint32_t left, uint32_t right)
{
    return (int32_t)(left - right) < 0;
}

/* May something else take its place? What a later echo has overtaken never comes back. */
static bool is_over(const struct packet_flow *flow, const struct packet_flow_stamp *stamp, int64_t now_ns)
{
    return stamp->state != STAMP_SENT || (flow->has_echo && is_before(stamp->value, flow->last_echo)) ||
           now_ns - stamp->time_ns > STAMP_LIFE_NS;
}

int64_t packet_flow_sent(struct packet_flow *flow, uint32_t timestamp, uint32_t sequence, int64_t time_ns)
{
    struct packet_flow_stamp *stamp = &flow->stamps[timestamp % PACKET_FLOW_STAMPS];
    if (stamp->state != STAMP_EMPTY && stamp->value == timestamp) {
        if (stamp->state != STAMP_ECHOED)
            return -1;
        if (is_before(sequence, stamp->sequence) && stamp->time_ns >= time_ns) {
            stamp->state = STAMP_DONE;
            return stamp->time_ns - time_ns;
        }
    } else if (!is_over(flow, stamp, time_ns)) {
        return -1;
    }
    *stamp = (struct packet_flow_stamp){timestamp, sequence, time_ns, STAMP_SENT};
    return -1;
}

int64_t packet_flow_echoed(struct packet_flow *flow, uint32_t timestamp, uint32_t acknowledgement, int64_t time_ns)
{
    struct packet_flow_stamp *stamp = &flow->stamps[timestamp % PACKET_FLOW_STAMPS];
    bool is_its = stamp->state != STAMP_EMPTY && stamp->value == timestamp;
    int64_t round_trip_ns = -1;
    if (is_its && stamp->state == STAMP_SENT && is_before(stamp->sequence, acknowledgement) && time_ns >= stamp->time_ns) {
        stamp->state = STAMP_DONE;
        round_trip_ns = time_ns - stamp->time_ns;
    } else if (!is_its && is_over(flow, stamp, time_ns)) {
        *stamp = (struct packet_flow_stamp){timestamp, acknowledgement, time_ns, STAMP_ECHOED};
    }
    if (!flow->has_echo || is_before(flow->last_echo, timestamp)) {
        flow->last_echo = timestamp;
        flow->has_echo = true;
    }
    return round_trip_ns;
}
