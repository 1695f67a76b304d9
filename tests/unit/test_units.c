/* test_units.c: numbers with units are read exactly, refused with a sentence that helps, and what is spelled reads back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/rng.h"
#include "base/units.h"

static void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' does not contain '%s'", text, part);
}

static void check_time(const char *text, int64_t expected)
{
    int64_t ns = -77;
    struct err err = {0};
    if (units_parse_time(text, INT64_MIN, INT64_MAX, &ns, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(ns, expected);
}

static void refuse_time(const char *text, const char *reason)
{
    int64_t ns = -77;
    struct err err = {0};
    assert_int_equal(units_parse_time(text, 0, INT64_MAX, &ns, &err), -ERR_USAGE);
    assert_int_equal(err.kind, ERR_USAGE);
    assert_int_equal(ns, -77);
    assert_contains(err.text, reason);
    assert_int_equal(units_parse_time(text, 0, INT64_MAX, &ns, NULL), -ERR_USAGE);
}

static void times(void **state)
{
    (void)state;
    check_time("0", 0);
    check_time("0.0", 0);
    check_time("0ns", 0);
    check_time("-0s", 0);
    check_time("1ns", 1);
    check_time("250us", 250000);
    check_time("0.1ms", 100000);
    check_time("1.5ms", 1500000);
    check_time("0.000000001s", 1);
    check_time("1.000000000000000000000000000000s", 1000000000);
    check_time("2m", INT64_C(120000000000));
    check_time("1.5h", INT64_C(5400000000000));
    check_time("-1.5us", -1500);
    check_time("007ms", 7000000);
    check_time("9223372036854775807ns", INT64_MAX);
    check_time("-9223372036854775808ns", INT64_MIN);
    check_time("9223372036.854775807s", INT64_MAX);
}

static void times_are_refused(void **state)
{
    (void)state;
    refuse_time("10", "found '10', a time needs a unit: ns us ms s m h");
    refuse_time("", "found '', a time is a number and a unit: ns us ms s m h");
    refuse_time("ms", "a time is a number and a unit");
    refuse_time("-", "a time is a number and a unit");
    refuse_time(".5ms", "a time is a number and a unit");
    refuse_time("1.ms", "a time is a number and a unit");
    refuse_time("+1ms", "a time is a number and a unit");
    refuse_time(" 1ms", "a time is a number and a unit");
    refuse_time("nan", "a time is a number and a unit");
    refuse_time("inf", "a time is a number and a unit");
    refuse_time("1 ms", "the unit ' ms' is not one of: ns us ms s m h");
    refuse_time("1ms ", "the unit 'ms ' is not one of");
    refuse_time("1msx", "the unit 'msx' is not one of");
    refuse_time("1MS", "the unit 'MS' is not one of");
    refuse_time("1sec", "the unit 'sec' is not one of");
    refuse_time("1e9ns", "the unit 'e9ns' is not one of");
    refuse_time("0x10ns", "the unit 'x10ns' is not one of");
    refuse_time("1.5.5s", "the unit '.5s' is not one of");
    refuse_time("1.0000000001ns", "found '1.0000000001ns', which is not a whole number of nanoseconds");
    refuse_time("0.1ns", "not a whole number of nanoseconds");
    refuse_time("-1ms", "found '-1ms', allowed is 0ns or more");
    refuse_time("9223372036854775808ns", "found '9223372036854775808ns', allowed is 0ns to 9223372036854775807ns");
    refuse_time("99999999999999999999999999999999999999999999999999h", "allowed is 0ns to 9223372036854775807ns");
    refuse_time("1\nms", "found '1?ms'");
    int64_t ns;
    struct err err;
    assert_int_equal(units_parse_time("2h", 1000, INT64_C(5000000000), &ns, &err), -ERR_USAGE);
    assert_string_equal(err.text, "found '2h', allowed is 1us to 5s");
    assert_int_equal(units_parse_time("2h", INT64_MIN, 1500, &ns, &err), -ERR_USAGE);
    assert_string_equal(err.text, "found '2h', allowed is 1500ns or less");
    char longer[400];
    memset(longer, '7', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    assert_int_equal(units_parse_time(longer, 0, 1, &ns, &err), -ERR_USAGE);
    assert_contains(err.text, "77...', a time needs a unit");
    assert_true(strlen(err.text) < 200);
}

static void rates_and_sizes(void **state)
{
    (void)state;
    uint64_t value = 0;
    struct err err;
    assert_int_equal(units_parse_rate("1gbit", 0, UINT64_MAX, &value, NULL), 0);
    assert_int_equal(value, 1000000000);
    assert_int_equal(units_parse_rate("2.5kbit", 0, UINT64_MAX, &value, NULL), 0);
    assert_int_equal(value, 2500);
    assert_int_equal(units_parse_rate("18446744073709551615bit", 0, UINT64_MAX, &value, NULL), 0);
    assert_true(value == UINT64_MAX);
    assert_int_equal(units_parse_rate("18446744073709551616bit", 0, UINT64_MAX, &value, &err), -ERR_USAGE);
    assert_contains(err.text, "allowed is 0bit to 18446744073709551615bit");
    assert_int_equal(units_parse_rate("1000", 0, UINT64_MAX, &value, &err), -ERR_USAGE);
    assert_contains(err.text, "found '1000', a rate needs a unit: bit kbit mbit gbit");
    assert_int_equal(units_parse_rate("-1bit", 0, UINT64_MAX, &value, &err), -ERR_USAGE);
    assert_contains(err.text, "found '-1bit', allowed is");
    assert_int_equal(units_parse_rate("1mbit", 2000000, 3000000000, &value, &err), -ERR_USAGE);
    assert_string_equal(err.text, "found '1mbit', allowed is 2mbit to 3gbit");

    assert_int_equal(units_parse_size("25MiB", 0, UINT64_MAX, &value, NULL), 0);
    assert_int_equal(value, 25 << 20);
    assert_int_equal(units_parse_size("25MB", 0, UINT64_MAX, &value, NULL), 0);
    assert_int_equal(value, 25000000);
    assert_int_equal(units_parse_size("0.5KiB", 0, UINT64_MAX, &value, NULL), 0);
    assert_int_equal(value, 512);
    /* 2^-30 GiB has thirty decimals, and is one byte */
    assert_int_equal(units_parse_size("0.000000000931322574615478515625GiB", 0, UINT64_MAX, &value, NULL), 0);
    assert_int_equal(value, 1);
    assert_int_equal(units_parse_size("0.000000000931322574615478515624GiB", 0, UINT64_MAX, &value, &err), -ERR_USAGE);
    assert_contains(err.text, "which is not a whole number of bytes");
    assert_int_equal(units_parse_size("1b", 0, UINT64_MAX, &value, &err), -ERR_USAGE);
    assert_contains(err.text, "the unit 'b' is not one of: B KB MB GB KiB MiB GiB");
    assert_int_equal(value, 1);
}

