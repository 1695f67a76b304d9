/* transport.c: receives messages on the connections that transport_connect.c made and hands their events on; see transport.h.
 *
 * Theory of operation, receiving. A connection is in one of three states. RECEIVE_HEADER: bytes are read into a small stage until a
 * header is there. RECEIVE_PAYLOAD: one readv() fills the rest of the payload where it belongs and, behind it, the stage, so that
 * the next header comes with the same system call and at most a stage's worth of bytes is ever copied. RECEIVE_HELD: the owner does
 * not want the message yet; the descriptor's EPOLLIN is off and TCP's window holds the sender back. Every state change happens
 * before the owner is called, so that the owner may send, resume another connection, or lose this one from within. */
#include "agents/transport_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/loop.h"

enum { READ_BUDGET = 1 << 20 };

static void ask_landing(struct connection *connection)
{
    const struct transport_options *options = &connection->transport->options;
    void *into = NULL;
    connection->state = RECEIVE_HELD; /* while the owner decides */
    enum transport_landing landing = options->events->on_header(options->context, &connection->message, &into);
    if (connection->fd < 0)
        return;
    if (landing == TRANSPORT_HOLD) {
        transport_unwant(connection, EPOLLIN);
        return;
    }
    connection->into = landing == TRANSPORT_READ ? into : NULL;
    connection->got = 0;
    connection->state = RECEIVE_PAYLOAD;
}

static void finish_payload(struct connection *connection)
{
    const struct transport_options *options = &connection->transport->options;
    struct message message = connection->message;
    message.payload = connection->into;
    connection->state = RECEIVE_HEADER;
    connection->begun = false;
    options->events->on_payload(options->context, &message, connection->begin_ns, connection->read_ns);
}

static void take_header(struct connection *connection)
{
    const struct transport_options *options = &connection->transport->options;
    struct transport_header header;
    struct err reason;
    if (transport_header_decode(connection->staged + connection->staged_begin, connection->receive_sequence, options->payload_max,
                                &header, &reason) < 0) {
        transport_lose(connection, true, &reason);
        return;
    }
    connection->receive_sequence++;
    connection->staged_begin += TRANSPORT_HEADER_BYTES;
    connection->message = (struct message){.header = header.message, .source = connection->peer, .length = (size_t)header.length};
    ask_landing(connection);
}

static void take_staged_payload(struct connection *connection)
{
    size_t staged = connection->staged_end - connection->staged_begin;
    size_t left = connection->message.length - connection->got;
    size_t part = staged < left ? staged : left;
    if (connection->into && part > 0)
        memcpy(connection->into + connection->got, connection->staged + connection->staged_begin, part);
    connection->got += part;
    connection->staged_begin += part;
}

/* Works until the stage holds nothing that can be used. False: nothing may be read now (lost or held). */
static bool use_stage(struct connection *connection)
{
    while (connection->fd >= 0) {
        size_t staged = connection->staged_end - connection->staged_begin;
        if (connection->state == RECEIVE_HELD)
            return false;
        if (connection->state == RECEIVE_PAYLOAD) {
            take_staged_payload(connection);
            if (connection->got < connection->message.length)
                return true;
            finish_payload(connection);
            continue;
        }
        if (staged > 0 && !connection->begun) {
            connection->begun = true;
            connection->begin_ns = connection->read_ns;
        }
        if (staged < TRANSPORT_HEADER_BYTES)
            return true;
        take_header(connection);
    }
    return false;
}

/* One readv(). Returns what came (*all: as much as was asked for), 0 at the end of the stream, or -errno. */
static ssize_t read_more(struct connection *connection, bool *all)
{
    struct iovec parts[2];
    int count = 0;
    size_t left = 0;
    if (connection->state == RECEIVE_PAYLOAD) {
        left = connection->message.length - connection->got;
        if (connection->into) {
            parts[count++] = (struct iovec){.iov_base = connection->into + connection->got, .iov_len = left};
        } else {
            left = left < WASTE_BYTES ? left : WASTE_BYTES;
            parts[count++] = (struct iovec){.iov_base = connection->transport->waste, .iov_len = left};
        }
    }
    size_t kept = connection->staged_end - connection->staged_begin; /* the start of a header */
    if (connection->staged_begin > 0)
        memmove(connection->staged, connection->staged + connection->staged_begin, kept);
    connection->staged_begin = 0;
    connection->staged_end = kept;
    parts[count++] = (struct iovec){.iov_base = connection->staged + kept, .iov_len = STAGED_BYTES - kept};
    ssize_t received;
    do
        received = readv(connection->fd, parts, count);
    while (received < 0 && errno == EINTR);
    connection->read_ns = clock_now_ns();
    if (received < 0)
        return -errno;
    size_t direct = (size_t)received < left ? (size_t)received : left;
    connection->got += connection->state == RECEIVE_PAYLOAD ? direct : 0;
    connection->staged_end += (size_t)received - direct;
    *all = (size_t)received == left + STAGED_BYTES - kept;
    return received;
}

