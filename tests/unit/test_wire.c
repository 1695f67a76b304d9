/* test_wire.c: every type's bytes laid out by hand, round trips, and what the decoder refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "base/wire.h"

struct point {
    uint32_t node;
    int64_t at_ns;
};
static const struct wire_field point_fields[] = {WIRE_FIELD(point, node, WIRE_U32, "node"),
                                                 WIRE_FIELD(point, at_ns, WIRE_I64, "time, ns")};
static const struct wire_table point_table = WIRE_TABLE(point, point_fields);

struct sample {
    const char *name;
    uint32_t flags;
    uint64_t seed;
    double rate;
    uint8_t *blob;
    uint32_t blob_bytes;
    struct point origin;
    struct point *points;
    uint32_t point_count;
};
static const struct wire_field sample_fields[] = {
    WIRE_FIELD(sample, name, WIRE_STRING, "name"),
    WIRE_FIELD(sample, flags, WIRE_U32, "flags"),
    WIRE_FIELD(sample, seed, WIRE_U64, "seed"),
    WIRE_FIELD(sample, rate, WIRE_F64, "bits a second"),
    WIRE_BLOB(sample, blob, blob_bytes, "anything"),
    WIRE_EMBED(sample, origin, &point_table, "where it began"),
    WIRE_LIST(sample, points, point_count, &point_table, "where it went"),
};
static const struct wire_table sample_table = WIRE_TABLE(sample, sample_fields);

/* A struct that holds more of itself: nesting as deep as the bytes say. */
struct tree {
    struct tree *children;
    uint32_t child_count;
};
static const struct wire_table tree_table;
static const struct wire_field tree_fields[] = {WIRE_LIST(tree, children, child_count, &tree_table, "subtrees")};
static const struct wire_table tree_table = WIRE_TABLE(tree, tree_fields);

static uint8_t blob[] = {0, 0xff};
static struct point points[] = {{1, -1}, {2, INT64_MIN}};
static const struct sample example = {
    .name = "ring",
    .flags = 0x01020304,
    .seed = UINT64_C(0x1112131415161718),
    .rate = 1.0,
    .blob = blob,
    .blob_bytes = 2,
    .origin = {7, 9},
    .points = points,
    .point_count = 2,
};
static const uint8_t example_bytes[] = {
    4,    0,    0,    0,    'r',  'i',  'n',  'g',                          /* name */
    4,    3,    2,    1,                                                    /* flags */
    0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,                         /* seed */
    0,    0,    0,    0,    0,    0,    0xf0, 0x3f,                         /* rate */
    2,    0,    0,    0,    0,    0xff,                                     /* blob */
    7,    0,    0,    0,    9,    0,    0,    0,    0,    0,    0,    0,    /* origin */
    2,    0,    0,    0,                                                    /* points: two */
    1,    0,    0,    0,    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, /* points[0] */
    2,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0x80, /* points[1] */
};
enum { NAME_AT = 0, BLOB_AT = 28, POINTS_AT = 46 };

static void encoded_bytes_are_the_documented_ones(void **state)
{
    (void)state;
    cleanup(text_free) struct text out = {0};
    text_add(&out, "before");
    wire_encode(&sample_table, &example, &out);
    assert_int_equal(out.length, 6 + sizeof(example_bytes));
    assert_memory_equal(out.bytes, "before", 6); /* it appends */
    assert_memory_equal(out.bytes + 6, example_bytes, sizeof(example_bytes));
}

