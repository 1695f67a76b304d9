/* netem/measure_delay.c: one-way delay of one direction by UDP probes that carry the sender's clock.
 *
 * Theory of operation. One thread holds both sockets. A probe is sent every SPACING_NS, far enough apart that each meets an idle
 * link, and few enough that tbf's full bucket takes all of them at once even on the slowest link. Arrival is the kernel's receive
 * stamp. That is CLOCK_REALTIME, so both clocks are read as soon as a probe is taken from the socket; their difference, fresh by a
 * fraction of a millisecond, moves the stamp to CLOCK_MONOTONIC. */
#include "netem/measure_internal.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "netem/impairment.h"
#include "netem/shaping.h"

#define SETTLE_NS (2 * NS_PER_MS)        /* the kernel switches stamps on in the background */
#define SETTLE_MOST_NS (300 * NS_PER_MS) /* and tbf's bucket fills again */
#define SPACING_NS (1200 * NS_PER_US)
#define PATIENCE_NS (300 * NS_PER_MS) /* beyond the asked delay, for the last probes */
#define PAIRING_NS (5 * NS_PER_US)    /* two clock readings further apart than this were interrupted */

struct probe {
    uint32_t index, magic;
    int64_t sent_ns;
};
#define PROBE_MAGIC UINT32_C(0x6c616767)

struct probes {
    int target;
    int sent, received;
    bool seen[MEASURE_PROBES];
    int64_t delay_ns[MEASURE_PROBES]; /* of those received, in order of arrival */
};

/* CLOCK_MONOTONIC minus CLOCK_REALTIME. */
static int64_t clock_difference(void)
{
    int64_t difference = 0;
    for (int attempt = 0; attempt < 4; attempt++) {
        int64_t before_ns = clock_now_ns(), wall_ns = clock_wall_ns(), after_ns = clock_now_ns();
        difference = before_ns + (after_ns - before_ns) / 2 - wall_ns;
        if (after_ns - before_ns < PAIRING_NS)
            break;
    }
    return difference;
}

static int64_t stamp_of(struct msghdr *message, int64_t now_ns)
{
    for (struct cmsghdr *control = CMSG_FIRSTHDR(message); control; control = CMSG_NXTHDR(message, control))
        if (control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec stamp;
            memcpy(&stamp, CMSG_DATA(control), sizeof(stamp));
            return (int64_t)stamp.tv_sec * NS_PER_S + stamp.tv_nsec + clock_difference();
        }
    return now_ns;
}

static void receive(struct probes *probes)
{
    for (;;) {
        struct probe probe = {0};
        union {
            char bytes[CMSG_SPACE(sizeof(struct timespec))];
            struct cmsghdr aligned;
        } control;
        struct iovec piece = {.iov_base = &probe, .iov_len = sizeof(probe)};
        struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
        ssize_t length = recvmsg(probes->target, &message, 0);
        if (length < 0)
            return;
        if (length != (ssize_t)sizeof(probe) || probe.magic != PROBE_MAGIC || probe.index >= MEASURE_PROBES ||
            probes->seen[probe.index])
            continue;
        probes->seen[probe.index] = true;
        probes->delay_ns[probes->received++] = stamp_of(&message, clock_now_ns()) - probe.sent_ns;
    }
}

/* Takes what comes until `until_ns`, or until everything sent has come when `all` says that nothing more will be sent. */
static void receive_until(struct probes *probes, int64_t until_ns, bool all)
{
    for (;;) {
        receive(probes);
        int64_t left_ns = until_ns - clock_now_ns();
        if (left_ns <= 0 || (all && probes->received == probes->sent))
            return;
        struct timespec timeout = {.tv_sec = left_ns / NS_PER_S, .tv_nsec = left_ns % NS_PER_S};
        struct pollfd readable = {.fd = probes->target, .events = POLLIN};
        (void)ppoll(&readable, 1, &timeout, NULL);
    }
}

void measure_delay_statistics(const int64_t *delay_ns, int count, struct direction_check *check)
{
    if (count == 0)
        return;
    double sum = 0, squares = 0;
    int64_t least = delay_ns[0], most = delay_ns[0];
    for (int i = 0; i < count; i++) {
        sum += (double)delay_ns[i];
        least = delay_ns[i] < least ? delay_ns[i] : least;
        most = delay_ns[i] > most ? delay_ns[i] : most;
    }
    double mean = sum / count;
    for (int i = 0; i < count; i++)
        squares += ((double)delay_ns[i] - mean) * ((double)delay_ns[i] - mean);
    check->delay_mean_ns = mean;
    check->delay_min_ns = (double)least;
    check->delay_max_ns = (double)most;
    check->delay_sd_ns = count > 1 ? sqrt(squares / (count - 1)) : 0;
}

static int64_t settle_ns(const struct measure_path *path)
{
    const struct direction *asked = &path->asked;
    if (asked->rate_bps == 0)
        return SETTLE_NS;
    double fill_ns = 8e9 * shaping_for_rate(asked->rate_bps, asked->queue_bytes, path->mtu).burst_bytes / (double)asked->rate_bps;
    return fill_ns > (double)SETTLE_MOST_NS ? SETTLE_MOST_NS : SETTLE_NS + (int64_t)fill_ns;
}

int measure_delay(const struct measure_path *path, struct direction_check *check, struct err *err)
{
    cleanup(close_fd) int source = -1;
    cleanup(close_fd) int target = -1;
    struct sockaddr_in from, to;
    int failed = measure_socket(&path->source, SOCK_DGRAM, &source, &from, err);
    if (!failed)
        failed = measure_socket(&path->target, SOCK_DGRAM, &target, &to, err);
    if (failed)
        return failed;
    int on = 1;
    if (setsockopt(target, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) < 0)
        return err_set_errno(err, ERR_HOST, errno, "a socket for delay probes");

    struct probes probes = {.target = target};
    int64_t next_ns = clock_now_ns() + settle_ns(path);
    for (int i = 0; i < MEASURE_PROBES; i++) {
        receive_until(&probes, next_ns, false);
        struct probe probe = {.index = (uint32_t)i, .magic = PROBE_MAGIC, .sent_ns = clock_now_ns()};
        (void)sendto(source, &probe, sizeof(probe), 0, (struct sockaddr *)&to,
                     sizeof(to)); /* one that cannot be sent counts as lost */
        probes.sent++;
        next_ns = probe.sent_ns + SPACING_NS;
    }
    receive_until(&probes,
                  clock_now_ns() + path->asked.delay_ns + impairment_jitter_most_ns(&path->asked.impairments) + PATIENCE_NS, true);
    check->probes_sent = (uint32_t)probes.sent;
    check->probes_received = (uint32_t)probes.received;
    measure_delay_statistics(probes.delay_ns, probes.received, check);
    return 0;
}
