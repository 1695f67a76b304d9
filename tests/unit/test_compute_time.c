/* test_compute_time.c: distributions against their formulas, order statistics against published and closed values, and draws that
 * never change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "agents/compute_time_internal.h"

static const struct distribution measured = {.kind = DISTRIBUTION_MEASURED},
                                 constant = {.kind = DISTRIBUTION_CONSTANT, .value_ns = 20e6},
                                 exponential = {.kind = DISTRIBUTION_EXPONENTIAL, .mean_ns = 10e6},
                                 shifted = {.kind = DISTRIBUTION_SHIFTED_EXPONENTIAL, .shift_ns = 5e6, .mean_ns = 10e6},
                                 lognormal = {.kind = DISTRIBUTION_LOGNORMAL, .mu = 3, .sigma = 0.1, .unit_ns = 1e6},
                                 pareto = {.kind = DISTRIBUTION_PARETO, .scale_ns = 5e6, .shape = 1.5};
static const struct distribution *const all[] = {&constant, &exponential, &shifted, &lognormal, &pareto};
static const struct distribution *const continuous[] = {&exponential, &shifted, &lognormal, &pareto};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void assert_near(double found, double expected, double relative)
{
    if (!(fabs(found - expected) <= relative * fabs(expected)))
        fail_msg("found %.12g, expected %.12g", found, expected);
}

static double order(const struct distribution *distribution, int k, int n)
{
    return compute_time_order_mean(distribution, k, n, NULL, 0);
}

/* The slowest of n lognormal times, mu 3 and sigma 0.1: mean and standard deviation of the maximum, in ms. */
static const struct {
    int n;
    double mean, deviation;
} lognormal_maximum[] = {{10, 23.46737, 1.39524}, {100, 25.83397, 1.12587}, {1000, 27.79251, 0.99063}};

static void the_lognormal_maximum_has_its_known_mean(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(lognormal_maximum); i++)
        assert_near(order(&lognormal, lognormal_maximum[i].n, lognormal_maximum[i].n), 1e6 * lognormal_maximum[i].mean, 5e-7);
}

static void drawn_maxima_agree_with_it(void **state)
{
    (void)state;
    enum { REPEATS = 1000 };
    for (size_t i = 0; i < COUNT(lognormal_maximum); i++) {
        double sum = 0;
        for (uint64_t step = 0; step < REPEATS; step++) {
            double slowest = 0;
            for (int worker = 0; worker < lognormal_maximum[i].n; worker++)
                slowest = fmax(slowest, compute_time_draw(&lognormal, 20 + i, (uint32_t)worker, step));
            sum += slowest / 1e6;
        }
        double standard_error = lognormal_maximum[i].deviation / sqrt(REPEATS);
        assert_true(fabs(sum / REPEATS - lognormal_maximum[i].mean) < 4 * standard_error);
    }
}

static void exponential_order_statistics_are_harmonic(void **state)
{
    (void)state;
    static const struct {
        int k, n;
        double mean;
    } known[] = {{1, 8, .125},     {2, 8, .267857},     {4, 8, .634524},     {6, 8, 1.217857},
                 {8, 8, 2.717857}, {96, 100, 3.104044}, {100, 100, 5.187378}};
    for (size_t i = 0; i < COUNT(known); i++) {
        assert_near(order(&exponential, known[i].k, known[i].n), 10e6 * known[i].mean, 2e-6);
        /* A floor that is never reached takes the way of the integral, which must give the same. */
        assert_near(compute_time_order_mean(&exponential, known[i].k, known[i].n, NULL, 1e-9),
                    order(&exponential, known[i].k, known[i].n), 1e-9);
        assert_near(order(&shifted, known[i].k, known[i].n), 5e6 + order(&exponential, known[i].k, known[i].n), 1e-9);
    }
}

/* E[X_{k:n}] = scale n!/(n-k)! Gamma(n-k+1-1/a) / Gamma(n+1-1/a): Arnold, "Pareto Distributions", 1983. */
static void pareto_order_statistics_are_gamma_functions(void **state)
{
    (void)state;
    static const double shapes[] = {1.05, 1.5, 2, 3};
    static const int orders[][2] = {{1, 1}, {1, 8}, {4, 8}, {8, 8}, {96, 100}, {100, 100}, {1000, 1000}};
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (size_t i = 0; i < COUNT(orders); i++) {
            struct distribution distribution = pareto;
            distribution.shape = shapes[s];
            int k = orders[i][0], n = orders[i][1], sign;
            double expected = lgamma_r(n + 1, &sign) - lgamma_r(n - k + 1, &sign) + lgamma_r(n - k + 1 - 1 / shapes[s], &sign) -
                              lgamma_r(n + 1 - 1 / shapes[s], &sign);
            assert_near(order(&distribution, k, n), 5e6 * exp(expected), 1e-6);
        }
}

static void a_heavy_tail_has_no_mean(void **state)
{
    (void)state;
    struct distribution distribution = pareto;
    distribution.shape = 1;
    assert_true(isinf(compute_time_mean(&distribution)));
    assert_true(isinf(order(&distribution, 8, 8)));
    assert_true(isfinite(order(&distribution, 7, 8))); /* the second largest has one: it falls like t^-2 */
}

