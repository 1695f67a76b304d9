/* agents/schemes/local_adaalter.c: `local-adaalter`: local steps with a rate for every weight, which is the same on all workers
 * between averages.
 *
 * Source: C. Xie, O. Koyejo, I. Gupta, H. Lin, "Local AdaAlter: communication-efficient stochastic gradient descent with adaptive
 * learning rates", 2019.
 *
 * Theory of operation. Rounds are those of local-sgd (local_rounds.c). As in AdaGrad a weight whose gradients have been large gets
 * smaller steps, but the sum of squares that a step divides by is the one of the last synchronisation, so that it needs no
 * communication and does not differ among workers:
 *
 *     w <- w - eta g / sqrt(h + epsilon)          cache <- cache + g^2
 *
 * Every `period` steps w and cache become their means over the workers, and h <- cache. Both begin with 0. What is divided goes
 * through the optimiser's step: momentum, weight decay and a decaying rate are as in other schemes. (The paper's algorithm has
 * epsilon^2 times the local steps since the last synchronisation in the place of epsilon, the program published with it has what
 * stands here.)
 *
 * Example, eta = 1, epsilon = 1, period 1: g = 3: w = -3, h = 9. g = 3: w = -3 - 3 / sqrt(10) = -3.95.
 *
 * Bytes: those of an all-reduce of 2S a period. */
#include <math.h>

#include "agents/schemes/local_rounds.h"
#include "agents/schemes/schemes.h"

enum { EPSILON = LOCAL_OWN_PARAMS };

struct adaalter_state {
    struct local_rounds rounds;  /* first; the cache is the second vector */
    float *divisor2, *direction; /* h; g / sqrt(h + epsilon) */
};

static void prepare(struct node *node)
{
    struct adaalter_state *state = node_state(node);
    if (!state->rounds.has_model)
        return;
    state->divisor2 = node_alloc(node, node->setup->parameter_count * sizeof(float));
    state->direction = node_alloc(node, node->setup->parameter_count * sizeof(float));
}

static void step(struct node *node)
{
    struct adaalter_state *state = node_state(node);
    const size_t count = node->setup->parameter_count;
    const float epsilon = (float)node->setup->values[EPSILON], *gradient = state->rounds.gradient;
    if (node_arithmetic(node, 2.0 * (double)count)) {
        float *cache = state->rounds.model + count;
        for (size_t i = 0; i < count; i++) {
            state->direction[i] = gradient[i] / sqrtf(state->divisor2[i] + epsilon);
            cache[i] += gradient[i] * gradient[i];
        }
    }
    node_update(node, state->rounds.model, state->direction, 1, 0, count, state->rounds.step);
}

static void taken(struct node *node)
{
    struct adaalter_state *state = node_state(node);
    const size_t count = node->setup->parameter_count;
    node_copy(node, state->divisor2, state->rounds.model + count, count);
}

static const struct local_policy policy = {.vectors = 2, .prepare = prepare, .step = step, .taken = taken};

static const struct param params[] = {
    LOCAL_PARAM_PERIOD(10, "steps of a worker's own model between averages"),
    [EPSILON] = {.name = "epsilon",
                 .unit = PARAM_NUMBER,
                 .minimum = 1e-12,
                 .maximum = 1e6,
                 .standard = 1,
                 .help = "added to the sum of a weight's squared gradients under the root that its step is divided by"},
    LOCAL_PARAM_ALGORITHM,
};

const struct scheme scheme_local_adaalter = {
    .name = "local-adaalter",
    .summary = "local steps with a rate for every weight; every `period` steps models and sums of squared gradients are averaged",
    .source =
        "Xie, Koyejo, Gupta and Lin, Local AdaAlter: communication-efficient stochastic gradient descent with adaptive learning "
        "rates, 2019",
    .formula = "as local-sgd with 2S",
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    .state_bytes = sizeof(struct adaalter_state),
    .extra_vectors = 2,
    LOCAL_ROUNDS(policy),
};
