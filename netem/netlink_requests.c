/* netlink_requests.c: builds the requests that make a namespace's network. Sizes are far below libnl's default message (one page),
 * so that a builder fails only without memory; the pusher then reports it. */
#include "netem/netlink.h"

#include <arpa/inet.h>
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <string.h>

enum { CREATE = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL, LARGE_BYTES = 48 * 1024 };

static struct nl_msg *complete_begin(struct nl_msg *message, const void *body, size_t body_bytes)
{
    if (message && nlmsg_append(message, (void *)body, body_bytes, NLMSG_ALIGNTO) < 0) {
        nlmsg_free(message);
        return NULL;
    }
    return message;
}

/* A message with its family header; NULL without memory. */
static struct nl_msg *begin(int type, int flags, const void *body, size_t body_bytes)
{
    return complete_begin(nlmsg_alloc_simple(type, flags), body, body_bytes);
}

static struct nl_msg *begin_large(int type, int flags, const void *body, size_t body_bytes)
{
    struct nl_msg *message = nlmsg_alloc_size(LARGE_BYTES);
    if (message && !nlmsg_put(message, NL_AUTO_PORT, NL_AUTO_SEQ, type, 0, flags)) {
        nlmsg_free(message);
        return NULL;
    }
    return complete_begin(message, body, body_bytes);
}

/* Pushes the message if every attribute went in; reports the want of room otherwise. */
static void finish(struct netlink *netlink, struct nl_msg *message, int code, const char *device, const char *setting)
{
    if (code < 0) {
        nlmsg_free(message);
        message = NULL;
    }
    netlink_push(netlink, message, device, setting);
}

static int put_address(struct nl_msg *message, int attribute, uint32_t address)
{
    return nla_put_u32(message, attribute, htonl(address));
}

static bool is_zero_mac(const uint8_t mac[NETLINK_MAC_BYTES])
{
    static const uint8_t zero[NETLINK_MAC_BYTES];
    return memcmp(mac, zero, NETLINK_MAC_BYTES) == 0;
}

/* The settings that creation and change share. */
static int put_device(struct nl_msg *message, const struct netlink_device *device)
{
    int code = 0;
    if (!is_zero_mac(device->mac))
        code |= nla_put(message, IFLA_ADDRESS, NETLINK_MAC_BYTES, device->mac);
    if (device->mtu > 0)
        code |= nla_put_u32(message, IFLA_MTU, (uint32_t)device->mtu);
    if (device->queue_packets > 0)
        code |= nla_put_u32(message, IFLA_TXQLEN, device->queue_packets);
    if (device->gso_max_bytes > 0) /* up to 64 KiB it sets the limit for IPv4 too, on kernels that keep two */
        code |= nla_put_u32(message, IFLA_GSO_MAX_SIZE, device->gso_max_bytes);
    if (device->gso_max_segments > 0)
        code |= nla_put_u32(message, IFLA_GSO_MAX_SEGS, device->gso_max_segments);
    return code;
}

/* One queue: a qdisc at the root then sees every packet in order, and nothing depends on the host's number of processors. */
static int put_new_device(struct nl_msg *message, const struct netlink_device *device)
{
    return nla_put_string(message, IFLA_IFNAME, device->name) | nla_put_u32(message, IFLA_NUM_TX_QUEUES, 1) |
           nla_put_u32(message, IFLA_NUM_RX_QUEUES, 1) | put_device(message, device);
}

static int put_veth(struct nl_msg *message, const struct netlink_device *end, const struct netlink_device *peer, int peer_namespace)
{
    int code = put_new_device(message, end);
    struct nlattr *info = nla_nest_start(message, IFLA_LINKINFO);
    code |= nla_put_string(message, IFLA_INFO_KIND, "veth");
    struct nlattr *data = nla_nest_start(message, IFLA_INFO_DATA);
    struct nlattr *nested_peer = nla_nest_start(message, VETH_INFO_PEER);
    if (code < 0 || !info || !data || !nested_peer)
        return -1;
    struct ifinfomsg peer_info = {.ifi_family = AF_UNSPEC, .ifi_index = peer->index};
    code |= nlmsg_append(message, &peer_info, sizeof(peer_info), NLMSG_ALIGNTO);
    code |= put_new_device(message, peer) | nla_put_u32(message, IFLA_NET_NS_FD, (uint32_t)peer_namespace);
    nla_nest_end(message, nested_peer);
    nla_nest_end(message, data);
    nla_nest_end(message, info);
    return code;
}

