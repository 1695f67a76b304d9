/* netem/measure_transfer.c: goodput of one direction by one TCP transfer, and how fast messages cross after idle.
 *
 * Theory of operation. One thread sends from the source's namespace and receives in the target's, noting after each recv() how many
 * bytes have come. On a long path, slow start makes the arrivals a series of bursts, each at the link's rate and twice as long as
 * the one before; on a short one they run together. So the rate is taken from the longest stretch without a pause, and the transfer
 * is made long enough (60 ms plus what slow start takes, and a few whole segments on the slowest link) that such a stretch exists.
 * Its first quarter is left out: it holds the end of slow start and what tbf's full bucket let through at once.
 *
 * A message after idle goes over the same connection, whose window is open by then, from send() to the kernel's stamp on its last
 * byte, less the delay asked. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "netem/impairment.h"
#include "netem/measure_internal.h"
#include "netem/shaping.h"

#define WORTH_SECONDS 0.06
#define WORTH_THOROUGH_SECONDS 0.5 /* or half of the effort's time */
#define MESSAGE_WORTH_SECONDS 0.001
#define WORTH_MOST_SECONDS 1.0
#define PAUSE_LEAST_NS NS_PER_MS
#define TIME_NS (1500 * NS_PER_MS) /* and a few round trips, and twice what the bytes take */
enum {
    BYTES_LEAST = 200000,
    BYTES_UNLIMITED = 16 << 20,
    SLOW_START_ROUND_TRIPS = 3, /* the bytes that slow start sends until the path is full, in paths full of bytes */
    ROUND_TRIPS_MOST = 6,       /* on top of TIME_NS */
    PAUSE_BURSTS = 4,
    INITIAL_WINDOW = 14600, /* bytes that TCP sends before the first acknowledgement */
    FRAMES_LEAST = 5,       /* one fills the bucket, one begins the stretch */
    CHUNK = 128 * 1024,
    ARRIVALS_MOST = 1 << 16,
    MESSAGE_BYTES_LEAST = 65536, /* so that a slow link's message is more than its bucket */
    MESSAGE_FRAMES_LEAST = 16,
    MESSAGES_MOST = 9,
    MESSAGES_LEAST = 3,
};

static double worth_seconds(const struct measure_path *path)
{
    return path->time_ns > 0 ? fmin(fmax(0.5 * (double)path->time_ns / (double)NS_PER_S, WORTH_SECONDS), WORTH_THOROUGH_SECONDS)
                             : WORTH_SECONDS;
}

uint64_t measure_transfer_bytes(const struct measure_path *path)
{
    if (path->asked.rate_bps == 0)
        return BYTES_UNLIMITED;
    double bytes_per_second = (double)path->asked.rate_bps / 8;
    double slow_start = SLOW_START_ROUND_TRIPS * (double)path->round_trip_ns / (double)NS_PER_S;
    double wanted = bytes_per_second * (worth_seconds(path) + slow_start);
    if (wanted < BYTES_LEAST)
        wanted = BYTES_LEAST;
    if (wanted > bytes_per_second * WORTH_MOST_SECONDS)
        wanted = bytes_per_second * WORTH_MOST_SECONDS;
    return (uint64_t)fmax(wanted, FRAMES_LEAST * path->mtu);
}

/* 0: no message is measured. */
static uint64_t message_bytes(const struct measure_path *path)
{
    double bytes_per_second = (double)path->asked.rate_bps / 8, wanted = bytes_per_second * MESSAGE_WORTH_SECONDS;
    if (path->time_ns == 0 || impairment_asked(&path->asked.impairments)) /* there it is TCP that is measured */
        return 0;
    if (wanted < MESSAGE_BYTES_LEAST)
        wanted = MESSAGE_BYTES_LEAST;
    if (wanted > bytes_per_second * WORTH_MOST_SECONDS)
        wanted = bytes_per_second * WORTH_MOST_SECONDS;
    return wanted >= MESSAGE_FRAMES_LEAST * (double)path->mtu ? (uint64_t)wanted : 0;
}

