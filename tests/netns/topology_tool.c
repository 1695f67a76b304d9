/* topology_tool.c: builds the network of a campaign file's first cell and sends over it from every host to every other one.
 *
 *     topology_tool FILE
 *
 * For each pair one datagram goes over the idle network: it must not arrive before the delays along its route have passed (less
 * EARLY_NS a link, which the relay may take off for its own slowness), and exactly the links of a shortest route must have counted
 * it. Then each pair moves TRANSFER_BYTES over TCP. At last each link is crossed alone, parallel ones too. One line a pair and
 * link. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "harness/campaign.h"
#include "harness/forecast.h"
#include "netem/fabric.h"
#include "netem/routes.h"
#include "netem/topology.h"
#include "schemas/plan.h"

#define EARLY_NS (500 * NS_PER_US)
enum { PORT = 5002, TRANSFER_BYTES = 200000, PATIENCE_MS = 30000, COUNT_TRIES = 200 };

/* ---- a host's program: obeys on descriptor 3 ---- */
struct command {
    uint32_t address;
    bool transfer; /* false: one datagram; its receiver reports */
};
struct report {
    int64_t value; /* of a datagram: its delay; of a transfer: bytes that came back */
};

static void report(int64_t value)
{
    struct report message = {.value = value};
    if (write(3, &message, sizeof(message)) != (ssize_t)sizeof(message))
        exit(1);
}

static struct sockaddr_in port_of(uint32_t address)
{
    return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr.s_addr = htonl(address)};
}

static int64_t transfer(uint32_t address)
{
    static char bytes[TRANSFER_BYTES];
    int64_t received = 0;
    struct sockaddr_in to = port_of(address);
    cleanup(close_fd) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 || write(fd, bytes, sizeof(bytes)) != (ssize_t)sizeof(bytes) ||
        shutdown(fd, SHUT_WR) < 0)
        return -errno;
    for (ssize_t got; (got = read(fd, bytes, sizeof(bytes))) > 0;)
        received += got;
    return received;
}

/* Takes everything, then gives it back, so that neither side waits for the other. */
static void give_back(int listener)
{
    static char bytes[TRANSFER_BYTES];
    cleanup(close_fd) int fd = accept(listener, NULL, NULL);
    size_t length = 0;
    for (ssize_t got; length < sizeof(bytes) && (got = read(fd, bytes + length, sizeof(bytes) - length)) > 0;)
        length += (size_t)got;
    if (write(fd, bytes, length) != (ssize_t)length)
        exit(1);
}

static int run_host(void)
{
    int datagrams = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in any = port_of(INADDR_ANY);
    if (bind(datagrams, (struct sockaddr *)&any, sizeof(any)) < 0 || bind(listener, (struct sockaddr *)&any, sizeof(any)) < 0 ||
        listen(listener, 16) < 0)
        return 1;
    report(0);
    for (;;) {
        struct pollfd watched[] = {
            {.fd = 3, .events = POLLIN}, {.fd = datagrams, .events = POLLIN}, {.fd = listener, .events = POLLIN}};
        if (poll(watched, 3, -1) < 0)
            return 1;
        int64_t sent_ns;
        struct command command;
        if (watched[1].revents && recv(datagrams, &sent_ns, sizeof(sent_ns), 0) == (ssize_t)sizeof(sent_ns))
            report(clock_now_ns() - sent_ns);
        if (watched[2].revents)
            give_back(listener);
        if (!watched[0].revents)
            continue;
        if (read(3, &command, sizeof(command)) != (ssize_t)sizeof(command))
            return 0;
        struct sockaddr_in to = port_of(command.address);
        sent_ns = clock_now_ns();
        if (command.transfer)
            report(transfer(command.address));
        else if (sendto(datagrams, &sent_ns, sizeof(sent_ns), 0, (struct sockaddr *)&to, sizeof(to)) < 0)
            return 1;
    }
}

/* ---- the controller ---- */
struct bench {
    const struct topology *topology;
    struct fabric *fabric;
    int *sockets; /* one a host */
    struct link_counters *counters;
    bool *may_pass; /* one an end */
    int faults;
};

static bool await_report(const struct bench *bench, int host, int64_t *value)
{
    struct pollfd wait = {.fd = bench->sockets[host], .events = POLLIN};
    struct report message;
    if (poll(&wait, 1, PATIENCE_MS) != 1 || read(bench->sockets[host], &message, sizeof(message)) != (ssize_t)sizeof(message))
        return false;
    *value = message.value;
    return true;
}

static void mark_routes(struct bench *bench, int from, int to)
{
    int ends[64], count = routes_first_ends(bench->topology, from, to, ends, 64);
    for (int i = 0; i < count; i++) {
        const struct link *link = &bench->topology->links[ends[i] / DIRECTIONS];
        bench->may_pass[ends[i]] = true;
        mark_routes(bench, ends[i] % DIRECTIONS == DIRECTION_FORWARD ? link->to : link->from, to);
    }
}

/* How many link directions have counted packets; *stray: one that is on no shortest route. */
static int count_passed(struct bench *bench, bool *stray)
{
    struct err err;
    int passed = 0;
    *stray = fabric_counters(bench->fabric, bench->counters, &err) < 0;
    for (int end = 0; end < DIRECTIONS * bench->topology->link_count; end++) {
        uint64_t packets = bench->counters[end / DIRECTIONS].direction[end % DIRECTIONS].packets;
        passed += packets > 0;
        *stray = *stray || (packets > 0 && !bench->may_pass[end]) || packets > 1;
    }
    return passed;
}