void netlink_add_veth(struct netlink *netlink, const struct netlink_device *end, const struct netlink_device *peer,
                      int peer_namespace)
{
    struct ifinfomsg body = {.ifi_family = AF_UNSPEC, .ifi_index = end->index};
    struct nl_msg *message = begin(RTM_NEWLINK, CREATE, &body, sizeof(body));
    finish(netlink, message, message ? put_veth(message, end, peer, peer_namespace) : -1, end->name, "a veth pair");
}

void netlink_add_ifb(struct netlink *netlink, const struct netlink_device *device)
{
    struct ifinfomsg body = {.ifi_family = AF_UNSPEC, .ifi_index = device->index};
    struct nl_msg *message = begin(RTM_NEWLINK, CREATE, &body, sizeof(body));
    int code = message ? put_new_device(message, device) : -1;
    struct nlattr *info = code < 0 ? NULL : nla_nest_start(message, IFLA_LINKINFO);
    if (info) {
        code |= nla_put_string(message, IFLA_INFO_KIND, "ifb");
        nla_nest_end(message, info);
    }
    finish(netlink, message, info ? code : -1, device->name, "an ifb device");
}

void netlink_set_device(struct netlink *netlink, const struct netlink_device *device)
{
    struct ifinfomsg body = {.ifi_family = AF_UNSPEC, .ifi_index = device->index};
    struct nl_msg *message = begin(RTM_NEWLINK, NLM_F_REQUEST, &body, sizeof(body));
    finish(netlink, message, message ? put_device(message, device) : -1, device->name,
           "mtu, queue length, gso_max_size or gso_max_segs");
}

void netlink_set_up(struct netlink *netlink, int index, const char *device)
{
    struct ifinfomsg body = {.ifi_family = AF_UNSPEC, .ifi_index = index, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};
    finish(netlink, begin(RTM_NEWLINK, NLM_F_REQUEST, &body, sizeof(body)), 0, device, "the state 'up'");
}

void netlink_notice_carrier(struct netlink *netlink, int index, const char *device)
{
    struct ifinfomsg body = {.ifi_family = AF_UNSPEC, .ifi_index = index};
    netlink_push(netlink, begin(RTM_GETLINK, NLM_F_REQUEST, &body, sizeof(body)), device, "its state");
}

void netlink_add_altname(struct netlink *netlink, int index, const char *device, const char *altname)
{
    struct ifinfomsg body = {.ifi_family = AF_UNSPEC, .ifi_index = index};
    struct nl_msg *message = begin(RTM_NEWLINKPROP, CREATE | NLM_F_APPEND, &body, sizeof(body));
    struct nlattr *list = message ? nla_nest_start(message, IFLA_PROP_LIST) : NULL;
    int code = list ? nla_put_string(message, IFLA_ALT_IFNAME, altname) : -1;
    if (list)
        nla_nest_end(message, list);
    finish(netlink, message, code, device, "an alternative name");
}

void netlink_add_address(struct netlink *netlink, int index, const char *device, uint32_t address, int prefix)
{
    struct ifaddrmsg body = {.ifa_family = AF_INET,
                             .ifa_prefixlen = (unsigned char)prefix,
                             .ifa_flags = IFA_F_NODAD,
                             .ifa_scope = RT_SCOPE_UNIVERSE,
                             .ifa_index = (unsigned)index};
    struct nl_msg *message = begin(RTM_NEWADDR, CREATE, &body, sizeof(body));
    int code = message ? put_address(message, IFA_LOCAL, address) | put_address(message, IFA_ADDRESS, address) : -1;
    finish(netlink, message, code, device, "an address");
}

