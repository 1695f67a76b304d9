/* network.c: builds the namespaces, devices, addresses and routes of a topology. */
#include "netem/network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "netem/impairment.h"
#include "netem/namespaces.h"
#include "netem/netem_qdisc.h"
#include "netem/routes.h"
#include "netem/tap.h"
#include "netem/tbf.h"
#include "netem/topology.h"

enum {
    TAP_QUEUE_LEAST = 1000, /* packets between the kernel and the relay; the driver's default */
    TAP_QUEUE_MOST = 16384,
    TAP_QUEUE_WORTH_MS = 20, /* how long the relay may be kept from the processor */
    ALTNAME_MOST = 127,
};

enum engine_kind network_link_engine(const struct network *network, int link)
{
    const struct direction *direction = network->topology->links[link].direction;
    bool needed = impairment_needs_engine(&direction[DIRECTION_FORWARD]) || impairment_needs_engine(&direction[DIRECTION_BACKWARD]);
    return needed ? network->engine : ENGINE_NONE;
}

int network_end_place(const struct network *network, int end)
{
    const struct link *link = &network->topology->links[end / ENDS];
    return end % ENDS == 0 ? link->from : link->to;
}

/* As the topology has it: what is made once and never changes is sized for it, and for the most that it may change to. */
static const struct direction *built_direction(const struct network *network, int end)
{
    return &network->topology->links[end / ENDS].direction[end % ENDS];
}

uint64_t network_rate_most_bps(const struct direction *direction)
{
    return direction->rate_most_bps > direction->rate_bps ? direction->rate_most_bps : direction->rate_bps;
}

uint64_t network_queue_most_bytes(const struct direction *direction)
{
    uint64_t largest = direction->rate_most_bps > 0 ? shaping_default_queue_bytes(direction->rate_most_bps) : 0;
    return largest > direction->queue_bytes ? largest : direction->queue_bytes;
}

/* The most that it is or may change to, with its jitter. */
static int64_t delay_most_ns(const struct direction *direction)
{
    int64_t delay_ns = direction->delay_ns + impairment_jitter_most_ns(&direction->impairments);
    return direction->delay_most_ns > delay_ns ? direction->delay_most_ns : delay_ns;
}

bool network_has_netem(const struct network *network, int end)
{
    return network_link_engine(network, end / ENDS) == ENGINE_NETEM && impairment_needs_engine(built_direction(network, end ^ 1));
}

struct netem_setting network_netem_setting(const struct network *network, int end)
{
    static const struct impairments all_lost = {.loss = 1};
    const struct network_end *far = &network->ends[end ^ 1];
    const struct direction *built = built_direction(network, end ^ 1);
    return (struct netem_setting){
        .delay_ns = far->sent.delay_ns,
        .impairments = far->down ? all_lost : far->sent.impairments,
        .limit_packets = netem_qdisc_limit(network_rate_most_bps(built), delay_most_ns(built), network_queue_most_bytes(built)),
        .seed = far->netem_seed,
        .changes = built->changes,
    };
}

struct relay_direction network_relay_direction(const struct network *network, int end)
{
    const struct direction *sent = &network->ends[end].sent, *built = built_direction(network, end);
    return (struct relay_direction){
        .delay_ns = sent->delay_ns,
        .rate_bps = sent->rate_bps,
        .queue_bytes = sent->queue_bytes,
        .overhead_bytes = shaping_overhead_bytes(sent->framing),
        .impairments = sent->impairments,
        .rate_most_bps = built->rate_most_bps,
        .delay_most_ns = built->delay_most_ns,
        .changes = built->changes,
    };
}

struct netlink_device network_ifb(const struct network *network, int end)
{
    struct netlink_device ifb = {.index = network_ifb_index(end), .mtu = network->topology->mtu};
    snprintf(ifb.name, sizeof(ifb.name), "i%d", end / ENDS);
    return ifb;
}

static uint32_t tap_queue_packets(const struct direction *direction, int mtu)
{
    if (direction->rate_bps == 0)
        return TAP_QUEUE_MOST;
    uint64_t packets = network_rate_most_bps(direction) / 8000 * TAP_QUEUE_WORTH_MS / (uint64_t)mtu;
    return packets < TAP_QUEUE_LEAST ? TAP_QUEUE_LEAST : packets > TAP_QUEUE_MOST ? TAP_QUEUE_MOST : (uint32_t)packets;
}

