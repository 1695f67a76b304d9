/* host_demand.c: what a cell's trial takes: processes, descriptors and memory of its controller and its nodes, and of its network
 * (netem/needs.h). Bytes are rough, and rather too low; where they were measured stands in docs/performance.md. */
#include <unistd.h>

#include "agents/dataset.h"
#include "agents/scheme.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "harness/capture_links.h"
#include "harness/forecast.h"
#include "harness/host_limits.h"
#include "harness/message_sizes.h"
#include "netem/needs.h"
#include "schemas/records.h"

enum {
    CONTROLLER_FILES = 48, /* streams, database, event loop, channels to the warden */
    AGENT_FILES = 40,      /* control, data, event loop, listening socket, callers that are no peers */
    AGENT_DESCRIPTORS = 1, /* the control socket; the data set has one for all */
    SOCKET_PAIR = 2,
    GROUP = 1,           /* of a limited node: its control group */
    TRAFFIC_FILES = 8,   /* streams, control, timer, what it polls */
    FLOW_SOCKETS = 3,    /* sending, receiving, listening */
    STREAMS = 3,         /* of an outside program: output, errors, report */
    MEASURE_FILES = 8,   /* a transfer's sockets, and what is open for a moment */
    MEASURE_SOCKETS = 4, /* of a link: two for the drift of each direction */
    PIPE = 2,
    AGENT_BYTES = 400 << 10, /* with the spans below */
    SPANS_LEAST = 4096,
    BLAS_BYTES = 7 << 20,
    CONNECTION_BYTES = 4 << 10,
    ROSTER_BYTES = 100, /* of each other node */
    VECTORS = 2,        /* of a worker: its gradient, the sum or the model */
    SAMPLES = 70000,
};

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t peers_of(const struct scheme_setup *setup, int node)
{
    uint64_t count = 0;
    for (int peer = 0; peer < setup->nodes; peer++)
        count += peer != node && scheme_talks(setup, node, peer);
    return count;
}

static uint64_t span_bytes(const struct settings *settings, const struct scheme_setup *setup, int node)
{
    if (!settings->record_spans)
        return 0;
    uint64_t rounds = (uint64_t)setup->rounds * (uint64_t)message_sizes_count(settings);
    uint64_t spans = setup->scheme->spans_a_round ? setup->scheme->spans_a_round(setup, node) * rounds : 0;
    return larger(spans, SPANS_LEAST) * sizeof(struct span_record);
}

/* Workers of a kind are alike, so are servers: one of each is looked at. A server that waits for all keeps what came early. */
static uint64_t agent_bytes(const struct settings *settings, const struct scheme_setup *setup, int node)
{
    bool server = node >= setup->workers, real = settings->workload.model != MODEL_SYNTHETIC;
    bool serves = setup->scheme->family == FAMILY_SERVER || setup->scheme->family == FAMILY_CODED;
    bool waits = setup->scheme->family == FAMILY_FEDERATED || (serves && !(setup->scheme->flags & SCHEME_ASYNCHRONOUS));
    uint64_t vectors = VECTORS + (uint64_t)setup->scheme->extra_vectors;
    vectors += scheme_approximates(setup); /* what compression left out */
    if (server && waits && setup->servers > 0)
        vectors += (uint64_t)setup->workers / (uint64_t)setup->servers;
    return AGENT_BYTES + ROSTER_BYTES * (uint64_t)setup->nodes + CONNECTION_BYTES * peers_of(setup, node) +
           span_bytes(settings, setup, node) + vectors * sizeof(float) * setup->parameter_count +
           (real && !server ? BLAS_BYTES : 0);
}

struct use { /* of the controller and the programs */
    uint64_t controller_files, node_files, traffic_files, processes, bytes;
    uint64_t measured_links; /* all at once */
};

static struct use use_of_agents(const struct settings *settings, const struct scheme_setup *setup, bool data_shared)
{
    bool real = settings->workload.model != MODEL_SYNTHETIC;
    int server = setup->workers;
    uint64_t workers = (uint64_t)setup->workers, servers = (uint64_t)setup->servers;
    struct use use = {
        .controller_files = CONTROLLER_FILES + SOCKET_PAIR * (workers + servers),
        .processes = workers + servers + (real ? workers : 0), /* a gradient has a thread of its own */
        .bytes = workers * agent_bytes(settings, setup, 0) + (servers ? servers * agent_bytes(settings, setup, server) : 0),
    };
    uint32_t inputs, classes;
    dataset_dimensions(settings->workload.dataset, &inputs, &classes);
    if (real)
        use.bytes += (uint64_t)SAMPLES * inputs * (data_shared ? 1 : workers);
    return use;
}

/* The connections of all message sizes are there from the start. */
static uint64_t peers_of_any(const struct settings *settings, struct forecast *forecast, int node)
{
    uint64_t count = 0;
    for (int peer = 0; peer < forecast->setup.nodes; peer++) {
        bool talks = false;
        for (int i = 0; i < message_sizes_count(settings) && peer != node && !talks; i++) {
            forecast_take_size(forecast, i);
            talks = scheme_talks(&forecast->setup, node, peer);
        }
        count += talks;
    }
    return count;
}

