/* netem/traffic_open.c: the sockets of cross traffic, each in the namespace of its end of the flow. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "netem/routes.h"
#include "netem/shaping.h"
#include "netem/topology.h"
#include "netem/traffic_internal.h"

enum {
    UDP_BUFFER_BYTES = 8 << 20, /* what the queue towards the link and this process's sleep can hold; less without privilege */
    UNSENT_LEAST_BYTES = 16384,
    UNSENT_WORTH_TICKS = 4, /* of what TCP may hold without sending it, so that a flow ends soon after its turn */
    PACING_SHARE = 20,      /* a twentieth above the rate, which the schedule keeps */
    CONNECT_ROUND_TRIPS = 6,
    TCP_IP_HEADERS = 52,    /* IPv4 20, TCP 20, timestamps 12 */
    UDP_FRAME_HEADERS = 42, /* Ethernet 14, IPv4 20, UDP 8 */
    DATAGRAM_MOST = 65000,  /* of payload, however many packets it becomes */
    SEGMENTS_MOST = 64,     /* the kernel's own bound */
};
#define CONNECT_PATIENCE_NS (30 * NS_PER_S) /* a lost SYN is sent again after 1, 3, 7, 15 s */

static int make_socket(const struct traffic_spec *spec, int place, int type, int *fd, struct sockaddr_in *bound, struct err *err)
{
    const char *name = spec->topology->places[place].name;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(topology_address(spec->topology, place))};
    socklen_t length = sizeof(*bound);
    if (setns(spec->namespace_fds[place], CLONE_NEWNET) < 0)
        return err_set_errno(err, ERR_HOST, errno, "cross traffic: entering the namespace of %s", name);
    cleanup(close_fd) int opened = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (opened < 0 || bind(opened, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        getsockname(opened, (struct sockaddr *)bound, &length) < 0)
        return err_set_errno(err, ERR_HOST, errno, "cross traffic: a socket on %s", name);
    *fd = steal_fd(&opened);
    return 0;
}

/* Beyond the host's limit where that is allowed. */
static void set_buffer(int fd, int force, int ask)
{
    int bytes = UDP_BUFFER_BYTES;
    if (setsockopt(fd, SOL_SOCKET, force, &bytes, sizeof(bytes)) < 0)
        (void)setsockopt(fd, SOL_SOCKET, ask, &bytes, sizeof(bytes));
}

/* How many packets may cross the stack as one, which costs a fraction: as much as TCP's on the same links, and one where a link
 * counts or decides frame by frame. */
static unsigned segments_of(const struct traffic_line *line, const struct topology *topology)
{
    uint64_t bytes = DATAGRAM_MOST;
    for (int i = 0; i < topology->link_count; i++)
        for (int d = 0; d < DIRECTIONS; d++) {
            struct shaping shaping = shaping_for_direction(&topology->links[i].direction[d], topology->mtu);
            if (shaping.gso_max_segments == 1)
                return 1;
            if (shaping.gso_max_bytes > 0 && shaping.gso_max_bytes < bytes)
                bytes = shaping.gso_max_bytes;
        }
    uint64_t segments = bytes / (line->unit_bytes + UDP_FRAME_HEADERS);
    return segments < 1 ? 1 : segments > SEGMENTS_MOST ? SEGMENTS_MOST : (unsigned)segments;
}

static int open_udp(struct traffic_line *line, const struct traffic_spec *spec, struct err *err)
{
    const struct traffic_flow *flow = line->flow;
    struct sockaddr_in from, to;
    int code = make_socket(spec, flow->to, SOCK_DGRAM, &line->receiver, &to, err);
    if (code == 0)
        code = make_socket(spec, flow->from, SOCK_DGRAM, &line->sender, &from, err);
    if (code < 0)
        return code;
    set_buffer(line->receiver, SO_RCVBUFFORCE, SO_RCVBUF);
    set_buffer(line->sender, SO_SNDBUFFORCE, SO_SNDBUF);
    if (connect(line->sender, (struct sockaddr *)&to, sizeof(to)) < 0 ||
        connect(line->receiver, (struct sockaddr *)&from, sizeof(from)) < 0) /* nobody else's packets count */
        return err_set_errno(err, ERR_HOST, errno, "cross traffic: %s has no way to %s", spec->topology->places[flow->from].name,
                             spec->topology->places[flow->to].name);
    line->segments = segments_of(line, spec->topology);
    int packet = (int)line->unit_bytes, one = 1;
    if (line->segments > 1 && setsockopt(line->sender, IPPROTO_UDP, UDP_SEGMENT, &packet, sizeof(packet)) < 0)
        line->segments = 1;
    (void)setsockopt(line->receiver, IPPROTO_UDP, UDP_GRO, &one, sizeof(one)); /* takes them as they came */
    line->connected = true;
    return 0;
}