void netlink_add_neighbour(struct netlink *netlink, int index, const char *device, uint32_t address,
                           const uint8_t mac[NETLINK_MAC_BYTES])
{
    struct ndmsg body = {.ndm_family = AF_INET, .ndm_ifindex = index, .ndm_state = NUD_PERMANENT};
    struct nl_msg *message = begin(RTM_NEWNEIGH, CREATE, &body, sizeof(body));
    int code = message ? put_address(message, NDA_DST, address) | nla_put(message, NDA_LLADDR, NETLINK_MAC_BYTES, mac) : -1;
    finish(netlink, message, code, device, "a static neighbour");
}

/* The lock bit makes the metric win over sysctl and setsockopt. */
static int put_metrics(struct nl_msg *message, const struct netlink_route *route)
{
    uint32_t locks = 0;
    struct nlattr *metrics = nla_nest_start(message, RTA_METRICS);
    if (!metrics)
        return -1;
    int code = 0;
    if (route->congestion_control) {
        code |= nla_put_string(message, RTAX_CC_ALGO, route->congestion_control);
        locks |= 1U << RTAX_CC_ALGO;
    }
    if (route->rto_min_ns > 0) {
        code |= nla_put_u32(message, RTAX_RTO_MIN, (uint32_t)((route->rto_min_ns + 999999) / 1000000));
        locks |= 1U << RTAX_RTO_MIN;
    }
    code |= nla_put_u32(message, RTAX_LOCK, locks);
    nla_nest_end(message, metrics);
    return code;
}

static int put_next_hops(struct nl_msg *message, const struct netlink_route *route)
{
    struct nlattr *list = nla_nest_start(message, RTA_MULTIPATH);
    int code = list ? 0 : -1;
    for (int i = 0; i < route->next_hop_count && code == 0; i++) {
        struct rtnexthop next_hop = {.rtnh_len = RTNH_LENGTH(nla_total_size(sizeof(uint32_t))),
                                     .rtnh_flags = RTNH_F_ONLINK,
                                     .rtnh_ifindex = route->next_hops[i].index};
        code = nlmsg_append(message, &next_hop, sizeof(next_hop), NLMSG_ALIGNTO) < 0
                   ? -1
                   : put_address(message, RTA_GATEWAY, route->next_hops[i].gateway);
    }
    if (list)
        nla_nest_end(message, list);
    return code;
}

static int put_route(struct nl_msg *message, const struct netlink_route *route)
{
    int code = route->next_hop_count > 0 ? put_next_hops(message, route) : nla_put_u32(message, RTA_OIF, (uint32_t)route->index);
    if (route->prefix > 0)
        code |= put_address(message, RTA_DST, route->destination);
    if (route->metric)
        code |= nla_put_u32(message, RTA_PRIORITY, route->metric);
    if (route->gateway && route->next_hop_count == 0)
        code |= put_address(message, RTA_GATEWAY, route->gateway);
    if (route->source)
        code |= put_address(message, RTA_PREFSRC, route->source);
    if (route->congestion_control || route->rto_min_ns > 0)
        code |= put_metrics(message, route);
    return code;
}

void netlink_add_route(struct netlink *netlink, const struct netlink_route *route)
{
    struct rtmsg body = {.rtm_family = AF_INET,
                         .rtm_dst_len = (unsigned char)route->prefix,
                         .rtm_table = RT_TABLE_MAIN,
                         .rtm_protocol = RTPROT_STATIC,
                         .rtm_scope = route->gateway ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK,
                         .rtm_type = RTN_UNICAST,
                         .rtm_flags = route->gateway && route->next_hop_count == 0 ? RTNH_F_ONLINK : 0};
    struct nl_msg *message = begin(RTM_NEWROUTE, CREATE, &body, sizeof(body));
    finish(netlink, message, message ? put_route(message, route) : -1, route->device,
           route->congestion_control ? "a route with its congestion control" : "a route");
}

/* An address that the topology never uses, of those that are kept for documentation: 192.0.2.1. */
#define NOBODYS_ADDRESS UINT32_C(0xc0000201)

