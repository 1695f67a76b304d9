/* agents/schemes/gossip_rounds.c: rounds of a gradient step and a mixing with neighbours; see gossip_rounds.h.
 *
 * Theory of operation. Worker i has a model x_i of its own; all begin with the same one. A round is one step of every worker:
 *
 *     overlap: true     x_i <- sum_j W_ij x_j - rate g_i(x_i)       models travel while the gradient is computed
 *     overlap: false    x_i <- sum_j W_ij (x_j - rate g_j(x_j))     the step comes first, and what it made travels
 *
 * where j goes over i itself and its neighbours of this round, in the order of their indexes. Both are in the literature; the rows
 * say which is theirs. The mean of all models goes the same way in both: mean - rate/P sum g_i(x_i). A worker is done with a round
 * when it has its neighbours' vectors and its gradient; it may be as many rounds ahead of another as there are edges between them.
 *
 * Two vectors take turns: one travels, in the other the mixture is made, which travels in the next round.
 *
 * A synthetic workload has no model: the gradient travels in its place, and each worker checks the plain sum over itself and its
 * neighbours, with overlap one round later.
 *
 * Example, overlap: false, a ring of 2 (alpha 1/2), x = 4 and 2, steps to 3 and 2: both hold 2.5 then.
 *
 * Bytes: each worker sends its S bytes to every active neighbour. No deadlock: exchange.h. The model that is evaluated is worker
 * 0's own; an average over all exists nowhere. */
#include "agents/schemes/gossip_rounds.h"

#include "agents/node.h"
#include "base/err.h"

enum { CHANNEL = 1 };

static bool overlaps(const struct node *node)
{
    return node->setup->values[GOSSIP_OVERLAP] != 0;
}

static size_t vector_bytes(const struct node *node)
{
    return node->setup->parameter_count * sizeof(float);
}

static void begin_exchange(struct node *node, struct gossip_state *state)
{
    state->sum = (struct mixing_sum){.output = state->mixture, .count = node->setup->parameter_count};
    exchange_begin(state->exchange, &(struct exchange_step){.step = state->round,
                                                            .round = state->round,
                                                            .active = state->active,
                                                            .memory = state->vector,
                                                            .length = vector_bytes(node)});
}

static void next_round(struct node *node, struct gossip_state *state)
{
    const struct gossip_kind *kind = node->setup->scheme->detail;
    if (state->round == (uint64_t)node->setup->rounds) {
        node_finished(node);
        return;
    }
    if (kind->choose)
        kind->choose(node);
    state->computing = true;
    if (overlaps(node))
        begin_exchange(node, state);
    state->generation = node_compute(node, &(struct task){.kind = TASK_GRADIENT,
                                                          .step = state->round,
                                                          .model = state->trained ? state->vector : NULL,
                                                          .gradient = state->gradient,
                                                          .parts = 1});
}

/* ---- the two halves of a round, in either order ---- */

/* `model` takes the step; without one the gradient travels in its place. */
static void take_step(struct node *node, struct gossip_state *state, float *model)
{
    const size_t count = node->setup->parameter_count;
    const int64_t begin_ns = node_now(node);
    if (state->trained)
        node_update(node, model, state->gradient, 1, 0, count, state->round);
    else
        node_copy(node, model, state->gradient, count);
    node_span(node, SPAN_APPLY, state->round, begin_ns, node_now(node), -1, vector_bytes(node));
}

static void check_sum(struct node *node, struct gossip_state *state)
{
    const bool late = overlaps(node);
    if (!state->trained && !(late && state->round == 0))
        node_update(node, NULL, state->mixture, state->active_degree + 1, 0, node->setup->parameter_count, state->round - late);
}

static void end_round_if_over(struct node *node, struct gossip_state *state)
{
    if (state->computing || exchange_open(state->exchange))
        return;
    check_sum(node, state);
    const bool last = state->round + 1 == (uint64_t)node->setup->rounds;
    if (overlaps(node) && !(last && !state->trained)) /* the last sum that was checked is looked at again after the rounds */
        take_step(node, state, state->mixture);
    float *mixture = state->mixture;
    state->mixture = state->vector;
    state->vector = mixture;
    node_round_finished(node, state->round);
    state->round++;
    next_round(node, state);
}

static void take(struct node *node, void *context, const struct exchange_part *part)
{
    struct gossip_state *state = context;
    float weight = part->neighbour < 0 ? mixing_own_weight(state->alpha, state->active_degree) : state->alpha;
    mixing_add(node, &state->sum, state->trained ? weight : 1, part->neighbour < 0 ? state->vector : part->payload, state->round,
               part->neighbour < 0 ? -1 : part->node);
}

static void done(struct node *node, void *context)
{
    end_round_if_over(node, context);
}

void gossip_on_task(struct node *node, const struct task_result *result)
{
    struct gossip_state *state = node_state(node);
    if (result->generation != state->generation || result->part != result->parts - 1)
        return;
    state->computing = false;
    if (overlaps(node)) {
        exchange_wait(state->exchange);
        end_round_if_over(node, state);
        return;
    }
    take_step(node, state, state->vector);
    const uint64_t round = state->round;
    begin_exchange(node, state);
    if (state->round == round)
        exchange_wait(state->exchange);
}

/* ---- a node ---- */

void gossip_prepare_node(struct node *node)
{
    struct gossip_state *state = node_state(node);
    const struct gossip_kind *kind = node->setup->scheme->detail;
    const struct graph graph = mixing_graph(node->setup);
    const float *initial = node_initial_model(node);
    struct err err = {0};
    state->vector = node_alloc(node, vector_bytes(node));
    state->mixture = node_alloc(node, vector_bytes(node));
    state->gradient = node_alloc(node, vector_bytes(node));
    state->trained = initial != NULL;
    if (initial)
        node_copy(node, state->vector, initial, node->setup->parameter_count);
    state->degree = state->active_degree = graph_degree(&graph, node->index);
    state->neighbours = node_alloc(node, (size_t)(state->degree + 1) * sizeof(*state->neighbours));
    graph_neighbours(&graph, node->index, state->neighbours);
    if (kind->prepare(node, &err) < 0)
        node_fail(node, err.text);
    state->exchange = exchange_new(node, &(struct exchange_spec){.channel = CHANNEL,
                                                                 .neighbours = state->neighbours,
                                                                 .count = state->degree,
                                                                 .length_least = vector_bytes(node),
                                                                 .length_most = vector_bytes(node),
                                                                 .context = state,
                                                                 .take = take,
                                                                 .done = done});
}

void gossip_start(struct node *node)
{
    next_round(node, node_state(node));
}

struct landing gossip_on_header(struct node *node, const struct message *message)
{
    struct gossip_state *state = node_state(node);
    return exchange_on_header(state->exchange, message);
}

void gossip_on_message(struct node *node, const struct message *message)
{
    struct gossip_state *state = node_state(node);
    exchange_on_message(state->exchange, message);
}

void gossip_on_sent(struct node *node, struct buffer *buffer, int destination)
{
    (void)destination;
    struct gossip_state *state = node_state(node);
    exchange_on_sent(state->exchange, buffer);
}

const float *gossip_model(struct node *node)
{
    const struct gossip_state *state = node_state(node);
    return state->trained ? state->vector : NULL;
}

/* A gradient, a step, a term of the sum from each neighbour and the own one, and what the exchange leaves. */
uint64_t gossip_spans(const struct scheme_setup *setup, int node)
{
    const struct graph graph = mixing_graph(setup);
    const int degree = graph_degree(&graph, node);
    return 3 + (uint64_t)degree + exchange_spans(degree) + 2;
}
