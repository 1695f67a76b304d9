/* test_text.c: the growing string, display width, and the JSON writer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

static void grows_and_stays_terminated(void **state)
{
    (void)state;
    cleanup(text_free) struct text text = {0};
    for (int i = 0; i < 5000; i++) {
        text_add(&text, "ab");
        text_printf(&text, "%d", i % 10);
        assert_int_equal(text.length, 3 * (i + 1));
        assert_int_equal(strlen(text.bytes), text.length);
    }
    assert_memory_equal(text.bytes + 3 * 4999, "ab9", 4);
    text_add_bytes(&text, "x\0y", 3);
    assert_int_equal(text.length, 15003);
    assert_memory_equal(text.bytes + 15000, "x\0y", 4);
    text_free(&text);
    assert_null(text.bytes);
    text_add_bytes(&text, NULL, 0);
    assert_string_equal(text.bytes, "");
    size_t capacity = text.capacity;
    text_clear(&text);
    assert_string_equal(text.bytes, "");
    text_add(&text, "c");
    assert_string_equal(text.bytes, "c");
    assert_int_equal(text.capacity, capacity);
    cleanup(text_free) struct text empty = {0};
    text_clear(&empty);
    assert_null(empty.bytes);
}

static void long_formats_fit_at_every_fill_level(void **state)
{
    (void)state;
    for (int fill = 0; fill < 200; fill++) {
        cleanup(text_free) struct text text = {0};
        text_printf(&text, "%*s", fill, "");
        text_printf(&text, "%0*d", 64 + fill, 7);
        assert_int_equal(text.length, fill + 64 + fill);
        assert_int_equal(text.bytes[text.length - 1], '7');
    }
}

static void width_counts_code_points(void **state)
{
    (void)state;
    assert_int_equal(text_width(""), 0);
    assert_int_equal(text_width("ring"), 4);
    assert_int_equal(text_width("Müller"), 6);
    assert_int_equal(text_width("e\xcc\x81"), 1);        /* e and a combining acute accent */
    assert_int_equal(text_width("\xf0\x9f\x98\x80"), 1); /* four bytes */
    assert_int_equal(text_width("\xff\x80z"), 3);        /* not UTF-8: a byte a column */
    assert_int_equal(text_width("a\xe2\x82"), 2);        /* cut short: must not read past the end */
}

static void padding_looks_at_the_last_line(void **state)
{
    (void)state;
    cleanup(text_free) struct text text = {0};
    text_pad_to(&text, 2);
    text_add(&text, "é\nü");
    text_pad_to(&text, 3);
    text_add(&text, "|");
    text_pad_to(&text, 2); /* already past it: nothing is added */
    assert_string_equal(text.bytes, "  é\nü  |");
}

static void json_places_commas_and_colons(void **state)
{
    (void)state;
    cleanup(text_free) struct text text = {0};
    struct json json = {.out = &text};
    json_begin_object(&json, NULL);
    json_string(&json, "name", "ring");
    json_begin_array(&json, "workers");
    json_integer(&json, NULL, 2);
    json_integer(&json, NULL, INT64_MIN);
    json_begin_object(&json, NULL);
    json_end_object(&json);
    json_begin_array(&json, NULL);
    json_end_array(&json);
    json_end_array(&json);
    json_bool(&json, "faithful", true);
    json_bool(&json, "void", false);
    json_null(&json, "prediction");
    json_string(&json, "reason", NULL);
    json_end_object(&json);
    assert_string_equal(text.bytes, "{\"name\":\"ring\",\"workers\":[2,-9223372036854775808,{},[]],\"faithful\":true,"
                                    "\"void\":false,\"prediction\":null,\"reason\":null}");
    assert_int_equal(json.depth, 0);
    text_add(&text, "\n");
    json_begin_object(&json, NULL); /* a second document needs no comma */
    json_end_object(&json);
    assert_string_equal(strchr(text.bytes, '\n'), "\n{}");
}

static void check_string(const char *value, const char *expected)
{
    cleanup(text_free) struct text text = {0};
    struct json json = {.out = &text};
    json_string(&json, NULL, value);
    assert_string_equal(text.bytes, expected);
}

static void json_escapes_strings(void **state)
{
    (void)state;
    check_string("a\"b\\c/", "\"a\\\"b\\\\c/\"");
    check_string("\n\r\t\x01\x1f\x7f", "\"\\n\\r\\t\\u0001\\u001f\\u007f\"");
    check_string("µ€\xf0\x9f\x98\x80", "\"µ€\xf0\x9f\x98\x80\"");
}

#define REPLACED "\xef\xbf\xbd"

static void a_line_has_no_control_character(void **state)
{
    (void)state;
    cleanup(text_free) struct text text = {0};
    text_add_line(&text, "a\n\x1b[31mµ\x7f\xc2\x9b\xc2\xa0\xef\xbf\xbe\xef\xbf\xbd\xff€", '?');
    assert_string_equal(text.bytes, "a??[31mµ??\xc2\xa0?" REPLACED REPLACED "€");
    text_clear(&text);
    text_add_line(&text, NULL, '?');
    assert_int_equal(text.length, 0);
}

static void json_replaces_what_is_not_utf8(void **state)
{
    (void)state;
    check_string("a\xff"
                 "b",
                 "\"a" REPLACED "b\"");
    check_string("\xc3", "\"" REPLACED "\"");                                        /* cut short */
    check_string("\xe2\x82", "\"" REPLACED REPLACED "\"");                           /* cut short */
    check_string("\xc0\xaf", "\"" REPLACED REPLACED "\"");                           /* overlong */
    check_string("\xe0\x80\xaf", "\"" REPLACED REPLACED REPLACED "\"");              /* overlong */
    check_string("\xed\xa0\x80", "\"" REPLACED REPLACED REPLACED "\"");              /* surrogate */
    check_string("\xf4\x90\x80\x80", "\"" REPLACED REPLACED REPLACED REPLACED "\""); /* above U+10FFFF */
}

static void check_double(double value, const char *expected)
{
    cleanup(text_free) struct text text = {0};
    struct json json = {.out = &text};
    json_double(&json, NULL, value);
    if (expected)
        assert_string_equal(text.bytes, expected);
    if (isfinite(value))
        assert_true(strtod(text.bytes, NULL) == value);
}

static void json_doubles_read_back_the_same(void **state)
{
    (void)state;
    check_double(0.1, "0.1");
    check_double(1.0, "1");
    check_double(-2.5, "-2.5");
    check_double(1e300, "1e+300");
    check_double(123456.0, "123456");
    check_double(1.0 / 3.0, "0.3333333333333333");
    check_double(5e-324, "5e-324");
    check_double(DBL_MAX, "1.7976931348623157e+308");
    check_double(NAN, "null");
    check_double(INFINITY, "null");
    check_double(-INFINITY, "null");
    double value = 1.0;
    for (int i = 0; i < 2000; i++) {
        value *= -1.7320508;
        check_double(value, NULL);
        check_double(1.0 / value, NULL);
        if (fabs(value) > 1e300)
            value = 1.0 + i;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_and_stays_terminated),      cmocka_unit_test(long_formats_fit_at_every_fill_level),
        cmocka_unit_test(width_counts_code_points),        cmocka_unit_test(padding_looks_at_the_last_line),
        cmocka_unit_test(json_places_commas_and_colons),   cmocka_unit_test(json_escapes_strings),
        cmocka_unit_test(a_line_has_no_control_character), cmocka_unit_test(json_replaces_what_is_not_utf8),
        cmocka_unit_test(json_doubles_read_back_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