/* The corners of what campaign files allow. */
static void extreme_parameters_stay_numbers(void **state)
{
    (void)state;
    struct distribution tail = {.kind = DISTRIBUTION_PARETO, .scale_ns = 3.6e12, .shape = 0.01}, narrow = tail, wide = lognormal;
    narrow.shape = 1000;
    wide.sigma = 10;
    assert_true(isinf(order(&tail, 8, 8)));
    assert_true(isfinite(order(&tail, 500, 1000)) && order(&tail, 500, 1000) > 3.6e12);
    assert_near(order(&narrow, 8, 8), 3.6e12, 0.01);
    assert_near(order(&wide, 1, 1), compute_time_mean(&wide), 1e-6);
    wide.sigma = 0;
    assert_near(order(&wide, 3, 8), 1e6 * exp(3), 1e-12);
}

static void one_of_one_is_the_mean(void **state)
{
    (void)state;
    assert_near(compute_time_mean(&constant), 20e6, 0);
    assert_near(compute_time_mean(&exponential), 10e6, 0);
    assert_near(compute_time_mean(&shifted), 15e6, 0);
    assert_near(compute_time_mean(&lognormal), 1e6 * exp(3.005), 1e-12);
    assert_near(compute_time_mean(&pareto), 15e6, 1e-12);
    for (size_t i = 0; i < COUNT(all); i++)
        assert_near(order(all[i], 1, 1), compute_time_mean(all[i]), 1e-8);
}

/* The n order statistics are the n times in another order: their means add up to the same, whatever the factors. */
static void order_means_add_up_to_the_mean(void **state)
{
    (void)state;
    static const double none[6] = {1, 1, 1, 1, 1, 1}, one_slow[6] = {1, 4, 1, 1, 1, 1}, different[6] = {1, 2, 3, 1, 1.5, 0.5};
    static const double *const factors[] = {none, one_slow, different};
    for (size_t i = 0; i < COUNT(all); i++)
        for (size_t f = 0; f < COUNT(factors); f++) {
            double found = 0, expected = 0, last = 0;
            for (int k = 1; k <= 6; k++) {
                double mean = compute_time_order_mean(all[i], k, 6, factors[f], 0);
                assert_true(mean >= last * (1 - 1e-9));
                last = mean;
                found += mean;
                expected += factors[f][k - 1] * compute_time_mean(all[i]);
            }
            assert_near(found, expected, 1e-7);
        }
}

static void slow_workers_are_counted_one_by_one(void **state)
{
    (void)state;
    static const double one_slow[8] = {1, 4, 1, 1, 1, 1, 1, 1};
    assert_near(compute_time_order_mean(&constant, 8, 8, one_slow, 0), 80e6, 1e-12);
    assert_near(compute_time_order_mean(&constant, 7, 8, one_slow, 0), 20e6, 1e-12);
    /* Maximum of exponentials with rates a, b, c by inclusion and exclusion. */
    static const double three[3] = {1, 4, 2};
    double a = 1, b = 0.25, c = 0.5;
    double expected = 1 / a + 1 / b + 1 / c - 1 / (a + b) - 1 / (a + c) - 1 / (b + c) + 1 / (a + b + c);
    assert_near(compute_time_order_mean(&exponential, 3, 3, three, 0), 10e6 * expected, 1e-9);
    /* Minimum: rates add. */
    assert_near(compute_time_order_mean(&exponential, 1, 3, three, 0), 10e6 / (a + b + c), 1e-9);
    /* All alike: the factor scales. */
    static const double twice[4] = {2, 2, 2, 2};
    for (size_t i = 0; i < COUNT(all); i++)
        assert_near(compute_time_order_mean(all[i], 3, 4, twice, 0), 2 * order(all[i], 3, 4), 1e-8);
}

static void the_floor_is_the_real_work(void **state)
{
    (void)state;
    assert_near(compute_time_order_mean(&measured, 3, 8, NULL, 7e6), 7e6, 0);
    assert_near(compute_time_order_mean(&measured, 3, 8, NULL, 0), 0, 0);
    assert_near(compute_time_order_mean(&constant, 8, 8, NULL, 30e6), 30e6, 1e-12);
    assert_near(compute_time_order_mean(&constant, 8, 8, NULL, 10e6), 20e6, 1e-12);
    /* E[max(X, c)] = c + mean e^(-c / mean) */
    assert_near(compute_time_order_mean(&exponential, 1, 1, NULL, 10e6), 10e6 + 10e6 * exp(-1), 1e-9);
    /* E[max(X, c)] = c + integral of (t / scale)^-a over t > c */
    assert_near(compute_time_order_mean(&pareto, 1, 1, NULL, 20e6), 20e6 + 2 * 20e6 * pow(4, -1.5), 1e-7);
    for (size_t i = 0; i < COUNT(all); i++) /* far above everything likely */
        assert_true(compute_time_order_mean(all[i], 2, 4, NULL, 1e12) >= 1e12);
}

