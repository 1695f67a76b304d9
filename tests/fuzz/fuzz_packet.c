/* fuzz_packet.c: what outside programs send over a captured link. Damaged frames against what a second reading of the headers says,
 * and streams of them through the ledger, whose sums must stay within what was sent. */
#include "base/cleanup.h"
#include "netem/packet.h"
#include "netem/packet_ledger.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/frames.h"

enum { DIRECTIONS_HERE = 2, FLOWS = 5, FRAMES_MOST = 64 };

static size_t make_frame(struct fuzz *fuzz, uint8_t bytes[PACKET_HEADERS_MOST], size_t *captured)
{
    static const uint32_t payloads[] = {0, 1, 100, 1447, 1448, 1449, 2896, 65000, 70000};
    static const uint8_t flags[] = {PACKET_ACKNOWLEDGES, PACKET_SYN, PACKET_SYN | PACKET_ACKNOWLEDGES,
                                    PACKET_FIN | PACKET_ACKNOWLEDGES, 0};
    const struct frame frame = {
        .source = 0x0a400001 + (uint32_t)fuzz_below(fuzz, 2),
        .target = 0x0a400002,
        .source_port = (uint16_t)fuzz_below(fuzz, 4),
        .target_port = 5000,
        .sequence = (uint32_t)fuzz_below(fuzz, 8) * 1000 - 3000,
        .acknowledgement = (uint32_t)fuzz_below(fuzz, 8) * 1000 - 3000,
        .flags = flags[fuzz_below(fuzz, sizeof(flags))],
        .payload_bytes = payloads[fuzz_below(fuzz, sizeof(payloads) / sizeof(payloads[0]))],
        .no_timestamps = fuzz_below(fuzz, 8) == 0,
        .timestamp = (uint32_t)fuzz_below(fuzz, 600),
        .timestamp_echo = (uint32_t)fuzz_below(fuzz, 600),
    };
    size_t length = frame_make(&frame, bytes);
    *captured = fuzz_mutate(fuzz, bytes, FRAME_HEADERS_BYTES, PACKET_HEADERS_MOST);
    return fuzz_below(fuzz, 8) ? length : fuzz_below(fuzz, 70000);
}

static void check_packet(struct fuzz *fuzz, const uint8_t *bytes, size_t captured, size_t length, unsigned mtu)
{
    struct packet packet;
    packet_parse(bytes, captured, length, mtu, &packet);
    FUZZ_CHECK(fuzz, packet.frame_count >= 1 && packet.wire_bytes >= length && packet.payload_bytes <= length);
    FUZZ_CHECK(fuzz, packet.frame_count == 1 ? packet.wire_bytes == length : packet.frame_count <= length);
    if (!packet.is_tcp) {
        FUZZ_CHECK(fuzz, packet.payload_bytes == 0 && packet.source == 0 && !packet.has_timestamps);
        return;
    }
    fuzz->accepted++;
    const uint8_t *ip = bytes + 14, *tcp = ip + (ip[0] & 15) * 4;
    FUZZ_CHECK(fuzz, captured >= 54 && tcp + 20 <= bytes + captured && ip[9] == 6 && ip[0] >= 0x45 && ip[0] <= 0x4f);
    FUZZ_CHECK(fuzz, packet.source_port == (tcp[0] << 8 | tcp[1]) && packet.flags == tcp[13]);
    if (packet.frame_count > 1) { /* all but the last are full */
        FUZZ_CHECK(fuzz, packet.segment_bytes >= 1 && packet.segment_bytes < mtu);
        FUZZ_CHECK(fuzz, (uint64_t)(packet.frame_count - 1) * packet.segment_bytes < packet.payload_bytes);
        FUZZ_CHECK(fuzz, (uint64_t)packet.frame_count * packet.segment_bytes >= packet.payload_bytes);
    }
}

static void check_sums(struct fuzz *fuzz, const struct packet_ledger *ledger, uint64_t sent)
{
    uint64_t captured = 0;
    for (int d = 0; d < DIRECTIONS_HERE; d++) {
        struct packet_summary sum = {0};
        packet_ledger_sum(ledger, d, &sum);
        captured += sum.captured_count;
        FUZZ_CHECK(fuzz, sum.packet_count >= sum.captured_count && sum.payload_bytes <= sum.wire_bytes);
        FUZZ_CHECK(fuzz, sum.retransmitted_bytes <= sum.payload_bytes && sum.retransmitted_segment_count <= sum.packet_count);
        FUZZ_CHECK(fuzz, sum.round_trip_minimum_ns <= sum.round_trip_p50_ns && sum.round_trip_p50_ns <= sum.round_trip_p99_ns);
        FUZZ_CHECK(fuzz, sum.round_trip_p99_ns <= sum.round_trip_maximum_ns && sum.round_trip_minimum_ns >= 0);
    }
    FUZZ_CHECK(fuzz, captured == sent);
}

static void fuzz_one(struct fuzz *fuzz)
{
    unsigned mtu = (unsigned)(576 + fuzz_below(fuzz, 9000 - 576));
    struct packet_ledger *ledger = packet_ledger_new(DIRECTIONS_HERE, FLOWS, mtu);
    FUZZ_CHECK(fuzz, ledger);
    uint64_t sent = 0;
    int64_t now_ns = 0;
    for (size_t i = 1 + fuzz_few(fuzz, FRAMES_MOST); i > 0; i--) {
        uint8_t bytes[PACKET_HEADERS_MOST];
        size_t captured, length = make_frame(fuzz, bytes, &captured);
        /* a copy of exactly this size: reading past its end would be seen by an address sanitizer */
        cleanup(free_pointer) uint8_t *exact = malloc(captured ? captured : 1);
        FUZZ_CHECK(fuzz, exact);
        memcpy(exact, bytes, captured);
        check_packet(fuzz, exact, captured, length, mtu);
        int direction = (int)fuzz_below(fuzz, DIRECTIONS_HERE);
        now_ns += (int64_t)fuzz_below(fuzz, 1000) - 100; /* clocks are set back, too */
        if (fuzz_below(fuzz, 3) == 0) {
            packet_ledger_returned(ledger, direction, exact, captured, length, now_ns);
        } else {
            packet_ledger_sent(ledger, direction, exact, captured, length, now_ns);
            sent++;
        }
    }
    check_sums(fuzz, ledger, sent);
    packet_ledger_free(ledger);
}

FUZZ_MAIN("packet")
