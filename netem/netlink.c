/* netlink.c: the socket, batches and dumps. netlink_requests.c builds the messages. */
#include "netem/netlink.h"

#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "netem/netlink_internal.h"

enum {
    BATCH_BYTES = 64 * 1024,  /* below the default send buffer of every kernel (212,992) with its overhead */
    NOTES_MOST = 128,         /* messages a batch: their failures, if every one fails, fit the default receive buffer */
    ANSWER_BYTES = 64 * 1024, /* the kernel fills a dump's reply up to 32 KiB */
    EXT_ACK_TEXT_BYTES = 160,
};

struct note { /* what a message was about, for its error */
    const char *setting;
    char device[NETLINK_NAME_BYTES];
};

struct netlink {
    struct nl_sock *socket;
    uint32_t sequence; /* of the next message */
    int failed;        /* a message could not be built or sent before: the error is in `err` */
    struct err err;
    size_t used;
    unsigned count;
    size_t last; /* offset of the last message in the batch */
    struct note notes[NOTES_MOST];
    _Alignas(NLMSG_ALIGNTO) unsigned char batch[BATCH_BYTES];
};

/* IFF_LOWER_UP, IF_OPER_UNKNOWN and IF_OPER_UP of linux/if.h, which cannot be included beside net/if.h. */
enum { LOWER_UP = 1 << 16, STATE_UNKNOWN = 0, STATE_UP = 6 };

/* One buffer for answers is enough: nothing keeps what it read. */
static _Alignas(NLMSG_ALIGNTO) unsigned char answer[ANSWER_BYTES];

int netlink_open(struct netlink **netlink, struct err *err)
{
    cleanup(netlink_cleanup) struct netlink *opened = malloc(sizeof(*opened));
    if (!opened)
        return err_set_errno(err, ERR_HOST, ENOMEM, "cannot open a netlink socket");
    opened->socket = nl_socket_alloc();
    opened->sequence = 1;
    opened->failed = 0;
    opened->used = opened->count = 0;
    if (!opened->socket)
        return err_set_errno(err, ERR_HOST, ENOMEM, "cannot open a netlink socket");
    /* libnl hands out at most 1,024 port numbers a process, which a large topology exceeds. A namespace made here has one socket,
     * so that the number cannot collide; zero would bring libnl's own numbers back. */
    nl_socket_set_local_port(opened->socket, 1);
    int code = nl_connect(opened->socket, NETLINK_ROUTE);
    if (code < 0)
        return err_set(err, ERR_HOST, "cannot open a netlink socket: %s", nl_geterror(code));
    int fd = nl_socket_get_fd(opened->socket), one = 1;
    /* Both are refinements: without them errors are shorter and come back with the whole request. */
    (void)setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
    (void)setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof(one));
    *netlink = steal_pointer(&opened);
    return 0;
}

void netlink_cleanup(struct netlink **netlink)
{
    if (*netlink && (*netlink)->socket)
        nl_socket_free((*netlink)->socket);
    free_pointer(netlink);
}

static ssize_t receive(struct netlink *netlink)
{
    ssize_t length;
    do
        length = recv(nl_socket_get_fd(netlink->socket), answer, sizeof(answer), 0);
    while (length < 0 && errno == EINTR);
    return length;
}

/* The kernel's own words about a failure, or "". */
static void extended_ack(const struct nlmsghdr *header, char text[static EXT_ACK_TEXT_BYTES])
{
    const struct nlmsgerr *failure = nlmsg_data(header);
    size_t skip = sizeof(*failure);
    text[0] = '\0';
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
        snprintf(text, EXT_ACK_TEXT_BYTES, "%.*s", nla_len(message), (const char *)nla_data(message));
}

static int report_failure(const struct note *note, const struct nlmsghdr *header, struct err *err)
{
    const struct nlmsgerr *failure = nlmsg_data(header);
    char words[EXT_ACK_TEXT_BYTES];
    extended_ack(header, words);
    const char *device = note && note->device[0] ? note->device : "this namespace";
    const char *setting = note ? note->setting : "a request";
    return err_set_errno(err, ERR_HOST, -failure->error, "the kernel refused %s on %s%s%s", setting, device, words[0] ? ": " : "",
                         words);
}

