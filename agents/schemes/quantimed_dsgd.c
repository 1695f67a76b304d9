/* agents/schemes/quantimed_dsgd.c: `quantimed-dsgd`, decentralised SGD with a deadline a round and quantised models.
 *
 * Source: A. Reisizadeh, H. Taheri, A. Mokhtari, H. Hassani, R. Pedarsani, "Robust and communication-efficient collaborative
 * learning", NeurIPS 2019. The quantiser is our own (below); theirs is any without bias.
 *
 * Theory of operation. Worker i has a model x_i. When a round begins it sends Q(x_i) to its neighbours and begins its window; when
 * both the window and its neighbours' messages are there,
 *
 *     x_i <- (1 - e + e w_ii) x_i + e sum_j w_ij Q(x_j) - eta e g_i        e: epsilon; g_i: mean over the samples done in the
 * window
 *
 * with the terms in the order of workers. A small e lets the errors of quantisation average out, and makes progress slower. Without
 * a sample there is no g_i, and the model is mixed only.
 *
 * Quantiser. Whole levels of `bits` bits, equally far apart between the vector's largest magnitude and its negative; 4 bytes say
 * which. Rounding to the nearest would have a bias that no number of rounds removes, so each float has a uniform draw from one
 * level's width added before (dither: true): Q(x) then is x in the mean.
 *
 * Example, a ring of 2 (a = 1/2), e = 1/2, x = (4, 2) which 8 bits hold exactly: without gradients x_0 = 3/4 4 + 1/4 2 = 3.5.
 *
 * A synthetic workload sends its gradients in the models' place; sums of quantised vectors are approximations, which nothing
 * checks. Bytes: 4 + n bits / 8 to each neighbour a round. No deadlock: exchange.h. */
#include <math.h>

#include "agents/node.h"
#include "agents/schemes/schemes.h"
#include "agents/schemes/window_rounds.h"
#include "agents/vector.h"

enum { EPSILON = WINDOW_COMMON_COUNT, BITS, DITHER };
enum { DITHER_PASSES = 3 }; /* as long as additions: the largest magnitude, the draws, the sum */

struct quantimed {
    float *mixture, *decoded; /* decoded: the vector before encoding, what a message says, a share of the gradient */
    void *codes[2];           /* in turns */
    int64_t samples;
    struct rng rng;
};

static int bits_of(const struct scheme_setup *setup)
{
    return (int)setup->values[BITS];
}

static int exchanges(const struct scheme_setup *setup)
{
    (void)setup;
    return 1;
}

/* Encoding; decoding and a term for each neighbour; the own term; the step. */
static double passes(const struct scheme_setup *setup, int degree)
{
    return 1 + (setup->values[DITHER] != 0 ? DITHER_PASSES : 0) + 2 * degree + 1 + 1;
}

static size_t message_bytes(const struct scheme_setup *setup)
{
    return vector_quantised_bytes(bits_of(setup), setup->parameter_count);
}

static void prepare(struct node *node, struct window_state *state)
{
    struct quantimed *own = state->own;
    own->mixture = node_alloc(node, window_vector_bytes(node));
    own->decoded = node_alloc(node, window_vector_bytes(node));
    for (int i = 0; i < 2; i++)
        own->codes[i] = node_alloc(node, message_bytes(node->setup));
    own->rng = node_random(node, RNG_SCHEME, (uint32_t)node->index);
}

/* Adds to each float a draw from -half to half a level's width. The outermost ones are on a level and stay there, so that the
 * levels do not depend on the draws. */
static const float *dithered(struct node *node, struct quantimed *own, const float *values)
{
    const size_t count = node->setup->parameter_count;
    if (node->setup->values[DITHER] == 0 || !node_arithmetic(node, DITHER_PASSES * (double)count))
        return values;
    float most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmaxf(most, fabsf(values[i]));
    const float width = 2 * most / (float)((1 << bits_of(node->setup)) - 1);
    for (size_t i = 0; i < count; i++) {
        const float draw = width * ((float)(rng_u32(&own->rng) >> 8) * 0x1p-24f - 0.5f);
        const bool outermost = fabsf(values[i]) == most;
        own->decoded[i] = outermost ? values[i] : fmaxf(-most, fminf(most, values[i] + draw));
    }
    return own->decoded;
}

