/* test_transport.c: message headers as bytes, and the connection's receiver and sender over a socket pair: every way a stream can
 * be cut, messages that are held back, dropped or redirected, full sockets, and streams that are not ours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#undef fail
#include "agents/transport_internal.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"

/* ---- headers ---- */

static const struct transport_header example = {
    .message = {.channel = 0x0102, .kind = 0x0304, .index = 0x05060708, .step = 0x1112131415161718, .argument = -2},
    .sequence = 0x0a0b0c0d,
    .length = 0x2122,
};
static const uint8_t example_bytes[TRANSPORT_HEADER_BYTES] = {
    'L',  'G',  'M',  '1',  0x02, 0x01, 0x04, 0x03, 0x08, 0x07, 0x06, 0x05, 0x0d, 0x0c, 0x0b, 0x0a, 0x18, 0x17, 0x16, 0x15,
    0x14, 0x13, 0x12, 0x11, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x22, 0x21, 0,    0,    0,    0,    0,    0,
};

static void a_header_is_these_forty_bytes(void **state)
{
    (void)state;
    uint8_t bytes[TRANSPORT_HEADER_BYTES];
    transport_header_encode(&example, bytes);
    assert_memory_equal(bytes, example_bytes, sizeof(bytes));
    struct transport_header header;
    assert_int_equal(transport_header_decode(bytes, 0x0a0b0c0d, 0x2122, &header, NULL), 0);
    assert_int_equal(header.message.channel, 0x0102);
    assert_int_equal(header.message.kind, 0x0304);
    assert_int_equal(header.message.index, 0x05060708);
    assert_true(header.message.step == UINT64_C(0x1112131415161718));
    assert_int_equal(header.message.argument, -2);
    assert_int_equal(header.length, 0x2122);
}

static void a_header_that_is_not_ours_is_refused(void **state)
{
    (void)state;
    struct transport_header header = {.sequence = 77};
    struct err err;
    uint8_t bytes[TRANSPORT_HEADER_BYTES];
    memcpy(bytes, example_bytes, sizeof(bytes));
    assert_int_equal(transport_header_decode(bytes, 0x0a0b0c0e, 1 << 20, &header, &err), -ERR_TRIAL);
    assert_non_null(strstr(err.text, "was due"));
    assert_int_equal(transport_header_decode(bytes, 0x0a0b0c0d, 0x2121, &header, &err), -ERR_TRIAL);
    assert_non_null(strstr(err.text, "claims 8482 bytes, allowed are 8481"));
    bytes[0] = 'X';
    assert_int_equal(transport_header_decode(bytes, 0x0a0b0c0d, 1 << 20, &header, &err), -ERR_TRIAL);
    assert_non_null(strstr(err.text, "LGM1"));
    assert_int_equal(header.sequence, 77); /* untouched */
}

