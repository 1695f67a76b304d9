/* agents/schemes/ps_rounds.c: synchronous rounds of a parameter server, or several that hold a shard of the model each: what
 * `ps-sync` and `anytime` share. A scheme's row is a few lines: its `detail` is a struct ps_policy (ps_rounds.h).
 *
 * Source: M. Li et al., "Scaling distributed machine learning with the parameter server", OSDI 2014 (its consistency model
 * "sequential"; its servers are sharded by ranges of keys, as here by ranges of floats).
 *
 * Theory of operation. Workers are nodes 0 .. P-1. The model is cut into M shards. With `placement: dedicated` shard m lives on
 * node P + m, with `colocated` on worker m's node, beside the worker. Round r:
 *
 *     worker   computes its gradient at the model, sends each shard's piece of it to that shard, waits for all pieces of the model
 *     shard    adds the pieces in the order 0 .. P-1, takes the step w <- w - (eta/P) sum, sends its piece to every worker
 *     worker   receives the pieces in place: with the last one round r is finished, the next one begins
 *
 * The order of the sum is fixed, so its bits do not depend on who was fast. A piece that comes before its turn is held in its pool
 * buffer; the shard adds as soon as all before it have come, so that when the last one comes only the part of the sum behind it is
 * left. The first two are added in one pass: worker 0's piece needs no copy. A worker beside a shard hands its piece over where it
 * lies, and takes the step in its own model.
 *
 * Example, P = 3, M = 1, S = 12 MiB, arrivals in the order 1, 0, 2: 1 is held; 0 comes: sum = g0 + g1; 2 comes: sum += g2, step,
 * broadcast. The server receives P S = 36 MiB a round and sends as much; a worker S each way. With M = 3 colocated every node sends
 * and receives 2 x 4 MiB of gradients and as much of the model: 2 (P-1)/P S, as in a ring.
 *
 * Weights. Where the policy weighs gradients, a worker's gradient is the mean over as many samples b_i as it did, and that number
 * travels in the header of every piece. The shard's sum is then sum_i b_i g_i and the step w <- w - (eta / sum_i b_i) sum_i b_i
 * g_i. A worker that did no sample sends headers alone and counts nothing; a round without any sample leaves the model as it was.
 * While all weights so far are equal they are left out of the sum and of the count: equal weights give the bits of no weights.
 *
 * With `aggregate: median` or `trimmed-mean` (aggregate.h) a shard keeps the round's pieces, and combines them when the last one
 * has come. Coordinates are independent of each other, so what shards make of their pieces is what one server makes of the whole.
 *
 * A synthetic workload has no model: shards then broadcast the sum, and every worker checks it against the exact mean.
 *
 * Memory and bounds. A shard holds at most P pieces: a worker sends its next one only after the model, which the shard sends only
 * after it has added all. What is broadcast (model or sum) is not touched while a send of it is under way, so adding waits for the
 * last on_sent(); it has waited for nothing on the critical path, since the round's last piece comes later still. No deadlock: a
 * shard waits for workers' pieces only, and these for computing and for the broadcasts, which wait for nobody. */
#include <stdio.h>

#include "agents/predict.h"
#include "agents/schemes/ps_internal.h"
#include "base/err.h"

static int node_of_shard(const struct scheme_setup *setup, int shard)
{
    return ps_colocated(setup) ? shard : setup->workers + shard;
}

/* -1: none. */
static int shard_of_node(const struct scheme_setup *setup, int node)
{
    const int shard = ps_colocated(setup) ? node : node - setup->workers;
    return shard >= 0 && shard < ps_shards(setup) ? shard : -1;
}

struct allreduce_range ps_range(const struct scheme_setup *setup, int shard)
{
    return allreduce_cut(0, setup->parameter_count, (size_t)ps_shards(setup), (size_t)shard);
}

struct aggregate ps_aggregate(const struct scheme_setup *setup)
{
    const struct ps_policy *policy = setup->scheme->detail;
    return aggregate_of(policy->aggregate_parameter > 0 ? &setup->values[policy->aggregate_parameter - 1] : NULL);
}

static void refuse(struct node *node, const struct message *message)
{
    const struct ps_state *state = node_state(node);
    char sentence[256];
    snprintf(sentence, sizeof(sentence),
             "%s on node %d in round %llu refuses a message of kind %u, round %llu, %zu bytes, from node %d: it is unknown here or "
             "has come before; the nodes do not run the same scheme with the same parameters",
             node->setup->scheme->name, node->index, (unsigned long long)state->round, message->header.kind,
             (unsigned long long)message->header.step, message->length, message->source);
    node_fail(node, sentence);
}

void ps_finish_if_over(struct node *node)
{
    const struct ps_state *state = node_state(node);
    if (state->worker_over && state->shard_over)
        node_finished(node);
}

/* The world knows whole vectors: where one would begin of which `piece` holds the floats from `first` on. */
static float *as_whole(float *piece, size_t first)
{
    return (float *)((uintptr_t)piece - first * sizeof(float));
}

