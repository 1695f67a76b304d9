/* test_comparison.c: two samples compared, against SciPy's and NumPy's values in tests/golden/statistics.txt (see
 * tests/golden/make-statistics.py), and against what follows from the definitions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "results/comparison.h"

enum { VALUES_MAX = 400 };

struct golden {
    FILE *file;
    double first[VALUES_MAX], second[VALUES_MAX];
    struct sample base, candidate;
};

static struct sample read_sample(FILE *file, double *values)
{
    struct sample sample = {.values = values};
    assert_int_equal(fscanf(file, "%zu", &sample.count), 1);
    assert_in_range(sample.count, 1, VALUES_MAX);
    for (size_t i = 0; i < sample.count; i++)
        assert_int_equal(fscanf(file, "%lf", &values[i]), 1);
    return sample;
}

static double read_number(FILE *file)
{
    double value;
    assert_int_equal(fscanf(file, "%lf", &value), 1);
    return value;
}

/* Relative: sums and erfc() may be rounded in another order. */
static void assert_same(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-9 * fmax(1e-300, fabs(expected)) + 1e-300))
        fail_msg("found %.17g, expected %.17g", found, expected);
}

static void check_mann_whitney(struct golden *golden)
{
    struct mann_whitney found = comparison_mann_whitney(golden->base, golden->candidate);
    assert_same(found.u, read_number(golden->file));
    assert_same(found.p, read_number(golden->file));
    assert_int_equal(found.exact, golden->base.count <= 20 && golden->candidate.count <= 20);
}

static void check_shift(struct golden *golden)
{
    assert_same(comparison_shift(golden->base, golden->candidate), read_number(golden->file));
}

static void check_delta(struct golden *golden)
{
    assert_same(comparison_delta(golden->base, golden->candidate), read_number(golden->file));
}

static void check_bootstrap(struct golden *golden)
{
    double confidence = read_number(golden->file);
    uint64_t seed;
    assert_int_equal(fscanf(golden->file, "%" SCNu64, &seed), 1);
    struct comparison_interval ratio, difference;
    comparison_bootstrap(golden->base, golden->candidate, confidence, seed, &ratio, &difference);
    assert_same(ratio.low, read_number(golden->file));
    assert_same(ratio.high, read_number(golden->file));
    assert_same(difference.low, read_number(golden->file));
    assert_same(difference.high, read_number(golden->file));
}

static void check_holm(struct golden *golden)
{
    double adjusted[VALUES_MAX];
    comparison_holm(golden->base.values, golden->base.count, adjusted);
    for (size_t i = 0; i < golden->candidate.count; i++)
        assert_same(adjusted[i], golden->candidate.values[i]);
}

static void golden_values_of_other_programs(void **state)
{
    (void)state;
    static const struct {
        const char *kind;
        void (*check)(struct golden *);
        int least;
    } kinds[] = {{"mann-whitney", check_mann_whitney, 18},
                 {"shift", check_shift, 12},
                 {"delta", check_delta, 12},
                 {"bootstrap", check_bootstrap, 3},
                 {"holm", check_holm, 3}};
    enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };
    int seen[KINDS] = {0};
    cleanup(close_file) FILE *file = fopen("tests/golden/statistics.txt", "re");
    assert_non_null(file);
    struct golden golden = {.file = file};
    char kind[32];
    while (fscanf(file, "%31s", kind) == 1) {
        size_t found = 0;
        while (found < KINDS && strcmp(kinds[found].kind, kind) != 0)
            found++;
        assert_in_range(found, 0, KINDS - 1);
        golden.base = read_sample(file, golden.first);
        golden.candidate = read_sample(file, golden.second);
        kinds[found].check(&golden);
        seen[found]++;
    }
    for (int i = 0; i < KINDS; i++)
        assert_true(seen[i] >= kinds[i].least);
}

#define SAMPLE(...) ((struct sample){(const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double)})

static void under_four_a_side_nothing_is_significant(void **state)
{
    (void)state;
    assert_true(comparison_least_p(3, 3) > 0.05); /* 2 / 20 */
    assert_true(comparison_least_p(4, 4) < 0.05); /* 2 / 70 */
    assert_same(comparison_least_p(6, 6), 2.0 / 924);
    assert_same(comparison_least_p(4, 6), 2.0 / 210);
    assert_same(comparison_mann_whitney(SAMPLE(1, 2, 3), SAMPLE(7, 8, 9)).p, 0.1);
    assert_same(comparison_mann_whitney(SAMPLE(1, 2, 3, 4), SAMPLE(7, 8, 9, 10)).p, 2.0 / 70);
    assert_true(comparison_least_p(5000, 5000) >= 0);
}

