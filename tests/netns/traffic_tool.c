/* traffic_tool.c: cross traffic in a star, for the namespace tests: what each flow asked for, sent and received; one line a flow.
 *
 *     traffic_tool [-n HOSTS] [-r RATE] [-d DELAY] [-q QUEUE] [-e ENGINE] [-c CONGESTION_CONTROL] [-s SEED] [-t TIME] FLOW...
 *
 * A flow is FROM,TO,RATE,TRANSPORT[,PACKET[,ON,OFF[,SPREAD[,START,STOP]]]]; FROM and TO are places by number, the router being the
 * last. The flows run for TIME (1s), and for as long as the host is late to end them: `ran_ms` has both. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/units.h"
#include "netem/fabric.h"
#include "netem/topology.h"

enum { FLOWS_MOST = 64 };
#define LEAD_NS (20 * NS_PER_MS)
#define SETTLE_NS (3 * NS_PER_S) /* for what is under way at the end: so long until it counts as lost */
#define LOOK_AGAIN_NS (10 * NS_PER_MS)

struct request {
    const char *engine_name;
    struct settings settings;
    struct topology topology;
    int64_t time_ns, hosts;
    uint64_t seed;
    struct traffic_flow flows[FLOWS_MOST];
    int flow_count;
};

static int fail(const struct err *err)
{
    fprintf(stderr, "traffic_tool: %s\n", err->text);
    return err_exit_code(err->kind);
}

static int find_name(const char *const *names, const char *word)
{
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], word) == 0)
            return i;
    return 0;
}

static int parse_flow(char *text, struct traffic_flow *flow, struct err *err)
{
    enum { FROM, TO, RATE, TRANSPORT, PACKET, ON, OFF, SPREAD, START, STOP, PARTS };
    char *part[PARTS] = {0};
    int count = 0;
    for (char *word = strtok(text, ","); word && count < PARTS; word = strtok(NULL, ","))
        part[count++] = word;
    struct traffic_setting *asked = &flow->asked;
    uint64_t packet = 1400;
    int code = count > TRANSPORT ? 0 : err_set(err, ERR_USAGE, "a flow is FROM,TO,RATE,TRANSPORT");
    if (code == 0)
        code = units_parse_rate(part[RATE], 1, UINT64_MAX, &asked->rate_bps, err);
    if (code == 0 && part[PACKET])
        code = units_parse_size(part[PACKET], 1, 65507, &packet, err);
    if (code == 0 && part[OFF])
        code = units_parse_time(part[ON], 0, INT64_MAX, &asked->on_ns, err);
    if (code == 0 && part[OFF])
        code = units_parse_time(part[OFF], 0, INT64_MAX, &asked->off_ns, err);
    if (code == 0 && part[STOP])
        code = units_parse_time(part[START], 0, INT64_MAX, &asked->start_ns, err);
    if (code == 0 && part[STOP])
        code = units_parse_time(part[STOP], 0, INT64_MAX, &asked->stop_ns, err);
    if (code < 0)
        return code;
    flow->from = atoi(part[FROM]);
    flow->to = atoi(part[TO]);
    asked->packet_bytes = (uint32_t)packet;
    asked->transport = (enum transport_kind)find_name(transport_names, part[TRANSPORT]);
    asked->spread = part[SPREAD] ? (enum spread_kind)find_name(spread_names, part[SPREAD]) : SPREAD_CONSTANT;
    return 0;
}

static int parse(int argc, char **argv, struct request *request, struct arena *arena, struct err *err)
{
    struct link_settings *link = &request->settings.link;
    for (int option, code = 0; (option = getopt(argc, argv, "n:r:d:q:e:c:s:t:")) != -1;) {
        switch (option) {
        case 'n':
            code = units_parse_integer(optarg, 1, 1000, &request->hosts, err);
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
        case 'c':
            request->settings.congestion_control = optarg;
            break;
        case 's':
            code = units_parse_unsigned(optarg, 0, UINT64_MAX, &request->seed, err);
            break;
        case 't':
            code = units_parse_time(optarg, 0, INT64_MAX, &request->time_ns, err);
            break;
        default:
            code = err_set(err, ERR_USAGE, "unknown option");
        }
        if (code < 0)
            return code;
    }
    int code = topology_build(&request->settings, (int)request->hosts, 0, arena, &request->topology, err);
    request->topology.seed = request->seed;
    for (; code == 0 && optind < argc && request->flow_count < FLOWS_MOST; optind++)
        code = parse_flow(argv[optind], &request->flows[request->flow_count++], err);
    return code;
}