static void send_datagram(struct bench *bench, int from, int to)
{
    const struct topology *topology = bench->topology;
    struct topology_path path = topology_path(topology, from, to);
    struct command command = {.address = topology->places[to].address};
    struct err err;
    int64_t delay_ns = 0;
    memset(bench->may_pass, 0, (size_t)topology->link_count * DIRECTIONS);
    mark_routes(bench, from, to);
    bool came = fabric_reset_counters(bench->fabric, &err) == 0 &&
                write(bench->sockets[from], &command, sizeof(command)) == (ssize_t)sizeof(command) &&
                await_report(bench, to, &delay_ns);
    bool stray = false;
    int passed = 0;
    for (int tries = 0; came && tries < COUNT_TRIES && passed != path.hops && !stray;
         tries++) { /* the last counter may come late */
        passed = count_passed(bench, &stray);
        if (passed != path.hops)
            usleep(5000);
    }
    const char *verdict = !came                                             ? "lost"
                          : delay_ns < path.delay_ns - path.hops * EARLY_NS ? "early"
                          : stray || passed != path.hops                    ? "astray"
                                                                            : "ok";
    printf("datagram %s %s links %d asked_us %" PRId64 " took_us %" PRId64 " %s\n", topology->places[from].name,
           topology->places[to].name, path.hops, path.delay_ns / 1000, delay_ns / 1000, verdict);
    bench->faults += strcmp(verdict, "ok") != 0;
}

static void move_bytes(struct bench *bench, int from, int to)
{
    struct command command = {.address = bench->topology->places[to].address, .transfer = true};
    int64_t moved = -1;
    bool good = write(bench->sockets[from], &command, sizeof(command)) == (ssize_t)sizeof(command) &&
                await_report(bench, from, &moved) && moved == TRANSFER_BYTES;
    printf("transfer %s %s %s\n", bench->topology->places[from].name, bench->topology->places[to].name, good ? "ok" : "failed");
    bench->faults += !good;
}

static void cross_links(struct bench *bench, struct arena *arena)
{
    const struct topology *topology = bench->topology;
    struct link_check *checks = arena_new_array(arena, struct link_check, (size_t)topology->link_count);
    struct err err = {0};
    if (fabric_measure(bench->fabric, &(struct measure_effort){0}, -1, checks, &err) < 0) {
        printf("measure failed: %s\n", err.text);
        bench->faults++;
    }
    for (int end = 0; end < DIRECTIONS * topology->link_count; end++) {
        const struct direction_check *check = &checks[end / DIRECTIONS].direction[end % DIRECTIONS];
        double asked_ns = (double)topology->links[end / DIRECTIONS].direction[end % DIRECTIONS].delay_ns;
        bool good = check->probes_received > 0 && check->goodput_bps > 0 && check->delay_min_ns >= asked_ns - EARLY_NS;
        printf("link %s %d asked_us %.0f min_us %.0f %s\n", topology->links[end / DIRECTIONS].name, end % DIRECTIONS,
               asked_ns / 1e3, check->delay_min_ns / 1e3, good ? "ok" : "failed");
        bench->faults += !good;
    }
}

static int build(struct bench *bench, enum engine_kind engine, struct arena *arena, struct err *err)
{
    int hosts = bench->topology->host_count;
    static char self[4096];
    static char *arguments[] = {self, "--host", NULL};
    struct fabric_program *programs = arena_new_array(arena, struct fabric_program, (size_t)hosts);
    int(*pairs)[2] = arena_calloc(arena, (size_t)hosts, sizeof(*pairs));
    if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot find this program");
    bench->sockets = arena_new_array(arena, int, (size_t)hosts);
    for (int i = 0; i < hosts; i++) {
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pairs[i]) < 0)
            return err_set_errno(err, ERR_HOST, errno, "cannot make a socket pair");
        bench->sockets[i] = pairs[i][0];
        programs[i] = (struct fabric_program){
            .place = i, .path = self, .arguments = arguments, .descriptors = &pairs[i][1], .descriptor_count = 1};
    }
    struct fabric_spec spec = {.topology = bench->topology, .engine = engine, .programs = programs, .program_count = hosts};
    int code = fabric_build(&spec, &bench->fabric, err);
    for (int i = 0; i < hosts; i++)
        close_fd(&pairs[i][1]);
    return code;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--host") == 0)
        return run_host();
    struct err err = {0};
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan plan;
    struct topology topology;
    int servers;
    if (argc != 2)
        return fputs("usage: topology_tool FILE\n", stderr), 2;
    if (campaign_load(argv[1], NULL, arena, &plan, &err) < 0 ||
        forecast_topology(&plan.cells[0].settings, arena, &topology, &servers, &err) < 0)
        return fprintf(stderr, "topology_tool: %s\n", err.text), 2;
    struct bench bench = {.topology = &topology};
    bench.counters = arena_new_array(arena, struct link_counters, (size_t)topology.link_count);
    bench.may_pass = arena_new_array(arena, bool, (size_t)topology.link_count *DIRECTIONS);
    if (build(&bench, plan.cells[0].settings.engine, arena, &err) < 0)
        return fprintf(stderr, "topology_tool: %s\n", err.text), err_exit_code(err.kind);
    int64_t ready;
    for (int host = 0; host < topology.host_count; host++)
        if (!await_report(&bench, host, &ready))
            return fputs("topology_tool: a host does not start\n", stderr), 4;
    void (*const acts[])(struct bench *, int, int) = {send_datagram, move_bytes};
    for (size_t act = 0; act < 2; act++)
        for (int from = 0; from < topology.host_count; from++)
            for (int to = 0; to < topology.host_count; to++)
                if (from != to)
                    acts[act](&bench, from, to);
    cross_links(&bench, arena);
    fabric_end(bench.fabric);
    printf("faults %d\n", bench.faults);
    return bench.faults > 0 ? 4 : 0;
}