void network_shape_end(struct network *network, int end)
{
    struct network_end *self = &network->ends[end];
    self->wanted = shaping_for_direction(&self->sent, network->topology->mtu);
    if (network_link_engine(network, end / ENDS) == ENGINE_RELAY)
        self->wanted = shaping_for_relay(self->wanted);
    self->shaping = self->wanted;
    self->device.gso_max_bytes = self->shaping.gso_max_bytes;
    self->device.gso_max_segments = self->shaping.gso_max_segments;
}

static void describe_end(struct network *network, int end)
{
    const struct topology *topology = network->topology;
    struct network_end *self = &network->ends[end];
    self->sent = *built_direction(network, end);
    self->lossy = impairment_any_loss(&self->sent.impairments);
    self->netem_seeds = impairment_netem_seeds(topology->seed, (uint32_t)(end / ENDS), (uint32_t)(end % ENDS));
    self->netem_seed = rng_u64(&self->netem_seeds);
    self->device = (struct netlink_device){
        .index = network_end_index(end),
        /* Locally administered, and the same in every run. */
        .mac = {0x02, 0x6c, 0x67, (uint8_t)(end >> 16), (uint8_t)(end >> 8), (uint8_t)end},
        .mtu = topology->mtu,
        .queue_packets =
            network_link_engine(network, end / ENDS) == ENGINE_RELAY ? tap_queue_packets(&self->sent, topology->mtu) : 0,
    };
    snprintf(self->device.name, sizeof(self->device.name), "l%d", end / ENDS);
    network_shape_end(network, end);
    self->room_bytes = shaping_admits(&self->shaping, topology->mtu);
}

static void *allocate(size_t count, size_t bytes)
{
    return calloc(count > 0 ? count : 1, bytes);
}

static int prepare(struct network *network, struct err *err)
{
    const struct topology *topology = network->topology;
    size_t links = (size_t)topology->link_count;
    network->places = allocate((size_t)topology->place_count, sizeof(*network->places));
    network->ends = allocate(links * ENDS, sizeof(*network->ends));
    network->relay = allocate(links, sizeof(*network->relay));
    network->relay_index = allocate(links, sizeof(*network->relay_index));
    network->baseline = allocate(links, sizeof(*network->baseline));
    network->relay_baseline = allocate(links * DIRECTIONS, sizeof(*network->relay_baseline));
    network->changed = allocate(links, sizeof(*network->changed));
    network->group = allocate((size_t)topology->host_count, sizeof(*network->group));
    if (!network->places || !network->ends || !network->relay || !network->relay_index || !network->baseline ||
        !network->relay_baseline || !network->changed || !network->group)
        return err_set(err, ERR_HOST, "not enough memory for a network of %d links", topology->link_count);

    for (int place = 0; place < topology->place_count; place++)
        network->places[place] = (struct network_place){.namespace_fd = -1, .first_end = -1};
    for (int end = ENDS * topology->link_count - 1; end >= 0; end--) { /* backwards, so that each list is in ascending order */
        int *first = &network->places[network_end_place(network, end)].first_end;
        network->ends[end].next_end = *first;
        *first = end;
        describe_end(network, end);
    }
    for (int link = 0; link < topology->link_count; link++) {
        network->relay_index[link] = NO_RELAY;
        if (network_link_engine(network, link) != ENGINE_RELAY)
            continue;
        network->relay_index[link] = network->relay_count;
        struct relay_link *relay = &network->relay[network->relay_count++];
        relay->seed = topology->seed;
        relay->number = (uint32_t)link;
        for (int d = 0; d < DIRECTIONS; d++) {
            relay->port[d] = -1;
            relay->direction[d] = network_relay_direction(network, ENDS * link + d);
        }
    }
    return 0;
}

/* TAPs are opened here too: the process is in the right namespace just now. */
static int make_place(struct network *network, int index, const struct routes_longest *longest, struct err *err)
{
    struct network_place *place = &network->places[index];
    if (namespaces_new_network(&place->namespace_fd, err) < 0 || network_set_sysctls(network, index, longest, err) < 0 ||
        netlink_open(&place->netlink, err) < 0)
        return err_wrap(err, "place %s", network->topology->places[index].name);
    for (int end = place->first_end; end >= 0; end = network->ends[end].next_end) {
        int relay = network->relay_index[end / ENDS];
        if (relay == NO_RELAY)
            continue;
        const struct netlink_device *device = &network->ends[end].device;
        if (tap_open(device->name, device->index, &network->relay[relay].port[end % ENDS], err) < 0)
            return err_wrap(err, "link %s", network->topology->links[end / ENDS].name);
    }
    return 0;
}