static void a_hello_round_trips_and_its_faults_are_refused(void **state)
{
    (void)state;
    const struct transport_hello hello = {.node = 3, .cell = 9, .token = UINT64_C(0xfedcba9876543210), .flags = HELLO_HAS_MODEL};
    uint8_t bytes[TRANSPORT_HEADER_BYTES], damaged[TRANSPORT_HEADER_BYTES];
    struct transport_hello back;
    struct err err;
    transport_hello_encode(&hello, bytes);
    assert_memory_equal(bytes, "LGH1\x01\x00\x01\x00\x03\x00\x00\x00\x09\x00\x00\x00\x10\x32\x54\x76\x98\xba\xdc\xfe", 24);
    assert_int_equal(transport_hello_decode(bytes, &back, NULL), 0);
    assert_true(back.node == 3 && back.cell == 9 && back.token == hello.token && back.flags == HELLO_HAS_MODEL);
    static const struct {
        int at;
        const char *says;
    } rows[] = {{0, "LGH1"}, {4, "version"}, {7, "flags"}, {24, "must be 0"}, {39, "must be 0"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        memcpy(damaged, bytes, sizeof(damaged));
        damaged[rows[i].at] ^= 0x40;
        assert_int_equal(transport_hello_decode(damaged, &back, &err), -ERR_TRIAL);
        assert_non_null(strstr(err.text, rows[i].says));
    }
}

/* ---- a connection ---- */

enum { PAYLOAD_MAX = 1 << 21, MESSAGES_MAX = 4096 };

struct rig {
    struct arena *arena;
    struct loop *loop;
    struct transport *transport;
    int other; /* the peer's end */
    /* what the owner decides */
    enum transport_landing landing[MESSAGES_MAX];
    uint8_t *memory; /* payloads land here, one behind the other */
    size_t used;
    /* what happened */
    int headers, payloads, dropped, settled;
    struct message messages[MESSAGES_MAX];
    int taken, taken_dropped;
    intptr_t last_cookie;
    bool lost, violation;
    struct err reason;
};

static enum transport_landing on_header(void *context, const struct message *message, void **into)
{
    struct rig *rig = context;
    assert_int_equal(message->source, 1);
    assert_int_equal(message->header.index, rig->payloads + rig->dropped);
    rig->headers++;
    *into = rig->memory + rig->used;
    return rig->landing[message->header.index];
}

static void on_payload(void *context, const struct message *message, int64_t begin_ns, int64_t end_ns)
{
    struct rig *rig = context;
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
    struct rig *rig = context;
    assert_int_equal(taken->peer, 1);
    assert_true(taken->begin_ns <= taken->end_ns);
    assert_int_equal((intptr_t)taken->cookie, rig->last_cookie + 1); /* in order, each once */
    rig->last_cookie++;
    rig->taken++;
    rig->taken_dropped += taken->dropped;
}

static void on_lost(void *context, int peer, bool violation, const struct err *reason)
{
    struct rig *rig = context;
    assert_int_equal(peer, 1);
    assert_false(rig->lost);
    rig->lost = true;
    rig->violation = violation;
    rig->reason = *reason;
}

static void on_settled(void *context)
{
    ((struct rig *)context)->settled++;
}

static const struct transport_events events = {
    .on_header = on_header, .on_payload = on_payload, .on_taken = on_taken, .on_lost = on_lost, .on_settled = on_settled};

static void open_rig(struct rig *rig)
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

static void close_rig(struct rig *rig)
{
    transport_free(rig->transport);
    close_fd(&rig->other);
    loop_free(rig->loop);
    arena_free(rig->arena);
}

static void turn(struct rig *rig)
{
    for (int i = 0; i < 8; i++)
        assert_int_equal(loop_turn(rig->loop, 0, NULL), 0);
}

static uint8_t pattern(uint32_t index, size_t at)
{
    return (uint8_t)(index * 31 + at * 7 + (at >> 8));
}

static size_t put_message(uint8_t *stream, uint32_t index, size_t length)
{
    struct transport_header header = {.message = {.kind = 5, .index = index, .step = 42}, .sequence = index, .length = length};
    transport_header_encode(&header, stream);
    for (size_t i = 0; i < length; i++)
        stream[TRANSPORT_HEADER_BYTES + i] = pattern(index, i);
    return TRANSPORT_HEADER_BYTES + length;
}

static void check_message(const struct message *message, uint32_t index, size_t length)
{
    assert_int_equal(message->header.index, index);
    assert_int_equal(message->header.step, 42);
    assert_int_equal(message->length, length);
    for (size_t i = 0; i < length; i++)
        assert_int_equal(((const uint8_t *)message->payload)[i], pattern(index, i));
}

static void write_all(struct rig *rig, const uint8_t *bytes, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(rig->other, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) {
            bytes += sent;
            length -= (size_t)sent;
        }
        assert_int_equal(loop_turn(rig->loop, 0, NULL), 0);
    }
    turn(rig);
}

static const size_t lengths[] = {0, 1, 39, 40, 41, 100, 0, 0, 300};
enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };

static void a_stream_may_be_cut_anywhere(void **state)
{
    (void)state;
    uint8_t stream[2048];
    size_t total = 0;
    for (uint32_t i = 0; i < LENGTHS; i++)
        total += put_message(stream + total, i, lengths[i]);
    for (size_t cut = 0; cut <= total; cut++) {
        struct rig rig;
        open_rig(&rig);
        write_all(&rig, stream, cut);
        write_all(&rig, stream + cut, total - cut);
        assert_int_equal(rig.payloads, LENGTHS);
        for (uint32_t i = 0; i < LENGTHS; i++)
            check_message(&rig.messages[i], i, lengths[i]);
        assert_false(rig.lost);
        close_rig(&rig);
    }
}

