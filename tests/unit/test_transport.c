/* test_transport.c: the receiver of a connection over a socket pair: every way a stream can be cut, messages that are held back,
 * dropped or redirected, and streams that are not ours. */
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
#include "base/loop.h"
#include "tests/unit/transport_rig.h"

static void write_all(struct transport_rig *rig, const uint8_t *bytes, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(rig->other, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) {
            bytes += sent;
            length -= (size_t)sent;
        }
        assert_int_equal(loop_turn(rig->loop, 0, NULL), 0);
    }
    transport_rig_turn(rig);
}

static const size_t lengths[] = {0, 1, 39, 40, 41, 100, 0, 0, 300};
enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };

static void a_stream_may_be_cut_anywhere(void **state)
{
    (void)state;
    uint8_t stream[2048];
    size_t total = 0;
    for (uint32_t i = 0; i < LENGTHS; i++)
        total += transport_rig_put(stream + total, i, lengths[i]);
    for (size_t cut = 0; cut <= total; cut++) {
        struct transport_rig rig;
        transport_rig_open(&rig);
        write_all(&rig, stream, cut);
        write_all(&rig, stream + cut, total - cut);
        assert_int_equal(rig.payloads, LENGTHS);
        for (uint32_t i = 0; i < LENGTHS; i++)
            transport_rig_check(&rig.messages[i], i, lengths[i]);
        assert_false(rig.lost);
        transport_rig_close(&rig);
    }
}

static void a_stream_may_come_byte_by_byte(void **state)
{
    (void)state;
    struct transport_rig rig;
    uint8_t stream[2048];
    size_t total = 0;
    for (uint32_t i = 0; i < LENGTHS; i++)
        total += transport_rig_put(stream + total, i, lengths[i]);
    transport_rig_open(&rig);
    for (size_t i = 0; i < total; i++)
        write_all(&rig, stream + i, 1);
    assert_int_equal(rig.payloads, LENGTHS);
    for (uint32_t i = 0; i < LENGTHS; i++)
        transport_rig_check(&rig.messages[i], i, lengths[i]);
    transport_rig_close(&rig);
}

static void long_payloads_land_in_place(void **state)
{
    (void)state;
    struct transport_rig rig;
    transport_rig_open(&rig);
    uint8_t *stream = arena_alloc(rig.arena, 4 << 20);
    const size_t long_lengths[] = {1 << 20, 5, (1 << 20) + 1, 4096, 4095, 4097, 0};
    size_t total = 0, count = sizeof(long_lengths) / sizeof(long_lengths[0]);
    for (uint32_t i = 0; i < count; i++)
        total += transport_rig_put(stream + total, i, long_lengths[i]);
    write_all(&rig, stream, total);
    assert_int_equal(rig.payloads, count);
    size_t place = 0;
    for (uint32_t i = 0; i < count; i++) {
        transport_rig_check(&rig.messages[i], i, long_lengths[i]);
        assert_ptr_equal(rig.messages[i].payload, rig.memory + place);
        place += long_lengths[i];
    }
    transport_rig_close(&rig);
}

static void what_is_not_wanted_is_read_and_dropped(void **state)
{
    (void)state;
    struct transport_rig rig;
    transport_rig_open(&rig);
    uint8_t *stream = arena_alloc(rig.arena, 1 << 20);
    size_t total = transport_rig_put(stream, 0, 300000); /* longer than what is dropped at once */
    total += transport_rig_put(stream + total, 1, 10);
    total += transport_rig_put(stream + total, 2, 20);
    rig.landing[0] = rig.landing[1] = TRANSPORT_DISCARD;
    write_all(&rig, stream, total);
    assert_int_equal(rig.dropped, 2);
    assert_int_equal(rig.payloads, 1);
    transport_rig_check(&rig.messages[0], 2, 20);
    transport_rig_close(&rig);
}

