/* agent_node.c: makes a node out of its SETUP: the workload with its data, the recorder's memory, the world with its sockets. */
#include <unistd.h>

#include "agents/agent_internal.h"
#include "agents/workload.h"
#include "agents/world_emulated.h"
#include "base/clock.h"

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
                                        .arena = arena};
    node->workload = workload_new(&workload, err);
    if (!node->workload)
        return -ERR_TRIAL;
    if (control->dataset_fd > 2)
        close((int)control->dataset_fd); /* what was needed of it is mapped */
    setup->scheme.parameter_count = workload_parameter_count(node->workload);
    struct recorder_options recorder = {
        .arena = arena,
        .rounds = control->rounds,
        .spans_wanted = agent_setup_spans(setup),
        .evaluate_every = control->evaluate_every,
        .snapshot_floats =
            workload_real(node->workload) && (control->node == 0 || setup->role == ROLE_SERVER) ? setup->scheme.parameter_count : 0,
    };
    int result = recorder_init(&node->recorder, &recorder, err);
    if (result < 0)
        return result;
    struct emulated_options world = {
        .loop = loop,
        .arena = arena,
        .setup = &setup->scheme,
        .index = (int)control->node,
        .compute_time = &setup->compute_time,
        .slow_factor = setup->slow_factors[control->node],
        .workload = node->workload,
        .recorder = &node->recorder,
        .transport = {.node = (int)control->node,
                      .node_count = (int)control->node_count,
                      .port = (uint16_t)control->port,
                      .addresses = setup->addresses,
                      .token = control->seed,
                      .cell = control->cell,
                      .connect_ns = CONNECT_NS},
        .events = events,
        .context = context,
    };
    node->emulated = emulated_new(&world, err);
    return node->emulated ? 0 : -ERR_TRIAL;
}

void agent_node_free(struct agent_node *node)
{
    emulated_free(node->emulated);
    workload_free(node->workload);
}
