/* transport_send.c: what leaves on a connection: the kernel takes it at once or it waits in the connection's queue; and how a
 * connection ends, since its queue ends with it. */
#include "agents/transport_internal.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/loop.h"

enum { GATHER = 8 };

static void listen_for(struct connection *connection, uint32_t events)
{
    if (connection->watch && connection->interest != events) {
        loop_change(connection->watch, events);
        connection->interest = events;
    }
}

void transport_want(struct connection *connection, uint32_t events)
{
    listen_for(connection, connection->interest | events);
}

void transport_unwant(struct connection *connection, uint32_t events)
{
    listen_for(connection, connection->interest & ~events);
}

/* ---- the end of a connection ---- */

static bool socket_info(int fd, struct tcp_info *info)
{
    socklen_t length = sizeof(*info);
    memset(info, 0, sizeof(*info));
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &length) == 0;
}

static uint64_t socket_retransmits(int fd)
{
    struct tcp_info info;
    return socket_info(fd, &info) ? info.tcpi_total_retrans : 0;
}

uint64_t transport_retransmits(const struct transport *transport)
{
    uint64_t total = 0;
    for (int i = 0; i < transport->options.node_count; i++) {
        const struct connection *connection = transport->connections[i];
        total += connection->fd >= 0 ? socket_retransmits(connection->fd) : connection->retransmits;
    }
    return total;
}

void transport_sample(const struct transport *transport, struct sample_record *sample)
{
    *sample = (struct sample_record){0};
    for (int i = 0; i < transport->options.node_count; i++) {
        const struct connection *connection = transport->connections[i];
        struct tcp_info info;
        int64_t round_trip_ns;
        if (connection->fd < 0 || !socket_info(connection->fd, &info)) {
            sample->retransmits += connection->retransmits;
            continue;
        }
        sample->retransmits += info.tcpi_total_retrans;
        sample->unacknowledged_segments += info.tcpi_unacked;
        if (sample->connections++ == 0 || info.tcpi_snd_cwnd < sample->window_least_segments)
            sample->window_least_segments = info.tcpi_snd_cwnd;
        if (info.tcpi_snd_cwnd > sample->window_most_segments)
            sample->window_most_segments = info.tcpi_snd_cwnd;
        round_trip_ns = (int64_t)info.tcpi_rtt * NS_PER_US;
        if (round_trip_ns > sample->round_trip_most_ns)
            sample->round_trip_most_ns = round_trip_ns;
    }
}

/* By value: the slot of the queue it came from may be used again from within on_taken(). */
static void taken(struct connection *connection, struct transport_taken what)
{
    const struct transport_options *options = &connection->transport->options;
    what.end_ns = clock_now_ns();
    options->events->on_taken(options->context, &what);
}

void transport_lose(struct connection *connection, bool violation, const struct err *reason)
{
    const struct transport_options *options = &connection->transport->options;
    if (connection->fd < 0)
        return;
    connection->retransmits = socket_retransmits(connection->fd);
    if (connection->watch)
        loop_unwatch(connection->watch);
    connection->watch = NULL;
    close_fd(&connection->fd);
    while (connection->queue_count > 0) {
        struct outgoing *outgoing = &connection->queue[connection->queue_first];
        connection->queue_first = (connection->queue_first + 1) % TRANSPORT_QUEUE;
        connection->queue_count--;
        outgoing->taken.dropped = true;
        taken(connection, outgoing->taken);
    }
    options->events->on_lost(options->context, connection->peer, violation, reason);
}

void transport_lose_errno(struct connection *connection, int error, const char *doing)
{
    struct err reason;
    err_set_errno(&reason, ERR_TRIAL, error, "%s", doing);
    transport_lose(connection, false, &reason);
}

bool transport_connected(const struct transport *transport, int peer)
{
    return transport->connections[peer]->fd >= 0;
}

void transport_give_up(struct transport *transport, int peer)
{
    struct err reason;
    err_set(&reason, ERR_TRIAL, "it was given up");
    transport_lose(transport->connections[peer], false, &reason);
}

