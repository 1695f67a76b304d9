/* echo.c: frames there and back over a plain veth pair; see echo.h.
 *
 * Both ends are in one namespace. Packet sockets are bound to an end and to an EtherType of our own (0x88B5, which IEEE 802 leaves
 * to local experiments), so that frames pass the pair instead of the loopback device that IP would choose, and nothing else is
 * read. One process sends and waits, the other returns whatever comes. A frame on the wire: 14 bytes of Ethernet header, 8 of the
 * frame's number, padding up to 64. */
#include "netem/echo.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "netem/namespaces.h"
#include "netem/netlink.h"

enum { ETHERTYPE = 0x88B5, NEAR_INDEX = 2, FAR_INDEX = 3, FRAME_BYTES = 64, LOST_AFTER_MS = 200 };

struct echo { /* shared with the scratch process */
    struct err err;
    int got;
    int64_t round_trips_ns[];
};

static int open_end(int index, struct err *err)
{
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETHERTYPE), .sll_ifindex = index};
    cleanup(close_fd) int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETHERTYPE));
    if (fd < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot open a packet socket");
    if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot bind a packet socket to one end of a veth pair");
    return steal_fd(&fd);
}

static int make_pair(struct err *err)
{
    cleanup(netlink_cleanup) struct netlink *netlink = NULL;
    cleanup(close_fd) int own_namespace = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    struct netlink_device near = {.index = NEAR_INDEX, .name = "near"}, far = {.index = FAR_INDEX, .name = "far"};
    if (own_namespace < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot hold a network namespace");
    if (netlink_open(&netlink, err) < 0)
        return -ERR_HOST;
    netlink_add_veth(netlink, &near, &far, own_namespace);
    netlink_set_up(netlink, near.index, near.name);
    netlink_set_up(netlink, far.index, far.name);
    netlink_notice_carrier(netlink, near.index, near.name);
    netlink_notice_carrier(netlink, far.index, far.name);
    return netlink_flush(netlink, err);
}

static _Noreturn void return_frames(int fd)
{
    char frame[FRAME_BYTES];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        ssize_t length = recv(fd, frame, sizeof(frame), 0);
        if (length < 0 && errno != EINTR)
            _exit(1);
        if (length > 0)
            (void)!send(fd, frame, (size_t)length, 0);
    }
}

/* Until frame `number` is back; what came late of an earlier one does not count. */
static bool await_frame(int fd, uint64_t number)
{
    char frame[FRAME_BYTES];
    uint64_t found;
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    while (poll(&wait, 1, LOST_AFTER_MS) > 0) {
        if (recv(fd, frame, sizeof(frame), 0) < (ssize_t)(ETH_HLEN + sizeof(found)))
            continue;
        memcpy(&found, frame + ETH_HLEN, sizeof(found));
        if (found == number)
            return true;
    }
    return false;
}

static void send_frames(int fd, int count, int64_t step_ns, int64_t end_ns, struct echo *echo)
{
    char frame[FRAME_BYTES] = {0};
    memset(frame, 0xff, ETH_ALEN); /* to all: there is one */
    frame[2 * ETH_ALEN] = (char)(ETHERTYPE >> 8);
    frame[2 * ETH_ALEN + 1] = (char)(ETHERTYPE & 0xff);
    for (int i = 0; i < count && clock_now_ns() < end_ns; i++) {
        uint64_t number = (uint64_t)i;
        memcpy(frame + ETH_HLEN, &number, sizeof(number));
        int64_t begin = clock_now_ns();
        if (send(fd, frame, sizeof(frame), 0) == (ssize_t)sizeof(frame) && await_frame(fd, number))
            echo->round_trips_ns[echo->got++] = clock_now_ns() - begin;
        clock_sleep_until(begin + step_ns);
    }
}

static _Noreturn void run_scratch(const struct namespaces_owner *owner, int count, int64_t step_ns, int64_t end_ns,
                                  struct echo *echo)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (namespaces_settle(owner, &echo->err) < 0 || make_pair(&echo->err) < 0)
        _exit(1);
    int near = open_end(NEAR_INDEX, &echo->err), far = near < 0 ? -1 : open_end(FAR_INDEX, &echo->err);
    if (far < 0)
        _exit(1);
    pid_t returner = fork(); /* ends with this process, which is its namespace's first */
    if (returner < 0) {
        err_set_errno(&echo->err, ERR_HOST, errno, "cannot start a process that returns frames");
        _exit(1);
    }
    if (returner == 0)
        return_frames(far);
    send_frames(near, count, step_ns, end_ns, echo);
    _exit(0);
}

int echo_measure(int64_t *round_trips_ns, int count, int64_t step_ns, int64_t at_most_ns, struct err *err)
{
    size_t bytes = sizeof(struct echo) + (size_t)count * sizeof(int64_t);
    struct echo *echo = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (echo == MAP_FAILED)
        return err_set_errno(err, ERR_HOST, errno, "cannot measure frames: no shared memory");
    int64_t end_ns = clock_now_ns() + at_most_ns;
    struct namespaces_owner owner;
    pid_t pid;
    cleanup(close_fd) int pidfd = -1;
    if (namespaces_fork(&owner, &pid, &pidfd, &echo->err) == 0) {
        if (pid == 0)
            run_scratch(&owner, count, step_ns, end_ns, echo);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    int result = echo->got;
    memcpy(round_trips_ns, echo->round_trips_ns, (size_t)echo->got * sizeof(int64_t));
    clock_sort(round_trips_ns, (size_t)echo->got);
    if (result == 0)
        result = echo->err.kind ? err_set(err, ERR_HOST, "%s", echo->err.text)
                                : err_set(err, ERR_HOST, "no frame came back over a veth pair");
    munmap(echo, bytes);
    return result;
}
