/* virtual_links.c: turns of flows at their sender's link, queues, and the way of segments from link to link; see virtual_internal.h
 * for the rules.
 *
 * Losses. A packet that an end loses is sent again when its sender learns of it: after the round trip of its path, or, where no
 * later packet of the same message tells, after least_repeat_ns. The segment comes later by that, the end is busy with the packets
 * once more, and they may be lost again. What an end keeps losing is tried again as if the end was down.
 *
 * Ends that are down. TCP tries again, twice as late each time, and gives up GIVE_UP_NS after the first time, as Linux does after
 * tcp_retries2: the trial fails.
 *
 * Queues. What TCP has in flight follows the acknowledgements, so a long message does not overflow a queue in the long run: what
 * finds it full waits at its sender, which changes no time here. A message that is sent whole before the first acknowledgement
 * (INITIAL packets) does: it is dropped and comes again after least_repeat_ns; then it waits for room. The sender's own link drops
 * nothing: there the kernel makes the sender wait. */
#include <math.h>

#include "agents/virtual_internal.h"
#include "base/arena.h"

enum { SEGMENT_MOST = 1 << 20, SEGMENTS_WANTED = 64 };
enum {
    INITIAL = 10,      /* packets of TCP's first window */
    TELLING = 3,       /* packets behind a lost one that make TCP send it again at once */
    REPEATS_MOST = 16, /* of one segment at one end */
    REFUSALS_MOST = 9, /* after which the wait no longer doubles */
};
static const double NS_PER_SECOND = 1e9;
static const int64_t GIVE_UP_NS = 924600000000; /* 200 ms, doubled up to 2 minutes: Linux's 15 repeats */

void virtual_change(struct virtual_world *world, int number, const struct virtual_end *then, bool down)
{
    struct end *end = &world->ends[number];
    end->asked = *then;
    end->down = down;
    end->ns_per_byte = isinf(then->bytes_per_second) ? 0 : NS_PER_SECOND / then->bytes_per_second;
    end->packet_ns = (int64_t)rint(world->network->packet_bytes * end->ns_per_byte);
}

void virtual_links_init(struct virtual_world *world)
{
    const struct virtual_network *network = world->network;
    world->ends = arena_new_array(world->options.arena, struct end, (size_t)network->end_count);
    for (int i = 0; i < network->end_count; i++) {
        virtual_change(world, i, &network->ends[i], false);
        world->ends[i].first = world->ends[i].last = NONE;
    }
    world->free_segment = NONE;
}

static uint32_t new_segment(struct virtual_world *world)
{
    uint32_t index = world->free_segment;
    if (index != NONE) {
        world->free_segment = world->segments[index].parcel;
        return index;
    }
    if (world->segment_count == world->segment_capacity)
        world->segments = grow(world->segments, &world->segment_capacity, sizeof(*world->segments));
    return (uint32_t)world->segment_count++;
}

void virtual_links_free_segment(struct virtual_world *world, uint32_t segment)
{
    world->segments[segment].parcel = world->free_segment;
    world->free_segment = segment;
}

static int64_t transmission_ns(const struct end *end, uint32_t bytes)
{
    return (int64_t)rint(bytes * end->ns_per_byte);
}

static int packets_of(const struct virtual_world *world, size_t bytes)
{
    const size_t packet = (size_t)world->network->packet_bytes;
    return bytes == 0 ? 1 : (int)((bytes + packet - 1) / packet);
}

static int next_end(const struct virtual_world *world, int place, int host)
{
    return world->network->next_end(world->network->context, place, host);
}

static int64_t latency_ns(const struct virtual_world *world, int from, int to)
{
    int64_t sum_ns = 0;
    for (int end; from != to && (end = next_end(world, from, to)) >= 0; from = world->ends[end].asked.far)
        sum_ns += world->ends[end].asked.delay_ns;
    return sum_ns;
}

/* Until the sender of a lost packet has sent it again. */
static int64_t repeat_ns(const struct virtual_world *world, const struct parcel *parcel, bool told)
{
    int64_t trip_ns =
        latency_ns(world, parcel->source, parcel->destination) + latency_ns(world, parcel->destination, parcel->source);
    return told || trip_ns > world->network->least_repeat_ns ? trip_ns : world->network->least_repeat_ns;
}