/* ---- sending ---- */

/* Puts what is left of a message into iovecs; returns how many. */
static int gather(const struct outgoing *outgoing, struct iovec *parts)
{
    int count = 0;
    size_t payload_sent = 0;
    if (outgoing->sent < TRANSPORT_HEADER_BYTES)
        parts[count++] = (struct iovec){.iov_base = (uint8_t *)outgoing->header + outgoing->sent,
                                        .iov_len = TRANSPORT_HEADER_BYTES - outgoing->sent};
    else
        payload_sent = outgoing->sent - TRANSPORT_HEADER_BYTES;
    if (payload_sent < outgoing->taken.length)
        parts[count++] = (struct iovec){.iov_base = (uint8_t *)outgoing->payload + payload_sent,
                                        .iov_len = outgoing->taken.length - payload_sent};
    return count;
}

/* Returns what the kernel took, 0 when it takes nothing now, or -errno. */
static ssize_t push(int fd, struct iovec *parts, int count)
{
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)count};
    ssize_t sent;
    do
        sent = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    if (sent >= 0)
        return sent;
    return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -errno;
}

static size_t left_of(const struct outgoing *outgoing)
{
    return TRANSPORT_HEADER_BYTES + outgoing->taken.length - outgoing->sent;
}

void transport_flush(struct connection *connection)
{
    while (connection->queue_count > 0) {
        struct iovec parts[2 * GATHER];
        int count = 0;
        size_t wanted = 0;
        for (uint32_t i = 0; i < connection->queue_count && i < GATHER; i++) {
            struct outgoing *outgoing = &connection->queue[(connection->queue_first + i) % TRANSPORT_QUEUE];
            count += gather(outgoing, parts + count);
            wanted += left_of(outgoing);
        }
        ssize_t sent = push(connection->fd, parts, count);
        if (sent < 0) {
            transport_lose_errno(connection, (int)-sent, "sending failed");
            return;
        }
        size_t left = (size_t)sent;
        while (connection->queue_count > 0 && left >= left_of(&connection->queue[connection->queue_first])) {
            struct outgoing *outgoing = &connection->queue[connection->queue_first];
            left -= left_of(outgoing);
            connection->queue_first = (connection->queue_first + 1) % TRANSPORT_QUEUE;
            connection->queue_count--;
            taken(connection, outgoing->taken);
            if (connection->fd < 0)
                return;
            if (left == 0)
                break;
        }
        if (left > 0)
            connection->queue[connection->queue_first].sent += left;
        if ((size_t)sent < wanted)
            break;
    }
    if (connection->queue_count == 0)
        transport_unwant(connection, EPOLLOUT);
}

bool transport_send(struct transport *transport, int peer, const struct message_header *header, const void *bytes, size_t length,
                    void *cookie)
{
    struct connection *connection = transport->connections[peer];
    struct outgoing outgoing = {
        .taken = {.peer = peer, .header = *header, .length = length, .cookie = cookie, .begin_ns = clock_now_ns()},
        .payload = bytes,
    };
    if (connection->fd < 0) {
        outgoing.taken.dropped = true;
        taken(connection, outgoing.taken);
        return true;
    }
    if (connection->queue_count == TRANSPORT_QUEUE)
        return false;
    struct transport_header full = {.message = *header, .sequence = connection->send_sequence++, .length = length};
    transport_header_encode(&full, outgoing.header);
    if (connection->queue_count == 0) {
        struct iovec parts[2];
        ssize_t sent = push(connection->fd, parts, gather(&outgoing, parts));
        if (sent < 0) {
            outgoing.taken.dropped = true;
            taken(connection, outgoing.taken);
            transport_lose_errno(connection, (int)-sent, "sending failed");
            return true;
        }
        outgoing.sent = (size_t)sent;
        if (left_of(&outgoing) == 0) {
            taken(connection, outgoing.taken);
            return true;
        }
        transport_want(connection, EPOLLOUT);
    }
    connection->queue[(connection->queue_first + connection->queue_count++) % TRANSPORT_QUEUE] = outgoing;
    return true;
}
