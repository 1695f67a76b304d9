/* netlink_parse.c: the kernel's netlink messages about devices, queueing disciplines and refusals, as structs; see
 * netlink_parse.h. */
#include "netem/netlink_parse.h"

#include <errno.h>
#include <limits.h>
#include <linux/gen_stats.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdio.h>
#include <string.h>

#include "netem/netlink_internal.h"

/* IFF_LOWER_UP, IF_OPER_UNKNOWN and IF_OPER_UP of linux/if.h, which cannot be included beside net/if.h. */
enum { LOWER_UP = 1 << 16, STATE_UNKNOWN = 0, STATE_UP = 6 };

static void extended_ack(const struct nlmsghdr *header, char text[static NETLINK_WORDS_BYTES])
{
    const struct nlmsgerr *failure = nlmsg_data(header);
    size_t skip = sizeof(*failure);
    if (!(header->nlmsg_flags & NLM_F_ACK_TLVS))
        return;
    if (!(header->nlmsg_flags & NLM_F_CAPPED) && failure->msg.nlmsg_len > sizeof(failure->msg))
        skip += failure->msg.nlmsg_len - sizeof(failure->msg);
    size_t body = (size_t)nlmsg_datalen(header);
    if (NLMSG_ALIGN(skip) >= body)
        return;
    const struct nlattr *first = (const struct nlattr *)((const char *)failure + NLMSG_ALIGN(skip));
    const struct nlattr *message = nla_find(first, (int)(body - NLMSG_ALIGN(skip)), NLMSGERR_ATTR_MSG);
    if (message)
        snprintf(text, NETLINK_WORDS_BYTES, "%.*s", nla_len(message), (const char *)nla_data(message));
}

int netlink_parse_failure(const struct nlmsghdr *header, char words[NETLINK_WORDS_BYTES])
{
    if (words)
        words[0] = '\0';
    if (nlmsg_datalen(header) < (int)sizeof(struct nlmsgerr))
        return EPROTO;
    if (words)
        extended_ack(header, words);
    const int error = ((const struct nlmsgerr *)nlmsg_data(header))->error;
    return error > 0 || error == INT_MIN ? EPROTO : -error;
}

static uint32_t attribute_u32(struct nlattr *attribute)
{
    return attribute && nla_len(attribute) >= (int)sizeof(uint32_t) ? nla_get_u32(attribute) : 0;
}

/* NULL: it is missing, or does not end where it should. */
static const char *attribute_text(struct nlattr *attribute)
{
    return attribute && memchr(nla_data(attribute), '\0', (size_t)nla_len(attribute)) ? nla_data(attribute) : NULL;
}

/* A device that runs and has a carrier may still drop all that it is given: the kernel activates the qdisc of a pair's first-made
 * end in a work queue, and names the state in which it then is. Devices that are no pair are activated when they come up; theirs
 * may stay unknown. */
static bool is_active(struct nlattr **attributes)
{
    struct nlattr *kind[IFLA_INFO_MAX + 1] = {NULL};
    const struct nlattr *operation = attributes[IFLA_OPERSTATE];
    int state = operation && nla_len(operation) > 0 ? nla_get_u8(operation) : STATE_UNKNOWN;
    if (state != STATE_UNKNOWN)
        return state == STATE_UP;
    bool known = attributes[IFLA_LINKINFO] && nla_parse_nested(kind, IFLA_INFO_MAX, attributes[IFLA_LINKINFO], NULL) >= 0;
    const char *name = known ? attribute_text(kind[IFLA_INFO_KIND]) : NULL;
    return !name || strcmp(name, "veth") != 0;
}

bool netlink_parse_device(const struct nlmsghdr *header, struct netlink_device *device)
{
    struct nlattr *attributes[ATTRIBUTE_GSO_IPV4_MAX_SIZE + 1];
    if (header->nlmsg_type != RTM_NEWLINK ||
        nlmsg_parse((struct nlmsghdr *)header, sizeof(struct ifinfomsg), attributes, ATTRIBUTE_GSO_IPV4_MAX_SIZE, NULL) < 0)
        return false;
    const struct ifinfomsg *info = nlmsg_data(header);
    const unsigned wanted = IFF_UP | IFF_RUNNING | LOWER_UP;
    *device = (struct netlink_device){
        .index = info->ifi_index,
        .mtu = (int)attribute_u32(attributes[IFLA_MTU]),
        .gso_max_bytes = attribute_u32(attributes[IFLA_GSO_MAX_SIZE]),
        .gso_ipv4_max_bytes = attribute_u32(attributes[ATTRIBUTE_GSO_IPV4_MAX_SIZE]),
        .gso_max_segments = attribute_u32(attributes[IFLA_GSO_MAX_SEGS]),
        .queue_packets = attribute_u32(attributes[IFLA_TXQLEN]),
        .running = (info->ifi_flags & wanted) == wanted && is_active(attributes),
    };
    if (attributes[IFLA_IFNAME])
        nla_strlcpy(device->name, attributes[IFLA_IFNAME], sizeof(device->name));
    if (attributes[IFLA_ADDRESS] && nla_len(attributes[IFLA_ADDRESS]) == NETLINK_MAC_BYTES)
        memcpy(device->mac, nla_data(attributes[IFLA_ADDRESS]), NETLINK_MAC_BYTES);
    struct rtnl_link_stats64 statistics;
    if (attributes[IFLA_STATS64] && nla_len(attributes[IFLA_STATS64]) > 0) {
        memset(&statistics, 0, sizeof(statistics));
        nla_memcpy(&statistics, attributes[IFLA_STATS64], sizeof(statistics));
        device->tx_packets = statistics.tx_packets;
        device->tx_bytes = statistics.tx_bytes;
        device->tx_dropped = statistics.tx_dropped;
        device->rx_dropped = statistics.rx_dropped;
    }
    return true;
}

bool netlink_parse_qdisc(const struct nlmsghdr *header, struct netlink_qdisc *qdisc)
{
    struct nlattr *attributes[TCA_MAX + 1], *statistics[TCA_STATS_MAX + 1] = {NULL};
    if (header->nlmsg_type != RTM_NEWQDISC ||
        nlmsg_parse((struct nlmsghdr *)header, sizeof(struct tcmsg), attributes, TCA_MAX, NULL) < 0 ||
        !attribute_text(attributes[TCA_KIND]))
        return false;
    const struct tcmsg *info = nlmsg_data(header);
    *qdisc = (struct netlink_qdisc){
        .index = info->tcm_ifindex,
        .parent = info->tcm_parent,
        .handle = info->tcm_handle,
        .kind = attribute_text(attributes[TCA_KIND]),
        .options = attributes[TCA_OPTIONS],
    };
    if (attributes[TCA_STATS2] && nla_parse_nested(statistics, TCA_STATS_MAX, attributes[TCA_STATS2], NULL) >= 0) {
        struct gnet_stats_basic basic = {0};
        struct gnet_stats_queue queue = {0};
        if (statistics[TCA_STATS_BASIC])
            nla_memcpy(&basic, statistics[TCA_STATS_BASIC], sizeof(basic));
        if (statistics[TCA_STATS_QUEUE])
            nla_memcpy(&queue, statistics[TCA_STATS_QUEUE], sizeof(queue));
        qdisc->bytes = basic.bytes;
        qdisc->packets = basic.packets;
        qdisc->drops = queue.drops;
        qdisc->backlog_bytes = queue.backlog;
    }
    return true;
}