static void receive(struct connection *connection)
{
    size_t total = 0;
    while (use_stage(connection) && total < READ_BUDGET) {
        bool all = false;
        ssize_t received = read_more(connection, &all);
        if (received == -EAGAIN || received == -EWOULDBLOCK)
            return;
        if (received < 0) {
            transport_lose_errno(connection, (int)-received, "receiving failed");
            return;
        }
        if (received == 0) {
            struct err reason;
            err_set(&reason, ERR_TRIAL, "it closed the connection");
            transport_lose(connection, false, &reason);
            return;
        }
        total += (size_t)received;
        if (!all) { /* the socket is empty; the stage must be, too, since epoll does not know it */
            use_stage(connection);
            return;
        }
    }
}

void transport_resume(struct transport *transport, int peer)
{
    struct connection *connection = transport->connections[peer];
    if (connection->fd < 0 || connection->state != RECEIVE_HELD)
        return;
    ask_landing(connection);
    if (connection->fd < 0 || connection->state == RECEIVE_HELD)
        return;
    use_stage(connection);
    if (connection->fd >= 0 && connection->state != RECEIVE_HELD)
        transport_want(connection, EPOLLIN);
}

const struct message *transport_receiving(const struct transport *transport, int peer)
{
    const struct connection *connection = transport->connections[peer];
    return connection->fd >= 0 && connection->state == RECEIVE_PAYLOAD ? &connection->message : NULL;
}

void transport_redirect(struct transport *transport, int peer, void *into)
{
    struct connection *connection = transport->connections[peer];
    if (connection->fd < 0 || connection->state != RECEIVE_PAYLOAD)
        return;
    if (into && connection->into && connection->got > 0)
        memcpy(into, connection->into, connection->got);
    connection->into = into;
}

static void on_event(void *context, uint32_t events)
{
    struct connection *connection = context;
    if (events & EPOLLOUT)
        transport_flush(connection);
    if (connection->fd >= 0 && events & EPOLLIN && connection->interest & EPOLLIN)
        receive(connection);
    if (connection->fd >= 0 && events & (EPOLLERR | EPOLLHUP) && !(connection->interest & EPOLLIN)) {
        int error = 0;
        socklen_t length = sizeof(error);
        getsockopt(connection->fd, SOL_SOCKET, SO_ERROR, &error, &length);
        transport_lose_errno(connection, error ? error : ECONNRESET, "the connection broke");
    }
    connection->transport->options.events->on_settled(connection->transport->options.context);
}

/* ---- life ---- */

void transport_attach(struct transport *transport, int peer, int fd, unsigned hello_flags)
{
    struct connection *connection = transport->connections[peer];
    connection->fd = fd;
    connection->hello_flags = hello_flags;
    connection->queue = arena_new_array(transport->options.arena, struct outgoing, TRANSPORT_QUEUE);
    connection->staged = arena_alloc(transport->options.arena, STAGED_BYTES);
}

int transport_start(struct transport *transport, struct err *err)
{
    for (int i = 0; i < transport->options.node_count; i++) {
        struct connection *connection = transport->connections[i];
        if (connection->fd < 0)
            continue;
        connection->interest = EPOLLIN | (connection->queue_count > 0 ? EPOLLOUT : 0);
        connection->watch = loop_watch(transport->options.loop, connection->fd, connection->interest, on_event, connection, err);
        if (!connection->watch)
            return -ERR_HOST;
    }
    return 0;
}

unsigned transport_hello_of(const struct transport *transport, int peer)
{
    return transport->connections[peer]->hello_flags;
}
