/* test_rng.c: known answers of the generator, streams that are independent of each other, and the moments of the draws. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/rng.h"

/* kat_vectors of Random123, the reference code of the paper: counter, key, expected */
static void philox_gives_the_known_answers(void **state)
{
    (void)state;
    static const uint32_t known[][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        uint32_t out[4];
        rng_philox4x32_10(known[i], known[i] + 4, out);
        assert_memory_equal(out, known[i] + 6, sizeof(out));
    }
}

static void a_stream_is_the_documented_counter(void **state)
{
    (void)state;
    const uint64_t seed = UINT64_C(0x299f31d0a4093822);
    struct rng rng = rng_stream(seed, 7, 9, RNG_LINK);
    for (uint32_t position = 0; position < 5; position++) {
        const uint32_t counter[4] = {position, 7, 9, RNG_LINK}, key[2] = {0xa4093822, 0x299f31d0};
        uint32_t block[4];
        rng_philox4x32_10(counter, key, block);
        for (int i = 0; i < 4; i++)
            assert_int_equal(rng_u32(&rng), block[i]);
    }
    struct rng words = rng_stream(seed, 7, 9, RNG_LINK), pairs = words;
    for (int i = 0; i < 50; i++) {
        uint64_t low = rng_u32(&words), high = rng_u32(&words);
        assert_true(rng_u64(&pairs) == (high << 32 | low));
    }
}

static void purposes_keep_their_numbers(void **state)
{
    (void)state;
    /* part of every stored seed: a purpose that moves changes what an old campaign file draws */
    assert_int_equal(RNG_ORDER, 0);
    assert_int_equal(RNG_COMPUTE_TIME, 1);
    assert_int_equal(RNG_MODEL, 2);
    assert_int_equal(RNG_BATCH, 3);
    assert_int_equal(RNG_SHARD, 4);
    assert_int_equal(RNG_SCHEME, 5);
    assert_int_equal(RNG_COMMON, 6);
    assert_int_equal(RNG_LINK, 7);
    assert_int_equal(RNG_PREDICT, 8);
    assert_int_equal(RNG_BOOTSTRAP, 9);
}

static void every_part_of_the_name_makes_another_stream(void **state)
{
    (void)state;
    struct rng streams[] = {
        rng_stream(1, 0, 0, RNG_ORDER),
        rng_stream(2, 0, 0, RNG_ORDER),
        rng_stream(UINT64_C(1) << 32, 0, 0, RNG_ORDER),
        rng_stream(1, 1, 0, RNG_ORDER),
        rng_stream(1, 0, 1, RNG_ORDER),
        rng_stream(1, 0, 0, RNG_COMPUTE_TIME),
        rng_stream(1, 0, RNG_ALL_NODES, RNG_ORDER),
    };
    enum { STREAMS = sizeof(streams) / sizeof(streams[0]) };
    uint64_t firsts[STREAMS];
    for (int i = 0; i < STREAMS; i++) {
        firsts[i] = rng_u64(&streams[i]);
        for (int j = 0; j < i; j++)
            assert_true(firsts[i] != firsts[j]);
    }
}

static void below_is_in_range_and_even(void **state)
{
    (void)state;
    struct rng rng = rng_stream(3, 0, 0, RNG_BATCH);
    for (int i = 0; i < 100; i++)
        assert_int_equal(rng_below(&rng, 1), 0);
    static const uint32_t bounds[] = {2, 3, 6, 10, 1000, UINT32_C(0x80000001), UINT32_MAX};
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
        for (int j = 0; j < 1000; j++)
            assert_true(rng_below(&rng, bounds[i]) < bounds[i]);
    enum { DRAWS = 60000, BOUND = 6 };
    int counts[BOUND] = {0};
    for (int i = 0; i < DRAWS; i++)
        counts[rng_below(&rng, BOUND)]++;
    double chi_square = 0;
    for (int i = 0; i < BOUND; i++)
        chi_square += (counts[i] - DRAWS / BOUND) * (counts[i] - DRAWS / BOUND) / (double)(DRAWS / BOUND);
    assert_true(chi_square < 20.5); /* 99.9th percentile with five degrees of freedom; the stream is fixed */
}

