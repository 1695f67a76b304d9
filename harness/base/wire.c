/* wire.c: structs to bytes and back. The decoder trusts nothing: every length and count is compared with the bytes that are left
 * before memory is taken, and nesting is bounded. */
#include "base/wire.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"

enum { DEPTH_MAX = 32 };

static void add_little_endian(struct text *out, uint64_t value, size_t bytes)
{
    char encoded[8];
    for (size_t i = 0; i < bytes; i++)
        encoded[i] = (char)(value >> (8 * i) & 0xff);
    text_add_bytes(out, encoded, bytes);
}

static uint32_t load_u32(const void *from)
{
    uint32_t value;
    memcpy(&value, from, sizeof(value));
    return value;
}

static uint64_t load_u64(const void *from)
{
    uint64_t value;
    memcpy(&value, from, sizeof(value));
    return value;
}

static const void *load_pointer(const void *from)
{
    const void *value;
    memcpy(&value, from, sizeof(value));
    return value;
}

static void encode_field(const struct wire_field *field, const char *object, struct text *out)
{
    const char *member = object + field->offset;
    const char *pointer;
    uint32_t count;
    switch (field->type) {
    case WIRE_U32:
        add_little_endian(out, load_u32(member), 4);
        break;
    case WIRE_U64:
    case WIRE_I64:
    case WIRE_F64:
        add_little_endian(out, load_u64(member), 8);
        break;
    case WIRE_STRING:
        pointer = load_pointer(member);
        count = pointer ? (uint32_t)strlen(pointer) : 0;
        add_little_endian(out, count, 4);
        text_add_bytes(out, pointer, count);
        break;
    case WIRE_BYTES:
        pointer = load_pointer(member);
        count = pointer ? load_u32(object + field->count_offset) : 0;
        add_little_endian(out, count, 4);
        text_add_bytes(out, pointer, count);
        break;
    case WIRE_ARRAY:
        pointer = load_pointer(member);
        count = pointer ? load_u32(object + field->count_offset) : 0;
        add_little_endian(out, count, 4);
        for (uint32_t i = 0; i < count; i++)
            wire_encode(field->elements, pointer + i * field->elements->struct_bytes, out);
        break;
    case WIRE_STRUCT:
        wire_encode(field->elements, member, out);
        break;
    case WIRE_TYPE_COUNT:
        break;
    }
}

void wire_encode(const struct wire_table *table, const void *object, struct text *out)
{
    for (size_t i = 0; i < table->field_count; i++)
        encode_field(&table->fields[i], object, out);
}

/* The fewest bytes that a struct can take: what a count of elements is checked against. */
static size_t least_bytes(const struct wire_table *table)
{
    size_t bytes = 0;
    for (size_t i = 0; i < table->field_count; i++) {
        const struct wire_field *field = &table->fields[i];
        switch (field->type) {
        case WIRE_U64:
        case WIRE_I64:
        case WIRE_F64:
            bytes += 8;
            break;
        case WIRE_STRUCT:
            bytes += least_bytes(field->elements);
            break;
        case WIRE_U32:
        case WIRE_STRING:
        case WIRE_BYTES:
        case WIRE_ARRAY:
        case WIRE_TYPE_COUNT:
            bytes += 4;
            break;
        }
    }
    return bytes;
}

/* A claim inside one element may not count on the bytes that its siblings need: otherwise claims nested in each other's first
 * elements would take memory for the same bytes again and again. */
struct decoder {
    const uint8_t *cursor, *start, *end;
    size_t reserved; /* what elements still to come need at least */
    struct arena *arena;
    struct err *err;
};

static int decode_table(struct decoder *decoder, const struct wire_table *table, char *object, unsigned depth);

/* Takes `bytes` from the input: NULL when they are not there, and then the error is set. */
static const uint8_t *take(struct decoder *decoder, const char *name, size_t bytes)
{
    size_t left = (size_t)(decoder->end - decoder->cursor);
    if (bytes > left) {
        err_set(decoder->err, ERR_TRIAL, "%s needs %zu bytes at offset %zu, %zu are left", name, bytes,
                (size_t)(decoder->cursor - decoder->start), left);
        return NULL;
    }
    const uint8_t *taken = decoder->cursor;
    decoder->cursor += bytes;
    return taken;
}

