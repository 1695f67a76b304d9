/* test_statistics.c: quantiles, moments and the interval of the median, against values from the definitions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "results/statistics.h"

/* cmocka 1.1.5 compares floats only. */
#define assert_near(found, expected, tolerance) assert_true(fabs((found) - (expected)) <= (tolerance))

static void quantiles_are_type_7(void **state)
{
    (void)state;
    const double values[] = {40, 10, 20}; /* R: quantile(c(40, 10, 20), c(0, .25, .5, .9, .99, 1)) */
    assert_near(statistics_quantile(values, 3, 0), 10, 0);
    assert_near(statistics_quantile(values, 3, 0.25), 15, 1e-12);
    assert_near(statistics_quantile(values, 3, 0.5), 20, 0);
    assert_near(statistics_quantile(values, 3, 0.9), 36, 1e-12);
    assert_near(statistics_quantile(values, 3, 0.99), 39.6, 1e-12);
    assert_near(statistics_quantile(values, 3, 1), 40, 0);
    assert_near(values[0], 40, 0); /* the input stays as it was */
}

static int compare(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Orders that a selection could stumble over: random, with many equal ones, rising, falling, all equal, up and down, to infinity.
 * */
static double in_some_order(int order, size_t count, size_t i, uint32_t *random)
{
    *random = *random * 1664525 + 1013904223;
    switch (order) {
    case 0:
        return *random;
    case 1:
        return *random >> 29;
    case 2:
        return (double)i;
    case 3:
        return -(double)i;
    case 4:
        return 7;
    case 5:
        return (double)(i < count / 2 ? i : count - i);
    default:
        return *random >> 31 ? INFINITY : *random >> 30 ? -INFINITY : 1;
    }
}

static void quantiles_of_any_order_are_those_of_the_sorted(void **state)
{
    (void)state;
    enum { ORDERS = 7, MOST = 3000 };
    static double values[MOST], sorted[MOST];
    uint32_t random = 1;
    for (int order = 0; order < ORDERS; order++)
        for (size_t count = 1; count <= MOST; count = count < 40 ? count + 1 : count * 3 / 2) {
            for (size_t i = 0; i < count; i++)
                values[i] = sorted[i] = in_some_order(order, count, i, &random);
            qsort(sorted, count, sizeof(*sorted), compare);
            const size_t ranks[] = {0, count / 10, count / 2, count - 1 - count / 100, count - 1};
            for (size_t r = 0; r < sizeof(ranks) / sizeof(ranks[0]); r++) {
                const double quantile = count > 1 ? (double)ranks[r] / (double)(count - 1) : 0;
                const size_t below = (size_t)((double)(count - 1) * quantile); /* the rank itself, or one less by rounding */
                const double expected = sorted[ranks[r]], found = statistics_quantile(values, count, quantile);
                assert_true(below <= ranks[r] && ranks[r] - below <= 1);
                if (isfinite(expected) && isfinite(sorted[below + (below + 1 < count)]))
                    assert_near(found, expected, 1e-6 * (fabs(expected) + 1));
            }
        }
}

static void median_of_an_even_number_is_the_middle_of_two(void **state)
{
    (void)state;
    assert_near(statistics_median((const double[]){4, 1, 3, 2}, 4), 2.5, 0);
    assert_near(statistics_median((const double[]){7}, 1), 7, 0);
}

static void nothing_has_no_statistics(void **state)
{
    (void)state;
    assert_true(isnan(statistics_quantile(NULL, 0, 0.5)));
    assert_true(isnan(statistics_median(NULL, 0)));
    assert_true(isnan(statistics_mean(NULL, 0)));
    assert_true(isnan(statistics_sd((const double[]){1}, 1)));
    assert_true(isnan(statistics_quantile((const double[]){1}, 1, 1.5)));
    assert_true(isnan(statistics_quantile((const double[]){1}, 1, NAN)));
}

static void moments(void **state)
{
    (void)state;
    const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};
    assert_near(statistics_mean(values, 8), 5, 0);
    assert_near(statistics_sd(values, 8), sqrt(32.0 / 7), 1e-15);
}

