/* agents/schemes/ps_shard.c: the shard's half of a server's synchronous rounds: adds pieces of gradients in the order of workers,
 * takes the step, broadcasts; see ps_rounds.c. */
#include "agents/schemes/ps_internal.h"

static void shard_begin(struct node *node)
{
    struct ps_state *state = node_state(node);
    struct shard *shard = &state->shard;
    const bool more = shard->round < (uint64_t)node->setup->rounds;
    shard->taken = 0;
    shard->samples = 0;
    shard->arrivals = 0;
    for (int worker = 0; worker < node->setup->workers; worker++)
        shard->pieces[worker] = (struct piece){.expected = more};
    if (!more) {
        state->shard_over = true;
        ps_finish_if_over(node);
    }
}

static void shard_broadcast(struct node *node, float *vector, int contributors)
{
    struct ps_state *state = node_state(node);
    struct shard *shard = &state->shard;
    const int workers = node->setup->workers, others = workers - ps_colocated(node->setup);
    const size_t bytes = shard->count * sizeof(float);
    struct message_header header = {.kind = KIND_MODEL, .step = shard->round, .argument = contributors};
    if (others == 0)
        return;
    struct buffer *buffer = node_wrap(node, vector, bytes, KIND_MODEL);
    for (int i = 1; i < others; i++)
        node_hold(node, buffer); /* each send takes one reference */
    shard->in_flight += others;
    for (int i = 0; i < workers; i++) {
        const int worker = ps_colocated(node->setup) ? (node->index + i) % workers : i;
        if (worker != node->index)
            node_send(node, worker, &header, buffer, 0, bytes);
    }
}

static void piece_done(struct node *node, struct piece *piece)
{
    if (piece->held)
        node_release(node, piece->held);
    piece->held = NULL;
    piece->floats = NULL;
}

/* sum x unit += samples x piece, where all that came before is the sum or, alone, the first piece. */
static void shard_add(struct node *node, struct piece *piece, int worker)
{
    struct shard *shard = &((struct ps_state *)node_state(node))->shard;
    struct piece *first = &shard->first_piece;
    const float *before = first->floats ? first->floats : shard->sum;
    int64_t begin_ns = node_now(node);
    if (piece->samples == shard->unit) {
        node_add(node, shard->sum, before, piece->floats, shard->count);
    } else {
        if (shard->unit != 1 || first->floats)
            node_scale(node, shard->sum, (float)shard->unit, before, shard->count);
        shard->unit = 1;
        node_axpy(node, shard->sum, (float)piece->samples, piece->floats, shard->count);
    }
    node_span(node, SPAN_REDUCE, shard->round, begin_ns, node_now(node), worker == node->index ? -1 : worker,
              shard->count * sizeof(float));
    piece_done(node, first);
    piece_done(node, piece);
}

static void shard_take_piece(struct node *node, struct piece *piece, int worker)
{
    struct shard *shard = &((struct ps_state *)node_state(node))->shard;
    if (piece->samples == 0)
        return;
    if (shard->samples == 0) { /* it waits for the second one: no copy */
        shard->first_piece = *piece;
        shard->unit = piece->samples;
    } else {
        shard_add(node, piece, worker);
    }
    shard->samples += piece->samples;
}

static void shard_take_step(struct node *node)
{
    struct ps_state *state = node_state(node);
    struct shard *shard = &state->shard;
    struct allreduce_range range = {.first = shard->first, .count = shard->count};
    const bool beside_worker = node->role == ROLE_WORKER;
    const int contributors = shard->samples > 0 ? (int)(shard->samples / shard->unit) : 0;
    if (shard->first_piece.floats) {
        node_copy(node, shard->sum, shard->first_piece.floats, shard->count);
        piece_done(node, &shard->first_piece);
    }
    ps_apply(node, shard->model, shard->sum, contributors, &range, shard->round);
    shard_broadcast(node, shard->model ? shard->model : shard->sum, contributors);
    if (!beside_worker)
        node_round_finished(node, shard->round);
    shard->round++;
    shard_begin(node);
    if (beside_worker)
        ps_worker_has_own_piece(node);
}

