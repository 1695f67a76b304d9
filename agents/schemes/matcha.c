/* agents/schemes/matcha.c: `matcha`, decentralised SGD whose rounds use some of the graph's edges: as many as a budget allows,
 * those that hold the graph together most often.
 *
 * Source: J. Wang, A. K. Sahu, Z. Yang, G. Joshi, S. Kar, "MATCHA: speeding up decentralized SGD via matching decomposition
 * sampling", 2019.
 *
 * Theory of operation. The graph's edges are parted into matchings (agents/mixing/matching.h). In every round matching j is
 * active with probability p_j, drawn by all nodes from one stream that is common to them, so that both ends of an edge know;
 * models are mixed with W = I - alpha L(active). p and alpha: agents/mixing/matching_plan.h. The rounds: gossip_rounds.c; as in
 * the paper the step comes first and what it made travels (overlap: false, the default). A worker without an active edge takes
 * its step alone.
 *
 * With budget 1 every matching is always active, and matcha is d-psgd with the same `overlap`, to the bit.
 *
 * What the controller prepares, behind the graph's own blob: alpha, the number of matchings, their probabilities, and for a
 * graph from a file the matching of each edge. */
#include <string.h>

#include "agents/node.h"
#include "agents/schemes/gossip_rounds.h"
#include "agents/schemes/schemes.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"

enum { BUDGET = GOSSIP_COMMON_COUNT };

struct matcha_state {
    struct gossip_state common; /* first */
    struct rng draws;
    uint32_t *probabilities; /* [matchings] */
    bool *drawn;             /* [matchings] */
    int *matching;           /* [degree] */
    int matchings;
};
struct head { /* of the own part of the blob */
    float alpha;
    int32_t matchings;
};

static size_t probability_bytes(int matchings)
{
    return (size_t)matchings * sizeof(uint32_t);
}

/* ---- in the controller ---- */

static int make_plan(const struct scheme_setup *setup, struct arena *arena, struct matching_plan *plan, struct err *err)
{
    const struct graph graph = mixing_graph(setup);
    return matching_plan_make(&graph, setup->values[BUDGET], arena, plan, err);
}

static int prepare(const struct scheme_setup *setup, struct blob *blob, struct err *err)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct matching_plan plan;
    uint8_t *own;
    int result = make_plan(setup, arena, &plan, err);
    if (result < 0)
        return result;
    const struct matchings *matchings = &plan.matchings;
    const struct head head = {.alpha = plan.alpha, .matchings = matchings->count};
    const size_t edge_bytes = matchings->of_file_edge ? (size_t)matchings->graph.edge_count * sizeof(int32_t) : 0;
    result = mixing_prepare(setup, sizeof(head) + probability_bytes(head.matchings) + edge_bytes, blob, &own, err);
    if (result < 0)
        return result;
    memcpy(own, &head, sizeof(head));
    memcpy(own + sizeof(head), plan.probabilities, probability_bytes(head.matchings));
    if (edge_bytes > 0)
        memcpy(own + sizeof(head) + probability_bytes(head.matchings), matchings->of_file_edge, edge_bytes);
    return 0;
}

/* ---- on a node ---- */

/* As prepared; false: nothing is. Nothing in it is aligned. */
static bool read_plan(const struct scheme_setup *setup, struct matching_plan *plan, struct arena *arena)
{
    const size_t before = mixing_blob_bytes(setup);
    struct head head;
    if (setup->prepared_bytes < before + sizeof(head))
        return false;
    const uint8_t *own = setup->prepared + before;
    memcpy(&head, own, sizeof(head));
    const struct graph graph = mixing_graph(setup);
    uint32_t *probabilities = arena_new_array(arena, uint32_t, (size_t)head.matchings + 1);
    memcpy(probabilities, own + sizeof(head), probability_bytes(head.matchings));
    *plan = (struct matching_plan){
        .matchings = matchings_known(&graph, head.matchings, own + sizeof(head) + probability_bytes(head.matchings)),
        .probabilities = probabilities,
        .alpha = head.alpha};
    return true;
}

static int prepare_node(struct node *node, struct err *err)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct matcha_state *state = node_state(node);
    struct matching_plan plan;
    if (!read_plan(node->setup, &plan, arena)) {
        int result = make_plan(node->setup, arena, &plan, err);
        if (result < 0)
            return result;
    }
    const size_t matchings = (size_t)plan.matchings.count, degree = (size_t)state->common.degree;
    state->common.alpha = plan.alpha;
    state->common.active = node_alloc(node, degree + 1);
    state->matchings = plan.matchings.count;
    state->probabilities = node_alloc(node, (matchings + 1) * sizeof(*state->probabilities));
    state->drawn = node_alloc(node, matchings + 1);
    state->matching = node_alloc(node, (degree + 1) * sizeof(*state->matching));
    memcpy(state->probabilities, plan.probabilities, matchings * sizeof(*state->probabilities));
    for (size_t i = 0; i < degree; i++)
        state->matching[i] = matching_of(&plan.matchings, node->index, state->common.neighbours[i]);
    state->draws = node_random(node, RNG_COMMON, RNG_ALL_NODES);
    return 0;
}

static void choose(struct node *node)
{
    struct matcha_state *state = node_state(node);
    matching_plan_draw(state->probabilities, state->matchings, &state->draws, state->drawn);
    state->common.active_degree = 0;
    for (int i = 0; i < state->common.degree; i++) {
        state->common.active[i] = state->drawn[state->matching[i]];
        state->common.active_degree += state->common.active[i];
    }
}

static const struct gossip_kind kind = {.prepare = prepare_node, .choose = choose, .plan = make_plan};
static const struct param params[] = {
    GOSSIP_PARAMS(0),
    [BUDGET] = {.name = "budget",
                .unit = PARAM_NUMBER,
                .minimum = 0.001,
                .maximum = 1,
                .standard = 0.5,
                .help = "how many of the graph's matchings are active in a round, in the mean; 1: all of them, always"},
};

const struct scheme scheme_matcha = {
    .name = "matcha",
    .summary =
        "d-psgd along some edges of the graph only: as many matchings a round as `budget` says, the important ones more often",
    .source = "Wang et al., MATCHA: speeding up decentralized SGD via matching decomposition sampling, 2019",
    .formula = "that of d-psgd with the active matchings: budget times as many messages in the mean",
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    .state_bytes = sizeof(struct matcha_state),
    .prepare = prepare,
    GOSSIP_ROUNDS(&kind),
};