/* Reads answers up to the acknowledgement of `last`. The first failure goes into err. */
static int await(struct netlink *netlink, uint32_t first, uint32_t last, struct err *err)
{
    int code = 0;
    for (;;) {
        ssize_t length = receive(netlink);
        if (length < 0)
            return code < 0 ? code : err_set_errno(err, ERR_HOST, errno, "cannot read the kernel's netlink answer");
        int left = (int)length;
        for (struct nlmsghdr *header = (struct nlmsghdr *)answer; nlmsg_ok(header, left); header = nlmsg_next(header, &left)) {
            if (header->nlmsg_type != NLMSG_ERROR || nlmsg_datalen(header) < (int)sizeof(struct nlmsgerr))
                continue;
            const struct nlmsgerr *failure = nlmsg_data(header);
            uint32_t offset = header->nlmsg_seq - first;
            if (failure->error != 0 && code == 0)
                code = report_failure(offset <= last - first ? &netlink->notes[offset] : NULL, header, err);
            if (header->nlmsg_seq == last)
                return code;
        }
    }
}

int netlink_flush(struct netlink *netlink, struct err *err)
{
    if (netlink->failed == 0 && netlink->count > 0) {
        struct nlmsghdr *last = (struct nlmsghdr *)(netlink->batch + netlink->last);
        last->nlmsg_flags |= NLM_F_ACK;
        int sent = nl_sendto(netlink->socket, netlink->batch, netlink->used);
        if (sent < 0)
            netlink->failed =
                err_set(&netlink->err, ERR_HOST, "cannot send %u netlink requests: %s", netlink->count, nl_geterror(sent));
        else
            netlink->failed = await(netlink, netlink->sequence - netlink->count, netlink->sequence - 1, &netlink->err);
    }
    netlink->used = netlink->count = 0;
    int code = netlink->failed;
    netlink->failed = 0;
    if (code < 0 && err)
        *err = netlink->err;
    return code;
}

void netlink_push(struct netlink *netlink, struct nl_msg *message, const char *device, const char *setting)
{
    if (!message) {
        if (netlink->failed == 0)
            netlink->failed =
                err_set_errno(&netlink->err, ERR_HOST, ENOMEM, "cannot build the request for %s on %s", setting, device);
        return;
    }
    struct nlmsghdr *header = nlmsg_hdr(message);
    size_t length = NLMSG_ALIGN(header->nlmsg_len);
    if (netlink->count == NOTES_MOST || netlink->used + length > BATCH_BYTES) {
        int code = netlink_flush(netlink, &netlink->err);
        netlink->failed = code; /* kept for the caller's own flush */
    }
    if (netlink->failed == 0) {
        header->nlmsg_seq = netlink->sequence++;
        memset(netlink->batch + netlink->used, 0, length);
        memcpy(netlink->batch + netlink->used, header, header->nlmsg_len);
        netlink->last = netlink->used;
        netlink->used += length;
        struct note *note = &netlink->notes[netlink->count++];
        note->setting = setting;
        snprintf(note->device, sizeof(note->device), "%s", device);
    }
    nlmsg_free(message);
}

/* The answers to a question; `parse` gets each message of the wanted type. */
typedef int message_callback(void *context, struct nlmsghdr *header, struct err *err);

/* Of every object, or of the one that the body names: the kernel sends a qdisc to whoever asks for an echo. */
enum { EVERY = NLM_F_DUMP, ONE = NLM_F_ECHO | NLM_F_ACK };

