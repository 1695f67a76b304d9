/* agents/schemes/slowmo.c: `slowmo`: local SGD with a slow momentum: what the average has moved by in a period is a gradient for an
 * outer step that has a momentum of its own.
 *
 * Source: J. Wang, V. Tantia, N. Ballas, M. Rabbat, "SlowMo: improving communication-efficient distributed SGD with slow momentum",
 * ICLR 2020, with local SGD inside.
 *
 * Theory of operation. Rounds are those of local-sgd (local_rounds.c). From x_0, the same on all workers, a period's steps and the
 * average lead to x. With gamma, the learning rate of the period's last step,
 *
 *     u <- beta u + (x_0 - x) / gamma          x_0 <- x_0 - alpha gamma u
 *
 * and all go on from the new x_0. It is written as x_0 <- x + (1 - alpha)(x_0 - x) - alpha gamma beta u with the old u, so that
 * beta = 0, alpha = 1 is local SGD to the bit. What a worker's own momentum (workload.momentum) has gathered it keeps.
 *
 * Example, beta = 0.5, alpha = 1, gamma = 0.1: x_0 = 1, x = 0.8: u = 2, x_0 = 0.8. Next x = 0.7: u = 1 + 1 = 2, x_0 = 0.8 - 0.2 =
 * 0.6. */
#include "agents/schemes/local_rounds.h"
#include "agents/schemes/schemes.h"

enum { BETA = LOCAL_OWN_PARAMS, ALPHA };

struct slowmo_state {
    struct local_rounds rounds; /* first; x_0 is what all have in common */
    float *momentum;            /* u */
};

static void prepare(struct node *node)
{
    struct slowmo_state *state = node_state(node);
    if (state->rounds.has_model)
        state->momentum = node_alloc(node, node->setup->parameter_count * sizeof(float));
}

static void take(struct node *node, size_t first, size_t count)
{
    struct slowmo_state *state = node_state(node);
    const struct scheme_setup *setup = node->setup;
    const double rate = scheme_rate(setup, state->rounds.step), beta = setup->values[BETA], alpha = setup->values[ALPHA];
    const float keep = (float)beta, share = (float)(1.0 / setup->workers), back = (float)(1 - alpha);
    const float inverse_rate = rate > 0 ? (float)(1 / rate) : 0, push = (float)(alpha * rate * beta);
    if (!node_arithmetic(node, 3.0 * (double)count))
        return;
    for (size_t i = first; i < first + count; i++) {
        const float mean = share * state->rounds.sum[i], moved = state->rounds.common[i] - mean;
        state->rounds.next[i] = mean + back * moved - push * state->momentum[i];
        state->momentum[i] = keep * state->momentum[i] + inverse_rate * moved;
    }
}

static const struct local_policy policy = {.vectors = 1, .prepare = prepare, .take = take};

static const struct param params[] = {
    LOCAL_PARAM_PERIOD(10, "steps of a worker's own model between averages"),
    [BETA] = {.name = "beta",
              .unit = PARAM_NUMBER,
              .minimum = 0,
              .maximum = 1,
              .standard = 0.5,
              .help = "slow momentum: share of an outer step's direction that stays in the next"},
    [ALPHA] = {.name = "alpha",
               .unit = PARAM_NUMBER,
               .minimum = 0,
               .maximum = 10,
               .standard = 1,
               .help = "slow learning rate: 1 goes all the way to the average"},
    LOCAL_PARAM_ALGORITHM,
};

const struct scheme scheme_slowmo = {
    .name = "slowmo",
    .summary = "local SGD whose averages make the steps of an outer model with a momentum of its own",
    .source = "Wang, Tantia, Ballas and Rabbat, SlowMo: improving communication-efficient distributed SGD with slow momentum, ICLR "
              "2020",
    .formula = "as local-sgd",
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    .state_bytes = sizeof(struct slowmo_state),
    LOCAL_ROUNDS(policy),
};
