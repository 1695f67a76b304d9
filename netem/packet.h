/* packet.h: the headers of a captured frame. Pure, and safe against any bytes: what programs of others send comes here. */
#ifndef LAGGARD_NETEM_PACKET_H
#define LAGGARD_NETEM_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum packet_flags { PACKET_FIN = 1, PACKET_SYN = 2, PACKET_RESET = 4, PACKET_ACKNOWLEDGES = 16 }; /* of TCP */
enum { PACKET_HEADERS_MOST = 14 + 60 + 60 }; /* bytes of a frame that packet_parse() looks at: Ethernet, IPv4, TCP */

struct packet {
    uint32_t frame_count; /* on the wire: a packet larger than the MTU is cut before it gets there */
    uint64_t wire_bytes;  /* of these frames together */
    bool is_tcp;          /* whole over IPv4, no fragment; otherwise nothing below is set */
    uint32_t source, target;
    uint16_t source_port, target_port;
    uint32_t sequence, acknowledgement;
    uint8_t flags;
    uint32_t payload_bytes;
    uint32_t segment_bytes; /* payload of each frame but the last */
    bool has_timestamps;
    uint32_t timestamp, timestamp_echo;
};

/* `captured` bytes of an Ethernet frame that has `length`. What is no whole header counts as one frame of its length. */
void packet_parse(const uint8_t *bytes, size_t captured, size_t length, unsigned mtu, struct packet *packet);

#endif
