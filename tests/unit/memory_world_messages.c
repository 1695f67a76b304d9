/* tests/unit/memory_world_messages.c: buffers and messages of the in-memory world: one queue a connection.
 *
 * A connection (source, destination) is a stream. Its head message is shown to on_header(); when it lands, its payload arrives
 * at a later event, and only then the next header is shown. A message put off goes to the connection's kept list; a retry, an
 * event of its own, puts that list back in front. A connection that keeps more than its limit shows nothing until a retry. */
#include "tests/unit/memory_world_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* after node.h: its macro fail() hides the member */

/* ---- buffers ---- */

static struct buffer *new_buffer(struct memory_world *world, void *memory, size_t bytes, intptr_t tag)
{
    struct memory_buffer *whole = calloc(1, sizeof(*whole));
    assert_non_null(whole);
    whole->next = world->buffers;
    if (whole->next)
        whole->next->previous = whole;
    world->buffers = whole;
    struct buffer *buffer = &whole->buffer;
    *buffer = (struct buffer){.bytes = memory, .length = bytes, .references = 1, .wrapped = memory != NULL, .tag = tag};
    if (!memory) {
        buffer->bytes = malloc(bytes ? bytes : 1);
        assert_non_null(buffer->bytes);
        memset(buffer->bytes, 0xff, bytes);
    }
    world->buffers_out++;
    return buffer;
}

struct buffer *memory_world_buffer(struct node *node, size_t bytes)
{
    return new_buffer(memory_node(node)->world, NULL, bytes, 0);
}

struct buffer *memory_world_wrap(struct node *node, void *memory, size_t bytes, intptr_t tag)
{
    assert_non_null(memory);
    return new_buffer(memory_node(node)->world, memory, bytes, tag);
}

void memory_world_hold(struct node *node, struct buffer *buffer)
{
    (void)node;
    assert_true(buffer->references > 0);
    buffer->references++;
}

static void free_buffer(struct memory_world *world, struct memory_buffer *whole)
{
    *(whole->previous ? &whole->previous->next : &world->buffers) = whole->next;
    if (whole->next)
        whole->next->previous = whole->previous;
    if (!whole->buffer.wrapped)
        free(whole->buffer.bytes);
    free(whole);
    world->buffers_out--;
}

void memory_world_release(struct node *node, struct buffer *buffer)
{
    assert_true(buffer->references > 0);
    if (--buffer->references == 0)
        free_buffer(memory_node(node)->world, (struct memory_buffer *)buffer);
}

/* ---- messages ---- */

static struct connection *connection(struct memory_world *world, int source, int destination)
{
    return &world->connections[(size_t)source * (size_t)world->settings.setup->nodes + (size_t)destination];
}

static void show_next(struct memory_world *world, int source, int destination)
{
    struct connection *c = connection(world, source, destination);
    if (c->busy || c->held_back || !c->head)
        return;
    c->busy = true;
    int64_t at_ns = memory_world_some_time(world);
    if (destination == 0 && world->settings.slow_first_node)
        at_ns += (at_ns - world->now_ns) * world->settings.slow_first_node;
    c->last_ns = at_ns > c->last_ns ? at_ns : c->last_ns;
    memory_world_push(world, (struct event){.at_ns = c->last_ns, .kind = EVENT_HEADER, .node = destination, .peer = source});
}

void memory_world_enqueue(struct memory_world *world, int source, int destination, struct flight flight, const void *payload)
{
    struct flight *copy = malloc(sizeof(*copy));
    assert_non_null(copy);
    *copy = flight;
    copy->payload = malloc(flight.length ? flight.length : 1);
    assert_non_null(copy->payload);
    if (flight.length)
        memcpy(copy->payload, payload, flight.length);
    struct flight **tail = &connection(world, source, destination)->head;
    while (*tail)
        tail = &(*tail)->next;
    *tail = copy;
    if (flight.buffer && world->settings.sent == SENT_ANY_TIME)
        memory_world_push(
            world,
            (struct event){
                .at_ns = memory_world_some_time(world), .kind = EVENT_SENT, .node = source, .peer = destination, .flight = copy});
    show_next(world, source, destination);
}

void memory_world_send(struct node *node, int destination, const struct message_header *header, struct buffer *buffer,
                       size_t offset, size_t length)
{
    struct memory_node *sender = memory_node(node);
    struct memory_world *world = sender->world;
    assert_true(scheme_talks(world->settings.setup, node->index, destination));
    assert_true(buffer ? offset + length <= buffer->length : length == 0);
    sender->result.sent_bytes += length;
    sender->result.sent_messages++;
    if (buffer)
        assert_in_range(++connection(world, node->index, destination)->sends, 1, SENDS_MAX);
    struct flight flight = {.header = *header, .buffer = buffer, .offset = offset, .length = length};
    memory_world_enqueue(world, node->index, destination, flight, buffer ? (uint8_t *)buffer->bytes + offset : NULL);
}

