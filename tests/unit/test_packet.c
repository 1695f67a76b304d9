/* test_packet.c: headers of captured frames, and the sums over many: hand-made frames with sums that were worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "netem/packet.h"
#include "netem/packet_ledger.h"
#include "tests/unit/frames.h"

enum { MTU = 1500, SEGMENT = 1448 };

/* ---- headers ---- */

static struct packet parse(const struct frame *frame, size_t captured)
{
    uint8_t bytes[PACKET_HEADERS_MOST];
    struct packet packet;
    size_t length = frame_make(frame, bytes);
    packet_parse(bytes, captured, length, MTU, &packet);
    return packet;
}

static const struct frame example = {.source = 0x0a400001,
                                     .target = 0x0a400002,
                                     .source_port = 40000,
                                     .target_port = 5000,
                                     .sequence = 0xfffffff0,
                                     .acknowledgement = 77,
                                     .flags = PACKET_ACKNOWLEDGES,
                                     .payload_bytes = 100,
                                     .timestamp = 123456,
                                     .timestamp_echo = 654321};

static void a_segment_is_read(void **state)
{
    (void)state;
    struct packet packet = parse(&example, FRAME_HEADERS_BYTES);
    assert_true(packet.is_tcp && packet.has_timestamps);
    assert_int_equal(packet.source, 0x0a400001);
    assert_int_equal(packet.target, 0x0a400002);
    assert_int_equal(packet.source_port, 40000);
    assert_int_equal(packet.target_port, 5000);
    assert_int_equal(packet.sequence, 0xfffffff0);
    assert_int_equal(packet.acknowledgement, 77);
    assert_int_equal(packet.flags, PACKET_ACKNOWLEDGES);
    assert_int_equal(packet.payload_bytes, 100);
    assert_int_equal(packet.timestamp, 123456);
    assert_int_equal(packet.timestamp_echo, 654321);
    assert_int_equal(packet.frame_count, 1);
    assert_int_equal(packet.wire_bytes, 166);
}

static void a_large_packet_is_what_the_wire_carries(void **state)
{
    (void)state;
    struct frame frame = example;
    frame.payload_bytes = SEGMENT; /* 1,514 bytes: just one frame */
    assert_int_equal(parse(&frame, FRAME_HEADERS_BYTES).frame_count, 1);
    frame.payload_bytes = SEGMENT + 1;
    struct packet packet = parse(&frame, FRAME_HEADERS_BYTES);
    assert_int_equal(packet.frame_count, 2);
    assert_int_equal(packet.wire_bytes, 1514 + 67);
    frame.payload_bytes = 45 * SEGMENT;
    packet = parse(&frame, FRAME_HEADERS_BYTES);
    assert_int_equal(packet.frame_count, 45);
    assert_int_equal(packet.segment_bytes, SEGMENT);
    assert_int_equal(packet.wire_bytes, 45 * 1514);
    frame.payload_bytes = 100 * SEGMENT; /* over 64 KiB, where IPv4's length is 0 */
    packet = parse(&frame, FRAME_HEADERS_BYTES);
    assert_int_equal(packet.payload_bytes, 100 * SEGMENT);
    assert_int_equal(packet.frame_count, 100);
    frame.no_timestamps = true;
    frame.payload_bytes = 2 * 1460;
    assert_int_equal(parse(&frame, FRAME_PLAIN_BYTES).frame_count, 2);
    assert_int_equal(parse(&frame, FRAME_PLAIN_BYTES).wire_bytes, 2 * 1514);
}

static void what_is_no_whole_segment_is_one_frame(void **state)
{
    (void)state;
    uint8_t bytes[PACKET_HEADERS_MOST];
    struct packet packet;
    for (size_t captured = 0; captured < FRAME_PLAIN_BYTES; captured++) {
        packet = parse(&example, captured);
        assert_false(packet.is_tcp);
        assert_int_equal(packet.frame_count, 1);
        assert_int_equal(packet.wire_bytes, 166);
        assert_int_equal(packet.payload_bytes, 0);
    }
    assert_true(parse(&example, FRAME_PLAIN_BYTES).is_tcp);
    assert_false(parse(&example, FRAME_HEADERS_BYTES - 1).has_timestamps); /* cut off */
    static const struct {
        size_t at;
        uint8_t value;
    } faults[] = {
        {12, 0x86},      /* IPv6 */
        {14, 0x65},      /* version */
        {14, 0x44},      /* header below 20 bytes */
        {14 + 2, 0xff},  /* longer than the frame */
        {14 + 3, 30},    /* shorter than its headers */
        {14 + 6, 0x20},  /* a fragment */
        {14 + 7, 1},     /* a later fragment */
        {14 + 9, 17},    /* UDP */
        {34 + 12, 0x40}, /* TCP header below 20 bytes */
    };
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        size_t length = frame_make(&example, bytes);
        bytes[faults[i].at] = faults[i].value;
        packet_parse(bytes, FRAME_HEADERS_BYTES, length, MTU, &packet);
        assert_false(packet.is_tcp);
        assert_int_equal(packet.wire_bytes, 166);
        assert_int_equal(packet.source, 0);
    }
    /* Options that lead nowhere: the segment counts, its timestamps do not. */
    static const uint8_t lengths[] = {0, 1, 11, 255};
    for (size_t i = 0; i < sizeof(lengths); i++) {
        size_t length = frame_make(&example, bytes);
        bytes[34 + 20 + 3] = lengths[i];
        packet_parse(bytes, FRAME_HEADERS_BYTES, length, MTU, &packet);
        assert_true(packet.is_tcp);
        assert_false(packet.has_timestamps);
    }
}

