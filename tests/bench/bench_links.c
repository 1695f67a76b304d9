/* bench_links.c: how near the relay's links come to what was asked: delay from program to program, goodput, short messages after
 * idle. Prints a table of measured against target, and exits with 0 whatever it says: figures belong to the host they were measured
 * on.
 *
 *     bench_links [-q] [delays] [rates] [unlimited]     -q: fewer probes and shorter transfers; all parts where none is named
 *
 * Run it while nothing else runs. A delay is the median of the means of BATCHES batches, so that one disturbance of the host does
 * not pose as the link's delay; a message's time is the median of its repeats. */
#include "tests/netns/relay_rig.h"

#include <math.h>
#include <pthread.h>
#include <sys/time.h>

#include "base/units.h"

enum { PROBES_MOST = 200, BATCHES = 5, CHUNK = 128 * 1024, REPEATS_MOST = 9, PATIENCE_S = 20 };
#define DELAY_TARGET_NS (100 * NS_PER_US)
#define BULK_TARGET 0.01
#define MESSAGE_TARGET 0.08
#define UNLIMITED_TARGET_BPS 5e9

static bool quick;

static void print_header(void)
{
    printf("%-46s %12s %12s %10s %10s\n", "what", "asked", "measured", "off by", "target");
}

static void print_row(const char *what, const char *asked, const char *measured, const char *off, const char *target, bool good)
{
    printf("%-46s %12s %12s %10s %10s  %s\n", what, asked, measured, off, target, good ? "" : "MISSED");
    fflush(stdout);
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void set_patience(int fd)
{
    struct timeval patience = {.tv_sec = PATIENCE_S};
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0)
        rig_die("a socket's patience");
}

/* --- delay: a program's send() to another's return from recv()
 * --------------------------------------------------------------------- */

struct delay_run {
    int fd, wanted, received;
    double delay_ns[PROBES_MOST];
};

static void *receive_probes(void *argument)
{
    struct delay_run *run = argument;
    int64_t sent_ns;
    while (run->received < run->wanted && recv(run->fd, &sent_ns, sizeof(sent_ns), 0) == (ssize_t)sizeof(sent_ns))
        run->delay_ns[run->received++] = (double)(clock_now_ns() - sent_ns);
    return NULL;
}

/* Probes with random pauses around `pause_ns`, so that no rhythm of the host is met or missed each time. */
static void measure_delays(const struct rig *rig, int from, int to, int64_t pause_ns, struct delay_run *run)
{
    struct sockaddr_in source, target;
    unsigned seed = 1;
    pthread_t thread;
    int sender = rig_socket(rig, from, SOCK_DGRAM, &source);
    run->received = 0;
    run->fd = rig_socket(rig, to, SOCK_DGRAM, &target);
    set_patience(run->fd);
    if (connect(sender, (struct sockaddr *)&target, sizeof(target)) < 0 || pthread_create(&thread, NULL, receive_probes, run) != 0)
        rig_die("a stream of probes");
    for (int i = 0; i < run->wanted; i++) {
        clock_sleep_until(clock_now_ns() + pause_ns / 2 + (int64_t)(rand_r(&seed) % 1000) * pause_ns / 1000);
        int64_t now_ns = clock_now_ns();
        if (send(sender, &now_ns, sizeof(now_ns), 0) < 0)
            rig_die("send");
    }
    pthread_join(thread, NULL);
    close(sender);
    close(run->fd);
}

