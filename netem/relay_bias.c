/* netem/relay_bias.c: how late this host wakes a sleeping thread, measured before the first packet and learned while running.
 *
 * Theory of operation. What a packet waits beyond its deadline on an idle host is three wake-ups: ours when the packet comes, ours
 * when the timer fires, and the receiver's. Each is a few microseconds when the processor slept briefly and up to hundreds when it
 * slept long (a virtual machine gives its processor back), so estimates are kept by the length of the sleep, and they change with
 * what else the physical host does. Timers tell how late they were each time. Nobody tells when a packet really came; so a second
 * thread, of the same priority, writes to the relay with the time at which it did, after silences of different lengths: a few short
 * ones before the first packet (10 ms, with the timers'), then some 75 a second, which take about a thousandth of a processor. One
 * that finds the relay asleep is a sample for the length of that sleep, whatever it was.
 *
 * A receiver's wake-up is taken to cost what ours does when a packet comes: both are one thread woken by another. Every link of a
 * path takes it off, though only one receiver wakes. That is right as it stands: after silence the sender starts as slowly as the
 * receiver, and most paths have two links. After a short silence both are a few microseconds. */
#include "netem/relay_internal.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"

enum { SAMPLES_MOST = 5, TIMER_MEMORY = 16, ARRIVAL_MEMORY = 8, WAIT_MS = 1000 };
#define OUTLIER_NS (40 * NS_PER_US)
#define SETTLED_OUTLIER_NS (10 * NS_PER_US)
#define CLASS_BASE_NS (32 * NS_PER_US)

struct probe { /* lengths of sleep, ascending */
    int64_t idle_ns;
    int samples;
};
enum { TIMER_PROBES = 2, ARRIVAL_PROBES = 2, SILENCES = 3 };
static const struct probe timer_probes[TIMER_PROBES] = {{100 * NS_PER_US, 5}, {400 * NS_PER_US, 5}};
static const struct probe arrival_probes[ARRIVAL_PROBES] = {{200 * NS_PER_US, 5}, {1500 * NS_PER_US, 4}};
static const int64_t silences_ns[SILENCES] = {5 * NS_PER_MS, 10 * NS_PER_MS, 25 * NS_PER_MS}; /* then these, over and over */

unsigned relay_idle_class(int64_t slept_ns)
{
    int64_t units = slept_ns / CLASS_BASE_NS;
    if (units <= 1)
        return 0;
    unsigned class = 63 - (unsigned)__builtin_clzll((unsigned long long)units);
    return class < RELAY_IDLE_CLASSES ? class : RELAY_IDLE_CLASSES - 1;
}

static int64_t bounded(int64_t ns)
{
    return ns < 0 ? 0 : ns > RELAY_BIAS_MAX_NS ? RELAY_BIAS_MAX_NS : ns;
}

void relay_bias_learn_timer(struct relay_bias *bias, int64_t slept_ns, int64_t late_ns)
{
    int64_t *estimate_ns = &bias->timer_ns[relay_idle_class(slept_ns)];
    *estimate_ns += (bounded(late_ns) - *estimate_ns) / TIMER_MEMORY;
}

/* The first samples of a class count for more: what was there before comes from shorter sleeps. One that is far off, since
 * something else ran, counts as moderately off, later as hardly off: what wakes late only now and then must not make the packets
 * early that wake nobody late, so an estimate climbs slowly and falls fast. Longer sleeps that nothing is known of follow. */
static void learn_arrival(struct relay_bias *bias, unsigned class, int64_t late_ns)
{
    int64_t *estimate_ns = &bias->arrival_ns[class];
    bool settled = bias->arrivals[class] >= ARRIVAL_MEMORY - 1;
    int64_t most_ns = settled ? *estimate_ns + *estimate_ns / 4 + SETTLED_OUTLIER_NS : 2 * *estimate_ns + OUTLIER_NS;
    if (!settled)
        bias->arrivals[class]++;
    *estimate_ns += (bounded(late_ns < most_ns ? late_ns : most_ns) - *estimate_ns) / (1 + bias->arrivals[class]);
    for (unsigned longer = class + 1; longer < RELAY_IDLE_CLASSES && bias->arrivals[longer] == 0; longer++)
        bias->arrival_ns[longer] = *estimate_ns;
}

void relay_bias_learn_arrival(struct relay_bias *bias, int64_t slept_ns, int64_t woken_ns)
{
    int64_t sent_ns;
    while (recv(bias->ours, &sent_ns, sizeof(sent_ns), MSG_DONTWAIT) == (ssize_t)sizeof(sent_ns))
        if (slept_ns > 0 && woken_ns > sent_ns && woken_ns - sent_ns < slept_ns)
            learn_arrival(bias, relay_idle_class(slept_ns), woken_ns - sent_ns);
}

int64_t relay_bias_arrival_ns(const struct relay_bias *bias, int64_t slept_ns)
{
    /* Longer silences than the longest that is tried do not occur here, but a receiver has them. */
    int64_t longest_ns = silences_ns[SILENCES - 1];
    return bias->arrival_ns[relay_idle_class(slept_ns < longest_ns ? slept_ns : longest_ns)];
}

static int64_t lower_mean(int64_t *samples, int count)
{
    clock_sort(samples, (size_t)count);
    int64_t sum = 0;
    int lower = (count + 1) / 2;
    for (int i = 0; i < lower; i++)
        sum += samples[i];
    return bounded(sum / lower);
}

