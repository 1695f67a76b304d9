/* agents/schemes/ps_sync.c: `ps-sync`, synchronous training with one parameter server.
 *
 * Source: M. Li et al., "Scaling distributed machine learning with the parameter server", OSDI 2014 (its consistency model
 * "sequential").
 *
 * Theory of operation. Workers are nodes 0 .. P-1, the server is node P. Round r:
 *
 *     worker   computes its gradient at the model, sends it to the server, waits for the model
 *     server   adds the gradients in the order 0 .. P-1, takes the step w <- w - (eta/P) sum, sends the model to every worker
 *     worker   receives the model in place: round r is finished, the next one begins
 *
 * The order of the sum is fixed, so its bits do not depend on who was fast. A gradient that comes before its turn is held in its
 * pool buffer; the server adds as soon as all before it have come, so that when the last one comes only the part of the sum
 * behind it is left. The first two are added in one pass: worker 0's gradient needs no copy.
 *
 * Example, P = 3, S = 12 MiB, arrivals in the order 1, 0, 2: 1 is held; 0 comes: sum = g0 + g1; 2 comes: sum += g2, step,
 * broadcast. The server receives P S = 36 MiB a round and sends as much; a worker S each way.
 *
 * A synthetic workload has no model: the server then broadcasts the sum, and every worker checks it against the exact mean.
 *
 * The broadcast is one message a worker, queued in the order 0 .. P-1 in every round. The flows share the server's link, so that
 * all copies end at about the same time, whatever their order.
 *
 * Memory and bounds. The server holds at most P gradients: a worker sends its next one only after the model, which the server
 * sends only after it has added all. What is broadcast (model or sum) is not touched while a send of it is under way: for a
 * model that follows from the same order, for a sum it does not (a fast worker's next gradient may come while a slow worker
 * still receives), so adding waits for the last on_sent() in any case; it has waited for nothing on the critical path, since the
 * round's last gradient comes later still. No deadlock: the server waits for workers' gradients only, and these for computing
 * and for the broadcast, which waits for nobody. */
#include "agents/schemes/schemes.h"

#include <stdio.h>

#include "agents/node.h"
#include "agents/predict.h"
#include "base/err.h"

enum { KIND_GRADIENT = 1, KIND_MODEL = 2 };
enum worker_phase { IDLE, COMPUTING, WAITING, RECEIVING, RECEIVED };

struct ps_sync_state {
    float *model;    /* NULL: synthetic, or values are not carried */
    float *received; /* worker: where the broadcast lands; the model where there is one */
    float *gradient; /* worker */
    float *sum;      /* server */
    uint64_t round;
    uint32_t generation; /* worker: of the running gradient */
    int in_flight;       /* sends that are not over: the worker's gradient, the server's broadcast */
    enum worker_phase phase;
    int64_t wait_begin_ns;
    /* server */
    struct buffer **held; /* [workers]: gradients that have come and are not added yet */
    bool *expected;       /* [workers]: this round's gradient has not come yet */
    int added;            /* the gradients of workers 0 .. added-1 are in the sum */
};

static void refuse(struct node *node, const struct message *message)
{
    const struct ps_sync_state *state = node_state(node);
    char sentence[256];
    snprintf(
        sentence, sizeof(sentence),
        "ps-sync on node %d in round %llu refuses a message of kind %u, round %llu, %zu bytes, from node %d: it is unknown here or "
        "has come before; the nodes do not run the same scheme with the same parameters",
        node->index, (unsigned long long)state->round, message->header.kind, (unsigned long long)message->header.step,
        message->length, message->source);
    node_fail(node, sentence);
}

static size_t vector_bytes(const struct node *node)
{
    return node->setup->parameter_count * sizeof(float);
}

static void apply(struct node *node, const float *sum)
{
    struct ps_sync_state *state = node_state(node);
    int64_t begin_ns = node_now(node);
    node_update(node, state->model, sum, node->setup->workers, 0, node->setup->parameter_count, state->round);
    node_span(node, SPAN_APPLY, state->round, begin_ns, node_now(node), -1, vector_bytes(node));
}