/* Message sizes follow each other: the memory of the one that takes most. */
static struct use most_of_agents(const struct settings *settings, struct forecast *forecast, bool data_shared)
{
    struct use most = {0};
    for (int i = 0; i < message_sizes_count(settings); i++) {
        forecast_take_size(forecast, i);
        struct use use = use_of_agents(settings, &forecast->setup, data_shared);
        use.bytes = larger(use.bytes, most.bytes);
        most = use;
    }
    const int server = forecast->setup.workers;
    uint64_t servers_peers = forecast->setup.servers > 0 ? peers_of_any(settings, forecast, server) : 0;
    most.node_files = AGENT_FILES + larger(peers_of_any(settings, forecast, 0), servers_peers);
    return most;
}

/* What is wrong with the settings is said elsewhere. */
static uint64_t captured_directions(const struct capture_settings *capture, const struct topology *topology)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    const int *links;
    int count = 0;
    bool found = capture_links_find(capture, topology, arena, &links, &count, NULL, NULL) == 0;
    return found ? (uint64_t)count * DIRECTIONS : 0;
}

static void add_up(int nodes, const struct network_size *size, const struct use *use, struct host_demand *demand)
{
    struct network_needs needs;
    needs_of(size, &needs);
    *demand = (struct host_demand){
        .nodes = nodes,
        .processes = needs.processes + use->processes,
        .network_namespaces = needs.network_namespaces,
        .uts_namespaces = needs.uts_namespaces,
        .other_namespaces = needs.other_namespaces,
        .user_namespaces = needs.user_namespaces,
        .relay_mappings = needs.relay_mappings,
        .flight_bytes = size->flight_bytes,
        .memory_bytes = needs.kernel_bytes + needs.relay_bytes + use->bytes,
    };
    const struct {
        const char *of;
        uint64_t files;
    } opened[] = {{"the controller", use->controller_files},
                  {"the process that holds the network", needs.warden_files},
                  {"the relay", needs.relay_files},
                  {"the process that captures", needs.capture_files},
                  {"the process of the cross traffic", use->traffic_files},
                  {"the process that measures links", /* what holds the network, forked */
                   use->measured_links ? needs.warden_files + MEASURE_FILES + MEASURE_SOCKETS * use->measured_links : 0},
                  {"the agent with the most connections", use->node_files}};
    for (size_t i = 0; i < sizeof(opened) / sizeof(opened[0]); i++)
        if (opened[i].files > demand->files) {
            demand->files = opened[i].files;
            demand->files_of = opened[i].of;
        }
}

void host_demand_of(const struct cell *cell, const struct topology *topology, enum engine_kind engine, bool data_shared,
                    struct host_demand *demand)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    uint64_t nodes = (uint64_t)topology->host_count;
    bool outside = cell->settings.scheme.outside, limited = cell->settings.cpu_limits.count > 0;
    struct network_size size = {.programs = nodes,
                                .descriptors_a_program = (outside ? STREAMS : AGENT_DESCRIPTORS) + (limited ? GROUP : 0),
                                .outside = outside,
                                .captures = captured_directions(&cell->settings.capture, topology),
                                .user_namespace = geteuid() != 0};
    struct use use = {.controller_files = CONTROLLER_FILES + PIPE * STREAMS * nodes, .processes = nodes};
    struct forecast forecast;
    needs_measure(topology, engine, &size);
    if (!outside) {
        forecast_setup(cell, topology, NULL, 0, 0, arena, &forecast);
        use = most_of_agents(&cell->settings, &forecast, data_shared);
    }
    use.controller_files += size.captures + (limited ? GROUP * nodes : 0);
    use.processes += (limited ? 1 : 0) + (cell->settings.traffic.count > 0 ? 1 : 0); /* who watches, and who sends */
    if (cell->settings.traffic.count > 0)
        use.traffic_files = TRAFFIC_FILES + size.places + FLOW_SOCKETS * (uint64_t)cell->settings.traffic.count;
    add_up(topology->host_count, &size, &use, demand);
}

void host_demand_of_network(const struct topology *topology, enum engine_kind engine, int programs,
                            const struct capture_settings *capture, struct host_demand *demand)
{
    struct network_size size = {.programs = (uint64_t)programs,
                                .descriptors_a_program = STREAMS,
                                .outside = programs > 0,
                                .captures = captured_directions(capture, topology),
                                .user_namespace = geteuid() != 0};
    struct use use = {.controller_files = CONTROLLER_FILES + PIPE * STREAMS * (uint64_t)programs, .processes = (uint64_t)programs};
    use.controller_files += size.captures;
    needs_measure(topology, engine, &size);
    add_up(topology->host_count, &size, &use, demand);
}

void host_demand_of_measurement(const struct topology *topology, enum engine_kind engine, int links, struct host_demand *demand)
{
    struct network_size size = {.user_namespace = geteuid() != 0};
    const struct use use = {.controller_files = CONTROLLER_FILES, .measured_links = (uint64_t)links};
    needs_measure(topology, engine, &size);
    add_up(topology->host_count, &size, &use, demand);
}

void host_demand_of_star(int nodes, struct host_demand *demand)
{
    uint64_t count = (uint64_t)nodes;
    struct network_size size = {.places = count + 1,
                                .links = count,
                                .relay_links = count,
                                .programs = count,
                                .descriptors_a_program = AGENT_DESCRIPTORS,
                                .user_namespace = geteuid() != 0};
    struct use use = {.controller_files = CONTROLLER_FILES + SOCKET_PAIR * count,
                      .node_files = AGENT_FILES + count,
                      .processes = count,
                      .bytes = count * (AGENT_BYTES + SPANS_LEAST * sizeof(struct span_record) + ROSTER_BYTES * count)};
    add_up(nodes, &size, &use, demand);
}