static int make_veths(struct network *network, struct err *err)
{
    const struct topology *topology = network->topology;
    for (int link = 0; link < topology->link_count; link++)
        if (network->relay_index[link] == NO_RELAY)
            netlink_add_veth(network->places[topology->links[link].from].netlink, &network->ends[ENDS * link].device,
                             &network->ends[ENDS * link + 1].device, network->places[topology->links[link].to].namespace_fd);
    for (int place = 0; place < topology->place_count; place++)
        if (netlink_flush(network->places[place].netlink, err) < 0)
            return err_wrap(err, "links of place %s", topology->places[place].name);
    return 0;
}

static void add_delay(struct network *network, struct netlink *netlink, int end)
{
    struct netem_setting setting = network_netem_setting(network, end);
    const struct netlink_device *device = &network->ends[end].device, ifb = network_ifb(network, end);
    netlink_add_ifb(netlink, &ifb);
    netem_qdisc_add_delay(netlink, ifb.index, ifb.name, &setting);
    netem_qdisc_add_hook(netlink, device->index, device->name, ifb.index);
    netlink_set_up(netlink, ifb.index, ifb.name);
}

static void configure_device(struct network *network, struct netlink *netlink, int end)
{
    const struct network_end *self = &network->ends[end];
    const char *altname = network->topology->links[end / ENDS].name;
    enum engine_kind engine = network_link_engine(network, end / ENDS);
    if (engine == ENGINE_RELAY)
        netlink_set_device(netlink, &self->device); /* a veth has all this from its creation */
    if (altname && strlen(altname) <= ALTNAME_MOST && strcmp(altname, self->device.name) != 0)
        netlink_add_altname(netlink, self->device.index, self->device.name, altname);
    if (self->shaping.rate_bytes_per_second > 0)
        tbf_add(netlink, self->device.index, self->device.name, &self->shaping);
    if (network_has_netem(network, end))
        add_delay(network, netlink, end);
    netlink_set_up(netlink, self->device.index, self->device.name);
}

static int configure_place(struct network *network, int index, struct err *err)
{
    const struct place *place = &network->topology->places[index];
    struct netlink *netlink = network->places[index].netlink;
    uint32_t address = topology_address(network->topology, index);
    netlink_set_up(netlink, LOOPBACK_INDEX, "lo");
    if (place->kind == PLACE_ROUTER || network->places[index].first_end < 0)
        netlink_add_address(netlink, LOOPBACK_INDEX, "lo", address, 32);
    for (int end = network->places[index].first_end; end >= 0; end = network->ends[end].next_end) {
        const struct netlink_device *device = &network->ends[end].device;
        configure_device(network, netlink, end);
        if (place->kind == PLACE_HOST &&
            end == network->places[index].first_end) /* where programs look for it; good for all links */
            netlink_add_address(netlink, device->index, device->name, address, 32);
    }
    if (network_configure_routes(network, index, err) < 0 || netlink_flush(netlink, err) < 0)
        return err_wrap(err, "place %s", place->name);
    return 0;
}

int network_make(struct network *network, const struct topology *topology, enum engine_kind engine,
                 struct relay_counters *relay_counters, network_place_made *made, void *context, struct err *err)
{
    *network = (struct network){.topology = topology, .engine = engine, .relay_counters = relay_counters};
    int64_t started = clock_now_ns();
    int code = prepare(network, err);
    struct routes_longest longest;
    (void)routes_longest(topology, &longest); /* hosts without a way to each other are nothing to refuse here */
    for (int place = 0; code == 0 && place < topology->place_count; place++) {
        code = make_place(network, place, &longest, err);
        if (code == 0)
            code = made(context, place, err);
    }
    log_debug("network: namespaces and TAPs %.1f ms", (double)(clock_now_ns() - started) / 1e6);
    return code;
}

int network_configure(struct network *network, struct err *err)
{
    int64_t started = clock_now_ns();
    int code = make_veths(network, err);
    int64_t links_made = clock_now_ns();
    for (int place = 0; code == 0 && place < network->topology->place_count; place++)
        code = configure_place(network, place, err);
    log_debug("network: veth pairs %.1f ms, settings %.1f ms", (double)(links_made - started) / 1e6,
              (double)(clock_now_ns() - links_made) / 1e6);
    return code;
}
