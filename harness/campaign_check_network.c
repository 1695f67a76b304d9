/* campaign_check_network.c: what a cell's topology decides: whether it can be built, whether events, captures, cross traffic and
 * processor limits find their places in it, and whether the scheme can run over it. */
#include <math.h>
#include <string.h>

#include "agents/model.h"
#include "agents/scheme.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "campaign_internal.h"
#include "capture_links.h"
#include "harness/cpu_limit_plan.h"
#include "harness/event_plan.h"
#include "harness/message_sizes.h"
#include "netem/topology.h"
#include "netem/traffic.h"
#include "yaml_document.h"

/* Where the setting stands that does not let a topology be built. */
static const struct yaml_value *fault_place(const struct cell_check *check, const struct topology_fault *fault)
{
    const struct yaml_value *value;
    if (campaign_field_find(fault->path))
        value = campaign_place(check, fault->path, "topology.shape");
    else
        value = campaign_place(check, "topology.link.delay", "topology.link.rate"); /* the group's members */
    const struct yaml_value *entry = fault->index >= 0 && value->shape == YAML_SHAPE_LIST ? value->first : NULL;
    for (int i = 0; entry && i < fault->index; i++)
        entry = entry->next;
    return entry ? entry : value;
}

static int check_topology(const struct cell_check *check, struct topology *topology, struct arena *arena)
{
    const struct settings *settings = check->settings;
    const struct scheme *scheme = settings->scheme.outside ? NULL : scheme_find(settings->scheme.name);
    int servers = scheme ? scheme_servers(scheme, settings->workers, settings->scheme.values) : 0;
    struct topology_fault fault;
    struct err err;
    if (topology_build_or_fault(settings, settings->workers, servers, arena, topology, &fault, &err) == 0)
        return 0;
    return campaign_fail(&check->reading->reader, fault_place(check, &fault), fault.path, "%s", err.text);
}

/* Where an event is at fault. */
static const struct yaml_value *event_place(const struct cell_check *check, const struct event_fault *fault)
{
    const struct yaml_value *event = campaign_place(check, "events", NULL)->first;
    for (int i = 0; i < fault->event; i++)
        event = event->next;
    const struct yaml_value *value = fault->key ? yaml_document_child(event, fault->key) : event;
    const struct yaml_value *entry = value->shape == YAML_SHAPE_LIST && fault->entry >= 0 ? value->first : NULL;
    for (int i = 0; entry && i < fault->entry; i++)
        entry = entry->next;
    return entry ? entry : value;
}

static int check_events(const struct cell_check *check, struct topology *topology, struct arena *arena)
{
    struct event_plan plan;
    struct event_fault fault;
    struct err err;
    if (event_plan_make(check->settings, topology, arena, &plan, &fault, &err) == 0)
        return 0;
    const char *key = arena_printf(arena, "events.%d%s%s", fault.event, fault.key ? "." : "", fault.key ? fault.key : "");
    return campaign_fail(&check->reading->reader, event_place(check, &fault), key, "%s", err.text);
}

static int check_traffic(const struct cell_check *check, const struct topology *topology, struct arena *arena)
{
    const struct settings *settings = check->settings;
    struct traffic_flow *flows = arena_new_array(arena, struct traffic_flow, (size_t)settings->traffic.count);
    struct traffic_fault fault;
    struct err err;
    if (traffic_resolve(&settings->traffic, &settings->hosts, topology, flows, &fault, &err) == 0)
        return 0;
    const struct yaml_value *entry = campaign_place(check, "traffic", NULL)->first;
    for (int i = 0; i < fault.flow; i++)
        entry = entry->next;
    const struct yaml_value *value = fault.key ? yaml_document_child(entry, fault.key) : NULL;
    return campaign_fail(&check->reading->reader, value ? value : entry,
                         arena_printf(arena, "traffic.%d%s%s", fault.flow, fault.key ? "." : "", fault.key ? fault.key : ""), "%s",
                         err.text);
}

