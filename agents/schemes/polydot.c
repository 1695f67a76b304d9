/* agents/schemes/polydot.c: `polydot`, training with coded matrix products: a master takes the steps, workers multiply encoded
 * blocks.
 *
 * Source: S. Dutta et al., polynomial codes named in polydot_code.h, which has the code and its threshold K = mnp + p - 1.
 *
 * Theory of operation. The master is node P, a dedicated server; workers are nodes 0 .. P-1 and hold neither data nor model. A step
 * is the products of polydot_step.h, one after the other. For each the master cuts both factors into blocks, encodes them at every
 * worker's point and sends each worker its two blocks in one message (JOB). A worker multiplies them, which takes a drawn time X,
 * and returns the block (RESULT). From the first K results the master decodes the product and goes on. What comes later is dropped,
 * and told (gradient_record: late). A worker that gets its next job gives up the one it has (cancelled).
 *
 * A job is not encoded for a worker whose last one has not left yet: it gets the current one when it has. So a slow link holds up
 * one worker, and at most one buffer a worker is out.
 *
 * A round is a step. Rounds are over at the master; workers hear of them by their next job.
 *
 * Bytes a step: jobs to each worker, for a product (a x b)(b x c) 4 b/p (a/m + c/n), blocks rounded up; back from each worker that
 * is not told to stop before, 4 a/m c/n. Example: batch 64, 784 inputs, 10 classes, m = 2, n = p = 1: forward 4 x 784 x (32 + 10) =
 * 131,712 bytes to each worker and 4 x 32 x 10 = 1,280 back.
 *
 * No deadlock: K of the workers that live always come to have the current job, since jobs only wait for earlier ones to leave, and
 * a worker's job only for results of its own to leave. */
#include <inttypes.h>
#include <stdio.h>

#include "agents/node.h"
#include "agents/schemes/polydot_internal.h"
#include "agents/schemes/schemes.h"
#include "agents/schemes/server_rounds.h"

/* ---- both ---- */

uint64_t polydot_job_number(const struct polydot_state *state, uint64_t step, int product)
{
    return step * (uint64_t)state->products + (uint64_t)product + 1;
}

struct polydot_shape polydot_shape_of(const struct node *node, int product)
{
    const struct polydot_state *state = node->state;
    return polydot_step_shape(node->setup, state->code, product);
}

void polydot_tell(struct node *node, uint64_t step, int product, int worker, int order, enum gradient_fate fate)
{
    const struct polydot_state *state = node_state(node);
    node_gradient(node, &(struct gradient_record){.round = (uint32_t)state->step,
                                                  .worker = (uint32_t)worker,
                                                  .step = polydot_job_number(state, step, product) - 1,
                                                  .staleness = (uint32_t)(state->step - step),
                                                  .order = (uint32_t)order,
                                                  .fate = fate,
                                                  .arrived_ns = node_now(node)});
}

void polydot_end_wait(struct node *node, int peer)
{
    struct polydot_state *state = node_state(node);
    if (state->wait_begin_ns >= 0)
        node_span(node, SPAN_WAIT, state->step, state->wait_begin_ns, node_now(node), peer, 0);
    state->wait_begin_ns = -1;
}

/* ---- master ---- */

static bool master_busy(const struct polydot_state *state, int worker)
{
    const struct client *client = &state->clients[worker];
    return client->lost || client->sending || client->job == polydot_job_number(state, state->step, state->product);
}

static void master_send_job(struct node *node, int worker, const struct polydot_shape *shape)
{
    struct polydot_state *state = node_state(node);
    if (master_busy(state, worker))
        return;
    const size_t bytes = polydot_shape_job_bytes(shape);
    struct buffer *buffer = node_buffer(node, bytes);
    if (node_arithmetic(node, polydot_shape_encode_floats(shape)) && node->setup->trained) {
        struct polydot_view left, right;
        const double point = polydot_point(node->setup->workers, worker);
        float *out = buffer->bytes;
        polydot_step_factors(&state->training, node->setup, state->product, &left, &right);
        polydot_encode_left(state->code, left, point, out);
        polydot_encode_right(state->code, right, point, out + (size_t)shape->block_rows * (size_t)shape->block_inner);
    }
    state->clients[worker].sending = true;
    state->clients[worker].job = polydot_job_number(state, state->step, state->product);
    const struct message_header header = {.kind = KIND_JOB, .index = (uint32_t)state->product, .step = state->step};
    node_send(node, worker, &header, buffer, 0, bytes);
}

static void master_send_jobs(struct node *node, int first, int end)
{
    struct polydot_state *state = node_state(node);
    const struct polydot_shape shape = polydot_shape_of(node, state->product);
    const int64_t begin_ns = node_now(node);
    for (int worker = first; worker < end; worker++)
        master_send_job(node, worker, &shape);
    node_span(node, SPAN_REDUCE, state->step, begin_ns, node_now(node), -1,
              (uint64_t)(end - first) * polydot_shape_job_bytes(&shape));
}

