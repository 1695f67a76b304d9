/* trial_setup.c: SETUP messages; see trial_setup.h. */
#include "harness/trial_setup.h"

#include <math.h>

#include "base/arena.h"
#include "harness/event_plan.h"
#include "harness/message_sizes.h"

static struct control_distribution distribution_message(const struct distribution *distribution)
{
    return (struct control_distribution){
        .kind = distribution->kind,
        .value_ns = distribution->value_ns,
        .mean_ns = distribution->mean_ns,
        .shift_ns = distribution->shift_ns,
        .mu = distribution->mu,
        .sigma = distribution->sigma,
        .unit_ns = distribution->unit_ns,
        .scale_ns = distribution->scale_ns,
        .shape = distribution->shape,
    };
}

static const struct control_node *make_roster(const struct forecast *forecast, struct arena *arena)
{
    const struct scheme_setup *setup = &forecast->setup;
    struct control_node *nodes = arena_new_array(arena, struct control_node, (size_t)setup->nodes);
    for (int i = 0; i < setup->nodes; i++) {
        const struct place *place = &forecast->topology->places[i];
        nodes[i] = (struct control_node){
            .name = place->name,
            .role = i < setup->workers ? ROLE_WORKER : ROLE_SERVER,
            .address = place->address,
            .slow_factor = i < setup->workers && setup->slow_factors ? setup->slow_factors[i] : 1,
            .samples = i < setup->workers && setup->samples ? setup->samples[i] : 0,
        };
    }
    return nodes;
}

static const struct control_path *paths_of(const struct forecast *forecast, int node, struct arena *arena)
{
    const struct scheme_setup *setup = &forecast->setup;
    struct control_path *paths = arena_new_array(arena, struct control_path, (size_t)setup->nodes);
    for (int i = 0; i < setup->nodes; i++) {
        if (i == node)
            continue;
        struct path path = setup->path(setup->path_context, node, i);
        paths[i].latency_ns = (int64_t)path.latency_ns;
        paths[i].payload_bps = isinf(path.bytes_per_second) ? 0 : (uint64_t)(path.bytes_per_second * 8);
    }
    return paths;
}

static const struct control_mark *marks_of(const struct settings *settings, struct arena *arena, uint32_t *count)
{
    const uint32_t *rounds;
    *count = (uint32_t)event_marks(settings, arena, &rounds);
    struct control_mark *marks = arena_new_array(arena, struct control_mark, *count);
    for (uint32_t i = 0; i < *count; i++)
        marks[i].rounds_done = rounds[i];
    return marks;
}

static const struct control_message_size *sizes_of(const struct settings *settings, const struct blob *prepared,
                                                   struct arena *arena)
{
    const struct size_list *list = &settings->workload.sizes;
    struct control_message_size *sizes = arena_new_array(arena, struct control_message_size, (size_t)list->count + 1);
    for (int i = 0; i < list->count; i++)
        sizes[i] = (struct control_message_size){.bytes = list->bytes[i],
                                                 .prepared = prepared ? prepared[i].bytes : NULL,
                                                 .prepared_bytes = prepared ? (uint32_t)prepared[i].length : 0};
    return sizes;
}

/* Workers are the first nodes. */
static bool falsifies(const struct byzantine_workers *byzantine, int node)
{
    for (int i = 0; i < byzantine->worker_count; i++)
        if (byzantine->workers[i] == node)
            return true;
    return false;
}

static const struct control_scheme_object *objects_of(const struct settings *settings, struct arena *arena)
{
    struct control_scheme_object *objects =
        arena_new_array(arena, struct control_scheme_object, (size_t)settings->scheme_object_count + 1);
    for (int i = 0; i < settings->scheme_object_count; i++)
        objects[i] =
            (struct control_scheme_object){.file = settings->scheme_objects[i].file, .sha256 = settings->scheme_objects[i].sha256};
    return objects;
}

