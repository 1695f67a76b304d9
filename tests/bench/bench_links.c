/* bench_links.c: how near links come to what was asked, the relay's and those without delay: delay from program to program,
 * goodput, short messages after idle. Prints a table of measured against target, and exits with 0 whatever it says: figures belong
 * to the host they were measured on.
 *
 *     bench_links [-q] [delays] [rates] [unlimited] [direct]
 *
 * -q: fewer probes and shorter transfers; all parts where none is named
 *
 * Run it while nothing else runs. A delay is the median of the means of BATCHES batches, so that one disturbance of the host does
 * not pose as the link's delay; a message's time is the median of its repeats. */
#include "tests/bench/link_rows.h"

#include "tests/bench/bench_network.h"

enum { PROBES_MOST = 200, BATCHES = 5 };
#define DELAY_TARGET_NS (50 * NS_PER_US)
#define UNLIMITED_TARGET_BPS 10e9

static bool quick;

/* --- delay: a program's send() to another's return from recv() ---- */

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
    char what[128], asked[UNITS_TEXT_BYTES], measured[UNITS_TEXT_BYTES], off[48], target[48], lost[48] = "";
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
        const struct link_settings link = {.rate_bps = 1000000000, .delay_ns = delays_ns[i]};
        struct bench_network network;
        const struct rig *rig = &network.rig;
        struct delay_run run = {.wanted = quick ? 40 : PROBES_MOST};
        bench_network_open(&network, 2, &link, ENGINE_RELAY, 1);
        measure_delays(rig, 0, 2, 2 * NS_PER_MS, &run);
        report_delays("one link", 2 * NS_PER_MS, delays_ns[i], &run);
        measure_delays(rig, 0, 1, 2 * NS_PER_MS, &run);
        report_delays("two links", 2 * NS_PER_MS, 2 * delays_ns[i], &run);
        run.wanted = quick ? 20 : 100;
        measure_delays(rig, 0, 2, 20 * NS_PER_MS, &run);
        report_delays("one link", 20 * NS_PER_MS, delays_ns[i], &run);
        bench_network_close(&network);
    }
}

/* --- goodput and short messages ---- */

static void bench_rate(uint64_t rate_bps, int64_t delay_ns)
{
    const struct link_settings link = {.rate_bps = rate_bps, .delay_ns = delay_ns};
    struct bench_network network;
    char path[48];
    snprintf(path, sizeof(path), "%.3g ms", (double)delay_ns / 1e6);
    bench_network_open(&network, 1, &link, ENGINE_RELAY, 1);
    report_messages(&network.rig, 1, quick, path);
    bench_network_close(&network);
}

/* What the device sent is what the relay delivered and what was counted as lost: nothing goes in silence. */
static void report_uncounted(struct bench_network *network)
{
    char measured[UNITS_TEXT_BYTES];
    uint64_t sent = 0, dropped = 0;
    clock_sleep_until(clock_now_ns() + 200 * NS_PER_MS);
    rig_device_sent(&network->rig, 0, 0, &sent, &dropped);
    struct direction_counters counters = bench_network_counters(network);
    uint64_t counted = counters.packets + counters.lost + (counters.unasked_drops - dropped);
    snprintf(measured, sizeof(measured), "%lld", (long long)(sent - counted));
    print_row("packets of it that nobody counted", "-", measured, "", "0", sent == counted);
}

static void bench_unlimited(void)
{
    const struct link_settings link = {.delay_ns = 250 * NS_PER_US};
    struct bench_network network;
    char measured[UNITS_TEXT_BYTES];
    bench_network_open(&network, 1, &link, ENGINE_RELAY, 1);
    uint64_t bytes = quick ? UINT64_C(1) << 29 : UINT64_C(1) << 32;
    double bps = NAN;
    (void)message_ns(&network.rig, 1, 10000000, bytes, 1, &bps);
    print_row("goodput not limited, 0.25 ms", "-", units_show_rate(measured, sizeof(measured), bps), "", "> 10 Gbit/s",
              bps > UNLIMITED_TARGET_BPS);
    report_uncounted(&network);
    bench_network_close(&network);
}

/* --- links without delay: veth pairs and tbf ---- */

static void bench_direct(void)
{
    static const uint64_t rates_bps[] = {1000000, 10000000, 100000000, 1000000000, 2500000000};
    for (size_t i = 0; i < sizeof(rates_bps) / sizeof(rates_bps[0]); i++) {
        const struct link_settings link = {.rate_bps = rates_bps[i]};
        struct bench_network network;
        bench_network_open(&network, 2, &link, ENGINE_NONE, 1);
        report_messages(&network.rig, 2, quick, "no delay, one link");
        report_messages(&network.rig, 1, quick, "no delay, two links");
        bench_network_close(&network);
    }
}

static void bench_rates(void)
{
    bench_rate(1000000, 250 * NS_PER_US);
    bench_rate(10000000, 250 * NS_PER_US);
    bench_rate(100000000, 250 * NS_PER_US);
    bench_rate(1000000000, 250 * NS_PER_US);
    bench_rate(1000000000, 5 * NS_PER_MS);
    bench_rate(2500000000, 5 * NS_PER_MS);
}

static const struct part {
    const char *name;
    void (*run)(void);
} parts[] = {{"delays", bench_delays}, {"rates", bench_rates}, {"unlimited", bench_unlimited}, {"direct", bench_direct}};

int main(int count, char **arguments)
{
    int first = 1;
    double load = NAN;
    quick = count > 1 && strcmp(arguments[1], "-q") == 0;
    first += quick;
    (void)getloadavg(&load, 1);
    printf("links; load average %.2f at the start\n", load);
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