static void under_six_a_side_there_is_no_interval(void **state)
{
    (void)state;
    struct comparison_interval ratio, difference;
    comparison_bootstrap(SAMPLE(1, 2, 3, 4, 5), SAMPLE(1, 2, 3, 4, 5, 6), 0.95, 1, &ratio, &difference);
    assert_true(isnan(ratio.low) && isnan(ratio.high) && isnan(difference.low) && isnan(difference.high));
    comparison_bootstrap(SAMPLE(1, 2, 3, 4, 5, 6), SAMPLE(1, 2, 3, 4, 5, 6), 0.95, 1, &ratio, &difference);
    assert_true(ratio.low < 1 && ratio.high > 1 && difference.low < 0 && difference.high > 0);
}

static void what_is_not_above_zero_has_no_ratio(void **state)
{
    (void)state;
    struct comparison_interval ratio, difference;
    comparison_bootstrap(SAMPLE(0, 0, 0, 0, 0, 0), SAMPLE(1, 1, 1, 1, 1, 1), 0.95, 1, &ratio, &difference);
    assert_true(isnan(ratio.low) && isnan(ratio.high));
    assert_true(difference.low == 1 && difference.high == 1);
}

static void nothing_compares_with_nothing(void **state)
{
    (void)state;
    const struct sample none = {0};
    assert_true(isnan(comparison_mann_whitney(none, SAMPLE(1)).p));
    assert_true(isnan(comparison_mann_whitney(SAMPLE(1), none).p));
    assert_true(isnan(comparison_shift(none, SAMPLE(1))));
    assert_true(isnan(comparison_delta(SAMPLE(1), none)));
}

static void an_interval_depends_on_its_seed_alone(void **state)
{
    (void)state;
    const struct sample base = SAMPLE(10, 11, 12, 13, 14, 15, 16), candidate = SAMPLE(11, 12.5, 13, 14, 15.5, 16);
    struct comparison_interval first, again, other, difference;
    comparison_bootstrap(base, candidate, 0.9, 7, &first, &difference);
    comparison_bootstrap(base, candidate, 0.9, 7, &again, &difference);
    comparison_bootstrap(base, candidate, 0.8, 7, &other, &difference);
    assert_true(first.low == again.low && first.high == again.high);
    assert_true(other.low >= first.low && other.high <= first.high && (other.low > first.low || other.high < first.high));
    assert_same(base.values[0], 10); /* the input stays as it was */
}

static void long_samples_are_thinned_for_the_shift(void **state)
{
    (void)state;
    enum { MANY = 5000 };
    static double base[MANY], candidate[MANY];
    for (int i = 0; i < MANY; i++) {
        base[(i * 7) % MANY] = i;
        candidate[(i * 11) % MANY] = i + 100;
    }
    assert_true(fabs(comparison_shift((struct sample){base, MANY}, (struct sample){candidate, MANY}) - 100) < 5);
}

static void what_is_no_test_does_not_count_for_holm(void **state)
{
    (void)state;
    double adjusted[3];
    comparison_holm((const double[]){0.02, NAN, 0.03}, 3, adjusted);
    assert_same(adjusted[0], 0.04);
    assert_true(isnan(adjusted[1]));
    assert_same(adjusted[2], 0.04); /* never below the one before it */
}

static void the_noise_floor_of_equal_values_is_nothing(void **state)
{
    (void)state;
    struct comparison_noise noise = comparison_noise_floor(SAMPLE(5, 5, 5, 5, 5, 5, 5, 5), 0.95, 1);
    assert_true(noise.ratio == 0 && noise.difference == 0);
    noise = comparison_noise_floor(SAMPLE(5, 5, 5, 5, 5, 5, 5), 0.95, 1);
    assert_true(isnan(noise.ratio) && isnan(noise.difference)); /* under four an arm */
}

/* Four of 10 and four of 11: of C(8, 4) = 70 splits two part them (ratio 1.1), and 32 have three and one (the medians are then 10
 * and 11 as well); in the other 36 both medians are 10.5. */
static void the_noise_floor_is_a_quantile_over_splits(void **state)
{
    (void)state;
    const struct sample values = SAMPLE(10, 11, 10, 11, 10, 11, 10, 11);
    assert_same(comparison_noise_floor(values, 0.95, 1).ratio, 0.1 + 1e-17);
    assert_same(comparison_noise_floor(values, 0.95, 1).difference, 1);
    assert_true(comparison_noise_floor(values, 0.4, 1).difference == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_values_of_other_programs),
        cmocka_unit_test(under_four_a_side_nothing_is_significant),
        cmocka_unit_test(under_six_a_side_there_is_no_interval),
        cmocka_unit_test(what_is_not_above_zero_has_no_ratio),
        cmocka_unit_test(nothing_compares_with_nothing),
        cmocka_unit_test(an_interval_depends_on_its_seed_alone),
        cmocka_unit_test(long_samples_are_thinned_for_the_shift),
        cmocka_unit_test(what_is_no_test_does_not_count_for_holm),
        cmocka_unit_test(the_noise_floor_of_equal_values_is_nothing),
        cmocka_unit_test(the_noise_floor_is_a_quantile_over_splits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
