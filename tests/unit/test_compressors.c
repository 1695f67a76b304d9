/* tests/unit/test_compressors.c: encoders against their formulas: what is sent and what is kept add up; forms byte by byte,
 * messages that no encoder makes, and values at which such things go wrong. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/compressors/compressor.h"
#include "base/err.h"
#include "base/rng.h"

#include "tests/unit/compressor_rig.h"
#include <cmocka.h>

static void test_table(void **state)
{
    (void)state;
    assert_string_equal(compressor_choices[COMPRESSOR_NONE], "none");
    assert_null(compressor_at(COMPRESSOR_NONE));
    assert_null(compressor_at(COMPRESSOR_COUNT));
    assert_null(compressor_at(-1));
    for (int i = 1; i < COMPRESSOR_COUNT; i++)
        assert_string_equal(compressor_at(i)->name, compressor_choices[i]);
    assert_null(compressor_choices[COMPRESSOR_COUNT]);
}

/* The bytes by the formulas of the documentation. */
static void test_lengths(void **state)
{
    (void)state;
    for (int c = 0; c < COUNTS; c++) {
        const size_t n = counts[c], blocks = (n + 511) / 512;
        struct compression compression = compression_of(COMPRESSOR_TOP_K);
        size_t k = (size_t)fmax(1, rint(0.01 * (double)n));
        assert_int_equal(compression.compressor->encoded_bytes(&compression, n), 8 * k);
        compression.share = 1;
        assert_int_equal(compression.compressor->encoded_bytes(&compression, n), 8 * n);
        compression = compression_of(COMPRESSOR_ONE_BIT);
        assert_int_equal(compression.compressor->encoded_bytes(&compression, n), 8 * blocks + (n + 7) / 8);
        static const int levels[] = {1, 2, 3, 4, 7, 8, 15, 31, 63, 64, 127}, bits[] = {2, 3, 3, 4, 4, 5, 5, 6, 7, 8, 8};
        for (size_t l = 0; l < sizeof(levels) / sizeof(levels[0]); l++) {
            compression = compression_of(COMPRESSOR_QSGD);
            compression.levels = levels[l];
            assert_int_equal(compression.compressor->encoded_bytes(&compression, n), 4 * blocks + (n * (size_t)bits[l] + 7) / 8);
        }
    }
}

/* ---- forms, byte by byte: the examples of the files' comments ---- */

static void test_forms(void **state)
{
    (void)state;
    static struct way way;
    way = (struct way){.compression = compression_of(COMPRESSOR_TOP_K), .count = 4};
    way.compression.share = 0.5;
    travel(&way, (const float[]){1, -5, 0, 4});
    static const uint8_t top_k[] = {1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0xa0, 0xc0, 0, 0, 0x80, 0x40};
    assert_int_equal(way.length, sizeof(top_k));
    assert_memory_equal(way.bytes, top_k, sizeof(top_k));
    assert_memory_equal(way.residual, ((const float[]){1, 0, 0, 0}), 16);
    way = (struct way){.compression = compression_of(COMPRESSOR_ONE_BIT), .count = 4};
    travel(&way, (const float[]){1, -5, 3, -1});
    static const uint8_t one_bit[] = {0, 0, 0x40, 0xc0, 0, 0, 0, 0x40, 5};
    assert_int_equal(way.length, sizeof(one_bit));
    assert_memory_equal(way.bytes, one_bit, sizeof(one_bit));
    assert_memory_equal(way.residual, ((const float[]){-1, -2, 1, 2}), 16);
    way = (struct way){.compression = compression_of(COMPRESSOR_QSGD), .count = 2};
    way.compression.levels = 5;
    travel(&way, (const float[]){3, -4});
    static const uint8_t qsgd[] = {0, 0, 0xa0, 0x40, 0x18};
    assert_int_equal(way.length, sizeof(qsgd));
    assert_memory_equal(way.bytes, qsgd, sizeof(qsgd));
    assert_memory_equal(way.decoded, ((const float[]){3, -4}), 8);
}

/* ---- error feedback: over all rounds what was decoded and what is left add up to the gradients ---- */

static void test_top_k_adds_up(void **state)
{
    (void)state;
    static struct way way;
    static float gradient[COUNT_MOST], decoded[COUNT_MOST], given[COUNT_MOST];
    for (int c = 0; c < COUNTS; c++) {
        struct rng rng = rng_stream(3, (uint32_t)c, 0, RNG_LINK);
        way = (struct way){.compression = compression_of(COMPRESSOR_TOP_K), .count = counts[c]};
        memset(decoded, 0, sizeof(decoded));
        memset(given, 0, sizeof(given));
        for (int round = 0; round < 50; round++) {
            for (size_t i = 0; i < way.count; i++) {
                gradient[i] = (float)rng_below(&rng, 2001) - 1000; /* whole numbers: no sum is rounded */
                given[i] += gradient[i];
            }
            travel(&way, gradient);
            float least_sent = INFINITY, most_left = 0;
            size_t sent = 0;
            for (size_t i = 0; i < way.count; i++) {
                decoded[i] += way.decoded[i];
                assert_true(decoded[i] + way.residual[i] == given[i]);
                if (way.decoded[i] != 0) {
                    least_sent = fminf(least_sent, fabsf(way.decoded[i]));
                    sent++;
                }
                most_left = fmaxf(most_left, fabsf(way.residual[i]));
            }
            assert_true(least_sent >= most_left);
            assert_true(sent <= way.length / 8);
        }
    }
}

