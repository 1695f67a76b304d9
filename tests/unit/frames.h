/* frames.h: frames of TCP over IPv4 over Ethernet as a device gets them, headers alone: for the tests of what reads captures. */
#ifndef LAGGARD_TESTS_UNIT_FRAMES_H
#define LAGGARD_TESTS_UNIT_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "netem/packet.h"

struct frame {
    uint32_t source, target;
    uint16_t source_port, target_port;
    uint32_t sequence, acknowledgement;
    uint8_t flags;
    uint32_t payload_bytes;
    bool no_timestamps;
    uint32_t timestamp, timestamp_echo;
};
enum { FRAME_PLAIN_BYTES = 14 + 20 + 20, FRAME_HEADERS_BYTES = FRAME_PLAIN_BYTES + 12 };

static inline void frame_put(uint8_t *bytes, uint32_t value, int count)
{
    for (int i = 0; i < count; i++)
        bytes[i] = (uint8_t)(value >> 8 * (count - 1 - i));
}

/* Writes FRAME_HEADERS_BYTES (FRAME_PLAIN_BYTES without timestamps); returns the length of the frame with its payload. */
static inline size_t frame_make(const struct frame *frame, uint8_t bytes[static PACKET_HEADERS_MOST])
{
    size_t headers = frame->no_timestamps ? FRAME_PLAIN_BYTES : FRAME_HEADERS_BYTES, length = headers + frame->payload_bytes;
    memset(bytes, 0, PACKET_HEADERS_MOST);
    frame_put(bytes + 12, 0x0800, 2);
    uint8_t *ip = bytes + 14, *tcp = ip + 20, *option = tcp + 20;
    ip[0] = 0x45;
    frame_put(ip + 2, length - 14 > 0xffff ? 0 : (uint32_t)length - 14, 2);
    ip[6] = 0x40; /* not to be fragmented */
    ip[8] = 64;
    ip[9] = 6;
    frame_put(ip + 12, frame->source, 4);
    frame_put(ip + 16, frame->target, 4);
    frame_put(tcp, frame->source_port, 2);
    frame_put(tcp + 2, frame->target_port, 2);
    frame_put(tcp + 4, frame->sequence, 4);
    frame_put(tcp + 8, frame->acknowledgement, 4);
    tcp[12] = (uint8_t)((headers - 34) / 4 << 4);
    tcp[13] = frame->flags;
    if (!frame->no_timestamps) {
        option[0] = option[1] = 1;
        option[2] = 8;
        option[3] = 10;
        frame_put(option + 4, frame->timestamp, 4);
        frame_put(option + 8, frame->timestamp_echo, 4);
    }
    return length;
}

#endif
