/* campaign_check.c: what more than one field decides. Every sentence is placed at the value at fault and names the cell. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "agents/model.h"
#include "agents/scheme.h"
#include "agents/shards.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"
#include "campaign_internal.h"
#include "capture_links.h"
#include "harness/cpu_limit_plan.h"
#include "harness/event_plan.h"
#include "harness/message_sizes.h"
#include "netem/topology.h"
#include "netem/traffic.h"
#include "yaml_document.h"

struct cell_check {
    const struct reading *reading;
    const struct yaml_value *const *values; /* one a field */
    struct settings *settings;
};

/* Where a field's value stands; for a default, where the other field stands that does not go with it. */
static const struct yaml_value *place(const struct cell_check *check, const char *path, const char *otherwise)
{
    const struct yaml_value *value = check->values[campaign_field_find(path) - campaign_fields];
    if (!value && otherwise)
        value = check->values[campaign_field_find(otherwise) - campaign_fields];
    return value ? value : check->reading->root;
}

static int check_unused(const struct cell_check *check)
{
    for (int i = 0; i < campaign_field_count; i++) {
        const struct campaign_field *field = &campaign_fields[i];
        if (!campaign_field_used(field, check->settings) &&
            (matrix_sweeps(check->reading, field, false) || campaign_arm_sets(check->reading->arm, field)))
            return campaign_fail(&check->reading->reader, check->values[i], field->path, "%s does not use this field",
                                 campaign_field_refuser(field, check->settings, check->reading->reader.arena));
    }
    /* A field that other cells use is not there for this one: what is stored says what ran. */
    const struct workload_settings empty = {0};
    struct workload_settings *workload = &check->settings->workload;
    if (check->settings->scheme.outside) {
        *workload = (struct workload_settings){.exec = workload->exec};
        check->settings->compute_time = (struct distribution){.kind = DISTRIBUTION_MEASURED};
        check->settings->slow = NULL;
        check->settings->slow_count = 0;
    } else {
        workload->exec = (struct outside_command){0};
    }
    if (!campaign_field_used(campaign_field_find("workload.size"), check->settings)) {
        workload->size_bytes = 0;
        workload->sizes = (struct size_list){0};
    }
    if (!campaign_field_used(campaign_field_find("workload.layers"), check->settings)) {
        memcpy(workload->layers, empty.layers, sizeof(workload->layers));
        workload->layer_count = 0;
    }
    for (int i = 0; i < campaign_field_count; i++)
        if (campaign_fields[i].shapes != 0 && !campaign_field_used(&campaign_fields[i], check->settings))
            memset((char *)check->settings + campaign_fields[i].offset, 0, campaign_fields[i].bytes);
    return 0;
}

static int check_exec(const struct cell_check *check)
{
    if (check->settings->workload.exec.count > 0)
        return 0;
    return campaign_fail(&check->reading->reader, place(check, "scheme", NULL), "scheme",
                         OUTSIDE_SCHEME " needs workload.exec, the program that runs on every node, for example [./train, --fast]");
}

static int check_size(const struct cell_check *check)
{
    const struct workload_settings *workload = &check->settings->workload;
    const struct reader *reader = &check->reading->reader;
    if (workload->model == MODEL_SYNTHETIC && workload->size_bytes == 0 && workload->sizes.count == 0)
        return campaign_fail(reader, place(check, "workload.model", NULL), "workload.model",
                             "synthetic needs workload.size, for example 25MiB");
    if (workload->size_bytes > 0 && workload->sizes.count > 0)
        return campaign_fail(reader, place(check, "workload.sizes", NULL), "workload.sizes",
                             "workload.size is set too: a trial has one size, or sweeps several");
    if (message_sizes_count(check->settings) * (double)message_sizes_rounds_each(check->settings) > MESSAGE_SIZES_ROUNDS_MAX)
        return campaign_fail(reader, place(check, "workload.sizes", NULL), "workload.sizes",
                             "%d sizes of %d rounds each are more than the %d rounds that a trial may have", workload->sizes.count,
                             message_sizes_rounds_each(check->settings), MESSAGE_SIZES_ROUNDS_MAX);
    return 0;
}

