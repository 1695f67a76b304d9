/* test_qsgd.c: QSGD's roundings have the mean and the variance of the paper, and repeat. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "agents/compressors/compressor.h"
#include "base/rng.h"

#include "tests/unit/compressor_rig.h"
#include <cmocka.h>

/* ---- qsgd: mean and variance ---- */

static void test_qsgd_is_unbiased(void **state)
{
    (void)state;
    enum { N = 64, DRAWS = 20000 };
    static const int levels[] = {1, 4, 7, 127};
    static struct way way;
    float gradient[N];
    struct rng rng = rng_stream(6, 0, 0, RNG_LINK);
    for (size_t i = 0; i < N; i++)
        gradient[i] = (float)(rng_normal(&rng) * (i < 8 ? 10 : 1));
    double squares = 0;
    for (size_t i = 0; i < N; i++)
        squares += (double)gradient[i] * (double)gradient[i];
    const double norm = (double)(float)sqrt(squares);
    for (size_t l = 0; l < sizeof(levels) / sizeof(levels[0]); l++) {
        const double s = levels[l];
        double sums[N] = {0}, error = 0;
        way = (struct way){.compression = compression_of(COMPRESSOR_QSGD), .count = N, .seed = 77};
        way.compression.levels = levels[l];
        for (int draw = 0; draw < DRAWS; draw++) {
            travel(&way, gradient);
            for (size_t i = 0; i < N; i++) {
                double difference = (double)way.decoded[i] - (double)gradient[i];
                sums[i] += difference;
                error += difference * difference;
                assert_true(fabs(difference) <= norm / s * (1 + 1e-6)); /* to a neighbouring level */
            }
        }
        error /= DRAWS;
        double expected = 0;
        for (size_t i = 0; i < N; i++) {
            double a = s * fabs((double)gradient[i]) / norm, p = a - floor(a), variance = p * (1 - p) * norm * norm / (s * s);
            expected += variance;
            assert_true(fabs(sums[i] / DRAWS) <= 4 * sqrt(variance / DRAWS) + 1e-6 * norm);
        }
        assert_true(fabs(error / expected - 1) < 0.02);
        assert_true(error <= fmin(N / (s * s), sqrt(N) / s) * squares * 1.01); /* lemma 3.1 */
    }
}

static void test_qsgd_repeats(void **state)
{
    (void)state;
    static struct way first, again, other_step, other_seed;
    static float gradient[COUNT_MOST];
    struct rng rng = rng_stream(8, 0, 0, RNG_LINK);
    for (size_t i = 0; i < COUNT_MOST; i++)
        gradient[i] = (float)rng_normal(&rng);
    first = (struct way){.compression = compression_of(COMPRESSOR_QSGD), .count = COUNT_MOST, .seed = 1, .step = 3};
    again = other_step = other_seed = first;
    other_step.step = 4;
    other_seed.seed = 2;
    travel(&first, gradient);
    travel(&again, gradient);
    travel(&other_step, gradient);
    travel(&other_seed, gradient);
    assert_memory_equal(first.bytes, again.bytes, first.length);
    assert_memory_not_equal(first.bytes, other_step.bytes, first.length);
    assert_memory_not_equal(first.bytes, other_seed.bytes, first.length);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_qsgd_is_unbiased),
        cmocka_unit_test(test_qsgd_repeats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