void netlink_refresh_routes(struct netlink *netlink)
{
    static const struct {
        int type, flags;
    } steps[] = {{RTM_NEWROUTE, CREATE}, {RTM_DELROUTE, NLM_F_REQUEST}}; /* any change of routes does */
    struct rtmsg body = {.rtm_family = AF_INET,
                         .rtm_dst_len = 32,
                         .rtm_table = RT_TABLE_MAIN,
                         .rtm_protocol = RTPROT_STATIC,
                         .rtm_scope = RT_SCOPE_UNIVERSE,
                         .rtm_type = RTN_BLACKHOLE};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        struct nl_msg *message = begin(steps[i].type, steps[i].flags, &body, sizeof(body));
        finish(netlink, message, message ? put_address(message, RTA_DST, NOBODYS_ADDRESS) : -1, "", "a route to nobody");
    }
}

static void push_rule(struct netlink *netlink, int type, int flags, const struct fib_rule_hdr *body, uint32_t priority,
                      const struct netlink_rule *between)
{
    struct nl_msg *message = begin(type, flags, body, sizeof(*body));
    int code = message ? nla_put_u32(message, FRA_PRIORITY, priority) : -1;
    if (message && between)
        code |= put_address(message, FRA_SRC, between->from) | put_address(message, FRA_DST, between->to);
    finish(netlink, message, code, "", "a policy rule (a kernel with CONFIG_IP_MULTIPLE_TABLES is needed)");
}

static struct fib_rule_hdr drop_rule(const struct netlink_rule *rule)
{
    return (struct fib_rule_hdr){
        .family = AF_INET, .dst_len = 32, .src_len = (unsigned char)rule->from_prefix, .action = FR_ACT_BLACKHOLE};
}

void netlink_add_rule(struct netlink *netlink, const struct netlink_rule *rule)
{
    struct fib_rule_hdr body = drop_rule(rule);
    push_rule(netlink, RTM_NEWRULE, CREATE, &body, rule->priority, rule);
}

void netlink_delete_rule(struct netlink *netlink, const struct netlink_rule *rule)
{
    struct fib_rule_hdr body = drop_rule(rule);
    push_rule(netlink, RTM_DELRULE, NLM_F_REQUEST, &body, rule->priority, rule);
}

void netlink_move_local_rule(struct netlink *netlink, uint32_t priority)
{
    struct fib_rule_hdr body = {.family = AF_INET, .table = RT_TABLE_LOCAL, .action = FR_ACT_TO_TBL};
    push_rule(netlink, RTM_NEWRULE, CREATE, &body, priority, NULL); /* first: no packet may find none */
    push_rule(netlink, RTM_DELRULE, NLM_F_REQUEST, &body, 0, NULL);
}

struct nl_msg *netlink_begin_tc(enum netlink_tc what, int index, uint32_t parent, uint32_t handle, uint32_t info, const char *kind)
{
    static const struct {
        int type, flags;
        bool large;
    } messages[] = {
        [NETLINK_QDISC] = {RTM_NEWQDISC, CREATE, false},
        [NETLINK_LARGE_QDISC] = {RTM_NEWQDISC, CREATE, true},
        [NETLINK_FILTER] = {RTM_NEWTFILTER, CREATE, false},
        [NETLINK_QDISC_CHANGE] = {RTM_NEWQDISC, NLM_F_REQUEST, false},
        [NETLINK_LARGE_QDISC_CHANGE] = {RTM_NEWQDISC, NLM_F_REQUEST, true},
    };
    struct tcmsg body = {
        .tcm_family = AF_UNSPEC, .tcm_ifindex = index, .tcm_handle = handle, .tcm_parent = parent, .tcm_info = info};
    struct nl_msg *message =
        (messages[what].large ? begin_large : begin)(messages[what].type, messages[what].flags, &body, sizeof(body));
    if (message && nla_put_string(message, TCA_KIND, kind) < 0) {
        nlmsg_free(message);
        return NULL;
    }
    return message;
}
