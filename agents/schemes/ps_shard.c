/* agents/schemes/ps_shard.c: the shard's half of ps-sync: adds pieces of gradients in the order of workers, takes the step,
 * broadcasts; see ps_sync.c. */
#include "agents/schemes/ps_internal.h"

static void shard_begin(struct node *node)
{
    struct ps_sync_state *state = node_state(node);
    struct shard *shard = &state->shard;
    const bool more = shard->round < (uint64_t)node->setup->rounds;
    shard->added = 0;
    shard->arrivals = 0;
    for (int worker = 0; worker < node->setup->workers; worker++)
        shard->expected[worker] = more;
    if (!more) {
        state->shard_over = true;
        ps_finish_if_over(node);
    }
}

static void shard_broadcast(struct node *node, float *vector)
{
    struct ps_sync_state *state = node_state(node);
    struct shard *shard = &state->shard;
    const int workers = node->setup->workers, others = workers - ps_colocated(node->setup);
    const size_t bytes = shard->count * sizeof(float);
    struct message_header header = {.kind = KIND_MODEL, .step = shard->round};
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

static void shard_add(struct node *node, const float *a, int worker)
{
    struct shard *shard = &((struct ps_sync_state *)node_state(node))->shard;
    int64_t begin_ns = node_now(node);
    node_add(node, shard->sum, a, shard->pieces[worker], shard->count);
    node_span(node, SPAN_REDUCE, shard->round, begin_ns, node_now(node), worker == node->index ? -1 : worker,
              shard->count * sizeof(float));
}

static void shard_take_step(struct node *node)
{
    struct ps_sync_state *state = node_state(node);
    struct shard *shard = &state->shard;
    struct allreduce_range range = {.first = shard->first, .count = shard->count};
    const bool beside_worker = node->role == ROLE_WORKER;
    ps_apply(node, shard->model, shard->sum, &range, shard->round);
    shard_broadcast(node, shard->model ? shard->model : shard->sum);
    if (!beside_worker)
        node_round_finished(node, shard->round);
    shard->round++;
    shard_begin(node);
    if (beside_worker)
        ps_worker_has_own_piece(node);
}

/* Adds every piece whose turn has come; with the last one, ends the round. */
static void shard_advance(struct node *node)
{
    struct shard *shard = &((struct ps_sync_state *)node_state(node))->shard;
    const int workers = node->setup->workers;
    if (shard->in_flight > 0)
        return;
    if (workers == 1 && shard->pieces[0])
        node_copy(node, shard->sum, shard->pieces[0], shard->count);
    else if (shard->added == 0 && shard->pieces[0] && shard->pieces[1])
        shard_add(node, shard->pieces[0], 1);
    else if (shard->added == 0)
        return;
    for (int worker = shard->added; worker < workers && shard->pieces[worker]; worker++) {
        if (worker >= 2)
            shard_add(node, shard->sum, worker);
        if (shard->held[worker])
            node_release(node, shard->held[worker]);
        shard->held[worker] = NULL;
        shard->pieces[worker] = NULL;
        shard->added = worker + 1;
    }
    if (shard->added == workers)
        shard_take_step(node);
}

bool ps_shard_accepts(const struct node *node, const struct message *message)
{
    const struct shard *shard = &((const struct ps_sync_state *)node->state)->shard;
    return shard->count > 0 && message->source < node->setup->workers && message->header.step == shard->round &&
           message->length == shard->count * sizeof(float) && shard->expected[message->source];
}

void ps_shard_take(struct node *node, int worker, const float *piece, struct buffer *held)
{
    struct shard *shard = &((struct ps_sync_state *)node_state(node))->shard;
    if (shard->tells)
        node_gradient(node, &(struct gradient_record){.round = (uint32_t)shard->round,
                                                      .worker = (uint32_t)worker,
                                                      .step = shard->round,
                                                      .order = shard->arrivals,
                                                      .fate = GRADIENT_USED,
                                                      .arrived_ns = node_now(node)});
    shard->arrivals++;
    shard->expected[worker] = false;
    shard->held[worker] = held;
    shard->pieces[worker] = piece;
    shard_advance(node);
}

void ps_shard_sent(struct node *node)
{
    ((struct ps_sync_state *)node_state(node))->shard.in_flight--;
    shard_advance(node);
}

void ps_shard_prepare(struct node *node, int index)
{
    struct ps_sync_state *state = node_state(node);
    struct shard *shard = &state->shard;
    const size_t workers = (size_t)node->setup->workers;
    struct allreduce_range range = ps_range(node->setup, index);
    const float *initial = node_initial_model(node);
    shard->first = range.first;
    shard->tells = index == 0;
    shard->count = range.count;
    shard->sum =
        node->role == ROLE_WORKER && !state->model ? state->received + range.first : node_alloc(node, range.count * sizeof(float));
    shard->pieces = node_alloc(node, workers * sizeof(*shard->pieces));
    shard->held = node_alloc(node, workers * sizeof(*shard->held));
    shard->expected = node_alloc(node, workers * sizeof(*shard->expected));
    if (initial && state->model) {
        shard->model = state->model + range.first;
    } else if (initial) {
        shard->model = node_alloc(node, range.count * sizeof(float));
        node_copy(node, shard->model, initial + range.first, range.count);
    }
    for (int worker = 0; worker < node->setup->workers; worker++) /* before the start: a quick worker's piece may come sooner */
        shard->expected[worker] = node->setup->rounds > 0;
}
