/* network_state.c: reads back what the kernel has set, and counts what went through. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "netem/impairment.h"
#include "netem/netem_qdisc.h"
#include "netem/network.h"
#include "netem/tbf.h"

enum { NOTICES_A_BATCH = 16 };                       /* their answers have to fit into the socket's receive buffer */
#define RUNNING_PATIENCE_NS (INT64_C(30) * NS_PER_S) /* only a host far too busy needs more than milliseconds */
#define RUNNING_RETRY_NS (INT64_C(500) * NS_PER_US)

/* The walk over one place's dumps. Which of readback and counters is set tells what the walk is for. */
struct walk {
    struct network *network;
    int place;
    struct link_readback *readback;
    struct link_counters *counters;
    int expected, seen, running; /* devices and qdiscs */
};

/* The end that an index belongs to, or -1. */
static int end_of_index(const struct walk *walk, int index, bool *ifb)
{
    if (index < network_end_index(0))
        return -1;
    int link = (index - network_end_index(0)) / 4;
    if (link >= walk->network->topology->link_count)
        return -1;
    int end = ENDS * link + index % ENDS;
    *ifb = index == network_ifb_index(end);
    return network_end_place(walk->network, end) == walk->place ? end : -1;
}

static int check_device(void *context, const struct netlink_device *device, struct err *err)
{
    struct walk *walk = context;
    bool ifb;
    int end = end_of_index(walk, device->index, &ifb);
    if (end < 0)
        return 0;
    walk->seen++;
    walk->running += device->running ? 1 : 0;
    if (ifb)
        return 0;
    walk->network->ends[end].running = device->running;
    const struct netlink_device *asked = &walk->network->ends[end].device;
    if (device->mtu != asked->mtu)
        return err_set(err, ERR_HOST, "device %s was asked for an mtu of %d, but the kernel set %d", device->name, asked->mtu,
                       device->mtu);
    if (asked->gso_max_bytes > 0 && (device->gso_max_bytes != asked->gso_max_bytes ||
                                     (device->gso_ipv4_max_bytes > 0 && device->gso_ipv4_max_bytes != asked->gso_max_bytes)))
        return err_set(err, ERR_HOST, "device %s was asked for a gso_max_size of %u, but the kernel set %u (IPv4: %u)",
                       device->name, asked->gso_max_bytes, device->gso_max_bytes, device->gso_ipv4_max_bytes);
    if (asked->gso_max_segments > 0 && device->gso_max_segments != asked->gso_max_segments)
        return err_set(err, ERR_HOST, "device %s was asked for a gso_max_segs of %u, but the kernel set %u", device->name,
                       asked->gso_max_segments, device->gso_max_segments);
    walk->readback[end / ENDS].direction[end % ENDS].gso_max_bytes = device->gso_max_bytes;
    return 0;
}

static int check_tbf(struct walk *walk, int end, const struct netlink_qdisc *qdisc, struct err *err)
{
    struct network_end *self = &walk->network->ends[end];
    struct tbf_state state;
    self->tbf_bytes = qdisc->bytes;
    self->tbf_backlog_bytes = qdisc->backlog_bytes;
    if (tbf_parse(qdisc->options, &state, err) < 0 || tbf_compare(&self->shaping, &state, self->device.name, err) < 0)
        return -ERR_HOST;
    struct direction_readback *readback = &walk->readback[end / ENDS].direction[end % ENDS];
    readback->rate_bps = state.rate_bytes_per_second * 8;
    readback->burst_bytes = tbf_burst_bytes(&state);
    readback->limit_bytes = state.limit_bytes;
    return 0;
}

/* What has been dropped since it was last looked at, on purpose or not. */
static const struct network_end *note_netem_drops(struct walk *walk, int end, const struct netlink_qdisc *qdisc)
{
    struct network_end *far = &walk->network->ends[end ^ 1];
    *(far->lossy ? &far->netem_lost : &far->netem_unasked) += qdisc->drops - far->netem_drops_seen;
    far->netem_drops_seen = qdisc->drops;
    return far;
}

