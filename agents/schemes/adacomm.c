/* agents/schemes/adacomm.c: `adacomm`: local SGD that averages rarely at first and more often as training gets on.
 *
 * Source: J. Wang, G. Joshi, "Adaptive communication strategies to achieve the best error-runtime trade-off in local-update SGD",
 * MLSys 2019.
 *
 * Theory of operation. Rounds are those of local-sgd (local_rounds.c). At the first synchronisation after each interval T_0, by
 * worker 0's clock, the period becomes
 *
 *     tau_l = ceil(sqrt(F_l / F_0 x eta_0 / eta_l) tau_0); where that is not less than the last one, half of that, at least 1
 *
 * F_l is the mean loss of the mini-batches since the last look, over all workers, F_0 that of every worker's first mini-batch, eta
 * the learning rate. Every node has to take the same period in the same step: what it takes to decide travels in an all-reduce of
 * three floats beside the models, which leaves the same bits everywhere: the node's mean loss, its first loss, and 1 from worker 0
 * once its interval is over, 0 from the others. With interval 0 there is none, and the scheme is local-sgd.
 *
 * Where there is no loss (synthetic, or no values) F_l counts as F_0: the period is halved at every look.
 *
 * Example: tau_0 = 20, F_0 = 2.3, F_1 = 0.92: ceil(0.632 x 20) = 13. F_2 = 0.95: 13 again, not less: 6. */
#include <math.h>
#include <stdio.h>

#include "agents/schemes/adacomm.h"
#include "agents/schemes/local_rounds.h"
#include "agents/schemes/schemes.h"

enum { INTERVAL = LOCAL_OWN_PARAMS };
enum { TOLD_LOSS, TOLD_FIRST_LOSS, TOLD_CLOCK };

struct adacomm_state {
    struct local_rounds rounds; /* first */
    double loss_sum;            /* of this node's steps since the last look */
    uint64_t loss_count;
    double first_loss; /* this node's */
    int64_t look_ns;   /* when the interval is over */
};

uint64_t adacomm_period(uint64_t first_period, uint64_t period, double loss_ratio, double rate_ratio)
{
    const double wanted = ceil(sqrt(loss_ratio * rate_ratio) * (double)first_period);
    if (wanted >= 1 && wanted < (double)period) /* also false where there is no such number */
        return (uint64_t)wanted;
    return period > 1 ? period / 2 : 1;
}

static bool agrees(const struct scheme_setup *setup)
{
    return setup->values[INTERVAL] > 0;
}

static void observe(struct node *node, double loss)
{
    struct adacomm_state *state = node_state(node);
    if (state->rounds.step == 0) {
        state->first_loss = loss;
        state->look_ns = node_now(node) + (int64_t)node->setup->values[INTERVAL];
    }
    state->loss_sum += loss;
    state->loss_count++;
}

static void tell(struct node *node)
{
    struct adacomm_state *state = node_state(node);
    struct local_rounds *rounds = &state->rounds;
    const int64_t interval_ns = (int64_t)node->setup->values[INTERVAL];
    const bool over = node->index == 0 && node_now(node) >= state->look_ns;
    rounds->told[TOLD_LOSS] = (float)(state->loss_sum / (double)state->loss_count);
    rounds->told[TOLD_FIRST_LOSS] = (float)state->first_loss;
    rounds->told[TOLD_CLOCK] = over;
    if (over) /* the interval that the present moment lies in ends next */
        state->look_ns += ((node_now(node) - state->look_ns) / interval_ns + 1) * interval_ns;
}

static uint64_t heard(struct node *node)
{
    struct adacomm_state *state = node_state(node);
    const struct scheme_setup *setup = node->setup;
    const struct local_rounds *rounds = &state->rounds;
    if (rounds->heard[TOLD_CLOCK] < 0.5F)
        return rounds->period;
    state->loss_sum = 0;
    state->loss_count = 0;
    const double first = rounds->heard[TOLD_FIRST_LOSS], now = rounds->heard[TOLD_LOSS];
    const double rate = scheme_rate(setup, rounds->step);
    return adacomm_period((uint64_t)setup->values[LOCAL_PERIOD], rounds->period, first > 0 ? now / first : 1,
                          rate > 0 ? scheme_rate(setup, 0) / rate : 1);
}

static bool unpredictable(const struct scheme_setup *setup, struct prediction *prediction)
{
    if (agrees(setup))
        snprintf(prediction->reason, sizeof(prediction->reason), "no formula knows the losses that adacomm's period follows");
    return agrees(setup);
}

static const struct local_policy policy = {
    .vectors = 1, .observe = observe, .agrees = agrees, .tell = tell, .heard = heard, .unpredictable = unpredictable};

static const struct param params[] = {
    LOCAL_PARAM_PERIOD(20, "steps of a worker's own model between averages at first"),
    [INTERVAL] = {.name = "interval",
                  .unit = PARAM_TIME,
                  .minimum = 0,
                  .maximum = 1e15,
                  .standard = 1e9,
                  .help = "how often the period becomes period sqrt(F(w)/F(w_0) eta_0/eta), or half of what it was; 0: never"},
    LOCAL_PARAM_ALGORITHM,
};

const struct scheme scheme_adacomm = {
    .name = "adacomm",
    .summary = "local SGD that averages rarely at first and more often as the loss falls",
    .source = "Wang and Joshi, Adaptive communication strategies to achieve the best error-runtime trade-off in local-update SGD, "
              "MLSys 2019",
    .formula = "as local-sgd with interval 0; else none, since no formula knows the loss",
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    .state_bytes = sizeof(struct adacomm_state),
    LOCAL_ROUNDS(policy),
};
