/* transport_connect.c: the listening socket, and one connection to every peer.
 *
 * Theory of operation. Of two nodes the lower index connects. The caller sends its hello as soon as the connection is there; the
 * called one answers with its own. Both check index, cell and the trial's token, so that neither an agent of another trial nor a
 * stray program is taken for a peer. A hello is read to its exact length, so that no byte of a message is taken with it. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agents/transport_internal.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/loop.h"
#include "base/units.h"

enum { STRAYS = 8 }; /* callers beyond the expected ones that are heard before they are refused */

static struct sockaddr_in socket_address(uint32_t address, uint16_t port)
{
    return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(address)};
}

static const char *address_text(const struct transport *transport, int node, char text[static INET_ADDRSTRLEN])
{
    struct in_addr address = {.s_addr = htonl(transport->options.addresses[node])};
    return inet_ntop(AF_INET, &address, text, INET_ADDRSTRLEN);
}

/* What a sentence calls a node. */
static const char *node_text(const struct transport *transport, int node, char number[static UNITS_TEXT_BYTES])
{
    if (transport->options.names)
        return transport->options.names[node];
    snprintf(number, UNITS_TEXT_BYTES, "%d", node);
    return number;
}

static int open_listener(const struct transport_options *options, int *fd, struct err *err)
{
    struct sockaddr_in address = socket_address(options->addresses[options->node], options->port);
    char text[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &address.sin_addr, text, sizeof(text));
    cleanup(close_fd) int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot create a TCP socket");
    int on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    setsockopt(listener, IPPROTO_IP, IP_FREEBIND, &on, sizeof(on)); /* the network may still be in the making */
    if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot listen on %s port %u", text, options->port);
    if (listen(listener, SOMAXCONN) < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot listen on %s port %u", text, options->port);
    *fd = steal_fd(&listener);
    return 0;
}

struct transport *transport_new(const struct transport_options *options, struct err *err)
{
    cleanup(close_fd) int listener = -1;
    if (options->port != 0 && open_listener(options, &listener, err) < 0)
        return NULL;
    struct transport *transport = arena_new_object(options->arena, struct transport);
    transport->options = *options;
    transport->listen_fd = steal_fd(&listener);
    transport->waste = arena_alloc(options->arena, WASTE_BYTES);
    transport->connections = arena_new_array(options->arena, struct connection *, (size_t)options->node_count);
    for (int i = 0; i < options->node_count; i++) {
        bool peer = i != options->node && (!options->talks || options->talks(options->talks_context, options->node, i));
        transport->connections[i] = peer ? arena_new_object(options->arena, struct connection) : &transport->nobody;
        *transport->connections[i] = (struct connection){.transport = transport, .peer = peer ? i : -1, .fd = -1};
        transport->expected += peer;
    }
    transport->greeting_count = transport->expected + STRAYS;
    transport->greetings = arena_new_array(options->arena, struct greeting, (size_t)transport->greeting_count);
    for (int i = 0; i < transport->greeting_count; i++)
        transport->greetings[i] = (struct greeting){.transport = transport, .fd = -1, .peer = -1};
    return transport;
}

/* ---- the end of connecting, either way ---- */

static void close_greeting(struct greeting *greeting)
{
    if (greeting->watch)
        loop_unwatch(greeting->watch);
    greeting->watch = NULL;
    close_fd(&greeting->fd);
}

static void stop_connecting(struct transport *transport)
{
    if (transport->deadline)
        loop_disarm(transport->deadline);
    if (transport->listen_watch)
        loop_unwatch(transport->listen_watch);
    transport->listen_watch = NULL;
    for (int i = 0; i < transport->greeting_count; i++)
        close_greeting(&transport->greetings[i]);
}

void transport_free(struct transport *transport)
{
    if (!transport)
        return;
    stop_connecting(transport);
    close_fd(&transport->listen_fd);
    for (int i = 0; i < transport->options.node_count; i++) {
        struct connection *connection = transport->connections[i];
        if (connection->watch)
            loop_unwatch(connection->watch);
        connection->watch = NULL;
        close_fd(&connection->fd);
    }
}

static void fail(struct transport *transport, const struct err *reason)
{
    if (transport->failed)
        return;
    transport->failed = true;
    stop_connecting(transport);
    transport->options.events->on_failed(transport->options.context, reason);
}

static void fail_peer(struct transport *transport, int peer, const char *doing, int error)
{
    char number[UNITS_TEXT_BYTES], text[INET_ADDRSTRLEN];
    struct err reason;
    err_set_errno(&reason, ERR_TRIAL, error, "%s node %s (%s port %u) failed", doing, node_text(transport, peer, number),
                  address_text(transport, peer, text), transport->options.port);
    fail(transport, &reason);
}

static void check_complete(struct transport *transport)
{
    if (transport->failed || transport->up < transport->expected)
        return;
    stop_connecting(transport);
    transport->options.events->on_connected(transport->options.context);
}

static void on_deadline(void *context, int64_t deadline_ns)
{
    (void)deadline_ns;
    struct transport *transport = context;
    const struct transport_options *options = &transport->options;
    int missing = -1, count = 0;
    for (int i = 0; i < options->node_count; i++) {
        if (transport->connections[i] == &transport->nobody || transport->connections[i]->fd >= 0)
            continue;
        missing = count++ == 0 ? i : missing;
    }
    char limit[UNITS_TEXT_BYTES], number[UNITS_TEXT_BYTES], text[INET_ADDRSTRLEN];
    struct err reason;
    err_set(&reason, ERR_TRIAL, "no connection with %d of %d peer%s within %s, node %s (%s port %u) first among them", count,
            transport->expected, units_plural(transport->expected),
            units_show_time(limit, sizeof(limit), (double)options->connect_ns), node_text(transport, missing, number),
            address_text(transport, missing, text), options->port);
    fail(transport, &reason);
}

/* ---- hellos ---- */

static int send_hello(struct transport *transport, int fd)
{
    struct transport_hello hello = {.node = (uint32_t)transport->options.node,
                                    .cell = transport->options.cell,
                                    .token = transport->options.token,
                                    .flags = transport->hello_flags};
    uint8_t bytes[TRANSPORT_HEADER_BYTES];
    transport_hello_encode(&hello, bytes);
    ssize_t sent = send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL | MSG_DONTWAIT); /* the first bytes of a connection always fit */
    return sent == (ssize_t)sizeof(bytes) ? 0 : sent < 0 ? errno : EMSGSIZE;
}

