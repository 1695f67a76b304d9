/* agents/schemes/easgd.c: `easgd`, asynchronous elastic averaging: workers train models of their own, tied to a centre by a spring.
 *
 * Source: S. Zhang, A. Choromanska, Y. LeCun, "Deep learning with elastic averaging SGD", NIPS 2015, algorithm 1 (asynchronous).
 *
 * Theory of operation. Workers are nodes 0 .. P-1, the server with the centre c is node P. Worker i takes `period` steps of its own
 * model x_i, then sends it; the server answers with its centre as it was, and both move towards each other:
 *
 *     e = alpha (x_i - c)      x_i <- x_i - e      c <- c + e      alpha = beta / P
 *
 * An exchange is a round: one update of the centre. After the last one the server stops everyone.
 *
 * Example, P = 2, beta = 0.9: alpha = 0.45; x_0 = 2, c = 1: e = 0.45; x_0 = 1.55, c = 1.45.
 *
 * A synthetic workload has no model: the last gradient travels in its place, and the server checks it. Bytes: S each way an
 * exchange. No deadlock: a worker waits for an answer that waits for nobody. */
#include <stdio.h>

#include "agents/node.h"
#include "agents/schemes/schemes.h"
#include "agents/schemes/server_rounds.h"
#include "base/err.h"

enum { KIND_MODEL = 1, KIND_CENTRE, KIND_STOP };
enum { PERIOD, BETA };

struct easgd_state {
    float *model;             /* a worker's own, the server's centre; NULL: synthetic */
    float *gradient, *centre; /* worker */
    uint64_t steps, round;
    uint32_t generation;
    int64_t wait_begin_ns; /* -1: not waiting */
    bool sending, answered, stopped;
};

static size_t vector_bytes(const struct node *node)
{
    return node->setup->parameter_count * sizeof(float);
}

static double alpha(const struct node *node)
{
    return node->setup->values[BETA] / node->setup->workers;
}

static void refuse(struct node *node, const struct message *message)
{
    char sentence[200];
    snprintf(
        sentence, sizeof(sentence),
        "easgd on node %d refuses a message of kind %u, %zu bytes, from node %d: it is unknown here; the nodes do not run the same "
        "scheme",
        node->index, message->header.kind, message->length, message->source);
    node_fail(node, sentence);
}

/* ---- worker ---- */

static void worker_compute(struct node *node)
{
    struct easgd_state *state = node_state(node);
    if (state->stopped)
        return;
    state->generation = node_compute(
        node, &(struct task){
                  .kind = TASK_GRADIENT, .step = state->steps, .model = state->model, .gradient = state->gradient, .parts = 1});
}

static void on_task(struct node *node, const struct task_result *result)
{
    struct easgd_state *state = node_state(node);
    if (result->generation != state->generation || result->part != result->parts - 1)
        return;
    state->generation = 0;
    if (state->model) {
        int64_t begin_ns = node_now(node);
        node_update(node, state->model, state->gradient, 1, 0, node->setup->parameter_count, state->steps);
        node_span(node, SPAN_APPLY, state->round, begin_ns, node_now(node), -1, vector_bytes(node));
    }
    state->steps++;
    if (state->steps % (uint64_t)node->setup->values[PERIOD] != 0) {
        worker_compute(node);
        return;
    }
    struct message_header header = {.kind = KIND_MODEL, .step = state->steps - 1};
    float *vector = state->model ? state->model : state->gradient;
    state->sending = true;
    state->answered = false;
    node_send(node, node->setup->workers, &header, node_wrap(node, vector, vector_bytes(node), 0), 0, vector_bytes(node));
    state->wait_begin_ns = node_now(node);
}

/* x <- (1 - alpha) x + alpha c, once the answer is there and the own vector has gone. */
static void worker_move(struct node *node)
{
    struct easgd_state *state = node_state(node);
    if (state->sending || !state->answered || state->stopped || state->round == (uint64_t)node->setup->rounds)
        return; /* after the last exchange STOP follows */
    state->answered = false;
    if (state->model) {
        const float pull = (float)alpha(node);
        int64_t begin_ns = node_now(node);
        node_scale(node, state->model, 1 - pull, state->model, node->setup->parameter_count);
        node_axpy(node, state->model, pull, state->centre, node->setup->parameter_count);
        node_span(node, SPAN_APPLY, state->round, begin_ns, node_now(node), -1, vector_bytes(node));
    }
    worker_compute(node);
}

/* ---- server ---- */

static void server_stop(struct node *node)
{
    ((struct easgd_state *)node_state(node))->stopped = true;
    for (int worker = 0; worker < node->setup->workers; worker++)
        node_send(node, worker, &(struct message_header){.kind = KIND_STOP}, NULL, 0, 0);
    node_finished(node);
}