static void integers(void **state)
{
    (void)state;
    int64_t value = -77;
    uint64_t natural = 77;
    struct err err;
    assert_int_equal(units_parse_integer("-9223372036854775808", INT64_MIN, INT64_MAX, &value, NULL), 0);
    assert_true(value == INT64_MIN);
    assert_int_equal(units_parse_integer("42", 1, 64, &value, NULL), 0);
    assert_int_equal(value, 42);
    static const char *const wrong[] = {
        "", "-", "+1", "1.0", "1e3", "0x10", "4 ", " 4", "four", "1_000", "nan", "--1", "9223372036854775808"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(units_parse_integer(wrong[i], 1, 64, &value, &err), -ERR_USAGE);
        assert_contains(err.text, wrong[i]);
        assert_int_equal(value, 42);
    }
    units_parse_integer("1.5", 1, 64, &value, &err);
    assert_string_equal(err.text, "found '1.5', a whole number is needed, '.5' is too much");
    units_parse_integer("65", 1, 64, &value, &err);
    assert_string_equal(err.text, "found '65', allowed is 1 to 64");
    assert_int_equal(units_parse_unsigned("18446744073709551615", 0, UINT64_MAX, &natural, NULL), 0);
    assert_true(natural == UINT64_MAX);
    assert_int_equal(units_parse_unsigned("-1", 0, UINT64_MAX, &natural, &err), -ERR_USAGE);
    assert_string_equal(err.text, "found '-1', allowed is 0 or more");
    assert_int_equal(units_parse_unsigned("340282366920938463463374607431768211457", 0, UINT64_MAX, &natural, &err), -ERR_USAGE);
    assert_true(natural == UINT64_MAX);
}

