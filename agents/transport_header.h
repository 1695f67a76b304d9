/* agents/transport_header.h: the header in front of every message between nodes, as bytes. Pure: what tests/fuzz/fuzz_transport.c
 * feeds.
 *
 *      0  u32  magic: "LGM1" for a message, "LGH1" for the hello that opens a connection in both directions
 *      4  u16  channel         hello: version of this layout
 *      6  u16  kind            hello: flags (enum hello_flags)
 *      8  u32  index           hello: the sender's node index
 *     12  u32  sequence        of the message among all that this sender sent on this connection, from 0; hello: the cell
 *     16  u64  step            hello: the trial's token
 *     24  i64  argument        hello: 0
 *     32  u64  payload length  hello: 0
 *     40  ...  payload
 *
 * All little-endian. The sequence number is what tells a stream that lost its place from one that did not. */
#ifndef LAGGARD_AGENTS_TRANSPORT_HEADER_H
#define LAGGARD_AGENTS_TRANSPORT_HEADER_H

#include <stdint.h>

#include "agents/node.h"

struct err;

enum { TRANSPORT_HEADER_BYTES = 40, TRANSPORT_VERSION = 1 };
enum hello_flags { HELLO_HAS_MODEL = 1, HELLO_FLAGS_ALL = 1 };

struct transport_header {
    struct message_header message;
    uint32_t sequence;
    uint64_t length;
};
struct transport_hello {
    uint32_t node, cell;
    uint64_t token;
    unsigned flags;
};

void transport_header_encode(const struct transport_header *header, uint8_t bytes[static TRANSPORT_HEADER_BYTES]);
/* Refuses a wrong magic, another sequence number than the one expected and a length over payload_max; *header is then untouched. */
int transport_header_decode(const uint8_t bytes[static TRANSPORT_HEADER_BYTES], uint32_t expected_sequence, uint64_t payload_max,
                            struct transport_header *header, struct err *err);
void transport_hello_encode(const struct transport_hello *hello, uint8_t bytes[static TRANSPORT_HEADER_BYTES]);
/* Refuses a wrong magic or version, unknown flags, and what a hello must leave 0. */
int transport_hello_decode(const uint8_t bytes[static TRANSPORT_HEADER_BYTES], struct transport_hello *hello, struct err *err);

#endif