static int check_netem(struct walk *walk, int end, const struct netlink_qdisc *qdisc, struct err *err)
{
    struct netem_setting asked = network_netem_setting(walk->network, end);
    struct netem_state state;
    if (netem_qdisc_parse(qdisc->options, &state, err) < 0 ||
        netem_qdisc_compare(&asked, &state, walk->network->ends[end].device.name, err) < 0)
        return -ERR_HOST;
    struct direction_readback *arriving = &walk->readback[end / ENDS].direction[(end % ENDS) ^ 1];
    (void)note_netem_drops(walk, end, qdisc);
    arriving->delay_ns = state.delay_ns;
    arriving->seeded = state.seeded;
    return 0;
}

static int check_qdisc(void *context, const struct netlink_qdisc *qdisc, struct err *err)
{
    struct walk *walk = context;
    bool ifb;
    int end = end_of_index(walk, qdisc->index, &ifb);
    if (end < 0)
        return 0;
    if (!ifb && strcmp(qdisc->kind, "tbf") == 0) {
        walk->seen++;
        return check_tbf(walk, end, qdisc, err);
    }
    const struct network_end *self = &walk->network->ends[end];
    if (!ifb && strcmp(qdisc->kind, "pfifo") == 0 && self->shaping.queue_packets > 0) {
        walk->seen++;
        return tbf_compare_packets(&self->shaping, qdisc->options, self->device.name, err);
    }
    if (ifb && strcmp(qdisc->kind, "netem") == 0) {
        walk->seen++;
        return check_netem(walk, end, qdisc, err);
    }
    return 0;
}

/* The kernel activates the first-made end of a pair once a worker of its has seen the carrier, of all pairs of the host one after
 * the other: with a thousand pairs and other networks coming and going that takes seconds. Asked for a device, it does so now. */
static int notice_carriers(struct walk *walk, struct err *err)
{
    const struct network *network = walk->network;
    struct netlink *netlink = network->places[walk->place].netlink;
    int asked = 0;
    for (int end = network->places[walk->place].first_end; end >= 0; end = network->ends[end].next_end) {
        const struct network_end *self = &network->ends[end];
        if (self->running)
            continue;
        netlink_notice_carrier(netlink, self->device.index, self->device.name);
        if (++asked % NOTICES_A_BATCH == 0 && netlink_flush(netlink, err) < 0)
            return -ERR_HOST;
    }
    return netlink_flush(netlink, err);
}

static int await_devices(struct walk *walk, struct err *err)
{
    struct netlink *netlink = walk->network->places[walk->place].netlink;
    int64_t deadline = clock_now_ns() + RUNNING_PATIENCE_NS;
    for (int tries = 0;; tries++) {
        walk->seen = walk->running = 0;
        if (netlink_dump_devices(netlink, check_device, walk, err) < 0)
            return -ERR_HOST;
        if (walk->seen == walk->expected && walk->running == walk->expected)
            return 0;
        int64_t now = clock_now_ns();
        if (walk->seen != walk->expected || now > deadline)
            return err_set(err, ERR_HOST, "of %d devices, %d exist and %d have come up within 30 s", walk->expected, walk->seen,
                           walk->running);
        if (tries > 0)
            clock_sleep_until(now + RUNNING_RETRY_NS);
        if (notice_carriers(walk, err) < 0)
            return -ERR_HOST;
    }
}

static int read_back_place(struct walk *walk, struct err *err)
{
    const struct network *network = walk->network;
    int devices = 0, qdiscs = 0;
    for (int end = network->places[walk->place].first_end; end >= 0; end = network->ends[end].next_end) {
        bool netem = network_has_netem(network, end);
        devices += 1 + (netem ? 1 : 0);
        const struct shaping *shaping = &network->ends[end].shaping;
        qdiscs += (shaping->rate_bytes_per_second > 0 ? 1 : 0) + (shaping->queue_packets > 0 ? 1 : 0) + (netem ? 1 : 0);
    }
    walk->expected = devices;
    if (await_devices(walk, err) < 0)
        return -ERR_HOST;
    walk->seen = 0;
    if (netlink_dump_qdiscs(network->places[walk->place].netlink, check_qdisc, walk, err) < 0)
        return -ERR_HOST;
    if (walk->seen != qdiscs)
        return err_set(err, ERR_HOST, "%d queueing disciplines were asked for, but the kernel has %d", qdiscs, walk->seen);
    return 0;
}

