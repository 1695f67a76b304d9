/* agents/schemes/server_rounds.c: rounds of a parameter server that does not wait for every worker; see server_rounds.h.
 *
 * Theory of operation. Workers are nodes 0 .. P-1, the server is node P. The server's model has a version: the number of updates
 * made. A worker computes a gradient at the version that it has, pushes it with that version in the header, and (unless it keeps
 * going) waits for a model. The server adds each gradient that counts to a sum; the quota's last one makes the update
 *
 *     w <- w - (eta / K) sum        version + 1
 *
 * Who gets the model, and when, is the policy's: every worker at each update (interrupts), the update's contributors, the pusher at
 * once. A gradient that does not count is dropped on arrival: late if its update has been made without it, dropped if its worker
 * had counted already; its worker is told (argument 1 in the model's header) and gets the model at once, since it waits.
 *
 * Models under way. A slow worker may still receive version v when v+1 is made, so what is sent is a copy of the model, one a
 * version, shared by all who get that version, and given back to the pool with its last send. To one worker at most one model is
 * under way: if others are made meanwhile, only the newest follows. A worker without a model (synthetic) gets the last update's
 * sum.
 *
 * The end. With the last update the server sends STOP to everyone; what still arrives afterwards is late. A worker that was told
 * gives up its gradient.
 *
 * Rates that make up for staleness, and quotas that follow the loss: server_rate.c. A gradient's header carries its loss.
 *
 * A lost worker no longer counts and is no longer waited for; the trial fails only when fewer workers than the quota are left.
 *
 * No deadlock: the server waits for gradients only, of which the quota's worth of workers always computes or sends; a worker waits
 * for a model that is sent without waiting for anyone, or, where `may_go_on` holds it back, for the slowest worker, which is never
 * held back itself. */
#include "agents/schemes/server_rounds.h"

#include <stdio.h>
#include <string.h>

#include "agents/schemes/server_rounds_internal.h"

static void refuse(struct node *node, const struct message *message)
{
    const struct server_rounds_state *state = node_state(node);
    char sentence[256];
    snprintf(
        sentence, sizeof(sentence),
        "%s on node %d at version %llu refuses a message of kind %u, version %llu, %zu bytes, from node %d: it is unknown here; "
        "the nodes do not run the same scheme with the same parameters",
        node->setup->scheme->name, node->index, (unsigned long long)state->version, message->header.kind,
        (unsigned long long)message->header.step, message->length, message->source);
    node_fail(node, sentence);
}

/* ---- server ---- */

static void forget_read(struct node *node, struct client *client)
{
    if (client->read)
        node_release(node, client->read);
    client->read = NULL;
}

static void server_send_model(struct node *node, int worker)
{
    struct server_rounds_state *state = node_state(node);
    struct client *client = &state->clients[worker];
    struct message_header header = {.kind = KIND_MODEL, .step = state->version, .argument = client->refused ? REFUSED : ACCEPTED};
    client->owed = client->waits = client->refused = false;
    client->sending = true;
    client->version = state->version;
    if (!state->snapshot) {
        state->snapshot = node_buffer(node, vector_bytes(node));
        state->snapshot->tag = 0;
        node_copy(node, state->snapshot->bytes, state->model ? state->model : state->sum, node->setup->parameter_count);
    }
    if (state->rate.constant > 0) {
        forget_read(node, client);
        node_hold(node, state->snapshot);
        client->read = state->snapshot;
    }
    node_hold(node, state->snapshot);
    node_send(node, worker, &header, state->snapshot, 0, vector_bytes(node));
}

static uint64_t slowest(const struct node *node, const struct server_rounds_state *state)
{
    uint64_t least = UINT64_MAX;
    for (int worker = 0; worker < node->setup->workers; worker++)
        if (!state->clients[worker].lost && state->clients[worker].done < least)
            least = state->clients[worker].done;
    return least;
}

static void serve(struct node *node, int worker, uint64_t least)
{
    const struct server_rounds_state *state = node_state(node);
    const struct client *client = &state->clients[worker];
    if (!client->owed || client->sending || client->lost)
        return;
    if (!state->policy->may_go_on || state->policy->may_go_on(node->setup, client->done, least))
        server_send_model(node, worker);
}

/* Sends the newest model to whoever is owed one and may go on. */
static void server_serve_all(struct node *node)
{
    const struct server_rounds_state *state = node_state(node);
    if (state->stopped)
        return;
    const uint64_t least = state->policy->may_go_on ? slowest(node, state) : 0;
    for (int worker = 0; worker < node->setup->workers; worker++)
        serve(node, worker, least);
}

/* The same where something has changed about one worker, which changes nothing for others, unless they wait for the slowest: a thousand
 * workers are not to be looked at for every message. */
static void server_serve(struct node *node, int worker)
{
    const struct server_rounds_state *state = node_state(node);
    if (state->policy->may_go_on)
        server_serve_all(node);
    else if (!state->stopped)
        serve(node, worker, 0);
}

