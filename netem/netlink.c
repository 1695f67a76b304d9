/* netlink.c: the socket, batches and dumps. netlink_requests.c builds the messages, netlink_parse.c reads the answers. */
#include "netem/netlink.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "netem/netlink_parse.h"

enum {
    BATCH_BYTES = 64 * 1024,  /* below the default send buffer of every kernel (212,992) with its overhead */
    NOTES_MOST = 128,         /* messages a batch: their failures, if every one fails, fit the default receive buffer */
    ANSWER_BYTES = 64 * 1024, /* the kernel fills a dump's reply up to 32 KiB */
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

static int report_failure(const struct note *note, const struct nlmsghdr *header, struct err *err)
{
    char words[NETLINK_WORDS_BYTES];
    const int error = netlink_parse_failure(header, words);
    const char *device = note && note->device[0] ? note->device : "this namespace";
    const char *setting = note ? note->setting : "a request";
    return err_set_errno(err, ERR_HOST, error, "the kernel refused %s on %s%s%s", setting, device, words[0] ? ": " : "", words);
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
                bool done = netlink_parse_failure(header, NULL) == 0; /* the acknowledgement behind one object */
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

static int take_device(void *context, struct nlmsghdr *header, struct err *err)
{
    const struct device_dump *to = context;
    struct netlink_device device;
    return netlink_parse_device(header, &device) ? to->callback(to->context, &device, err) : 0;
}

int netlink_dump_devices(struct netlink *netlink, netlink_device_callback *callback, void *context, struct err *err)
{
    struct device_dump to = {.callback = callback, .context = context};
    struct ifinfomsg body = {.ifi_family = AF_UNSPEC};
    return ask(netlink, EVERY, &body, sizeof(body), RTM_GETLINK, "the list of devices", take_device, &to, err);
}

int netlink_get_device(struct netlink *netlink, int index, netlink_device_callback *callback, void *context, struct err *err)
{
    struct device_dump to = {.callback = callback, .context = context};
    struct ifinfomsg body = {.ifi_family = AF_UNSPEC, .ifi_index = index};
    return ask(netlink, ONE, &body, sizeof(body), RTM_GETLINK, "a device", take_device, &to, err);
}

struct qdisc_dump {
    netlink_qdisc_callback *callback;
    void *context;
};

static int take_qdisc(void *context, struct nlmsghdr *header, struct err *err)
{
    const struct qdisc_dump *to = context;
    struct netlink_qdisc qdisc;
    return netlink_parse_qdisc(header, &qdisc) ? to->callback(to->context, &qdisc, err) : 0;
}

int netlink_dump_qdiscs(struct netlink *netlink, netlink_qdisc_callback *callback, void *context, struct err *err)
{
    struct qdisc_dump to = {.callback = callback, .context = context};
    struct tcmsg body = {.tcm_family = AF_UNSPEC};
    return ask(netlink, EVERY, &body, sizeof(body), RTM_GETQDISC, "the list of queueing disciplines", take_qdisc, &to, err);
}

int netlink_get_qdisc(struct netlink *netlink, int index, uint32_t parent, netlink_qdisc_callback *callback, void *context,
                      struct err *err)
{
    struct qdisc_dump to = {.callback = callback, .context = context};
    struct tcmsg body = {.tcm_family = AF_UNSPEC, .tcm_ifindex = index, .tcm_parent = parent};
    return ask(netlink, ONE, &body, sizeof(body), RTM_GETQDISC, "a queueing discipline", take_qdisc, &to, err);
}