static void a_stream_may_come_byte_by_byte(void **state)
{
    (void)state;
    struct rig rig;
    uint8_t stream[2048];
    size_t total = 0;
    for (uint32_t i = 0; i < LENGTHS; i++)
        total += put_message(stream + total, i, lengths[i]);
    open_rig(&rig);
    for (size_t i = 0; i < total; i++)
        write_all(&rig, stream + i, 1);
    assert_int_equal(rig.payloads, LENGTHS);
    for (uint32_t i = 0; i < LENGTHS; i++)
        check_message(&rig.messages[i], i, lengths[i]);
    close_rig(&rig);
}

static void long_payloads_land_in_place(void **state)
{
    (void)state;
    struct rig rig;
    open_rig(&rig);
    uint8_t *stream = arena_alloc(rig.arena, 4 << 20);
    const size_t long_lengths[] = {1 << 20, 5, (1 << 20) + 1, 4096, 4095, 4097, 0};
    size_t total = 0, count = sizeof(long_lengths) / sizeof(long_lengths[0]);
    for (uint32_t i = 0; i < count; i++)
        total += put_message(stream + total, i, long_lengths[i]);
    write_all(&rig, stream, total);
    assert_int_equal(rig.payloads, count);
    size_t place = 0;
    for (uint32_t i = 0; i < count; i++) {
        check_message(&rig.messages[i], i, long_lengths[i]);
        assert_ptr_equal(rig.messages[i].payload, rig.memory + place);
        place += long_lengths[i];
    }
    close_rig(&rig);
}

static void what_is_not_wanted_is_read_and_dropped(void **state)
{
    (void)state;
    struct rig rig;
    open_rig(&rig);
    uint8_t *stream = arena_alloc(rig.arena, 1 << 20);
    size_t total = put_message(stream, 0, 300000); /* longer than what is dropped at once */
    total += put_message(stream + total, 1, 10);
    total += put_message(stream + total, 2, 20);
    rig.landing[0] = rig.landing[1] = TRANSPORT_DISCARD;
    write_all(&rig, stream, total);
    assert_int_equal(rig.dropped, 2);
    assert_int_equal(rig.payloads, 1);
    check_message(&rig.messages[0], 2, 20);
    close_rig(&rig);
}

static void a_held_message_stops_the_peer_until_it_is_wanted(void **state)
{
    (void)state;
    struct rig rig;
    open_rig(&rig);
    uint8_t stream[1024];
    size_t total = 0;
    for (uint32_t i = 0; i < 4; i++)
        total += put_message(stream + total, i, 50 * i);
    rig.landing[1] = TRANSPORT_HOLD;
    write_all(&rig, stream, total);
    assert_int_equal(rig.payloads, 1);
    assert_int_equal(rig.headers, 2);
    assert_null(transport_receiving(rig.transport, 1));
    transport_resume(rig.transport, 1); /* still not wanted */
    turn(&rig);
    assert_int_equal(rig.payloads, 1);
    assert_int_equal(rig.headers, 3);
    rig.landing[1] = TRANSPORT_READ;
    transport_resume(rig.transport, 1); /* all four are in the stage already: no event of the socket will come */
    assert_int_equal(rig.payloads, 4);
    for (uint32_t i = 0; i < 4; i++)
        check_message(&rig.messages[i], i, 50 * i);
    write_all(&rig, stream, put_message(stream, 4, 7));
    assert_int_equal(rig.payloads, 5);
    close_rig(&rig);
}

static void a_payload_can_be_redirected_on_its_way(void **state)
{
    (void)state;
    for (size_t cut = 0; cut < 200; cut += 19) {
        struct rig rig;
        open_rig(&rig);
        uint8_t stream[512], elsewhere[200];
        size_t total = put_message(stream, 0, 200);
        write_all(&rig, stream, TRANSPORT_HEADER_BYTES + cut);
        assert_int_equal(transport_receiving(rig.transport, 1)->length, 200);
        transport_redirect(rig.transport, 1, elsewhere);
        write_all(&rig, stream + TRANSPORT_HEADER_BYTES + cut, total - TRANSPORT_HEADER_BYTES - cut);
        assert_int_equal(rig.payloads, 1);
        assert_ptr_equal(rig.messages[0].payload, elsewhere);
        check_message(&rig.messages[0], 0, 200);
        close_rig(&rig);
    }
}