static int ask(struct netlink *netlink, int flags, const void *body, size_t body_bytes, int type, const char *what,
               message_callback *parse, void *context, struct err *err)
{
    struct nl_msg *message = nlmsg_alloc_simple(type, NLM_F_REQUEST | flags);
    if (!message || nlmsg_append(message, (void *)body, body_bytes, NLMSG_ALIGNTO) < 0) {
        nlmsg_free(message);
        return err_set_errno(err, ERR_HOST, ENOMEM, "cannot ask the kernel for %s", what);
    }
    struct nlmsghdr *request = nlmsg_hdr(message);
    uint32_t sequence = request->nlmsg_seq = netlink->sequence++;
    int sent = nl_sendto(netlink->socket, request, request->nlmsg_len);
    nlmsg_free(message);
    if (sent < 0)
        return err_set(err, ERR_HOST, "cannot ask the kernel for %s: %s", what, nl_geterror(sent));
    int code = 0;
    for (;;) { /* to the end even after a failure: what is left would be taken for the next answer */
        ssize_t length = receive(netlink);
        if (length < 0)
            return err_set_errno(err, ERR_HOST, errno, "cannot read the kernel's answer about %s", what);
        int left = (int)length;
        for (struct nlmsghdr *header = (struct nlmsghdr *)answer; nlmsg_ok(header, left); header = nlmsg_next(header, &left)) {
            if (header->nlmsg_seq != sequence)
                continue;
            if (header->nlmsg_type == NLMSG_DONE)
                return code;
            if (header->nlmsg_type == NLMSG_ERROR) {
                bool done = ((const struct nlmsgerr *)nlmsg_data(header))->error == 0; /* the acknowledgement behind one object */
                return code < 0 || done ? code : report_failure(&(struct note){.setting = what}, header, err);
            }
            if (code >= 0)
                code = parse(context, header, err);
        }
    }
}

struct device_dump {
    netlink_device_callback *callback;
    void *context;
};

static uint32_t attribute_u32(struct nlattr *attribute)
{
    return attribute && nla_len(attribute) >= (int)sizeof(uint32_t) ? nla_get_u32(attribute) : 0;
}

/* A device that runs and has a carrier may still drop all that it is given: the kernel activates the qdisc of a pair's first-made
 * end in a work queue, and names the state in which it then is. Devices that are no pair are activated when they come up; theirs
 * may stay unknown. */
static bool is_active(struct nlattr **attributes)
{
    struct nlattr *kind[IFLA_INFO_MAX + 1] = {NULL};
    int state = attributes[IFLA_OPERSTATE] ? nla_get_u8(attributes[IFLA_OPERSTATE]) : STATE_UNKNOWN;
    if (state != STATE_UNKNOWN)
        return state == STATE_UP;
    bool known = attributes[IFLA_LINKINFO] && nla_parse_nested(kind, IFLA_INFO_MAX, attributes[IFLA_LINKINFO], NULL) >= 0;
    return !known || !kind[IFLA_INFO_KIND] || strcmp(nla_get_string(kind[IFLA_INFO_KIND]), "veth") != 0;
}

static int parse_device(void *context, struct nlmsghdr *header, struct err *err)
{
    const struct device_dump *to = context;
    struct nlattr *attributes[ATTRIBUTE_GSO_IPV4_MAX_SIZE + 1];
    if (header->nlmsg_type != RTM_NEWLINK ||
        nlmsg_parse(header, sizeof(struct ifinfomsg), attributes, ATTRIBUTE_GSO_IPV4_MAX_SIZE, NULL) < 0)
        return 0;
    const struct ifinfomsg *info = nlmsg_data(header);
    const unsigned wanted = IFF_UP | IFF_RUNNING | LOWER_UP;
    struct netlink_device device = {
        .index = info->ifi_index,
        .mtu = (int)attribute_u32(attributes[IFLA_MTU]),
        .gso_max_bytes = attribute_u32(attributes[IFLA_GSO_MAX_SIZE]),
        .gso_ipv4_max_bytes = attribute_u32(attributes[ATTRIBUTE_GSO_IPV4_MAX_SIZE]),
        .gso_max_segments = attribute_u32(attributes[IFLA_GSO_MAX_SEGS]),
        .queue_packets = attribute_u32(attributes[IFLA_TXQLEN]),
        .running = (info->ifi_flags & wanted) == wanted && is_active(attributes),
    };
    if (attributes[IFLA_IFNAME])
        nla_strlcpy(device.name, attributes[IFLA_IFNAME], sizeof(device.name));
    if (attributes[IFLA_ADDRESS] && nla_len(attributes[IFLA_ADDRESS]) == NETLINK_MAC_BYTES)
        memcpy(device.mac, nla_data(attributes[IFLA_ADDRESS]), NETLINK_MAC_BYTES);
    struct rtnl_link_stats64 statistics;
    if (attributes[IFLA_STATS64] && nla_len(attributes[IFLA_STATS64]) > 0) {
        memset(&statistics, 0, sizeof(statistics));
        nla_memcpy(&statistics, attributes[IFLA_STATS64], sizeof(statistics));
        device.tx_packets = statistics.tx_packets;
        device.tx_bytes = statistics.tx_bytes;
        device.tx_dropped = statistics.tx_dropped;
        device.rx_dropped = statistics.rx_dropped;
    }
    return to->callback(to->context, &device, err);
}

