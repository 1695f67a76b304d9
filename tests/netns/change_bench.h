/* change_bench.h: a standing fabric for tests that change it. On each place runs the test's own program as a broker, which makes
 * sockets in its namespace and hands them out, so that one process sees all places with one clock. Every line of output is "ok
 * WHAT" or "failed WHAT". */
#ifndef LAGGARD_TESTS_NETNS_CHANGE_BENCH_H
#define LAGGARD_TESTS_NETNS_CHANGE_BENCH_H

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "netem/fabric.h"
#include "netem/impairment.h"
#include "netem/shaping.h"
#include "netem/topology.h"

enum { PLACES_MOST = 16 };

struct bench {
    struct topology topology;
    struct link *links; /* the topology's, to be written before it is built */
    struct fabric *fabric;
    struct arena *arena;
    int sockets[PLACES_MOST]; /* to the brokers */
    enum engine_kind engine;
    int failures;
};

__attribute__((format(printf, 3, 4))) static inline void check(struct bench *bench, bool good, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("%s ", good ? "ok" : "failed");
    vprintf(format, arguments);
    printf("\n");
    fflush(stdout);
    va_end(arguments);
    bench->failures += !good;
}

static inline _Noreturn void die(const char *what, const struct err *err)
{
    printf("failed %s: %s\n", what, err ? err->text : strerror(errno));
    exit(1);
}

/* --- brokers ------------------------------------------------------------------------------------------------------------------ */

struct socket_request {
    int family, type, protocol;
};

static inline void send_descriptor(int to, int fd)
{
    char byte = 0;
    struct iovec part = {&byte, 1};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(header), &fd, sizeof(fd));
    if (sendmsg(to, &message, 0) != 1)
        exit(1);
}

static inline int run_broker(void)
{
    struct socket_request request;
    while (recv(3, &request, sizeof(request), 0) == (ssize_t)sizeof(request)) {
        cleanup(close_fd) int fd = socket(request.family, request.type | SOCK_CLOEXEC, request.protocol);
        if (fd < 0)
            return 1;
        send_descriptor(3, fd);
    }
    return 0;
}

static inline int socket_on(const struct bench *bench, int place, int family, int type, int protocol)
{
    const struct socket_request request = {family, type, protocol};
    char byte;
    struct iovec part = {&byte, 1};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)};
    int fd;
    if (send(bench->sockets[place], &request, sizeof(request), 0) < 0 ||
        recvmsg(bench->sockets[place], &message, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&message))
        die("a socket on a place", NULL);
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
    return fd;
}

static inline struct sockaddr_in address_of(const struct bench *bench, int host, uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(bench->topology.places[host].address)};
}

static inline int bound_socket(const struct bench *bench, int host, int type, struct sockaddr_in *bound)
{
    int fd = socket_on(bench, host, AF_INET, type, 0), bytes = 4 << 20;
    socklen_t length = sizeof(*bound);
    *bound = address_of(bench, host, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
    if (bind(fd, (struct sockaddr *)bound, sizeof(*bound)) < 0 || getsockname(fd, (struct sockaddr *)bound, &length) < 0)
        die("a bound socket", NULL);
    return fd;
}

/* --- the network -------------------------------------------------------------------------------------------------------------- */

static inline void plan(struct bench *bench, enum topology_shape shape, int hosts, uint64_t rate_bps, int64_t delay_ns)
{
    struct settings settings = {.shape = shape,
                                .mtu = 1500,
                                .seed = 7,
                                .slow_start_after_idle = true,
                                .link = {.rate_bps = rate_bps, .delay_ns = delay_ns}};
    struct err err;
    if (topology_build(&settings, hosts, 0, bench->arena, &bench->topology, &err) < 0)
        die("the topology", &err);
    bench->links = arena_copy(bench->arena, bench->topology.links, (size_t)bench->topology.link_count * sizeof(*bench->links));
    bench->topology.links = bench->links;
}

/* All directions may change: so far. */
static inline void let_change(struct bench *bench, uint64_t rate_most_bps, int64_t delay_most_ns)
{
    for (int i = 0; i < bench->topology.link_count; i++)
        for (int d = 0; d < DIRECTIONS; d++) {
            struct direction *direction = &bench->links[i].direction[d];
            direction->rate_most_bps = rate_most_bps;
            direction->delay_most_ns = delay_most_ns;
            direction->changes = bench->engine != ENGINE_NONE;
        }
}

static inline void build(struct bench *bench)
{
    static char self[4096];
    static char *arguments[] = {self, "--broker", NULL};
    int places = bench->topology.place_count, pairs[PLACES_MOST][2];
    struct fabric_program programs[PLACES_MOST];
    struct err err;
    if (places > PLACES_MOST || readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
        die("this program", NULL);
    for (int i = 0; i < places; i++) {
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pairs[i]) < 0)
            die("a socket pair", NULL);
        bench->sockets[i] = pairs[i][0];
        programs[i] = (struct fabric_program){
            .place = i, .path = self, .arguments = arguments, .descriptors = &pairs[i][1], .descriptor_count = 1};
    }
    struct fabric_spec spec = {
        .topology = &bench->topology, .engine = bench->engine, .programs = programs, .program_count = places};
    if (fabric_build(&spec, &bench->fabric, &err) < 0)
        die("the fabric", &err);
    for (int i = 0; i < places; i++)
        close(pairs[i][1]);
}