/* What this end does to the segment beyond rate and delay: how much later it comes. False: it never does. */
static bool impair(struct virtual_world *world, int number, const struct segment *segment, int packets, int64_t *much_ns)
{
    const struct virtual_network *network = world->network;
    const struct parcel *parcel = &world->parcels[segment->parcel];
    struct end *end = &world->ends[number];
    int64_t later_ns = 0, jitter_ns = 0;
    int wanted = packets;
    for (int repeat = 0; wanted > 0 && repeat < REPEATS_MOST; repeat++) {
        struct virtual_fate fate = {0};
        network->impair(network->context, number, wanted, &fate);
        if (repeat == 0)
            jitter_ns = fate.extra_ns;
        if (fate.lost > 0) {
            const bool told = packets - fate.lost >= TELLING || parcel->unsent > 0;
            later_ns += repeat_ns(world, parcel, told && repeat == 0) << (told || repeat == 0 ? 0 : 1);
            end->free_ns += fate.lost * end->packet_ns;
            end->counters.lost += (uint64_t)fate.lost;
        }
        wanted = fate.lost;
    }
    *much_ns = later_ns + (end->asked.delay_ns + jitter_ns > 0 ? jitter_ns : -end->asked.delay_ns);
    return wanted == 0;
}

/* What would be lost waits until TCP tries again: twice as long each time. */
static void refuse(struct virtual_world *world, uint32_t index, int64_t ready_ns)
{
    struct segment *segment = &world->segments[index];
    const struct parcel *parcel = &world->parcels[segment->parcel];
    const int64_t wait_ns = repeat_ns(world, parcel, false) << segment->refused;
    if (segment->refused == 0)
        segment->refused_ns = ready_ns;
    else if (ready_ns - segment->refused_ns >= GIVE_UP_NS) {
        virtual_fail(world,
                     "TCP gave up a message from node %d to node %d: for %.0f s nothing came over a link on its way; end the "
                     "outage or the partition earlier, or lose less",
                     parcel->source, parcel->destination, (double)(ready_ns - segment->refused_ns) / NS_PER_SECOND);
        return;
    }
    segment->refused += segment->refused < REFUSALS_MOST;
    segment->last_ns = ready_ns + wait_ns;
    moments_add(&world->moments, segment->last_ns, MOMENT_HOP, index, 0);
}

static bool is_cut(const struct virtual_world *world, const struct end *end, const struct parcel *parcel)
{
    return end->down || (world->groups && world->groups[parcel->source] != world->groups[parcel->destination]);
}

/* The segment goes over this end as soon as it is free. come_ns: when its last packet is there. */
static void pass(struct virtual_world *world, int number, uint32_t index, int64_t ready_ns, int64_t come_ns)
{
    struct end *end = &world->ends[number];
    struct segment *segment = &world->segments[index];
    const int packets = packets_of(world, segment->bytes);
    if (is_cut(world, end, &world->parcels[segment->parcel])) {
        end->counters.lost += (uint64_t)packets;
        refuse(world, index, ready_ns);
        return;
    }
    const int64_t begin_ns = end->free_ns > ready_ns ? end->free_ns : ready_ns;
    const int64_t whole_ns = transmission_ns(end, segment->bytes);
    const int64_t packet_ns = packets > 1 ? end->packet_ns : whole_ns;
    int64_t ended_ns = begin_ns + whole_ns;
    if (ended_ns < come_ns + packet_ns)
        ended_ns = come_ns + packet_ns;
    end->free_ns = begin_ns + whole_ns;
    int64_t first_ns = begin_ns + packet_ns + end->asked.delay_ns, last_ns = ended_ns + end->asked.delay_ns;
    if (end->asked.impaired) {
        int64_t later_ns;
        if (!impair(world, number, segment, packets, &later_ns)) {
            refuse(world, index, ready_ns + later_ns);
            return;
        }
        first_ns += later_ns;
        last_ns += later_ns;
        if (first_ns < end->out_ns && later_ns < 0) { /* nothing overtakes */
            last_ns += end->out_ns - first_ns;
            first_ns = end->out_ns;
        }
        end->out_ns = first_ns;
    }
    end->counters.packets += (uint64_t)packets;
    end->counters.bytes += segment->bytes;
    struct parcel *parcel = &world->parcels[segment->parcel];
    segment->place = end->asked.far;
    segment->last_ns = last_ns;
    if (segment->place != parcel->destination) {
        moments_add(&world->moments, first_ns, MOMENT_HOP, index, 0);
        return;
    }
    if (parcel->first_ns < 0 || first_ns < parcel->first_ns)
        parcel->first_ns = first_ns;
    moments_add(&world->moments, last_ns, MOMENT_ARRIVE, index, 0);
}