static int check_cpu_limits(const struct cell_check *check, const struct topology *topology, struct arena *arena)
{
    struct cpu_limit *limits = arena_new_array(arena, struct cpu_limit, (size_t)topology->host_count);
    struct cpu_limit_fault fault = {0};
    struct err err = {0};
    if (cpu_limit_plan(check->settings, topology, limits, &fault, &err) == 0)
        return 0;
    const struct yaml_value *entry = campaign_place(check, "cpu_limits", NULL)->first;
    for (int i = 0; i < fault.entry; i++)
        entry = entry->next;
    const struct yaml_value *nodes = yaml_document_child(entry, "nodes"), *node = fault.node >= 0 ? nodes->first : NULL;
    for (int i = 0; node && i < fault.node; i++)
        node = node->next;
    return campaign_fail(&check->reading->reader, node ? node : nodes, arena_printf(arena, "cpu_limits.%d.nodes", fault.entry),
                         "%s", err.text);
}

static struct path asked_path(const void *context, int from, int to)
{
    struct topology_path path = topology_path(context, from, to);
    return (struct path){.latency_ns = (double)path.delay_ns,
                         .bytes_per_second = path.rate_bps ? (double)path.rate_bps / 8 : INFINITY};
}

static int check_capture(const struct cell_check *check, const struct topology *topology, struct arena *arena)
{
    const int *links;
    int count, position;
    struct err err;
    if (capture_links_find(&check->settings->capture, topology, arena, &links, &count, &position, &err) == 0)
        return 0;
    const struct yaml_value *at = campaign_place(check, "capture", NULL);
    const struct yaml_value *list = at->shape == YAML_SHAPE_MAPPING ? yaml_document_child(at, "links") : at;
    const struct yaml_value *entry = list && list->shape == YAML_SHAPE_LIST && position >= 0 ? list->first : NULL;
    for (int i = 0; entry && i < position; i++)
        entry = entry->next;
    return campaign_fail(&check->reading->reader, entry ? entry : list ? list : at, "capture", "%s", err.text);
}

int campaign_check_network(const struct cell_check *check)
{
    const struct settings *settings = check->settings;
    const struct scheme *scheme = settings->scheme.outside ? NULL : scheme_find(settings->scheme.name);
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct topology topology;
    int status = check_topology(check, &topology, arena);
    if (status == 0)
        status = check_events(check, &topology, arena);
    if (status == 0)
        status = check_capture(check, &topology, arena);
    if (status == 0)
        status = check_traffic(check, &topology, arena);
    if (status == 0)
        status = check_cpu_limits(check, &topology, arena);
    if (status < 0 || !scheme || !scheme->check)
        return status;
    struct scheme_setup setup = {
        .scheme = scheme,
        .workers = settings->workers,
        .servers = scheme_servers(scheme, settings->workers, settings->scheme.values),
        .parameter_count = model_parameter_count_of(&settings->workload),
        .learning_rate = settings->workload.learning_rate,
        .decay_factor = settings->workload.decay_factor,
        .decay_every = settings->workload.decay_every,
        .batch = settings->workload.batch,
        .rounds = settings->warmup_rounds + settings->workload.rounds,
        .values_carried = settings->workload.gradients == GRADIENTS_REAL,
        .trained = settings->workload.gradients == GRADIENTS_REAL && settings->workload.model != MODEL_SYNTHETIC,
        .seed = settings->seed,
        .graph = settings->worker_graph,
        .path = asked_path,
        .path_context = &topology,
        .compute_time = &settings->compute_time,
    };
    setup.nodes = setup.workers + setup.servers;
    memcpy(setup.values, settings->scheme.values, sizeof(setup.values));
    setup.matrix_count = model_matrices_of(&settings->workload, setup.matrices);
    struct err err;
    for (int i = 0; i < message_sizes_count(settings); i++) {
        if (message_sizes_swept(settings))
            setup.parameter_count = settings->workload.sizes.bytes[i] / sizeof(float);
        if (scheme->check(&setup, &err) < 0)
            return campaign_fail(&check->reading->reader, campaign_place(check, "scheme", NULL), "scheme", "%s", err.text);
    }
    return 0;
}
