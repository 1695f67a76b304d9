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

#include "base/arena.h"
#include "netem/fabric.h"

enum { PROBES_MOST = 200, BATCHES = 5, FABRIC_PLACES = 3 };
#define DELAY_TARGET_NS (100 * NS_PER_US)
#define UNLIMITED_TARGET_BPS 5e9

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

/* --- goodput and short messages ---- */

static void bench_rate(uint64_t rate_bps, int64_t delay_ns)
{
    struct direction direction = {.rate_bps = rate_bps, .delay_ns = delay_ns, .queue_bytes = shaping_default_queue_bytes(rate_bps)};
    struct rig_spec spec = {.hosts = 1, .direction = {direction, direction}};
    struct rig rig;
    char path[48];
    snprintf(path, sizeof(path), "%.3g ms", (double)delay_ns / 1e6);
    rig_open(&rig, &spec);
    report_messages(&rig, 1, quick, path);
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
    (void)message_ns(&rig, 1, 10000000, bytes, 1, &bps);
    print_row("goodput not limited, 0.25 ms", "-", units_show_rate(measured, sizeof(measured), bps), "", "> 5 Gbit/s",
              bps > UNLIMITED_TARGET_BPS);
    rig_close(&rig);
}

/* --- links without delay: a fabric as trials have it, veth pairs and tbf ---- */

static struct fabric *open_fabric(struct rig *rig, uint64_t rate_bps, struct arena *arena)
{
    struct err err;
    struct fabric *fabric;
    struct settings settings = {.shape = SHAPE_STAR, .mtu = RIG_MTU, .congestion_control = "cubic", .link = {.rate_bps = rate_bps}};
    char *arguments[] = {"sleep", "3600", NULL};
    struct fabric_program programs[FABRIC_PLACES];
    for (int place = 0; place < FABRIC_PLACES; place++)
        programs[place] = (struct fabric_program){.place = place, .path = "/bin/sleep", .arguments = arguments};
    struct fabric_spec spec = {
        .topology = &rig->topology, .engine = ENGINE_NONE, .programs = programs, .program_count = FABRIC_PLACES};
    rig_home(rig);
    if (topology_build(&settings, FABRIC_PLACES - 1, 0, arena, &rig->topology, &err) < 0 ||
        fabric_build(&spec, &fabric, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    for (int place = 0; place < FABRIC_PLACES; place++) {
        char path[64];
        snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)fabric_pid(fabric, place));
        rig->places[place] = rig->topology.places[place];
        rig->namespace_fds[place] = open(path, O_RDONLY | O_CLOEXEC);
        if (rig->namespace_fds[place] < 0)
            rig_die("%s", path);
    }
    rig->links[0] = rig->topology.links[0];
    return fabric;
}

static void bench_direct(void)
{
    static const uint64_t rates_bps[] = {10000000, 100000000, 1000000000};
    for (size_t i = 0; i < sizeof(rates_bps) / sizeof(rates_bps[0]); i++) {
        cleanup(arena_cleanup) struct arena *arena = arena_new();
        struct rig rig;
        cleanup(fabric_cleanup) struct fabric *fabric = open_fabric(&rig, rates_bps[i], arena);
        report_messages(&rig, 2, quick, "no delay, one link");
        report_messages(&rig, 1, quick, "no delay, two links");
        for (int place = 0; place < FABRIC_PLACES; place++)
            close(rig.namespace_fds[place]);
        close(rig.home);
    }
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
