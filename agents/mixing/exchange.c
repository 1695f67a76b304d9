/* agents/mixing/exchange.c: sends to neighbours, takes their messages in order; see exchange.h. */
#include "agents/mixing/exchange.h"

#include <stdio.h>

enum { KIND_STEP = 1 };

struct held {              /* a neighbour's message of the present step */
    struct buffer *buffer; /* NULL: nothing has come, or nothing was in it */
    size_t length;
    int64_t argument;
    bool announced, came;
};

struct exchange {
    struct node *node;
    struct exchange_spec spec;
    struct exchange_step now;
    struct held *held; /* [count] */
    int own_place;     /* in the order: neighbours below this node */
    int turn;          /* in the order, of count + 1 */
    int awaited;       /* headers of this step that have not come */
    unsigned parity;   /* of the step's number among those begun */
    int unsent[2];     /* messages that have not gone, by parity: of this step, and of the one before it */
    bool begun, open, taking, put_off;
    int64_t wait_begin_ns; /* -1: does not wait */
};

struct exchange *exchange_new(struct node *node, const struct exchange_spec *spec)
{
    struct exchange *exchange = node_alloc(node, sizeof(*exchange));
    *exchange = (struct exchange){.node = node, .spec = *spec, .wait_begin_ns = -1};
    exchange->held = node_alloc(node, (size_t)(spec->count + 1) * sizeof(*exchange->held));
    while (exchange->own_place < spec->count && spec->neighbours[exchange->own_place] < node->index)
        exchange->own_place++;
    return exchange;
}

uint64_t exchange_spans(int neighbours)
{
    return 2 * (uint64_t)neighbours + 1; /* a send and a receive each; one wait */
}

bool exchange_open(const struct exchange *exchange)
{
    return exchange->open;
}

static bool is_active(const struct exchange *exchange, int neighbour)
{
    return !exchange->now.active || exchange->now.active[neighbour];
}

/* ---- taking ---- */

/* False: its turn is not yet. */
static bool take_next(struct exchange *exchange)
{
    const struct exchange_spec *spec = &exchange->spec;
    const int neighbour = exchange->turn - (exchange->turn > exchange->own_place);
    if (exchange->turn == exchange->own_place) {
        exchange->turn++;
        spec->take(exchange->node, spec->context, &(struct exchange_part){.neighbour = -1, .node = exchange->node->index});
        return true;
    }
    if (!is_active(exchange, neighbour)) {
        exchange->turn++;
        return true;
    }
    struct held *held = &exchange->held[neighbour];
    if (!held->came)
        return false;
    exchange->turn++;
    struct buffer *buffer = held->buffer;
    spec->take(exchange->node, spec->context,
               &(struct exchange_part){.neighbour = neighbour,
                                       .node = spec->neighbours[neighbour],
                                       .payload = buffer ? buffer->bytes : NULL,
                                       .length = held->length,
                                       .argument = held->argument});
    *held = (struct held){0};
    if (buffer)
        node_release(exchange->node, buffer);
    return true;
}

static void take_what_is_there(struct exchange *exchange)
{
    if (!exchange->open || exchange->taking || exchange->unsent[!exchange->parity] > 0)
        return;
    exchange->taking = true;
    while (exchange->turn <= exchange->spec.count && take_next(exchange))
        continue;
    exchange->taking = false;
    if (exchange->turn <= exchange->spec.count)
        return;
    exchange->open = false;
    exchange->spec.done(exchange->node, exchange->spec.context);
}

/* ---- a step ---- */

static int count_active(const struct exchange *exchange)
{
    int count = 0;
    for (int neighbour = 0; neighbour < exchange->spec.count; neighbour++)
        count += is_active(exchange, neighbour);
    return count;
}

