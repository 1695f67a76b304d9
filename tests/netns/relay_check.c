/* relay_check.c: TAP. The relay's promises that hold on a host of any speed: order, content, nothing earlier than asked (less the
 * bias), every packet accounted for, and an end when the control descriptor closes. How late packets are is the benchmark's
 * business. */
#include "tests/netns/relay_transfer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/time.h>

#include "netem/measure.h"

/* Three estimates of at most 300 us each are taken off a deadline. */
#define EARLY_MOST_NS (900 * NS_PER_US)
#define QUIET_MS 300      /* nothing came for so long: nothing will */
#define PATIENCE_MS 20000 /* so long a busy host may let the relay wait for a processor */
enum { SENDERS_MOST = RIG_HOSTS_MOST, DATAGRAM_MOST = 1400 };

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

/* --- numbered datagrams ------------------------------------------------------------------------------------------------------- */

struct numbered {
    uint32_t sender, number;
    int64_t sent_ns;
};

struct receiver {
    int fd;
    _Atomic bool stop;
    uint64_t received, out_of_order, overflown;
    uint32_t next[SENDERS_MOST];
    int64_t least_ns;
};

static void note(struct receiver *receiver, const struct numbered *datagram, struct msghdr *message)
{
    int64_t delay_ns = clock_now_ns() - datagram->sent_ns;
    receiver->received++;
    if (datagram->number < receiver->next[datagram->sender])
        receiver->out_of_order++;
    receiver->next[datagram->sender] = datagram->number + 1;
    if (delay_ns < receiver->least_ns)
        receiver->least_ns = delay_ns;
    for (struct cmsghdr *control = CMSG_FIRSTHDR(message); control; control = CMSG_NXTHDR(message, control))
        if (control->cmsg_level == SOL_SOCKET && control->cmsg_type == SO_RXQ_OVFL) {
            uint32_t overflown;
            memcpy(&overflown, CMSG_DATA(control), sizeof(overflown));
            receiver->overflown = overflown;
        }
}

static void *receive_all(void *argument)
{
    struct receiver *receiver = argument;
    for (;;) {
        char bytes[DATAGRAM_MOST], space[CMSG_SPACE(sizeof(uint32_t))];
        struct iovec piece = {.iov_base = bytes, .iov_len = sizeof(bytes)};
        struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof(space)};
        ssize_t length = recvmsg(receiver->fd, &message, 0);
        struct numbered datagram;
        if (length >= (ssize_t)sizeof(datagram)) {
            memcpy(&datagram, bytes, sizeof(datagram));
            note(receiver, &datagram, &message);
        } else if (receiver->stop) {
            return NULL;
        }
    }
}

