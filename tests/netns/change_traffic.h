/* change_traffic.h: traffic over the fabric of change_bench.h: a connection that is kept full, and numbered datagrams. */
#ifndef LAGGARD_TESTS_NETNS_CHANGE_TRAFFIC_H
#define LAGGARD_TESTS_NETNS_CHANGE_TRAFFIC_H

#include <poll.h>

#include "tests/netns/change_bench.h"

enum { PAYLOAD = 100 /* small: a socket must hold hundreds */, PATIENCE_MS = 20000, QUIET_MS = 300 };

struct stream { /* as fast as it goes, from host 0 to host 1 */
    int from, to;
};

static inline struct stream open_stream(const struct bench *bench, int from, int to)
{
    struct sockaddr_in there, here;
    cleanup(close_fd) int listener = bound_socket(bench, to, SOCK_STREAM, &there);
    struct stream stream = {.from = bound_socket(bench, from, SOCK_STREAM, &here)};
    if (listen(listener, 1) < 0 || connect(stream.from, (struct sockaddr *)&there, sizeof(there)) < 0)
        die("a connection", NULL);
    stream.to = accept(listener, NULL, NULL);
    return stream;
}

/* What is left of it is gone, too. */
static inline void close_stream(struct stream *stream)
{
    const struct linger abort = {.l_onoff = 1};
    setsockopt(stream->from, SOL_SOCKET, SO_LINGER, &abort, sizeof(abort));
    setsockopt(stream->to, SOL_SOCKET, SO_LINGER, &abort, sizeof(abort));
    close_fd(&stream->from);
    close_fd(&stream->to);
}

/* Keeps the stream full for so long; returns the bytes that came. */
static inline uint64_t pump(const struct stream *stream, int64_t duration_ns)
{
    static char chunk[1 << 16];
    uint64_t received = 0;
    int64_t ends_ns = clock_now_ns() + duration_ns;
    for (int64_t now_ns; (now_ns = clock_now_ns()) < ends_ns;) {
        struct pollfd entries[] = {{.fd = stream->from, .events = POLLOUT}, {.fd = stream->to, .events = POLLIN}};
        if (poll(entries, 2, (int)((ends_ns - now_ns) / NS_PER_MS) + 1) < 0)
            die("poll", NULL);
        if (entries[0].revents)
            (void)send(stream->from, chunk, sizeof(chunk), MSG_DONTWAIT | MSG_NOSIGNAL);
        ssize_t length = entries[1].revents ? recv(stream->to, chunk, sizeof(chunk), MSG_DONTWAIT) : 0;
        received += length > 0 ? (uint64_t)length : 0;
    }
    return received;
}

/* Until bytes come again; 0: they never did. */
static inline int64_t resumes_after_ns(const struct stream *stream)
{
    int64_t started_ns = clock_now_ns();
    while (pump(stream, 10 * NS_PER_MS) == 0)
        if (clock_now_ns() - started_ns > PATIENCE_MS * NS_PER_MS)
            return 0;
    return clock_now_ns() - started_ns;
}

/* Until nothing has come for so long; false: bytes come all the time. What a host has no time to read comes late. */
static inline bool falls_silent(const struct stream *stream, int64_t silence_ns)
{
    int64_t give_up_ns = clock_now_ns() + PATIENCE_MS * NS_PER_MS;
    while (pump(stream, silence_ns) > 0)
        if (clock_now_ns() > give_up_ns)
            return false;
    return true;
}

struct datagram {
    int64_t sent_ns;
    uint32_t number;
};

struct flow { /* datagrams from host 0 to host 1 */
    int from, to;
    uint32_t sent;
};

static inline struct flow open_flow(const struct bench *bench, int from, int to)
{
    struct sockaddr_in there, here;
    struct flow flow = {.from = bound_socket(bench, from, SOCK_DGRAM, &here), .to = bound_socket(bench, to, SOCK_DGRAM, &there)};
    if (connect(flow.from, (struct sockaddr *)&there, sizeof(there)) < 0)
        die("a connected socket", NULL);
    return flow;
}

static inline void close_flow(struct flow *flow)
{
    close_fd(&flow->from);
    close_fd(&flow->to);
}

static inline void send_one(struct flow *flow)
{
    char bytes[PAYLOAD] = {0};
    struct datagram datagram = {.sent_ns = clock_now_ns(), .number = flow->sent++};
    memcpy(bytes, &datagram, sizeof(datagram));
    if (send(flow->from, bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        die("a datagram", NULL);
}

static inline bool receive_one(const struct flow *flow, int patience_ms, struct datagram *datagram)
{
    struct pollfd entry = {.fd = flow->to, .events = POLLIN};
    return poll(&entry, 1, patience_ms) == 1 && recv(flow->to, datagram, sizeof(*datagram), MSG_DONTWAIT) == sizeof(*datagram);
}

/* The least of some datagrams: what else the host does makes others later. */
static inline int64_t least_delay_ns(struct flow *flow)
{
    enum { PROBES = 20 };
    int64_t least_ns = INT64_MAX;
    for (int i = 0; i < PROBES; i++) {
        struct datagram datagram;
        send_one(flow);
        if (!receive_one(flow, PATIENCE_MS, &datagram))
            die("a datagram that was sent", NULL);
        int64_t delay_ns = clock_now_ns() - datagram.sent_ns;
        least_ns = delay_ns < least_ns ? delay_ns : least_ns;
    }
    return least_ns;
}

#endif
