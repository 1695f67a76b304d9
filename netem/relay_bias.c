/* netem/relay_bias.c: how late this host wakes a sleeping thread, measured once and learned further while running.
 *
 * Theory of operation. What a packet waits beyond its deadline on an idle host is three wake-ups: ours when the packet comes, ours when
 * the timer fires, and the receiver's. Each is a few microseconds when the processor slept briefly and up to hundreds when it slept long
 * (a virtual machine gives its processor back), so estimates are kept by the length of the sleep. Here a second thread plays sender and
 * receiver over a pair of sockets: the relay thread sleeps on a timer, writes to it, then sleeps until it is written to. The middle half
 * of each set of samples is averaged, so that one disturbed wake-up does not count. Only timers can be checked while running (nobody
 * tells us when a packet really came), so only they are learned. */
#include "netem/relay_internal.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"

enum { SAMPLES_MAX = 12, LEARNING_SHIFT = 4, WAIT_MS = 1000 };
#define CLASS_BASE_NS (32 * NS_PER_US)

static const struct probe {
    int64_t idle_ns;
    int samples;
} probes[] = {{300 * NS_PER_US, 12}, {2 * NS_PER_MS, 5}, {10 * NS_PER_MS, 3}};
enum { PROBES = sizeof(probes) / sizeof(probes[0]) };

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

void relay_bias_learn(struct relay_bias *bias, int64_t slept_ns, int64_t late_ns)
{
    int64_t *estimate = &bias->timer_ns[relay_idle_class(slept_ns)];
    *estimate += (bounded(late_ns) - *estimate) / (1 << LEARNING_SHIFT);
}

static int ascending(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static int64_t middle_mean(int64_t *samples, int count)
{
    qsort(samples, (size_t)count, sizeof(*samples), ascending);
    int64_t sum = 0;
    int from = count / 4, to = count - count / 4;
    for (int i = from; i < to; i++)
        sum += samples[i];
    return bounded(sum / (to - from));
}

/* The other thread, of ordinary priority like the agents (SCHED_RESET_ON_FORK): answers each message with the time at which it saw it, after having let the relay thread sleep for a while. */
struct message {
    int64_t idle_ns, seen_ns, sent_ns;
};

static void *answer(void *argument)
{
    int fd = *(const int *)argument;
    struct message message;
    while (recv(fd, &message, sizeof(message), 0) == (ssize_t)sizeof(message)) {
        message.seen_ns = clock_now_ns();
        clock_sleep_until(message.seen_ns + message.idle_ns);
        message.sent_ns = clock_now_ns();
        if (send(fd, &message, sizeof(message), MSG_NOSIGNAL) < 0)
            break;
    }
    return NULL;
}

struct samples {
    int64_t timer[SAMPLES_MAX], arrival[SAMPLES_MAX], delivery[SAMPLES_MAX];
};

static int take_sample(int epoll, int timer, int socket, int64_t idle_ns, struct samples *samples, int i)
{
    struct epoll_event event;
    int64_t at_ns = clock_now_ns() + idle_ns;
    struct itimerspec when = {.it_value = {.tv_sec = at_ns / NS_PER_S, .tv_nsec = at_ns % NS_PER_S}};
    if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL) < 0 || epoll_wait(epoll, &event, 1, WAIT_MS) != 1)
        return errno ? errno : ETIMEDOUT;
    samples->timer[i] = clock_now_ns() - at_ns;
    when = (struct itimerspec){0};
    if (timerfd_settime(timer, 0, &when, NULL) < 0)
        return errno;

    struct message message = {.idle_ns = idle_ns};
    int64_t written_ns = clock_now_ns();
    if (send(socket, &message, sizeof(message), MSG_NOSIGNAL) < 0 || epoll_wait(epoll, &event, 1, WAIT_MS) != 1)
        return errno ? errno : ETIMEDOUT;
    int64_t woken_ns = clock_now_ns();
    if (recv(socket, &message, sizeof(message), MSG_DONTWAIT) != (ssize_t)sizeof(message))
        return errno ? errno : EPROTO;
    samples->arrival[i] = woken_ns - message.sent_ns;
    samples->delivery[i] = message.seen_ns - written_ns;
    return 0;
}

/* Classes between two probes get a value on the straight line between them; those outside get the nearest probe's. */
static void fill(int64_t table[RELAY_IDLE_CLASSES], const int64_t measured[PROBES])
{
    for (int class = 0; class < RELAY_IDLE_CLASSES; class ++) {
        int next = 0;
        while (next < PROBES && (int)relay_idle_class(probes[next].idle_ns) < class)
            next++;
        if (next == 0 || next == PROBES) {
            table[class] = measured[next == 0 ? 0 : PROBES - 1];
            continue;
        }
        int low = (int)relay_idle_class(probes[next - 1].idle_ns), high = (int)relay_idle_class(probes[next].idle_ns);
        table[class] = measured[next - 1] + (measured[next] - measured[next - 1]) * (class - low) / (high - low);
    }
}

static int measure_with(int epoll, int timer, int socket, struct relay_bias *bias)
{
    int64_t timer_ns[PROBES], arrival_ns[PROBES];
    for (int p = 0; p < PROBES; p++) {
        struct samples samples;
        for (int i = 0; i < probes[p].samples; i++) {
            errno = 0;
            int failed = take_sample(epoll, timer, socket, probes[p].idle_ns, &samples, i);
            if (failed)
                return failed;
        }
        timer_ns[p] = middle_mean(samples.timer, probes[p].samples);
        arrival_ns[p] = middle_mean(samples.arrival, probes[p].samples);
        if (p == 0)
            bias->delivery_ns = middle_mean(samples.delivery, probes[p].samples);
    }
    fill(bias->timer_ns, timer_ns);
    fill(bias->arrival_ns, arrival_ns);
    return 0;
}

int relay_bias_measure(struct relay_bias *bias, struct err *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_set_errno(err, ERR_HOST, errno, "relay: a pair of sockets to measure wake-ups with");
    cleanup(close_fd) int ours = pair[0];
    cleanup(close_fd) int theirs = pair[1];
    cleanup(close_fd) int epoll = epoll_create1(EPOLL_CLOEXEC);
    cleanup(close_fd) int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    struct epoll_event readable = {.events = EPOLLIN};
    if (epoll < 0 || timer < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &readable) < 0 ||
        epoll_ctl(epoll, EPOLL_CTL_ADD, ours, &readable) < 0)
        return err_set_errno(err, ERR_HOST, errno, "relay: a timer to measure wake-ups with");

    pthread_t thread;
    int failed = pthread_create(&thread, NULL, answer, &theirs);
    if (failed)
        return err_set_errno(err, ERR_HOST, failed, "relay: a thread to measure wake-ups with");
    struct relay_bias measured = {0};
    failed = measure_with(epoll, timer, ours, &measured);
    shutdown(ours, SHUT_RDWR);
    pthread_join(thread, NULL);
    if (failed)
        return err_set_errno(err, ERR_HOST, failed, "relay: measuring how late this host wakes a thread");
    *bias = measured;
    return 0;
}