static int check_evaluations(const struct cell_check *check)
{
    const struct workload_settings *workload = &check->settings->workload;
    if (workload->evaluate_every > workload->rounds)
        return campaign_fail(&check->reading->reader, place(check, "workload.evaluate_every", NULL), "workload.evaluate_every",
                             "found %d, but there %s only %d round%s", workload->evaluate_every,
                             workload->rounds == 1 ? "is" : "are", workload->rounds, units_plural(workload->rounds));
    return 0;
}

/* Each worker owns its share of the training samples and draws its batches there. */
static int check_batch(const struct cell_check *check)
{
    const struct settings *settings = check->settings;
    int samples = (int)shards_standard_samples(settings->workload.dataset), share = samples / settings->workers;
    if (settings->workload.model == MODEL_SYNTHETIC || settings->workload.batch <= share)
        return 0;
    return campaign_fail(&check->reading->reader, place(check, "workload.batch", "workers"), "workload.batch",
                         "found %d, but each of %d worker%s owns %d of the %d samples of %s", settings->workload.batch,
                         settings->workers, units_plural(settings->workers), share, samples,
                         dataset_names[settings->workload.dataset]);
}

static int check_model_size(const struct cell_check *check)
{
    const double allowed = 0x1p32;
    double bytes = 4.0 * (double)model_parameter_count_of(&check->settings->workload);
    char found[UNITS_TEXT_BYTES];
    if (bytes <= allowed)
        return 0;
    return campaign_fail(&check->reading->reader, place(check, "workload.layers", "workload.model"), "workload.layers",
                         "a gradient of this model has %s, allowed is 4 GiB", units_show_size(found, sizeof(found), bytes));
}

static int check_slow(const struct cell_check *check)
{
    const struct settings *settings = check->settings;
    const struct yaml_value *list = place(check, "compute.slow", NULL), *entry = list->first;
    for (int i = 0; i < settings->slow_count; i++, entry = entry->next) {
        const struct yaml_value *at = yaml_document_child(entry, "workers")->first;
        for (int w = 0; w < settings->slow[i].worker_count; w++, at = at->next)
            if (settings->slow[i].workers[w] >= settings->workers)
                return campaign_fail(&check->reading->reader, at, "compute.slow", "found worker %d, here the workers are 0 to %d",
                                     settings->slow[i].workers[w], settings->workers - 1);
    }
    return 0;
}

static int check_byzantine(const struct cell_check *check)
{
    const struct workload_settings *workload = &check->settings->workload;
    const struct byzantine_workers *byzantine = &workload->byzantine;
    const struct reader *reader = &check->reading->reader;
    const struct yaml_value *at = place(check, "byzantine", NULL);
    if (byzantine->worker_count == 0)
        return 0;
    if (workload->model == MODEL_SYNTHETIC)
        return campaign_fail(reader, at, "byzantine",
                             "workload.model synthetic compares every sum with the exact mean, which a falsified gradient changes; "
                             "take softmax or mlp");
    if (workload->gradients == GRADIENTS_NONE)
        return campaign_fail(reader, at, "byzantine",
                             "with workload.gradients none there is no gradient to be falsified; take real");
    const struct scheme *scheme = scheme_find(check->settings->scheme.name);
    if (scheme && scheme->flags & SCHEME_NEEDS_BATCHES)
        return campaign_fail(reader, at, "byzantine", "workers of scheme %s multiply matrices and compute no gradient",
                             scheme->name);
    at = yaml_document_child(at, "workers")->first;
    for (int i = 0; i < byzantine->worker_count; i++, at = at->next)
        if (byzantine->workers[i] >= check->settings->workers)
            return campaign_fail(reader, at, "byzantine.workers", "found worker %d, here the workers are 0 to %d",
                                 byzantine->workers[i], check->settings->workers - 1);
    return 0;
}

static int check_queue(const struct cell_check *check)
{
    enum { ETHERNET_HEADER_BYTES = 14 };
    const struct settings *settings = check->settings;
    uint64_t frame = (uint64_t)settings->mtu + ETHERNET_HEADER_BYTES;
    if (settings->link.queue_bytes == 0 || settings->link.queue_bytes >= frame)
        return 0;
    return campaign_fail(&check->reading->reader, place(check, "topology.link.queue", NULL), "topology.link.queue",
                         "found %lluB, but one frame has %lluB", (unsigned long long)settings->link.queue_bytes,
                         (unsigned long long)frame);
}

static const struct yaml_value *place_of(const void *context, const char *path, const char *otherwise)
{
    return place(context, path, otherwise);
}