/* Classes between two probes get a value on the straight line between them; those outside get the nearest probe's. */
static void fill(int64_t table[RELAY_IDLE_CLASSES], const struct probe *probes, const int64_t *measured_ns, int count)
{
    for (int class = 0; class < RELAY_IDLE_CLASSES; class ++) {
        int next = 0;
        while (next < count && (int)relay_idle_class(probes[next].idle_ns) < class)
            next++;
        if (next == 0 || next == count) {
            table[class] = measured_ns[next == 0 ? 0 : count - 1];
            continue;
        }
        int low = (int)relay_idle_class(probes[next - 1].idle_ns), high = (int)relay_idle_class(probes[next].idle_ns);
        int64_t rise_ns = measured_ns[next] - measured_ns[next - 1];
        table[class] = measured_ns[next - 1] + (high > low ? rise_ns * (class - low) / (high - low) : 0);
    }
}

static int wait_for(int epoll, int64_t *woken_ns)
{
    struct epoll_event event;
    int count;
    do
        count = epoll_wait(epoll, &event, 1, WAIT_MS);
    while (count < 0 && errno == EINTR);
    *woken_ns = clock_now_ns();
    return count == 1 ? 0 : count == 0 ? ETIMEDOUT : errno;
}

static int measure_timers(int epoll, int timer, struct relay_bias *bias)
{
    int64_t measured_ns[TIMER_PROBES], samples[SAMPLES_MOST] = {0}, woken_ns;
    for (int p = 0; p < TIMER_PROBES; p++) {
        for (int i = 0; i < timer_probes[p].samples; i++) {
            int64_t at_ns = clock_now_ns() + timer_probes[p].idle_ns;
            struct itimerspec when = {.it_value = {.tv_sec = at_ns / NS_PER_S, .tv_nsec = at_ns % NS_PER_S}};
            if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL) < 0)
                return errno;
            int failed = wait_for(epoll, &woken_ns);
            if (failed)
                return failed;
            samples[i] = woken_ns - at_ns;
        }
        measured_ns[p] = lower_mean(samples, timer_probes[p].samples);
    }
    struct itimerspec never = {0};
    if (timerfd_settime(timer, 0, &never, NULL) < 0)
        return errno;
    fill(bias->timer_ns, timer_probes, measured_ns, TIMER_PROBES);
    return 0;
}

/* The other thread. Its sleep is a poll() on its socket, so that closing wakes it. */
static bool write_after(int fd, int64_t silence_ns)
{
    struct timespec timeout = {.tv_sec = silence_ns / NS_PER_S, .tv_nsec = silence_ns % NS_PER_S};
    struct pollfd closed = {.fd = fd, .events = POLLRDHUP};
    int count;
    do
        count = ppoll(&closed, 1, &timeout, NULL);
    while (count < 0 && errno == EINTR);
    if (count != 0)
        return false;
    int64_t sent_ns = clock_now_ns();
    return send(fd, &sent_ns, sizeof(sent_ns), MSG_NOSIGNAL | MSG_DONTWAIT) > 0 || errno == EAGAIN;
}

static void *write_after_silences(void *argument)
{
    int fd = *(const int *)argument;
    for (int p = 0; p < ARRIVAL_PROBES; p++)
        for (int i = 0; i < arrival_probes[p].samples; i++)
            if (!write_after(fd, arrival_probes[p].idle_ns))
                return NULL;
    for (int i = 0; write_after(fd, silences_ns[i]); i = (i + 1) % SILENCES) {
    }
    return NULL;
}

static int measure_arrivals(int epoll, int socket, struct relay_bias *bias)
{
    int64_t measured_ns[ARRIVAL_PROBES], samples[SAMPLES_MOST] = {0}, woken_ns, sent_ns;
    for (int p = 0; p < ARRIVAL_PROBES; p++) {
        for (int i = 0; i < arrival_probes[p].samples; i++) {
            int failed = wait_for(epoll, &woken_ns);
            if (failed)
                return failed;
            if (recv(socket, &sent_ns, sizeof(sent_ns), MSG_DONTWAIT) != (ssize_t)sizeof(sent_ns))
                return EPROTO;
            samples[i] = woken_ns - sent_ns;
        }
        measured_ns[p] = lower_mean(samples, arrival_probes[p].samples);
        bias->arrivals[relay_idle_class(arrival_probes[p].idle_ns)] = 1; /* as much as one sample that counts for more */
    }
    fill(bias->arrival_ns, arrival_probes, measured_ns, ARRIVAL_PROBES);
    return 0;
}

static int measure(struct relay_bias *bias, int epoll, int timer)
{
    struct epoll_event readable = {.events = EPOLLIN};
    if (epoll < 0 || timer < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &readable) < 0 ||
        epoll_ctl(epoll, EPOLL_CTL_ADD, bias->ours, &readable) < 0)
        return errno;
    int failed = measure_timers(epoll, timer, bias);
    if (failed)
        return failed;
    failed = pthread_create(&bias->thread, NULL, write_after_silences, &bias->theirs);
    bias->running = !failed;
    return failed ? failed : measure_arrivals(epoll, bias->ours, bias);
}

int relay_bias_open(struct relay_bias *bias, struct err *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_set_errno(err, ERR_HOST, errno, "relay: a pair of sockets to measure wake-ups with");
    *bias = (struct relay_bias){.ours = pair[0], .theirs = pair[1]};
    cleanup(close_fd) int epoll = epoll_create1(EPOLL_CLOEXEC);
    cleanup(close_fd) int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    int failed = measure(bias, epoll, timer);
    if (failed) {
        relay_bias_close(bias);
        return err_set_errno(err, ERR_HOST, failed, "relay: measuring how late this host wakes a thread");
    }
    return 0;
}

void relay_bias_close(struct relay_bias *bias)
{
    if (bias->ours >= 0)
        shutdown(bias->ours, SHUT_RDWR);
    if (bias->running)
        pthread_join(bias->thread, NULL);
    close_fd(&bias->ours);
    close_fd(&bias->theirs);
    bias->running = false;
}
