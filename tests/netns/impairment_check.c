/* impairment_check.c: TAP. The relay's impairments on real packets: every decision is the one that the random stream gives, what is
 * sent is delivered or counted, order is kept unless asked otherwise, and TCP's data arrives right whatever happens to its packets.
 */
#include "tests/netns/relay_transfer.h"

#include <linux/sock_diag.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/time.h>

#include "netem/impairment.h"

/* Fewer datagrams are under way than the smallest queue between the two ends holds: an unprivileged socket's 208 KiB. */
enum { SEED = 20, DATAGRAM_BYTES = 200, PACKETS = 100000, BURST = 50, UNDER_WAY = 150, PATIENCE_MS = 1000, QUIET_MS = 300 };

static int test_number, failures;

__attribute__((format(printf, 2, 3))) static void check(bool good, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("%s %d - ", good ? "ok" : "not ok", ++test_number);
    vprintf(format, arguments);
    printf("\n");
    fflush(stdout);
    va_end(arguments);
    failures += !good;
}

/* --- datagrams
 * ----------------------------------------------------------------------------------------------------------------------- */

struct receiver {
    int fd;
    _Atomic bool stop;
    uint64_t received, out_of_order;
    _Atomic uint32_t highest;
    uint32_t overflown;
};

static void *receive_all(void *argument)
{
    struct receiver *receiver = argument;
    for (;;) {
        uint32_t number;
        char bytes[DATAGRAM_BYTES];
        if (recv(receiver->fd, bytes, sizeof(bytes), 0) < 0) {
            if (receiver->stop)
                return NULL;
            continue;
        }
        memcpy(&number, bytes, sizeof(number));
        receiver->received++;
        receiver->out_of_order += number < receiver->highest;
        if (number > receiver->highest)
            receiver->highest = number;
    }
}

/* What a busy host kept the receiver from fetching in time, to the last datagram: with the datagrams themselves (SO_RXQ_OVFL) only
 * those are told that were dropped before another came in. */
static uint32_t dropped_by(int fd)
{
    uint32_t memory[SK_MEMINFO_VARS];
    socklen_t length = sizeof(memory);
    if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, memory, &length) < 0)
        rig_die("counting what a socket dropped");
    return memory[SK_MEMINFO_DROPS];
}

/* What has arrived paces what is sent: a host that has no time for the relay makes the stream longer, not thinner. A corrupted
 * number can seem higher than any that was sent; its checksum is wrong then, and no socket shows it. */
static void wait_for_arrivals(const struct receiver *receiver, uint32_t sent)
{
    int64_t give_up = clock_now_ns() + PATIENCE_MS * NS_PER_MS;
    while (sent > receiver->highest + UNDER_WAY && clock_now_ns() < give_up)
        clock_sleep_until(clock_now_ns() + NS_PER_MS / 10);
}