static void decoding_gives_the_struct_back(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct sample decoded;
    struct err err = {0};
    if (wire_decode(&sample_table, example_bytes, sizeof(example_bytes), arena, &decoded, &err) != 0)
        fail_msg("%s", err.text);
    assert_string_equal(decoded.name, "ring");
    assert_int_equal(decoded.flags, example.flags);
    assert_true(decoded.seed == example.seed);
    assert_true(decoded.rate == 1.0);
    assert_int_equal(decoded.blob_bytes, 2);
    assert_memory_equal(decoded.blob, blob, 2);
    assert_int_equal(decoded.origin.node, 7);
    assert_int_equal(decoded.origin.at_ns, 9);
    assert_int_equal(decoded.point_count, 2);
    assert_int_equal(decoded.points[0].at_ns, -1);
    assert_true(decoded.points[1].at_ns == INT64_MIN);
    cleanup(text_free) struct text out = {0};
    wire_encode(&sample_table, &decoded, &out);
    assert_memory_equal(out.bytes, example_bytes, sizeof(example_bytes));
}

static void an_empty_struct_round_trips(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    const struct sample empty = {.point_count = 5, .blob_bytes = 5}; /* NULL pointers: nothing, whatever the counts say */
    cleanup(text_free) struct text out = {0};
    wire_encode(&sample_table, &empty, &out);
    assert_int_equal(out.length, 4 + 4 + 8 + 8 + 4 + 12 + 4);
    struct sample decoded;
    assert_int_equal(wire_decode(&sample_table, out.bytes, out.length, arena, &decoded, NULL), 0);
    assert_string_equal(decoded.name, ""); /* a string is never NULL */
    assert_int_equal(decoded.point_count, 0);
    assert_int_equal(decoded.blob_bytes, 0);
}

static void doubles_keep_their_bits(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    static const double values[] = {NAN, INFINITY, -INFINITY, -0.0, DBL_MAX, 5e-324};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        struct sample one = {.rate = values[i]}, decoded;
        cleanup(text_free) struct text out = {0};
        wire_encode(&sample_table, &one, &out);
        assert_int_equal(wire_decode(&sample_table, out.bytes, out.length, arena, &decoded, NULL), 0);
        assert_memory_equal(&decoded.rate, &values[i], sizeof(double));
    }
}

/* Refused, with the object as it was and a sentence that names the message and the reason. */
static void refuse(const struct wire_table *table, const uint8_t *bytes, size_t length, const char *reason)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct sample object, before;
    memset(&object, 0x5a, sizeof(object));
    before = object;
    struct err err = {0};
    /* a copy of exactly this size, so that an address sanitizer sees a read past its end */
    cleanup(free_pointer) uint8_t *exact = malloc(length ? length : 1);
    if (length)
        memcpy(exact, bytes, length);
    assert_int_equal(wire_decode(table, exact, length, arena, &object, &err), -ERR_TRIAL);
    assert_int_equal(err.kind, ERR_TRIAL);
    assert_memory_equal(&object, &before, sizeof(object));
    if (!strstr(err.text, reason) || !strstr(err.text, table->name))
        fail_msg("'%s' does not contain '%s'", err.text, reason);
    assert_true(arena_bytes(arena) <= sizeof(object) + 8 * length + 1024);
    assert_int_equal(wire_decode(table, exact, length, arena, &object, NULL), -ERR_TRIAL);
}

static void truncation_at_every_offset_is_refused(void **state)
{
    (void)state;
    for (size_t length = 0; length < sizeof(example_bytes); length++)
        refuse(&sample_table, example_bytes, length, "left");
    refuse(&sample_table, example_bytes, 10, "message sample: flags needs 4 bytes at offset 8, 2 are left");
}

static void left_over_bytes_are_refused(void **state)
{
    (void)state;
    uint8_t longer[sizeof(example_bytes) + 2] = {0};
    memcpy(longer, example_bytes, sizeof(example_bytes));
    refuse(&sample_table, longer, sizeof(longer), "message sample: 2 bytes are left over behind the last field");
}

