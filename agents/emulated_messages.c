/* emulated_messages.c: sends and deliveries of the emulated world, the messages that a scheme puts off, and what waits until no
 * callback of the scheme is running (see emulated_internal.h).
 *
 * A message that is put off is received into a pool buffer and waits in its sender's inbox until node_retry() shows it to
 * on_header() again. When an inbox is full, the next message that is put off is not read at all; the transport then reads nothing
 * more from that peer. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "agents/emulated_internal.h"
#include "base/arena.h"
#include "base/err.h"

/* ---- in and out of the scheme ---- */

/* One deferred thing each: true if there was one. */
static bool tell_sent(struct emulated *emulated);
static bool tell_retries(struct emulated *emulated);

/* Works the lists off, unless a callback is running or this is being done already. */
void emulated_settle(struct emulated *emulated)
{
    if (emulated->inside || emulated->draining)
        return;
    emulated->draining = true;
    while (!emulated->failed && (tell_sent(emulated) || tell_retries(emulated) || emulated_tell_losses(emulated))) {
    }
    emulated->draining = false;
}

void emulated_enter(struct emulated *emulated)
{
    emulated->inside = true;
}

void emulated_leave(struct emulated *emulated)
{
    emulated->inside = false;
    emulated_settle(emulated);
}

void emulated_fail(struct emulated *emulated, const char *format, ...)
{
    if (emulated->failed || (emulated->stopped && !emulated->settling))
        return;
    emulated->failed = true;
    char sentence[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    emulated->options.events->failed(emulated->options.context, sentence);
}

/* ---- spans of messages ---- */

static void message_span(struct emulated *emulated, enum span_kind kind, int peer, size_t bytes, int64_t begin_ns, int64_t end_ns,
                         uint32_t flags)
{
    struct span_record span = {.round = emulated_round(emulated),
                               .kind = kind,
                               .peer = (uint32_t)peer,
                               .flags = flags,
                               .begin_ns = emulated_relative(emulated, begin_ns),
                               .end_ns = emulated_relative(emulated, end_ns),
                               .bytes = bytes};
    recorder_span(emulated->options.recorder, &span);
}

/* ---- sending ---- */

void emulated_send(struct node *node, int destination, const struct message_header *header, struct buffer *buffer, size_t offset,
                   size_t length)
{
    struct emulated *emulated = emulated_of(node);
    const struct scheme_setup *setup = node->setup;
    if (destination < 0 || destination >= setup->nodes || !scheme_talks(setup, node->index, destination)) {
        emulated_fail(emulated, "scheme '%s' sends to node %d, with which it said that node %d does not talk", setup->scheme->name,
                      destination, node->index);
        return;
    }
    if (buffer ? offset > buffer->length || length > buffer->length - offset : length > 0) {
        emulated_fail(emulated, "scheme '%s' sends %zu bytes from offset %zu of a buffer of %zu", setup->scheme->name, length,
                      offset, buffer ? buffer->length : 0);
        return;
    }
    emulated->counters.sent_messages++;
    emulated->counters.sent_payload_bytes += length;
    const uint8_t *bytes = buffer ? (const uint8_t *)buffer->bytes + offset : NULL;
    if (!transport_send(emulated->transport, destination, header, bytes, length, buffer))
        emulated_fail(emulated, "scheme '%s' has more than %d messages for node %d waiting: it must wait for on_sent()",
                      setup->scheme->name, TRANSPORT_QUEUE, destination);
}

static void note_sent(struct emulated *emulated, struct buffer *buffer, int destination)
{
    if (emulated->sent_count == emulated->sent_capacity) {
        size_t capacity = emulated->sent_capacity > 0 ? 2 * emulated->sent_capacity : 1;
        struct sent *sent = arena_new_array(emulated->options.arena, struct sent, capacity);
        for (size_t i = 0; i < emulated->sent_count; i++)
            sent[i] = emulated->sent[(emulated->sent_first + i) % emulated->sent_capacity];
        emulated->sent = sent;
        emulated->sent_first = 0;
        emulated->sent_capacity = capacity;
    }
    emulated->sent[(emulated->sent_first + emulated->sent_count++) % emulated->sent_capacity] =
        (struct sent){.buffer = buffer, .destination = destination};
}

static void on_taken(void *context, const struct transport_taken *taken)
{
    struct emulated *emulated = context;
    if (taken->header.channel == FENCE_CHANNEL) {
        emulated->fences_leaving--;
        return;
    }
    if (!taken->dropped)
        message_span(emulated, SPAN_SEND, taken->peer, taken->length, taken->begin_ns, taken->end_ns, 0);
    if (!taken->cookie)
        return;
    note_sent(emulated, taken->cookie, taken->peer);
}

static bool tell_sent(struct emulated *emulated)
{
    if (emulated->sent_count == 0)
        return false;
    struct sent sent = emulated->sent[emulated->sent_first];
    emulated->sent_first = (emulated->sent_first + 1) % emulated->sent_capacity;
    emulated->sent_count--;
    if (emulated->scheme->on_sent && !emulated->stopped) {
        emulated_enter(emulated);
        emulated->scheme->on_sent(&emulated->node, sent.buffer, sent.destination);
        emulated_leave(emulated);
    }
    buffer_pool_release(&emulated->pool, sent.buffer);
    return true;
}

/* ---- receiving ---- */

static struct landing ask(struct emulated *emulated, const struct message *message)
{
    struct landing landing = {.kind = LAND_POOL};
    if (emulated->stopped || emulated->failed)
        landing.kind = LAND_DISCARD;
    else if (emulated->scheme->on_header) {
        emulated->inside = true; /* no emulated_leave(): the transport is in the middle of this message; on_settled() follows */
        landing = emulated->scheme->on_header(&emulated->node, message);
        emulated->inside = false;
    }
    return landing;
}

static enum transport_landing on_header(void *context, const struct message *message, void **into)
{
    struct emulated *emulated = context;
    struct inbox *inbox = &emulated->inboxes[message->source];
    if (message->header.channel == FENCE_CHANNEL)
        return emulated_take_fence(emulated, message);
    if (inbox->fenced) { /* it has begun with the next size, and waits for us */
        inbox->held = true;
        return TRANSPORT_HOLD;
    }
    struct landing landing = ask(emulated, message);
    inbox->landing = landing.kind;
    inbox->held =
        landing.kind == LAND_LATER && (inbox->later_count == LATER_MESSAGES_MAX ||
                                       (inbox->later_count > 0 && inbox->later_bytes + message->length > LATER_BYTES_MAX));
    if (inbox->held)
        return TRANSPORT_HOLD;
    inbox->receiving = true;
    if (landing.kind == LAND_DISCARD)
        return TRANSPORT_DISCARD;
    if (landing.kind == LAND_INTO) {
        *into = landing.into;
        return TRANSPORT_READ;
    }
    inbox->buffer = buffer_pool_get(&emulated->pool, message->length);
    *into = inbox->buffer->bytes;
    return TRANSPORT_READ;
}

/* Takes over the buffer's reference. */
static void deliver(struct emulated *emulated, struct message *message, struct buffer *buffer)
{
    message->buffer = buffer;
    emulated_enter(emulated);
    if (emulated->scheme->on_message && !emulated->stopped && !emulated->failed)
        emulated->scheme->on_message(&emulated->node, message);
    if (buffer)
        buffer_pool_release(&emulated->pool, buffer);
    emulated_leave(emulated);
}

static void put_off(struct emulated *emulated, struct inbox *inbox, const struct message *message)
{
    struct later *later = emulated->free_later;
    if (later)
        emulated->free_later = later->next;
    else
        later = arena_new_object(emulated->options.arena, struct later);
    *later = (struct later){.message = *message};
    later->message.buffer = inbox->buffer;
    if (!inbox->first)
        inbox->last = &inbox->first;
    *inbox->last = later;
    inbox->last = &later->next;
    inbox->later_count++;
    inbox->later_bytes += message->length;
}

static void on_payload(void *context, const struct message *received, int64_t begin_ns, int64_t end_ns)
{
    struct emulated *emulated = context;
    struct inbox *inbox = &emulated->inboxes[received->source];
    if (received->header.channel == FENCE_CHANNEL)
        return;
    struct message message = *received;
    struct buffer *buffer = inbox->buffer;
    bool discarded = inbox->landing == LAND_DISCARD;
    inbox->receiving = false;
    emulated->counters.received_messages++;
    emulated->counters.received_payload_bytes += message.length;
    emulated->counters.discarded_messages += discarded;
    message_span(emulated, SPAN_RECEIVE, message.source, message.length, begin_ns, end_ns, discarded ? SPAN_DISCARDED : 0);
    if (inbox->landing == LAND_LATER)
        put_off(emulated, inbox, &message);
    inbox->buffer = NULL;
    if (inbox->landing == LAND_POOL || inbox->landing == LAND_INTO)
        deliver(emulated, &message, inbox->landing == LAND_POOL ? buffer : NULL);
}

/* ---- messages that were put off ---- */

void emulated_retry(struct node *node, int source)
{
    struct emulated *emulated = emulated_of(node);
    int first = source < 0 ? 0 : source, last = source < 0 ? node->setup->nodes - 1 : source;
    for (int peer = first; peer <= last; peer++) {
        struct inbox *inbox = &emulated->inboxes[peer];
        if (inbox->first || inbox->held || (inbox->receiving && inbox->landing == LAND_LATER))
            inbox->retry = emulated->retries = true;
    }
}

/* Its payload is there already. */
static void land_complete(struct emulated *emulated, struct message *message, struct landing landing)
{
    struct buffer *buffer = message->buffer;
    if (landing.kind == LAND_POOL) {
        deliver(emulated, message, buffer);
        return;
    }
    if (landing.kind == LAND_INTO && message->length > 0)
        memcpy(landing.into, buffer->bytes, message->length);
    buffer_pool_release(&emulated->pool, buffer);
    if (landing.kind == LAND_DISCARD) {
        emulated->counters.discarded_messages++;
        return;
    }
    message->payload = landing.into;
    deliver(emulated, message, NULL);
}

static void retry_complete(struct emulated *emulated, struct inbox *inbox)
{
    for (struct later **place = &inbox->first; *place;) {
        struct later *later = *place;
        struct message message = later->message;
        message.payload = NULL;
        message.buffer = NULL;
        struct landing landing = ask(emulated, &message);
        if (landing.kind == LAND_LATER) {
            place = &later->next;
            continue;
        }
        message = later->message;
        *place = later->next;
        if (!*place)
            inbox->last = place;
        inbox->later_count--;
        inbox->later_bytes -= message.length;
        later->next = emulated->free_later;
        emulated->free_later = later;
        land_complete(emulated, &message, landing);
    }
}

/* Its payload is still coming: the rest goes where the scheme wants it now. */
static void retry_receiving(struct emulated *emulated, int peer, struct inbox *inbox)
{
    const struct message *message = transport_receiving(emulated->transport, peer);
    if (!message)
        return;
    struct landing landing = ask(emulated, message);
    inbox->landing = landing.kind;
    if (landing.kind == LAND_LATER || landing.kind == LAND_POOL)
        return;
    transport_redirect(emulated->transport, peer, landing.kind == LAND_INTO ? landing.into : NULL);
    buffer_pool_release(&emulated->pool, inbox->buffer);
    inbox->buffer = NULL;
}

static bool tell_retries(struct emulated *emulated)
{
    if (!emulated->retries)
        return false;
    emulated->retries = false;
    for (int peer = 0; peer < emulated->node.setup->nodes; peer++) {
        struct inbox *inbox = &emulated->inboxes[peer];
        if (!inbox->retry)
            continue;
        inbox->retry = false;
        retry_complete(emulated, inbox);
        if (inbox->receiving && inbox->landing == LAND_LATER)
            retry_receiving(emulated, peer, inbox);
        if (inbox->held)
            transport_resume(emulated->transport, peer);
    }
    return true;
}

/* ---- of the transport ---- */

static void on_settled(void *context)
{
    emulated_settle(context);
    emulated_look_settled(context);
}

static void on_connected(void *context)
{
    struct emulated *emulated = context;
    emulated->options.events->connected(emulated->options.context);
}

static void on_failed(void *context, const struct err *reason)
{
    emulated_fail(context, "%s", reason->text);
}

const struct transport_events emulated_transport_events = {
    .on_header = on_header,
    .on_payload = on_payload,
    .on_taken = on_taken,
    .on_lost = emulated_on_lost,
    .on_settled = on_settled,
    .on_connected = on_connected,
    .on_failed = on_failed,
};
