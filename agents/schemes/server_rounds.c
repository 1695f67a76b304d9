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

void server_rounds_refuse(struct node *node, const struct message *message)
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
    server_prepare(node);
}

void server_rounds_start(struct node *node)
{
    if (node->role == ROLE_WORKER)
        server_worker_compute(node);
    else if (node->setup->rounds == 0)
        server_stop(node);
    else
        server_start(node);
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
    server_rounds_refuse(node, message);
    return (struct landing){.kind = LAND_DISCARD};
}

void server_rounds_on_message(struct node *node, const struct message *message)
{
    if (node->role == ROLE_SERVER)
        server_take_gradient(node, message);
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
    server_forget_read(node, &state->clients[peer]);
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