/* Against sorting, with many that are equal: of these the first ones are sent. */
static int by_magnitude(const void *a, const void *b)
{
    float left = fabsf(*(const float *)a), right = fabsf(*(const float *)b);
    return (left < right) - (left > right);
}

static void test_top_k_is_what_sorting_finds(void **state)
{
    (void)state;
    static struct way way;
    static float gradient[COUNT_MOST], sorted[COUNT_MOST];
    for (int trial = 0; trial < 300; trial++) {
        struct rng rng = rng_stream(4, (uint32_t)trial, 0, RNG_LINK);
        way = (struct way){.compression = compression_of(COMPRESSOR_TOP_K), .count = 1 + rng_below(&rng, 600)};
        way.compression.share = rng_uniform(&rng);
        const double spread = rng_below(&rng, 2) ? 1e-30 : 1;
        for (size_t i = 0; i < way.count; i++)
            gradient[i] = (float)(spread * (rng_below(&rng, 2) ? rint(3 * rng_normal(&rng)) : rng_normal(&rng)));
        memcpy(sorted, gradient, sizeof(sorted));
        qsort(sorted, way.count, sizeof(float), by_magnitude);
        travel(&way, gradient);
        const size_t k = way.length / 8;
        const float least = fabsf(sorted[k - 1]);
        size_t equal = 0;
        for (size_t i = 0; i < k; i++)
            equal += fabsf(sorted[i]) == least;
        for (size_t i = 0; i < way.count; i++) {
            bool sent = fabsf(gradient[i]) > least || (fabsf(gradient[i]) == least && equal > 0);
            equal -= fabsf(gradient[i]) == least && equal > 0;
            assert_true(way.decoded[i] == (sent ? gradient[i] : 0) && way.residual[i] == (sent ? 0 : gradient[i]));
        }
    }
}

static void test_one_bit_means(void **state)
{
    (void)state;
    static struct way way;
    static float gradient[COUNT_MOST], wanted[COUNT_MOST];
    for (int c = 0; c < COUNTS; c++) {
        struct rng rng = rng_stream(5, (uint32_t)c, 0, RNG_LINK);
        way = (struct way){.compression = compression_of(COMPRESSOR_ONE_BIT), .count = counts[c]};
        for (int round = 0; round < 20; round++) {
            for (size_t i = 0; i < way.count; i++) {
                gradient[i] = (float)rng_normal(&rng);
                wanted[i] = way.residual[i] + gradient[i];
            }
            travel(&way, gradient);
            for (size_t block = 0; block < way.count; block += 512) {
                size_t end = block + 512 < way.count ? block + 512 : way.count, numbers[2] = {0, 0};
                double sums[2] = {0, 0};
                for (size_t i = block; i < end; i++) {
                    sums[wanted[i] >= 0] += (double)wanted[i];
                    numbers[wanted[i] >= 0]++;
                }
                for (size_t i = block; i < end; i++) {
                    double mean = sums[wanted[i] >= 0] / (double)numbers[wanted[i] >= 0];
                    assert_true(fabs((double)way.decoded[i] - mean) <= 1e-6 * fabs(mean));
                    assert_true(way.residual[i] == wanted[i] - way.decoded[i]);
                }
            }
        }
    }
}

/* ---- values at which such things go wrong ---- */

static void test_special_values(void **state)
{
    (void)state;
    static struct way way;
    static float gradient[COUNT_MOST];
    const float specials[] = {0, -0.0f, 1, -1, FLT_MIN, FLT_TRUE_MIN, -FLT_TRUE_MIN, FLT_MAX / 4, -FLT_MAX / 4};
    for (int m = 0; m < MESSAGES; m++)
        for (int c = 0; c < COUNTS; c++)
            for (size_t s = 0; s < sizeof(specials) / sizeof(specials[0]); s++) { /* all equal */
                way = (struct way){.compression = compression_of(messages[m]), .count = counts[c]};
                for (size_t i = 0; i < way.count; i++)
                    gradient[i] = specials[s];
                travel(&way, gradient);
                for (size_t i = 0; i < way.count; i++) {
                    assert_true(isfinite(way.decoded[i]) && isfinite(way.residual[i]));
                    if (messages[m] == COMPRESSOR_ONE_BIT)
                        assert_true(way.decoded[i] == specials[s] && way.residual[i] == 0);
                    if (messages[m] == COMPRESSOR_TOP_K)
                        assert_true(way.decoded[i] == (i < way.length / 8 ? specials[s] : 0));
                    if (messages[m] == COMPRESSOR_QSGD && way.count == 1)
                        assert_true(way.decoded[i] == specials[s]);
                    if (specials[s] == 0)
                        assert_true(way.decoded[i] == 0);
                }
            }
}

