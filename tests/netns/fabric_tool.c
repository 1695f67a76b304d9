/* fabric_tool.c: builds fabrics for the namespace tests and says what came of them; one line a fact, NAME VALUE.
 *
 *     fabric_tool [-n HOSTS] [-r RATE] [-d DELAY] [-q QUEUE] [-e ENGINE] [-b BYTES] MODE
 *
 * probe     what the host can do
 * build     builds, prints what the kernel reads back for each link, ends
 * hold      builds with one sleeping program a host, prints "ready", stays until it is killed or something inside ends
 * transfer  every host but the first sends BYTES (8 MB) to the first, which checks every byte
 * exits     programs that exit with 7, die by a signal and run on: what the fabric reports
 * early     early programs look for their own file all the time while the network is made around them
 * measure   measures every link */
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/units.h"
#include "netem/fabric.h"
#include "netem/topology.h"
#include "tests/netns/fabric_programs.h"

enum { PATIENCE_MS = 60000 };

struct request {
    int hosts;
    uint64_t transfer_bytes;
    const char *engine_name;
    struct settings settings;
    struct topology topology;
    struct arena *arena;
    const char *self;
};

static int fail(const struct err *err)
{
    fprintf(stderr, "fabric_tool: %s\n", err->text);
    return err_exit_code(err->kind);
}

static int build(const struct request *request, const struct fabric_program *programs, int count, struct fabric **fabric,
                 struct err *err)
{
    int engine = 0;
    while (engine_names[engine] && strcmp(engine_names[engine], request->engine_name) != 0)
        engine++;
    struct fabric_spec spec = {
        .topology = &request->topology, .engine = (enum engine_kind)engine, .programs = programs, .program_count = count};
    int64_t started = clock_now_ns();
    int code = fabric_build(&spec, fabric, err);
    if (code == 0) {
        double total = (double)(clock_now_ns() - started) / 1e6, network = (double)fabric_build_ns(*fabric) / 1e6;
        printf("engine %s\nbuild_ms %.2f\ntotal_ms %.2f\nms_a_node %.3f\n", engine_names[fabric_readback(*fabric)->engine], network,
               total, total / request->hosts);
        fflush(stdout);
    }
    return code;
}

static int mode_probe(const struct request *request)
{
    (void)request;
    struct err err;
    struct fabric_host host;
    int64_t started = clock_now_ns();
    if (fabric_probe(&host, &err) < 0)
        return fail(&err);
    printf("root %d\nuser_namespaces %d\ntun %d\ntbf %d\nifb %d\nclsact %d\nnetem %d\nrules %d\nmissing %s\nprobe_ms %.2f\n",
           host.root, host.user_namespaces, host.tun, host.tbf, host.ifb, host.clsact, host.netem, host.rules, host.missing,
           (double)(clock_now_ns() - started) / 1e6);
    return 0;
}

static int mode_build(const struct request *request)
{
    struct err err;
    cleanup(fabric_cleanup) struct fabric *fabric = NULL;
    if (build(request, NULL, 0, &fabric, &err) < 0)
        return fail(&err);
    const struct link_readback *readback = fabric_readback(fabric);
    for (int i = 0; i < request->topology.link_count; i++)
        for (int d = 0; d < DIRECTIONS; d++) {
            const struct direction_readback *r = &readback[i].direction[d];
            printf("link %s %d rate %" PRIu64 " burst %" PRIu64 " limit %" PRIu64 " gso %u delay %" PRId64 "\n",
                   request->topology.links[i].name, d, r->rate_bps, r->burst_bytes, r->limit_bytes, r->gso_max_bytes, r->delay_ns);
        }
    int64_t ending = clock_now_ns();
    fabric_cleanup(&fabric);
    printf("end_ms %.2f\n", (double)(clock_now_ns() - ending) / 1e6);
    return 0;
}

/* Sockets for one program a host: [i][0] stays here, [i][1] becomes descriptor 3 of program i. */
static int make_pairs(int (*pairs)[2], int count)
{
    for (int i = 0; i < count; i++)
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pairs[i]) < 0)
            return -1;
    return 0;
}

static struct fabric_program *make_programs(const struct request *request, int (*pairs)[2], const char *role)
{
    struct fabric_program *programs = arena_new_array(request->arena, struct fabric_program, (size_t)request->hosts);
    for (int i = 0; i < request->hosts; i++) {
        char **arguments = arena_new_array(request->arena, char *, 5);
        arguments[0] = arena_strdup(request->arena, request->self);
        arguments[1] = arena_strdup(request->arena, role ? role : i == 0 ? "--sink" : "--source");
        arguments[2] = arena_printf(request->arena, "%" PRIu64, request->transfer_bytes);
        arguments[3] = arena_printf(request->arena, "%d", request->hosts - 1);
        programs[i] = (struct fabric_program){
            .place = i, .path = request->self, .arguments = arguments, .descriptors = &pairs[i][1], .descriptor_count = 1};
    }
    return programs;
}

