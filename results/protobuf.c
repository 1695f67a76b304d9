/* results/protobuf.c: Protocol Buffers' wire format; see protobuf.h. */
#include "results/protobuf.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2 };

static void add_varint(struct text *out, uint64_t value)
{
    char bytes[10];
    size_t length = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[length++] = (char)(value | 0x80);
    bytes[length++] = (char)value;
    text_add_bytes(out, bytes, length);
}

static void add_key(struct text *out, unsigned field, enum wire_type type)
{
    add_varint(out, (uint64_t)field << 3 | type);
}

void protobuf_varint(struct text *out, unsigned field, uint64_t value)
{
    add_key(out, field, WIRE_VARINT);
    add_varint(out, value);
}

void protobuf_fixed64(struct text *out, unsigned field, uint64_t value)
{
    char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (char)(value >> 8 * i);
    add_key(out, field, WIRE_FIXED64);
    text_add_bytes(out, bytes, sizeof(bytes));
}

void protobuf_message(struct text *out, unsigned field, const struct text *message)
{
    add_key(out, field, WIRE_LENGTH);
    add_varint(out, message->length);
    text_add_bytes(out, message->bytes, message->length);
}

void protobuf_string(struct text *out, unsigned field, const char *value)
{
    cleanup(text_free) struct text utf8 = {0};
    text_add_utf8(&utf8, value, strlen(value));
    protobuf_message(out, field, &utf8);
}
