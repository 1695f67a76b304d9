/* netem/traffic.c: the loop of cross traffic: sends what is due, takes what has come, sleeps until there is more.
 *
 * Theory of operation. One thread serves all flows. It sleeps on the control socket and a timer that is set to the next time at
 * which a flow has something to do; only where that is further away than a tick, also on the receivers, so that packets which come
 * in quick succession are taken together. At each wake-up it takes what has come, then sends, flow by flow, what is due by the
 * clock.
 *
 * Invariant: after a flow was served, the units that were due by then are dealt with, each sent, refused or late. */
#include "netem/traffic.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "netem/priority.h"
#include "netem/traffic_internal.h"

enum {
    BATCH = 64,           /* messages a system call */
    EVENTS = 64,          /* receivers served at once */
    TAKE_BYTES = 1 << 20, /* of TCP, thrown away by the kernel */
    TAKES = 16,           /* from one receiver before the next one has its turn */
    PAYLOAD_BYTES = 256 << 10,
};

struct traffic {
    const struct traffic_spec *spec;
    struct traffic_line *lines;
    struct priority priority;
    int control, timer, receivers; /* receivers: an epoll of all of them */
    bool running;
    int64_t start_ns;
    struct mmsghdr messages[BATCH];
    struct iovec payload; /* of every message */
    char *bytes;
};

static void close_traffic(struct traffic *traffic)
{
    if (traffic->lines)
        traffic_close(traffic->lines, traffic->spec->flow_count);
    close_fd(&traffic->timer);
    close_fd(&traffic->receivers);
    free(traffic->lines);
    free(traffic->bytes);
}

static int open_traffic(struct traffic *traffic, struct err *err)
{
    const struct traffic_spec *spec = traffic->spec;
    traffic->lines = calloc((size_t)spec->flow_count, sizeof(*traffic->lines));
    traffic->bytes = calloc(1, PAYLOAD_BYTES);
    traffic->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    traffic->receivers = epoll_create1(EPOLL_CLOEXEC);
    if (!traffic->lines || !traffic->bytes)
        return err_set_errno(err, ERR_HOST, ENOMEM, "cross traffic");
    if (traffic->timer < 0 || traffic->receivers < 0)
        return err_set_errno(err, ERR_HOST, errno, "cross traffic: a timer and an epoll");
    int code = traffic_open(traffic->lines, spec, err);
    for (int i = 0; i < spec->flow_count && code == 0; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &traffic->lines[i]};
        if (epoll_ctl(traffic->receivers, EPOLL_CTL_ADD, traffic->lines[i].receiver, &event) < 0)
            code = err_set_errno(err, ERR_HOST, errno, "cross traffic: watching a receiver");
    }
    memset(traffic->bytes, 'x', PAYLOAD_BYTES); /* not the zero page */
    traffic->payload.iov_base = traffic->bytes;
    for (int i = 0; i < BATCH; i++)
        traffic->messages[i].msg_hdr = (struct msghdr){.msg_iov = &traffic->payload, .msg_iovlen = 1};
    return code;
}

/* ---- receiving ---- */

/* A length of 1 in front of MSG_TRUNC: the kernel tells how much came, and copies none. What crossed the stack as one comes as one;
 * all packets of a flow are of one size. */
static bool take_packets(struct traffic *traffic, struct traffic_line *line)
{
    bool any = false;
    traffic->payload.iov_len = 1;
    for (int done = 0; done < TAKES; done++) {
        int count = recvmmsg(line->receiver, traffic->messages, BATCH, MSG_TRUNC, NULL);
        for (int i = 0; i < count; i++)
            line->counters->received_bytes += traffic->messages[i].msg_len;
        any = any || count > 0;
        if (count < BATCH)
            break;
    }
    line->counters->received_packets = line->counters->received_bytes / line->unit_bytes;
    return any;
}

static bool take_stream(struct traffic *traffic, struct traffic_line *line)
{
    bool any = false;
    for (int done = 0; done < TAKES; done++) {
        ssize_t length = recv(line->receiver, NULL, TAKE_BYTES, MSG_TRUNC);
        if (length <= 0) {
            if (length == 0 || errno != EAGAIN) /* the connection is gone */
                (void)epoll_ctl(traffic->receivers, EPOLL_CTL_DEL, line->receiver, NULL);
            break;
        }
        line->counters->received_bytes += (uint64_t)length;
        any = true;
    }
    return any;
}