/* ---- sums ---- */

struct rig {
    struct packet_ledger *ledger;
    struct frame forward;
};

static void send_at(struct rig *rig, uint32_t sequence, uint32_t payload, uint8_t flags, int64_t ms)
{
    uint8_t bytes[PACKET_HEADERS_MOST];
    struct frame frame = rig->forward;
    frame.sequence = sequence;
    frame.payload_bytes = payload;
    frame.flags = flags;
    frame.timestamp = (uint32_t)ms;
    size_t length = frame_make(&frame, bytes);
    packet_ledger_sent(rig->ledger, 1, bytes, FRAME_HEADERS_BYTES, length, ms * NS_PER_MS);
}

static void acknowledge_at(struct rig *rig, uint32_t acknowledgement, uint32_t echo, int64_t ns)
{
    uint8_t bytes[PACKET_HEADERS_MOST];
    struct frame frame = {.source = rig->forward.target,
                          .target = rig->forward.source,
                          .source_port = rig->forward.target_port,
                          .target_port = rig->forward.source_port,
                          .acknowledgement = acknowledgement,
                          .flags = PACKET_ACKNOWLEDGES,
                          .timestamp_echo = echo};
    size_t length = frame_make(&frame, bytes);
    packet_ledger_returned(rig->ledger, 1, bytes, FRAME_HEADERS_BYTES, length, ns);
}

static struct rig open_rig(int flows)
{
    struct rig rig = {.ledger = packet_ledger_new(2, flows, MTU), .forward = example};
    assert_non_null(rig.ledger);
    return rig;
}

static void sums_of_a_connection(void **state)
{
    (void)state;
    struct rig rig = open_rig(PACKET_LEDGER_FLOWS);
    struct packet_summary sum = {.dropped_count = 9, .truncated = true};
    send_at(&rig, 999, 0, PACKET_SYN, 0);
    acknowledge_at(&rig, 1000, 0, 5 * NS_PER_MS); /* 5 ms */
    send_at(&rig, 1000, 0, PACKET_ACKNOWLEDGES, 5);
    send_at(&rig, 1000, 10 * SEGMENT, PACKET_ACKNOWLEDGES, 6); /* ten frames */
    send_at(&rig, 1000 + 10 * SEGMENT, 700, PACKET_ACKNOWLEDGES, 7);
    acknowledge_at(&rig, 1000 + 10 * SEGMENT + 700, 6, 16 * NS_PER_MS);   /* 10 ms; of the first it acknowledges */
    send_at(&rig, 1000 + SEGMENT, 2 * SEGMENT, PACKET_ACKNOWLEDGES, 200); /* two segments again, and half of one */
    send_at(&rig, 1000 + 5 * SEGMENT, 724, PACKET_ACKNOWLEDGES, 201);
    send_at(&rig, 1700 + 10 * SEGMENT, 300, PACKET_ACKNOWLEDGES | PACKET_FIN, 202);
    send_at(&rig, 1700 + 10 * SEGMENT, 300, PACKET_ACKNOWLEDGES | PACKET_FIN, 500);
    packet_ledger_sum(rig.ledger, 1, &sum);
    assert_int_equal(sum.captured_count, 8);
    assert_int_equal(sum.packet_count, 8 + 9 + 1);
    uint64_t payload = 10 * SEGMENT + 700 + 2 * SEGMENT + 724 + 300 + 300;
    assert_int_equal(sum.payload_bytes, payload);
    assert_int_equal(sum.wire_bytes, payload + 18 * FRAME_HEADERS_BYTES);
    assert_int_equal(sum.retransmitted_segment_count, 2 + 1 + 1);
    assert_int_equal(sum.retransmitted_bytes, 2 * SEGMENT + 724 + 300);
    assert_int_equal(sum.round_trip_count, 2);
    assert_int_equal(sum.round_trip_minimum_ns, 5 * NS_PER_MS);
    assert_int_equal(sum.round_trip_maximum_ns, 10 * NS_PER_MS);
    assert_int_equal(sum.dropped_count, 9); /* others' */
    assert_true(sum.truncated);
    struct packet_summary other = {0};
    packet_ledger_sum(rig.ledger, 0, &other); /* nothing passed there */
    assert_int_equal(other.captured_count + other.round_trip_count, 0);
    assert_int_equal(other.round_trip_p50_ns, 0);
    packet_ledger_free(rig.ledger);
}