static int check_impairments(const struct cell_check *check)
{
    const struct cell_view view = {.reading = check->reading, .settings = check->settings, .at = place_of, .context = check};
    return campaign_check_impairments(&view);
}

static int check_worker_graph(const struct cell_check *check)
{
    const struct cell_view view = {.reading = check->reading, .settings = check->settings, .at = place_of, .context = check};
    return campaign_check_worker_graph(&view);
}

static int check_world(const struct cell_check *check)
{
    const struct cell_view view = {.reading = check->reading, .settings = check->settings, .at = place_of, .context = check};
    return campaign_check_world(&view);
}

/* Where the setting stands that does not let a topology be built. */
static const struct yaml_value *fault_place(const struct cell_check *check, const struct topology_fault *fault)
{
    const struct yaml_value *value;
    if (campaign_field_find(fault->path))
        value = place(check, fault->path, "topology.shape");
    else
        value = place(check, "topology.link.delay", "topology.link.rate"); /* the group's members */
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
    const struct yaml_value *event = place(check, "events", NULL)->first;
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
    const struct yaml_value *entry = place(check, "traffic", NULL)->first;
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
    const struct yaml_value *entry = place(check, "cpu_limits", NULL)->first;
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
    const struct yaml_value *at = place(check, "capture", NULL);
    const struct yaml_value *list = at->shape == YAML_SHAPE_MAPPING ? yaml_document_child(at, "links") : at;
    const struct yaml_value *entry = list && list->shape == YAML_SHAPE_LIST && position >= 0 ? list->first : NULL;
    for (int i = 0; entry && i < position; i++)
        entry = entry->next;
    return campaign_fail(&check->reading->reader, entry ? entry : list ? list : at, "capture", "%s", err.text);
}

static int check_topology_and_scheme(const struct cell_check *check)
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
            return campaign_fail(&check->reading->reader, place(check, "scheme", NULL), "scheme", "%s", err.text);
    }
    return 0;
}

int campaign_check_cell(const struct reading *reading, const struct yaml_value *const *values, struct settings *settings)
{
    enum { ALL = CARRIED_BY_AGENTS | CARRIED_BY_PROGRAMS };
    static const struct {
        unsigned carriers;
        int (*run)(const struct cell_check *);
    } checks[] = {
        {ALL, check_unused},
        {ALL, check_world},
        {CARRIED_BY_PROGRAMS, check_exec},
        {CARRIED_BY_AGENTS, check_size},
        {CARRIED_BY_AGENTS, check_evaluations},
        {CARRIED_BY_AGENTS, check_batch},
        {CARRIED_BY_AGENTS, check_model_size},
        {CARRIED_BY_AGENTS, check_slow},
        {CARRIED_BY_AGENTS, check_byzantine},
        {ALL, check_queue},
        {ALL, check_impairments},
        {ALL, check_worker_graph},
        {ALL, check_topology_and_scheme},
    };
    const struct cell_check check = {.reading = reading, .values = values, .settings = settings};
    unsigned carrier = settings->scheme.outside ? CARRIED_BY_PROGRAMS : CARRIED_BY_AGENTS;
    int status = 0;
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]) && status == 0; i++)
        if (checks[i].carriers & carrier)
            status = checks[i].run(&check);
    return status;
}

int campaign_check_whole(const struct reading *reading, const struct cell *cells, int cell_count)
{
    for (int i = 0; i < campaign_field_count; i++) {
        const struct campaign_field *field = &campaign_fields[i];
        if (!reading->placed[i] || (field->models == 0 && field->shapes == 0 && field->carriers == 0))
            continue;
        bool used = false;
        for (int c = 0; c < cell_count && !used; c++)
            used = campaign_field_used(field, &cells[c].settings);
        if (used && field->type == FIELD_WORKER_GRAPH) {
            used = false;
            for (int c = 0; c < cell_count && !used; c++)
                used = cells[c].settings.worker_graph;
            if (!used)
                return campaign_fail_key(&reading->reader, reading->placed[i], field->path,
                                         "no cell's scheme has the parameter 'graph: file', which reads this file");
        }
        if (!used)
            return campaign_fail_key(&reading->reader, reading->placed[i], field->path, "%s does not use this field",
                                     campaign_field_refuser(field, &cells[0].settings, reading->reader.arena));
    }
    return 0;
}