static int check_hello(const struct greeting *greeting, const struct transport_hello *hello, struct err *err)
{
    const struct transport *transport = greeting->transport;
    const struct transport_options *options = &transport->options;
    if (hello->token != options->token || hello->cell != options->cell)
        return err_set(err, ERR_TRIAL, "node %u belongs to another trial", hello->node);
    if (greeting->peer >= 0 && hello->node != (uint32_t)greeting->peer)
        return err_set(err, ERR_TRIAL, "node %d answered as node %u", greeting->peer, hello->node);
    if (greeting->peer < 0 && hello->node >= (uint32_t)options->node)
        return err_set(err, ERR_TRIAL, "node %u called node %d; of two nodes the lower index calls", hello->node, options->node);
    if (transport->connections[hello->node] == &transport->nobody)
        return err_set(err, ERR_TRIAL, "node %u called, with which this scheme exchanges nothing", hello->node);
    if (transport->connections[hello->node]->fd >= 0)
        return err_set(err, ERR_TRIAL, "node %u called a second time", hello->node);
    return 0;
}

static void take_hello(struct greeting *greeting)
{
    struct transport *transport = greeting->transport;
    struct transport_hello hello;
    struct err reason;
    if (transport_hello_decode(greeting->bytes, &hello, &reason) < 0 || check_hello(greeting, &hello, &reason) < 0) {
        fail(transport, &reason);
        return;
    }
    if (greeting->peer < 0) {
        int error = send_hello(transport, greeting->fd);
        if (error) {
            fail_peer(transport, (int)hello.node, "answering", error);
            return;
        }
    }
    loop_unwatch(greeting->watch);
    greeting->watch = NULL;
    transport_attach(transport, (int)hello.node, steal_fd(&greeting->fd), hello.flags);
    transport->up++;
    check_complete(transport);
}

