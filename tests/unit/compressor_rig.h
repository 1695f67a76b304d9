/* compressor_rig.h: one vector on its way: encodes, checks, decodes. */
#ifndef LAGGARD_TESTS_COMPRESSOR_RIG_H
#define LAGGARD_TESTS_COMPRESSOR_RIG_H

#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "agents/compressors/compressor.h"
#include "base/err.h"

#include <cmocka.h>

static inline struct compression compression_of(int choice)
{
    return (struct compression){.compressor = compressor_at(choice), .share = 0.01, .levels = 7, .rank = 2};
}

static const size_t counts[] = {1, 2, 7, 8, 9, 511, 512, 513, 1000, 5000};
enum { COUNTS = sizeof(counts) / sizeof(counts[0]), COUNT_MOST = 5000 };
static const int messages[] = {COMPRESSOR_TOP_K, COMPRESSOR_ONE_BIT, COMPRESSOR_QSGD};
enum { MESSAGES = sizeof(messages) / sizeof(messages[0]) };

/* One vector on its way: encodes, checks, decodes. */
struct way {
    struct compression compression;
    size_t count;
    float residual[COUNT_MOST], decoded[COUNT_MOST];
    uint8_t bytes[16 * COUNT_MOST];
    size_t length;
    uint64_t step, seed;
};

static inline void travel(struct way *way, const float *gradient)
{
    const struct compressor *compressor = way->compression.compressor;
    const struct compressor_input input = {.gradient = gradient,
                                           .count = way->count,
                                           .residual = compressor->feedback ? way->residual : NULL,
                                           .seed = way->seed,
                                           .step = way->step++};
    struct err err = {0};
    way->length = compressor->encoded_bytes(&way->compression, way->count);
    assert_in_range(way->length, 1, sizeof(way->bytes) - 1);
    memset(way->bytes, 0xa5, sizeof(way->bytes));
    compressor->encode(&way->compression, &input, way->bytes);
    assert_int_equal(way->bytes[way->length], 0xa5); /* not a byte too many */
    if (compressor->check(&way->compression, way->count, way->bytes, way->length, &err) < 0)
        fail_msg("%zu floats: %s", way->count, err.text);
    memset(way->decoded, 0xff, sizeof(way->decoded));
    compressor->decode(&way->compression, way->count, way->bytes, true, way->decoded);
}

#endif