static void report_delays(const char *where, int64_t pause_ns, int64_t asked_ns, struct delay_run *run)
{
    char what[80], asked[UNITS_TEXT_BYTES], measured[UNITS_TEXT_BYTES], off[48], target[48], lost[48] = "";
    double means[BATCHES], mean, squares = 0;
    int each = run->received / BATCHES;
    for (int batch = 0; batch < BATCHES; batch++) {
        double sum = 0;
        for (int i = batch * each; i < (batch + 1) * each; i++)
            sum += run->delay_ns[i];
        means[batch] = each ? sum / each : NAN;
    }
    qsort(means, BATCHES, sizeof(*means), ascending);
    mean = means[BATCHES / 2];
    for (int i = 0; i < run->received; i++)
        squares += (run->delay_ns[i] - mean) * (run->delay_ns[i] - mean);
    double off_ns = mean - (double)asked_ns;
    if (run->received < run->wanted)
        snprintf(lost, sizeof(lost), ", %d lost", run->wanted - run->received);
    snprintf(what, sizeof(what), "delay %s, idle %.3g ms (sd %.0f us%s)", where, (double)pause_ns / 1e6,
             sqrt(squares / (run->received > 1 ? run->received - 1 : 1)) / 1e3, lost);
    snprintf(off, sizeof(off), "%+.0f us", off_ns / 1e3);
    snprintf(target, sizeof(target), "%.0f us", (double)DELAY_TARGET_NS / 1e3);
    print_row(what, units_show_time(asked, sizeof(asked), (double)asked_ns), units_show_time(measured, sizeof(measured), mean), off,
              target, fabs(off_ns) <= (double)DELAY_TARGET_NS && run->received == run->wanted);
}

static void bench_delays(void)
{
    static const int64_t delays_ns[] = {250 * NS_PER_US, NS_PER_MS, 5 * NS_PER_MS, 50 * NS_PER_MS};
    for (size_t i = 0; i < sizeof(delays_ns) / sizeof(delays_ns[0]); i++) {
        struct direction direction = {.rate_bps = 1000000000, .delay_ns = delays_ns[i], .queue_bytes = 1500000};
        struct rig_spec spec = {.hosts = 2, .direction = {direction, direction}};
        struct rig rig;
        struct delay_run run = {.wanted = quick ? 40 : PROBES_MOST};
        rig_open(&rig, &spec);
        measure_delays(&rig, 0, 2, 2 * NS_PER_MS, &run);
        report_delays("one link", 2 * NS_PER_MS, delays_ns[i], &run);
        measure_delays(&rig, 0, 1, 2 * NS_PER_MS, &run);
        report_delays("two links", 2 * NS_PER_MS, 2 * delays_ns[i], &run);
        run.wanted = quick ? 20 : 100;
        measure_delays(&rig, 0, 2, 20 * NS_PER_MS, &run);
        report_delays("one link", 20 * NS_PER_MS, delays_ns[i], &run);
        rig_close(&rig);
    }
}

/* --- goodput and short messages
 * ---------------------------------------------------------------------------------------------------- */

struct stream { /* the receiving end of one connection; each message is announced by its length */
    int listener;
    int64_t *ends_ns;       /* when the last byte of each message was there */
    int64_t quarter_ns;     /* when a quarter of the last message was there */
    uint64_t quarter_bytes; /* how much it was then */
    int count;
};

static bool receive_bytes(struct stream *stream, int fd, char *chunk, uint64_t total)
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

static void *receive_messages(void *argument)
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

static void send_message(int fd, char *bytes, uint64_t count)
{
    memcpy(bytes, &count, sizeof(count));
    for (uint64_t sent = 0; sent < count;) {
        ssize_t length = send(fd, bytes + sent, (size_t)(count - sent), MSG_NOSIGNAL);
        if (length <= 0)
            rig_die("send");
        sent += (uint64_t)length;
    }
}

/* One message to warm up, then the same message `repeats` times after 30 ms of silence each; the median of the times it took. In
 * *later_bps, when not NULL: the rate of the last message without its first quarter. */