int netlink_dump_devices(struct netlink *netlink, netlink_device_callback *callback, void *context, struct err *err)
{
    struct device_dump to = {.callback = callback, .context = context};
    struct ifinfomsg body = {.ifi_family = AF_UNSPEC};
    return ask(netlink, EVERY, &body, sizeof(body), RTM_GETLINK, "the list of devices", parse_device, &to, err);
}

int netlink_get_device(struct netlink *netlink, int index, netlink_device_callback *callback, void *context, struct err *err)
{
    struct device_dump to = {.callback = callback, .context = context};
    struct ifinfomsg body = {.ifi_family = AF_UNSPEC, .ifi_index = index};
    return ask(netlink, ONE, &body, sizeof(body), RTM_GETLINK, "a device", parse_device, &to, err);
}

struct qdisc_dump {
    netlink_qdisc_callback *callback;
    void *context;
};

static int parse_qdisc(void *context, struct nlmsghdr *header, struct err *err)
{
    const struct qdisc_dump *to = context;
    struct nlattr *attributes[TCA_MAX + 1], *statistics[TCA_STATS_MAX + 1] = {NULL};
    if (header->nlmsg_type != RTM_NEWQDISC || nlmsg_parse(header, sizeof(struct tcmsg), attributes, TCA_MAX, NULL) < 0 ||
        !attributes[TCA_KIND])
        return 0;
    const struct tcmsg *info = nlmsg_data(header);
    struct netlink_qdisc qdisc = {
        .index = info->tcm_ifindex,
        .parent = info->tcm_parent,
        .handle = info->tcm_handle,
        .kind = nla_get_string(attributes[TCA_KIND]),
        .options = attributes[TCA_OPTIONS],
    };
    if (attributes[TCA_STATS2] && nla_parse_nested(statistics, TCA_STATS_MAX, attributes[TCA_STATS2], NULL) >= 0) {
        struct gnet_stats_basic basic = {0};
        struct gnet_stats_queue queue = {0};
        if (statistics[TCA_STATS_BASIC])
            nla_memcpy(&basic, statistics[TCA_STATS_BASIC], sizeof(basic));
        if (statistics[TCA_STATS_QUEUE])
            nla_memcpy(&queue, statistics[TCA_STATS_QUEUE], sizeof(queue));
        qdisc.bytes = basic.bytes;
        qdisc.packets = basic.packets;
        qdisc.drops = queue.drops;
        qdisc.backlog_bytes = queue.backlog;
    }
    return to->callback(to->context, &qdisc, err);
}

int netlink_dump_qdiscs(struct netlink *netlink, netlink_qdisc_callback *callback, void *context, struct err *err)
{
    struct qdisc_dump to = {.callback = callback, .context = context};
    struct tcmsg body = {.tcm_family = AF_UNSPEC};
    return ask(netlink, EVERY, &body, sizeof(body), RTM_GETQDISC, "the list of queueing disciplines", parse_qdisc, &to, err);
}

int netlink_get_qdisc(struct netlink *netlink, int index, uint32_t parent, netlink_qdisc_callback *callback, void *context,
                      struct err *err)
{
    struct qdisc_dump to = {.callback = callback, .context = context};
    struct tcmsg body = {.tcm_family = AF_UNSPEC, .tcm_ifindex = index, .tcm_parent = parent};
    return ask(netlink, ONE, &body, sizeof(body), RTM_GETQDISC, "a queueing discipline", parse_qdisc, &to, err);
}