const struct control_setup *trial_setups(const struct cell *cell, const struct trial_plan *plan, const struct forecast *forecast,
                                         const struct blob *prepared, bool dataset_shared, struct arena *arena)
{
    const struct settings *settings = &cell->settings;
    const struct scheme *scheme = forecast->setup.scheme;
    struct control_value *values = arena_new_array(arena, struct control_value, SCHEME_PARAMS_MAX);
    for (int i = 0; i < scheme->param_count; i++)
        values[i].value = settings->scheme.values[i];
    uint32_t mark_count;
    const struct control_mark *marks = marks_of(settings, arena, &mark_count);
    struct control_layer *layers = arena_new_array(arena, struct control_layer, LAYERS_MAX);
    for (int i = 0; i < settings->workload.layer_count; i++)
        layers[i].width = (uint32_t)settings->workload.layers[i];
    const struct control_node *roster = make_roster(forecast, arena);
    const struct control_scheme_object *objects = objects_of(settings, arena);
    const int teller = scheme_round_node(scheme, forecast->setup.workers);
    bool needs_paths = scheme->flags & SCHEME_NEEDS_PATHS, swept = message_sizes_swept(settings);
    const struct control_message_size *sizes = sizes_of(settings, prepared, arena);
    struct control_setup *setups = arena_new_array(arena, struct control_setup, (size_t)forecast->setup.nodes);
    for (int node = 0; node < forecast->setup.nodes; node++) {
        setups[node] = (struct control_setup){
            .node = (uint32_t)node,
            .nodes = roster,
            .node_count = (uint32_t)forecast->setup.nodes,
            .paths = needs_paths ? paths_of(forecast, node, arena) : NULL,
            .path_count = needs_paths ? (uint32_t)forecast->setup.nodes : 0,
            .port = AGENT_PORT,
            .seed = plan->seed,
            .cell = (uint32_t)cell->index,
            .scheme = scheme->name,
            .scheme_objects = objects,
            .scheme_object_count = (uint32_t)settings->scheme_object_count,
            .values = values,
            .value_count = (uint32_t)scheme->param_count,
            .model = settings->workload.model,
            .dataset = settings->workload.dataset,
            .gradients = settings->workload.gradients,
            .dataset_path = settings->workload.dataset_path ? settings->workload.dataset_path : "",
            .dataset_fd = dataset_shared ? DATASET_FD : 0,
            .layers = layers,
            .layer_count = (uint32_t)settings->workload.layer_count,
            .shard_split = settings->workload.shards.split,
            .shard_alpha = settings->workload.shards.alpha,
            .shard_size_alpha = settings->workload.shards.size_alpha,
            .batch = (uint32_t)settings->workload.batch,
            .learning_rate = settings->workload.learning_rate,
            .momentum = settings->workload.momentum,
            .weight_decay = settings->workload.weight_decay,
            .decay_factor = settings->workload.decay_factor,
            .decay_every = (uint32_t)settings->workload.decay_every,
            .rounds = (uint32_t)message_sizes_rounds_each(settings),
            .warmup_rounds = (uint32_t)settings->warmup_rounds,
            .evaluate_every = (uint32_t)settings->workload.evaluate_every,
            .size_bytes = settings->workload.size_bytes,
            .sizes = sizes,
            .size_count = (uint32_t)settings->workload.sizes.count,
            .byzantine = falsifies(&settings->workload.byzantine, node),
            .attack = settings->workload.byzantine.attack,
            .attack_factor = settings->workload.byzantine.factor,
            .compute_time = distribution_message(&settings->compute_time),
            .record_spans = settings->record_spans,
            .sample_every_ns = settings->sample_every_ns,
            .busy_wait_ns = settings->busy_wait_ns,
            .marks = node == teller ? marks : NULL,
            .mark_count = node == teller ? mark_count : 0,
            .prepared = prepared && !swept ? prepared->bytes : NULL,
            .prepared_bytes = prepared && !swept ? (uint32_t)prepared->length : 0,
        };
    }
    return setups;
}