static int await_exits(struct fabric *fabric, int count)
{
    struct err err;
    int failures = 0;
    while (count > 0) {
        struct pollfd wait = {.fd = fabric_event_fd(fabric), .events = POLLIN};
        if (poll(&wait, 1, PATIENCE_MS) != 1) {
            fprintf(stderr, "fabric_tool: no program has ended within a minute\n");
            return 4;
        }
        int program, code;
        struct process_exit how;
        while ((code = fabric_next_exit(fabric, &program, &how, &err)) == 1) {
            char text[64];
            printf("program %d: %s\n", program, process_describe(text, sizeof(text), &how));
            failures += !how.exited || how.status != 0;
            count--;
        }
        if (code < 0)
            return fail(&err);
    }
    return failures > 0 ? 4 : 0;
}

static int mode_transfer(const struct request *request)
{
    struct err err;
    cleanup(fabric_cleanup) struct fabric *fabric = NULL;
    int(*pairs)[2] = arena_calloc(request->arena, (size_t)request->hosts, sizeof(*pairs));
    char byte = 'g';
    if (make_pairs(pairs, request->hosts) < 0)
        return 3;
    if (build(request, make_programs(request, pairs, NULL), request->hosts, &fabric, &err) < 0)
        return fail(&err);
    for (int i = 0; i < request->hosts; i++)
        close_fd(&pairs[i][1]);
    if (read(pairs[0][0], &byte, 1) != 1)
        return 4;
    for (int i = 1; i < request->hosts; i++)
        if (write(pairs[i][0], &byte, 1) != 1)
            return 4;
    int code = await_exits(fabric, request->hosts);
    struct link_counters *counters = arena_new_array(request->arena, struct link_counters, (size_t)request->topology.link_count);
    if (code == 0 && fabric_counters(fabric, counters, &err) < 0)
        return fail(&err);
    for (int i = 0; i < request->topology.link_count; i++)
        for (int d = 0; d < DIRECTIONS; d++) {
            const struct direction_counters *c = &counters[i].direction[d];
            printf("link %s %d packets %" PRIu64 " bytes %" PRIu64 " queue_drops %" PRIu64 " unasked_drops %" PRIu64
                   " lateness_p99_ns %" PRId64 "\n",
                   request->topology.links[i].name, d, c->packets, c->bytes, c->queue_drops, c->unasked_drops, c->lateness_p99_ns);
        }
    return code;
}

static int mode_hold(const struct request *request)
{
    struct err err;
    cleanup(fabric_cleanup) struct fabric *fabric = NULL;
    int(*pairs)[2] = arena_calloc(request->arena, (size_t)request->hosts, sizeof(*pairs));
    if (make_pairs(pairs, request->hosts) < 0)
        return 3;
    if (build(request, make_programs(request, pairs, "--wait"), request->hosts, &fabric, &err) < 0)
        return fail(&err);
    for (int i = 0; i < request->hosts; i++)
        printf("pid %d\n", (int)fabric_pid(fabric, i));
    printf("caller %d\nready\n", (int)getpid());
    fflush(stdout);
    return await_exits(fabric, request->hosts);
}

static int mode_early(const struct request *request)
{
    struct err err;
    cleanup(fabric_cleanup) struct fabric *fabric = NULL;
    int(*pairs)[2] = arena_calloc(request->arena, (size_t)request->hosts, sizeof(*pairs));
    if (make_pairs(pairs, request->hosts) < 0)
        return 3;
    struct fabric_program *programs = make_programs(request, pairs, "--watch");
    for (int i = 0; i < request->hosts; i++)
        programs[i].early = true;
    if (build(request, programs, request->hosts, &fabric, &err) < 0)
        return fail(&err);
    for (int i = 0; i < request->hosts; i++) {
        close_fd(&pairs[i][1]);
        close_fd(&pairs[i][0]);
    }
    return await_exits(fabric, request->hosts);
}

static int mode_exits(const struct request *request)
{
    struct err err;
    cleanup(fabric_cleanup) struct fabric *fabric = NULL;
    char *const seven[] = {"sh", "-c", "exit 7", NULL}, *const sleeper[] = {"sh", "-c", "sleep 60 & sleep 60", NULL},
                *const missing[] = {"missing", NULL};
    struct fabric_program programs[] = {{.path = "/bin/sh", .arguments = seven},
                                        {.path = "/bin/sh", .arguments = sleeper},
                                        {.path = "/bin/sh", .arguments = sleeper},
                                        {.path = "/nonexistent", .arguments = missing}};
    if (build(request, programs, 4, &fabric, &err) == 0)
        return 4;
    printf("refused %s\n", err.text);
    if (build(request, programs, 3, &fabric, &err) < 0 || fabric_signal(fabric, 1, SIGTERM, &err) < 0)
        return fail(&err);
    await_exits(fabric, 2);
    printf("signal_after_end %d\n", fabric_signal(fabric, 1, SIGTERM, &err));
    printf("alive %d\n", fabric_pid(fabric, 2) > 0 && kill(fabric_pid(fabric, 2), 0) == 0);
    return 0;
}