static void server_stop(struct node *node)
{
    struct server_rounds_state *state = node_state(node);
    state->stopped = true;
    if (state->rate.interval_ns > 0)
        node_disarm(node, state->rate.timer);
    for (int worker = 0; worker < node->setup->workers; worker++)
        forget_read(node, &state->clients[worker]);
    for (int worker = 0; worker < node->setup->workers; worker++)
        if (!state->clients[worker].lost)
            node_send(node, worker, &(struct message_header){.kind = KIND_STOP, .step = state->version}, NULL, 0, 0);
    node_finished(node);
}

/* Who is lost cannot be counted on. */
static void take_quota(struct server_rounds_state *state)
{
    state->quota = state->rate.quota;
    if (state->rate.interval_ns > 0 && state->policy->distinct && state->quota > state->alive)
        state->quota = state->alive;
}

static void server_update(struct node *node)
{
    struct server_rounds_state *state = node_state(node);
    if (state->coding && !server_coding_finish(node, state->coding, state->version, state->sum))
        return;
    int64_t begin_ns = node_now(node);
    node_update(node, state->model, state->sum, state->coding ? node->setup->workers : state->collected, 0,
                node->setup->parameter_count, state->version);
    node_span(node, SPAN_APPLY, state->version, begin_ns, node_now(node), -1, vector_bytes(node));
    node_round_finished(node, state->version);
    state->version++;
    if (state->snapshot) {
        node_release(node, state->snapshot);
        state->snapshot = NULL;
    }
    const bool everyone = server_interrupts(node->setup);
    for (int worker = 0; worker < node->setup->workers; worker++) {
        struct client *client = &state->clients[worker];
        client->owed |= everyone || (client->counted && client->waits);
        client->counted = false;
    }
    if (state->version == (uint64_t)node->setup->rounds)
        server_stop(node);
    server_serve_all(node);
    state->collected = state->arrivals = 0;
    take_quota(state);
}

static enum gradient_fate server_judge(const struct server_rounds_state *state, const struct message *message)
{
    if (state->stopped || (state->policy->current_only && message->header.step != state->version))
        return GRADIENT_LATE;
    if (state->policy->distinct && state->clients[message->source].counted)
        return GRADIENT_DROPPED;
    if (state->coding && !server_coding_counts(state->coding, message->source))
        return GRADIENT_DROPPED;
    return GRADIENT_USED;
}

static void server_add(struct node *node, const struct message *message)
{
    struct server_rounds_state *state = node_state(node);
    const size_t count = node->setup->parameter_count;
    state->collected++;
    if (state->coding) {
        server_coding_take(node, state->coding, state->version, message, state->sum);
        return;
    }
    const bool first = state->collected == 1;
    int64_t begin_ns = node_now(node);
    double share = 1;
    if (state->rate.constant > 0 && message->header.step != state->version) {
        const struct buffer *read = state->clients[message->source].read;
        share = server_rate_share(node, &state->rate, state->model, read ? read->bytes : state->rate.initial);
    }
    if (share != 1 && first)
        node_scale(node, state->sum, (float)share, message->payload, count);
    else if (share != 1)
        node_axpy(node, state->sum, (float)share, message->payload, count);
    else if (first)
        node_copy(node, state->sum, message->payload, count);
    else
        node_add(node, state->sum, state->sum, message->payload, count);
    node_span(node, SPAN_REDUCE, state->version, begin_ns, node_now(node), message->source, vector_bytes(node));
}

static void server_on_gradient(struct node *node, const struct message *message)
{
    struct server_rounds_state *state = node_state(node);
    const struct server_policy *policy = state->policy;
    struct client *client = &state->clients[message->source];
    enum gradient_fate fate = server_judge(state, message);
    float loss;
    memcpy(&loss, &message->header.index, sizeof(loss));
    server_rate_loss(&state->rate, message->header.step, loss);
    node_gradient(node, &(struct gradient_record){.round = (uint32_t)state->version,
                                                  .worker = (uint32_t)message->source,
                                                  .step = (uint64_t)message->header.argument,
                                                  .staleness = (uint32_t)(state->version - message->header.step),
                                                  .order = (uint32_t)state->arrivals++,
                                                  .fate = fate,
                                                  .arrived_ns = node_now(node)});
    client->done++;
    if (state->stopped)
        return;
    client->waits = !policy->keeps_going;
    if (state->coding &&
        fate == GRADIENT_DROPPED) { /* as good as the one of its group that was used: it waits for the update, too */
        client->counted = client->refused = true;
    } else if (client->waits && fate != GRADIENT_USED) {
        client->refused = client->version == message->header.step; /* otherwise a newer model is on its way to it */
        client->owed |= client->refused;
    } else if (client->waits) {
        client->owed |= policy->pulls_at_once;
    }
    if (fate == GRADIENT_USED) {
        client->counted = true;
        server_add(node, message);
        if (state->collected >= state->quota) {
            server_update(node);
            return;
        }
    }
    server_serve(node, message->source);
}

/* ---- both ---- */

