/* test_impairment.c: tables of quantiles against closed forms, rates of loss and their bursts, repeatability. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "netem/impairment.h"

enum { PACKETS = 100000 };
#define NORMAL_99 2.5758 /* standard deviations on either side that hold 99 % */

static struct impairment begun(const struct impairments *asked, uint64_t seed)
{
    struct impairment state;
    impairment_begin(&state, asked, seed, 3, 1);
    return state;
}

static void assert_share(uint64_t count, uint64_t of, double probability)
{
    double expected = (double)of * probability, deviation = sqrt(expected * (1 - probability));
    if (fabs((double)count - expected) > NORMAL_99 * deviation)
        fail_msg("%llu of %llu, expected %.1f +- %.1f", (unsigned long long)count, (unsigned long long)of, expected,
                 NORMAL_99 * deviation);
}

/* --- tables
 * -------------------------------------------------------------------------------------------------------------------------- */

static void quantiles_are_the_closed_forms(void **state)
{
    (void)state;
    static const double probabilities[] = {0.0002, 0.01, 0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.9998};
    for (size_t i = 0; i < sizeof(probabilities) / sizeof(probabilities[0]); i++) {
        double u = probabilities[i], z = impairment_quantile(JITTER_NORMAL, u);
        assert_float_equal(0.5 * erfc(-z / sqrt(2)), u, 1e-14); /* the normal distribution's own function, by libm */
        assert_float_equal(impairment_quantile(JITTER_UNIFORM, u), 2 * u - 1, 1e-15);
        double pareto = impairment_quantile(JITTER_PARETO, u) * sqrt(0.75) + 1.5;
        assert_float_equal(1 - pow(pareto, -3), u, 1e-12);
        double lognormal = impairment_quantile(JITTER_LOGNORMAL, u) * sqrt((exp(0.25) - 1) * exp(0.25)) + exp(0.125);
        assert_float_equal(0.5 * erfc(-2 * log(lognormal) / sqrt(2)), u, 1e-12);
    }
    assert_float_equal(impairment_quantile(JITTER_NORMAL, 0.975), 1.959963984540054, 1e-15); /* published */
}

