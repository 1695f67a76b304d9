/* network_change.c: what changes while everything runs: one direction of a link, and which hosts reach each other.
 *
 * Theory of operation. A direction changes in up to three places: tbf and the packet size of the sender's device; netem on the
 * receiver's IFB, or the relay's line. Everything is changed in place, so that packets, handles and counters stay. A device's
 * limits of packet size reach a connection only when it looks its route up again, which it is made to do; the bucket follows when
 * packets of the old size have left the queue (network_settle.c).
 *
 * Hosts are parted by policy rules in each host's namespace: from the address of a host of another group to the own one, drop. Only
 * what would be delivered here is dropped, so that hosts go on forwarding for others; and it is dropped by the receiver, so that
 * nobody is told. The rules must stand in front of that for the local table, which is moved away from priority 0 for it. Old rules
 * go only after the new ones have come: the two kinds have priorities of their own, in turn. */
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "netem/fabric.h"
#include "netem/impairment.h"
#include "netem/netem_qdisc.h"
#include "netem/network.h"
#include "netem/tbf.h"
#include "netem/topology.h"

enum {
    SEGMENTS_MOST = 65535, /* gso_max_segs that binds nobody: the kernel's limit, which no driver here lowers */
    RULE_PRIORITY = 1,     /* and the next */
    LOCAL_RULE_PRIORITY = 1000,
};

/* --- a direction -------------------------------------------------------------------------------------------------------------- */

/* At the sender. A packet that its device lets through must always fit into the bucket. */
static int change_sender(struct network *network, int end, const struct netlink_device *before, struct err *err)
{
    const struct network_end *self = &network->ends[end];
    struct netlink *netlink = network->places[network_end_place(network, end)].netlink;
    struct netlink_device limits = {.index = self->device.index,
                                    .gso_max_bytes = self->device.gso_max_bytes,
                                    .gso_max_segments = self->device.gso_max_segments};
    bool resized = limits.gso_max_bytes != before->gso_max_bytes || limits.gso_max_segments != before->gso_max_segments;
    bool smaller = limits.gso_max_bytes < before->gso_max_bytes;
    memcpy(limits.name, self->device.name, sizeof(limits.name));
    if (resized && smaller)
        netlink_set_device(netlink, &limits);
    if (self->shaping.rate_bytes_per_second > 0)
        tbf_change(netlink, self->device.index, self->device.name, &self->shaping);
    if (resized && !smaller)
        netlink_set_device(netlink, &limits);
    if (resized)
        netlink_refresh_routes(netlink);
    return netlink_flush(netlink, err);
}

static int change_delay(struct network *network, int end, int relay_control, struct err *err)
{
    int link = end / ENDS, far = end ^ 1;
    if (network->relay_index[link] != NO_RELAY) {
        struct relay_direction to = network_relay_direction(network, end);
        return relay_change(relay_control, network->relay_index[link], end % ENDS, &to, network->ends[end].down, err);
    }
    if (!network_has_netem(network, far))
        return 0;
    network->ends[end].netem_seed = rng_u64(&network->ends[end].netem_seeds);
    struct netem_setting setting = network_netem_setting(network, far);
    struct netlink_device ifb = network_ifb(network, far);
    struct netlink *netlink = network->places[network_end_place(network, far)].netlink;
    netem_qdisc_change_delay(netlink, ifb.index, ifb.name, &setting);
    return netlink_flush(netlink, err);
}

/* tbf looks at its queue when the packet in front would have had its tokens at the rate before; what it could not send until then
 * is made up for by the bucket, which the change has filled, as long as the rate has not become several times as high. */
enum { TIMES_AS_HIGH = 3 };
#define WAIT_MOST_NS (500 * NS_PER_US)

static bool waits_too_long(const struct shaping *before, const struct network_end *self)
{
    uint64_t slow = before->rate_bytes_per_second, fast = self->shaping.rate_bytes_per_second;
    return self->tbf_backlog_bytes > 0 && fast / TIMES_AS_HIGH >= slow &&
           before->burst_bytes > slow * (uint64_t)WAIT_MOST_NS / (uint64_t)NS_PER_S;
}