static void send_all(struct exchange *exchange)
{
    struct node *node = exchange->node;
    const struct exchange_spec *spec = &exchange->spec;
    const struct exchange_step *now = &exchange->now;
    const struct message_header header = {
        .channel = spec->channel, .kind = KIND_STEP, .step = now->step, .argument = now->argument};
    const intptr_t tag = (intptr_t)((uint64_t)spec->channel << 32 | exchange->parity);
    int left = exchange->awaited = count_active(exchange);
    struct buffer *buffer = NULL;
    if (now->length > 0 && left > 0)
        buffer = node_wrap(node, (void *)(uintptr_t)now->memory, now->length, tag);
    exchange->unsent[exchange->parity] += buffer ? left : 0;
    for (int i = 0; i < spec->count; i++) { /* from the own place on: not all begin with the same one */
        const int neighbour = (exchange->own_place + i) % spec->count;
        if (!is_active(exchange, neighbour))
            continue;
        if (buffer && --left > 0)
            node_hold(node, buffer);
        node_send(node, spec->neighbours[neighbour], &header, buffer, 0, now->length);
    }
}

void exchange_begin(struct exchange *exchange, const struct exchange_step *step)
{
    exchange->now = *step;
    exchange->begun = exchange->open = true;
    exchange->turn = 0;
    exchange->parity ^= 1;
    send_all(exchange);
    if (exchange->put_off) {
        exchange->put_off = false;
        node_retry(exchange->node, -1);
    }
    take_what_is_there(exchange);
}

void exchange_wait(struct exchange *exchange)
{
    if (exchange->open && exchange->awaited > 0)
        exchange->wait_begin_ns = node_now(exchange->node);
}

static void end_wait(struct exchange *exchange, int source)
{
    if (exchange->wait_begin_ns >= 0)
        node_span(exchange->node, SPAN_WAIT, exchange->now.round, exchange->wait_begin_ns, node_now(exchange->node), source, 0);
    exchange->wait_begin_ns = -1;
}

/* ---- messages ---- */

static int neighbour_of(const struct exchange *exchange, int source)
{
    int first = 0, end = exchange->spec.count;
    while (first < end) {
        const int middle = first + (end - first) / 2;
        if (exchange->spec.neighbours[middle] == source)
            return middle;
        if (exchange->spec.neighbours[middle] < source)
            first = middle + 1;
        else
            end = middle;
    }
    return -1;
}

static struct landing refuse(const struct exchange *exchange, const struct message *message, const char *why)
{
    char sentence[300];
    snprintf(sentence, sizeof(sentence),
             "%s on node %d, in step %llu, refuses a message of kind %u, step %llu, %zu bytes, from node %d: %s; the nodes do not "
             "run the same scheme with the same parameters",
             exchange->node->setup->scheme->name, exchange->node->index, (unsigned long long)exchange->now.step,
             message->header.kind, (unsigned long long)message->header.step, message->length, message->source, why);
    node_fail(exchange->node, sentence);
    return (struct landing){.kind = LAND_DISCARD};
}

struct landing exchange_on_header(struct exchange *exchange, const struct message *message)
{
    const int neighbour = neighbour_of(exchange, message->source);
    const uint64_t step = message->header.step;
    if (message->header.channel != exchange->spec.channel || message->header.kind != KIND_STEP)
        return refuse(exchange, message, "it is unknown here");
    if (neighbour < 0)
        return refuse(exchange, message, "it is no neighbour");
    if (message->length < exchange->spec.length_least || message->length > exchange->spec.length_most)
        return refuse(exchange, message, "its length cannot be");
    if (!exchange->begun || step > exchange->now.step) {
        exchange->put_off = true;
        return (struct landing){.kind = LAND_LATER};
    }
    struct held *held = &exchange->held[neighbour];
    if (!exchange->open || step != exchange->now.step || !is_active(exchange, neighbour) || held->announced)
        return refuse(exchange, message, "it has come before, or is not of this step");
    held->announced = true;
    if (--exchange->awaited == 0)
        end_wait(exchange, message->source);
    return (struct landing){.kind = LAND_POOL};
}

void exchange_on_message(struct exchange *exchange, const struct message *message)
{
    struct held *held = &exchange->held[neighbour_of(exchange, message->source)];
    held->came = true;
    held->length = message->length;
    held->argument = message->header.argument;
    held->buffer = message->buffer;
    if (held->buffer)
        node_hold(exchange->node, held->buffer);
    take_what_is_there(exchange);
}

void exchange_on_sent(struct exchange *exchange, const struct buffer *buffer)
{
    exchange->unsent[buffer->tag & 1]--;
    take_what_is_there(exchange);
}
