/* agents/schemes/safa.c: `safa`, semi-asynchronous federated averaging: every client trains, the first so many are merged, and what
 * comes from the others is not lost.
 *
 * Source: W. Wu, L. He, W. Lin, R. Mao, C. Maple, S. Jarvis, "SAFA: a semi-asynchronous protocol for fast federated learning with
 * low overhead", IEEE Transactions on Computers 70(5), 2021; details as in the authors' published program.
 *
 * Theory of operation. The server keeps a cache with one model for each client, at first the initial one. A round, at version v:
 *
 *   distribute  Clients that sent an update since their last model get v. So do deprecated ones, which began more than `lag`
 *               versions ago: they give up what they are at, and the cache takes the global model in their place. All others are
 *               tolerated and go on with what they have; so does one that has failed, from the start.
 *   pick        An update of a client that was not picked in the last round is picked as it comes: it goes into the cache.
 *               Others are put aside. The round is over with ceil(C P) picked, or when everyone has answered, or at the
 *               `deadline`. If too few are picked by then, those put aside follow, in order of arrival.
 *   merge       w <- sum n_k c_k / sum n_k over the whole cache, in order of the clients.
 *   bypass      What was put aside and not picked goes into the cache now, for the next round's sum.
 *
 * Updates that come after the end of their round count in the next one, with their staleness. `gradient` calls picked ones used,
 * and those that took the bypass dropped, since their own round was made without them.
 *
 * With C = 1 and no failures everyone is waited for and picked, which is fedavg with fraction 1.
 *
 * Example, P = 3, C = 0.5, equal samples: two are picked. Round 0: clients 0 and 1 come first, cache (5, 7, initial 3), w = 5.
 * Round 1: client 2, not picked before, comes and is picked; 0 is put aside, then 1. All have answered and one is missing: 0
 * follows. The cache is (0's, 7, 2's); 1's goes in afterwards.
 *
 * Synthetic: the cache is empty at first, and sums are of what is there. A lost client's place is left out. Bytes a round: S down
 * for each that gets the model, S up for each that answers. Messages: federated.h. */
#include <stdio.h>

#include "agents/predict.h"
#include "agents/schemes/federated.h"
#include "agents/schemes/federated_predict.h"
#include "agents/schemes/schemes.h"

enum { FRACTION = FEDERATED_OWN, LAG };

struct entry { /* of a client */
    float *cached;
    bool present; /* `cached` counts */
    bool picked, picked_before;
    uint64_t began;                /* the version that it was given last */
    struct buffer *aside;          /* an update that was put aside; NULL: none */
    struct gradient_record record; /* of that one, but for its fate */
};
struct cache {
    struct entry *of;
    int *aside; /* clients, in order of arrival */
    int aside_count, picked, outstanding;
};

static struct cache *cache_of(struct node *node)
{
    return ((struct federated_state *)node_state(node))->own;
}

static int quota_of(const struct scheme_setup *setup)
{
    return federated_quota(setup->workers, setup->values[FRACTION]);
}

static void prepare(struct node *node)
{
    struct federated_state *state = node_state(node);
    const size_t clients = (size_t)node->setup->workers;
    struct cache *cache = state->own = node_alloc(node, sizeof(*cache));
    *cache = (struct cache){.of = node_alloc(node, clients * sizeof(*cache->of)),
                            .aside = node_alloc(node, clients * sizeof(*cache->aside))};
    for (size_t client = 0; client < clients; client++) {
        const bool same = client > 0 && !node->setup->values_carried; /* nobody looks into it */
        cache->of[client] =
            (struct entry){.cached = same ? cache->of[0].cached : node_alloc(node, federated_bytes(node)), .present = state->model};
        if (state->model)
            node_copy(node, cache->of[client].cached, state->model, node->setup->parameter_count);
    }
}

static void put(struct node *node, int client, const float *vector)
{
    const struct federated_state *state = node_state(node);
    struct entry *entry = &cache_of(node)->of[client];
    int64_t begin_ns = node_now(node);
    node_copy(node, entry->cached, vector, node->setup->parameter_count);
    node_span(node, SPAN_REDUCE, state->version, begin_ns, node_now(node), client, federated_bytes(node));
    entry->present = true;
}

static void distribute(struct node *node, int client)
{
    struct federated_state *state = node_state(node);
    struct cache *cache = state->own;
    const bool deprecated = state->peers[client].working;
    if (deprecated && state->version - cache->of[client].began <= (uint64_t)node->setup->values[LAG])
        return;
    if (deprecated && state->model)
        put(node, client, state->model);
    cache->of[client].began = state->version;
    cache->outstanding += !deprecated;
    federated_assign(node, client);
}

static void begin(struct node *node)
{
    struct federated_state *state = node_state(node);
    struct cache *cache = state->own;
    cache->picked = 0;
    federated_arm(node, node_now(node));
    for (int client = 0; client < node->setup->workers; client++) {
        struct entry *entry = &cache->of[client];
        entry->picked_before = entry->picked;
        entry->picked = false;
        if (!state->peers[client].lost)
            distribute(node, client);
    }
}

static void pick(struct node *node, int client, const float *vector)
{
    struct cache *cache = cache_of(node);
    put(node, client, vector);
    cache->of[client].picked = true;
    cache->picked++;
}