static void begin(struct node *node, struct window_state *state)
{
    struct quantimed *own = state->own;
    const size_t count = node->setup->parameter_count;
    const int64_t begin_ns = node_now(node);
    void *code = own->codes[state->round % 2];
    node_quantise(node, bits_of(node->setup), dithered(node, own, state->model), count, code);
    node_span(node, SPAN_REDUCE, state->round, begin_ns, node_now(node), -1, window_vector_bytes(node));
    state->sum = (struct mixing_sum){.output = own->mixture, .count = count};
    window_send(state, state->round, code, message_bytes(node->setup));
}

static void take(struct node *node, void *context, const struct exchange_part *part)
{
    struct window_state *state = context;
    struct quantimed *own = state->own;
    const double epsilon = node->setup->values[EPSILON];
    if (part->neighbour < 0) {
        mixing_add(node, &state->sum, (float)(1 - epsilon + epsilon * (double)state->own_weight), state->model, state->round, -1);
        return;
    }
    node_dequantise(node, bits_of(node->setup), part->payload, node->setup->parameter_count, own->decoded);
    mixing_add(node, &state->sum, (float)(epsilon * (double)state->alpha), own->decoded, state->round, part->node);
}

static void end_if_over(struct node *node, struct window_state *state)
{
    struct quantimed *own = state->own;
    const size_t count = node->setup->parameter_count;
    if (state->computing || exchange_open(state->exchange))
        return;
    const int64_t begin_ns = node_now(node);
    if (!state->trained) {
        node_copy(node, own->mixture, state->gradient, count); /* travels next; the sum is none that could be checked */
        node_update(node, NULL, own->mixture, 1, 0, count, state->round);
    } else if (own->samples > 0) {
        node_scale(node, own->decoded, (float)node->setup->values[EPSILON], state->gradient, count);
        node_update(node, own->mixture, own->decoded, 1, 0, count, state->round);
    }
    node_span(node, SPAN_APPLY, state->round, begin_ns, node_now(node), -1, window_vector_bytes(node));
    float *mixture = own->mixture;
    own->mixture = state->model;
    state->model = mixture;
    window_end_round(node, state);
}

static void computed(struct node *node, struct window_state *state, int64_t samples)
{
    ((struct quantimed *)state->own)->samples = samples;
    end_if_over(node, state);
}

static void done(struct node *node, void *context)
{
    end_if_over(node, context);
}

static bool approximates(const struct scheme_setup *setup)
{
    (void)setup;
    return true;
}

static const struct window_kind kind = {.own_bytes = sizeof(struct quantimed),
                                        .message_bytes = message_bytes,
                                        .prepare = prepare,
                                        .begin = begin,
                                        .computed = computed,
                                        .take = take,
                                        .done = done,
                                        .exchanges = exchanges,
                                        .passes = passes,
                                        .overlaps = true};
static const struct param params[] = {
    WINDOW_COMMON_PARAMS,
    [EPSILON] = {.name = "epsilon",
                 .unit = PARAM_NUMBER,
                 .minimum = 1e-6,
                 .maximum = 1,
                 .standard = 0.5,
                 .help = "share of a whole step and mixing that a round makes"},
    [BITS] = {.name = "bits", .unit = PARAM_COUNT, .minimum = 1, .maximum = 8, .standard = 8, .help = "of a float that travels"},
    [DITHER] = {.name = "dither",
                .unit = PARAM_BOOL,
                .minimum = 0,
                .maximum = 1,
                .standard = 1,
                .help = "true: rounding is random and right in the mean; false: to the nearest"},
};

const struct scheme scheme_quantimed_dsgd = {
    .name = "quantimed-dsgd",
    .summary = "workers compute until a deadline, and mix their models with their neighbours', of which quantised copies travel",
    .source = "Reisizadeh et al., Robust and communication-efficient collaborative learning, NeurIPS 2019",
    .formula = "max(window, degree (4 + n bits/8)/B + alpha + arithmetic)",
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    .approximates = approximates,
    WINDOW_ROUNDS(kind),
};
