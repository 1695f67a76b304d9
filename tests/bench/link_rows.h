/* tests/bench/link_rows.h: goodput and short messages over one connection of a rig, and the rows of the table that bench_links
 * prints. */
#ifndef LAGGARD_TESTS_BENCH_LINK_ROWS_H
#define LAGGARD_TESTS_BENCH_LINK_ROWS_H

#include "tests/netns/relay_rig.h"

#include <math.h>
#include <pthread.h>
#include <sys/time.h>

#include "base/units.h"

enum { CHUNK = 128 * 1024, REPEATS_MOST = 9, PATIENCE_S = 20 };
#define MESSAGE_TARGET 0.05
#define MESSAGE_LEAST_BYTES UINT64_C(65536)

/* Up to 1 Gbit/s any host keeps a rate; above, two cores begin to show. */
static inline double bulk_target(uint64_t rate_bps)
{
    return rate_bps <= 1000000000 ? 0.005 : 0.02;
}

static inline void print_header(void)
{
    printf("%-58s %12s %12s %10s %10s\n", "what", "asked", "measured", "off by", "target");
}

static inline void print_row(const char *what, const char *asked, const char *measured, const char *off, const char *target,
                             bool good)
{
    printf("%-58s %12s %12s %10s %10s  %s\n", what, asked, measured, off, target, good ? "" : "MISSED");
    fflush(stdout);
}

static inline int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static inline void set_patience(int fd)
{
    struct timeval patience = {.tv_sec = PATIENCE_S};
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0)
        rig_die("a socket's patience");
}

struct stream { /* the receiving end of one connection; each message is announced by its length */
    int listener;
    int64_t *ends_ns;       /* when the last byte of each message was there */
    int64_t quarter_ns;     /* when a quarter of the last message was there */
    uint64_t quarter_bytes; /* how much it was then */
    int count;
};

static inline bool receive_bytes(struct stream *stream, int fd, char *chunk, uint64_t total)
{
    stream->quarter_bytes = 0;
    for (uint64_t received = 0; received < total;) {
        uint64_t left = total - received;
        ssize_t length = recv(fd, chunk, left < CHUNK ? (size_t)left : CHUNK, 0);
        if (length <= 0)
            return false;
        received += (uint64_t)length;
        if (stream->quarter_bytes == 0 && received >= total / 4) {
            stream->quarter_ns = clock_now_ns();
            stream->quarter_bytes = received;
        }
    }
    return true;
}

static inline void *receive_messages(void *argument)
{
    struct stream *stream = argument;
    char *chunk = malloc(CHUNK);
    int fd = accept(stream->listener, NULL, NULL);
    set_patience(fd);
    uint64_t bytes;
    while (recv(fd, &bytes, sizeof(bytes), MSG_WAITALL) == (ssize_t)sizeof(bytes) &&
           receive_bytes(stream, fd, chunk, bytes - sizeof(bytes))) {
        stream->ends_ns[stream->count] = clock_now_ns();
        __atomic_add_fetch(&stream->count, 1, __ATOMIC_RELEASE);
    }
    close(fd);
    free(chunk);
    return NULL;
}

static inline void send_message(int fd, char *bytes, uint64_t count)
{
    memcpy(bytes, &count, sizeof(count));
    for (uint64_t sent = 0; sent < count;) {
        ssize_t length = send(fd, bytes + sent, (size_t)(count - sent), MSG_NOSIGNAL);
        if (length <= 0)
            rig_die("send");
        sent += (uint64_t)length;
    }
}

/* From host 0 to place `target`: one message to warm up, then the same message `repeats` times after 30 ms of silence each; the
 * median of the times it took. In *later_bps, when not NULL: the rate of the last message without its first quarter. */
