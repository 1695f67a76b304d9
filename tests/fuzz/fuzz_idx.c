/* fuzz_idx.c: damaged IDX files against the rules of the format, written out a second time. */
#include "agents/dataset.h"

#include "base/cleanup.h"
#include "tests/fuzz/fuzz.h"

enum { FILE_MAX = 4096 };

static size_t make_file(struct fuzz *fuzz, uint8_t bytes[FILE_MAX])
{
    static const uint8_t sizes[] = {1, 1, 2, 3, 7, 13};
    size_t dimensions = 1 + fuzz_below(fuzz, IDX_DIMENSIONS_MAX), values = 1, length = 4 + 4 * dimensions;
    memset(bytes, 0, length);
    bytes[2] = 8;
    bytes[3] = (uint8_t)dimensions;
    for (size_t i = 0; i < dimensions; i++) {
        bytes[4 + 4 * i + 3] = sizes[fuzz_below(fuzz, sizeof(sizes))];
        values *= bytes[4 + 4 * i + 3];
    }
    for (size_t i = 0; i < values; i++)
        bytes[length++] = (uint8_t)fuzz_u32(fuzz);
    return length;
}

/* How many values a well-formed file of this length holds; 0: it is not well-formed. */
static size_t expect_values(const uint8_t *bytes, size_t length)
{
    if (length < 8 || bytes[0] || bytes[1] || bytes[2] != 8 || bytes[3] < 1 || bytes[3] > 3)
        return 0;
    size_t header = 4 + 4 * (size_t)bytes[3], product = 1;
    if (length < header)
        return 0;
    for (size_t at = 4; at < header; at += 4) {
        uint32_t dimension =
            (uint32_t)bytes[at] << 24 | (uint32_t)bytes[at + 1] << 16 | (uint32_t)bytes[at + 2] << 8 | bytes[at + 3];
        if (dimension == 0 || dimension > FILE_MAX || product * dimension > FILE_MAX)
            return 0;
        product *= dimension;
    }
    return product == length - header ? product : 0;
}

static void fuzz_one(struct fuzz *fuzz)
{
    static uint8_t bytes[FILE_MAX];
    size_t length = make_file(fuzz, bytes);
    length = fuzz_mutate(fuzz, bytes, length, sizeof(bytes));
    /* a copy of exactly this size: reading past its end would be seen by an address sanitizer */
    cleanup(free_pointer) uint8_t *exact = malloc(length ? length : 1);
    FUZZ_CHECK(fuzz, exact);
    memcpy(exact, bytes, length);
    struct idx idx = {.value_count = 77}, header = idx;
    struct err err = {0};
    size_t expected = expect_values(bytes, length);
    int status = idx_parse(exact, length, &idx, &err), header_status = idx_parse_header(exact, length, &header, NULL);
    FUZZ_CHECK(fuzz, (status == 0) == (expected > 0));
    if (status == 0) {
        FUZZ_CHECK(fuzz, idx.value_count == expected && idx.values + idx.value_count == exact + length);
        FUZZ_CHECK(fuzz, header_status == (int)(length - expected) && header.value_count == expected && !header.values);
    } else {
        FUZZ_CHECK(fuzz, status == -ERR_USAGE && err.text[0]);
        FUZZ_CHECK(fuzz, idx.value_count == 77 && !idx.values);
    }
    FUZZ_CHECK(fuzz, header_status > 0 ? header_status <= IDX_HEADER_MAX && (size_t)header_status <= length : !header.values);
    fuzz->accepted += status == 0;
}

FUZZ_MAIN("idx")
