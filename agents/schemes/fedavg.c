/* agents/schemes/fedavg.c: `fedavg`, federated averaging: a fraction of the clients trains, and the average of their models is the
 * next one.
 *
 * Source: H. B. McMahan, E. Moore, D. Ramage, S. Hampson, B. Aguera y Arcas, "Communication-efficient learning of deep networks
 * from decentralized data", AISTATS 2017, algorithm 1.
 *
 * Theory of operation. Each round the server picks ceil(C P) of the clients at random, without repetition, and sends them the
 * model w. Each takes `period` steps from there and sends the model w_k that it came to. With n_k samples at client k,
 *
 *     w <- sum n_k w_k / sum n_k        over those that have sent theirs
 *
 * (sampled like that, with the weights of those picked, the average is not that of all clients but has its expectation). The
 * round is over when all that were picked have answered, or, at the `deadline`, with those that have; if nobody has, the model
 * stays. What comes later is late. A client that is picked again while it still works at an older model gives that up.
 *
 * Example, P = 3, C = 0.5: ceil(1.5) = 2 of them, say 0 and 2 with 100 and 300 samples, w_0 = 4, w_2 = 8: w = (400 + 2400) / 400
 * = 7.
 *
 * Sums are in order of arrival. Bytes a round: S down and S up for each that was picked. Messages: federated.h. */
#include "agents/schemes/federated.h"
#include "agents/schemes/federated_predict.h"
#include "agents/schemes/schemes.h"

enum { FRACTION = FEDERATED_OWN };

struct picks {
    int *clients; /* all; the first ones are drawn anew each round */
    bool *picked;
    int awaited;
};

static int quota_of(const struct scheme_setup *setup)
{
    return federated_quota(setup->workers, setup->values[FRACTION]);
}

static void prepare(struct node *node)
{
    struct federated_state *state = node_state(node);
    const size_t clients = (size_t)node->setup->workers;
    struct picks *picks = state->own = node_alloc(node, sizeof(*picks));
    picks->clients = node_alloc(node, clients * sizeof(*picks->clients));
    picks->picked = node_alloc(node, clients * sizeof(*picks->picked));
}

static void pick(struct node *node)
{
    struct federated_state *state = node_state(node);
    struct picks *picks = state->own;
    int left = 0;
    for (int worker = 0; worker < node->setup->workers; worker++) {
        picks->picked[worker] = false;
        if (!state->peers[worker].lost)
            picks->clients[left++] = worker;
    }
    const int quota = quota_of(node->setup);
    picks->awaited = quota < left ? quota : left;
    for (int i = 0; i < picks->awaited; i++) {
        int place = i + (int)rng_below(&state->random, (uint32_t)(left - i)), client = picks->clients[place];
        picks->clients[place] = picks->clients[i];
        picks->clients[i] = client;
        picks->picked[client] = true;
    }
}

static void begin(struct node *node)
{
    struct federated_state *state = node_state(node);
    const struct picks *picks = state->own;
    pick(node);
    federated_arm(node, node_now(node));
    for (int worker = 0; worker < node->setup->workers; worker++)
        if (picks->picked[worker])
            federated_assign(node, worker);
}

static void end_round(struct node *node)
{
    federated_average(node);
    federated_round_over(node);
}

static void arrived(struct node *node, const struct message *message, bool current)
{
    const struct federated_state *state = node_state(node);
    struct picks *picks = state->own;
    const bool used = current && picks->picked[message->source];
    federated_tell(node, message, used ? GRADIENT_USED : GRADIENT_LATE);
    if (!used)
        return;
    picks->picked[message->source] = false;
    federated_add(node, message->payload, federated_weight(node, message->source), message->source);
    if (--picks->awaited == 0)
        end_round(node);
}

static void lost(struct node *node, int worker, bool worked)
{
    (void)worked;
    const struct federated_state *state = node_state(node);
    struct picks *picks = state->own;
    if (!picks->picked[worker])
        return;
    picks->picked[worker] = false;
    if (--picks->awaited == 0)
        end_round(node);
}

/* Of each model that is sent one update comes back at most. */
static uint64_t spans_a_round(const struct scheme_setup *setup, int node)
{
    return node < setup->workers ? federated_assignment_spans(setup) : 3 * (uint64_t)quota_of(setup) + 2;
}

static uint64_t gradients_a_round(const struct scheme_setup *setup, int node)
{
    return node < setup->workers ? 1 : (uint64_t)quota_of(setup);
}

static void predict(const struct scheme_setup *setup, struct prediction *prediction)
{
    federated_predict_rounds(setup, quota_of(setup), prediction);
}

static const struct federated_policy policy = {
    .prepare = prepare, .begin = begin, .arrived = arrived, .deadline = end_round, .lost = lost};

static const struct param params[] = {
    FEDERATED_PARAMS,
    [FRACTION] = FEDERATED_PARAM_FRACTION(1),
};

const struct scheme scheme_fedavg = {
    .name = "fedavg",
    .summary = "a fraction of the clients takes `period` steps each; the average of their models, weighted by samples, is the next",
    .source =
        "McMahan et al., Communication-efficient learning of deep networks from decentralized data, AISTATS 2017, algorithm 1",
    .formula = "E[max of ceil(C P) sums of period X] + models down and up, by seeded simulation",
    FEDERATED(policy),
    .check = federated_check,
    .flags = FEDERATED_FLAGS,
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    .spans_a_round = spans_a_round,
    .gradients_a_round = gradients_a_round,
    .predict = predict,
};