static pid_t child_named(pid_t parent, const char *name)
{
    char path[64], comm[32] = "";
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent, (int)parent);
    cleanup(close_file) FILE *children = fopen(path, "re");
    for (int pid; children && fscanf(children, "%d", &pid) == 1;) {
        snprintf(path, sizeof(path), "/proc/%d/comm", pid);
        cleanup(close_file) FILE *file = fopen(path, "re");
        if (file && fgets(comm, sizeof(comm), file) && strncmp(comm, name, strlen(name)) == 0)
            return pid;
    }
    return 0;
}

/* Of the process that sends: its processor time so far. */
static double processor_seconds(void)
{
    char path[64], line[512];
    unsigned long long user = 0, system = 0;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)child_named(child_named(getpid(), "laggard-warden"), "laggard-traffic"));
    cleanup(close_file) FILE *file = fopen(path, "re");
    const char *rest = file && fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
    if (!rest || sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &system) != 2)
        return 0;
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static bool all_arrived(const struct request *request, const struct traffic_counters *counters)
{
    for (int i = 0; i < request->flow_count; i++)
        if (counters[i].received_bytes < counters[i].sent_bytes)
            return false;
    return true;
}

static void await_arrivals(const struct request *request, struct fabric *fabric)
{
    int64_t give_up_ns = clock_now_ns() + SETTLE_NS;
    while (!all_arrived(request, fabric_traffic(fabric)) && clock_now_ns() < give_up_ns)
        clock_sleep_until(clock_now_ns() + LOOK_AGAIN_NS);
}

static void print_flows(const struct request *request, const struct traffic_counters *counters)
{
    for (int i = 0; i < request->flow_count; i++) {
        const struct traffic_counters *c = &counters[i];
        printf("flow %d active_ms %.1f asked_bytes %" PRIu64 " sent_bytes %" PRIu64 " received_bytes %" PRIu64 " asked %" PRIu64
               " sent %" PRIu64 " refused %" PRIu64 " late %" PRIu64 " received %" PRIu64 "\n",
               i, (double)c->active_ns / 1e6, c->asked_bytes, c->sent_bytes, c->received_bytes, c->asked_packets, c->sent_packets,
               c->refused_packets, c->late_packets, c->received_packets);
    }
}

static int run(const struct request *request, struct err *err)
{
    int engine = find_name(engine_names, request->engine_name);
    cleanup(fabric_cleanup) struct fabric *fabric = NULL;
    struct fabric_spec spec = {.topology = &request->topology,
                               .engine = (enum engine_kind)engine,
                               .flows = request->flows,
                               .flow_count = request->flow_count};
    int code = fabric_build(&spec, &fabric, err);
    if (code < 0)
        return code;
    double processor_before = processor_seconds();
    int64_t start_ns = clock_now_ns() + LEAD_NS;
    code = fabric_traffic_start(fabric, start_ns, err);
    if (code < 0)
        return code;
    printf("running\n");
    fflush(stdout);
    clock_sleep_until(start_ns + request->time_ns);
    code = fabric_traffic_stop(fabric, err);
    if (code < 0)
        return code;
    int64_t ran_ns = clock_now_ns() - start_ns;
    double processor = processor_seconds() - processor_before;
    await_arrivals(request, fabric);
    print_flows(request, fabric_traffic(fabric));
    printf("ran_ms %.1f\n", (double)ran_ns / 1e6);
    printf("processor_share %.4f\n", processor * 1e9 / (double)request->time_ns);
    int program;
    struct process_exit how;
    return fabric_next_exit(fabric, &program, &how, err);
}

int main(int argc, char **argv)
{
    struct err err;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    static struct request request = {.engine_name = "auto",
                                     .settings = {.shape = SHAPE_STAR, .mtu = 1500, .congestion_control = "cubic"},
                                     .hosts = 2,
                                     .seed = 1,
                                     .time_ns = NS_PER_S};
    if (parse(argc, argv, &request, arena, &err) < 0 || run(&request, &err) < 0)
        return fail(&err);
    return 0;
}