static inline void end(struct bench *bench)
{
    for (int i = 0; i < bench->topology.place_count; i++)
        close_fd(&bench->sockets[i]);
    fabric_end(steal_pointer(&bench->fabric));
}

static inline void change_link(struct bench *bench, int link, int direction, const struct direction *to, bool down)
{
    struct err err;
    if (fabric_change(bench->fabric, link, direction, to, down, &err) < 0)
        die("a change", &err);
}

/* Link 0 forward, which leaves host 0. */
static inline void change(struct bench *bench, const struct direction *to, bool down)
{
    change_link(bench, 0, DIRECTION_FORWARD, to, down);
}

static inline struct direction with_rate(const struct bench *bench, uint64_t rate_bps)
{
    struct direction direction = bench->links[0].direction[DIRECTION_FORWARD];
    direction.rate_bps = rate_bps;
    direction.queue_bytes = shaping_default_queue_bytes(rate_bps);
    return direction;
}

static inline struct direction with_delay(const struct bench *bench, int64_t delay_ns)
{
    struct direction direction = bench->links[0].direction[DIRECTION_FORWARD];
    direction.delay_ns = delay_ns;
    return direction;
}

static inline struct direction_counters count(struct bench *bench)
{
    struct link_counters counters[PLACES_MOST * PLACES_MOST];
    struct err err;
    if (fabric_counters(bench->fabric, counters, &err) < 0)
        die("counters", &err);
    return counters[0].direction[DIRECTION_FORWARD];
}

/* --- what the kernel has, asked for by hand ----------------------------------------------------------------------------------- */

struct qdisc {
    uint32_t handle;
    uint64_t bytes;
};

static inline struct qdisc find_qdisc(const struct bench *bench, int place, const char *kind)
{
    cleanup(close_fd) int fd = socket_on(bench, place, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    struct {
        struct nlmsghdr header;
        struct tcmsg body;
    } request = {.header = {.nlmsg_len = sizeof(request), .nlmsg_type = RTM_GETQDISC, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP}};
    static _Alignas(8) char answer[1 << 16];
    struct qdisc found = {0};
    if (send(fd, &request, sizeof(request), 0) < 0)
        die("a dump", NULL);
    for (bool done = false; !done;) {
        ssize_t length = recv(fd, answer, sizeof(answer), 0);
        if (length <= 0)
            die("a dump", NULL);
        unsigned left = (unsigned)length;
        for (struct nlmsghdr *header = (struct nlmsghdr *)answer; NLMSG_OK(header, left); header = NLMSG_NEXT(header, left)) {
            done = done || header->nlmsg_type == NLMSG_DONE;
            if (header->nlmsg_type != RTM_NEWQDISC)
                continue;
            const struct tcmsg *info = NLMSG_DATA(header);
            unsigned bytes = header->nlmsg_len - NLMSG_LENGTH(sizeof(*info));
            bool wanted = false;
            for (struct rtattr *a = (struct rtattr *)((char *)NLMSG_DATA(header) + NLMSG_ALIGN(sizeof(*info))); RTA_OK(a, bytes);
                 a = RTA_NEXT(a, bytes)) {
                wanted = wanted || (a->rta_type == TCA_KIND && strcmp(RTA_DATA(a), kind) == 0);
                if (a->rta_type == TCA_STATS && wanted)
                    found = (struct qdisc){info->tcm_handle, ((const struct tc_stats *)RTA_DATA(a))->bytes};
            }
        }
    }
    return found;
}

/* --- cases ------------------------------------------------------------------------------------------------------------------- */

struct bench_case {
    const char *name;
    void (*run)(struct bench *bench);
};

/* ENGINE CASE; or, as a broker, --broker. */
static inline int bench_main(int argc, char **argv, const struct bench_case *cases, size_t count)
{
    if (argc == 2 && strcmp(argv[1], "--broker") == 0)
        return run_broker();
    struct bench bench = {.arena = arena_new()};
    while (argc == 3 && engine_names[bench.engine] && strcmp(engine_names[bench.engine], argv[1]) != 0)
        bench.engine++;
    for (size_t i = 0; argc == 3 && engine_names[bench.engine] && i < count; i++)
        if (strcmp(cases[i].name, argv[2]) == 0) {
            cases[i].run(&bench);
            arena_cleanup(&bench.arena);
            return bench.failures > 0 ? 4 : 0;
        }
    return fprintf(stderr, "usage: %s ENGINE CASE\n", argv[0]), 2;
}

#endif
