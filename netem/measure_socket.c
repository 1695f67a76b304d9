/* netem/measure_socket.c: sockets in the namespaces at a link's ends, and when the kernel received what came through one. The
 * kernel's stamps are CLOCK_REALTIME, so both clocks are read as soon as a message is taken from its socket; their difference,
 * fresh by a fraction of a millisecond, moves the stamp to CLOCK_MONOTONIC. */
#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "netem/measure_internal.h"
#include "netem/shaping.h"

#define SETTLE_NS (2 * NS_PER_MS)        /* the kernel switches stamps on in the background */
#define SETTLE_MOST_NS (300 * NS_PER_MS) /* and tbf's bucket fills again */
#define PAIRING_NS (5 * NS_PER_US)       /* two clock readings further apart than this were interrupted */

int measure_socket(const struct measure_end *end, int type, int *fd, struct sockaddr_in *bound, struct err *err)
{
    struct in_addr in = {.s_addr = htonl(end->address)};
    char address[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &in, address, sizeof(address));
    if (setns(end->namespace_fd, CLONE_NEWNET) < 0)
        return err_set_errno(err, ERR_HOST, errno, "entering the namespace of %s", address);
    cleanup(close_fd) int opened = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_in wanted = {.sin_family = AF_INET, .sin_addr = in};
    socklen_t length = sizeof(*bound);
    if (opened >= 0 && end->device &&
        setsockopt(opened, SOL_SOCKET, SO_BINDTODEVICE, end->device, (socklen_t)strlen(end->device)) < 0)
        return err_set_errno(err, ERR_HOST, errno, "a socket on %s's device %s", address, end->device);
    if (opened < 0 || bind(opened, (struct sockaddr *)&wanted, sizeof(wanted)) < 0 ||
        getsockname(opened, (struct sockaddr *)bound, &length) < 0)
        return err_set_errno(err, ERR_HOST, errno, "a socket on %s", address);
    *fd = steal_fd(&opened);
    return 0;
}

int measure_stamp_arrivals(int fd, struct err *err)
{
    int on = 1;
    if (setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) < 0)
        return err_set_errno(err, ERR_HOST, errno, "a socket that stamps what arrives");
    return 0;
}

int measure_datagram_sockets(const struct measure_path *path, int *source, int *target, struct sockaddr_in *to, struct err *err)
{
    struct sockaddr_in from;
    cleanup(close_fd) int made_source = -1;
    cleanup(close_fd) int made_target = -1;
    int failed = measure_socket(&path->source, SOCK_DGRAM, &made_source, &from, err);
    if (!failed)
        failed = measure_socket(&path->target, SOCK_DGRAM, &made_target, to, err);
    if (!failed)
        failed = measure_stamp_arrivals(made_target, err);
    if (failed)
        return failed;
    *source = steal_fd(&made_source);
    *target = steal_fd(&made_target);
    return 0;
}

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

int64_t measure_stamp_ns(struct msghdr *message, int64_t now_ns)
{
    for (struct cmsghdr *control = CMSG_FIRSTHDR(message); control; control = CMSG_NXTHDR(message, control))
        if (control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec stamp;
            memcpy(&stamp, CMSG_DATA(control), sizeof(stamp));
            return (int64_t)stamp.tv_sec * NS_PER_S + stamp.tv_nsec + clock_difference();
        }
    return now_ns;
}

bool measure_receive(int fd, void *bytes, size_t length, int64_t *arrived_ns, ssize_t *got)
{
    union {
        char bytes[MEASURE_CONTROL_BYTES];
        struct cmsghdr aligned;
    } control;
    struct iovec piece = {.iov_base = bytes, .iov_len = length};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    *got = recvmsg(fd, &message, 0);
    if (*got < 0)
        return false;
    *arrived_ns = measure_stamp_ns(&message, clock_now_ns());
    return true;
}

int64_t measure_half_rate_ns(const struct direction *asked, uint32_t payload_bytes)
{
    uint64_t frame_bits = 8 * (payload_bytes + MEASURE_FRAME_HEADERS + shaping_overhead_bytes(asked->framing));
    return asked->rate_bps > 0 ? (int64_t)(2 * (double)frame_bits / (double)asked->rate_bps * (double)NS_PER_S) : 0;
}

int64_t measure_settle_ns(const struct measure_path *path)
{
    const struct direction *asked = &path->asked;
    if (asked->rate_bps == 0)
        return SETTLE_NS;
    double fill_ns = 8e9 * shaping_for_direction(asked, path->mtu).burst_bytes / (double)asked->rate_bps;
    return fill_ns > (double)SETTLE_MOST_NS ? SETTLE_MOST_NS : SETTLE_NS + (int64_t)fill_ns;
}
