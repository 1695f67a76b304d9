/* agent_node.c: makes a node out of its SETUP: the workload with its data, the recorder's memory, the world with its sockets. */
#include <unistd.h>

#include "agents/agent_internal.h"
#include "agents/workload.h"
#include "agents/world_emulated.h"
#include "base/clock.h"
#include "base/loop.h"

static const int64_t CONNECT_NS = 10 * NS_PER_S; /* until every connection is up */

int agent_node_make(struct agent_setup *setup, struct loop *loop, struct arena *arena, const struct emulated_events *events,
                    void *context, struct agent_node *node, struct err *err)
{
    const struct control_setup *control = setup->control;
    struct workload_options workload = {.settings = &setup->workload,
                                        .seed = control->seed,
                                        .workers = setup->scheme.workers,
                                        .role = setup->role,
                                        .role_index = setup->role_index,
                                        .dataset_fd = (int)control->dataset_fd,
                                        .blas = true,
                                        .batches = setup->role == ROLE_SERVER && setup->scheme.scheme->flags & SCHEME_NEEDS_BATCHES,
                                        .arena = arena};
    node->workload = workload_new(&workload, err);
    if (!node->workload)
        return -ERR_TRIAL;
    if (control->dataset_fd > 2)
        close((int)control->dataset_fd); /* what was needed of it is mapped */
    setup->scheme.parameter_count = workload_parameter_count(node->workload);
    struct recorder_options recorder = {
        .arena = arena,
        .rounds = control->rounds * agent_setup_sizes(setup),
        .spans_wanted = agent_setup_spans(setup),
        .gradients_wanted = agent_setup_gradients(setup),
        .leaps = setup->role == ROLE_WORKER && setup->scheme.scheme->flags & SCHEME_ROUNDS_AT_SERVER,
        .evaluate_every = control->evaluate_every,
        .snapshot_floats =
            workload_real(node->workload) && (control->node == 0 || setup->role == ROLE_SERVER) ? setup->scheme.parameter_count : 0,
    };
    int result = recorder_init(&node->recorder, &recorder, err);
    if (result < 0)
        return result;
    recorder_begin(&node->recorder, 0, control->rounds);
    struct emulated_options world = {
        .loop = loop,
        .arena = arena,
        .setup = setup->schemes ? setup->schemes : &setup->scheme,
        .size_count = (int)control->size_count,
        .index = (int)control->node,
        .compute_time = &setup->compute_time,
        .slow_factor = setup->slow_factors[control->node],
        .workload = node->workload,
        .recorder = &node->recorder,
        .optimiser = {.learning_rate = setup->workload.learning_rate,
                      .momentum = setup->workload.momentum,
                      .weight_decay = setup->workload.weight_decay,
                      .decay_factor = setup->workload.decay_factor,
                      .decay_every = setup->workload.decay_every},
        .transport = {.node = (int)control->node,
                      .node_count = (int)control->node_count,
                      .port = (uint16_t)control->port,
                      .addresses = setup->addresses,
                      .names = setup->names,
                      .token = control->seed,
                      .cell = control->cell,
                      .connect_ns = CONNECT_NS},
        .events = events,
        .context = context,
    };
    node->emulated = emulated_new(&world, err);
    if (!node->emulated)
        return -ERR_TRIAL;
    loop_busy_wait(loop, control->busy_wait_ns);
    sampler_init(&node->sampler, control->sample_every_ns, emulated_transport(node->emulated), loop, arena);
    return 0;
}

/* Exactly one node evaluates: node 0 if it has a model, and holds that of every round; else the first server. It knows from node
 * 0's hello. */
bool agent_node_evaluates(const struct agent_node *own)
{
    struct node *node = emulated_node(own->emulated);
    const struct scheme *scheme = node->setup->scheme;
    if (!workload_real(own->workload) || !scheme->model_to_evaluate || !scheme->model_to_evaluate(node))
        return false;
    if (scheme->flags & SCHEME_ROUNDS_AT_SERVER)
        return node->index == node->setup->workers;
    if (node->index == 0)
        return true;
    return node->index == node->setup->workers && !(transport_hello_of(emulated_transport(own->emulated), 0) & HELLO_HAS_MODEL);
}

void agent_node_free(struct agent_node *node)
{
    emulated_free(node->emulated);
    workload_free(node->workload);
}
