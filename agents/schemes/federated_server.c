/* agents/schemes/federated_server.c: what the servers of federated schemes share: assignments, the models under way, the sum, the
 * end; and how messages reach either side. See federated.h. */
#include <math.h>
#include <stdio.h>

#include "agents/schemes/federated.h"
#include "base/err.h"
#include "base/units.h"

int federated_quota(int clients, double fraction)
{
    const double rounding = 1e-9; /* 0.28 x 25 is a little more than 7 */
    int quota = (int)ceil(fraction * clients - rounding);
    return quota < 1 ? 1 : quota;
}

double federated_weight(struct node *node, int worker)
{
    const struct federated_state *state = node_state(node);
    return scheme_samples(node->setup, worker) / state->mean_samples;
}

int federated_check(const struct scheme_setup *setup, struct err *err)
{
    char dropout[UNITS_TEXT_BYTES];
    if (setup->values[FEDERATED_DROPOUT] == 0 || setup->values[FEDERATED_DEADLINE] > 0)
        return 0;
    snprintf(dropout, sizeof(dropout), "%g", setup->values[FEDERATED_DROPOUT]);
    return err_set(
        err, ERR_USAGE,
        "scheme '%s' with dropout %s needs a deadline above 0 (at most 1h): a client that fails says nothing, and without a "
        "deadline the server would wait for it for ever",
        setup->scheme->name, dropout);
}

/* ---- models to clients ---- */

static void serve(struct node *node, int worker)
{
    struct federated_state *state = node_state(node);
    struct federated_peer *peer = &state->peers[worker];
    if (!peer->owed || peer->sending || peer->lost || state->stopped)
        return;
    peer->owed = false;
    peer->sending = true;
    if (!state->snapshot) {
        state->snapshot = node_buffer(node, federated_bytes(node));
        node_copy(node, state->snapshot->bytes, state->model ? state->model : state->sum, node->setup->parameter_count);
    }
    node_hold(node, state->snapshot);
    const struct message_header header = {.kind = FEDERATED_MODEL, .step = state->version, .index = peer->assignment};
    node_send(node, worker, &header, state->snapshot, 0, federated_bytes(node));
}

void federated_assign(struct node *node, int worker)
{
    struct federated_state *state = node_state(node);
    struct federated_peer *peer = &state->peers[worker];
    peer->assignment++;
    peer->working = peer->owed = true;
    serve(node, worker);
}

static void forget_snapshot(struct node *node)
{
    struct federated_state *state = node_state(node);
    if (state->snapshot)
        node_release(node, state->snapshot);
    state->snapshot = NULL;
}

/* ---- the sum, and the round ---- */

void federated_add(struct node *node, const float *vector, double weight, int source)
{
    struct federated_state *state = node_state(node);
    const size_t count = node->setup->parameter_count;
    const float factor = state->model ? (float)weight : 1;
    int64_t begin_ns = node_now(node);
    if (state->collected == 0)
        node_scale(node, state->sum, factor, vector, count);
    else
        node_axpy(node, state->sum, factor, vector, count);
    node_span(node, SPAN_REDUCE, state->version, begin_ns, node_now(node), source, federated_bytes(node));
    state->weight += factor;
    state->collected++;
}

void federated_average(struct node *node)
{
    struct federated_state *state = node_state(node);
    const size_t count = node->setup->parameter_count;
    if (state->collected == 0)
        return;
    int64_t begin_ns = node_now(node);
    if (state->model)
        node_scale(node, state->model, (float)(1 / state->weight), state->sum, count);
    else /* all clients' last steps have this number where they are of this version */
        node_update(node, NULL, state->sum, state->collected, 0, count,
                    (state->version + 1) * (uint64_t)node->setup->values[FEDERATED_PERIOD] - 1);
    node_span(node, SPAN_APPLY, state->version, begin_ns, node_now(node), -1, federated_bytes(node));
}

struct gradient_record federated_record(struct node *node, const struct message *message, enum gradient_fate fate)
{
    struct federated_state *state = node_state(node);
    return (struct gradient_record){.round = (uint32_t)state->version,
                                    .worker = (uint32_t)message->source,
                                    .step = (uint64_t)message->header.argument,
                                    .staleness = (uint32_t)(state->version - message->header.step),
                                    .order = (uint32_t)state->arrivals++,
                                    .fate = fate,
                                    .arrived_ns = node_now(node)};
}

void federated_tell(struct node *node, const struct message *message, enum gradient_fate fate)
{
    const struct gradient_record record = federated_record(node, message, fate);
    node_gradient(node, &record);
}

void federated_arm(struct node *node, int64_t from_ns)
{
    const int64_t deadline_ns = (int64_t)node->setup->values[FEDERATED_DEADLINE];
    if (deadline_ns > 0)
        node_arm(node, ((struct federated_state *)node_state(node))->timer, from_ns + deadline_ns);
}

static void server_stop(struct node *node)
{
    struct federated_state *state = node_state(node);
    state->stopped = true;
    node_disarm(node, state->timer);
    for (int worker = 0; worker < node->setup->workers; worker++)
        if (!state->peers[worker].lost)
            node_send(node, worker, &(struct message_header){.kind = FEDERATED_STOP, .step = state->version}, NULL, 0, 0);
    node_finished(node);
}

