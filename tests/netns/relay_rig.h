/* tests/netns/relay_rig.h: a small star for tests of the relay alone: places are namespaces without names, links are pairs of TAPs,
 * the relay is a child. Configured by running `ip` and `tc` inside the namespaces, which the product never does: the rig must not
 * share the code it helps to test. Everything is held by this process; when it ends, by any cause, nothing is left. */
#ifndef LAGGARD_TESTS_NETNS_RELAY_RIG_H
#define LAGGARD_TESTS_NETNS_RELAY_RIG_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "netem/relay.h"
#include "netem/shaping.h"
#include "netem/topology.h"
#include "schemas/topology.h"

enum { RIG_HOSTS_MOST = 16, RIG_MTU = 1500, RIG_SKIP = 77 };

struct rig_spec {
    int hosts;
    struct direction direction[DIRECTIONS];
    uint64_t seed;
    uint64_t relay_rate_bps; /* what the relay is told, when not what the device is set to */
};

struct rig {
    struct topology topology;
    struct place places[RIG_HOSTS_MOST + 1];
    struct link links[RIG_HOSTS_MOST];
    char names[RIG_HOSTS_MOST][2][24];
    int namespace_fds[RIG_HOSTS_MOST + 1];
    int home;
    pid_t relay;
    int control;
    struct relay_counters *counters;
};

__attribute__((format(printf, 1, 2), noreturn)) static inline void rig_die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, ": %s\n", strerror(errno));
    exit(1);
}

static inline void rig_enter(int namespace_fd)
{
    if (setns(namespace_fd, CLONE_NEWNET) < 0)
        rig_die("setns");
}

__attribute__((format(printf, 1, 2))) static inline void rig_command(const char *format, ...)
{
    char command[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof(command), format, arguments);
    va_end(arguments);
    if (system(command) != 0) {
        fprintf(stderr, "failed: %s\n", command);
        exit(1);
    }
}

/* A TAP named l<link> in the place's namespace, shaped for what leaves the place. */
static inline int rig_tap(struct rig *rig, int place, int link, const struct direction *out, bool at_router)
{
    rig_enter(rig->namespace_fds[place]);
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        rig_die("/dev/net/tun");
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR};
    snprintf(request.ifr_name, sizeof(request.ifr_name), "l%d", link);
    if (ioctl(fd, TUNSETIFF, &request) < 0)
        rig_die("TUNSETIFF");
    if (ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6) < 0)
        rig_die("TUNSETOFFLOAD");
    if (ioctl(fd, TUNSETPERSIST, 1) < 0) /* closing a TAP takes 20 ms; the namespace takes it along faster */
        rig_die("TUNSETPERSIST");
    struct shaping shaping = shaping_for_direction(out, RIG_MTU);
    rig_command("ip link set l%d address 02:00:00:00:%02x:%02x mtu %d txqueuelen 4000", link, at_router ? 1 : 0, link, RIG_MTU);
    if (shaping.gso_max_segments)
        rig_command("ip link set l%d gso_max_segs %u", link, shaping.gso_max_segments);
    if (out->rate_bps) {
        rig_command("ip link set l%d gso_max_size %u", link, shaping.gso_max_bytes);
        rig_command("tc qdisc add dev l%d root tbf rate %llubit burst %u limit %u", link, (unsigned long long)out->rate_bps,
                    shaping.burst_bytes, shaping.limit_bytes);
    }
    rig_command("ip link set l%d up", link);
    return fd;
}

static inline void rig_place(struct rig *rig, int place)
{
    if (unshare(CLONE_NEWNET) < 0)
        rig_die("unshare");
    rig->namespace_fds[place] = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (rig->namespace_fds[place] < 0)
        rig_die("/proc/thread-self/ns/net");
    rig_command(
        "ip link set lo up && echo 1 > /proc/sys/net/ipv4/ip_forward && echo 0 > /proc/sys/net/ipv4/tcp_slow_start_after_idle && "
        "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6 2>/dev/null; true");
}

static inline void rig_ip(char text[INET_ADDRSTRLEN], uint32_t address)
{
    struct in_addr in = {.s_addr = htonl(address)};
    inet_ntop(AF_INET, &in, text, INET_ADDRSTRLEN);
}