static void numbers(void **state)
{
    (void)state;
    double value = 0;
    struct err err;
    assert_int_equal(units_parse_number("0.1", 0, 1, &value, NULL), 0);
    assert_true(value == 0.1);
    assert_int_equal(units_parse_number("-1.5e-3", -1, 1, &value, NULL), 0);
    assert_true(value == -1.5e-3);
    assert_int_equal(units_parse_number("2E+2", 0, INFINITY, &value, NULL), 0);
    assert_true(value == 200.0);
    static const char *const wrong[] = {"",    "nan", "NaN", "inf", "-inf", "infinity", "0x1p3", "1.",    ".5", "1e",
                                        "1e+", " 1",  "1 ",  "1,5", "+1",   "--1",      "1e3x",  "1.5.2", "-"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(units_parse_number(wrong[i], -INFINITY, INFINITY, &value, &err), -ERR_USAGE);
        assert_contains(err.text, wrong[i]);
        assert_contains(err.text, "a decimal number is needed");
        assert_true(value == 200.0);
    }
    assert_int_equal(units_parse_number("1e999", -INFINITY, INFINITY, &value, &err), -ERR_USAGE);
    assert_string_equal(err.text, "found '1e999', which is too large");
    assert_int_equal(units_parse_number("12.5%", 0, 1, &value, &err), -ERR_USAGE);
    assert_string_equal(err.text, "found '12.5%', a decimal number is needed: 0.125");
    assert_int_equal(units_parse_number("%", 0, 1, &value, &err), -ERR_USAGE);
    assert_string_equal(err.text, "found '%', a decimal number is needed");
    assert_int_equal(units_parse_number("1.5", 0, 1, &value, &err), -ERR_USAGE);
    assert_string_equal(err.text, "found '1.5', allowed is 0 to 1");
    assert_int_equal(units_parse_number("-1", 0.5, INFINITY, &value, &err), -ERR_USAGE);
    assert_string_equal(err.text, "found '-1', allowed is 0.5 or more");
}

static void spelled_texts_are_short(void **state)
{
    (void)state;
    char text[UNITS_TEXT_BYTES];
    assert_string_equal(units_spell_time(text, sizeof(text), 250000), "250us");
    assert_string_equal(units_spell_time(text, sizeof(text), 1500), "1500ns");
    assert_string_equal(units_spell_time(text, sizeof(text), INT64_C(90000000000)), "90s");
    assert_string_equal(units_spell_time(text, sizeof(text), INT64_C(7200000000000)), "2h");
    assert_string_equal(units_spell_time(text, sizeof(text), 0), "0ns");
    assert_string_equal(units_spell_time(text, sizeof(text), -5000000), "-5ms");
    assert_string_equal(units_spell_time(text, sizeof(text), INT64_MIN), "-9223372036854775808ns");
    assert_string_equal(units_spell_rate(text, sizeof(text), 1000000000), "1gbit");
    assert_string_equal(units_spell_rate(text, sizeof(text), 1500), "1500bit");
    assert_string_equal(units_spell_size(text, sizeof(text), 25 << 20), "25MiB");
    assert_string_equal(units_spell_size(text, sizeof(text), 150000), "150KB");
    assert_string_equal(units_spell_size(text, sizeof(text), 1514), "1514B");
    assert_string_equal(units_spell_size(text, sizeof(text), 3 * UINT64_C(1000000000)), "3GB");
}

static void what_is_spelled_reads_back(void **state)
{
    (void)state;
    struct rng rng = rng_stream(1, 2, 3, RNG_ORDER);
    static const uint64_t factors[] = {1, 1000, 1000000, 1000000000, UINT64_C(60000000000), 1 << 10, 1 << 20, 1 << 30};
    for (int i = 0; i < 20000; i++) {
        uint64_t value = rng_u64(&rng) >> rng_below(&rng, 64);
        value *= factors[rng_below(&rng, 8)]; /* may wrap: any value will do */
        char text[UNITS_TEXT_BYTES];
        int64_t ns;
        uint64_t read_back;
        units_spell_time(text, sizeof(text), (int64_t)value);
        assert_int_equal(units_parse_time(text, INT64_MIN, INT64_MAX, &ns, NULL), 0);
        assert_true(ns == (int64_t)value);
        units_spell_rate(text, sizeof(text), value);
        assert_int_equal(units_parse_rate(text, 0, UINT64_MAX, &read_back, NULL), 0);
        assert_true(read_back == value);
        units_spell_size(text, sizeof(text), value);
        assert_int_equal(units_parse_size(text, 0, UINT64_MAX, &read_back, NULL), 0);
        assert_true(read_back == value);
    }
}

