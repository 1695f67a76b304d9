/* agents/schemes/server_worker.c: a worker of a server that does not wait for everyone; see server_rounds.c. */
#include <string.h>

#include "agents/schemes/server_rounds_internal.h"

void server_worker_compute(struct node *node)
{
    struct server_rounds_state *state = node_state(node);
    state->starved = state->in_flight[state->current];
    if (state->stopped || state->generation || state->starved)
        return;
    if (state->policy->current_only && state->policy->distinct)
        state->step = state->version; /* one an update: all workers' mini-batches of an update have its number */
    struct task task = {.kind = TASK_GRADIENT,
                        .step = state->step++,
                        .model = state->model,
                        .gradient = state->gradients[state->current],
                        .parts = 1};
    state->generation = state->coding ? server_coding_compute(node, state->coding, &task) : node_compute(node, &task);
}

static void worker_give_up(struct node *node)
{
    struct server_rounds_state *state = node_state(node);
    if (!state->generation)
        return;
    node_cancel(node, state->generation);
    state->generation = 0;
    node_gradient(node, &(struct gradient_record){.round = (uint32_t)state->version,
                                                  .worker = (uint32_t)node->index,
                                                  .step = state->step - 1,
                                                  .fate = GRADIENT_CANCELLED,
                                                  .arrived_ns = node_now(node)});
}

void server_rounds_on_task(struct node *node, const struct task_result *result)
{
    struct server_rounds_state *state = node_state(node);
    if (node->role == ROLE_SERVER) {
        server_take_validation(node, result);
        return;
    }
    if (result->generation != state->generation || result->part != result->parts - 1)
        return;
    const int sent = state->current;
    const float loss = (float)result->loss;
    struct message_header header = {.kind = KIND_GRADIENT, .step = state->version, .argument = (int64_t)(state->step - 1)};
    memcpy(&header.index, &loss, sizeof(loss));
    state->generation = 0;
    state->in_flight[sent] = true;
    state->current = (sent + 1) % state->buffers;
    node_send(node, node->setup->workers, &header, node_wrap(node, state->gradients[sent], vector_bytes(node), sent), 0,
              vector_bytes(node));
    if (state->policy->keeps_going && ++state->pushed < server_quota_most(node->setup)) /* no update takes more */
        server_worker_compute(node);
    else
        state->wait_begin_ns = node_now(node);
}

void server_worker_end_wait(struct node *node, int source)
{
    struct server_rounds_state *state = node_state(node);
    if (state->wait_begin_ns >= 0)
        node_span(node, SPAN_WAIT, state->version, state->wait_begin_ns, node_now(node), source, 0);
    state->wait_begin_ns = -1;
}

/* The spare vector becomes the model. A worker that still computes at the old one gives up. */
void server_worker_take_model(struct node *node, const struct message *message)
{
    struct server_rounds_state *state = node_state(node);
    state->receiving = false;
    worker_give_up(node);
    if (state->model) {
        float *spare = state->model;
        state->model = state->received;
        state->received = spare;
    }
    const bool newer = message->header.step > state->version;
    state->version = message->header.step;
    state->pushed = 0;
    if (newer)
        node_round_finished(node, state->version - 1);
    server_worker_compute(node);
}

void server_worker_stop(struct node *node)
{
    struct server_rounds_state *state = node_state(node);
    state->stopped = true;
    worker_give_up(node);
    node_finished(node);
}