static int mode_measure(const struct request *request)
{
    struct err err;
    cleanup(fabric_cleanup) struct fabric *fabric = NULL;
    if (build(request, NULL, 0, &fabric, &err) < 0)
        return fail(&err);
    struct link_check *checks = arena_new_array(request->arena, struct link_check, (size_t)request->topology.link_count);
    if (fabric_measure(fabric, &(struct measure_effort){0}, -1, checks, &err) < 0)
        return fail(&err);
    int bad = 0;
    for (int i = 0; i < request->topology.link_count; i++)
        for (int d = 0; d < DIRECTIONS; d++) {
            const struct direction_check *c = &checks[i].direction[d];
            printf("link %s %d goodput_mbps %.2f delay_us %.1f min %.1f max %.1f probes %u/%u %s\n",
                   request->topology.links[i].name, d, c->goodput_bps / 1e6, c->delay_mean_ns / 1e3, c->delay_min_ns / 1e3,
                   c->delay_max_ns / 1e3, c->probes_received, c->probes_sent, c->within_tolerance ? "ok" : c->reason);
            bad += !c->within_tolerance;
        }
    return bad > 0 ? 4 : 0;
}

static const struct mode {
    const char *name;
    int (*run)(const struct request *request);
} modes[] = {{"probe", mode_probe},       {"build", mode_build}, {"hold", mode_hold},      {"exits", mode_exits},
             {"transfer", mode_transfer}, {"early", mode_early}, {"measure", mode_measure}};

static int parse(int argc, char **argv, struct request *request, struct err *err)
{
    struct link_settings *link = &request->settings.link;
    int64_t hosts = 2;
    for (int option; (option = getopt(argc, argv, "vn:r:d:q:e:c:b:")) != -1;) {
        int code = 0;
        switch (option) {
        case 'v':
            log_set_level(LOG_DEBUG);
            break;
        case 'n':
            code = units_parse_integer(optarg, 1, 100000, &hosts, err);
            break;
        case 'r':
            code = units_parse_rate(optarg, 0, UINT64_MAX, &link->rate_bps, err);
            break;
        case 'd':
            code = units_parse_time(optarg, 0, INT64_MAX, &link->delay_ns, err);
            break;
        case 'q':
            code = units_parse_size(optarg, 0, UINT64_MAX, &link->queue_bytes, err);
            break;
        case 'e':
            request->engine_name = optarg;
            break;
        case 'b':
            code = units_parse_size(optarg, 1, 1 << 30, &request->transfer_bytes, err);
            break;
        case 'c':
            request->settings.congestion_control = optarg;
            break;
        default:
            return err_set(err, ERR_USAGE, "unknown option");
        }
        if (code < 0)
            return code;
    }
    request->hosts = (int)hosts;
    return topology_build(&request->settings, request->hosts, 0, request->arena, &request->topology, err);
}

int main(int argc, char **argv)
{
    if (argc > 3 && strcmp(argv[1], "--sink") == 0)
        return run_sink(atoi(argv[3]), (size_t)atoll(argv[2]));
    if (argc > 2 && strcmp(argv[1], "--source") == 0)
        return run_source((size_t)atoll(argv[2]));
    if (argc > 1 && strcmp(argv[1], "--wait") == 0)
        return run_waiter();
    if (argc > 1 && strcmp(argv[1], "--watch") == 0)
        return run_watcher(argv[0]);
    struct err err;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct request request = {.engine_name = "auto",
                              .transfer_bytes = 8000000,
                              .settings = {.shape = SHAPE_STAR, .mtu = 1500, .congestion_control = "cubic"},
                              .arena = arena,
                              .self = "/proc/self/exe"};
    char self[4096] = "";
    if (readlink("/proc/self/exe", self, sizeof(self) - 1) > 0)
        request.self = self;
    if (parse(argc, argv, &request, &err) < 0)
        return fail(&err);
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]) && optind < argc; i++)
        if (strcmp(modes[i].name, argv[optind]) == 0)
            return modes[i].run(&request);
    fprintf(stderr, "fabric_tool: give one mode: probe, build, hold, transfer, exits, early, measure\n");
    return 2;
}