int network_read_back(struct network *network, struct link_readback *readback, struct err *err)
{
    const struct topology *topology = network->topology;
    for (int link = 0; link < topology->link_count; link++) {
        readback[link] = (struct link_readback){.engine = network_link_engine(network, link)};
        if (readback[link].engine == ENGINE_RELAY)
            for (int d = 0; d < DIRECTIONS; d++)
                readback[link].direction[d] =
                    (struct direction_readback){.delay_ns = topology->links[link].direction[d].delay_ns, .seeded = true};
    }
    for (int place = 0; place < topology->place_count; place++) {
        struct walk walk = {.network = network, .place = place, .readback = readback};
        if (read_back_place(&walk, err) < 0)
            return err_wrap(err, "what was set on place %s is not what was asked", topology->places[place].name);
    }
    return 0;
}

int network_read_back_rate(struct network *network, int end, struct err *err)
{
    struct walk here = {.network = network, .place = network_end_place(network, end), .readback = network->changed};
    return netlink_get_qdisc(network->places[here.place].netlink, network->ends[end].device.index, NETLINK_ROOT, check_qdisc, &here,
                             err);
}

int network_read_back_end(struct network *network, int end, struct err *err)
{
    const struct network_end *self = &network->ends[end];
    struct walk here = {.network = network, .place = network_end_place(network, end), .readback = network->changed},
                there = {.network = network, .place = network_end_place(network, end ^ 1), .readback = network->changed};
    struct netlink *netlink = network->places[here.place].netlink;
    int expected = 1, code = netlink_get_device(netlink, self->device.index, check_device, &here, err);
    if (code == 0 && self->shaping.rate_bytes_per_second > 0) {
        expected++;
        code = netlink_get_qdisc(netlink, self->device.index, NETLINK_ROOT, check_qdisc, &here, err);
    }
    if (code == 0 && self->shaping.queue_packets > 0) {
        expected++;
        code = netlink_get_qdisc(netlink, self->device.index, TBF_QUEUE_PARENT, check_qdisc, &here, err);
    }
    if (code == 0 && network_has_netem(network, end ^ 1)) {
        expected++;
        code = netlink_get_qdisc(network->places[there.place].netlink, network_ifb_index(end ^ 1), NETLINK_ROOT, check_qdisc,
                                 &there, err);
    }
    if (code == 0 && here.seen + there.seen != expected)
        code = err_set(err, ERR_HOST, "device %s lacks %d of %d devices and queueing disciplines", self->device.name,
                       expected - here.seen - there.seen, expected);
    return code;
}

static int count_device(void *context, const struct netlink_device *device, struct err *err)
{
    (void)err;
    struct walk *walk = context;
    bool ifb;
    int end = end_of_index(walk, device->index, &ifb);
    if (end < 0)
        return 0;
    struct direction_counters *sent = &walk->counters[end / ENDS].direction[end % ENDS];
    struct direction_counters *arriving = &walk->counters[end / ENDS].direction[(end % ENDS) ^ 1];
    if (ifb) {
        arriving->unasked_drops += device->tx_dropped + device->rx_dropped;
        return 0;
    }
    sent->unasked_drops += device->tx_dropped;
    arriving->unasked_drops += device->rx_dropped;
    sent->packets = device->tx_packets;
    sent->bytes = device->tx_bytes;
    return 0;
}

