/* agents/schemes/overlap_local_sgd.c: `overlap-local-sgd`: local SGD whose averages travel while the next period's gradients are
 * computed.
 *
 * Source: J. Wang, H. Liang, G. Joshi, "Overlap local-SGD: an algorithmic approach to hide communication delays in distributed
 * SGD", ICASSP 2020.
 *
 * Theory of operation. Rounds are those of local_rounds.c in the background. Besides its own model x every worker has an anchor z,
 * the same on all of them, the initial model at first. At the end of every period a worker waits for the all-reduce that it began
 * one period before, which has brought the new anchor, and is pulled towards it; then the average of what all have become begins
 * its way:
 *
 *     x <- (1 - alpha) x + alpha z          v <- beta v + (mean of all x - z)          z <- z + v
 *
 * beta is the anchor's momentum; with 0 the anchor is the average. v is worked out part by part as sums become final, on the thread
 * that the messages are on, while the gradient is computed on another; z becomes the new one with the pull, and is what is
 * evaluated.
 *
 * alpha = 0 leaves every worker alone with its data; alpha = 1 begins each period at the anchor and forgets what the worker has
 * learnt. An all-reduce that is over within a period costs nothing but the copy of the model that is averaged.
 *
 * Example, P = 2, alpha = 0.5, beta = 0, period 1, steps of -1 and -3, all at 0: x = -1, -3, pulled to z = 0: -0.5, -1.5; their
 * mean, -1, is the next z. Steps to -1.5, -4.5, pulled to -1: -1.25, -2.75. */
#include "agents/schemes/local_rounds.h"
#include "agents/schemes/schemes.h"

enum { ALPHA = LOCAL_OWN_PARAMS, MOMENTUM };

struct overlap_state {
    struct local_rounds rounds; /* first; z is what all have in common */
    float *velocity;            /* v */
};

static void prepare(struct node *node)
{
    struct overlap_state *state = node_state(node);
    if (state->rounds.has_model)
        state->velocity = node_alloc(node, node->setup->parameter_count * sizeof(float));
}

static void take(struct node *node, size_t first, size_t count)
{
    struct overlap_state *state = node_state(node);
    const float share = (float)(1.0 / node->setup->workers), keep = (float)node->setup->values[MOMENTUM];
    if (!node_arithmetic(node, 2.0 * (double)count))
        return;
    for (size_t i = first; i < first + count; i++)
        state->velocity[i] = keep * state->velocity[i] + (share * state->rounds.sum[i] - state->rounds.common[i]);
}

static void pull(struct node *node)
{
    struct overlap_state *state = node_state(node);
    const float alpha = (float)node->setup->values[ALPHA];
    const size_t count = node->setup->parameter_count;
    node_axpy(node, state->rounds.common, 1, state->velocity, count); /* 0 at the end of the first period */
    node_scale(node, state->rounds.model, 1 - alpha, state->rounds.model, count);
    node_axpy(node, state->rounds.model, alpha, state->rounds.common, count);
}

static const struct local_policy policy = {.vectors = 1, .background = true, .prepare = prepare, .take = take, .taken = pull};

static const struct param params[] = {
    LOCAL_PARAM_PERIOD(10, "steps of a worker's own model between pulls towards the anchor"),
    [ALPHA] = {.name = "alpha",
               .unit = PARAM_NUMBER,
               .minimum = 0,
               .maximum = 1,
               .standard = 0.6,
               .help = "how far a pull goes: 0 not at all, 1 all the way to the anchor"},
    [MOMENTUM] = {.name = "momentum",
                  .unit = PARAM_NUMBER,
                  .minimum = 0,
                  .maximum = 1,
                  .standard = 0.7,
                  .help = "the anchor's: share of its last move that stays in the next"},
    LOCAL_PARAM_ALGORITHM,
};

const struct scheme scheme_overlap_local_sgd = {
    .name = "overlap-local-sgd",
    .summary = "workers train models of their own and are pulled towards an anchor, their average of one period ago, which travels "
               "meanwhile",
    .source = "Wang, Liang and Joshi, Overlap local-SGD: an algorithmic approach to hide communication delays in distributed SGD, "
              "ICASSP 2020",
    .formula =
        "max(the sum of `period` X, all-reduce)/period, where nothing varies; else a worker waits for the slowest of one period "
        "ago",
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    .state_bytes = sizeof(struct overlap_state),
    .extra_vectors = 1,
    LOCAL_ROUNDS(policy),
};