/* Ranks of the published tables of sign-test intervals, and exact coverages 1 - 2 sum C(n, k) / 2^n. */
static void ranks_and_coverages_are_exact(void **state)
{
    (void)state;
    static const struct {
        size_t count, rank;
        double coverage;
    } rows[] = {
        {6, 1, 0.96875},
        {7, 1, 0.984375},
        {8, 1, 0.9921875},
        {9, 2, 0.9609375},
        {10, 2, 0.978515625},
        {11, 2, 0.98828125},
        {12, 3, 1 - 2 * (1 + 12 + 66) / 4096.0},
        {20, 6, 1 - 2 * (1 + 20 + 190 + 1140 + 4845 + 15504) / 1048576.0},
        {25, 8, 1 - 2 * (1 + 25 + 300 + 2300 + 12650 + 53130 + 177100 + 480700) / 33554432.0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t rank = 0;
        double coverage = 0;
        assert_true(statistics_median_ranks(rows[i].count, 0.95, &rank, &coverage));
        assert_int_equal(rank, rows[i].rank);
        assert_true(coverage == rows[i].coverage);
    }
}

static void ranks_keep_their_promise_for_every_count(void **state)
{
    (void)state;
    size_t before = 1;
    for (size_t count = 6; count <= 3000; count++) {
        size_t rank = 0;
        double coverage = 0;
        assert_true(statistics_median_ranks(count, 0.95, &rank, &coverage));
        assert_true(coverage >= 0.95 && coverage < 1);
        assert_true(rank == before || rank == before + 1); /* grows, never by more than one */
        assert_true(2 * rank <= count);
        before = rank;
    }
    size_t rank = 0; /* normal approximation: n/2 - 0.98 sqrt(n) */
    double coverage = 0;
    assert_true(statistics_median_ranks(1000000, 0.95, &rank, &coverage));
    assert_in_range(rank, 499019, 499021);
    assert_true(coverage >= 0.95 && coverage < 0.9503);
}

static void interval_of_six_is_from_least_to_greatest(void **state)
{
    (void)state;
    double low = 0, high = 0, coverage = 0;
    assert_true(statistics_median_interval((const double[]){26, 20, 22, 21, 25, 24}, 6, 0.95, &low, &high, &coverage));
    assert_near(low, 20, 0);
    assert_near(high, 26, 0);
    assert_true(coverage == 0.96875);
}

static void interval_of_ten_is_from_the_second_to_the_ninth(void **state)
{
    (void)state;
    double low = 0, high = 0;
    assert_true(statistics_median_interval((const double[]){9, 8, 7, 6, 5, 4, 3, 2, 1, 10}, 10, 0.95, &low, &high, NULL));
    assert_near(low, 2, 0);
    assert_near(high, 9, 0);
}

static void under_six_there_is_no_interval(void **state)
{
    (void)state;
    double low = -1, high = -1, coverage = -1;
    for (size_t count = 0; count < 6; count++)
        assert_false(statistics_median_interval((const double[]){1, 2, 3, 4, 5}, count, 0.95, &low, &high, &coverage));
    assert_true(low == -1 && high == -1 && coverage == -1);
    assert_true(statistics_median_interval((const double[]){1, 2, 3, 4, 5}, 5, 0.9, &low, &high, &coverage));
    assert_true(coverage == 0.9375);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_type_7),
        cmocka_unit_test(quantiles_of_any_order_are_those_of_the_sorted),
        cmocka_unit_test(median_of_an_even_number_is_the_middle_of_two),
        cmocka_unit_test(nothing_has_no_statistics),
        cmocka_unit_test(moments),
        cmocka_unit_test(ranks_and_coverages_are_exact),
        cmocka_unit_test(ranks_keep_their_promise_for_every_count),
        cmocka_unit_test(interval_of_six_is_from_least_to_greatest),
        cmocka_unit_test(interval_of_ten_is_from_the_second_to_the_ninth),
        cmocka_unit_test(under_six_there_is_no_interval),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