void memory_world_retry(struct node *node, int source)
{
    struct memory_world *world = memory_node(node)->world;
    for (int peer = 0; peer < world->settings.setup->nodes; peer++)
        if (source < 0 || source == peer)
            memory_world_push(
                world,
                (struct event){.at_ns = memory_world_some_time(world), .kind = EVENT_RETRY, .node = node->index, .peer = peer});
}

static void free_flight(struct flight *flight)
{
    free(flight->payload);
    free(flight);
}

/* The receiver is done with the head message; the sender may still have to hear that it is sent. */
static void take_head(struct memory_world *world, int source, int destination)
{
    struct connection *c = connection(world, source, destination);
    struct flight *flight = c->head;
    c->head = flight->next;
    c->busy = false;
    flight->taken = true;
    if (!flight->buffer)
        free_flight(flight);
    else if (world->settings.sent == SENT_ON_TAKE)
        memory_world_push(
            world,
            (struct event){
                .at_ns = memory_world_some_time(world), .kind = EVENT_SENT, .node = source, .peer = destination, .flight = flight});
    show_next(world, source, destination);
}

void memory_world_show_header(struct memory_world *world, int source, int destination)
{
    struct node *node = &world->nodes[destination].node;
    struct connection *c = connection(world, source, destination);
    const struct flight *flight = c->head;
    struct message message = {.header = flight->header, .source = source, .length = flight->length};
    c->landing = (struct landing){.kind = LAND_POOL};
    if (node->setup->scheme->on_header) {
        memory_world_enter(world);
        c->landing = node->setup->scheme->on_header(node, &message);
        memory_world_leave(world);
    }
    switch (c->landing.kind) {
    case LAND_POOL:
        c->pool = new_buffer(world, NULL, flight->length, 0);
        break;
    case LAND_INTO:
        memset(c->landing.into, 0xff, flight->length);
        break;
    case LAND_DISCARD:
        take_head(world, source, destination);
        return;
    case LAND_LATER: {
        struct flight *later = c->head, **tail = &c->kept_head;
        c->head = later->next;
        later->next = NULL;
        while (*tail)
            tail = &(*tail)->next;
        *tail = later;
        c->held_back = ++c->kept > world->settings.later_limit;
        c->busy = false;
        show_next(world, source, destination);
        return;
    }
    }
    memory_world_push(
        world, (struct event){.at_ns = memory_world_some_time(world), .kind = EVENT_PAYLOAD, .node = destination, .peer = source});
}

void memory_world_deliver(struct memory_world *world, int source, int destination)
{
    struct node *node = &world->nodes[destination].node;
    struct connection *c = connection(world, source, destination);
    const struct flight *flight = c->head;
    struct message message = {.header = flight->header, .source = source, .length = flight->length, .buffer = c->pool};
    message.payload = c->pool ? c->pool->bytes : c->landing.into;
    for (size_t i = 0; i < flight->length; i++)
        if (((uint8_t *)message.payload)[i] != 0xff)
            fail_msg("node %d touched the place where a message from %d was landing", destination, source);
    if (flight->length)
        memcpy(message.payload, flight->payload, flight->length);
    memory_world_enter(world);
    node->setup->scheme->on_message(node, &message);
    memory_world_leave(world);
    if (c->pool)
        memory_world_release(node, c->pool);
    c->pool = NULL;
    take_head(world, source, destination);
}

void memory_world_tell_sent(struct memory_world *world, int source, int destination, struct flight *flight)
{
    connection(world, source, destination)->sends--;
    struct node *node = &world->nodes[source].node;
    if (flight->length && memcmp((uint8_t *)flight->buffer->bytes + flight->offset, flight->payload, flight->length) != 0)
        fail_msg("node %d changed a buffer before on_sent()", source);
    if (node->setup->scheme->on_sent) {
        memory_world_enter(world);
        node->setup->scheme->on_sent(node, flight->buffer, destination);
        memory_world_leave(world);
    }
    memory_world_release(node, flight->buffer);
    flight->buffer = NULL;
    if (flight->taken)
        free_flight(flight);
}

void memory_world_put_back(struct memory_world *world, int source, int destination)
{
    struct connection *c = connection(world, source, destination);
    if (!c->kept_head)
        return;
    /* A message that is being shown or landing stays the first. */
    struct flight **front = c->busy && c->head ? &c->head->next : &c->head;
    struct flight *last = c->kept_head;
    while (last->next)
        last = last->next;
    last->next = *front;
    *front = c->kept_head;
    c->kept_head = NULL;
    c->kept = 0;
    c->held_back = false;
    show_next(world, source, destination);
}

static void free_flights(struct flight *flight)
{
    while (flight) {
        struct flight *next = flight->next;
        free_flight(flight);
        flight = next;
    }
}

void memory_world_free_messages(struct memory_world *world)
{
    const size_t nodes = (size_t)world->settings.setup->nodes;
    for (size_t i = 0; i < world->heap_count; i++)
        if (world->heap[i].flight && world->heap[i].flight->taken)
            free_flight(world->heap[i].flight);
    for (size_t i = 0; i < nodes * nodes; i++) {
        free_flights(world->connections[i].head);
        free_flights(world->connections[i].kept_head);
    }
    while (world->buffers)
        free_buffer(world, world->buffers);
}
