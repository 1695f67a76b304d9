/* bench_relay.c: what the relay does to packets, measured packet by packet against what was asked: delay on a link that is half
 * full, over a minute; losses of 100,000 packets; the quantiles of jitter. Prints a table and exits with 0 whatever it says.
 *
 *     bench_relay [-q] [loaded] [losses] [jitter]
 *
 * -q: a tenth of the time; all parts where none is named
 *
 * Delays are from a program's send() to another's return from recv(). */
#include "tests/bench/bench_network.h"
#include "tests/bench/link_rows.h"

enum { PACKET_BYTES = 1448, BURST_MOST = 64, PROBES_MOST = 120000, LOSS_PACKETS = 100000, JITTER_HOSTS = 10 };
#define LOADED_SECONDS 60
#define LOADED_RATE_BPS UINT64_C(1000000000)
#define TICK_NS (200 * NS_PER_US)
#define MEAN_TARGET_NS (50e3)
#define P99_TARGET_NS (500e3)
#define DRIFT_TARGET_NS (25e3)
#define WINDOW_SHARE 6 /* of the time: the first and the last sixth are compared for drift */

static bool quick;

/* --- probes: each carries when it was sent; one thread receives them ---- */

struct probes {
    int fd, wanted, received;
    double *delay_ns; /* in order of arrival */
};

static void *receive_probes(void *argument)
{
    struct probes *probes = argument;
    int64_t sent_ns;
    while (probes->received < probes->wanted && recv(probes->fd, &sent_ns, sizeof(sent_ns), 0) == (ssize_t)sizeof(sent_ns))
        probes->delay_ns[probes->received++] = (double)(clock_now_ns() - sent_ns);
    return NULL;
}

static void send_probe(int fd)
{
    int64_t now_ns = clock_now_ns();
    if (send(fd, &now_ns, sizeof(now_ns), 0) < 0)
        rig_die("send");
}

static int connected(const struct rig *rig, int place, const struct sockaddr_in *target)
{
    struct sockaddr_in source;
    int fd = rig_socket(rig, place, SOCK_DGRAM, &source);
    if (connect(fd, (const struct sockaddr *)target, sizeof(*target)) < 0)
        rig_die("connect");
    return fd;
}

static double quantile(const double *sorted, int count, double q)
{
    return count ? sorted[(int)(q * (count - 1) + 0.5)] : NAN;
}

static double mean_of(const double *values, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += values[i];
    return count ? sum / count : NAN;
}

static double *sorted_copy(const double *values, int count)
{
    double *copy = malloc(sizeof(*copy) * (size_t)(count + 1));
    memcpy(copy, values, sizeof(*copy) * (size_t)count);
    qsort(copy, (size_t)count, sizeof(*copy), ascending);
    return copy;
}

static double median_of(const double *values, int count)
{
    double *sorted = sorted_copy(values, count), median = quantile(sorted, count, 0.5);
    free(sorted);
    return median;
}

static void report_time(const char *what, double asked_ns, double measured_ns, double off_ns, double target_ns)
{
    char asked[UNITS_TEXT_BYTES] = "-", measured[UNITS_TEXT_BYTES], off[48], target[48];
    if (asked_ns > 0)
        units_show_time(asked, sizeof(asked), asked_ns);
    snprintf(off, sizeof(off), "%+.0f us", off_ns / 1e3);
    snprintf(target, sizeof(target), "%.0f us", target_ns / 1e3);
    print_row(what, asked, units_show_time(measured, sizeof(measured), measured_ns), off, target, fabs(off_ns) <= target_ns);
}

/* --- a half-full link ---- */

/* Half of the rate in bursts of TICK_NS's worth, which take half of that time on the wire: a probe in front of a burst waits behind
 * none. */
static void load_and_probe(int load, int probe, int64_t seconds, int probes)
{
    static char bytes[PACKET_BYTES];
    struct iovec part = {.iov_base = bytes, .iov_len = sizeof(bytes)};
    struct mmsghdr burst[BURST_MOST];
    int packets = (int)(LOADED_RATE_BPS / 8 / 2 * TICK_NS / NS_PER_S / (PACKET_BYTES + 42));
    for (int i = 0; i < packets; i++)
        burst[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}};
    int64_t begin_ns = clock_now_ns(), ticks = seconds * NS_PER_S / TICK_NS, every = ticks / probes;
    for (int64_t tick = 0; tick < ticks; tick++) {
        int64_t due_ns = begin_ns + tick * TICK_NS;
        if (clock_now_ns() < due_ns)
            clock_sleep_until(due_ns);
        else if (clock_now_ns() > due_ns + 10 * TICK_NS)
            begin_ns =
                clock_now_ns() - tick * TICK_NS; /* what was missed is not made up for: the link is to be half full, no more */
        if (every == 0 || tick % every == 0)
            send_probe(probe);
        if (sendmmsg(load, burst, (unsigned)packets, 0) < 0 && errno != ENOBUFS)
            rig_die("sendmmsg");
    }
}