static void uniform_is_open_at_both_ends(void **state)
{
    (void)state;
    /* a generator whose block is set by hand: the extreme words */
    struct rng lowest = {.used = 0}, highest = {.used = 0};
    memset(highest.block, 0xff, sizeof(highest.block));
    assert_true(rng_uniform(&lowest) == 0x1p-53);
    assert_true(rng_uniform(&highest) == 1.0 - 0x1p-53);
    lowest.used = highest.used = 0;
    assert_true(isfinite(rng_exponential(&lowest)));
    assert_true(rng_exponential(&highest) > 0);
    lowest.used = highest.used = 0;
    assert_true(isfinite(rng_normal(&lowest)));
    assert_true(isfinite(rng_normal(&highest)));
}

static void moments_are_right(void **state)
{
    (void)state;
    enum { DRAWS = 200000 };
    struct rng rng = rng_stream(11, 0, 0, RNG_COMPUTE_TIME);
    double uniform = 0, exponential = 0, normal = 0, normal_square = 0, normal_fourth = 0;
    for (int i = 0; i < DRAWS; i++) {
        uniform += rng_uniform(&rng);
        exponential += rng_exponential(&rng);
        double z = rng_normal(&rng);
        normal += z;
        normal_square += z * z;
        normal_fourth += z * z * z * z;
    }
    /* four standard errors; the stream is fixed, so this never fails by chance */
    assert_true(fabs(uniform / DRAWS - 0.5) < 4 * 0.2887 / sqrt(DRAWS));
    assert_true(fabs(exponential / DRAWS - 1.0) < 4 * 1.0 / sqrt(DRAWS));
    assert_true(fabs(normal / DRAWS) < 4 * 1.0 / sqrt(DRAWS));
    assert_true(fabs(normal_square / DRAWS - 1.0) < 4 * 1.4143 / sqrt(DRAWS));
    assert_true(fabs(normal_fourth / DRAWS - 3.0) < 4 * 9.7980 / sqrt(DRAWS));
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* The same bits on every machine and in every build mode: these are compared with a fixed sum, not with libm. */
static void draws_are_the_same_bits_everywhere(void **state)
{
    (void)state;
    struct rng rng = rng_stream(1, 2, 3, RNG_COMPUTE_TIME);
    assert_true(bits_of(rng_uniform(&rng)) == UINT64_C(0x3febeeb0483605fb));
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a over words */
    for (int i = 0; i < 10000; i++) {
        hash = (hash ^ bits_of(rng_exponential(&rng))) * UINT64_C(0x100000001b3);
        hash = (hash ^ bits_of(rng_normal(&rng))) * UINT64_C(0x100000001b3);
    }
    if (hash != UINT64_C(0xb551e790c2357a04))
        fail_msg("found 0x%016llx", (unsigned long long)hash);
}

/* Mean and variance of a gamma draw are its shape; below shape 1 it is made in another way, and can be too small for a double. */
static void gamma_draws_have_their_moments(void **state)
{
    (void)state;
    enum { DRAWS = 100000 };
    static const double shapes[] = {0.1, 0.7, 1, 2.5, 40};
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        struct rng rng = rng_stream(12, 0, (uint32_t)i, RNG_SHARD);
        const double shape = shapes[i];
        double sum = 0, square = 0;
        for (int d = 0; d < DRAWS; d++) {
            double gamma = exp(rng_log_gamma(&rng, shape));
            sum += gamma;
            square += (gamma - shape) * (gamma - shape);
        }
        /* four standard errors; the fourth central moment is 3 shape^2 + 6 shape */
        if (!(fabs(sum / DRAWS - shape) < 4 * sqrt(shape / DRAWS)) ||
            !(fabs(square / DRAWS - shape) < 4 * sqrt((2 * shape * shape + 6 * shape) / DRAWS)))
            fail_msg("shape %g: mean %g, variance %g", shape, sum / DRAWS, square / DRAWS);
    }
    struct rng rng = rng_stream(12, 0, 9, RNG_SHARD);
    double smallest = 0;
    for (int d = 0; d < 100; d++)
        smallest = fmin(smallest, rng_log_gamma(&rng, 0.001));
    assert_true(smallest < -1000 && isfinite(smallest)); /* log U / 0.001, of 100 draws */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_known_answers),
        cmocka_unit_test(a_stream_is_the_documented_counter),
        cmocka_unit_test(purposes_keep_their_numbers),
        cmocka_unit_test(every_part_of_the_name_makes_another_stream),
        cmocka_unit_test(below_is_in_range_and_even),
        cmocka_unit_test(uniform_is_open_at_both_ends),
        cmocka_unit_test(moments_are_right),
        cmocka_unit_test(draws_are_the_same_bits_everywhere),
        cmocka_unit_test(gamma_draws_have_their_moments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