static bool receive(struct traffic *traffic)
{
    struct epoll_event events[EVENTS];
    bool any = false;
    int count = epoll_wait(traffic->receivers, events, EVENTS, 0);
    for (int i = 0; i < count; i++) {
        struct traffic_line *line = events[i].data.ptr;
        bool tcp = line->flow->asked.transport == TRANSPORT_TCP;
        any = (tcp ? take_stream(traffic, line) : take_packets(traffic, line)) || any;
    }
    return any;
}

/* ---- sending ---- */

static void send_packets(struct traffic *traffic, struct traffic_line *line, uint64_t due, uint64_t late)
{
    struct traffic_counters *counters = line->counters;
    uint64_t left = due - late;
    while (left > 0) {
        uint64_t segments = left < line->segments ? left : line->segments, messages = left / segments;
        traffic->payload.iov_len = (size_t)(segments * line->unit_bytes);
        int count = sendmmsg(line->sender, traffic->messages, messages < BATCH ? (unsigned)messages : BATCH, 0);
        if (count <= 0)
            break;
        left -= (unsigned)count * segments;
    }
    counters->sent_packets += due - late - left;
    counters->sent_bytes += (due - late - left) * line->unit_bytes;
    counters->late_packets += late;
    counters->refused_packets += left;
    counters->asked_packets += due;
}

/* What TCP has no room for now is not offered again. */
static void send_stream(const struct traffic *traffic, struct traffic_line *line, uint64_t due)
{
    uint64_t left = due * line->unit_bytes;
    while (left > 0 && !line->broken) {
        size_t wanted = left < PAYLOAD_BYTES ? (size_t)left : PAYLOAD_BYTES;
        ssize_t length = send(line->sender, traffic->bytes, wanted, MSG_NOSIGNAL);
        if (length < 0)
            line->broken = errno != EAGAIN && errno != EINTR;
        if (length <= 0)
            return;
        line->counters->sent_bytes += (uint64_t)length;
        left -= (uint64_t)length;
    }
}

/* When the next unit is due; several a tick leave together at its end, or at the end of the flow's turn. */
static int64_t next_time_ns(const struct traffic_line *line)
{
    uint64_t rate = line->flow->asked.rate_bps;
    int64_t when_ns = traffic_schedule_when_ns(&line->schedule, traffic_units_ns(rate, line->unit_bytes, line->units + 1));
    bool together = traffic_units_ns(rate, line->unit_bytes, 1) < TRAFFIC_TICK_NS;
    if (!together || !line->schedule.on || when_ns >= line->schedule.end_ns)
        return when_ns;
    int64_t tick_ns = (when_ns + TRAFFIC_TICK_NS - 1) / TRAFFIC_TICK_NS * TRAFFIC_TICK_NS;
    return tick_ns < line->schedule.end_ns ? tick_ns : line->schedule.end_ns;
}

static void serve(struct traffic *traffic, struct traffic_line *line, int64_t at_ns)
{
    const struct traffic_setting *asked = &line->flow->asked;
    int64_t active_ns = traffic_schedule_active_ns(&line->schedule, at_ns);
    uint64_t due = traffic_units_due(asked->rate_bps, line->unit_bytes, active_ns) - line->units;
    uint64_t late = traffic_units_late(asked->rate_bps, line->unit_bytes, active_ns, line->units);
    if (asked->transport == TRANSPORT_TCP)
        send_stream(traffic, line, due - late);
    else
        send_packets(traffic, line, due, late);
    line->units += due;
    line->counters->active_ns = active_ns;
    line->counters->asked_bytes = line->units * line->unit_bytes;
    line->next_ns = next_time_ns(line);
}

static void serve_due(struct traffic *traffic, int64_t now_ns)
{
    for (int i = 0; i < traffic->spec->flow_count; i++)
        if (traffic->lines[i].next_ns <= now_ns - traffic->start_ns)
            serve(traffic, &traffic->lines[i], now_ns - traffic->start_ns);
}

