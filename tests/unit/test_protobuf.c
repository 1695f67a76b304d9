/* test_protobuf.c: the bytes of Protocol Buffers' wire format, those of its specification among them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "results/protobuf.h"

static void varints(void **state)
{
    (void)state;
    static const struct {
        uint64_t value;
        const char *bytes;
        size_t length;
    } rows[] = {
        {0, "\x08\x00", 2},
        {127, "\x08\x7f", 2},
        {128, "\x08\x80\x01", 3},
        {150, "\x08\x96\x01", 3}, /* the specification's example */
        {(uint64_t)-2, "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11},
        {UINT64_MAX, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cleanup(text_free) struct text out = {0};
        protobuf_varint(&out, 1, rows[i].value);
        assert_int_equal(out.length, rows[i].length);
        assert_memory_equal(out.bytes, rows[i].bytes, rows[i].length);
    }
}

static void fields_above_fifteen_and_fixed64(void **state)
{
    (void)state;
    cleanup(text_free) struct text out = {0};
    protobuf_fixed64(&out, 47, 0x0123456789abcdefU);
    protobuf_varint(&out, 60, 1);
    assert_int_equal(out.length, 13);
    assert_memory_equal(out.bytes, "\xf9\x02\xef\xcd\xab\x89\x67\x45\x23\x01\xe0\x03\x01", 13);
}

static void strings_and_messages(void **state)
{
    (void)state;
    cleanup(text_free) struct text out = {0}, inner = {0}, empty = {0};
    protobuf_string(&out, 2, "testing"); /* the specification's example */
    assert_int_equal(out.length, 9);
    assert_memory_equal(out.bytes, "\x12\x07testing", 9);
    protobuf_varint(&inner, 1, 150);
    protobuf_message(&out, 3, &inner); /* and this */
    protobuf_message(&out, 3, &empty);
    assert_int_equal(out.length, 16);
    assert_memory_equal(out.bytes + 9, "\x1a\x03\x08\x96\x01\x1a\x00", 7);
}

static void a_string_is_utf8(void **state)
{
    (void)state;
    cleanup(text_free) struct text out = {0};
    protobuf_string(&out, 2, "a\xff\xc3\xa4");
    assert_int_equal(out.length, 8);
    assert_memory_equal(out.bytes,
                        "\x12\x06"
                        "a\xef\xbf\xbd\xc3\xa4",
                        8);
}

static void a_long_message_has_a_long_length(void **state)
{
    (void)state;
    cleanup(text_free) struct text out = {0}, inner = {0};
    for (int i = 0; i < 300; i++)
        text_add(&inner, "x");
    protobuf_message(&out, 1, &inner);
    assert_int_equal(out.length, 303);
    assert_memory_equal(out.bytes, "\x0a\xac\x02xx", 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(varints),
        cmocka_unit_test(fields_above_fifteen_and_fixed64),
        cmocka_unit_test(strings_and_messages),
        cmocka_unit_test(a_string_is_utf8),
        cmocka_unit_test(a_long_message_has_a_long_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
