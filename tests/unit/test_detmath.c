/* test_detmath.c: accuracy against libm in long double, exact cases, and a fixed sum over the bits of many results. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/detmath.h"
#include "base/rng.h"

enum { POINTS = 200000 };

/* How far `found` is from `truth`, in units of the last place of the true value. */
static double ulps(double found, long double truth)
{
    int exponent;
    frexpl(truth, &exponent);
    return (double)(fabsl((long double)found - truth) / ldexpl(1.0L, exponent - DBL_MANT_DIG));
}

static double worst;

static void compare(double found, long double truth)
{
    double error = truth == 0.0L ? (found == 0.0 ? 0.0 : 1e9) : ulps(found, truth);
    if (!(error <= worst))
        worst = error;
}

static double from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static void log_is_accurate(void **state)
{
    (void)state;
    struct rng rng = rng_stream(1, 0, 0, RNG_ORDER);
    worst = 0;
    for (int i = 0; i < POINTS; i++) {
        double any =
            from_bits((rng_u64(&rng) >> 12) | (uint64_t)(1 + rng_below(&rng, 2046)) << 52); /* every positive normal number */
        double near_one = 1.0 + (rng_uniform(&rng) - 0.5) * ldexp(1.0, -(int)rng_below(&rng, 50));
        double uniform = rng_uniform(&rng);
        compare(detmath_log(any), logl(any));
        compare(detmath_log(near_one), logl(near_one));
        compare(detmath_log(uniform), logl(uniform));
    }
    print_message("# log: worst error %.3f ulp\n", worst);
    assert_true(worst < 1.0);
}

static void exp_is_accurate(void **state)
{
    (void)state;
    struct rng rng = rng_stream(2, 0, 0, RNG_ORDER);
    worst = 0;
    for (int i = 0; i < POINTS; i++) {
        double x = (rng_uniform(&rng) - 0.5) * 1400.0, small = (rng_uniform(&rng) - 0.5) * ldexp(1.0, 3 - (int)rng_below(&rng, 60));
        compare(detmath_exp(x), expl(x));
        compare(detmath_exp(small), expl(small));
    }
    compare(detmath_exp(700.0), expl(700.0L));
    compare(detmath_exp(-700.0), expl(-700.0L));
    print_message("# exp: worst error %.3f ulp\n", worst);
    assert_true(worst < 1.0);
}

static void sin_and_cos_are_accurate(void **state)
{
    (void)state;
    const long double two_pi = 6.283185307179586476925286766559005768L;
    struct rng rng = rng_stream(3, 0, 0, RNG_ORDER);
    worst = 0;
    for (int i = 0; i < POINTS; i++) {
        double turns = rng_uniform(&rng);
        if (i % 4 == 0) /* near the quarters, where one of the two is small */
            turns = 0.25 * rng_below(&rng, 4) + turns * ldexp(1.0, -3 - (int)rng_below(&rng, 40));
        /* The nearest quarter is taken off before libm sees the angle, so that its argument loses nothing. */
        int quarter = (int)(turns * 4.0 + 0.5);
        long double rest = two_pi * ((long double)turns - 0.25L * quarter);
        const long double values[4] = {sinl(rest), cosl(rest), -sinl(rest), -cosl(rest)};
        compare(detmath_sin_turns(turns), values[quarter & 3]);
        compare(detmath_cos_turns(turns), values[(quarter + 1) & 3]);
    }
    print_message("# sin, cos: worst error %.3f ulp\n", worst);
    assert_true(worst < 1.0);
}

static void pow_is_as_loose_as_its_contract_says(void **state)
{
    (void)state;
    struct rng rng = rng_stream(4, 0, 0, RNG_ORDER);
    double worst_share = 0;
    for (int i = 0; i < POINTS; i++) {
        double base = rng_uniform(&rng) * ldexp(1.0, (int)rng_below(&rng, 20) - 10), y = (rng_uniform(&rng) - 0.5) * 40.0;
        double error = ulps(detmath_pow(base, y), powl(base, y));
        double allowed = 2.0 + 3.0 * fabs(y * log(base));
        if (!(error / allowed <= worst_share))
            worst_share = error / allowed;
    }
    print_message("# pow: worst error %.3f of what is allowed\n", worst_share);
    assert_true(worst_share < 1.0);
    assert_true(detmath_pow(3.7, 0.0) == 1.0);
    assert_true(detmath_pow(1.0, 123.0) == 1.0);
}

static void exact_cases(void **state)
{
    (void)state;
    assert_true(detmath_log(1.0) == 0.0);
    assert_true(detmath_log(2.0) == 0.693147180559945309417);
    assert_true(detmath_exp(0.0) == 1.0);
    assert_true(ulps(detmath_exp(1.0), 2.718281828459045235360L) < 1.0);
    static const double sines[8] = {0, 0.70710678118654752440,  1,  0.70710678118654752440,
                                    0, -0.70710678118654752440, -1, -0.70710678118654752440};
    for (int eighth = 0; eighth < 8; eighth++) {
        assert_true(detmath_sin_turns(eighth / 8.0) == sines[eighth]);
        assert_true(detmath_cos_turns(eighth / 8.0) == sines[(eighth + 2) % 8]);
    }
}

static void outside_the_domain_nothing_breaks(void **state)
{
    (void)state;
    assert_true(detmath_log(0.0) == -INFINITY);
    assert_true(isnan(detmath_log(-1.0)));
    assert_true(isnan(detmath_log(NAN)));
    assert_true(detmath_log(INFINITY) == INFINITY);
    assert_true(ulps(detmath_log(5e-324), logl(0x1p-1074L)) < 1.0);
    assert_true(detmath_exp(710.0) == INFINITY);
    assert_true(isfinite(detmath_exp(709.78)));
    assert_true(detmath_exp(-746.0) == 0.0);
    assert_true(detmath_exp(-745.0) == 5e-324);
    assert_true(detmath_exp(INFINITY) == INFINITY);
    assert_true(detmath_exp(-INFINITY) == 0.0);
    assert_true(isnan(detmath_exp(NAN)));
}

static uint64_t mix(uint64_t hash, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return (hash ^ bits) * UINT64_C(0x100000001b3); /* FNV-1a over words */
}

static void results_are_the_same_bits_everywhere(void **state)
{
    (void)state;
    struct rng rng = rng_stream(5, 0, 0, RNG_ORDER);
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int i = 0; i < 50000; i++) {
        double u = rng_uniform(&rng), v = rng_uniform(&rng);
        hash = mix(hash, detmath_log(u));
        hash = mix(hash, detmath_exp((v - 0.5) * 1400.0));
        hash = mix(hash, detmath_pow(u + 0.5, v * 20.0));
        hash = mix(hash, detmath_sin_turns(u));
        hash = mix(hash, detmath_cos_turns(u));
    }
    if (hash != UINT64_C(0x1cd321d76d5c23d0))
        fail_msg("found 0x%016llx", (unsigned long long)hash);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_is_accurate),
        cmocka_unit_test(exp_is_accurate),
        cmocka_unit_test(sin_and_cos_are_accurate),
        cmocka_unit_test(pow_is_as_loose_as_its_contract_says),
        cmocka_unit_test(exact_cases),
        cmocka_unit_test(outside_the_domain_nothing_breaks),
        cmocka_unit_test(results_are_the_same_bits_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