static void bench_loaded(void)
{
    const struct link_settings link = {.rate_bps = LOADED_RATE_BPS, .delay_ns = 5 * NS_PER_MS};
    int64_t seconds = quick ? LOADED_SECONDS / 10 : LOADED_SECONDS;
    struct bench_network network;
    struct sockaddr_in to, sink;
    struct probes probes = {.wanted = (int)seconds * 500, .delay_ns = calloc(PROBES_MOST, sizeof(double))};
    pthread_t thread;
    char what[128];
    bench_network_open(&network, 1, &link, ENGINE_RELAY, 1);
    probes.fd = rig_socket(&network.rig, 1, SOCK_DGRAM, &to);
    int ignored = rig_socket(&network.rig, 1, SOCK_DGRAM, &sink);
    set_patience(probes.fd);
    int probe = connected(&network.rig, 0, &to), load = connected(&network.rig, 0, &sink);
    if (pthread_create(&thread, NULL, receive_probes, &probes) != 0)
        rig_die("a thread");
    load_and_probe(load, probe, seconds, probes.wanted);
    clock_sleep_until(clock_now_ns() + 100 * NS_PER_MS);
    shutdown(probes.fd, SHUT_RD);
    pthread_join(thread, NULL);
    struct direction_counters counters = bench_network_counters(&network);
    double asked_ns = (double)link.delay_ns, mean = mean_of(probes.delay_ns, probes.received);
    double *sorted = sorted_copy(probes.delay_ns, probes.received), p99 = quantile(sorted, probes.received, 0.99);
    int window = probes.received / WINDOW_SHARE;
    double first = median_of(probes.delay_ns, window), last = median_of(probes.delay_ns + probes.received - window, window);
    snprintf(what, sizeof(what), "delay of a half-full link, mean of %d over %lld s", probes.received, (long long)seconds);
    report_time(what, asked_ns, mean, mean - asked_ns, MEAN_TARGET_NS);
    report_time("  99th percentile", asked_ns, p99, p99 - asked_ns, P99_TARGET_NS);
    report_time("  the last sixth against the first, medians", 0, last, last - first, DRIFT_TARGET_NS);
    char carried[UNITS_TEXT_BYTES], lost[48];
    snprintf(lost, sizeof(lost), "%llu lost", (unsigned long long)(counters.unasked_drops + counters.queue_drops));
    units_show_rate(carried, sizeof(carried), (double)counters.bytes * 8 / (double)seconds);
    print_row("  what it carried meanwhile", "500 Mbit/s", carried, lost, "none lost", counters.unasked_drops == 0);
    free(sorted);
    free(probes.delay_ns);
    close(probe);
    close(load);
    close(ignored);
    close(probes.fd);
    bench_network_close(&network);
}

/* --- losses ---- */

/* Of `count` packets; the 99 % interval around what is asked, `spread` times as wide where losses come in bursts. */
static void losses(const char *name, const struct impairments *asked, double share, double spread)
{
    const struct link_settings link = {.rate_bps = 1000000000, .delay_ns = NS_PER_MS, .impairments = *asked};
    int count = quick ? LOSS_PACKETS / 10 : LOSS_PACKETS;
    struct bench_network network;
    struct sockaddr_in sink;
    char what[128], wanted[48], measured[48], off[48], target[48];
    bench_network_open(&network, 1, &link, ENGINE_RELAY, 1);
    int ignored = rig_socket(&network.rig, 1, SOCK_DGRAM, &sink), fd = connected(&network.rig, 0, &sink);
    struct direction_counters before = bench_network_counters(&network);
    for (int i = 0; i < count; i++) {
        send_probe(fd);
        if (i % 20 == 19)
            clock_sleep_until(clock_now_ns() + NS_PER_MS);
    }
    clock_sleep_until(clock_now_ns() + 100 * NS_PER_MS);
    struct direction_counters after = bench_network_counters(&network);
    double lost = (double)(after.lost - before.lost), seen = (double)(after.packets - before.packets) + lost;
    double bound = 2.5758 * sqrt(share * (1 - share) / seen) * spread, found = lost / seen;
    snprintf(what, sizeof(what), "%s, %.0f packets", name, seen);
    snprintf(wanted, sizeof(wanted), "%.3f %%", 100 * share);
    snprintf(measured, sizeof(measured), "%.3f %%", 100 * found);
    snprintf(off, sizeof(off), "%+.3f %%", 100 * (found - share));
    snprintf(target, sizeof(target), "%.3f %%", 100 * bound);
    print_row(what, wanted, measured, off, target, fabs(found - share) <= bound && seen >= 0.99 * count);
    close(fd);
    close(ignored);
    bench_network_close(&network);
}