void federated_round_over(struct node *node)
{
    struct federated_state *state = node_state(node);
    node_round_finished(node, state->version);
    state->version++;
    state->collected = state->arrivals = 0;
    state->weight = 0;
    forget_snapshot(node);
    if (state->version == (uint64_t)node->setup->rounds)
        server_stop(node);
    else
        state->policy->begin(node);
}

/* ---- both ---- */

void federated_prepare(struct node *node)
{
    struct federated_state *state = node_state(node);
    const float *initial = node_initial_model(node);
    state->policy = node->setup->scheme->detail;
    state->wait_begin_ns = -1;
    state->random = node_random(node, RNG_SCHEME, (uint32_t)node->index);
    if (initial) {
        state->model = node_alloc(node, federated_bytes(node));
        node_copy(node, state->model, initial, node->setup->parameter_count);
    }
    if (node->role == ROLE_WORKER) {
        federated_client_prepare(node);
        return;
    }
    state->sum = node_alloc(node, federated_bytes(node));
    state->peers = node_alloc(node, (size_t)node->setup->workers * sizeof(*state->peers));
    state->alive = node->setup->workers;
    for (int worker = 0; worker < node->setup->workers; worker++)
        state->mean_samples += (double)scheme_samples(node->setup, worker) / node->setup->workers;
    state->timer = node_timer(node);
    if (state->policy->prepare)
        state->policy->prepare(node);
}

void federated_start(struct node *node)
{
    struct federated_state *state = node_state(node);
    if (node->role == ROLE_WORKER)
        state->wait_begin_ns = node_now(node);
    else if (node->setup->rounds == 0)
        server_stop(node);
    else
        state->policy->begin(node);
}

static void refuse(struct node *node, const struct message *message)
{
    const struct federated_state *state = node_state(node);
    char sentence[256];
    snprintf(
        sentence, sizeof(sentence),
        "%s on node %d at version %llu refuses a message of kind %u, version %llu, %zu bytes, from node %d: it is unknown here; "
        "the nodes do not run the same scheme with the same parameters",
        node->setup->scheme->name, node->index, (unsigned long long)state->version, message->header.kind,
        (unsigned long long)message->header.step, message->length, message->source);
    node_fail(node, sentence);
}

struct landing federated_on_header(struct node *node, const struct message *message)
{
    struct federated_state *state = node_state(node);
    const struct message_header *header = &message->header;
    if (node->role == ROLE_SERVER) {
        if (message->source < node->setup->workers && header->kind == FEDERATED_UPDATE && header->step <= state->version &&
            header->index >= 1 && header->index <= state->peers[message->source].assignment &&
            message->length == federated_bytes(node))
            return (struct landing){.kind = LAND_POOL};
    } else if (message->source == node->setup->workers && !state->stopped) {
        if (header->kind == FEDERATED_STOP && message->length == 0)
            return (struct landing){.kind = LAND_POOL};
        if (header->kind == FEDERATED_MODEL && header->step >= state->version && message->length == federated_bytes(node)) {
            federated_client_announced(node);
            return (struct landing){.kind = LAND_INTO, .into = state->received};
        }
    }
    refuse(node, message);
    return (struct landing){.kind = LAND_DISCARD};
}

static void server_on_update(struct node *node, const struct message *message)
{
    struct federated_state *state = node_state(node);
    struct federated_peer *peer = &state->peers[message->source];
    const bool current = message->header.index == peer->assignment;
    if (current)
        peer->working = false;
    if (state->stopped)
        federated_tell(node, message, GRADIENT_LATE);
    else
        state->policy->arrived(node, message, current);
}

void federated_on_message(struct node *node, const struct message *message)
{
    if (node->role == ROLE_SERVER)
        server_on_update(node, message);
    else if (message->header.kind == FEDERATED_STOP)
        federated_client_stop(node);
    else
        federated_client_model(node, message);
}

void federated_on_sent(struct node *node, struct buffer *buffer, int destination)
{
    (void)buffer;
    struct federated_state *state = node_state(node);
    if (node->role == ROLE_WORKER) {
        federated_client_sent(node);
        return;
    }
    state->peers[destination].sending = false;
    serve(node, destination);
}

void federated_on_timer(struct node *node, int timer)
{
    (void)timer;
    struct federated_state *state = node_state(node);
    if (!state->stopped)
        state->policy->deadline(node);
}

void federated_on_peer(struct node *node, int peer, enum peer_state peer_state)
{
    struct federated_state *state = node_state(node);
    if (peer_state != PEER_LOST || state->stopped)
        return;
    if (node->role == ROLE_WORKER) {
        if (peer == node->setup->workers) /* another client is the server's affair */
            node_fail(node, "the server is lost");
        return;
    }
    const bool worked = state->peers[peer].working;
    state->peers[peer].lost = true;
    state->peers[peer].working = state->peers[peer].owed = false;
    if (--state->alive == 0)
        node_fail(node, "the last client is lost: nobody is left to train");
    else
        state->policy->lost(node, peer, worked);
}

const float *federated_model(struct node *node)
{
    return ((struct federated_state *)node_state(node))->model;
}