static int open_receiver(const struct rig *rig, int place, struct receiver *receiver, struct sockaddr_in *bound)
{
    *receiver = (struct receiver){.fd = rig_socket(rig, place, SOCK_DGRAM, bound), .least_ns = INT64_MAX};
    struct timeval quiet = {.tv_usec = QUIET_MS * 1000};
    int on = 1, room = 8 << 20;
    if (setsockopt(receiver->fd, SOL_SOCKET, SO_RCVTIMEO, &quiet, sizeof(quiet)) < 0 ||
        setsockopt(receiver->fd, SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof(on)) < 0)
        rig_die("a receiver's options");
    (void)setsockopt(receiver->fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
    return receiver->fd;
}

/* `count` datagrams from each sender's socket in turn, `size` bytes each, with a pause of a millisecond after every `burst`. */
static void send_numbered(const int *fds, int senders, uint32_t first, uint32_t count, size_t size, uint32_t burst)
{
    for (uint32_t number = first; number < first + count; number++) {
        for (int sender = 0; sender < senders; sender++) {
            char bytes[DATAGRAM_MOST] = {0};
            struct numbered datagram = {.sender = (uint32_t)sender, .number = number, .sent_ns = clock_now_ns()};
            memcpy(bytes, &datagram, sizeof(datagram));
            if (send(fds[sender], bytes, size, 0) != (ssize_t)size)
                rig_die("send");
        }
        if ((number + 1) % burst == 0)
            clock_sleep_until(clock_now_ns() + NS_PER_MS);
    }
}

static int connected(const struct rig *rig, int place, const struct sockaddr_in *to)
{
    struct sockaddr_in from;
    int fd = rig_socket(rig, place, SOCK_DGRAM, &from);
    if (connect(fd, (const struct sockaddr *)to, sizeof(*to)) < 0)
        rig_die("connect");
    return fd;
}

static const struct relay_counters *forward_counters(const struct rig *rig, int link)
{
    return &rig->counters[2 * link + DIRECTION_FORWARD];
}

/* Of what the devices sent nothing is left in the relay: it is delivered, or counted as refused. */
static bool relay_is_empty(const struct rig *rig, int links)
{
    for (int i = 0; i < links; i++) {
        const struct relay_counters *counters = forward_counters(rig, i);
        uint64_t sent, dropped;
        rig_device_sent(rig, i, i, &sent, &dropped);
        if (counters->packets + counters->ring_full + counters->write_refused < sent)
            return false;
    }
    return true;
}

static void await_relay(const struct rig *rig, int links)
{
    int64_t give_up_ns = clock_now_ns() + PATIENCE_MS * NS_PER_MS;
    while (!relay_is_empty(rig, links) && clock_now_ns() < give_up_ns)
        clock_sleep_until(clock_now_ns() + 10 * NS_PER_MS);
}

/* Sends from the hosts to the router while a thread receives; returns after the line has been quiet. The last few datagrams go
 * slowly, so that the socket can tell how many it could not keep. */
static void run_stream(const struct rig *rig, int senders, uint32_t count, size_t size, uint32_t burst, struct receiver *receiver)
{
    enum { FAREWELLS = 5 };
    struct sockaddr_in to;
    int fds[SENDERS_MOST];
    pthread_t thread;
    open_receiver(rig, rig->topology.host_count, receiver, &to);
    for (int i = 0; i < senders; i++)
        fds[i] = connected(rig, i, &to);
    if (pthread_create(&thread, NULL, receive_all, receiver) != 0)
        rig_die("a thread");
    send_numbered(fds, senders, 0, count, size, burst);
    await_relay(rig, senders);
    send_numbered(fds, senders, count, FAREWELLS, size, 1);
    await_relay(rig, senders);
    receiver->stop = true;
    pthread_join(thread, NULL);
    for (int i = 0; i < senders; i++)
        close(fds[i]);
    close(receiver->fd);
}

/* What a device sent is in the relay's counters; what the relay delivered reached the socket. */
static void check_accounts(const struct rig *rig, int links, const struct receiver *receiver)
{
    uint64_t delivered = 0, device_sent = 0, relay_seen = 0, dropped = 0;
    for (int i = 0; i < links; i++) {
        const struct relay_counters *counters = forward_counters(rig, i);
        uint64_t sent, device_dropped;
        rig_device_sent(rig, i, i, &sent, &device_dropped);
        device_sent += sent;
        dropped += device_dropped;
        delivered += counters->packets;
        relay_seen += counters->packets + counters->ring_full + counters->write_refused;
    }
    check(device_sent == relay_seen, "every packet a device sent is counted: %llu sent, %llu counted",
          (unsigned long long)device_sent, (unsigned long long)relay_seen);
    check(delivered == receiver->received + receiver->overflown,
          "every packet delivered arrived: %llu and %llu (%llu more dropped "
          "by the device)",
          (unsigned long long)delivered, (unsigned long long)(receiver->received + receiver->overflown),
          (unsigned long long)dropped);
}

/* --- the tests ---------------------------------------------------------------------------------------------------------------- */

static struct rig_spec delayed(int hosts, int64_t delay_ns)
{
    struct direction direction = {.delay_ns = delay_ns};
    return (struct rig_spec){.hosts = hosts, .direction = {direction, direction}};
}

static void one_link(void)
{
    enum { COUNT = 4000 };
    static const int64_t delays_ns[] = {2 * NS_PER_MS, 30 * NS_PER_MS};
    for (size_t i = 0; i < sizeof(delays_ns) / sizeof(delays_ns[0]); i++) {
        struct rig_spec spec = delayed(1, delays_ns[i]);
        struct rig rig;
        struct receiver receiver;
        rig_open(&rig, &spec);
        run_stream(&rig, 1, COUNT, 700, 40, &receiver);
        check(receiver.received > 0, "one link, %.0f ms: %llu packets arrive", (double)delays_ns[i] / 1e6,
              (unsigned long long)receiver.received);
        check(receiver.out_of_order == 0, "in order");
        check(receiver.least_ns >= delays_ns[i] - EARLY_MOST_NS, "none earlier than asked, less the bias: %.3f ms",
              (double)receiver.least_ns / 1e6);
        check_accounts(&rig, 1, &receiver);
        rig_close(&rig);
    }
}

static void eight_links(void)
{
    enum { LINKS = 8, COUNT = 800 };
    struct rig_spec spec = delayed(LINKS, 5 * NS_PER_MS);
    struct rig rig;
    struct receiver receiver;
    rig_open(&rig, &spec);
    run_stream(&rig, LINKS, COUNT, 200, 10, &receiver);
    check(receiver.received > 0, "eight links at once: %llu packets arrive", (unsigned long long)receiver.received);
    check(receiver.out_of_order == 0, "in order on each");
    check(receiver.least_ns >= 5 * NS_PER_MS - EARLY_MOST_NS, "none earlier than asked: %.3f ms", (double)receiver.least_ns / 1e6);
    check_accounts(&rig, LINKS, &receiver);
    rig_close(&rig);
}

/* More than the ring was sized for: the relay is told 8 Mbit/s, the device is not limited. */
static void overflow(void)
{
    enum { COUNT = 3000 };
    struct rig_spec spec = delayed(1, 400 * NS_PER_MS);
    spec.relay_rate_bps = 8000000;
    struct rig rig;
    struct receiver receiver;
    rig_open(&rig, &spec);
    run_stream(&rig, 1, COUNT, 1000, 100, &receiver);
    check(forward_counters(&rig, 0)->ring_full > 0, "a full ring is counted: %llu packets",
          (unsigned long long)forward_counters(&rig, 0)->ring_full);
    check(receiver.out_of_order == 0, "in order all the same");
    check_accounts(&rig, 1, &receiver);
    rig_close(&rig);
}

static void refused_writes(void)
{
    enum { COUNT = 20 };
    struct rig_spec spec = delayed(1, 2 * NS_PER_MS);
    struct rig rig;
    struct sockaddr_in to;
    struct receiver receiver;
    rig_open(&rig, &spec);
    open_receiver(&rig, 1, &receiver, &to);
    int fd = connected(&rig, 0, &to);
    rig_enter(rig.namespace_fds[1]);
    rig_command("ip link set l0 down");
    rig_enter(rig.home);
    send_numbered(&fd, 1, 0, COUNT, 100, 1);
    await_relay(&rig, 1);
    const struct relay_counters *counters = forward_counters(&rig, 0);
    check(counters->write_refused == COUNT && counters->packets == 0, "a refused write is counted: %llu of %d",
          (unsigned long long)counters->write_refused, COUNT);
    close(fd);
    close(receiver.fd);
    rig_close(&rig);
}

/* Large offloaded packets over two links: every byte is the one that was sent. */
static void tcp_content(void)
{
    enum { BYTES = 16 << 20 };
    struct rig_spec spec = delayed(2, NS_PER_MS);
    struct rig rig;
    rig_open(&rig, &spec);
    struct transfer transfer = transfer_over(&rig, BYTES);
    check(transfer.bytes == BYTES && transfer.wrong == 0, "%llu bytes over two links, %llu of them wrong",
          (unsigned long long)transfer.bytes, (unsigned long long)transfer.wrong);
    const struct relay_counters *counters = forward_counters(&rig, 0);
    check(counters->bytes > BYTES && counters->bytes / (counters->packets + 1) > RIG_MTU,
          "in packets larger than the MTU: %llu bytes each", (unsigned long long)(counters->bytes / (counters->packets + 1)));
    rig_close(&rig);
}

static void measuring(void)
{
    struct direction direction = {.rate_bps = 50000000, .delay_ns = 3 * NS_PER_MS, .queue_bytes = 150000};
    struct rig_spec spec = {.hosts = 3, .direction = {direction, direction}};
    struct rig rig;
    struct link_check checks[3];
    struct err err = {0};
    rig_open(&rig, &spec);
    rig_enter(rig.namespace_fds[2]);
    rig_command("ip link set l2 down");
    rig_enter(rig.home);
    int code = measure_links(&rig.topology, rig.namespace_fds, &(struct measure_effort){.sample = 1}, checks, &err);
    const struct direction_check *found = &checks[0].direction[DIRECTION_BACKWARD];
    check(code == 0 && found->measured && !checks[1].direction[0].measured && !checks[2].direction[1].measured,
          "a sample of one link of three is measured %s", err.text);
    check(found->probes_received > 0 && found->delay_min_ns >= (double)(direction.delay_ns - EARLY_MOST_NS),
          "its probes come through, none too early: %.3f ms", found->delay_min_ns / 1e6);
    check(found->goodput_bps > 0, "and a transfer: %.1f Mbit/s", found->goodput_bps / 1e6);
    int64_t begin_ns = clock_now_ns();
    code = measure_links(&rig.topology, rig.namespace_fds, &(struct measure_effort){0}, checks, &err);
    found = &checks[2].direction[DIRECTION_FORWARD];
    check(code == 0 && !found->within_tolerance && found->probes_received == 0, "a dead link is no failure but a verdict: %s",
          found->reason);
    check(clock_now_ns() - begin_ns < 30 * NS_PER_S, "and ends in bounded time");
    rig_close(&rig);
}

int main(void)
{
    one_link();
    eight_links();
    overflow();
    refused_writes();
    tcp_content();
    measuring();
    printf("1..%d\n", test_number);
    return failures > 0;
}