/* P(X <= ns). */
static double at_most(const struct distribution *distribution, double ns)
{
    return 1.0 - compute_time_row(distribution->kind)->above(distribution, ns);
}

static void distribution_functions_are_right(void **state)
{
    (void)state;
    assert_near(at_most(&exponential, 10e6), 1 - exp(-1), 1e-12);
    assert_near(at_most(&shifted, 15e6), 1 - exp(-1), 1e-12);
    assert_near(at_most(&lognormal, 1e6 * exp(3)), 0.5, 1e-9);
    assert_near(at_most(&lognormal, 1e6 * exp(3.1)), 0.8413447461, 1e-9);
    assert_near(at_most(&pareto, 20e6), 0.875, 1e-12);
    assert_true(at_most(&constant, 19.999e6) == 0 && at_most(&constant, 20e6) == 1);
    assert_true(at_most(&measured, 0) == 1);
    for (size_t i = 0; i < COUNT(continuous); i++)
        assert_true(at_most(continuous[i], 0) == 0 && at_most(continuous[i], 1e300) == 1);
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Kolmogorov and Smirnov: sqrt(n) D exceeds 1.95 once in a thousand. */
static void draws_follow_their_distribution(void **state)
{
    (void)state;
    enum { DRAWS = 20000 };
    static double drawn[DRAWS];
    for (size_t i = 0; i < COUNT(continuous); i++) {
        double sum = 0, squares = 0, largest = 0;
        for (uint64_t step = 0; step < DRAWS; step++) {
            drawn[step] = compute_time_draw(continuous[i], 11, (uint32_t)i, step);
            sum += drawn[step];
            squares += drawn[step] * drawn[step];
        }
        qsort(drawn, DRAWS, sizeof(drawn[0]), by_value);
        for (int j = 0; j < DRAWS; j++) {
            double expected = at_most(continuous[i], drawn[j]);
            largest = fmax(largest, fmax(fabs((double)(j + 1) / DRAWS - expected), fabs((double)j / DRAWS - expected)));
        }
        assert_true(largest < 1.95 / sqrt(DRAWS));
        if (continuous[i] != &pareto) { /* whose variance is infinite */
            double mean = sum / DRAWS, error = sqrt((squares / DRAWS - mean * mean) / DRAWS);
            assert_true(fabs(mean - compute_time_mean(continuous[i])) < 4 * error);
        }
    }
}

static void draws_depend_on_seed_worker_and_step_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(continuous); i++) {
        double first = compute_time_draw(continuous[i], 1, 2, 3);
        assert_true(compute_time_draw(continuous[i], 2, 2, 3) != first);
        assert_true(compute_time_draw(continuous[i], 1, 3, 3) != first);
        assert_true(compute_time_draw(continuous[i], 1, 2, 4) != first);
        assert_true(compute_time_draw(continuous[i], 1, 2, 3) == first);
        struct rng rng = rng_stream(1, 3, 2, RNG_COMPUTE_TIME);
        assert_true(compute_time_sample(continuous[i], &rng) == first);
    }
    assert_true(compute_time_draw(&constant, 1, 2, 3) == 20e6);
    assert_true(compute_time_draw(&measured, 1, 2, 3) == 0);
}

/* Stored seeds must draw the same bits for ever, on every machine and in every build mode. */
static void draws_keep_their_bits(void **state)
{
    (void)state;
    static const double known[COUNT(continuous)][3] = {
        {0x1.543f1a72cd62fp+20, 0x1.fe4d9aff47f67p+23, 0x1.232fcc4d7dba3p+21},
        {0x1.863cc69cb358cp+22, 0x1.4b720d7fa3fb4p+24, 0x1.c2c4e626bedd2p+22},
        {0x1.30924a4838911p+24, 0x1.3728e4f7b214cp+24, 0x1.40e1c6dabb211p+24},
        {0x1.4ee37adaff428p+22, 0x1.d138dda85db68p+23, 0x1.65c75a97bdd6cp+22},
    };
    for (size_t i = 0; i < COUNT(continuous); i++)
        for (uint64_t step = 0; step < 3; step++)
            if (compute_time_draw(continuous[i], 42, 7, step) != known[i][step])
                fail_msg("distribution %zu step %d: found %a", i, (int)step, compute_time_draw(continuous[i], 42, 7, step));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lognormal_maximum_has_its_known_mean),
        cmocka_unit_test(drawn_maxima_agree_with_it),
        cmocka_unit_test(exponential_order_statistics_are_harmonic),
        cmocka_unit_test(pareto_order_statistics_are_gamma_functions),
        cmocka_unit_test(a_heavy_tail_has_no_mean),
        cmocka_unit_test(extreme_parameters_stay_numbers),
        cmocka_unit_test(one_of_one_is_the_mean),
        cmocka_unit_test(order_means_add_up_to_the_mean),
        cmocka_unit_test(slow_workers_are_counted_one_by_one),
        cmocka_unit_test(the_floor_is_the_real_work),
        cmocka_unit_test(distribution_functions_are_right),
        cmocka_unit_test(draws_follow_their_distribution),
        cmocka_unit_test(draws_depend_on_seed_worker_and_step_alone),
        cmocka_unit_test(draws_keep_their_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
