/* wire.h: structs to bytes and back, driven by a table of fields: one definition serves the encoder, the decoder, the documentation
 * (`laggard fields --control` prints the layout) and the fuzz target.
 *
 * Layout: fields in table order, little-endian, unaligned. U32, U64, I64, F64: 4 or 8 bytes. STRING: u32 length and bytes, no NUL
 * (decoded NUL-terminated; an embedded NUL is refused). BYTES: u32 length and bytes. ARRAY: u32 count and that many structs of
 * `elements`. In the struct an ARRAY or BYTES is a pointer and, at `count_offset`, a uint32_t count.
 * STRUCT: an embedded struct, encoded in place. */
#ifndef LAGGARD_BASE_WIRE_H
#define LAGGARD_BASE_WIRE_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct err;
struct text;

enum wire_type { WIRE_U32, WIRE_U64, WIRE_I64, WIRE_F64, WIRE_STRING, WIRE_BYTES, WIRE_ARRAY, WIRE_STRUCT, WIRE_TYPE_COUNT };

struct wire_field {
    const char *name;
    enum wire_type type;
    size_t offset;
    size_t count_offset;               /* ARRAY, BYTES */
    const struct wire_table *elements; /* ARRAY, STRUCT */
    const char *help;                  /* meaning and unit */
};
struct wire_table {
    const char *name;
    size_t struct_bytes;
    const struct wire_field *fields;
    size_t field_count;
};

#define WIRE_FIELD(struct_name, member, wire_type_, help_)                                                                         \
    {                                                                                                                              \
        .name = #member, .type = wire_type_, .offset = offsetof(struct struct_name, member), .help = help_                         \
    }
#define WIRE_LIST(struct_name, member, count_member, table_, help_)                                                                \
    {                                                                                                                              \
        .name = #member, .type = WIRE_ARRAY, .offset = offsetof(struct struct_name, member),                                       \
        .count_offset = offsetof(struct struct_name, count_member), .elements = table_, .help = help_                              \
    }
#define WIRE_BLOB(struct_name, member, count_member, help_)                                                                        \
    {                                                                                                                              \
        .name = #member, .type = WIRE_BYTES, .offset = offsetof(struct struct_name, member),                                       \
        .count_offset = offsetof(struct struct_name, count_member), .help = help_                                                  \
    }
#define WIRE_EMBED(struct_name, member, table_, help_)                                                                             \
    {                                                                                                                              \
        .name = #member, .type = WIRE_STRUCT, .offset = offsetof(struct struct_name, member), .elements = table_, .help = help_    \
    }
#define WIRE_TABLE(struct_name, fields_)                                                                                           \
    {                                                                                                                              \
        .name = #struct_name, .struct_bytes = sizeof(struct struct_name), .fields = fields_,                                       \
        .field_count = sizeof(fields_) / sizeof((fields_)[0])                                                                      \
    }

void wire_encode(const struct wire_table *table, const void *object, struct text *out);
/* The object's pointers go into the arena. The error says which field, what was found; the object is untouched on failure. */
int wire_decode(const struct wire_table *table, const void *bytes, size_t length, struct arena *arena, void *object,
                struct err *err);

#endif