/* ---- worker ---- */

static void worker_begin(struct node *node)
{
    struct ps_sync_state *state = node_state(node);
    if (state->round == (uint64_t)node->setup->rounds) {
        node_finished(node);
        return;
    }
    state->phase = COMPUTING;
    state->generation = node_compute(
        node, &(struct task){
                  .kind = TASK_GRADIENT, .step = state->round, .model = state->model, .gradient = state->gradient, .parts = 1});
}

static void worker_end_round(struct node *node)
{
    struct ps_sync_state *state = node_state(node);
    if (state->phase != RECEIVED || state->in_flight > 0)
        return;
    state->phase = IDLE;
    state->round++;
    worker_begin(node);
}

static void on_task(struct node *node, const struct task_result *result)
{
    struct ps_sync_state *state = node_state(node);
    if (result->generation != state->generation || result->part != result->parts - 1)
        return;
    struct message_header header = {.kind = KIND_GRADIENT, .step = state->round};
    state->phase = WAITING;
    state->in_flight++;
    node_send(node, node->setup->workers, &header, node_wrap(node, state->gradient, vector_bytes(node), 0), 0, vector_bytes(node));
    state->wait_begin_ns = node_now(node);
}

static bool worker_accepts(const struct node *node, const struct ps_sync_state *state, const struct message *message)
{
    return message->source == node->setup->workers && message->header.kind == KIND_MODEL && message->header.step == state->round &&
           message->length == vector_bytes(node) && state->phase == WAITING;
}

static void worker_on_message(struct node *node)
{
    struct ps_sync_state *state = node_state(node);
    if (!state->model)
        apply(node, state->received);
    state->phase = RECEIVED;
    node_round_finished(node, state->round);
    worker_end_round(node);
}

/* ---- server ---- */

static void server_begin(struct node *node)
{
    struct ps_sync_state *state = node_state(node);
    const bool more = state->round < (uint64_t)node->setup->rounds;
    state->added = 0;
    for (int worker = 0; worker < node->setup->workers; worker++)
        state->expected[worker] = more;
}

static void server_broadcast(struct node *node, float *vector)
{
    struct ps_sync_state *state = node_state(node);
    const int workers = node->setup->workers;
    struct message_header header = {.kind = KIND_MODEL, .step = state->round};
    struct buffer *buffer = node_wrap(node, vector, vector_bytes(node), 0);
    for (int worker = 1; worker < workers; worker++)
        node_hold(node, buffer); /* each send takes one reference */
    state->in_flight += workers;
    for (int worker = 0; worker < workers; worker++)
        node_send(node, worker, &header, buffer, 0, vector_bytes(node));
}

static void server_add(struct node *node, const float *a, int worker)
{
    struct ps_sync_state *state = node_state(node);
    int64_t begin_ns = node_now(node);
    node_add(node, state->sum, a, state->held[worker]->bytes, node->setup->parameter_count);
    node_span(node, SPAN_REDUCE, state->round, begin_ns, node_now(node), worker, vector_bytes(node));
}

/* Adds every gradient whose turn has come; with the last one, ends the round. */
static void server_advance(struct node *node)
{
    struct ps_sync_state *state = node_state(node);
    const int workers = node->setup->workers;
    if (state->in_flight > 0)
        return;
    if (workers == 1 && state->held[0])
        node_copy(node, state->sum, state->held[0]->bytes, node->setup->parameter_count);
    else if (state->added == 0 && state->held[0] && state->held[1])
        server_add(node, state->held[0]->bytes, 1);
    else if (state->added == 0)
        return;
    for (int worker = state->added; worker < workers && state->held[worker]; worker++) {
        if (worker >= 2)
            server_add(node, state->sum, worker);
        node_release(node, state->held[worker]);
        state->held[worker] = NULL;
        state->added = worker + 1;
    }
    if (state->added < workers)
        return;
    apply(node, state->sum);
    server_broadcast(node, state->model ? state->model : state->sum);
    node_round_finished(node, state->round);
    state->round++;
    server_begin(node);
    if (state->round == (uint64_t)node->setup->rounds)
        node_finished(node);
}

