/* transport_rig.c: see transport_rig.h. */
#include "tests/unit/transport_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/socket.h>

#undef fail
#include "agents/transport_internal.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"

static enum transport_landing on_header(void *context, const struct message *message, void **into)
{
    struct transport_rig *rig = context;
    assert_int_equal(message->source, 1);
    assert_int_equal(message->header.index, rig->payloads + rig->dropped);
    rig->headers++;
    *into = rig->memory + rig->used;
    return rig->landing[message->header.index];
}

static void on_payload(void *context, const struct message *message, int64_t begin_ns, int64_t end_ns)
{
    struct transport_rig *rig = context;
    assert_true(begin_ns > 0 && begin_ns <= end_ns);
    if (rig->landing[message->header.index] == TRANSPORT_DISCARD) {
        assert_null(message->payload);
        rig->dropped++;
        return;
    }
    rig->messages[rig->payloads++] = *message;
    rig->used += message->length;
}

static void on_taken(void *context, const struct transport_taken *taken)
{
    struct transport_rig *rig = context;
    assert_int_equal(taken->peer, 1);
    assert_true(taken->begin_ns <= taken->end_ns);
    assert_int_equal((intptr_t)taken->cookie, rig->last_cookie + 1); /* in order, each once */
    rig->last_cookie++;
    rig->taken++;
    rig->taken_dropped += taken->dropped;
}

static void on_lost(void *context, int peer, bool violation, const struct err *reason)
{
    struct transport_rig *rig = context;
    assert_int_equal(peer, 1);
    assert_false(rig->lost);
    rig->lost = true;
    rig->violation = violation;
    rig->reason = *reason;
}

static void on_settled(void *context)
{
    ((struct transport_rig *)context)->settled++;
}

static const struct transport_events events = {
    .on_header = on_header, .on_payload = on_payload, .on_taken = on_taken, .on_lost = on_lost, .on_settled = on_settled};

void transport_rig_open(struct transport_rig *rig)
{
    int pair[2];
    memset(rig, 0, sizeof(*rig));
    rig->arena = arena_new();
    rig->loop = loop_new(NULL);
    rig->memory = arena_alloc(rig->arena, 2 * PAYLOAD_MAX);
    const struct transport_options options = {.loop = rig->loop,
                                              .arena = rig->arena,
                                              .node = 0,
                                              .node_count = 2,
                                              .payload_max = PAYLOAD_MAX,
                                              .events = &events,
                                              .context = rig};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    rig->transport = transport_new(&options, NULL);
    rig->other = pair[1];
    transport_attach(rig->transport, 1, pair[0], 0);
    assert_int_equal(transport_start(rig->transport, NULL), 0);
}

void transport_rig_close(struct transport_rig *rig)
{
    transport_free(rig->transport);
    close_fd(&rig->other);
    loop_free(rig->loop);
    arena_free(rig->arena);
}

void transport_rig_turn(struct transport_rig *rig)
{
    for (int i = 0; i < 8; i++)
        assert_int_equal(loop_turn(rig->loop, 0, NULL), 0);
}

uint8_t transport_rig_pattern(uint32_t index, size_t at)
{
    return (uint8_t)(index * 31 + at * 7 + (at >> 8));
}

size_t transport_rig_put(uint8_t *stream, uint32_t index, size_t length)
{
    struct transport_header header = {.message = {.kind = 5, .index = index, .step = 42}, .sequence = index, .length = length};
    transport_header_encode(&header, stream);
    for (size_t i = 0; i < length; i++)
        stream[TRANSPORT_HEADER_BYTES + i] = transport_rig_pattern(index, i);
    return TRANSPORT_HEADER_BYTES + length;
}

void transport_rig_check(const struct message *message, uint32_t index, size_t length)
{
    assert_int_equal(message->header.index, index);
    assert_int_equal(message->header.step, 42);
    assert_int_equal(message->length, length);
    for (size_t i = 0; i < length; i++)
        assert_int_equal(((const uint8_t *)message->payload)[i], transport_rig_pattern(index, i));
}