void ps_apply(struct node *node, float *model, float *sum, int contributors, const struct allreduce_range *range, uint64_t round)
{
    if (contributors == 0) /* nobody did a sample: the model stays */
        return;
    int64_t begin_ns = node_now(node);
    node_update(node, model ? as_whole(model, range->first) : NULL, as_whole(sum, range->first), contributors, range->first,
                range->count, round);
    node_span(node, SPAN_APPLY, round, begin_ns, node_now(node), -1, range->count * sizeof(float));
}

/* ---- worker ---- */

static void worker_begin(struct node *node)
{
    struct ps_state *state = node_state(node);
    if (state->round == (uint64_t)node->setup->rounds) {
        state->worker_over = true;
        ps_finish_if_over(node);
        return;
    }
    for (int shard = 0; shard < ps_shards(node->setup); shard++)
        state->awaited[shard] = ps_range(node->setup, shard).count > 0;
    state->missing = 0;
    for (int shard = 0; shard < ps_shards(node->setup); shard++)
        state->missing += state->awaited[shard];
    state->computing = true;
    struct task task = {
        .kind = TASK_GRADIENT, .step = state->round, .model = state->model, .gradient = state->gradient, .parts = 1};
    if (state->policy->bound_task)
        state->policy->bound_task(node, &task);
    state->generation = node_compute(node, &task);
}

static void worker_end_round(struct node *node)
{
    struct ps_state *state = node_state(node);
    if (state->computing || state->worker_over || state->missing > 0 || state->in_flight > 0)
        return;
    node_round_finished(node, state->round);
    state->round++;
    worker_begin(node);
}

static void worker_took_piece(struct node *node, int shard, int contributors)
{
    struct ps_state *state = node_state(node);
    struct allreduce_range range = ps_range(node->setup, shard);
    if (!state->model)
        ps_apply(node, NULL, state->received + range.first, contributors, &range, state->round);
    state->missing--;
    worker_end_round(node);
}

void ps_rounds_on_task(struct node *node, const struct task_result *result)
{
    struct ps_state *state = node_state(node);
    const struct scheme_setup *setup = node->setup;
    if (result->generation != state->generation || result->part != result->parts - 1)
        return;
    const int64_t samples = state->policy->weighted ? result->samples : 1;
    struct message_header header = {.kind = KIND_GRADIENT, .step = state->round, .argument = samples};
    state->computing = false;
    const int shards = ps_shards(setup), own = shard_of_node(setup, node->index);
    for (int i = 0; i < shards; i++) {
        const int shard = (node->index + 1 + i) % shards; /* not all workers begin with the same one */
        struct allreduce_range range = ps_range(setup, shard);
        if (shard == own || range.count == 0)
            continue;
        if (samples == 0) {
            node_send(node, node_of_shard(setup, shard), &header, NULL, 0, 0);
            continue;
        }
        state->in_flight++;
        node_send(node, node_of_shard(setup, shard), &header,
                  node_wrap(node, state->gradient + range.first, range.count * sizeof(float), KIND_GRADIENT), 0,
                  range.count * sizeof(float));
    }
    state->wait_begin_ns = node_now(node);
    if (own >= 0 && state->shard.count > 0)
        ps_shard_take(node, node->index, samples, state->gradient + state->shard.first, NULL);
}

void ps_worker_has_own_piece(struct node *node)
{
    struct ps_state *state = node_state(node);
    state->awaited[shard_of_node(node->setup, node->index)] = false;
    state->missing--;
    worker_end_round(node);
}

/* ---- both ---- */

void ps_rounds_prepare(struct node *node)
{
    struct ps_state *state = node_state(node);
    const size_t bytes = node->setup->parameter_count * sizeof(float);
    const float *initial = node_initial_model(node);
    const int shard = shard_of_node(node->setup, node->index);
    state->policy = node->setup->scheme->detail;
    if (node->role == ROLE_WORKER) {
        if (initial) {
            state->model = node_alloc(node, bytes);
            node_copy(node, state->model, initial, node->setup->parameter_count);
        }
        state->received = state->model ? state->model : node_alloc(node, bytes);
        state->gradient = node_alloc(node, bytes);
        state->awaited = node_alloc(node, (size_t)ps_shards(node->setup));
    }
    state->worker_over = node->role != ROLE_WORKER;
    if (shard >= 0)
        ps_shard_prepare(node, shard);
}

void ps_rounds_start(struct node *node)
{
    struct ps_state *state = node_state(node);
    state->shard_over = state->shard.count == 0 || node->setup->rounds == 0;
    if (node->role == ROLE_WORKER)
        worker_begin(node);
    else if (state->shard_over) { /* no rounds, or more shards than floats */
        for (int round = 0; round < node->setup->rounds; round++)
            node_round_finished(node, (uint64_t)round);
        node_finished(node);
    }
}