static void a_held_message_stops_the_peer_until_it_is_wanted(void **state)
{
    (void)state;
    struct transport_rig rig;
    transport_rig_open(&rig);
    uint8_t stream[1024];
    size_t total = 0;
    for (uint32_t i = 0; i < 4; i++)
        total += transport_rig_put(stream + total, i, 50 * i);
    rig.landing[1] = TRANSPORT_HOLD;
    write_all(&rig, stream, total);
    assert_int_equal(rig.payloads, 1);
    assert_int_equal(rig.headers, 2);
    assert_null(transport_receiving(rig.transport, 1));
    transport_resume(rig.transport, 1); /* still not wanted */
    transport_rig_turn(&rig);
    assert_int_equal(rig.payloads, 1);
    assert_int_equal(rig.headers, 3);
    rig.landing[1] = TRANSPORT_READ;
    transport_resume(rig.transport, 1); /* all four are in the stage already: no event of the socket will come */
    assert_int_equal(rig.payloads, 4);
    for (uint32_t i = 0; i < 4; i++)
        transport_rig_check(&rig.messages[i], i, 50 * i);
    write_all(&rig, stream, transport_rig_put(stream, 4, 7));
    assert_int_equal(rig.payloads, 5);
    transport_rig_close(&rig);
}

static void a_payload_can_be_redirected_on_its_way(void **state)
{
    (void)state;
    for (size_t cut = 0; cut < 200; cut += 19) {
        struct transport_rig rig;
        transport_rig_open(&rig);
        uint8_t stream[512], elsewhere[200];
        size_t total = transport_rig_put(stream, 0, 200);
        write_all(&rig, stream, TRANSPORT_HEADER_BYTES + cut);
        assert_int_equal(transport_receiving(rig.transport, 1)->length, 200);
        transport_redirect(rig.transport, 1, elsewhere);
        write_all(&rig, stream + TRANSPORT_HEADER_BYTES + cut, total - TRANSPORT_HEADER_BYTES - cut);
        assert_int_equal(rig.payloads, 1);
        assert_ptr_equal(rig.messages[0].payload, elsewhere);
        transport_rig_check(&rig.messages[0], 0, 200);
        transport_rig_close(&rig);
    }
}

static void streams_that_are_not_ours_lose_the_peer(void **state)
{
    (void)state;
    for (int fault = 0; fault < 4; fault++) {
        struct transport_rig rig;
        transport_rig_open(&rig);
        uint8_t stream[256];
        size_t total = transport_rig_put(stream, 0, 10);
        total += transport_rig_put(stream + total, fault == 1 ? 2 : 1, 0); /* 1: a sequence number too many */
        if (fault == 0)
            stream[50] = '?';
        if (fault == 2)
            stream[50 + 36] = 1; /* 4 GiB */
        if (fault == 3) {
            total -= 7; /* the stream ends inside a header */
            write_all(&rig, stream, total);
            close_fd(&rig.other);
            transport_rig_turn(&rig);
        } else {
            write_all(&rig, stream, total);
        }
        assert_int_equal(rig.payloads, 1);
        assert_true(rig.lost);
        assert_int_equal(rig.violation, fault != 3);
        assert_non_null(strstr(rig.reason.text, ((const char *[]){"LGM1", "was due", "allowed are", "closed"})[fault]));
        assert_int_equal(rig.transport->connections[1]->fd, -1);
        transport_rig_close(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_may_be_cut_anywhere),
        cmocka_unit_test(a_stream_may_come_byte_by_byte),
        cmocka_unit_test(long_payloads_land_in_place),
        cmocka_unit_test(what_is_not_wanted_is_read_and_dropped),
        cmocka_unit_test(a_held_message_stops_the_peer_until_it_is_wanted),
        cmocka_unit_test(a_payload_can_be_redirected_on_its_way),
        cmocka_unit_test(streams_that_are_not_ours_lose_the_peer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