static bool server_accepts(const struct node *node, const struct ps_sync_state *state, const struct message *message)
{
    return message->source < node->setup->workers && message->header.kind == KIND_GRADIENT &&
           message->header.step == state->round && message->length == vector_bytes(node) && state->expected[message->source];
}

static void server_on_message(struct node *node, const struct message *message)
{
    struct ps_sync_state *state = node_state(node);
    node_hold(node, message->buffer);
    state->held[message->source] = message->buffer;
    server_advance(node);
}

/* ---- both ---- */

static void prepare_node(struct node *node)
{
    struct ps_sync_state *state = node_state(node);
    const size_t bytes = vector_bytes(node);
    const float *initial = node_initial_model(node);
    if (initial) {
        state->model = node_alloc(node, bytes);
        node_copy(node, state->model, initial, node->setup->parameter_count);
    }
    if (node->role == ROLE_WORKER) {
        state->received = state->model ? state->model : node_alloc(node, bytes);
        state->gradient = node_alloc(node, bytes);
        return;
    }
    state->sum = node_alloc(node, bytes);
    state->held = node_alloc(node, (size_t)node->setup->workers * sizeof(*state->held));
    state->expected = node_alloc(node, (size_t)node->setup->workers * sizeof(*state->expected));
    server_begin(node);
}

static void start(struct node *node)
{
    if (node->role == ROLE_WORKER)
        worker_begin(node);
    else if (node->setup->rounds == 0)
        node_finished(node);
}

static struct landing on_header(struct node *node, const struct message *message)
{
    struct ps_sync_state *state = node_state(node);
    if (node->role == ROLE_SERVER) {
        if (server_accepts(node, state, message)) {
            state->expected[message->source] = false;
            return (struct landing){.kind = LAND_POOL};
        }
    } else if (worker_accepts(node, state, message)) {
        node_span(node, SPAN_WAIT, state->round, state->wait_begin_ns, node_now(node), message->source, 0);
        state->phase = RECEIVING;
        return (struct landing){.kind = LAND_INTO, .into = state->received};
    }
    refuse(node, message);
    return (struct landing){.kind = LAND_DISCARD};
}

static void on_message(struct node *node, const struct message *message)
{
    if (node->role == ROLE_SERVER)
        server_on_message(node, message);
    else
        worker_on_message(node);
}

static void on_sent(struct node *node, struct buffer *buffer)
{
    struct ps_sync_state *state = node_state(node);
    (void)buffer;
    state->in_flight--;
    if (node->role == ROLE_SERVER)
        server_advance(node);
    else
        worker_end_round(node);
}

static const float *model_to_evaluate(struct node *node)
{
    return ((struct ps_sync_state *)node_state(node))->model;
}

static int servers(int workers, const double *values)
{
    (void)workers;
    (void)values;
    return 1;
}

static bool talks(const struct scheme_setup *setup, int node, int peer)
{
    return (node == setup->workers) != (peer == setup->workers);
}

/* The server receives, adds and sends once a worker, and takes the step; a worker computes, sends, waits and receives. */
static uint64_t spans_a_round(const struct scheme_setup *setup, int node)
{
    return node == setup->workers ? 3 * (uint64_t)setup->workers + 4 : 6;
}

static void predict(const struct scheme_setup *setup, struct prediction *prediction)
{
    if (!predict_begin(setup, prediction))
        return;
    predict_server_round(setup, prediction);
    prediction->method = "seeded simulation";
    predict_end(prediction);
}

const struct scheme scheme_ps_sync = {
    .name = "ps-sync",
    .summary = "one parameter server sums every worker's gradient each round",
    .source = "Li et al., Scaling distributed machine learning with the parameter server, OSDI 2014",
    .formula = "2 alpha + P S/B_s + E[max_k(X_{k:P} + (P-k+1) S/B_s)] + the part of the sum that is left after the last gradient",
    .family = FAMILY_SERVER,
    .state_bytes = sizeof(struct ps_sync_state),
    .servers = servers,
    .talks = talks,
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