static int count_qdisc(void *context, const struct netlink_qdisc *qdisc, struct err *err)
{
    (void)err;
    struct walk *walk = context;
    bool ifb;
    int end = end_of_index(walk, qdisc->index, &ifb);
    if (end < 0)
        return 0;
    struct direction_counters *sent = &walk->counters[end / ENDS].direction[end % ENDS];
    if (!ifb && strcmp(qdisc->kind, "tbf") == 0) {
        sent->queue_drops += qdisc->drops;
        sent->backlog_bytes_max = qdisc->backlog_bytes;
    } else if (ifb && strcmp(qdisc->kind, "netem") == 0) {
        struct direction_counters *arriving = &walk->counters[end / ENDS].direction[(end % ENDS) ^ 1];
        const struct network_end *far = note_netem_drops(walk, end, qdisc);
        arriving->lost += far->netem_lost;
        arriving->unasked_drops += far->netem_unasked;
    }
    return 0;
}

/* The relay's counters of one direction, less what they were at the last reset. */
static void count_relay(const struct network *network, int link, int d, struct direction_counters *out)
{
    int index = network->relay_index[link];
    if (index == NO_RELAY)
        return;
    const struct relay_counters *now = &network->relay_counters[DIRECTIONS * index + d];
    const struct relay_counters *before = &network->relay_baseline[DIRECTIONS * index + d];
    struct relay_counters since = *now;
    for (int bucket = 0; bucket < RELAY_LATENESS_BUCKETS; bucket++)
        since.lateness[bucket] -= before->lateness[bucket];
    since.packets -= before->packets;
    out->packets = since.packets;
    out->bytes = since.bytes - before->bytes;
    out->lost = since.lost - before->lost;
    out->duplicated = since.duplicated - before->duplicated;
    out->corrupted = since.corrupted - before->corrupted;
    out->reordered = since.reordered - before->reordered;
    out->unasked_drops += (since.ring_full - before->ring_full) + (since.write_refused - before->write_refused) +
                          (since.read_failed - before->read_failed);
    out->lateness_p50_ns = relay_lateness_quantile_ns(&since, 0.5);
    out->lateness_p99_ns = relay_lateness_quantile_ns(&since, 0.99);
    /* A maximum cannot be subtracted: unless it is new, the highest bucket filled since then bounds it. */
    out->lateness_max_ns =
        since.lateness_max_ns > before->lateness_max_ns ? since.lateness_max_ns : relay_lateness_quantile_ns(&since, 1.0);
}

static int count_raw(struct network *network, struct link_counters *counters, struct err *err)
{
    const struct topology *topology = network->topology;
    memset(counters, 0, (size_t)topology->link_count * sizeof(*counters));
    for (int place = 0; place < topology->place_count; place++) {
        struct walk walk = {.network = network, .place = place, .counters = counters};
        struct netlink *netlink = network->places[place].netlink;
        if (netlink_dump_devices(netlink, count_device, &walk, err) < 0 ||
            netlink_dump_qdiscs(netlink, count_qdisc, &walk, err) < 0)
            return err_wrap(err, "counters of place %s", topology->places[place].name);
    }
    return 0;
}

int network_count(struct network *network, struct link_counters *counters, struct err *err)
{
    if (count_raw(network, counters, err) < 0)
        return -ERR_HOST;
    for (int link = 0; link < network->topology->link_count; link++)
        for (int d = 0; d < DIRECTIONS; d++) {
            struct direction_counters *now = &counters[link].direction[d];
            const struct direction_counters *before = &network->baseline[link].direction[d];
            now->packets -= before->packets;
            now->bytes -= before->bytes;
            now->queue_drops -= before->queue_drops;
            now->unasked_drops -= before->unasked_drops;
            now->lost -= before->lost;
            now->lateness_p50_ns = now->lateness_p99_ns = now->lateness_max_ns = -1;
            count_relay(network, link, d, now);
        }
    return 0;
}

int network_reset(struct network *network, struct err *err)
{
    if (count_raw(network, network->baseline, err) < 0)
        return -ERR_HOST;
    memcpy(network->relay_baseline, network->relay_counters,
           (size_t)network->relay_count * DIRECTIONS * sizeof(*network->relay_baseline));
    return 0;
}