static inline double message_ns(const struct rig *rig, int target, uint64_t warm_bytes, uint64_t bytes, int repeats,
                                double *later_bps)
{
    int64_t ends_ns[REPEATS_MOST + 1], begins_ns[REPEATS_MOST + 1];
    double took_ns[REPEATS_MOST];
    struct sockaddr_in from, to;
    pthread_t thread;
    struct stream stream = {.listener = rig_socket(rig, target, SOCK_STREAM, &to), .ends_ns = ends_ns};
    int fd = rig_socket(rig, 0, SOCK_STREAM, &from);
    set_patience(fd);
    if (listen(stream.listener, 1) < 0 || pthread_create(&thread, NULL, receive_messages, &stream) != 0 ||
        connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
        rig_die("a connection");
    char *buffer = calloc(1, warm_bytes > bytes ? warm_bytes : bytes);
    send_message(fd, buffer, warm_bytes);
    int64_t rest_ns =
        30 * NS_PER_MS + 2 * rig->links[0].direction[0].delay_ns + (int64_t)rig->links[0].direction[0].queue_bytes * 80;
    for (int i = 0; i < repeats; i++) {
        clock_sleep_until(clock_now_ns() + rest_ns);
        begins_ns[i] = clock_now_ns();
        send_message(fd, buffer, bytes);
        while (__atomic_load_n(&stream.count, __ATOMIC_ACQUIRE) < i + 2 && clock_now_ns() < begins_ns[i] + PATIENCE_S * NS_PER_S)
            clock_sleep_until(clock_now_ns() + NS_PER_MS);
    }
    shutdown(fd, SHUT_WR);
    pthread_join(thread, NULL);
    close(fd);
    close(stream.listener);
    free(buffer);
    int count = stream.count - 1;
    for (int i = 0; i < count; i++)
        took_ns[i] = (double)(ends_ns[i + 1] - begins_ns[i]);
    if (count < 1)
        return NAN;
    if (later_bps)
        *later_bps = 8e9 * (double)(bytes - sizeof(bytes) - stream.quarter_bytes) / (double)(ends_ns[count] - stream.quarter_ns);
    qsort(took_ns, (size_t)count, sizeof(*took_ns), ascending);
    return took_ns[count / 2];
}

static inline void report_rate(const char *what, double asked_bps, double measured_bps, double target)
{
    char asked[UNITS_TEXT_BYTES], measured[UNITS_TEXT_BYTES], off[48], allowed[48];
    double relative = measured_bps / asked_bps - 1;
    snprintf(off, sizeof(off), "%+.2f %%", 100 * relative);
    snprintf(allowed, sizeof(allowed), "%.3g %%", 100 * target);
    print_row(what, units_show_rate(asked, sizeof(asked), asked_bps), units_show_rate(measured, sizeof(measured), measured_bps),
              off, allowed, fabs(relative) <= target);
}

/* Two rows: goodput, and a message of 1 ms worth of the rate (at least 64 KiB) after silence, from host 0 to place `target`. */
static inline void report_messages(const struct rig *rig, int target, bool quick, const char *path)
{
    char what[80], rate[UNITS_TEXT_BYTES];
    const struct direction *direction = &rig->links[0].direction[DIRECTION_FORWARD];
    double payload_bps = (double)direction->rate_bps * 1448 / 1514;
    int repeats = quick ? 3 : REPEATS_MOST;
    uint64_t second = (uint64_t)(payload_bps / 8), bulk = quick ? second / 2 : 2 * second, warm = second / 5 + 100000;
    units_show_rate(rate, sizeof(rate), (double)direction->rate_bps);
    double bulk_bps = NAN;
    (void)message_ns(rig, target, warm, bulk, 1, &bulk_bps);
    snprintf(what, sizeof(what), "goodput %s, %s, %.3g MB", rate, path, (double)bulk / 1e6);
    report_rate(what, payload_bps, bulk_bps, bulk_target(direction->rate_bps));
    /* The delay is taken off; what a full bucket saves and waking up costs is part of the figure. */
    uint64_t size = second / 1000 > MESSAGE_LEAST_BYTES ? second / 1000 : MESSAGE_LEAST_BYTES;
    double took_ns = message_ns(rig, target, warm, size, repeats, NULL) - (double)direction->delay_ns;
    snprintf(what, sizeof(what), "message %.0f kB after idle, %s, %s", (double)size / 1000, rate, path);
    report_rate(what, payload_bps, 8e9 * (double)size / took_ns, MESSAGE_TARGET);
}

#endif