double measure_stretch_bps(const struct measure_arrival *arrivals, int count, uint64_t skip_bytes, int64_t gap_ns)
{
    int64_t longest_ns = 0;
    double bps = 0;
    for (int first = 0, next; first < count; first = next) {
        for (next = first + 1; next < count && arrivals[next].time_ns - arrivals[next - 1].time_ns <= gap_ns; next++) {
        }
        int last = next - 1, from = first;
        uint64_t before = first > 0 ? arrivals[first - 1].bytes : 0;
        uint64_t skip = (arrivals[last].bytes - before) / 4;
        if (skip < skip_bytes)
            skip = skip_bytes;
        while (from < last && arrivals[from].bytes - before < skip)
            from++;
        int64_t duration_ns = arrivals[last].time_ns - arrivals[from].time_ns;
        if (duration_ns > longest_ns) {
            longest_ns = duration_ns;
            bps = 8 * (double)(arrivals[last].bytes - arrivals[from].bytes) / ((double)duration_ns / (double)NS_PER_S);
        }
    }
    return bps;
}

/* What counts as a pause. None does where slow start is over within the first quarter: then a stalled reader, whose bytes come all
 * the faster afterwards, evens out. */
int64_t measure_pause_ns(const struct measure_path *path, uint64_t burst_bytes)
{
    if (path->asked.rate_bps == 0)
        return PAUSE_LEAST_NS;
    double bytes_per_ns = (double)path->asked.rate_bps / 8 / (double)NS_PER_S, round_trip_ns = (double)path->round_trip_ns;
    double doublings = bytes_per_ns * round_trip_ns > INITIAL_WINDOW ? log2(bytes_per_ns * round_trip_ns / INITIAL_WINDOW) : 0;
    if ((doublings + 1) * round_trip_ns < (double)measure_transfer_bytes(path) / bytes_per_ns / 4)
        return INT64_MAX;
    double pause_ns = PAUSE_BURSTS * (double)burst_bytes / bytes_per_ns; /* tbf lets packets out in steps */
    return pause_ns > (double)PAUSE_LEAST_NS ? (int64_t)pause_ns : PAUSE_LEAST_NS;
}

struct transfer {
    int listener, source, target;
    char *chunk;
    uint64_t total, sent, received;
    int64_t stamp_ns; /* when the kernel received what came last */
    bool broken;
    struct measure_arrival *arrivals;
    int arrival_count;
};