static void streams_that_are_not_ours_lose_the_peer(void **state)
{
    (void)state;
    for (int fault = 0; fault < 4; fault++) {
        struct rig rig;
        open_rig(&rig);
        uint8_t stream[256];
        size_t total = put_message(stream, 0, 10);
        total += put_message(stream + total, fault == 1 ? 2 : 1, 0); /* 1: a sequence number too many */
        if (fault == 0)
            stream[50] = '?';
        if (fault == 2)
            stream[50 + 36] = 1; /* 4 GiB */
        if (fault == 3) {
            total -= 7; /* the stream ends inside a header */
            write_all(&rig, stream, total);
            close_fd(&rig.other);
            turn(&rig);
        } else {
            write_all(&rig, stream, total);
        }
        assert_int_equal(rig.payloads, 1);
        assert_true(rig.lost);
        assert_int_equal(rig.violation, fault != 3);
        assert_non_null(strstr(rig.reason.text, ((const char *[]){"LGM1", "was due", "allowed are", "closed"})[fault]));
        assert_int_equal(rig.transport->connections[1]->fd, -1);
        close_rig(&rig);
    }
}

/* ---- sending ---- */

static bool send_one(struct rig *rig, uint32_t index, const uint8_t *bytes, size_t length)
{
    const struct message_header header = {.kind = 5, .index = index, .step = 42};
    return transport_send(rig->transport, 1, &header, bytes, length, (void *)(intptr_t)(index + 1));
}

/* Reads what was sent and compares it with what put_message() makes. */
static void read_messages(struct rig *rig, const size_t *wanted, uint32_t count)
{
    uint8_t *expected = malloc(PAYLOAD_MAX), *found = malloc(PAYLOAD_MAX);
    for (uint32_t i = 0; i < count; i++) {
        size_t total = put_message(expected, i, wanted[i]);
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
    struct rig rig;
    open_rig(&rig);
    enum { COUNT = 40 };
    size_t wanted[COUNT];
    uint8_t *bytes = arena_alloc(rig.arena, COUNT << 16);
    for (uint32_t i = 0; i < COUNT; i++) {
        wanted[i] = i < 3 ? i * 10 : i % 5 == 0 ? 0 : 40000 + i;
        for (size_t k = 0; k < wanted[i]; k++)
            bytes[(size_t)i << 16 | k] = pattern(i, k);
        assert_true(send_one(&rig, i, bytes + ((size_t)i << 16), wanted[i]));
        if (i == 2)
            assert_int_equal(rig.taken, 3); /* the kernel had room: no event was needed */
    }
    assert_true(rig.taken < COUNT);
    read_messages(&rig, wanted, COUNT);
    assert_int_equal(rig.taken, COUNT);
    assert_int_equal(rig.taken_dropped, 0);
    close_rig(&rig);
}

static void the_queue_is_bounded_and_told_when_the_peer_goes(void **state)
{
    (void)state;
    struct rig rig;
    open_rig(&rig);
    static const uint8_t bytes[65536];
    uint32_t sent = 0;
    while (send_one(&rig, sent, bytes, sizeof(bytes)))
        sent++;
    assert_true(sent >= TRANSPORT_QUEUE);
    assert_int_equal(sent - (uint32_t)rig.taken, TRANSPORT_QUEUE);
    close_fd(&rig.other);
    turn(&rig);
    assert_true(rig.lost);
    assert_int_equal(rig.taken, sent); /* every buffer comes back */
    assert_int_equal(rig.taken_dropped, TRANSPORT_QUEUE);
    assert_true(send_one(&rig, sent, bytes, 10)); /* to a lost peer: back at once */
    assert_int_equal(rig.taken_dropped, TRANSPORT_QUEUE + 1);
    close_rig(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_header_is_these_forty_bytes),
        cmocka_unit_test(a_header_that_is_not_ours_is_refused),
        cmocka_unit_test(a_hello_round_trips_and_its_faults_are_refused),
        cmocka_unit_test(a_stream_may_be_cut_anywhere),
        cmocka_unit_test(a_stream_may_come_byte_by_byte),
        cmocka_unit_test(long_payloads_land_in_place),
        cmocka_unit_test(what_is_not_wanted_is_read_and_dropped),
        cmocka_unit_test(a_held_message_stops_the_peer_until_it_is_wanted),
        cmocka_unit_test(a_payload_can_be_redirected_on_its_way),
        cmocka_unit_test(streams_that_are_not_ours_lose_the_peer),
        cmocka_unit_test(messages_leave_at_once_or_in_order),
        cmocka_unit_test(the_queue_is_bounded_and_told_when_the_peer_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
