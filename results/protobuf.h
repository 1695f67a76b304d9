/* results/protobuf.h: writes Protocol Buffers' wire format: varints, fixed64 and length-delimited fields, one after the other, into
 * a text. A message within a message is written into a text of its own first, since its length comes before it.
 *
 * Source: "Encoding", protobuf.dev/programming-guides/encoding. A field begins with the varint (number << 3 | wire type); a varint
 * has seven bits a byte, lowest first, with the top bit set in all but the last: 150 as field 1 is 08 96 01. */
#ifndef LAGGARD_RESULTS_PROTOBUF_H
#define LAGGARD_RESULTS_PROTOBUF_H

#include <stdint.h>

struct text;

/* Types uint64, uint32, bool and enum; int64 and int32 too, cast: a negative one takes ten bytes. */
void protobuf_varint(struct text *out, unsigned field, uint64_t value);
void protobuf_fixed64(struct text *out, unsigned field, uint64_t value);
void protobuf_message(struct text *out, unsigned field, const struct text *message);
/* Type string, which is UTF-8: other bytes and NUL become U+FFFD. */
void protobuf_string(struct text *out, unsigned field, const char *value);

#endif