static void master_begin_product(struct node *node)
{
    struct polydot_state *state = node_state(node);
    state->collected = state->arrived = 0;
    master_send_jobs(node, 0, node->setup->workers);
    state->wait_begin_ns = node_now(node);
}

static void master_begin_step(struct node *node)
{
    struct polydot_state *state = node_state(node);
    if (state->step == (uint64_t)node->setup->rounds) {
        state->stopped = true;
        for (int worker = 0; worker < node->setup->workers; worker++)
            if (!state->clients[worker].lost)
                node_send(node, worker, &(struct message_header){.kind = KIND_STOP, .step = state->step}, NULL, 0, 0);
        node_finished(node);
        return;
    }
    state->product = 0;
    polydot_step_begin(&state->training, node, state->step);
    master_begin_product(node);
}

static void master_decode(struct node *node)
{
    struct polydot_state *state = node_state(node);
    const struct scheme_setup *setup = node->setup;
    const struct polydot_shape shape = polydot_shape_of(node, state->product);
    const float *products[POLYDOT_THRESHOLD_MAX];
    double points[POLYDOT_THRESHOLD_MAX];
    struct polydot_decoder decoder;
    if (!node_arithmetic(node, polydot_shape_decode_floats(&shape, state->code)) || !setup->trained)
        return;
    for (int i = 0; i < state->threshold; i++) {
        products[i] = state->results[i]->bytes;
        points[i] = polydot_point(setup->workers, state->from[i]);
    }
    polydot_decoder_init(&decoder, state->code, points);
    polydot_decode(&decoder, state->code, products, shape.rows, shape.columns,
                   polydot_step_result(&state->training, setup, state->product));
}

static void master_finish_step(struct node *node)
{
    struct polydot_state *state = node_state(node);
    const size_t count = node->setup->parameter_count;
    const int64_t begin_ns = node_now(node);
    node_update(node, state->training.model, state->training.gradient, 1, 0, count, state->step);
    node_span(node, SPAN_APPLY, state->step, begin_ns, node_now(node), -1, count * sizeof(float));
    node_round_finished(node, state->step);
    state->step++;
    master_begin_step(node);
}

static void master_finish_product(struct node *node, int source)
{
    struct polydot_state *state = node_state(node);
    polydot_end_wait(node, source);
    const int64_t begin_ns = node_now(node);
    master_decode(node);
    polydot_step_go_on(&state->training, node, state->product);
    const struct polydot_shape shape = polydot_shape_of(node, state->product);
    node_span(node, SPAN_REDUCE, state->step, begin_ns, node_now(node), -1,
              (uint64_t)state->threshold * polydot_shape_result_bytes(&shape));
    for (int i = 0; i < state->threshold; i++)
        node_release(node, state->results[i]);
    if (++state->product < state->products)
        master_begin_product(node);
    else
        master_finish_step(node);
}

static bool master_wants(const struct polydot_state *state, const struct message_header *header)
{
    return !state->stopped && header->step == state->step && header->index == (uint32_t)state->product;
}

/* Kept in the order of workers: the sum's order, and so its bits, do not depend on who was first. */
static void master_take(struct node *node, const struct message *message)
{
    struct polydot_state *state = node_state(node);
    bool taken = false; /* two products at one point say no more than one */
    for (int i = 0; i < state->collected; i++)
        taken = taken || state->from[i] == message->source;
    if (taken || !master_wants(state, &message->header)) { /* others were faster while it landed */
        polydot_tell(node, message->header.step, (int)message->header.index, message->source, 0, GRADIENT_LATE);
        return;
    }
    int place = state->collected++;
    for (; place > 0 && state->from[place - 1] > message->source; place--) {
        state->from[place] = state->from[place - 1];
        state->results[place] = state->results[place - 1];
    }
    state->from[place] = message->source;
    state->results[place] = message->buffer;
    node_hold(node, message->buffer);
    polydot_tell(node, message->header.step, (int)message->header.index, message->source, state->arrived++, GRADIENT_USED);
    if (state->collected == state->threshold)
        master_finish_product(node, message->source);
}

/* ---- callbacks ---- */

static void prepare_node(struct node *node)
{
    struct polydot_state *state = node_state(node);
    const struct scheme_setup *setup = node->setup;
    state->code = polydot_code_of(setup);
    state->threshold = polydot_threshold(state->code);
    state->products = polydot_step_products(setup);
    state->wait_begin_ns = -1;
    state->held = NOTHING;
    state->alive = setup->workers;
    if (node->role == ROLE_SERVER) {
        state->clients = node_alloc(node, (size_t)setup->workers * sizeof(*state->clients));
        polydot_step_prepare(&state->training, node);
        return;
    }
    size_t job_bytes = 0, block_bytes = 0;
    for (int product = 0; product < state->products; product++) {
        const struct polydot_shape shape = polydot_shape_of(node, product);
        const size_t job = polydot_shape_job_bytes(&shape), block = polydot_shape_result_bytes(&shape);
        job_bytes = job > job_bytes ? job : job_bytes;
        block_bytes = block > block_bytes ? block : block_bytes;
    }
    for (int i = 0; i < BUFFERS; i++) {
        state->jobs[i] = node_alloc(node, job_bytes);
        state->blocks[i] = node_alloc(node, block_bytes);
    }
}