/* Host 0 sends numbered datagrams to the router, a burst at a time. */
static void stream(const struct rig *rig, uint32_t count, struct receiver *receiver)
{
    struct sockaddr_in from, to;
    pthread_t thread;
    struct timeval quiet = {.tv_usec = QUIET_MS * 1000};
    int room = 8 << 20;
    *receiver = (struct receiver){.fd = rig_socket(rig, 1, SOCK_DGRAM, &to)};
    int fd = rig_socket(rig, 0, SOCK_DGRAM, &from);
    (void)setsockopt(receiver->fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
    if (setsockopt(receiver->fd, SOL_SOCKET, SO_RCVTIMEO, &quiet, sizeof(quiet)) < 0 ||
        connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0 || pthread_create(&thread, NULL, receive_all, receiver) != 0)
        rig_die("a stream of datagrams");
    for (uint32_t number = 0; number < count; number++) {
        char bytes[DATAGRAM_BYTES] = {0};
        memcpy(bytes, &number, sizeof(number));
        if (send(fd, bytes, sizeof(bytes), 0) != sizeof(bytes))
            rig_die("send");
        if ((number + 1) % BURST == 0)
            wait_for_arrivals(receiver, number + 1);
    }
    clock_sleep_until(clock_now_ns() + QUIET_MS * NS_PER_MS);
    receiver->stop = true;
    pthread_join(thread, NULL);
    receiver->overflown = dropped_by(receiver->fd);
    close(fd);
    close(receiver->fd);
}

static struct rig_spec impaired(struct impairments impairments)
{
    struct direction direction = {.delay_ns = 2 * NS_PER_MS};
    struct rig_spec spec = {.hosts = 1, .seed = SEED, .direction = {direction, direction}};
    spec.direction[DIRECTION_FORWARD].impairments = impairments;
    return spec;
}

static uint64_t device_sent(const struct rig *rig)
{
    uint64_t sent, dropped;
    rig_device_sent(rig, 0, 0, &sent, &dropped);
    return sent;
}

static void check_accounts(const struct rig *rig)
{
    const struct relay_counters *c = &rig->counters[DIRECTION_FORWARD];
    uint64_t sent = device_sent(rig);
    check(sent + c->duplicated == c->packets + c->lost + c->ring_full + c->write_refused,
          "sent %llu + duplicated %llu = delivered %llu + lost %llu + not held %llu", (unsigned long long)sent,
          (unsigned long long)c->duplicated, (unsigned long long)c->packets, (unsigned long long)c->lost,
          (unsigned long long)(c->ring_full + c->write_refused));
}

/* --- the tests
 * ----------------------------------------------------------------------------------------------------------------------- */

static void loss(const char *what, struct impairments asked, double share, double spread)
{
    struct rig_spec spec = impaired(asked);
    struct rig rig;
    struct receiver receiver;
    rig_open(&rig, &spec);
    stream(&rig, PACKETS, &receiver);
    const struct relay_counters *c = &rig.counters[DIRECTION_FORWARD];
    uint64_t seen = c->packets + c->lost, expected = 0;
    struct impairment decisions;
    impairment_begin(&decisions, &asked, SEED, 0, DIRECTION_FORWARD);
    for (uint64_t i = 0; i < seen; i++)
        expected += impairment_loses(&decisions);
    double mean = (double)seen * share, bound = 2.5758 * sqrt(mean * (1 - share)) * spread;
    check(c->lost == expected && c->ring_full == 0, "%s: of %llu packets exactly those %llu are lost that the seed says", what,
          (unsigned long long)seen, (unsigned long long)c->lost);
    check(fabs((double)c->lost - mean) <= bound, "within its 99 %% interval, %.0f +- %.0f", mean, bound);
    check(receiver.received + receiver.overflown == c->packets, "all others arrive: %llu (%u more than the socket could hold)",
          (unsigned long long)receiver.received, receiver.overflown);
    check(receiver.out_of_order == 0, "in order");
    check_accounts(&rig);
    rig_close(&rig);
}

static void everything_at_once(void)
{
    struct impairments asked = {.jitter_ns = NS_PER_MS,
                                .jitter_distribution = JITTER_PARETO,
                                .loss = 0.02,
                                .duplicate = 0.03,
                                .corrupt = 0.04,
                                .reorder = 0.05};
    struct rig_spec spec = impaired(asked);
    struct rig rig;
    struct receiver receiver;
    rig_open(&rig, &spec);
    stream(&rig, PACKETS / 5, &receiver);
    const struct relay_counters *c = &rig.counters[DIRECTION_FORWARD];
    check(c->duplicated > 400 && c->corrupted > 500 && c->reordered > 700, "duplicated %llu, corrupted %llu, reordered %llu",
          (unsigned long long)c->duplicated, (unsigned long long)c->corrupted, (unsigned long long)c->reordered);
    /* The socket counts datagrams with a wrong checksum among those it dropped. */
    check(receiver.received + c->corrupted <= c->packets && receiver.received + c->corrupted + receiver.overflown >= c->packets,
          "every corrupted packet is refused, all others arrive: %llu", (unsigned long long)receiver.received);
    check(receiver.out_of_order > 0, "%llu come late since others overtook", (unsigned long long)receiver.out_of_order);
    check_accounts(&rig);
    rig_close(&rig);
}

static void jitter_keeps_order(void)
{
    struct impairments asked = {.jitter_ns = NS_PER_MS, .jitter_distribution = JITTER_NORMAL};
    struct rig_spec spec = impaired(asked);
    struct rig rig;
    struct receiver receiver;
    rig_open(&rig, &spec);
    stream(&rig, PACKETS / 10, &receiver);
    check(receiver.received + receiver.overflown == PACKETS / 10 && receiver.out_of_order == 0,
          "jitter: %llu packets, none out of order (%u more than the socket could hold)", (unsigned long long)receiver.received,
          receiver.overflown);
    check_accounts(&rig);
    rig_close(&rig);
}

static void tcp_content(void)
{
    enum { BYTES = 2 << 20 };
    struct impairments asked = {.jitter_ns = 100000, .loss = 0.005, .duplicate = 0.02, .corrupt = 0.005, .reorder = 0.02};
    struct rig_spec spec = impaired(asked);
    struct rig rig;
    spec.direction[DIRECTION_FORWARD].delay_ns = spec.direction[DIRECTION_BACKWARD].delay_ns = NS_PER_MS / 2;
    rig_open(&rig, &spec);
    struct transfer transfer = transfer_over(&rig, BYTES);
    const struct relay_counters *c = &rig.counters[DIRECTION_FORWARD];
    check(transfer.bytes == BYTES && transfer.wrong == 0, "TCP over all of it: %llu bytes, %llu of them wrong",
          (unsigned long long)transfer.bytes, (unsigned long long)transfer.wrong);
    check(c->lost > 0 && c->corrupted > 0 && c->packets > BYTES / RIG_MTU, "in packets of one frame: %llu, %llu of them corrupted",
          (unsigned long long)c->packets, (unsigned long long)c->corrupted);
    rig_close(&rig);
}

int main(void)
{
    loss("loss 1 %", (struct impairments){.loss = 0.01}, 0.01, 1);
    /* Losses that hang together scatter more than independent ones: by the sum of their correlations at most. */
    const struct gilbert_elliott bursts = {.p = 0.02, .r = 0.3, .loss_bad = 0.5};
    double correlation = 1 - bursts.p - bursts.r;
    loss("Gilbert-Elliott", (struct impairments){.gilbert_elliott = bursts}, bursts.loss_bad * bursts.p / (bursts.p + bursts.r),
         sqrt((1 + correlation) / (1 - correlation)));
    everything_at_once();
    jitter_keeps_order();
    tcp_content();
    printf("1..%d\n", test_number);
    return failures > 0;
}
