/* campaign_check.c: what more than one field decides. Every sentence is placed at the value at fault and names the cell. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "agents/model.h"
#include "agents/scheme.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"
#include "campaign_internal.h"
#include "netem/topology.h"
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
        if (!campaign_field_used(field, check->settings) && matrix_sweeps(check->reading, field, false))
            return campaign_fail(&check->reading->reader, check->values[i], field->path, "%s does not use this field",
                                 campaign_field_refuser(field, check->settings, check->reading->reader.arena));
    }
    /* A field that other cells use is not there for this one: what is stored says what ran. */
    const struct workload_settings empty = {0};
    struct workload_settings *workload = &check->settings->workload;
    if (!campaign_field_used(campaign_field_find("workload.size"), check->settings))
        workload->size_bytes = 0;
    if (!campaign_field_used(campaign_field_find("workload.layers"), check->settings)) {
        memcpy(workload->layers, empty.layers, sizeof(workload->layers));
        workload->layer_count = 0;
    }
    for (int i = 0; i < campaign_field_count; i++)
        if (campaign_fields[i].shapes != 0 && !campaign_field_used(&campaign_fields[i], check->settings))
            memset((char *)check->settings + campaign_fields[i].offset, 0, campaign_fields[i].bytes);
    return 0;
}

static int check_size(const struct cell_check *check)
{
    const struct workload_settings *workload = &check->settings->workload;
    if (workload->model == MODEL_SYNTHETIC && workload->size_bytes == 0)
        return campaign_fail(&check->reading->reader, place(check, "workload.model", NULL), "workload.model",
                             "synthetic needs workload.size, for example 25MiB");
    return 0;
}

static int check_evaluations(const struct cell_check *check)
{
    const struct workload_settings *workload = &check->settings->workload;
    if (workload->evaluate_every > workload->rounds)
        return campaign_fail(&check->reading->reader, place(check, "workload.evaluate_every", NULL), "workload.evaluate_every",
                             "found %d, but there are only %d rounds", workload->evaluate_every, workload->rounds);
    return 0;
}

/* Each worker owns its share of the training samples and draws its batches there. */
static int check_batch(const struct cell_check *check)
{
    static const int sample_counts[DATASET_COUNT] = {[DATASET_FASHION_MNIST] = 60000};
    const struct settings *settings = check->settings;
    int samples = sample_counts[settings->workload.dataset], share = samples / settings->workers;
    if (settings->workload.model == MODEL_SYNTHETIC || settings->workload.batch <= share)
        return 0;
    return campaign_fail(&check->reading->reader, place(check, "workload.batch", "workers"), "workload.batch",
                         "found %d, but each of %d workers owns %d of the %d samples of %s", settings->workload.batch,
                         settings->workers, share, samples, dataset_names[settings->workload.dataset]);
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
    const struct impairment_check impairments = {
        .reading = check->reading, .settings = check->settings, .at = place_of, .context = check};
    return campaign_check_impairments(&impairments);
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
    const struct scheme *scheme = scheme_find(settings->scheme.name);
    struct topology_fault fault;
    struct err err;
    if (topology_build_or_fault(settings, settings->workers, scheme_servers(scheme, settings->workers, settings->scheme.values),
                                arena, topology, &fault, &err) == 0)
        return 0;
    return campaign_fail(&check->reading->reader, fault_place(check, &fault), fault.path, "%s", err.text);
}

static struct path asked_path(const void *context, int from, int to)
{
    struct topology_path path = topology_path(context, from, to);
    return (struct path){.latency_ns = (double)path.delay_ns,
                         .bytes_per_second = path.rate_bps ? (double)path.rate_bps / 8 : INFINITY};
}

static int check_topology_and_scheme(const struct cell_check *check)
{
    const struct settings *settings = check->settings;
    const struct scheme *scheme = scheme_find(settings->scheme.name);
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct topology topology;
    int status = check_topology(check, &topology, arena);
    if (status < 0 || !scheme->check)
        return status;
    struct scheme_setup setup = {
        .scheme = scheme,
        .workers = settings->workers,
        .servers = scheme_servers(scheme, settings->workers, settings->scheme.values),
        .parameter_count = model_parameter_count_of(&settings->workload),
        .learning_rate = settings->workload.learning_rate,
        .batch = settings->workload.batch,
        .rounds = settings->warmup_rounds + settings->workload.rounds,
        .values_carried = settings->workload.gradients == GRADIENTS_REAL,
        .seed = settings->seed,
        .path = asked_path,
        .path_context = &topology,
        .compute_time = &settings->compute_time,
    };
    setup.nodes = setup.workers + setup.servers;
    memcpy(setup.values, settings->scheme.values, sizeof(setup.values));
    struct err err;
    if (scheme->check(&setup, &err) < 0)
        return campaign_fail(&check->reading->reader, place(check, "scheme", NULL), "scheme", "%s", err.text);
    return 0;
}

int campaign_check_cell(const struct reading *reading, const struct yaml_value *const *values, struct settings *settings)
{
    static int (*const checks[])(const struct cell_check *) = {
        check_unused, check_size,        check_evaluations,         check_batch, check_model_size, check_slow,
        check_queue,  check_impairments, check_topology_and_scheme,
    };
    const struct cell_check check = {.reading = reading, .values = values, .settings = settings};
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        int status = checks[i](&check);
        if (status < 0)
            return status;
    }
    return 0;
}

int campaign_check_whole(const struct reading *reading, const struct cell *cells, int cell_count)
{
    for (int i = 0; i < campaign_field_count; i++) {
        const struct campaign_field *field = &campaign_fields[i];
        if (!reading->placed[i] || (field->models == 0 && field->shapes == 0))
            continue;
        bool used = false;
        for (int c = 0; c < cell_count && !used; c++)
            used = campaign_field_used(field, &cells[c].settings);
        if (!used)
            return campaign_fail_key(&reading->reader, reading->placed[i], field->path, "%s does not use this field",
                                     campaign_field_refuser(field, &cells[0].settings, reading->reader.arena));
    }
    return 0;
}
