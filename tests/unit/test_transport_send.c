/* test_transport_send.c: the sender of a connection over a socket pair: order, full sockets, and a peer that goes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <sys/socket.h>

#undef fail
#include "agents/transport_internal.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/loop.h"
#include "tests/unit/transport_rig.h"

static bool send_one(struct transport_rig *rig, uint32_t index, const uint8_t *bytes, size_t length)
{
    const struct message_header header = {.kind = 5, .index = index, .step = 42};
    return transport_send(rig->transport, 1, &header, bytes, length, (void *)(intptr_t)(index + 1));
}

/* Reads what was sent and compares it with what transport_rig_put() makes. */
static void read_messages(struct transport_rig *rig, const size_t *wanted, uint32_t count)
{
    uint8_t *expected = malloc(PAYLOAD_MAX), *found = malloc(PAYLOAD_MAX);
    for (uint32_t i = 0; i < count; i++) {
        size_t total = transport_rig_put(expected, i, wanted[i]);
        for (size_t got = 0; got < total;) {
            ssize_t received = recv(rig->other, found + got, total - got, MSG_DONTWAIT);
            got += received > 0 ? (size_t)received : 0;
            assert_int_equal(loop_turn(rig->loop, 0, NULL), 0);
        }
        assert_memory_equal(found, expected, total);
    }
    free(expected);
    free(found);
}

static void messages_leave_at_once_or_in_order(void **state)
{
    (void)state;
    struct transport_rig rig;
    transport_rig_open(&rig);
    enum { COUNT = 40 };
    size_t wanted[COUNT];
    uint8_t *bytes = arena_alloc(rig.arena, COUNT << 16);
    for (uint32_t i = 0; i < COUNT; i++) {
        wanted[i] = i < 3 ? i * 10 : i % 5 == 0 ? 0 : 40000 + i;
        for (size_t k = 0; k < wanted[i]; k++)
            bytes[(size_t)i << 16 | k] = transport_rig_pattern(i, k);
        assert_true(send_one(&rig, i, bytes + ((size_t)i << 16), wanted[i]));
        if (i == 2)
            assert_int_equal(rig.taken, 3); /* the kernel had room: no event was needed */
    }
    assert_true(rig.taken < COUNT);
    read_messages(&rig, wanted, COUNT);
    assert_int_equal(rig.taken, COUNT);
    assert_int_equal(rig.taken_dropped, 0);
    transport_rig_close(&rig);
}

static void the_queue_is_bounded_and_told_when_the_peer_goes(void **state)
{
    (void)state;
    struct transport_rig rig;
    transport_rig_open(&rig);
    static const uint8_t bytes[65536];
    uint32_t sent = 0;
    while (send_one(&rig, sent, bytes, sizeof(bytes)))
        sent++;
    assert_true(sent >= TRANSPORT_QUEUE);
    assert_int_equal(sent - (uint32_t)rig.taken, TRANSPORT_QUEUE);
    close_fd(&rig.other);
    transport_rig_turn(&rig);
    assert_true(rig.lost);
    assert_int_equal(rig.taken, sent); /* every buffer comes back */
    assert_int_equal(rig.taken_dropped, TRANSPORT_QUEUE);
    assert_true(send_one(&rig, sent, bytes, 10)); /* to a lost peer: back at once */
    assert_int_equal(rig.taken_dropped, TRANSPORT_QUEUE + 1);
    transport_rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_leave_at_once_or_in_order),
        cmocka_unit_test(the_queue_is_bounded_and_told_when_the_peer_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