/* The kernel hands over what left and what came back in two buffers; on a busy host the second may come first, wholly. */
static void all_echoes_may_be_told_before_all_data(void **state)
{
    (void)state;
    for (int with_syn = 0; with_syn < 2; with_syn++) {
        struct rig rig = open_rig(4);
        struct packet_summary sum = {0};
        for (int i = 1; i <= 50; i++)
            acknowledge_at(&rig, 1000 + 100 * (uint32_t)i, (uint32_t)i, i * NS_PER_MS + 300 * NS_PER_US);
        if (with_syn)
            send_at(&rig, 999, 0, PACKET_SYN, 0);
        for (int i = 1; i <= 50; i++)
            send_at(&rig, 900 + 100 * (uint32_t)i, 100, PACKET_ACKNOWLEDGES, i);
        packet_ledger_sum(rig.ledger, 1, &sum);
        assert_int_equal(sum.round_trip_count, 50);
        assert_int_equal(sum.round_trip_minimum_ns, 300 * NS_PER_US);
        assert_int_equal(sum.round_trip_maximum_ns, 300 * NS_PER_US);
        assert_int_equal(sum.retransmitted_segment_count, 0);
        packet_ledger_free(rig.ledger);
    }
}

static void quantiles_of_round_trips(void **state)
{
    (void)state;
    struct rig rig = open_rig(4);
    for (int i = 1; i <= 1000; i++) { /* 1 us to 1 ms */
        send_at(&rig, (uint32_t)i, 1, PACKET_ACKNOWLEDGES, i);
        acknowledge_at(&rig, (uint32_t)i + 1, (uint32_t)i, i * NS_PER_MS + i * NS_PER_US);
    }
    struct packet_summary sum = {0};
    packet_ledger_sum(rig.ledger, 1, &sum);
    assert_int_equal(sum.round_trip_count, 1000);
    assert_int_equal(sum.round_trip_minimum_ns, NS_PER_US);
    assert_int_equal(sum.round_trip_maximum_ns, NS_PER_MS);
    assert_in_range(sum.round_trip_p50_ns, 495 * NS_PER_US, 505 * NS_PER_US); /* within 1 % */
    assert_in_range(sum.round_trip_p99_ns, 980 * NS_PER_US, 1000 * NS_PER_US);
    packet_ledger_free(rig.ledger);
}

static void the_longest_silent_connection_is_forgotten(void **state)
{
    (void)state;
    struct rig rig = open_rig(4);
    for (uint16_t port = 1; port <= 4; port++) {
        rig.forward.source_port = port;
        send_at(&rig, 100, 50, PACKET_ACKNOWLEDGES, 0);
    }
    struct packet_summary sum = {0};
    rig.forward.source_port = 1;
    send_at(&rig, 100, 50, PACKET_ACKNOWLEDGES, 1); /* again, and so the youngest */
    rig.forward.source_port = 5;
    send_at(&rig, 100, 50, PACKET_ACKNOWLEDGES, 2); /* 2 is forgotten for it */
    packet_ledger_sum(rig.ledger, 1, &sum);
    assert_int_equal(sum.retransmitted_segment_count, 1);
    for (uint16_t port = 3; port <= 5; port++) {
        rig.forward.source_port = port;
        send_at(&rig, 100, 50, PACKET_ACKNOWLEDGES, 3);
    }
    rig.forward.source_port = 2;
    send_at(&rig, 100, 50, PACKET_ACKNOWLEDGES, 4); /* new again: 1 goes */
    packet_ledger_sum(rig.ledger, 1, &sum);
    assert_int_equal(sum.retransmitted_segment_count, 4);
    for (int i = 0; i < 1000; i++) { /* many come and go */
        rig.forward.source_port = (uint16_t)(1000 + i % 7);
        send_at(&rig, (uint32_t)i, 1, PACKET_ACKNOWLEDGES, 5);
    }
    packet_ledger_sum(rig.ledger, 1, &sum);
    assert_int_equal(sum.captured_count, 4 + 2 + 3 + 1 + 1000);
    packet_ledger_free(rig.ledger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_segment_is_read),
        cmocka_unit_test(a_large_packet_is_what_the_wire_carries),
        cmocka_unit_test(what_is_no_whole_segment_is_one_frame),
        cmocka_unit_test(sums_of_a_connection),
        cmocka_unit_test(all_echoes_may_be_told_before_all_data),
        cmocka_unit_test(quantiles_of_round_trips),
        cmocka_unit_test(the_longest_silent_connection_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
