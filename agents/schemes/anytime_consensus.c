/* agents/schemes/anytime_consensus.c: `anytime-consensus`, anytime mini-batches without a server: averages over a graph by several
 * rounds of gossip.
 *
 * Source: N. Ferdinand, H. Al-Lawati, S. Draper, M. Nokleby, "Anytime minibatch: exploiting stragglers in online distributed
 * optimization", ICLR 2019. There the dual variables are averaged; here, with plain SGD steps, models.
 *
 * Theory of operation. Worker i has a model x_i. In its window it does b_i samples and takes the step x_i - eta g_i. Then the pair
 * (b_i (x_i - eta g_i), b_i), one vector of n + 1 floats, is mixed `consensus_rounds` times with the neighbours':
 *
 *     (y_i, s_i) <- sum_j w_ij (y_j, s_j)              x_i <- y_i / s_i
 *
 * Both go the same way, so that x_i is a mean of models weighted by samples, whatever the b_j. A worker with b_i = 0 gets the
 * others' mean. Where s_i = 0, no sample having come from anywhere, x_i stays. On the complete graph one round gives everybody the
 * server form's model, to rounding; on others more rounds come nearer to it.
 *
 * Example, a ring of 2 (a = 1/2), b = (3, 1), models after their steps 2 and 6: (6, 3) and (6, 1) become (6, 2) on both: x = 3.
 *
 * A synthetic workload has no model: b_i g_i travels with b_i, mixed with weights of 1, and each worker checks the sum against its
 * own s_i contributions, where these are whole numbers that float32 holds.
 *
 * Bytes: S + 4 to each neighbour, consensus_rounds times a round. No deadlock: exchange.h. */
#include <math.h>

#include "agents/node.h"
#include "agents/schemes/schemes.h"
#include "agents/schemes/window_rounds.h"

enum { CONSENSUS_ROUNDS = WINDOW_COMMON_COUNT };
enum { STEPS_MOST = 1000 };

struct consensus {
    float *vector, *mixture; /* [n + 1], in turns: what travels, and the sum of what comes; the last float is the weight */
    int mixed;               /* of this round's exchanges */
};

static int exchanges(const struct scheme_setup *setup)
{
    return (int)setup->values[CONSENSUS_ROUNDS];
}

/* Weighting; a term for each neighbour and the own one; the mean. */
static double passes(const struct scheme_setup *setup, int degree)
{
    return 1 + exchanges(setup) * (degree + 1) + 1;
}

static size_t message_bytes(const struct scheme_setup *setup)
{
    return (setup->parameter_count + 1) * sizeof(float);
}

static void prepare(struct node *node, struct window_state *state)
{
    struct consensus *own = state->own;
    own->vector = node_alloc(node, message_bytes(node->setup));
    own->mixture = node_alloc(node, message_bytes(node->setup));
}

static void begin_exchange(struct node *node, struct window_state *state)
{
    struct consensus *own = state->own;
    state->sum = (struct mixing_sum){.output = own->mixture, .count = node->setup->parameter_count + 1};
    window_send(state, state->round * (uint64_t)exchanges(node->setup) + (uint64_t)own->mixed, own->vector,
                message_bytes(node->setup));
}

static void computed(struct node *node, struct window_state *state, int64_t samples)
{
    struct consensus *own = state->own;
    const size_t count = node->setup->parameter_count;
    const int64_t begin_ns = node_now(node);
    if (state->trained && samples > 0)
        node_update(node, state->model, state->gradient, 1, 0, count, state->round);
    node_scale(node, own->vector, (float)samples, state->trained ? state->model : state->gradient, count);
    if (node_arithmetic(node, 1))
        own->vector[count] = (float)samples;
    node_span(node, SPAN_APPLY, state->round, begin_ns, node_now(node), -1, window_vector_bytes(node));
    own->mixed = 0;
    begin_exchange(node, state);
}

static void take(struct node *node, void *context, const struct exchange_part *part)
{
    struct window_state *state = context;
    struct consensus *own = state->own;
    const bool others = part->neighbour >= 0;
    const float weight = others ? state->alpha : state->own_weight;
    mixing_add(node, &state->sum, state->trained ? weight : 1, others ? part->payload : own->vector, state->round,
               others ? part->node : -1);
}

/* The mean, if there is one. Known gradients are checked in memory that nothing else is written to: the last sum is looked at again
 * after the rounds. */
static void divide(struct node *node, struct window_state *state, const float *mixture)
{
    const size_t count = node->setup->parameter_count;
    const int64_t begin_ns = node_now(node);
    const float samples = node_arithmetic(node, 1) ? mixture[count] : 1;
    if (state->trained && samples > 0) {
        node_scale(node, state->model, 1 / samples, mixture, count);
    } else if (!state->trained && samples >= 1 && samples < 0x1p31f) {
        node_copy(node, state->model, mixture, count);
        node_update(node, NULL, state->model, (int)samples, 0, count, state->round);
    }
    node_span(node, SPAN_APPLY, state->round, begin_ns, node_now(node), -1, window_vector_bytes(node));
}

static void done(struct node *node, void *context)
{
    struct window_state *state = context;
    struct consensus *own = state->own;
    float *mixture = own->mixture;
    own->mixture = own->vector;
    own->vector = mixture;
    if (++own->mixed < exchanges(node->setup)) {
        const uint64_t round = state->round;
        const int mixed = own->mixed;
        begin_exchange(node, state);
        if (state->round == round && own->mixed == mixed)
            exchange_wait(state->exchange);
        return;
    }
    divide(node, state, mixture);
    window_end_round(node, state);
}

/* With weights of 1 the number of contributions grows by degree + 1 with each exchange, beyond what float32 holds. */
static bool approximates(const struct scheme_setup *setup)
{
    const struct graph graph = mixing_graph(setup);
    const double growth = exchanges(setup) * log2(graph_degree_most(&graph) + 1.0);
    const double largest = 128 + 5.0 * setup->workers; /* a float of a known gradient */
    return growth + log2(largest * fmax(setup->batch, 1)) > 24;
}

static const struct window_kind kind = {.own_bytes = sizeof(struct consensus),
                                        .message_bytes = message_bytes,
                                        .prepare = prepare,
                                        .computed = computed,
                                        .take = take,
                                        .done = done,
                                        .exchanges = exchanges,
                                        .passes = passes};
static const struct param params[] = {
    WINDOW_COMMON_PARAMS,
    [CONSENSUS_ROUNDS] = {.name = "consensus_rounds",
                          .unit = PARAM_COUNT,
                          .minimum = 1,
                          .maximum = STEPS_MOST,
                          .standard = 1,
                          .help = "how often a round's models are mixed with the neighbours'"},
};

const struct scheme scheme_anytime_consensus = {
    .name = "anytime-consensus",
    .summary = "workers compute for a fixed time, then mix their models, weighted by samples, several times with their neighbours'",
    .source = "Ferdinand et al., Anytime minibatch: exploiting stragglers in online distributed optimization, ICLR 2019",
    .formula = "window + consensus_rounds (degree (S + 4)/B + alpha + (degree + 1) S gamma) + 2 S gamma",
    .flags = SCHEME_WEIGHTS_SAMPLES,
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    .approximates = approximates,
    WINDOW_ROUNDS(kind),
};
