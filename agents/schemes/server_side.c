/* agents/schemes/server_side.c: the server of server_rounds.h: who gets which model when, what becomes of a gradient, and the
 * update; the protocol is described in server_rounds.c. */
#include <string.h>

#include "agents/schemes/server_rounds_internal.h"

void server_forget_read(struct node *node, struct client *client)
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
        server_forget_read(node, client);
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

void server_serve_all(struct node *node)
{
    const struct server_rounds_state *state = node_state(node);
    if (state->stopped)
        return;
    const uint64_t least = state->policy->may_go_on ? slowest(node, state) : 0;
    for (int worker = 0; worker < node->setup->workers; worker++)
        serve(node, worker, least);
}

void server_serve(struct node *node, int worker)
{
    const struct server_rounds_state *state = node_state(node);
    if (state->policy->may_go_on)
        server_serve_all(node);
    else if (!state->stopped)
        serve(node, worker, 0);
}

void server_stop(struct node *node)
{
    struct server_rounds_state *state = node_state(node);
    state->stopped = true;
    if (state->rate.interval_ns > 0)
        node_disarm(node, state->rate.timer);
    server_zeno_stop(node, &state->zeno);
    for (int worker = 0; worker < node->setup->workers; worker++)
        server_forget_read(node, &state->clients[worker]);
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

static void server_keep(struct server_rounds_state *state, struct node *node, const struct message *message)
{
    node_hold(node, message->buffer);
    state->kept[state->collected] = message->buffer;
    state->rows[state->collected] = message->payload;
    state->collected++;
}

static void server_combine(struct node *node)
{
    struct server_rounds_state *state = node_state(node);
    aggregate_run(node, state->aggregate, state->rows, state->collected, node->setup->parameter_count, state->scratch, state->sum,
                  state->version);
    for (int i = 0; i < state->collected; i++)
        node_release(node, state->kept[i]);
}

static void server_count(struct server_rounds_state *state, int worker)
{
    if (state->clients[worker].counted)
        return;
    state->clients[worker].counted = true;
    int at = state->contributor_count++;
    for (; at > 0 && state->contributors[at - 1] > worker; at--)
        state->contributors[at] = state->contributors[at - 1];
    state->contributors[at] = worker;
}

/* The update is made: who gets its model. Nobody but its contributors changes, unless all get it: a thousand workers are not to be
 * looked at for every update. */
static void server_release_contributors(struct node *node)
{
    struct server_rounds_state *state = node_state(node);
    const bool everyone = server_interrupts(node->setup);
    const int contributors = state->contributor_count;
    for (int i = 0; i < contributors; i++) {
        struct client *client = &state->clients[state->contributors[i]];
        client->owed |= client->waits;
        client->counted = false;
    }
    for (int worker = 0; everyone && worker < node->setup->workers; worker++)
        state->clients[worker].owed = true;
    state->contributor_count = 0;
    if (state->version == (uint64_t)node->setup->rounds)
        server_stop(node);
    if (everyone || state->policy->may_go_on)
        server_serve_all(node);
    else
        for (int i = 0; i < contributors && !state->stopped; i++)
            serve(node, state->contributors[i], 0);
}

void server_update(struct node *node)
{
    struct server_rounds_state *state = node_state(node);
    if (state->coding && !server_coding_finish(node, state->coding, state->version, state->sum))
        return;
    if (state->scratch)
        server_combine(node);
    const int contributors = state->coding ? node->setup->workers : aggregate_contributors(state->aggregate, state->collected);
    int64_t begin_ns = node_now(node);
    node_update(node, state->model, state->sum, contributors, 0, node->setup->parameter_count, state->version);
    node_span(node, SPAN_APPLY, state->version, begin_ns, node_now(node), -1, vector_bytes(node));
    node_round_finished(node, state->version);
    state->version++;
    if (state->snapshot) {
        node_release(node, state->snapshot);
        state->snapshot = NULL;
    }
    server_release_contributors(node);
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

static void server_add(struct node *node, const struct message *message, double share)
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

/* What becomes of a gradient, and with what share of its length. */
static enum gradient_fate server_decide(struct node *node, const struct message *message, double *share)
{
    struct server_rounds_state *state = node_state(node);
    const enum gradient_fate fate = server_judge(state, message);
    *share = 1;
    if (!state->zeno.parameters || fate != GRADIENT_USED)
        return fate;
    const int64_t begin_ns = node_now(node);
    const bool accepted = server_zeno_accepts(node, &state->zeno, message->payload, share);
    node_span(node, SPAN_REDUCE, state->version, begin_ns, node_now(node), message->source, vector_bytes(node));
    return accepted ? GRADIENT_USED : GRADIENT_DROPPED;
}

static void server_on_gradient(struct node *node, const struct message *message, int64_t arrived_ns)
{
    struct server_rounds_state *state = node_state(node);
    const struct server_policy *policy = state->policy;
    struct client *client = &state->clients[message->source];
    double share;
    enum gradient_fate fate = server_decide(node, message, &share);
    float loss;
    memcpy(&loss, &message->header.index, sizeof(loss));
    server_rate_loss(&state->rate, message->header.step, loss);
    node_gradient(node, &(struct gradient_record){.round = (uint32_t)state->version,
                                                  .worker = (uint32_t)message->source,
                                                  .step = (uint64_t)message->header.argument,
                                                  .staleness = (uint32_t)(state->version - message->header.step),
                                                  .order = (uint32_t)state->arrivals++,
                                                  .fate = fate,
                                                  .arrived_ns = arrived_ns});
    client->done++;
    if (state->stopped)
        return;
    client->waits = !policy->keeps_going;
    if (state->coding &&
        fate == GRADIENT_DROPPED) { /* as good as the one of its group that was used: it waits for the update, too */
        server_count(state, message->source);
        client->refused = true;
    } else if (client->waits && fate != GRADIENT_USED) {
        client->refused = client->version == message->header.step; /* otherwise a newer model is on its way to it */
        client->owed |= client->refused;
    } else if (client->waits) {
        client->owed |= policy->pulls_at_once;
    }
    if (fate == GRADIENT_USED) {
        server_count(state, message->source);
        if (state->scratch)
            server_keep(state, node, message);
        else
            server_add(node, message, share);
        if (state->collected >= state->quota) {
            server_update(node);
            return;
        }
    }
    server_serve(node, message->source);
}

/* A new validation gradient may be due. */
static void server_look(struct node *node)
{
    struct server_rounds_state *state = node_state(node);
    if (state->zeno.parameters && !state->stopped)
        server_zeno_look(node, &state->zeno, state->model, state->version);
}

void server_take_gradient(struct node *node, const struct message *message)
{
    struct server_zeno *zeno = &((struct server_rounds_state *)node_state(node))->zeno;
    if (zeno->parameters && !zeno->known) {
        if (!server_zeno_wait(node, zeno, message))
            server_rounds_refuse(node, message);
        return;
    }
    server_on_gradient(node, message, node_now(node));
    server_look(node);
}

void server_take_validation(struct node *node, const struct task_result *result)
{
    struct server_rounds_state *state = node_state(node);
    struct server_zeno *zeno = &state->zeno;
    if (state->stopped || !server_zeno_take(node, zeno, result))
        return;
    for (int i = 0; i < zeno->waiting_count; i++) {
        server_on_gradient(node, &zeno->waiting[i].message, zeno->waiting[i].arrived_ns);
        node_release(node, zeno->waiting[i].message.buffer);
    }
    zeno->waiting_count = 0;
    server_look(node);
}

/* ---- life ---- */

void server_prepare(struct node *node)
{
    struct server_rounds_state *state = node_state(node);
    state->sum = node_alloc(node, vector_bytes(node));
    state->clients = node_alloc(node, (size_t)node->setup->workers * sizeof(*state->clients));
    state->contributors = node_alloc(node, (size_t)node->setup->workers * sizeof(*state->contributors));
    state->alive = node->setup->workers;
    server_rate_prepare(node, &state->rate);
    take_quota(state);
    if (state->policy->zeno_parameter > 0)
        server_zeno_prepare(node, &state->zeno, &node->setup->values[state->policy->zeno_parameter - 1]);
    state->aggregate = server_aggregate(node->setup);
    if (state->aggregate.kind == AGGREGATE_MEAN)
        return;
    const int most = server_quota_most(node->setup);
    state->scratch = aggregate_scratch(node, most);
    state->kept = node_alloc(node, (size_t)most * sizeof(struct buffer *));
    state->rows = node_alloc(node, (size_t)most * sizeof(float *));
}

void server_start(struct node *node)
{
    struct server_rounds_state *state = node_state(node);
    server_rate_start(node, &state->rate);
    server_look(node);
}