static void read_hello(struct greeting *greeting)
{
    struct transport *transport = greeting->transport;
    ssize_t received;
    do
        received = recv(greeting->fd, greeting->bytes + greeting->got, sizeof(greeting->bytes) - greeting->got, MSG_DONTWAIT);
    while (received < 0 && errno == EINTR);
    if (received < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return;
    if (received <= 0) {
        if (greeting->peer >= 0) {
            fail_peer(transport, greeting->peer, "the greeting of", received < 0 ? errno : ECONNRESET);
            return;
        }
        close_greeting(greeting); /* someone looked in and went; the deadline tells if it was a peer */
        return;
    }
    greeting->got += (size_t)received;
    if (greeting->got == sizeof(greeting->bytes))
        take_hello(greeting);
}

static void on_greeting(void *context, uint32_t events)
{
    (void)events;
    struct greeting *greeting = context;
    struct transport *transport = greeting->transport;
    if (!greeting->connecting) {
        read_hello(greeting);
        return;
    }
    int error = 0;
    socklen_t length = sizeof(error);
    if (getsockopt(greeting->fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0)
        error = errno;
    if (!error)
        error = send_hello(transport, greeting->fd);
    if (error) {
        fail_peer(transport, greeting->peer, "connecting to", error);
        return;
    }
    greeting->connecting = false;
    loop_change(greeting->watch, EPOLLIN);
}

static struct greeting *new_greeting(struct transport *transport, int fd, int peer, struct err *err)
{
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    struct greeting *greeting = transport->greetings;
    while (greeting < transport->greetings + transport->greeting_count && greeting->fd >= 0)
        greeting++;
    if (greeting == transport->greetings + transport->greeting_count) {
        err_set(err, ERR_TRIAL, "more than %d connections came where %d peers were expected", transport->greeting_count,
                transport->expected);
        return NULL;
    }
    *greeting = (struct greeting){.transport = transport, .fd = -1, .peer = peer, .connecting = peer >= 0};
    greeting->watch = loop_watch(transport->options.loop, fd, peer >= 0 ? EPOLLOUT : EPOLLIN, on_greeting, greeting, err);
    if (!greeting->watch)
        return NULL;
    greeting->fd = fd;
    return greeting;
}

static void on_call(void *context, uint32_t events)
{
    (void)events;
    struct transport *transport = context;
    while (!transport->failed && transport->listen_watch) {
        cleanup(close_fd) int fd = accept4(transport->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        struct err reason;
        if (fd < 0) {
            err_set_errno(&reason, ERR_HOST, errno, "cannot accept a connection");
            fail(transport, &reason);
            return;
        }
        struct greeting *greeting = new_greeting(transport, fd, -1, &reason);
        if (!greeting) {
            fail(transport, &reason);
            return;
        }
        (void)steal_fd(&fd);
        read_hello(greeting); /* it often came with the connection */
    }
}

static bool call(struct transport *transport, int peer)
{
    struct sockaddr_in address = socket_address(transport->options.addresses[peer], transport->options.port);
    cleanup(close_fd) int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 && errno != EINPROGRESS)) {
        fail_peer(transport, peer, "connecting to", errno);
        return false;
    }
    struct err reason;
    if (!new_greeting(transport, fd, peer, &reason)) {
        fail(transport, &reason);
        return false;
    }
    (void)steal_fd(&fd);
    return true;
}

void transport_connect(struct transport *transport, unsigned hello_flags)
{
    const struct transport_options *options = &transport->options;
    struct err reason;
    transport->hello_flags = hello_flags;
    transport->deadline = loop_timer(options->loop, on_deadline, transport);
    loop_arm(transport->deadline, clock_now_ns() + options->connect_ns);
    transport->listen_watch = loop_watch(options->loop, transport->listen_fd, EPOLLIN, on_call, transport, &reason);
    if (!transport->listen_watch) {
        fail(transport, &reason);
        return;
    }
    for (int peer = options->node + 1; peer < options->node_count; peer++)
        if (transport->connections[peer] != &transport->nobody && !call(transport, peer))
            return;
    check_complete(transport); /* a node that talks to nobody */
}