static void claims_beyond_the_bytes_are_refused(void **state)
{
    (void)state;
    uint8_t bytes[sizeof(example_bytes)];
    static const uint32_t claims[] = {3, 1000, 0x7fffffff, 0x80000000, 0xffffffff};
    for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
        memcpy(bytes, example_bytes, sizeof(bytes));
        for (int k = 0; k < 4; k++) /* the count of points: refused before memory is taken (refuse() looks) */
            bytes[POINTS_AT + k] = (uint8_t)(claims[i] >> (8 * k));
        refuse(&sample_table, bytes, sizeof(bytes), "elements of at least 12 bytes, 24 bytes are left");
    }
    memcpy(bytes, example_bytes, sizeof(bytes));
    bytes[NAME_AT + 3] = 0x80;
    refuse(&sample_table, bytes, sizeof(bytes), "name needs 2147483652 bytes at offset 4");
    memcpy(bytes, example_bytes, sizeof(bytes));
    bytes[BLOB_AT] = 200;
    refuse(&sample_table, bytes, sizeof(bytes), "blob needs 200 bytes at offset 32");
}

static void a_zero_inside_a_string_is_refused(void **state)
{
    (void)state;
    uint8_t bytes[sizeof(example_bytes)];
    memcpy(bytes, example_bytes, sizeof(bytes));
    bytes[6] = 0;
    refuse(&sample_table, bytes, sizeof(bytes), "name has a zero byte at position 2 of 4");
}

static void an_error_inside_an_element_names_it(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {1, 0, 0, 0, /* one child, which has */ 9, 0, 0, 0};
    refuse(&tree_table, bytes, sizeof(bytes), "message tree: children[0]: children claims 9 elements");
}

static void nested_claims_cannot_count_on_the_same_bytes(void **state)
{
    (void)state;
    /* each first child claims every byte that is left: refused at the second level, since the siblings need those bytes */
    enum { LENGTH = 64 << 10 };
    cleanup(free_pointer) uint8_t *bytes = calloc(LENGTH, 1);
    for (size_t i = 0; i < 30; i++) {
        size_t claim = (LENGTH - 4 * (i + 1)) / 4;
        bytes[4 * i] = (uint8_t)claim;
        bytes[4 * i + 1] = (uint8_t)(claim >> 8);
    }
    refuse(&tree_table, bytes, LENGTH, "children[0]: children claims 16382 elements");
}

static void nesting_is_bounded(void **state)
{
    (void)state;
    enum { DEPTH = 200000 };
    cleanup(free_pointer) uint8_t *bytes = calloc(DEPTH, 4);
    for (size_t i = 0; i + 1 < DEPTH; i++)
        bytes[4 * i] = 1;
    refuse(&tree_table, bytes, 4 * (size_t)DEPTH, "nested more than 32 deep");
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct tree tree;
    assert_int_equal(wire_decode(&tree_table, bytes + 4 * (DEPTH - 20), 4 * 20, arena, &tree, NULL), 0);
}

static void an_empty_table_has_no_bytes(void **state)
{
    (void)state;
    struct nothing {
        uint32_t unused;
    } object = {.unused = 7};
    const struct wire_table table = {.name = "nothing", .struct_bytes = sizeof(object), .fields = NULL, .field_count = 0};
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    assert_int_equal(wire_decode(&table, NULL, 0, arena, &object, NULL), 0);
    refuse(&table, (const uint8_t *)"x", 1, "1 bytes are left over");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encoded_bytes_are_the_documented_ones),
        cmocka_unit_test(decoding_gives_the_struct_back),
        cmocka_unit_test(an_empty_struct_round_trips),
        cmocka_unit_test(doubles_keep_their_bits),
        cmocka_unit_test(truncation_at_every_offset_is_refused),
        cmocka_unit_test(left_over_bytes_are_refused),
        cmocka_unit_test(claims_beyond_the_bytes_are_refused),
        cmocka_unit_test(a_zero_inside_a_string_is_refused),
        cmocka_unit_test(an_error_inside_an_element_names_it),
        cmocka_unit_test(nested_claims_cannot_count_on_the_same_bytes),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(an_empty_table_has_no_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
