/* trial_setup.c: SETUP messages; see trial_setup.h. */
#include "harness/trial_setup.h"

#include <math.h>

#include "base/arena.h"

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

static const struct control_node *roster_of(const struct forecast *forecast, int node, struct arena *arena)
{
    const struct scheme_setup *setup = &forecast->setup;
    struct control_node *nodes = arena_new_array(arena, struct control_node, (size_t)setup->nodes);
    for (int i = 0; i < setup->nodes; i++) {
        const struct place *place = &forecast->topology->places[i];
        struct path path = {.latency_ns = 0, .bytes_per_second = INFINITY};
        if (i != node)
            path = setup->path(setup->path_context, node, i);
        nodes[i] = (struct control_node){
            .name = place->name,
            .role = i < setup->workers ? ROLE_WORKER : ROLE_SERVER,
            .address = place->address,
            .path_ns = (int64_t)path.latency_ns,
            .path_bps = isinf(path.bytes_per_second) ? 0 : (uint64_t)(path.bytes_per_second * 8),
            .slow_factor = i < setup->workers && setup->slow_factors ? setup->slow_factors[i] : 1,
        };
    }
    return nodes;
}

const struct control_setup *trial_setups(const struct cell *cell, const struct trial_plan *plan, const struct forecast *forecast,
                                         const struct blob *prepared, bool dataset_shared, struct arena *arena)
{
    const struct settings *settings = &cell->settings;
    const struct scheme *scheme = forecast->setup.scheme;
    struct control_value *values = arena_new_array(arena, struct control_value, SCHEME_PARAMS_MAX);
    for (int i = 0; i < scheme->param_count; i++)
        values[i].value = settings->scheme.values[i];
    struct control_layer *layers = arena_new_array(arena, struct control_layer, LAYERS_MAX);
    for (int i = 0; i < settings->workload.layer_count; i++)
        layers[i].width = (uint32_t)settings->workload.layers[i];
    struct control_setup *setups = arena_new_array(arena, struct control_setup, (size_t)forecast->setup.nodes);
    for (int node = 0; node < forecast->setup.nodes; node++) {
        setups[node] = (struct control_setup){
            .node = (uint32_t)node,
            .nodes = roster_of(forecast, node, arena),
            .node_count = (uint32_t)forecast->setup.nodes,
            .port = AGENT_PORT,
            .seed = plan->seed,
            .cell = (uint32_t)cell->index,
            .scheme = scheme->name,
            .values = values,
            .value_count = (uint32_t)scheme->param_count,
            .model = settings->workload.model,
            .dataset = settings->workload.dataset,
            .gradients = settings->workload.gradients,
            .dataset_path = settings->workload.dataset_path ? settings->workload.dataset_path : "",
            .dataset_fd = dataset_shared ? DATASET_FD : 0,
            .layers = layers,
            .layer_count = (uint32_t)settings->workload.layer_count,
            .batch = (uint32_t)settings->workload.batch,
            .learning_rate = settings->workload.learning_rate,
            .rounds = (uint32_t)(settings->workload.rounds + settings->warmup_rounds),
            .warmup_rounds = (uint32_t)settings->warmup_rounds,
            .evaluate_every = (uint32_t)settings->workload.evaluate_every,
            .size_bytes = settings->workload.size_bytes,
            .compute_time = distribution_message(&settings->compute_time),
            .record_spans = settings->record_spans,
            .prepared = prepared ? prepared->bytes : NULL,
            .prepared_bytes = prepared ? (uint32_t)prepared->length : 0,
        };
    }
    return setups;
}
