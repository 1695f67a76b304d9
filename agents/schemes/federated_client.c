/* agents/schemes/federated_client.c: a client of a federated scheme; see federated.h.
 *
 * A model lands in `received` and is exchanged for the client's own, which the steps then move. What is sent is a copy, so the
 * next model may be taken while an update is still under way. */
#include "agents/schemes/federated.h"

static bool fails(const struct node *node)
{
    return node->setup->values[FEDERATED_DROPOUT] > 0;
}

/* Whether clients have a model, carried or not: a synthetic workload has none. */
static bool models(const struct node *node)
{
    const struct federated_state *state = node->state;
    return state->model || node->setup->matrix_count > 0;
}

/* Whether the model that came is needed once more. */
static bool keeps_base(const struct node *node)
{
    const struct federated_policy *policy = node->setup->scheme->detail;
    return models(node) && (policy->differences || (policy->resumes && fails(node)));
}

void federated_client_prepare(struct node *node)
{
    struct federated_state *state = node_state(node);
    state->received = node_alloc(node, federated_bytes(node));
    state->gradient = node_alloc(node, federated_bytes(node));
    state->update = node_alloc(node, federated_bytes(node));
    if (keeps_base(node))
        state->base = node_alloc(node, federated_bytes(node));
}

static uint64_t period(const struct node *node)
{
    return (uint64_t)node->setup->values[FEDERATED_PERIOD];
}

static void compute(struct node *node)
{
    struct federated_state *state = node_state(node);
    state->generation = node_compute(node, &(struct task){.kind = TASK_GRADIENT,
                                                          .step = state->first_step + state->done,
                                                          .model = state->model,
                                                          .gradient = state->gradient,
                                                          .parts = 1});
}

/* All that was done since the model came is of no use. */
static void lose_work(struct node *node, uint64_t step)
{
    const struct federated_state *state = node_state(node);
    node_gradient(node, &(struct gradient_record){.round = (uint32_t)state->version,
                                                  .worker = (uint32_t)node->index,
                                                  .step = step,
                                                  .fate = GRADIENT_CANCELLED,
                                                  .arrived_ns = node_now(node)});
}

static void give_up(struct node *node)
{
    struct federated_state *state = node_state(node);
    if (!state->generation && !state->starved)
        return;
    if (state->generation)
        node_cancel(node, state->generation);
    lose_work(node, state->first_step + state->done - state->starved);
    state->generation = 0;
    state->starved = false;
}

static void take_model(struct node *node)
{
    struct federated_state *state = node_state(node);
    const bool newer = state->received_version > state->version;
    state->pending = false;
    state->assignment = state->received_assignment;
    state->version = state->received_version;
    state->first_step = state->policy->counts ? state->first_step + state->done : state->version * period(node);
    state->done = 0;
    if (state->model) {
        float *spare = state->model;
        state->model = state->received;
        state->received = spare;
    }
    if (keeps_base(node))
        node_copy(node, state->base, state->model, node->setup->parameter_count);
    if (newer)
        node_round_finished(node, state->version - 1);
    compute(node);
}

static void end_wait(struct node *node)
{
    struct federated_state *state = node_state(node);
    if (state->wait_begin_ns >= 0)
        node_span(node, SPAN_WAIT, state->version, state->wait_begin_ns, node_now(node), node->setup->workers, 0);
    state->wait_begin_ns = -1;
}

/* It lands where a model lies that was put off: should the work end before the new one is whole, the old one must not be taken. */
void federated_client_announced(struct node *node)
{
    struct federated_state *state = node_state(node);
    state->pending = false;
    end_wait(node);
}

void federated_client_model(struct node *node, const struct message *message)
{
    struct federated_state *state = node_state(node);
    end_wait(node); /* the work may have ended while the model landed */
    state->received_version = message->header.step;
    state->received_assignment = message->header.index;
    if (state->policy->finishes && (state->generation || state->starved)) {
        state->pending = true;
        return;
    }
    give_up(node);
    take_model(node);
}

static void send_update(struct node *node)
{
    struct federated_state *state = node_state(node);
    const size_t count = node->setup->parameter_count;
    const bool differs = state->policy->differences && models(node);
    int64_t begin_ns = node_now(node);
    node_copy(node, state->update, differs ? state->base : state->model ? state->model : state->gradient, count);
    if (differs)
        node_axpy(node, state->update, -1, state->model, count);
    node_span(node, SPAN_REDUCE, state->version, begin_ns, node_now(node), -1, federated_bytes(node));
    const struct message_header header = {.kind = FEDERATED_UPDATE,
                                          .step = state->version,
                                          .index = state->assignment,
                                          .argument = (int64_t)(state->first_step + state->done - 1)};
    state->sending = true;
    node_send(node, node->setup->workers, &header, node_wrap(node, state->update, federated_bytes(node), 0), 0,
              federated_bytes(node));
}

static void wait_or_go_on(struct node *node)
{
    struct federated_state *state = node_state(node);
    if (state->pending)
        take_model(node);
    else
        state->wait_begin_ns = node_now(node);
}

static void begin_again(struct node *node)
{
    struct federated_state *state = node_state(node);
    state->done = 0;
    if (keeps_base(node))
        node_copy(node, state->model, state->base, node->setup->parameter_count);
    compute(node);
}

/* All steps are done: the update is sent, as soon as the last one has gone, or the client fails. */
static void report(struct node *node)
{
    struct federated_state *state = node_state(node);
    if (fails(node) && rng_uniform(&state->random) < node->setup->values[FEDERATED_DROPOUT]) {
        lose_work(node, state->first_step + state->done - 1);
        if (state->policy->resumes)
            begin_again(node);
        else
            wait_or_go_on(node);
        return;
    }
    state->starved = state->sending;
    if (state->starved)
        return;
    send_update(node);
    wait_or_go_on(node);
}

void federated_client_sent(struct node *node)
{
    struct federated_state *state = node_state(node);
    state->sending = false;
    if (!state->starved)
        return;
    state->starved = false;
    send_update(node);
    wait_or_go_on(node);
}

void federated_on_task(struct node *node, const struct task_result *result)
{
    struct federated_state *state = node_state(node);
    if (result->generation != state->generation || result->part != result->parts - 1)
        return;
    const uint64_t step = state->first_step + state->done++;
    state->generation = 0;
    if (models(node)) {
        int64_t begin_ns = node_now(node);
        node_update(node, state->model, state->gradient, 1, 0, node->setup->parameter_count, step);
        node_span(node, SPAN_APPLY, state->version, begin_ns, node_now(node), -1, federated_bytes(node));
    }
    if (state->done < period(node))
        compute(node);
    else
        report(node);
}

void federated_client_stop(struct node *node)
{
    struct federated_state *state = node_state(node);
    state->stopped = true;
    give_up(node);
    node_finished(node);
}

uint64_t federated_assignment_spans(const struct scheme_setup *setup)
{
    return 2 * (uint64_t)setup->values[FEDERATED_PERIOD] + 5; /* steps; receive, wait, make the update, send, and one given up */
}