static bool delays_alike(const struct network_end *self, const struct direction *to, bool down)
{
    return self->down == down && self->sent.delay_ns == to->delay_ns && impairment_same(&self->sent.impairments, &to->impairments);
}

int network_change(struct network *network, int end, const struct direction *to, bool down, int relay_control, struct err *err)
{
    const struct link *link = &network->topology->links[end / ENDS];
    struct network_end *self = &network->ends[end];
    const struct netlink_device device = self->device;
    const struct shaping before = self->shaping;
    bool lossy = down || impairment_any_loss(&to->impairments), relay = network->relay_index[end / ENDS] != NO_RELAY;
    int code = fabric_check_change(&link->direction[end % ENDS], to, down, network_link_engine(network, end / ENDS), err);
    if (code < 0)
        return err_wrap(err, "link %s", link->name);
    bool delay = relay || !delays_alike(self, to, down);
    self->sent = *to;
    self->down = down;
    self->lossy = self->lossy || lossy; /* what is lost from here to the end of the change was meant to be */
    network_shape_end(network, end);
    self->shaping = shaping_with_room(self->wanted, self->room_bytes);
    if (self->device.gso_max_segments == 0 && device.gso_max_segments > 0)
        self->device.gso_max_segments = SEGMENTS_MOST;
    code = change_sender(network, end, &device, err);
    if (code == 0 && delay)
        code = change_delay(network, end, relay_control, err);
    if (code == 0)
        code = network_read_back_end(network, end, err);
    self->lossy = lossy;
    if (code == 0 && waits_too_long(&before, self))
        network_wake_rate(network, end);
    if (code == 0 && self->wanted.rate_bytes_per_second > 0)
        code = network_begin_settling(network, end, err);
    return code < 0 ? err_wrap(err, "cannot change link %s", link->name) : 0;
}

/* --- who reaches whom --------------------------------------------------------------------------------------------------------- */

typedef void rule_request(struct netlink *netlink, const struct netlink_rule *rule);

/* The rules of one host: a few prefixes for those of other groups. */
static void request_rules(const struct network *network, int host, const int *group, uint32_t priority, rule_request *request)
{
    int hosts = network->topology->host_count;
    for (int first = 0, last; first < hosts; first = last + 1) {
        last = first;
        if (group[first] == group[host])
            continue;
        while (last + 1 < hosts && group[last + 1] != group[host])
            last++;
        uint32_t from = TOPOLOGY_FIRST_ADDRESS + (uint32_t)first, to = TOPOLOGY_FIRST_ADDRESS + (uint32_t)last;
        for (int bits; from <= to; from += UINT32_C(1) << bits) {
            bits = network_prefix_bits(from, to);
            const struct netlink_rule rule = {
                .priority = priority, .from = from, .from_prefix = 32 - bits, .to = topology_address(network->topology, host)};
            request(network->places[host].netlink, &rule);
        }
    }
}

int network_separate(struct network *network, const int *group, struct err *err)
{
    int hosts = network->topology->host_count;
    uint32_t before = network->rule_priority, now = !group ? 0 : before == RULE_PRIORITY ? RULE_PRIORITY + 1 : RULE_PRIORITY;
    for (int host = 0; host < hosts; host++) {
        struct netlink *netlink = network->places[host].netlink;
        if (group && !network->local_rule_moved)
            netlink_move_local_rule(netlink, LOCAL_RULE_PRIORITY);
        if (now > 0)
            request_rules(network, host, group, now, netlink_add_rule);
        if (before > 0)
            request_rules(network, host, network->group, before, netlink_delete_rule);
        if (netlink_flush(netlink, err) < 0)
            return err_wrap(err, "cannot part or join the network at %s", network->topology->places[host].name);
    }
    network->local_rule_moved = network->local_rule_moved || group;
    network->rule_priority = now;
    if (group)
        memcpy(network->group, group, (size_t)hosts * sizeof(*group));
    return 0;
}