static double message_ns(const struct rig *rig, uint64_t warm_bytes, uint64_t bytes, int repeats, double *later_bps)
{
    int64_t ends_ns[REPEATS_MOST + 1], begins_ns[REPEATS_MOST + 1];
    double took_ns[REPEATS_MOST];
    struct sockaddr_in from, to;
    pthread_t thread;
    struct stream stream = {.listener = rig_socket(rig, rig->topology.host_count, SOCK_STREAM, &to), .ends_ns = ends_ns};
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

static void report_rate(const char *what, double asked_bps, double measured_bps, double target)
{
    char asked[UNITS_TEXT_BYTES], measured[UNITS_TEXT_BYTES], off[48], allowed[48];
    double relative = measured_bps / asked_bps - 1;
    snprintf(off, sizeof(off), "%+.2f %%", 100 * relative);
    snprintf(allowed, sizeof(allowed), "%.0f %%", 100 * target);
    print_row(what, units_show_rate(asked, sizeof(asked), asked_bps), units_show_rate(measured, sizeof(measured), measured_bps),
              off, allowed, fabs(relative) <= target);
}

static void bench_rate(uint64_t rate_bps, int64_t delay_ns)
{
    struct direction direction = {.rate_bps = rate_bps, .delay_ns = delay_ns, .queue_bytes = shaping_default_queue_bytes(rate_bps)};
    struct rig_spec spec = {.hosts = 1, .direction = {direction, direction}};
    struct rig rig;
    char what[80], rate[UNITS_TEXT_BYTES];
    double payload_bps = (double)rate_bps * 1448 / 1514;
    int repeats = quick ? 3 : REPEATS_MOST;
    uint64_t second = (uint64_t)(payload_bps / 8), bulk = quick ? second / 2 : 2 * second, warm = second / 5 + 100000;
    rig_open(&rig, &spec);
    units_show_rate(rate, sizeof(rate), (double)rate_bps);
    double bulk_bps = NAN;
    (void)message_ns(&rig, warm, bulk, 1, &bulk_bps);
    snprintf(what, sizeof(what), "goodput %s, %.3g ms, %.3g MB", rate, (double)delay_ns / 1e6, (double)bulk / 1e6);
    report_rate(what, payload_bps, bulk_bps, BULK_TARGET);
    /* The delay is taken off; what a full bucket saves and waking up costs is part of the figure. */
    static const uint64_t sizes[] = {65536, 400000};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        double took_ns = message_ns(&rig, warm, sizes[i], repeats, NULL) - (double)delay_ns;
        snprintf(what, sizeof(what), "message %.0f kB after idle, %s, %.3g ms", (double)sizes[i] / 1000, rate,
                 (double)delay_ns / 1e6);
        report_rate(what, payload_bps, 8e9 * (double)sizes[i] / took_ns, MESSAGE_TARGET);
    }
    rig_close(&rig);
}

static void bench_unlimited(void)
{
    struct direction direction = {.delay_ns = 250 * NS_PER_US};
    struct rig_spec spec = {.hosts = 1, .direction = {direction, direction}};
    struct rig rig;
    char measured[UNITS_TEXT_BYTES];
    rig_open(&rig, &spec);
    uint64_t bytes = quick ? UINT64_C(1) << 29 : UINT64_C(1) << 31;
    double bps = NAN;
    (void)message_ns(&rig, 10000000, bytes, 1, &bps);
    print_row("goodput not limited, 0.25 ms", "-", units_show_rate(measured, sizeof(measured), bps), "", "> 5 Gbit/s",
              bps > UNLIMITED_TARGET_BPS);
    rig_close(&rig);
}

static void bench_rates(void)
{
    bench_rate(10000000, 250 * NS_PER_US);
    bench_rate(100000000, 250 * NS_PER_US);
    bench_rate(1000000000, 250 * NS_PER_US);
    bench_rate(1000000000, 5 * NS_PER_MS);
}

static const struct part {
    const char *name;
    void (*run)(void);
} parts[] = {{"delays", bench_delays}, {"rates", bench_rates}, {"unlimited", bench_unlimited}};

int main(int count, char **arguments)
{
    int first = 1;
    double load = NAN;
    quick = count > 1 && strcmp(arguments[1], "-q") == 0;
    first += quick;
    (void)getloadavg(&load, 1);
    printf("links of the relay; load average %.2f at the start\n", load);
    print_header();
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        bool wanted = first >= count;
        for (int argument = first; argument < count; argument++)
            wanted |= strcmp(arguments[argument], parts[i].name) == 0;
        if (wanted)
            parts[i].run();
    }
    return 0;
}