static void bench_losses(void)
{
    const struct impairments plain = {.loss = 0.01};
    const struct impairments bursts = {.gilbert_elliott = {.p = 0.01, .r = 0.25, .loss_bad = 1}};
    double p = bursts.gilbert_elliott.p, r = bursts.gilbert_elliott.r, stays = 1 - p - r;
    losses("loss", &plain, plain.loss, 1);
    losses("loss in bursts (p 1 %, r 25 %)", &bursts, p / (p + r), sqrt((1 + stays) / (1 - stays)));
}

/* --- jitter ---- */

/* Ten links at once, a probe every 8 ms on each: further apart than jitter moves them, since order is kept. */
static void bench_jitter(void)
{
    static const struct {
        double q, deviation; /* of the normal distribution */
    } expected[] = {{0.1, -1.2816}, {0.25, -0.6745}, {0.75, 0.6745}, {0.9, 1.2816}, {0.99, 2.3263}};
    const struct link_settings link = {.rate_bps = 1000000000,
                                       .delay_ns = 10 * NS_PER_MS,
                                       .impairments = {.jitter_ns = NS_PER_MS, .jitter_distribution = JITTER_NORMAL}};
    int rounds = quick ? 200 : 2000;
    struct bench_network network;
    struct sockaddr_in to;
    struct probes probes = {.wanted = rounds * JITTER_HOSTS, .delay_ns = calloc((size_t)rounds * JITTER_HOSTS, sizeof(double))};
    int fds[JITTER_HOSTS];
    pthread_t thread;
    bench_network_open(&network, JITTER_HOSTS, &link, ENGINE_RELAY, 1);
    probes.fd = rig_socket(&network.rig, JITTER_HOSTS, SOCK_DGRAM, &to);
    set_patience(probes.fd);
    for (int host = 0; host < JITTER_HOSTS; host++)
        fds[host] = connected(&network.rig, host, &to);
    if (pthread_create(&thread, NULL, receive_probes, &probes) != 0)
        rig_die("a thread");
    for (int i = 0; i < probes.wanted; i++) {
        send_probe(fds[i % JITTER_HOSTS]);
        clock_sleep_until(clock_now_ns() + 800 * NS_PER_US);
    }
    clock_sleep_until(clock_now_ns() + 100 * NS_PER_MS);
    shutdown(probes.fd, SHUT_RD);
    pthread_join(thread, NULL);
    double *sorted = sorted_copy(probes.delay_ns, probes.received);
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        char what[96], asked[48], measured[48], off[48];
        double wanted = expected[i].deviation * (double)NS_PER_MS;
        double found = quantile(sorted, probes.received, expected[i].q) - (double)link.delay_ns;
        snprintf(what, sizeof(what), "jitter 1 ms normal, quantile %g of %d, less the delay", expected[i].q, probes.received);
        snprintf(asked, sizeof(asked), "%+.0f us", wanted / 1e3);
        snprintf(measured, sizeof(measured), "%+.0f us", found / 1e3);
        snprintf(off, sizeof(off), "%+.1f %%", 100 * (found / wanted - 1));
        print_row(what, asked, measured, off, "5 %", fabs(found / wanted - 1) <= 0.05);
    }
    free(sorted);
    free(probes.delay_ns);
    for (int host = 0; host < JITTER_HOSTS; host++)
        close(fds[host]);
    close(probes.fd);
    bench_network_close(&network);
}

static const struct part {
    const char *name;
    void (*run)(void);
} parts[] = {{"loaded", bench_loaded}, {"losses", bench_losses}, {"jitter", bench_jitter}};

int main(int count, char **arguments)
{
    int first = 1;
    quick = count > 1 && strcmp(arguments[1], "-q") == 0;
    first += quick;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        bool wanted = first >= count;
        for (int argument = first; argument < count; argument++)
            wanted |= strcmp(arguments[argument], parts[i].name) == 0;
        if (wanted)
            parts[i].run();
    }
    return 0;
}
