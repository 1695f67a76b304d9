/* agents/schemes/d_psgd.c: `d-psgd`, decentralised parallel SGD: every worker mixes its model with its neighbours' in every round.
 *
 * Source: X. Lian, C. Zhang, H. Zhang, C.-J. Hsieh, W. Zhang, J. Liu, "Can decentralized algorithms outperform centralized
 * algorithms? A case study for decentralized parallel stochastic gradient descent", NIPS 2017, algorithm 1: gradient and weighted
 * average are both of the round's first models, so that one can be computed while the other travels (overlap: true, the default).
 * The rounds: gossip_rounds.c; the weights: agents/mixing/mixing.h. With overlap: false the complete graph gives all-reduce SGD. */
#include <math.h>

#include "agents/node.h"
#include "agents/schemes/gossip_rounds.h"
#include "agents/schemes/schemes.h"
#include "base/err.h"

static int prepare(const struct scheme_setup *setup, struct blob *blob, struct err *err)
{
    return mixing_prepare(setup, 0, blob, NULL, err);
}

static int prepare_node(struct node *node, struct err *err)
{
    struct gossip_state *state = node_state(node);
    state->alpha = mixing_alpha(node->setup, err);
    return isnan(state->alpha) ? -ERR_HOST : 0;
}

static const struct gossip_kind kind = {.prepare = prepare_node};
static const struct param params[] = {GOSSIP_PARAMS(1)};

const struct scheme scheme_d_psgd = {
    .name = "d-psgd",
    .summary = "every worker has a model of its own; each round it mixes it with its neighbours' and takes a step",
    .source = "Lian et al., Can decentralized algorithms outperform centralized algorithms?, NIPS 2017, algorithm 1",
    .formula = "max over a worker's neighbours of their last rounds' ends, its own gradient, and degree S/B + alpha: no barrier",
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    .state_bytes = sizeof(struct gossip_state),
    .prepare = prepare,
    GOSSIP_ROUNDS(&kind),
};