/* Median and trimmed mean: all pieces are kept until the last one has come. */
static void shard_combine(struct node *node)
{
    struct shard *shard = &((struct ps_state *)node_state(node))->shard;
    const int workers = node->setup->workers;
    if ((int)shard->arrivals < workers)
        return;
    for (int worker = 0; worker < workers; worker++)
        shard->rows[worker] = shard->pieces[worker].floats;
    aggregate_run(node, shard->aggregate, shard->rows, workers, shard->count, shard->scratch, shard->sum, shard->round);
    for (int worker = 0; worker < workers; worker++)
        piece_done(node, &shard->pieces[worker]);
    shard->samples = aggregate_contributors(shard->aggregate, workers);
    shard->unit = 1;
    shard->taken = workers;
}

/* Takes every piece whose turn has come; with the last one, ends the round. */
static void shard_advance(struct node *node)
{
    struct ps_state *state = node_state(node);
    struct shard *shard = &state->shard;
    if (shard->in_flight > 0 || state->shard_over)
        return;
    if (shard->scratch)
        shard_combine(node);
    for (; shard->taken < node->setup->workers && !shard->scratch && shard->pieces[shard->taken].come; shard->taken++)
        shard_take_piece(node, &shard->pieces[shard->taken], shard->taken);
    if (shard->taken == node->setup->workers)
        shard_take_step(node);
}

bool ps_shard_accepts(const struct node *node, const struct message *message)
{
    const struct ps_state *state = node->state;
    const struct shard *shard = &state->shard;
    const int64_t samples = message->header.argument;
    const bool possible = state->policy->weighted ? samples >= 0 && samples <= INT32_MAX / node->setup->workers : samples == 1;
    return shard->count > 0 && message->source < node->setup->workers && message->header.step == shard->round && possible &&
           message->length == (samples > 0 ? shard->count * sizeof(float) : 0) && shard->pieces[message->source].expected;
}

void ps_shard_take(struct node *node, int worker, int64_t samples, const float *floats, struct buffer *held)
{
    struct shard *shard = &((struct ps_state *)node_state(node))->shard;
    if (shard->tells)
        node_gradient(node, &(struct gradient_record){.round = (uint32_t)shard->round,
                                                      .worker = (uint32_t)worker,
                                                      .step = shard->round,
                                                      .order = shard->arrivals,
                                                      .fate = samples > 0 ? GRADIENT_USED : GRADIENT_DROPPED,
                                                      .arrived_ns = node_now(node)});
    shard->arrivals++;
    shard->pieces[worker] = (struct piece){.floats = floats, .held = held, .samples = samples, .come = true};
    shard_advance(node);
}

void ps_shard_sent(struct node *node)
{
    ((struct ps_state *)node_state(node))->shard.in_flight--;
    shard_advance(node);
}

void ps_shard_prepare(struct node *node, int index)
{
    struct ps_state *state = node_state(node);
    struct shard *shard = &state->shard;
    const size_t workers = (size_t)node->setup->workers;
    struct allreduce_range range = ps_range(node->setup, index);
    const float *initial = node_initial_model(node);
    shard->first = range.first;
    shard->tells = index == 0;
    shard->count = range.count;
    shard->sum =
        node->role == ROLE_WORKER && !state->model ? state->received + range.first : node_alloc(node, range.count * sizeof(float));
    shard->aggregate = ps_aggregate(node->setup);
    if (shard->aggregate.kind != AGGREGATE_MEAN) {
        shard->scratch = aggregate_scratch(node, node->setup->workers);
        shard->rows = node_alloc(node, workers * sizeof(*shard->rows));
    }
    shard->pieces = node_alloc(node, workers * sizeof(*shard->pieces));
    if (initial && state->model) {
        shard->model = state->model + range.first;
    } else if (initial) {
        shard->model = node_alloc(node, range.count * sizeof(float));
        node_copy(node, shard->model, initial + range.first, range.count);
    }
    for (int worker = 0; worker < node->setup->workers; worker++) /* before the start: a quick worker's piece may come sooner */
        shard->pieces[worker].expected = node->setup->rounds > 0;
}