static inline void rig_start_relay(struct rig *rig, const struct relay_link *links, int link_count)
{
    int pair[2];
    size_t bytes = relay_shared_bytes(link_count);
    rig->counters = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (rig->counters == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        rig_die("memory and a socket for the relay");
    rig->relay = fork();
    if (rig->relay < 0)
        rig_die("fork");
    if (rig->relay == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(pair[0]);
        struct err err = {0};
        if (relay_run(links, link_count, rig->counters, pair[1], &err) < 0) {
            fprintf(stderr, "%s\n", err.text);
            _exit(1);
        }
        _exit(0);
    }
    close(pair[1]);
    rig->control = pair[0];
    char ready;
    if (read(rig->control, &ready, 1) != 1)
        rig_die("the relay did not start");
}

/* A namespace of its own for this process, as the owner of everything that is made from now on. */
static inline void rig_home(struct rig *rig)
{
    *rig = (struct rig){.relay = -1, .control = -1};
    if (geteuid() != 0) {
        uid_t uid = geteuid();
        if (unshare(CLONE_NEWUSER) < 0) {
            printf("cannot make a user namespace: %s\n", strerror(errno));
            exit(RIG_SKIP);
        }
        rig_command("echo deny > /proc/%d/setgroups; echo '0 %u 1' > /proc/%d/uid_map", (int)getpid(), uid, (int)getpid());
    }
    if (unshare(CLONE_NEWNET) < 0) /* a user namespace may not go back to the host's */
        rig_die("unshare");
    rig->home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
}

/* A star of hosts around a router, all links alike. */
static inline void rig_open(struct rig *rig, const struct rig_spec *spec)
{
    int hosts = spec->hosts;
    const struct direction *forward = &spec->direction[DIRECTION_FORWARD], *backward = &spec->direction[DIRECTION_BACKWARD];
    if (access("/dev/net/tun", R_OK | W_OK) < 0) {
        printf("/dev/net/tun: %s\n", strerror(errno));
        exit(RIG_SKIP);
    }
    rig_home(rig);
    for (int place = 0; place <= hosts; place++)
        rig_place(rig, place);
    struct relay_link relay_links[RIG_HOSTS_MOST];
    char router[INET_ADDRSTRLEN];
    rig_ip(router, TOPOLOGY_ROUTER_ADDRESS);
    rig_command("ip address add %s/32 dev lo", router); /* the last namespace made is the router's */
    for (int i = 0; i < hosts; i++) {
        snprintf(rig->names[i][0], sizeof(rig->names[i][0]), "w%d", i);
        snprintf(rig->names[i][1], sizeof(rig->names[i][1]), "w%d-router", i);
        rig->places[i] =
            (struct place){.name = rig->names[i][0], .kind = PLACE_HOST, .address = TOPOLOGY_FIRST_ADDRESS + (uint32_t)i};
        rig->links[i] = (struct link){.name = rig->names[i][1], .from = i, .to = hosts, .direction = {*forward, *backward}};
        struct relay_link *link = &relay_links[i];
        link->port[0] = rig_tap(rig, i, i, forward, false);
        char address[INET_ADDRSTRLEN];
        rig_ip(address, rig->places[i].address);
        rig_command("ip address add %s/32 dev l%d && ip neighbour add %s lladdr 02:00:00:00:01:%02x dev l%d && "
                    "ip route add default via %s dev l%d onlink src %s congctl lock cubic",
                    address, i, router, i, i, router, i, address);
        link->port[1] = rig_tap(rig, hosts, i, backward, true);
        rig_command(
            "ip neighbour add %s lladdr 02:00:00:00:00:%02x dev l%d && ip route add %s/32 dev l%d src %s congctl lock cubic",
            address, i, i, address, i, router);
        link->seed = spec->seed;
        link->number = (uint32_t)i;
        for (int d = 0; d < DIRECTIONS; d++) {
            const struct direction *asked = d == DIRECTION_FORWARD ? forward : backward;
            link->direction[d] = (struct relay_direction){.delay_ns = asked->delay_ns,
                                                          .rate_bps = spec->relay_rate_bps ? spec->relay_rate_bps : asked->rate_bps,
                                                          .queue_bytes = asked->queue_bytes,
                                                          .impairments = asked->impairments};
        }
    }
    rig_enter(rig->home);
    rig->places[hosts] = (struct place){.name = "router", .kind = PLACE_ROUTER};
    rig->topology = (struct topology){.shape = SHAPE_STAR,
                                      .places = rig->places,
                                      .place_count = hosts + 1,
                                      .host_count = hosts,
                                      .links = rig->links,
                                      .link_count = hosts,
                                      .mtu = RIG_MTU,
                                      .tcp = {.congestion_control = "cubic"}};
    rig_start_relay(rig, relay_links, hosts);
    for (int i = 0; i < hosts; i++)
        for (int port = 0; port < 2; port++)
            close(relay_links[i].port[port]);
}

static inline void rig_close(struct rig *rig)
{
    close(rig->control);
    int status;
    if (rig->relay > 0 && (waitpid(rig->relay, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0))
        fprintf(stderr, "the relay did not end well\n");
    munmap(rig->counters, relay_shared_bytes(rig->topology.link_count));
    for (int place = 0; place < rig->topology.place_count; place++)
        close(rig->namespace_fds[place]);
    close(rig->home);
}

static inline uint32_t rig_address(const struct rig *rig, int place)
{
    return rig->places[place].kind == PLACE_ROUTER ? TOPOLOGY_ROUTER_ADDRESS : rig->places[place].address;
}

/* A socket in the place's namespace, bound to the place's address and a free port. */
static inline int rig_socket(const struct rig *rig, int place, int type, struct sockaddr_in *bound)
{
    rig_enter(rig->namespace_fds[place]);
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(rig_address(rig, place))};
    socklen_t length = sizeof(*bound);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        getsockname(fd, (struct sockaddr *)bound, &length) < 0)
        rig_die("a socket on place %d", place);
    rig_enter(rig->home);
    return fd;
}

/* What the device l<link> in the place's namespace has sent, and what it dropped on the way out. */
static inline void rig_device_sent(const struct rig *rig, int place, int link, uint64_t *packets, uint64_t *dropped)
{
    rig_enter(rig->namespace_fds[place]);
    FILE *file = fopen("/proc/thread-self/net/dev", "re");
    char line[512], name[16];
    unsigned long long tx_packets, tx_dropped;
    bool found = false;
    snprintf(name, sizeof(name), "l%d:", link);
    while (file && fgets(line, sizeof(line), file)) {
        const char *at = strstr(line, name);
        if (at && sscanf(at + strlen(name), "%*u %*u %*u %*u %*u %*u %*u %*u %*u %llu %*u %llu", &tx_packets, &tx_dropped) == 2)
            found = true, *packets = tx_packets, *dropped = tx_dropped;
    }
    if (!found)
        rig_die("/proc/thread-self/net/dev has no %s", name);
    fclose(file);
    rig_enter(rig->home);
}

#endif