static uint64_t little_endian(const uint8_t *bytes, size_t count)
{
    uint64_t value = 0;
    for (size_t i = 0; i < count; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

static int decode_array(struct decoder *decoder, const struct wire_field *field, uint32_t count, char *object, unsigned depth)
{
    size_t least = least_bytes(field->elements), left = (size_t)(decoder->end - decoder->cursor);
    left = left > decoder->reserved ? left - decoder->reserved : 0;
    if (count > left / (least ? least : 1))
        return err_set(decoder->err, ERR_TRIAL, "%s claims %u elements of at least %zu bytes, %zu bytes are left", field->name,
                       count, least, left);
    size_t stride = field->elements->struct_bytes;
    char *elements = count ? arena_calloc(decoder->arena, count, stride) : NULL;
    decoder->reserved += count * least;
    for (uint32_t i = 0; i < count; i++) {
        decoder->reserved -= least;
        if (decode_table(decoder, field->elements, elements + i * stride, depth + 1) < 0) {
            err_wrap(decoder->err, "%s[%u]", field->name, i);
            return -ERR_TRIAL;
        }
    }
    memcpy(object + field->offset, &elements, sizeof(elements));
    memcpy(object + field->count_offset, &count, sizeof(count));
    return 0;
}

static int decode_bytes(struct decoder *decoder, const struct wire_field *field, uint32_t count, char *object)
{
    const uint8_t *from = take(decoder, field->name, count);
    if (!from)
        return -ERR_TRIAL;
    bool is_string = field->type == WIRE_STRING;
    const uint8_t *zero = is_string ? memchr(from, 0, count) : NULL;
    if (zero)
        return err_set(decoder->err, ERR_TRIAL, "%s has a zero byte at position %zu of %u, a string has none", field->name,
                       (size_t)(zero - from), count);
    char *copy = NULL;
    if (is_string)
        copy = arena_strndup(decoder->arena, (const char *)from, count);
    else if (count)
        copy = arena_copy(decoder->arena, from, count);
    memcpy(object + field->offset, &copy, sizeof(copy));
    if (!is_string)
        memcpy(object + field->count_offset, &count, sizeof(count));
    return 0;
}

static int decode_field(struct decoder *decoder, const struct wire_field *field, char *object, unsigned depth)
{
    if (field->type == WIRE_STRUCT) {
        if (decode_table(decoder, field->elements, object + field->offset, depth + 1) == 0)
            return 0;
        err_wrap(decoder->err, "%s", field->name);
        return -ERR_TRIAL;
    }
    bool is_wide = field->type == WIRE_U64 || field->type == WIRE_I64 || field->type == WIRE_F64;
    const uint8_t *from = take(decoder, field->name, is_wide ? 8 : 4);
    if (!from)
        return -ERR_TRIAL;
    uint64_t value = little_endian(from, is_wide ? 8 : 4);
    uint32_t narrow = (uint32_t)value;
    if (is_wide)
        memcpy(object + field->offset, &value, sizeof(value));
    else if (field->type == WIRE_ARRAY)
        return decode_array(decoder, field, narrow, object, depth);
    else if (field->type == WIRE_STRING || field->type == WIRE_BYTES)
        return decode_bytes(decoder, field, narrow, object);
    else
        memcpy(object + field->offset, &narrow, sizeof(narrow));
    return 0;
}

static int decode_table(struct decoder *decoder, const struct wire_table *table, char *object, unsigned depth)
{
    if (depth > DEPTH_MAX)
        return err_set(decoder->err, ERR_TRIAL, "structs are nested more than %d deep", DEPTH_MAX);
    for (size_t i = 0; i < table->field_count; i++) {
        int status = decode_field(decoder, &table->fields[i], object, depth);
        if (status < 0)
            return status;
    }
    return 0;
}

int wire_decode(const struct wire_table *table, const void *bytes, size_t length, struct arena *arena, void *object,
                struct err *err)
{
    static const uint8_t nothing[1] = {0}; /* so that an empty input may be NULL */
    const uint8_t *start = length ? bytes : nothing;
    struct decoder decoder = {.cursor = start, .start = start, .end = start + length, .arena = arena, .err = err};
    char *decoded = arena_alloc(arena, table->struct_bytes);
    int status = decode_table(&decoder, table, decoded, 0);
    if (status == 0 && decoder.cursor != decoder.end)
        status = err_set(err, ERR_TRIAL, "%zu bytes are left over behind the last field", (size_t)(decoder.end - decoder.cursor));
    if (status < 0) {
        err_wrap(err, "message %s", table->name);
        return -ERR_TRIAL;
    }
    memcpy(object, decoded, table->struct_bytes);
    return 0;
}