void server_rounds_prepare(struct node *node)
{
    struct server_rounds_state *state = node_state(node);
    const size_t bytes = vector_bytes(node);
    const float *initial = node_initial_model(node);
    state->policy = node->setup->scheme->detail;
    state->coding = state->policy->coded ? server_coding_new(node) : NULL;
    state->wait_begin_ns = -1;
    if (initial) {
        state->model = node_alloc(node, bytes);
        node_copy(node, state->model, initial, node->setup->parameter_count);
    }
    if (node->role == ROLE_WORKER) {
        state->received = node_alloc(node, bytes);
        state->buffers = state->policy->keeps_going || server_interrupts(node->setup) ? GRADIENT_BUFFERS : 1;
        for (int i = 0; i < state->buffers; i++)
            state->gradients[i] = node_alloc(node, bytes);
        return;
    }
    state->sum = node_alloc(node, bytes);
    state->clients = node_alloc(node, (size_t)node->setup->workers * sizeof(*state->clients));
    state->alive = node->setup->workers;
    server_rate_prepare(node, &state->rate);
    take_quota(state);
}

void server_rounds_start(struct node *node)
{
    if (node->role == ROLE_WORKER)
        server_worker_compute(node);
    else if (node->setup->rounds == 0)
        server_stop(node);
    else
        server_rate_start(node, &((struct server_rounds_state *)node_state(node))->rate);
}

/* Where rates follow, nobody gets a model before it has pushed its gradient: the one that the server keeps is the one it read. */
static bool computed_at_read(const struct server_rounds_state *state, const struct message *message)
{
    return state->rate.constant <= 0 || state->stopped || message->header.step == state->clients[message->source].version;
}

struct landing server_rounds_on_header(struct node *node, const struct message *message)
{
    struct server_rounds_state *state = node_state(node);
    const struct message_header *header = &message->header;
    if (node->role == ROLE_SERVER) {
        if (message->source < node->setup->workers && header->kind == KIND_GRADIENT && header->step <= state->version &&
            message->length == vector_bytes(node) && computed_at_read(state, message))
            return (struct landing){.kind = LAND_POOL};
    } else if (message->source == node->setup->workers && !state->stopped) {
        if (header->kind == KIND_STOP && message->length == 0)
            return (struct landing){.kind = LAND_POOL};
        if (header->kind == KIND_MODEL && header->step >= state->version && message->length == vector_bytes(node) &&
            !state->receiving) {
            server_worker_end_wait(node, message->source);
            state->receiving = true;
            return (struct landing){.kind = LAND_INTO, .into = state->received};
        }
    }
    refuse(node, message);
    return (struct landing){.kind = LAND_DISCARD};
}

void server_rounds_on_message(struct node *node, const struct message *message)
{
    if (node->role == ROLE_SERVER)
        server_on_gradient(node, message);
    else if (message->header.kind == KIND_STOP)
        server_worker_stop(node);
    else
        server_worker_take_model(node, message);
}

void server_rounds_on_sent(struct node *node, struct buffer *buffer, int destination)
{
    struct server_rounds_state *state = node_state(node);
    if (node->role == ROLE_SERVER) {
        state->clients[destination].sending = false;
        server_serve(node, destination);
        return;
    }
    state->in_flight[buffer->tag] = false;
    if (state->starved)
        server_worker_compute(node);
}

void server_rounds_on_peer(struct node *node, int peer, enum peer_state peer_state)
{
    struct server_rounds_state *state = node_state(node);
    char sentence[160];
    if (peer_state != PEER_LOST || state->stopped)
        return;
    if (node->role == ROLE_WORKER) {
        if (peer == node->setup->workers) /* another worker is the server's affair */
            node_fail(node, "the server is lost");
        return;
    }
    state->clients[peer].lost = true;
    forget_read(node, &state->clients[peer]);
    state->alive--;
    if (state->coding) {
        if (!server_coding_lose(node, state->coding, peer, sentence, sizeof(sentence)))
            node_fail(node, sentence);
        return;
    }
    const bool fixed = state->policy->distinct && state->rate.interval_ns == 0;
    const int needed = fixed ? server_rounds_quota(node->setup) : 1;
    if (state->alive < needed) {
        snprintf(sentence, sizeof(sentence), "worker %d is lost: %d %s left, and an update needs %d", peer, state->alive,
                 state->alive == 1 ? "is" : "are", needed);
        node_fail(node, sentence);
        return;
    }
    if (!fixed && state->policy->distinct && state->quota > state->alive) {
        state->quota = state->alive;
        if (state->collected >= state->quota) {
            server_update(node);
            return;
        }
    }
    server_serve_all(node); /* who waited for the slowest */
}

void server_rounds_on_timer(struct node *node, int timer)
{
    (void)timer;
    struct server_rounds_state *state = node_state(node);
    if (!state->stopped)
        server_rate_look(node, &state->rate);
}

const float *server_rounds_model(struct node *node)
{
    return ((struct server_rounds_state *)node_state(node))->model;
}