static void start(struct node *node)
{
    struct polydot_state *state = node_state(node);
    if (node->role == ROLE_SERVER)
        master_begin_step(node);
    else
        state->wait_begin_ns = node_now(node);
}

static struct landing refuse(struct node *node, const struct message *message)
{
    char sentence[200];
    snprintf(sentence, sizeof(sentence),
             "polydot on node %d refuses a message of kind %u, product %" PRIu32 ", step %" PRIu64
             ", %zu bytes, from node %d: the nodes do not run the same scheme",
             node->index, message->header.kind, message->header.index, message->header.step, message->length, message->source);
    node_fail(node, sentence);
    return (struct landing){.kind = LAND_DISCARD};
}

static struct landing on_header(struct node *node, const struct message *message)
{
    struct polydot_state *state = node_state(node);
    const struct message_header *header = &message->header;
    const bool master = node->role == ROLE_SERVER;
    const int peers = node->setup->workers;
    if (!master && header->kind == KIND_STOP && message->source == peers && message->length == 0)
        return (struct landing){.kind = LAND_POOL};
    if (header->index >= (uint32_t)state->products || header->step >= (uint64_t)node->setup->rounds)
        return refuse(node, message);
    const struct polydot_shape shape = polydot_shape_of(node, (int)header->index);
    if (!master && header->kind == KIND_JOB && message->source == peers && message->length == polydot_shape_job_bytes(&shape) &&
        header->step >= state->step) {
        state->landing = state->held == 0 ? 1 : 0;
        return (struct landing){.kind = LAND_INTO, .into = state->jobs[state->landing]};
    }
    if (!master || header->kind != KIND_RESULT || message->source >= peers || header->step > state->step ||
        message->length != polydot_shape_result_bytes(&shape))
        return refuse(node, message);
    if (master_wants(state, header))
        return (struct landing){.kind = LAND_POOL};
    polydot_tell(node, header->step, (int)header->index, message->source, 0, GRADIENT_LATE);
    return (struct landing){.kind = LAND_DISCARD};
}

static void on_message(struct node *node, const struct message *message)
{
    if (node->role == ROLE_SERVER)
        master_take(node, message);
    else if (message->header.kind == KIND_JOB)
        polydot_worker_take(node, message);
    else
        polydot_worker_stop(node, message);
}

static void on_sent(struct node *node, struct buffer *buffer, int destination)
{
    struct polydot_state *state = node_state(node);
    if (node->role == ROLE_WORKER) {
        state->leaving[buffer->tag] = false;
        polydot_worker_begin(node);
        return;
    }
    state->clients[destination].sending = false;
    if (!state->stopped && !master_busy(state, destination))
        master_send_jobs(node, destination, destination + 1);
}

static void on_peer(struct node *node, int peer, enum peer_state peer_state)
{
    struct polydot_state *state = node_state(node);
    if (peer_state != PEER_LOST || state->stopped)
        return;
    if (node->role == ROLE_WORKER) {
        if (peer == node->setup->workers)
            node_fail(node, "the master is lost");
        return;
    }
    state->clients[peer].lost = true;
    if (--state->alive >= state->threshold)
        return;
    char sentence[160];
    snprintf(sentence, sizeof(sentence), "worker %d is lost: %d %s left, and decoding a product needs %d", peer, state->alive,
             state->alive == 1 ? "is" : "are", state->threshold);
    node_fail(node, sentence);
}

static const float *model_to_evaluate(struct node *node)
{
    return ((struct polydot_state *)node_state(node))->training.model;
}

const struct scheme scheme_polydot = {
    .name = "polydot",
    .summary = "a master trains; workers multiply encoded blocks of its matrices, and the first mnp + p - 1 make a product",
    .source = "Dutta et al., On the optimal recovery threshold of coded matrix multiplication, IEEE Trans. Inf. Theory 2020",
    .formula = "sum over the 3L - 1 products of a step: N jobs through the master's link, E[X_{K:N}], results; by simulation",
    .family = FAMILY_CODED,
    .flags = SCHEME_ROUNDS_AT_SERVER | SCHEME_SURVIVES_PEER_LOSS | SCHEME_NEEDS_BATCHES,
    .params = polydot_params,
    .param_count = POLYDOT_PARAMS,
    .state_bytes = sizeof(struct polydot_state),
    .servers = server_rounds_servers,
    .check = polydot_check,
    .talks = server_rounds_talks,
    .spans_a_round = polydot_spans,
    .gradients_a_round = polydot_gradients,
    .prepare_node = prepare_node,
    .start = start,
    .on_task = polydot_on_task,
    .on_header = on_header,
    .on_message = on_message,
    .on_sent = on_sent,
    .on_peer = on_peer,
    .model_to_evaluate = model_to_evaluate,
    .predict = polydot_predict,
};