/* The largest there are: qsgd's norm is no float any more. */
static void test_huge_values(void **state)
{
    (void)state;
    static struct way way;
    static float gradient[COUNT_MOST];
    for (size_t i = 0; i < 1000; i++)
        gradient[i] = i % 2 ? FLT_MAX : -FLT_MAX;
    way = (struct way){.compression = compression_of(COMPRESSOR_QSGD), .count = 1000};
    travel(&way, gradient);
    assert_memory_equal(way.decoded, gradient, 1000 * sizeof(float));
}

/* What is not finite is not hidden: it comes out as not finite, where it was or in its block, and spoils nothing else. */
static void test_not_finite(void **state)
{
    (void)state;
    static struct way way;
    static float gradient[COUNT_MOST];
    const float spoilers[] = {NAN, INFINITY, -INFINITY};
    for (int m = 0; m < MESSAGES; m++)
        for (int s = 0; s < 3; s++) {
            way = (struct way){.compression = compression_of(messages[m]), .count = 1000};
            for (size_t i = 0; i < way.count; i++)
                gradient[i] = (float)i - 500;
            gradient[600] = spoilers[s];
            travel(&way, gradient);
            bool spoilt = false;
            for (size_t i = 0; i < way.count; i++) {
                spoilt |= !isfinite(way.decoded[i]);
                assert_true(i >= 512 || isfinite(way.decoded[i]));
            }
            assert_true(spoilt && (messages[m] == COMPRESSOR_ONE_BIT || !isfinite(way.decoded[600])));
        }
}

/* Decoding adds to what is there. */
static void test_decoding_adds(void **state)
{
    (void)state;
    static struct way way;
    static float gradient[COUNT_MOST], sum[COUNT_MOST];
    for (int m = 0; m < MESSAGES; m++) {
        way = (struct way){.compression = compression_of(messages[m]), .count = 1000};
        for (size_t i = 0; i < way.count; i++) {
            gradient[i] = (float)(i % 37) - 18;
            sum[i] = (float)i;
        }
        travel(&way, gradient);
        way.compression.compressor->decode(&way.compression, way.count, way.bytes, false, sum);
        for (size_t i = 0; i < way.count; i++)
            assert_true(sum[i] == (float)i + way.decoded[i]);
    }
}

/* ---- messages that no encoder makes ---- */

static void assert_refused(struct way *way, size_t at, uint8_t value, const char *why)
{
    struct err err = {0};
    const uint8_t before = way->bytes[at];
    way->bytes[at] = value;
    assert_int_equal(way->compression.compressor->check(&way->compression, way->count, way->bytes, way->length, &err), -ERR_TRIAL);
    assert_non_null(strstr(err.text, why));
    way->bytes[at] = before;
    assert_int_equal(way->compression.compressor->check(&way->compression, way->count, way->bytes, way->length, &err), 0);
}

static void test_malformed(void **state)
{
    (void)state;
    static struct way way;
    static float gradient[COUNT_MOST];
    struct err err = {0};
    for (size_t i = 0; i < COUNT_MOST; i++)
        gradient[i] = (float)(i % 11) - 5;
    for (int m = 0; m < MESSAGES; m++) {
        way = (struct way){.compression = compression_of(messages[m]), .count = 517};
        way.compression.share = 0.02;
        travel(&way, gradient);
        for (int wrong = -1; wrong <= 1; wrong += 2)
            assert_int_equal(
                way.compression.compressor->check(&way.compression, way.count, way.bytes, (size_t)((int)way.length + wrong), &err),
                -ERR_TRIAL);
        assert_int_equal(way.compression.compressor->check(&way.compression, way.count, way.bytes, 0, &err), -ERR_TRIAL);
        char lengths[64];
        snprintf(lengths, sizeof(lengths), "of 517 floats has %zu bytes, and 0 came", way.length);
        assert_non_null(strstr(err.text, lengths));
        switch (messages[m]) {
        case COMPRESSOR_TOP_K: /* the first indexes are 0, 10, 11 */
            assert_refused(&way, 3, 0x80, "out of range");
            assert_refused(&way, 0, 10, "out of order");
            break;
        case COMPRESSOR_ONE_BIT:
            assert_refused(&way, 3, 0x40, "never above zero");
            assert_refused(&way, 7, 0xc0, "never below");
            assert_refused(&way, way.length - 1, 0x20, "behind the last value");
            break;
        default:
            assert_refused(&way, 3, 0xc0, "norm");
            assert_refused(&way, 4, 0x0f, "codes above 14");
            assert_refused(&way, way.length - 1, 0x17, "behind the last one");
            break;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_top_k_adds_up),
        cmocka_unit_test(test_top_k_is_what_sorting_finds),
        cmocka_unit_test(test_one_bit_means),
        cmocka_unit_test(test_special_values),
        cmocka_unit_test(test_huge_values),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_decoding_adds),
        cmocka_unit_test(test_malformed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