static void end_aside(struct node *node, int client, enum gradient_fate fate)
{
    struct entry *entry = &cache_of(node)->of[client];
    entry->record.fate = fate;
    node_gradient(node, &entry->record);
    node_release(node, entry->aside);
    entry->aside = NULL;
}

static void pick_from_aside(struct node *node)
{
    struct cache *cache = cache_of(node);
    for (int i = 0; i < cache->aside_count && cache->picked < quota_of(node->setup); i++) {
        const int client = cache->aside[i];
        pick(node, client, cache->of[client].aside->bytes);
        end_aside(node, client, GRADIENT_USED);
    }
}

static void merge(struct node *node)
{
    const struct federated_state *state = node_state(node);
    const struct cache *cache = state->own;
    for (int client = 0; client < node->setup->workers; client++)
        if (cache->of[client].present && !state->peers[client].lost)
            federated_add(node, cache->of[client].cached, federated_weight(node, client), client);
    federated_average(node);
}

static void bypass(struct node *node)
{
    struct cache *cache = cache_of(node);
    for (int i = 0; i < cache->aside_count; i++) {
        const int client = cache->aside[i];
        if (!cache->of[client].aside)
            continue;
        put(node, client, cache->of[client].aside->bytes);
        end_aside(node, client, GRADIENT_DROPPED);
    }
    cache->aside_count = 0;
}

static void end_round(struct node *node)
{
    pick_from_aside(node);
    merge(node);
    bypass(node);
    federated_round_over(node);
}

static void end_round_if_due(struct node *node)
{
    const struct cache *cache = cache_of(node);
    if (cache->picked == quota_of(node->setup) || cache->outstanding == 0)
        end_round(node);
}

static void arrived(struct node *node, const struct message *message, bool current)
{
    struct cache *cache = cache_of(node);
    struct entry *entry = &cache->of[message->source];
    if (!current) { /* it crossed a model that the client was forced to take */
        federated_tell(node, message, GRADIENT_LATE);
        return;
    }
    cache->outstanding--;
    if (entry->picked_before) {
        entry->record = federated_record(node, message, GRADIENT_DROPPED);
        entry->aside = message->buffer;
        node_hold(node, entry->aside);
        cache->aside[cache->aside_count++] = message->source;
    } else {
        federated_tell(node, message, GRADIENT_USED);
        pick(node, message->source, message->payload);
    }
    end_round_if_due(node);
}

static void lost(struct node *node, int client, bool worked)
{
    (void)client;
    struct cache *cache = cache_of(node);
    cache->outstanding -= worked;
    end_round_if_due(node);
}

/* How often a client begins in a round, at most in the mean of many: with failures four times as often as is to be expected. */
static uint64_t attempts_a_round(const struct scheme_setup *setup)
{
    const double dropout = setup->values[FEDERATED_DROPOUT];
    return dropout > 0 ? 1 + (uint64_t)(4 / (1 - dropout)) : 1;
}

/* Of each model one update comes back at most, which goes into the cache once, as the global model may; then all are summed. */
static uint64_t spans_a_round(const struct scheme_setup *setup, int node)
{
    return node < setup->workers ? federated_assignment_spans(setup) * attempts_a_round(setup) : 5 * (uint64_t)setup->workers + 2;
}

static uint64_t gradients_a_round(const struct scheme_setup *setup, int node)
{
    return node < setup->workers ? attempts_a_round(setup) : (uint64_t)setup->workers;
}

static void predict(const struct scheme_setup *setup, struct prediction *prediction)
{
    if (quota_of(setup) == setup->workers) {
        federated_predict_rounds(setup, setup->workers, prediction);
        return;
    }
    if (predict_begin(setup, prediction))
        snprintf(prediction->reason, sizeof(prediction->reason),
                 "safa: whose update ends a round depends on who was picked in the one before, which no formula here follows");
}

static const struct federated_policy policy = {
    .resumes = true, .prepare = prepare, .begin = begin, .arrived = arrived, .deadline = end_round, .lost = lost};

static const struct param params[] = {
    FEDERATED_PARAMS,
    [FRACTION] = FEDERATED_PARAM_FRACTION(0.5),
    [LAG] = {.name = "lag",
             .unit = PARAM_COUNT,
             .minimum = 0,
             .maximum = 1000000,
             .standard = 5,
             .help = "versions that a client may be behind before it is made to take the newest"},
};

const struct scheme scheme_safa = {
    .name = "safa",
    .summary = "all clients train; the first so many are merged, first those left out last time, and the others in the next round",
    .source =
        "Wu et al., SAFA: a semi-asynchronous protocol for fast federated learning with low overhead, IEEE Trans. Computers 2021",
    .formula = "with fraction 1 as fedavg, by seeded simulation; otherwise none",
    FEDERATED(policy),
    .check = federated_check,
    .flags = FEDERATED_FLAGS | SCHEME_ASYNCHRONOUS,
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    .spans_a_round = spans_a_round,
    .gradients_a_round = gradients_a_round,
    .extra_vectors = 2, /* one cached a client, and one put aside, all at the server */
    .predict = predict,
};
