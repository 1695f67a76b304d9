/* virtual_messages.c: sends and deliveries of the virtual world, and the messages that a scheme puts off.
 *
 * Bytes. A sender's buffer must not change until it has departed, but the message arrives later. From its departure on a message
 * carries a reference of the sender's pool buffer, or of a copy of the sender's own memory, one for all messages of the same buffer
 * (a wrapped buffer keeps it in `next`). Where values are not carried nothing is copied, and all buffers share one place.
 *
 * A message is shown to on_header() when all of it has come, but at the time when its first packet came (or the node last did
 * something, if that was later): nothing has happened at the node in between, so the scheme cannot tell the difference. */
#include <string.h>

#include "agents/virtual_internal.h"

/* ---- flows ---- */

static size_t place_of(const struct virtual_world *world, int source, int destination)
{
    uint64_t pair = (uint64_t)(uint32_t)source << 32 | (uint32_t)destination;
    return (size_t)(pair * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (world->pair_capacity - 1);
}

static void note_flow(struct virtual_world *world, uint32_t number)
{
    const struct flow *flow = &world->flows[number];
    size_t at = place_of(world, flow->source, flow->destination);
    while (world->pairs[at] != NONE)
        at = (at + 1) & (world->pair_capacity - 1);
    world->pairs[at] = number;
}

static uint32_t find_flow(const struct virtual_world *world, int source, int destination)
{
    if (world->pair_capacity == 0)
        return NONE;
    size_t at = place_of(world, source, destination);
    for (uint32_t number; (number = world->pairs[at]) != NONE; at = (at + 1) & (world->pair_capacity - 1))
        if (world->flows[number].source == source && world->flows[number].destination == destination)
            return number;
    return NONE;
}

/* The table is at most half full. */
static void grow_pairs(struct virtual_world *world)
{
    world->pairs = grow(world->pairs, &world->pair_capacity, sizeof(*world->pairs));
    for (size_t i = 0; i < world->pair_capacity; i++)
        world->pairs[i] = NONE;
    for (size_t i = 0; i < world->flow_count; i++)
        note_flow(world, (uint32_t)i);
}

/* NONE: the scheme may not send there; it has been told. */
static uint32_t new_flow(struct virtual_world *world, const struct node *node, int destination)
{
    const struct scheme_setup *setup = node->setup;
    if (destination < 0 || destination >= setup->nodes || !scheme_talks(setup, node->index, destination)) {
        virtual_fail(world, "scheme '%s' sends to node %d, with which it said that node %d does not talk", setup->scheme->name,
                     destination, node->index);
        return NONE;
    }
    const int end = world->network->next_end(world->network->context, node->index, destination);
    if (end < 0) {
        virtual_fail(world, "there is no way from node %d to node %d", node->index, destination);
        return NONE;
    }
    if (world->flow_count == world->flow_capacity)
        world->flows = grow(world->flows, &world->flow_capacity, sizeof(*world->flows));
    const uint32_t number = (uint32_t)world->flow_count++;
    world->flows[number] = (struct flow){
        .source = node->index, .destination = destination, .end = end, .first = NONE, .last = NONE, .sending = NONE, .next = NONE};
    if (2 * world->flow_count > world->pair_capacity)
        grow_pairs(world);
    else
        note_flow(world, number);
    return number;
}

static uint32_t flow_to(struct virtual_world *world, struct virtual_node *own, int destination)
{
    if (own->flow != NONE && world->flows[own->flow].destination == destination)
        return own->flow;
    uint32_t number = find_flow(world, own->node.index, destination);
    return own->flow = number != NONE ? number : new_flow(world, &own->node, destination);
}

/* ---- parcels ---- */

static uint32_t new_parcel(struct virtual_world *world)
{
    const uint32_t number = world->free_parcel;
    if (number != NONE) {
        world->free_parcel = world->parcels[number].next;
        return number;
    }
    if (world->parcel_count == world->parcel_capacity)
        world->parcels = grow(world->parcels, &world->parcel_capacity, sizeof(*world->parcels));
    return (uint32_t)world->parcel_count++;
}

static void free_parcel(struct virtual_world *world, uint32_t number)
{
    world->parcels[number].next = world->free_parcel;
    world->free_parcel = number;
}

/* The last reference of a wrapped buffer also gives its copy back. */
void virtual_release(struct node *node, struct buffer *buffer)
{
    struct buffer_pool *pool = &virtual_of(node)->world->pool;
    struct buffer *copy = buffer->wrapped && buffer->references == 1 ? buffer->next : NULL;
    buffer->next = copy ? NULL : buffer->next;
    buffer_pool_release(pool, buffer);
    if (copy)
        buffer_pool_release(pool, copy);
}

/* What the message carries when it leaves the sender's memory. */
static struct buffer *carry(struct virtual_world *world, struct buffer *buffer)
{
    if (!world->values || buffer->length == 0)
        return NULL;
    struct buffer *carried = buffer;
    if (buffer->wrapped) {
        if (!buffer->next) {
            buffer->next = buffer_pool_get(&world->pool, buffer->length);
            memcpy(buffer->next->bytes, buffer->bytes, buffer->length);
        }
        carried = buffer->next;
    }
    buffer_hold(carried);
    return carried;
}

static void span(struct virtual_node *own, enum span_kind kind, int peer, size_t bytes, int64_t begin_ns, int64_t end_ns,
                 uint32_t flags)
{
    recorder_span(&own->recorder, &(struct span_record){.round = virtual_round(own),
                                                        .kind = kind,
                                                        .peer = (uint32_t)peer,
                                                        .flags = flags,
                                                        .begin_ns = begin_ns,
                                                        .end_ns = end_ns,
                                                        .bytes = bytes});
}

/* ---- sending ---- */

void virtual_send(struct node *node, int destination, const struct message_header *header, struct buffer *buffer, size_t offset,
                  size_t length)
{
    struct virtual_node *own = virtual_of(node);
    struct virtual_world *world = own->world;
    if (buffer ? offset > buffer->length || length > buffer->length - offset : length > 0) {
        virtual_fail(world, "scheme '%s' sends %zu bytes from offset %zu of a buffer of %zu", world->scheme->name, length, offset,
                     buffer ? buffer->length : 0);
        return;
    }
    const uint32_t flow_number = flow_to(world, own, destination);
    if (flow_number == NONE)
        return;
    virtual_charge(own, node->setup->message_ns / 2);
    own->counters.sent_messages++;
    own->counters.sent_payload_bytes += length;
    const uint32_t number = new_parcel(world);
    world->parcels[number] = (struct parcel){
        .header = *header,
        .buffer = buffer,
        .offset = offset,
        .length = length,
        .unsent = length,
        .missing = length,
        .ready_ns = own->clock_ns,
        .first_ns = -1,
        .source = node->index,
        .destination = destination,
        .flow = flow_number,
        .next = NONE,
    };
    struct flow *flow = &world->flows[flow_number];
    if (flow->first == NONE)
        flow->first = number;
    else
        world->parcels[flow->last].next = number;
    flow->last = number;
    virtual_links_send(world, number);
}

/* The sender may forget the buffer. */
void virtual_tell_departed(struct virtual_world *world, uint32_t number)
{
    struct parcel *parcel = &world->parcels[number];
    struct virtual_node *own = &world->nodes[parcel->source];
    struct buffer *buffer = parcel->buffer;
    const int destination = parcel->destination;
    parcel->buffer = NULL;
    if (parcel->landed)
        free_parcel(world, number);
    if (world->scheme->on_sent && virtual_lives(own)) {
        virtual_enter(own);
        world->scheme->on_sent(&own->node, buffer, destination);
    }
    virtual_release(&own->node, buffer);
    if (own->retry != RETRY_NONE)
        virtual_leave(own);
}

void virtual_departed(struct virtual_world *world, uint32_t number)
{
    struct parcel *parcel = &world->parcels[number];
    struct virtual_node *own = &world->nodes[parcel->source];
    span(own, SPAN_SEND, parcel->destination, parcel->length, parcel->begin_ns, world->now_ns, 0);
    if (!parcel->buffer)
        return;
    parcel->carried = carry(world, parcel->buffer);
    if (own->paused)
        moments_add(&world->moments, world->now_ns, MOMENT_DEPART, number, 0);
    else
        virtual_tell_departed(world, number);
}

/* ---- receiving ---- */

static struct message message_of(const struct parcel *parcel)
{
    return (struct message){.header = parcel->header, .source = parcel->source, .length = parcel->length};
}

static struct landing ask(struct virtual_node *own, const struct message *message)
{
    const struct scheme *scheme = own->world->scheme;
    return scheme->on_header ? scheme->on_header(&own->node, message) : (struct landing){.kind = LAND_POOL};
}

/* The bytes as a buffer of the receiver's: the one that travelled, where nobody else has it. */
static struct buffer *pool_buffer(struct virtual_world *world, struct buffer *carried, size_t offset, size_t length)
{
    if (!world->values || length == 0) {
        struct buffer *buffer = buffer_pool_wrap(&world->pool, world->scratch, length, 0);
        if (carried)
            buffer_pool_release(&world->pool, carried);
        return buffer;
    }
    if (carried->references == 1 && offset == 0 && length == carried->length) {
        carried->tag = 0;
        return carried;
    }
    struct buffer *buffer = buffer_pool_get(&world->pool, length);
    memcpy(buffer->bytes, (const uint8_t *)carried->bytes + offset, length);
    buffer_pool_release(&world->pool, carried);
    return buffer;
}

/* All of it is there: takes the parcel over. */
static void land(struct virtual_node *own, uint32_t number, struct landing landing)
{
    struct virtual_world *world = own->world;
    const struct parcel parcel = world->parcels[number];
    struct message message = message_of(&parcel);
    struct buffer *buffer = NULL;
    if (parcel.buffer)
        world->parcels[number].landed = true;
    else
        free_parcel(world, number);
    if (landing.kind == LAND_POOL) {
        buffer = pool_buffer(world, parcel.carried, parcel.offset, parcel.length);
        message.buffer = buffer;
        message.payload = buffer->bytes;
    } else {
        message.payload = landing.into;
        if (landing.kind == LAND_INTO && parcel.carried && parcel.length > 0)
            memcpy(landing.into, (const uint8_t *)parcel.carried->bytes + parcel.offset, parcel.length);
        if (parcel.carried)
            buffer_pool_release(&world->pool, parcel.carried);
    }
    if (landing.kind != LAND_DISCARD && world->scheme->on_message)
        world->scheme->on_message(&own->node, &message);
    if (buffer)
        virtual_release(&own->node, buffer);
}

static void put_off(struct virtual_node *own, uint32_t number)
{
    struct virtual_world *world = own->world;
    world->parcels[number].next = NONE;
    if (own->later_first == NONE)
        own->later_first = number;
    else
        world->parcels[own->later_last].next = number;
    own->later_last = number;
}

/* The parcel no longer belongs to its flow. */
static void deliver(struct virtual_world *world, uint32_t number)
{
    const struct parcel *parcel = &world->parcels[number];
    struct virtual_node *own = &world->nodes[parcel->destination];
    const struct message message = message_of(parcel);
    if (!virtual_lives(own) || !virtual_lives(&world->nodes[parcel->source])) {
        land(own, number, (struct landing){.kind = LAND_DISCARD});
        return;
    }
    const int64_t first_ns = parcel->first_ns < world->now_ns ? parcel->first_ns : world->now_ns;
    if (own->clock_ns < first_ns)
        own->clock_ns = first_ns;
    const int64_t begin_ns = own->clock_ns;
    const struct landing landing = ask(own, &message);
    virtual_enter(own);
    virtual_charge(own, own->node.setup->message_ns / 2);
    const bool discarded = landing.kind == LAND_DISCARD;
    own->counters.received_messages++;
    own->counters.received_payload_bytes += message.length;
    own->counters.discarded_messages += discarded;
    span(own, SPAN_RECEIVE, message.source, message.length, begin_ns, own->clock_ns, discarded ? SPAN_DISCARDED : 0);
    if (landing.kind == LAND_LATER)
        put_off(own, number);
    else
        land(own, number, landing);
    if (own->retry != RETRY_NONE)
        virtual_leave(own);
}

/* Deliveries keep the order of the flow: what a repeated packet held up lets all behind it go. */
void virtual_arrive(struct virtual_world *world, uint32_t index)
{
    const struct segment segment = world->segments[index];
    struct parcel *parcel = &world->parcels[segment.parcel];
    virtual_links_free_segment(world, index);
    parcel->missing -= segment.bytes;
    parcel->came = parcel->missing == 0;
    const uint32_t flow_number = parcel->flow;
    while (!world->failed) {
        struct flow *flow = &world->flows[flow_number];
        const uint32_t number = flow->first;
        if (number == NONE || !world->parcels[number].came)
            return;
        flow->first = world->parcels[number].next;
        deliver(world, number);
    }
}

/* ---- messages that were put off ---- */

void virtual_retry(struct node *node, int source)
{
    struct virtual_node *own = virtual_of(node);
    if (own->later_first == NONE)
        return;
    own->retry = own->retry == RETRY_NONE || own->retry == source ? source < 0 ? RETRY_ALL : source : RETRY_ALL;
}

static void show_again(struct virtual_node *own, int source)
{
    struct virtual_world *world = own->world;
    uint32_t before = NONE, number = own->later_first;
    while (number != NONE && !world->failed) {
        const uint32_t next = world->parcels[number].next;
        const struct message message = message_of(&world->parcels[number]);
        struct landing landing = {.kind = LAND_LATER};
        if (source == RETRY_ALL || message.source == source)
            landing = ask(own, &message);
        if (landing.kind == LAND_LATER) {
            before = number;
            number = next;
            continue;
        }
        if (before == NONE)
            own->later_first = next;
        else
            world->parcels[before].next = next;
        if (own->later_last == number)
            own->later_last = before;
        own->counters.discarded_messages += landing.kind == LAND_DISCARD;
        land(own, number, landing);
        number = next;
    }
}

void virtual_leave(struct virtual_node *own)
{
    while (own->retry != RETRY_NONE && !own->world->failed) {
        const int source = own->retry;
        own->retry = RETRY_NONE;
        show_again(own, source);
    }
}