static uint32_t turn_bytes(const struct virtual_world *world, const struct parcel *parcel)
{
    size_t bytes = world->options.segment_bytes;
    if (bytes == 0) {
        const size_t least = (size_t)INITIAL * (size_t)world->network->packet_bytes;
        bytes = parcel->length / SEGMENTS_WANTED;
        bytes = bytes < least ? least : bytes > SEGMENT_MOST ? SEGMENT_MOST : bytes;
    }
    return (uint32_t)(parcel->unsent < bytes ? parcel->unsent : bytes);
}

static void wait_for_turn(struct virtual_world *world, uint32_t number)
{
    struct flow *flow = &world->flows[number];
    struct end *end = &world->ends[flow->end];
    flow->waiting = true;
    flow->next = NONE;
    if (end->first == NONE)
        end->first = number;
    else
        world->flows[end->last].next = number;
    end->last = number;
}

/* The end is free of its own place's segments: the flow that waited longest sends one. */
static void take_turn(struct virtual_world *world, int number)
{
    struct end *end = &world->ends[number];
    const uint32_t flow_number = end->first, index = new_segment(world);
    struct flow *flow = &world->flows[flow_number];
    const uint32_t parcel_number = flow->sending;
    struct parcel *parcel = &world->parcels[parcel_number];
    end->first = flow->next;
    flow->waiting = false;
    const uint32_t bytes = turn_bytes(world, parcel);
    int64_t begin_ns = end->free_ns > world->now_ns ? end->free_ns : world->now_ns;
    if (begin_ns < parcel->ready_ns)
        begin_ns = parcel->ready_ns;
    if (parcel->unsent == parcel->length)
        parcel->begin_ns = begin_ns;
    parcel->unsent -= bytes;
    world->segments[index] = (struct segment){.parcel = parcel_number, .bytes = bytes, .place = parcel->source};
    end->busy = true;
    const bool last = parcel->unsent == 0;
    end->flow = flow_number;
    if (last)
        flow->sending = parcel->next;
    /* Before the segment's own moments: of equal ones the departure comes first. */
    moments_add(&world->moments, begin_ns + transmission_ns(end, bytes), MOMENT_TURN, (uint32_t)number,
                last ? parcel_number : NONE);
    pass(world, number, index, begin_ns, begin_ns);
}

void virtual_links_turn(struct virtual_world *world, int number)
{
    struct end *end = &world->ends[number];
    const struct flow *flow = &world->flows[end->flow];
    end->busy = false;
    if (flow->sending != NONE && !flow->waiting) /* behind those that came meanwhile */
        wait_for_turn(world, end->flow);
    if (end->first != NONE)
        take_turn(world, number);
}

void virtual_links_send(struct virtual_world *world, uint32_t parcel)
{
    const uint32_t number = world->parcels[parcel].flow;
    struct flow *flow = &world->flows[number];
    if (flow->sending != NONE)
        return; /* behind others of its flow */
    flow->sending = parcel;
    const struct end *end = &world->ends[flow->end];
    if (!end->busy || end->flow != number) /* else its turn ends first */
        wait_for_turn(world, number);
    if (!end->busy)
        take_turn(world, flow->end);
}

/* Whether there is no room for a message that nothing holds back. */
static bool overflows(const struct virtual_world *world, const struct end *end, const struct parcel *parcel)
{
    const int64_t backlog_ns = end->free_ns - world->now_ns;
    return end->asked.queue_bytes > 0 && end->ns_per_byte > 0 && backlog_ns > 0 &&
           parcel->length <= (size_t)INITIAL * (size_t)world->network->packet_bytes &&
           (double)backlog_ns / end->ns_per_byte + (double)parcel->length > (double)end->asked.queue_bytes;
}

void virtual_links_hop(struct virtual_world *world, uint32_t index)
{
    struct segment *segment = &world->segments[index];
    const struct parcel *parcel = &world->parcels[segment->parcel];
    const int number = next_end(world, segment->place, parcel->destination);
    struct end *end = &world->ends[number];
    if (!segment->repeated && segment->place != parcel->source && overflows(world, end, parcel)) {
        const int64_t wait_ns = repeat_ns(world, parcel, false);
        segment->repeated = true;
        segment->last_ns += wait_ns;
        end->counters.queue_drops += (uint64_t)packets_of(world, segment->bytes);
        moments_add(&world->moments, world->now_ns + wait_ns, MOMENT_HOP, index, 0);
        return;
    }
    pass(world, number, index, world->now_ns, segment->last_ns);
}