static void close_transfer(struct transfer *transfer)
{
    /* Reset, not shut down: whatever goes wrong, nothing is sent again after the measurement. */
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    if (transfer->source >= 0)
        (void)setsockopt(transfer->source, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    if (transfer->target >= 0)
        (void)setsockopt(transfer->target, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    close_fd(&transfer->source);
    close_fd(&transfer->target);
    close_fd(&transfer->listener);
    free(transfer->chunk);
    free(transfer->arrivals);
}

static bool would_block(void)
{
    return errno == EAGAIN || errno == EINTR;
}

static void receive(struct transfer *transfer)
{
    union {
        char bytes[MEASURE_CONTROL_BYTES];
        struct cmsghdr aligned;
    } control;
    struct iovec piece = {.iov_base = transfer->chunk, .iov_len = CHUNK};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    ssize_t length = recvmsg(transfer->target, &message, 0);
    if (length > 0) {
        int64_t now_ns = clock_now_ns();
        transfer->received += (uint64_t)length;
        if (transfer->arrival_count < ARRIVALS_MOST)
            transfer->arrivals[transfer->arrival_count++] =
                (struct measure_arrival){.time_ns = now_ns, .bytes = transfer->received};
        if (transfer->received == transfer->total)
            transfer->stamp_ns = measure_stamp_ns(&message, now_ns);
    } else if (length == 0 || !would_block()) {
        transfer->broken = true;
    }
}

static void send_some(struct transfer *transfer)
{
    uint64_t left = transfer->total - transfer->sent;
    ssize_t length = send(transfer->source, transfer->chunk, left < CHUNK ? (size_t)left : CHUNK, MSG_NOSIGNAL);
    if (length > 0)
        transfer->sent += (uint64_t)length;
    else if (length < 0 && !would_block())
        transfer->broken = true;
}

static void run(struct transfer *transfer, int64_t until_ns)
{
    while (!transfer->broken && transfer->received < transfer->total) {
        int64_t left_ns = until_ns - clock_now_ns();
        if (left_ns <= 0)
            return;
        struct pollfd ends[2] = {
            {.fd = transfer->target >= 0 ? transfer->target : transfer->listener, .events = POLLIN},
            {.fd = transfer->source, .events = transfer->sent < transfer->total ? POLLOUT : 0},
        };
        struct timespec timeout = {.tv_sec = left_ns / NS_PER_S, .tv_nsec = left_ns % NS_PER_S};
        if (ppoll(ends, 2, &timeout, NULL) <= 0)
            continue;
        if (ends[0].revents && transfer->target >= 0)
            receive(transfer);
        else if (ends[0].revents)
            transfer->target = accept4(transfer->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (ends[1].revents & POLLOUT)
            send_some(transfer);
        else if (ends[1].revents & (POLLERR | POLLHUP))
            transfer->broken = true;
    }
}

static double bytes_ns(const struct measure_path *path, uint64_t bytes)
{
    return path->asked.rate_bps > 0 ? 8e9 * (double)bytes / (double)path->asked.rate_bps : 0;
}

static int64_t patience_ns(const struct measure_path *path, uint64_t bytes)
{
    return TIME_NS + ROUND_TRIPS_MOST * path->round_trip_ns + (int64_t)(2 * bytes_ns(path, bytes));
}

static int message_count(const struct measure_path *path, uint64_t bytes, double *one_ns)
{
    *one_ns = bytes_ns(path, bytes) + (double)(measure_settle_ns(path) + path->round_trip_ns);
    int fit = (int)fmin((double)path->time_ns / *one_ns, MESSAGES_MOST);
    return fit > MESSAGES_LEAST ? fit : MESSAGES_LEAST;
}

/* Each finds the link idle and tbf's bucket full. */
static void send_messages(struct transfer *transfer, const struct measure_path *path, struct direction_check *check)
{
    int64_t took_ns[MESSAGES_MOST];
    int count = 0;
    uint64_t bytes = message_bytes(path);
    if (bytes == 0 || transfer->received < transfer->total || measure_stamp_arrivals(transfer->target, NULL) < 0)
        return;
    double one_ns;
    int wanted = message_count(path, bytes, &one_ns);
    for (; count < wanted && !transfer->broken; count++) {
        clock_sleep_until(clock_now_ns() + measure_settle_ns(path) + path->round_trip_ns);
        int64_t begin_ns = clock_now_ns();
        transfer->total += bytes;
        run(transfer, begin_ns + patience_ns(path, bytes));
        if (transfer->received < transfer->total)
            break;
        took_ns[count] = transfer->stamp_ns - begin_ns - path->asked.delay_ns;
    }
    if (count < MESSAGES_LEAST)
        return;
    double median_ns = measure_median(took_ns, count);
    check->message_bytes = bytes;
    check->message_bps = median_ns > 0 ? 8e9 * (double)bytes / median_ns : 0;
}

static int carry_out(struct transfer *transfer, const struct measure_path *path, struct direction_check *check, struct err *err)
{
    transfer->chunk = calloc(1, CHUNK);
    transfer->arrivals = calloc(ARRIVALS_MOST, sizeof(*transfer->arrivals));
    if (!transfer->chunk || !transfer->arrivals)
        return err_set_errno(err, ERR_HOST, ENOMEM, "memory for a transfer");
    struct sockaddr_in from, to;
    int failed = measure_socket(&path->target, SOCK_STREAM, &transfer->listener, &to, err);
    if (!failed)
        failed = measure_socket(&path->source, SOCK_STREAM, &transfer->source, &from, err);
    if (failed)
        return failed;
    if (listen(transfer->listener, 1) < 0)
        return err_set_errno(err, ERR_HOST, errno, "listening for a transfer");
    if (connect(transfer->source, (struct sockaddr *)&to, sizeof(to)) == 0 || errno == EINPROGRESS)
        run(transfer, clock_now_ns() + patience_ns(path, transfer->total));
    uint64_t burst_bytes = shaping_for_direction(&path->asked, path->mtu).burst_bytes;
    check->goodput_bps =
        measure_stretch_bps(transfer->arrivals, transfer->arrival_count, burst_bytes, measure_pause_ns(path, burst_bytes));
    send_messages(transfer, path, check);
    return 0;
}

int64_t measure_goodput_expected_ns(const struct measure_path *path)
{
    uint64_t bytes = message_bytes(path);
    double one_ns = 0, transfer_ns = bytes_ns(path, measure_transfer_bytes(path)) + 2 * (double)path->round_trip_ns;
    int count = bytes > 0 ? message_count(path, bytes, &one_ns) : 0;
    return (int64_t)(transfer_ns + count * one_ns);
}

int measure_goodput(const struct measure_path *path, struct direction_check *check, struct err *err)
{
    struct transfer transfer = {.listener = -1, .source = -1, .target = -1, .total = measure_transfer_bytes(path)};
    int code = carry_out(&transfer, path, check, err);
    close_transfer(&transfer);
    return code;
}
