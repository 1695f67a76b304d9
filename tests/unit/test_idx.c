/* test_idx.c: the parser of IDX files: bytes, truncations, and what is not IDX. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/dataset.h"
#include "base/cleanup.h"
#include "base/err.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const uint8_t golden[] = {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 1, 10, 20, 30, 40, 50, 255};

static void idx_is_read_byte_by_byte(void **state)
{
    (void)state;
    struct idx idx;
    assert_int_equal(idx_parse(golden, sizeof(golden), &idx, NULL), 0);
    assert_int_equal(idx.dimension_count, 3);
    assert_true(idx.dimensions[0] == 2 && idx.dimensions[1] == 3 && idx.dimensions[2] == 1);
    assert_int_equal(idx.value_count, 6);
    assert_ptr_equal(idx.values, golden + 16);
    assert_int_equal(idx_parse_header(golden, 16, &idx, NULL), 16);
    assert_null(idx.values);
    assert_int_equal(idx.value_count, 6);
    static const uint8_t labels[] = {0, 0, 8, 1, 0, 0, 1, 1, [8 + 256] = 9};
    assert_int_equal(idx_parse(labels, sizeof(labels), &idx, NULL), 0);
    assert_true(idx.dimension_count == 1 && idx.dimensions[0] == 257 && idx.values[256] == 9);
}

static void every_truncation_is_refused(void **state)
{
    (void)state;
    struct idx idx = {.value_count = 77}, untouched = idx;
    for (size_t length = 0; length < sizeof(golden); length++) {
        cleanup(free_pointer) uint8_t *exact = malloc(length + 1); /* a sanitizer sees reading beyond it */
        memcpy(exact, golden, length);
        exact = realloc(exact, length ? length : 1);
        struct err err = {0};
        assert_int_equal(idx_parse(exact, length, &idx, &err), -ERR_USAGE);
        char offset[32];
        snprintf(offset, sizeof(offset), "at byte %zu", length);
        assert_non_null(strstr(err.text, offset));
        assert_memory_equal(&idx, &untouched, sizeof(idx));
    }
}

static void what_is_not_idx_is_refused_with_its_offset(void **state)
{
    (void)state;
    static const struct {
        size_t place;
        uint8_t value;
        const char *text;
    } wrong[] = {
        {0, 1, "not an IDX file: byte 0 is 0x01, 0x00 is expected"},
        {1, 0x8b, "not an IDX file: byte 1 is 0x8b, 0x00 is expected"},
        {2, 0x0d, "byte 2: values of type 0x0d, only 0x08 (unsigned byte) is read"},
        {3, 0, "byte 3: 0 dimensions, 1 to 3 are read"},
        {3, 4, "byte 3: 4 dimensions, 1 to 3 are read"},
        {7, 0, "byte 4: dimension 0 is 0"},
        {15, 0, "byte 12: dimension 2 is 0"},
        {7, 3, "truncated at byte 22: 3 values are missing"},
        {7, 1, "byte 19: 3 bytes follow the last value"},
    };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        uint8_t bytes[sizeof(golden)];
        struct idx idx;
        struct err err = {0};
        memcpy(bytes, golden, sizeof(bytes));
        bytes[wrong[i].place] = wrong[i].value;
        assert_int_equal(idx_parse(bytes, sizeof(bytes), &idx, &err), -ERR_USAGE);
        assert_string_equal(err.text, wrong[i].text);
    }
    /* (2^32 - 1)^3 values: the product must not wrap around to something small */
    static const uint8_t huge[] = {0, 0, 8, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1};
    struct idx idx;
    assert_int_equal(idx_parse(huge, sizeof(huge), &idx, NULL), -ERR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idx_is_read_byte_by_byte),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(what_is_not_idx_is_refused_with_its_offset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