/* ---- orders ---- */

/* The last packets are due by the end, too. */
static void stop(struct traffic *traffic)
{
    int64_t at_ns = clock_now_ns() - traffic->start_ns;
    for (int i = 0; i < traffic->spec->flow_count && at_ns > 0; i++)
        serve(traffic, &traffic->lines[i], at_ns);
    traffic->running = false;
}

/* False: the caller is gone. */
static bool obey(struct traffic *traffic)
{
    struct traffic_order order;
    ssize_t length = recv(traffic->control, &order, sizeof(order), MSG_DONTWAIT);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (length != (ssize_t)sizeof(order))
        return false;
    if (order.start_ns > 0 && !traffic->running) {
        traffic->running = true;
        traffic->start_ns = order.start_ns;
        for (int i = 0; i < traffic->spec->flow_count; i++)
            traffic->lines[i].next_ns = traffic->lines[i].flow->asked.start_ns;
        return true;
    }
    if (traffic->running)
        stop(traffic);
    return send(traffic->control, "", 1, MSG_NOSIGNAL) == 1;
}

/* ---- sleeping ---- */

static int64_t next_deadline_ns(const struct traffic *traffic)
{
    int64_t next_ns = TRAFFIC_NEVER;
    for (int i = 0; traffic->running && i < traffic->spec->flow_count; i++)
        if (traffic->lines[i].next_ns < next_ns)
            next_ns = traffic->lines[i].next_ns;
    return next_ns == TRAFFIC_NEVER ? next_ns : traffic->start_ns + next_ns;
}

static int loop(struct traffic *traffic, struct err *err)
{
    enum { CONTROL, TIMER, RECEIVERS, SOURCES };
    struct pollfd sources[SOURCES] = {{.fd = traffic->control, .events = POLLIN}, {.fd = traffic->timer, .events = POLLIN}};
    int64_t now_ns = clock_now_ns();
    bool received = false;
    for (;;) {
        int64_t wake_ns = next_deadline_ns(traffic);
        if (received && wake_ns > now_ns + TRAFFIC_TICK_NS)
            wake_ns = now_ns + TRAFFIC_TICK_NS;
        bool wait_for_packets = wake_ns > now_ns + TRAFFIC_TICK_NS;
        sources[RECEIVERS] = (struct pollfd){.fd = wait_for_packets ? traffic->receivers : -1, .events = POLLIN};
        struct itimerspec when = {0};
        if (wake_ns != TRAFFIC_NEVER)
            when.it_value = (struct timespec){.tv_sec = wake_ns / NS_PER_S, .tv_nsec = wake_ns % NS_PER_S};
        if (timerfd_settime(traffic->timer, TFD_TIMER_ABSTIME, &when, NULL) < 0 ||
            (poll(sources, SOURCES, -1) < 0 && errno != EINTR))
            return err_set_errno(err, ERR_HOST, errno, "cross traffic: waiting");
        int64_t before_ns = now_ns;
        now_ns = clock_now_ns();
        priority_note(&traffic->priority, now_ns, now_ns - before_ns);
        if (sources[CONTROL].revents && !obey(traffic))
            return 0;
        received = receive(traffic);
        if (traffic->running)
            serve_due(traffic, now_ns);
        now_ns = clock_now_ns();
    }
}

static int run(struct traffic *traffic, struct err *err)
{
    int code = open_traffic(traffic, err);
    if (code < 0)
        return code;
    priority_take(&traffic->priority, clock_now_ns());
    if (send(traffic->control, "", 1, MSG_NOSIGNAL) != 1)
        return err_set_errno(err, ERR_HOST, errno, "cross traffic: telling that it is ready");
    return loop(traffic, err);
}

int traffic_run(const struct traffic_spec *spec, int control_fd, struct err *err)
{
    struct traffic traffic = {
        .spec = spec, .control = control_fd, .timer = -1, .receivers = -1, .priority = {.rank = PRIORITY_TRAFFIC}};
    int code = run(&traffic, err);
    close_traffic(&traffic);
    return code;
}