static void server_exchange(struct node *node, const struct message *message)
{
    struct easgd_state *state = node_state(node);
    const size_t count = node->setup->parameter_count;
    if (state->stopped)
        return;
    struct buffer *answer = node_buffer(node, vector_bytes(node));
    int64_t begin_ns = node_now(node);
    node_copy(node, answer->bytes, state->model ? state->model : message->payload, count);
    if (state->model) {
        const float pull = (float)alpha(node);
        node_scale(node, state->model, 1 - pull, state->model, count);
        node_axpy(node, state->model, pull, message->payload, count);
    } else {
        node_update(node, NULL, message->payload, 1, 0, count, message->header.step);
    }
    node_span(node, SPAN_APPLY, state->round, begin_ns, node_now(node), message->source, vector_bytes(node));
    node_round_finished(node, state->round);
    state->round++;
    struct message_header header = {.kind = KIND_CENTRE, .step = state->round};
    node_send(node, message->source, &header, answer, 0, vector_bytes(node));
    if (state->round == (uint64_t)node->setup->rounds)
        server_stop(node);
}

/* ---- both ---- */

static void prepare_node(struct node *node)
{
    struct easgd_state *state = node_state(node);
    const float *initial = node_initial_model(node);
    state->wait_begin_ns = -1;
    if (initial) {
        state->model = node_alloc(node, vector_bytes(node));
        node_copy(node, state->model, initial, node->setup->parameter_count);
    }
    if (node->role == ROLE_WORKER) {
        state->gradient = node_alloc(node, vector_bytes(node));
        state->centre = node_alloc(node, vector_bytes(node));
    }
}

static void start(struct node *node)
{
    if (node->role == ROLE_WORKER)
        worker_compute(node);
    else if (node->setup->rounds == 0)
        server_stop(node);
}

static struct landing on_header(struct node *node, const struct message *message)
{
    struct easgd_state *state = node_state(node);
    const unsigned kind = message->header.kind;
    if (node->role == ROLE_SERVER) {
        if (kind == KIND_MODEL && message->source < node->setup->workers && message->length == vector_bytes(node))
            return (struct landing){.kind = LAND_POOL};
    } else if (message->source == node->setup->workers) {
        if (kind == KIND_STOP && message->length == 0)
            return (struct landing){.kind = LAND_POOL};
        if (kind == KIND_CENTRE && message->length == vector_bytes(node) && state->wait_begin_ns >= 0) {
            node_span(node, SPAN_WAIT, state->round, state->wait_begin_ns, node_now(node), message->source, 0);
            state->wait_begin_ns = -1;
            return (struct landing){.kind = LAND_INTO, .into = state->centre};
        }
    }
    refuse(node, message);
    return (struct landing){.kind = LAND_DISCARD};
}

static void on_message(struct node *node, const struct message *message)
{
    struct easgd_state *state = node_state(node);
    if (node->role == ROLE_SERVER) {
        server_exchange(node, message);
    } else if (message->header.kind == KIND_CENTRE) {
        if (message->header.step > state->round) {
            state->round = message->header.step;
            node_round_finished(node, state->round - 1);
        }
        state->answered = true;
        worker_move(node);
    } else {
        state->stopped = true;
        if (state->generation)
            node_cancel(node, state->generation);
        node_finished(node);
    }
}

static void on_sent(struct node *node, struct buffer *buffer, int destination)
{
    (void)buffer;
    (void)destination;
    if (node->role == ROLE_SERVER)
        return;
    ((struct easgd_state *)node_state(node))->sending = false;
    worker_move(node);
}

static const float *model_to_evaluate(struct node *node)
{
    return ((struct easgd_state *)node_state(node))->model;
}

/* An exchange is a receive, an apply and a send at the server; at a worker a period of gradients and steps, and the exchange. */
static uint64_t spans_a_round(const struct scheme_setup *setup, int node)
{
    return node == setup->workers ? 4 : 2 * (uint64_t)setup->values[PERIOD] + 5;
}

static void predict(const struct scheme_setup *setup, struct prediction *prediction)
{
    static const struct server_policy exchange = {.distinct = true};
    server_rounds_predict_policy(setup, &exchange, 1, (int)setup->values[PERIOD], prediction);
}

static const struct param params[] = {
    [PERIOD] = {.name = "period",
                .unit = PARAM_COUNT,
                .minimum = 1,
                .maximum = 1000000,
                .standard = 10,
                .help = "steps of a worker's own model between exchanges with the centre"},
    [BETA] = {.name = "beta",
              .unit = PARAM_NUMBER,
              .minimum = 0,
              .maximum = 1,
              .standard = 0.9,
              .help = "strength of all springs together: each worker's is beta / P"},
};

const struct scheme scheme_easgd = {
    .name = "easgd",
    .summary = "workers train models of their own; every `period` steps one of them and the centre move towards each other",
    .source = "Zhang, Choromanska and LeCun, Deep learning with elastic averaging SGD, NIPS 2015",
    .formula = "period E[X]/P for an exchange, or what S/B_s allows",
    .family = FAMILY_SERVER,
    .flags = SCHEME_ROUNDS_AT_SERVER | SCHEME_ASYNCHRONOUS,
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    .state_bytes = sizeof(struct easgd_state),
    .servers = server_rounds_servers,
    .talks = server_rounds_talks,
    .spans_a_round = spans_a_round,
    .prepare_node = prepare_node,
    .start = start,
    .on_task = on_task,
    .on_header = on_header,
    .on_message = on_message,
    .on_sent = on_sent,
    .model_to_evaluate = model_to_evaluate,
    .predict = predict,
};