static void shown_texts_have_three_digits(void **state)
{
    (void)state;
    char text[UNITS_TEXT_BYTES];
    assert_string_equal(units_show_time(text, sizeof(text), 12345678), "12.3 ms");
    assert_string_equal(units_show_time(text, sizeof(text), 0), "0 ns");
    assert_string_equal(units_show_time(text, sizeof(text), -1500), "-1.5 us");
    assert_string_equal(units_show_time(text, sizeof(text), 999.4), "999 ns");
    assert_string_equal(units_show_time(text, sizeof(text), 999.6), "1 us"); /* not "1000 ns" */
    assert_string_equal(units_show_time(text, sizeof(text), 9.996e6), "10 ms");
    assert_string_equal(units_show_time(text, sizeof(text), 0.25), "0.25 ns");
    assert_string_equal(units_show_time(text, sizeof(text), 59e9), "59 s");
    assert_string_equal(units_show_time(text, sizeof(text), 90e9), "1.5 min");
    assert_string_equal(units_show_time(text, sizeof(text), 7200e9), "2 h");
    assert_string_equal(units_show_time(text, sizeof(text), NAN), "n/a");
    assert_string_equal(units_show_rate(text, sizeof(text), 1e9), "1 Gbit/s");
    assert_string_equal(units_show_rate(text, sizeof(text), 956.4e6), "956 Mbit/s");
    assert_string_equal(units_show_size(text, sizeof(text), 25 << 20), "25 MiB");
    assert_string_equal(units_show_size(text, sizeof(text), 1000), "1000 B");
    assert_string_equal(units_show_size(text, sizeof(text), 1023.9), "1 KiB");
    assert_string_equal(units_show_size(text, sizeof(text), 1536), "1.5 KiB");
    char small[5];
    assert_string_equal(units_show_time(small, sizeof(small), 12345678), "12.3"); /* never past the end */
    assert_string_equal(units_spell_time(small, sizeof(small), 12345678), "1234");
    units_show_time(text, sizeof(text), 1e308);
    units_show_time(text, sizeof(text), INFINITY);
}

static void shares_are_numbers_or_percent(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } good[] = {{"0", 0}, {"0.01", 0.01}, {"1%", 0.01}, {"0.1%", 0.001}, {"1e-3", 0.001}, {"100%", 1}, {"1", 1}, {"12.5%", 0.125}};
    static const char *const bad[] = {"",
                                      "%",
                                      "1 %",
                                      "1%%",
                                      "x",
                                      "nan",
                                      "-1%",
                                      "101%",
                                      "1.01",
                                      "1e999",
                                      "0x1",
                                      "1%x",
                                      "0.00000000000000000000000000000000000001x%"};
    double value;
    struct err err;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(units_parse_share(good[i].text, 0, 1, &value, &err), 0);
        assert_true(value == good[i].value);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(units_parse_share(bad[i], 0, 1, &value, &err), -ERR_USAGE);
}

static void nouns_follow_their_number(void **state)
{
    (void)state;
    assert_string_equal(units_plural(1), "");
    assert_string_equal(units_plural(0), "s");
    assert_string_equal(units_plural(2), "s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_numbers_or_percent),
        cmocka_unit_test(nouns_follow_their_number),
        cmocka_unit_test(times),
        cmocka_unit_test(times_are_refused),
        cmocka_unit_test(rates_and_sizes),
        cmocka_unit_test(integers),
        cmocka_unit_test(numbers),
        cmocka_unit_test(spelled_texts_are_short),
        cmocka_unit_test(what_is_spelled_reads_back),
        cmocka_unit_test(shown_texts_have_three_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