struct landing ps_rounds_on_header(struct node *node, const struct message *message)
{
    struct ps_state *state = node_state(node);
    const int source = shard_of_node(node->setup, message->source);
    if (message->header.kind == KIND_GRADIENT && ps_shard_accepts(node, message)) {
        state->shard.pieces[message->source].expected = false;
        return (struct landing){.kind = LAND_POOL};
    }
    if (message->header.kind == KIND_MODEL && source >= 0 && node->role == ROLE_WORKER && message->header.step == state->round &&
        !state->computing && state->awaited[source] && message->header.argument >= 0 && message->header.argument <= INT32_MAX &&
        message->length == ps_range(node->setup, source).count * sizeof(float)) {
        if (state->wait_begin_ns >= 0)
            node_span(node, SPAN_WAIT, state->round, state->wait_begin_ns, node_now(node), message->source, 0);
        state->wait_begin_ns = -1;
        state->awaited[source] = false;
        return (struct landing){.kind = LAND_INTO, .into = state->received + ps_range(node->setup, source).first};
    }
    refuse(node, message);
    return (struct landing){.kind = LAND_DISCARD};
}

void ps_rounds_on_message(struct node *node, const struct message *message)
{
    if (message->header.kind == KIND_MODEL) {
        worker_took_piece(node, shard_of_node(node->setup, message->source), (int)message->header.argument);
        return;
    }
    const int64_t samples = message->header.argument;
    if (samples > 0)
        node_hold(node, message->buffer);
    ps_shard_take(node, message->source, samples, message->payload, samples > 0 ? message->buffer : NULL);
}

void ps_rounds_on_sent(struct node *node, struct buffer *buffer, int destination)
{
    struct ps_state *state = node_state(node);
    (void)destination;
    if (buffer->tag == KIND_MODEL) {
        ps_shard_sent(node);
    } else {
        state->in_flight--;
        worker_end_round(node);
    }
}

/* A shard that is not alone has no whole model. */
const float *ps_rounds_model(struct node *node)
{
    const struct ps_state *state = node_state(node);
    return node->role == ROLE_WORKER ? state->model : ps_shards(node->setup) == 1 ? state->shard.model : NULL;
}

/* ---- what follows from a row ---- */

int ps_rounds_servers(int workers, const double *values)
{
    (void)workers;
    return values[PS_PLACEMENT] == PS_COLOCATED ? 0 : (int)values[PS_SERVERS];
}

int ps_rounds_check(const struct scheme_setup *setup, struct err *err)
{
    if (ps_shards(setup) < 1)
        return err_set(err, ERR_USAGE, "scheme '%s': found servers %d, allowed are 1 to 1000", setup->scheme->name,
                       ps_shards(setup));
    if (ps_colocated(setup) && ps_shards(setup) > setup->workers)
        return err_set(err, ERR_USAGE, "scheme '%s': found servers %d beside workers, allowed are 1 to %d, one a worker",
                       setup->scheme->name, ps_shards(setup), setup->workers);
    return aggregate_check(setup, ps_aggregate(setup), setup->workers, err);
}

int ps_rounds_tolerates(const struct scheme_setup *setup)
{
    return aggregate_tolerates(ps_aggregate(setup), setup->workers);
}

bool ps_rounds_talks(const struct scheme_setup *setup, int node, int peer)
{
    const bool node_serves = shard_of_node(setup, node) >= 0, peer_serves = shard_of_node(setup, peer) >= 0;
    return ps_colocated(setup) ? node_serves || peer_serves : node_serves != peer_serves;
}

/* A shard receives, adds and sends once a worker, and takes the step; a worker computes, sends, waits and receives. */
uint64_t ps_rounds_spans(const struct scheme_setup *setup, int node)
{
    uint64_t spans = shard_of_node(setup, node) >= 0 ? 3 * (uint64_t)setup->workers + 4 : 0;
    return spans + (node < setup->workers ? 3 * (uint64_t)ps_shards(setup) + 3 : 0);
}

/* The first shard tells; the pieces of others come at about the same time. */
uint64_t ps_rounds_gradients(const struct scheme_setup *setup, int node)
{
    return shard_of_node(setup, node) == 0 ? (uint64_t)setup->workers : 0;
}

void ps_rounds_predict(const struct scheme_setup *setup, struct prediction *prediction)
{
    if (!predict_begin(setup, prediction))
        return;
    const struct aggregate aggregate = ps_aggregate(setup);
    predict_server_round(setup, ps_shards(setup), ps_colocated(setup), prediction);
    if (aggregate.kind != AGGREGATE_MEAN) /* all of it is done after the last piece */
        prediction->reduce_ns = aggregate_cost(aggregate, setup->workers) * (double)ps_range(setup, 0).count * sizeof(float) *
                                setup->reduce_ns_per_byte;
    prediction->method = "seeded simulation";
    predict_end(prediction);
}

const char *const ps_placements[] = {[PS_DEDICATED] = "dedicated", [PS_COLOCATED] = "colocated", NULL};