static int begin_tcp(struct traffic_line *line, const struct traffic_spec *spec, struct err *err)
{
    const struct traffic_flow *flow = line->flow;
    struct sockaddr_in from, to;
    int code = make_socket(spec, flow->to, SOCK_STREAM, &line->listener, &to, err);
    if (code == 0)
        code = make_socket(spec, flow->from, SOCK_STREAM, &line->sender, &from, err);
    if (code < 0)
        return code;
    uint64_t rate = flow->asked.rate_bps / 8, pacing = rate + rate / PACING_SHARE + 1;
    uint64_t unsent = rate * UNSENT_WORTH_TICKS / (uint64_t)(NS_PER_S / TRAFFIC_TICK_NS);
    unsigned unsent_most = unsent < UNSENT_LEAST_BYTES ? UNSENT_LEAST_BYTES : unsent > INT32_MAX ? INT32_MAX : (unsigned)unsent;
    int one = 1;
    if (listen(line->listener, 1) < 0 || setsockopt(line->sender, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) < 0 ||
        setsockopt(line->sender, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent_most, sizeof(unsent_most)) < 0 ||
        setsockopt(line->sender, SOL_SOCKET, SO_MAX_PACING_RATE, &pacing, sizeof(pacing)) < 0 ||
        (connect(line->sender, (struct sockaddr *)&to, sizeof(to)) < 0 && errno != EINPROGRESS))
        return err_set_errno(err, ERR_HOST, errno, "cross traffic: connecting %s to %s", spec->topology->places[flow->from].name,
                             spec->topology->places[flow->to].name);
    return 0;
}

/* What a line still waits for: first to be accepted, then to know of it. */
static int awaited(const struct traffic_line *line, struct pollfd *entry)
{
    if (line->connected)
        return 0;
    bool accepted = line->receiver >= 0;
    *entry = (struct pollfd){.fd = accepted ? line->sender : line->listener, .events = accepted ? POLLOUT : POLLIN};
    return 1;
}

static int advance(struct traffic_line *line, const struct traffic_spec *spec, struct err *err)
{
    const char *from = spec->topology->places[line->flow->from].name, *to = spec->topology->places[line->flow->to].name;
    int error = 0;
    socklen_t length = sizeof(error);
    if (getsockopt(line->sender, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error != 0)
        return err_set_errno(err, ERR_TRIAL, error, "cross traffic: %s cannot connect to %s", from, to);
    if (line->receiver < 0) {
        line->receiver = accept4(line->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (line->receiver < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
            return err_set_errno(err, ERR_HOST, errno, "cross traffic: %s cannot accept %s", to, from);
        if (line->receiver >= 0)
            close_fd(&line->listener);
        return 0;
    }
    struct pollfd writable = {.fd = line->sender, .events = POLLOUT};
    line->connected = poll(&writable, 1, 0) == 1 && writable.revents == POLLOUT;
    return 0;
}

static int connect_all(struct traffic_line *lines, const struct traffic_spec *spec, int64_t until_ns, struct err *err)
{
    cleanup(free_pointer) struct pollfd *entries = calloc((size_t)spec->flow_count + 1, sizeof(*entries));
    if (!entries)
        return err_set_errno(err, ERR_HOST, ENOMEM, "cross traffic");
    for (;;) {
        nfds_t count = 0;
        int last = 0;
        for (int i = 0; i < spec->flow_count; i++)
            if (awaited(&lines[i], &entries[count])) {
                count++;
                last = i;
            }
        if (count == 0)
            return 0;
        int64_t left_ns = until_ns - clock_now_ns();
        if (left_ns <= 0)
            return err_set(err, ERR_TRIAL, "cross traffic: %s could not connect to %s within %" PRId64 " s",
                           spec->topology->places[lines[last].flow->from].name, spec->topology->places[lines[last].flow->to].name,
                           CONNECT_PATIENCE_NS / NS_PER_S);
        if (poll(entries, count, (int)(left_ns / NS_PER_MS) + 1) < 0 && errno != EINTR)
            return err_set_errno(err, ERR_HOST, errno, "cross traffic: waiting for connections");
        for (int i = 0; i < spec->flow_count; i++) {
            int code = lines[i].connected ? 0 : advance(&lines[i], spec, err);
            if (code < 0)
                return code;
        }
    }
}

static uint64_t unit_of(const struct traffic_flow *flow, int mtu)
{
    return flow->asked.transport == TRANSPORT_TCP ? (uint64_t)(mtu - TCP_IP_HEADERS) : flow->asked.packet_bytes;
}

int traffic_open(struct traffic_line *lines, const struct traffic_spec *spec, struct err *err)
{
    struct routes_longest longest;
    (void)routes_longest(spec->topology, &longest);
    for (int i = 0; i < spec->flow_count; i++) {
        struct traffic_line *line = &lines[i];
        *line = (struct traffic_line){.flow = &spec->flows[i],
                                      .counters = &spec->counters[i],
                                      .next_ns = TRAFFIC_NEVER,
                                      .listener = -1,
                                      .sender = -1,
                                      .receiver = -1};
        line->schedule = traffic_schedule_of(&line->flow->asked, spec->topology->seed, (uint32_t)i);
        line->unit_bytes = unit_of(line->flow, spec->topology->mtu);
    }
    int code = 0;
    for (int i = 0; i < spec->flow_count && code == 0; i++)
        code = spec->flows[i].asked.transport == TRANSPORT_TCP ? begin_tcp(&lines[i], spec, err) : open_udp(&lines[i], spec, err);
    if (code < 0)
        return code;
    return connect_all(lines, spec, clock_now_ns() + CONNECT_PATIENCE_NS + 2 * CONNECT_ROUND_TRIPS * longest.delay_ns, err);
}

void traffic_close(struct traffic_line *lines, int count)
{
    for (int i = 0; i < count; i++) {
        close_fd(&lines[i].listener);
        close_fd(&lines[i].sender);
        close_fd(&lines[i].receiver);
    }
}