static void tables_are_rounded_and_cut_off(void **state)
{
    (void)state;
    static const struct {
        enum jitter_kind distribution;
        double mean, deviation; /* after the cut: integrals over the quantile functions */
    } expected[] = {{JITTER_UNIFORM, 0, 1 / sqrt(3)},
                    {JITTER_NORMAL, 0, 1},
                    {JITTER_PARETO, -0.02343, 0.7375},
                    {JITTER_LOGNORMAL, -0.00623, 0.9672}};
    for (size_t t = 0; t < sizeof(expected) / sizeof(expected[0]); t++) {
        const struct impairments asked = {.jitter_distribution = expected[t].distribution};
        struct impairment_table table = impairment_table_for(&asked);
        double sum = 0, squares = 0;
        assert_int_equal(table.size, IMPAIRMENT_TABLE_SIZE);
        for (int i = 0; i < table.size; i++) {
            double value = (double)table.entries[i] / IMPAIRMENT_SCALE;
            double quantile = impairment_quantile(asked.jitter_distribution, (i + 0.5) / table.size);
            assert_float_equal(value, fmin(quantile, (double)INT16_MAX / IMPAIRMENT_SCALE), 0.51 / IMPAIRMENT_SCALE);
            assert_true(i == 0 || table.entries[i] >= table.entries[i - 1]);
            sum += value;
            squares += value * value;
        }
        assert_float_equal(sum / table.size, expected[t].mean, 0.0005);
        assert_float_equal(sqrt(squares / table.size), expected[t].deviation, 0.001);
    }
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* What is drawn has the quantiles that were asked, with correlation as without. */
static void drawn_jitter_has_the_quantiles(void **state)
{
    (void)state;
    static int64_t drawn[PACKETS];
    static const double correlations[] = {0, 0.5};
    for (int d = 0; d < JITTER_TABLE; d++)
        for (size_t c = 0; c < 2; c++) {
            const struct impairments asked = {
                .jitter_ns = NS_PER_MS, .jitter_distribution = (enum jitter_kind)d, .jitter_correlation = correlations[c]};
            struct impairment impairment = begun(&asked, 5);
            for (int i = 0; i < PACKETS; i++)
                drawn[i] = impairment_jitter_ns(&impairment);
            qsort(drawn, PACKETS, sizeof(drawn[0]), compare);
            assert_true(drawn[PACKETS - 1] <= impairment_jitter_most_ns(&asked));
            for (int q = 5; q < 100; q += 5) {
                double expected = 1e6 * impairment_quantile(asked.jitter_distribution, q / 100.0);
                assert_float_equal((double)drawn[PACKETS / 100 * q], expected, 0.03e6);
            }
        }
}

static void jitter_is_as_correlated_as_asked(void **state)
{
    (void)state;
    static const double correlations[] = {0, 0.3, 0.9};
    for (size_t c = 0; c < 3; c++) {
        const struct impairments asked = {
            .jitter_ns = NS_PER_MS, .jitter_distribution = JITTER_NORMAL, .jitter_correlation = correlations[c]};
        struct impairment impairment = begun(&asked, 6);
        double previous = (double)impairment_jitter_ns(&impairment), products = 0, squares = 0;
        for (int i = 0; i < PACKETS; i++) {
            double drawn = (double)impairment_jitter_ns(&impairment);
            products += drawn * previous;
            squares += drawn * drawn;
            previous = drawn;
        }
        assert_float_equal(products / squares, correlations[c], 0.01);
    }
}

static void a_table_from_a_file(void **state)
{
    (void)state;
    static int16_t entries[IMPAIRMENT_TABLE_MOST];
    struct err err;
    const char *text = "# mu 0 sigma 1\n-32768 -8192\t0 # middle\n+8192 32767";
    assert_int_equal(impairment_table_parse(text, strlen(text), entries, &err), 5);
    static const int16_t expected[] = {-32768, -8192, 0, 8192, 32767};
    assert_memory_equal(entries, expected, sizeof(expected));
    static const char *const bad[] = {"",    "# nothing\n", "1 2 x", "32768", "-32769",
                                      "1.5", "--1",         "-",     "1,2",   "99999999999999999999"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(impairment_table_parse(bad[i], strlen(bad[i]), entries, &err), -ERR_USAGE);
    assert_int_equal(impairment_table_parse("1\n2\nthree", 9, entries, &err), -ERR_USAGE);
    assert_non_null(strstr(err.text, "line 3"));
    char *many = malloc(2 * (IMPAIRMENT_TABLE_MOST + 1));
    for (int i = 0; i <= IMPAIRMENT_TABLE_MOST; i++)
        memcpy(many + 2 * i, "7 ", 2);
    assert_int_equal(impairment_table_parse(many, 2 * IMPAIRMENT_TABLE_MOST, entries, &err), IMPAIRMENT_TABLE_MOST);
    assert_int_equal(impairment_table_parse(many, 2 * (IMPAIRMENT_TABLE_MOST + 1), entries, &err), -ERR_USAGE);
    free(many);

    const struct impairments asked = {
        .jitter_ns = 8192000, .jitter_distribution = JITTER_TABLE, .jitter_table = expected, .jitter_table_size = 5};
    struct impairment impairment = begun(&asked, 1);
    int seen[5] = {0};
    for (int i = 0; i < 1000; i++) {
        int64_t drawn = impairment_jitter_ns(&impairment);
        int at = 0;
        while (at < 5 && drawn != expected[at] * INT64_C(1000))
            at++;
        assert_in_range(at, 0, 4);
        seen[at]++;
    }
    for (int i = 0; i < 5; i++)
        assert_in_range(seen[i], 150, 250);
    assert_int_equal(impairment_jitter_most_ns(&asked), 32767000);
}

/* --- probabilities
 * ------------------------------------------------------------------------------------------------------------------- */

static void shares_are_as_asked(void **state)
{
    (void)state;
    static const double probabilities[] = {0.0001, 0.001, 0.01, 0.05, 0.5, 0.99};
    for (size_t i = 0; i < sizeof(probabilities) / sizeof(probabilities[0]); i++) {
        double p = probabilities[i];
        const struct impairments asked = {.loss = p, .duplicate = p, .corrupt = p, .reorder = p};
        struct impairment impairment = begun(&asked, 100 + i);
        uint64_t lost = 0, duplicated = 0, corrupted = 0, reordered = 0;
        for (int packet = 0; packet < PACKETS; packet++) {
            duplicated += impairment_duplicates(&impairment);
            lost += impairment_loses(&impairment);
            corrupted += impairment_corrupts(&impairment);
            reordered += impairment_reorders(&impairment);
        }
        assert_share(lost, PACKETS, p);
        assert_share(duplicated, PACKETS, p);
        assert_share(corrupted, PACKETS, p);
        assert_share(reordered, PACKETS, p);
    }
    const struct impairments always = {.loss = 1}, never = {0};
    struct impairment all = begun(&always, 1), none = begun(&never, 1);
    for (int packet = 0; packet < 1000; packet++) {
        assert_true(impairment_loses(&all));
        assert_false(impairment_loses(&none) || impairment_duplicates(&none) || impairment_corrupts(&none) ||
                     impairment_reorders(&none) || impairment_jitter_ns(&none) != 0);
    }
}

/* Losses in either state and moves between them are binomial, each by itself; how long a state lasts and what is lost in all
 * follows. */
static void gilbert_elliott_moves_and_loses_as_asked(void **state)
{
    (void)state;
    const struct gilbert_elliott chain = {.p = 0.01, .r = 0.2, .loss_bad = 0.7, .loss_good = 0.002};
    const struct impairments asked = {.gilbert_elliott = chain};
    struct impairment impairment = begun(&asked, 42);
    uint64_t found[2] = {0}, moved[2] = {0}, lost[2] = {0};
    for (int packet = 0; packet < PACKETS; packet++) {
        bool bad = impairment.bad;
        found[bad]++;
        lost[bad] += impairment_loses(&impairment);
        moved[bad] += impairment.bad != bad;
    }
    assert_share(moved[false], found[false], chain.p);
    assert_share(moved[true], found[true], chain.r);
    assert_share(lost[false], found[false], chain.loss_good);
    assert_share(lost[true], found[true], chain.loss_bad);
    /* The share of the bad state is p / (p + r); its variance is the binomial one x (1 + a) / (1 - a) with a = 1 - p - r. */
    double stationary = chain.p / (chain.p + chain.r), a = 1 - chain.p - chain.r;
    double deviation = sqrt(PACKETS * stationary * (1 - stationary) * (1 + a) / (1 - a));
    assert_float_equal((double)found[true], PACKETS * stationary, NORMAL_99 * deviation);
}

static void correlated_loss_keeps_its_rate(void **state)
{
    (void)state;
    const struct impairments asked = {.loss = 0.05, .loss_correlation = 0.25};
    struct gilbert_elliott chain = impairment_bursts(&asked);
    assert_float_equal(chain.p / (chain.p + chain.r), 0.05, 1e-12);
    struct impairment impairment = begun(&asked, 7);
    uint64_t lost = 0, both = 0;
    bool previous = false;
    for (int packet = 0; packet < PACKETS; packet++) {
        bool loses = impairment_loses(&impairment);
        lost += loses;
        both += loses && previous;
        previous = loses;
    }
    assert_float_equal((double)lost, PACKETS * 0.05, NORMAL_99 * sqrt(PACKETS * 0.05 * 0.95 * 1.25 / 0.75));
    assert_share(both, lost, 0.05 + 0.25 * 0.95); /* a loss follows a loss with p + c (1 - p) */
    const struct impairments plain = {.loss = 0.05};
    assert_true(impairment_bursts(&plain).p == 0);
}

static uint64_t netem_seed(uint64_t seed, uint32_t link, uint32_t direction)
{
    struct rng seeds = impairment_netem_seeds(seed, link, direction);
    return rng_u64(&seeds);
}

static void seeds_repeat_and_directions_differ(void **state)
{
    (void)state;
    const struct impairments asked = {.loss = 0.5};
    struct impairment streams[4];
    impairment_begin(&streams[0], &asked, 9, 0, 0);
    impairment_begin(&streams[1], &asked, 9, 0, 0);
    impairment_begin(&streams[2], &asked, 9, 0, 1);
    impairment_begin(&streams[3], &asked, 9, 1, 0);
    int alike[4] = {0};
    for (int packet = 0; packet < 1000; packet++) {
        bool loses = impairment_loses(&streams[0]);
        for (int i = 1; i < 4; i++)
            alike[i] += impairment_loses(&streams[i]) == loses;
    }
    assert_int_equal(alike[1], 1000);
    assert_in_range(alike[2], 420, 580);
    assert_in_range(alike[3], 420, 580);
    assert_true(netem_seed(9, 0, 0) == netem_seed(9, 0, 0));
    assert_true(netem_seed(9, 0, 0) != netem_seed(9, 0, 1));
}

/* A change asks for something else of the same stream: one to the same as before changes nothing. */
static void a_change_does_not_begin_anew(void **state)
{
    (void)state;
    const struct impairments asked = {.jitter_ns = 1000,
                                      .jitter_distribution = JITTER_NORMAL,
                                      .jitter_correlation = 0.5,
                                      .gilbert_elliott = {.p = 0.2, .r = 0.2, .loss_bad = 1}},
                             other = {.loss = 1}, nothing = {0};
    struct impairment straight, changed;
    impairment_begin(&straight, &asked, 9, 0, 0);
    impairment_begin(&changed, &asked, 9, 0, 0);
    for (int packet = 0; packet < 1000; packet++) {
        assert_true(impairment_loses(&straight) == impairment_loses(&changed));
        assert_int_equal(impairment_jitter_ns(&straight), impairment_jitter_ns(&changed));
        impairment_change(&changed, &asked);
    }
    impairment_change(&changed, &other);
    assert_true(impairment_loses(&changed) && impairment_jitter_ns(&changed) == 0);
    impairment_change(&changed, &nothing);
    for (int packet = 0; packet < 1000; packet++)
        assert_false(impairment_loses(&changed) || impairment_duplicates(&changed) || impairment_jitter_ns(&changed) != 0);
}

static void probabilities_are_counted_as_netem_does(void **state)
{
    (void)state;
    assert_int_equal(impairment_probability(0), 0);
    assert_int_equal(impairment_probability(1), UINT32_MAX);
    assert_int_equal(impairment_probability(0.01), 42949673);
    assert_int_equal(impairment_probability(0.5), UINT32_C(2147483648));
}

static void an_engine_is_needed_for_any_of_them(void **state)
{
    (void)state;
    const struct direction plain = {.rate_bps = 1000000}, delayed = {.delay_ns = 1}, later = {.changes = true};
    assert_true(impairment_needs_engine(&later)); /* nothing yet */
    assert_false(impairment_needs_engine(&plain));
    assert_true(impairment_needs_engine(&delayed));
    const struct impairments each[] = {{.jitter_ns = 1}, {.loss = 1e-9},   {.gilbert_elliott = {.p = 0.1}},
                                       {.duplicate = 1}, {.corrupt = 0.1}, {.reorder = 0.1}};
    for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
        const struct direction direction = {.impairments = each[i]};
        assert_true(impairment_needs_engine(&direction));
        assert_true(impairment_any_probability(&each[i]) == (i > 0));
        for (size_t other = 0; other < sizeof(each) / sizeof(each[0]); other++)
            assert_true(impairment_same(&each[i], &each[other]) == (i == other));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_the_closed_forms),
        cmocka_unit_test(tables_are_rounded_and_cut_off),
        cmocka_unit_test(drawn_jitter_has_the_quantiles),
        cmocka_unit_test(jitter_is_as_correlated_as_asked),
        cmocka_unit_test(a_table_from_a_file),
        cmocka_unit_test(shares_are_as_asked),
        cmocka_unit_test(gilbert_elliott_moves_and_loses_as_asked),
        cmocka_unit_test(correlated_loss_keeps_its_rate),
        cmocka_unit_test(seeds_repeat_and_directions_differ),
        cmocka_unit_test(a_change_does_not_begin_anew),
        cmocka_unit_test(probabilities_are_counted_as_netem_does),
        cmocka_unit_test(an_engine_is_needed_for_any_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
