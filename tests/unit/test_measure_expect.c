/* test_measure_expect.c: what a direction should show of itself, and how surely so many packets tell it. Golden values are from a
 * simulation of the chains (600 runs of 20,000 packets) and from an independent computation of Wilson's interval. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "base/clock.h"
#include "netem/impairment.h"
#include "netem/measure.h"
#include "netem/measure_internal.h"

static void assert_near(double found, double expected, double tolerance)
{
    if (!(fabs(found - expected) <= tolerance))
        fail_msg("%.9g is not within %.3g of %.9g", found, tolerance, expected);
}

static void intervals_are_wilsons(void **state)
{
    (void)state;
    double low, high;
    measure_interval(10, 1000, 1, &low, &high);
    assert_near(low, 0.004530055521673154, 1e-12);
    assert_near(high, 0.02192928608366554, 1e-12);
    measure_interval(10, 1000, 4, &low, &high); /* as 250 independent packets */
    assert_near(low, 0.0022615200777211138, 1e-12);
    assert_near(high, 0.043074857613382464, 1e-12);
    measure_interval(0, 1000, 1, &low, &high);
    assert_true(low == 0);
    assert_near(high, 0.0065911649034068286, 1e-12);
    measure_interval(1000, 1000, 1, &low, &high);
    assert_true(high == 1);
}

static void packets_that_tell_a_probability_from_half_and_twice_of_it(void **state)
{
    (void)state;
    assert_int_equal(measure_packets_needed(0.01, 1), 2628);
    assert_int_equal(measure_packets_needed(0.001, 1), 26514);
    assert_int_equal(measure_packets_needed(0.01, 3), 7883);
    assert_int_equal(measure_packets_needed(0, 1), 0);
    double low, high; /* with so many the interval around 1 % holds neither 0.5 nor 2 % */
    measure_interval(26, 2628, 1, &low, &high);
    assert_true(low > 0.005 && high < 0.02);
}

static struct measure_fates_expectation fates_of(const struct impairments *impairments)
{
    struct measure_fates_expectation expected;
    const struct direction asked = {.delay_ns = NS_PER_MS, .impairments = *impairments};
    measure_expect_fates(&asked, 1e5, 48, &expected);
    return expected;
}

static void losses_come_in_runs(void **state)
{
    (void)state;
    struct measure_fates_expectation expected = fates_of(&(struct impairments){.loss = 0.02});
    assert_near(expected.lost, 0.02, 1e-12);
    assert_near(expected.loss_run, 1 / 0.98, 1e-12);
    assert_true(expected.loss_variance == 1);
    expected = fates_of(&(struct impairments){.gilbert_elliott = {.p = 0.01, .r = 0.25, .loss_bad = 1}});
    assert_near(expected.lost, 1.0 / 26, 1e-12);
    assert_near(expected.loss_run, 4, 1e-12);
    assert_near(expected.loss_variance, 1.74 / 0.26, 1e-9);
    expected = fates_of(&(struct impairments){.gilbert_elliott = {.p = 0.01, .r = 0.25, .loss_bad = 0.8, .loss_good = 0.02}});
    assert_near(expected.lost, 0.05, 1e-12);
    assert_near(expected.loss_run, 1.6207455, 1e-6);
    assert_near(expected.loss_variance, 3.6963563, 1e-6);
    expected = fates_of(&(struct impairments){.loss = 0.05, .loss_correlation = 0.25});
    assert_near(expected.lost, 0.05, 1e-12);
    assert_near(expected.loss_run, 1 / (1 - (0.05 + 0.25 * 0.95)), 1e-9);
    assert_near(expected.loss_variance, 1.25 / 0.75, 1e-9);
}

static void copies_and_wrong_bits(void **state)
{
    (void)state;
    struct measure_fates_expectation expected = fates_of(&(struct impairments){.loss = 0.1, .duplicate = 0.5});
    assert_near(expected.lost, 0.1 * 0.5, 1e-12); /* what is lost and doubled goes on alone */
    assert_near(expected.duplicated, 0.5 * 0.81, 1e-12);
    /* In bursts the second copy fares as the first did, mostly; it takes the chain a step further, and only where nothing was lost:
     * the good state is left with 0.9 * 0.05 + 0.1 * (0.95 * 0.05 + 0.05 * 0.75), the bad one with 0.25. */
    expected = fates_of(&(struct impairments){.gilbert_elliott = {.p = 0.05, .r = 0.25, .loss_bad = 1}, .duplicate = 0.1});
    const double bad = 0.0535 / (0.0535 + 0.25);
    assert_near(expected.duplicated, (1 - bad) * 0.1 * 0.95, 1e-12);
    assert_near(expected.lost, bad * 0.9, 1e-12);
    assert_near(expected.loss_run, 1 / (1 - 0.75 * 0.9), 1e-12);
    expected = fates_of(&(struct impairments){.corrupt = 0.1});
    assert_near(expected.lost, 0.1 * 28 / 76, 1e-12); /* a wrong bit in the headers: the kernel drops it */
    assert_near(expected.corrupted, 0.1 * 48 / 76, 1e-12);
    assert_true(fates_of(&(struct impairments){0}).lost == 0);
}

/* What becomes of packets by the relay's own draws. */
struct simulated {
    double lost, twice, run;
};

static struct simulated simulate(const struct impairments *impairments)
{
    enum { PACKETS = 2000000 };
    struct impairment state;
    struct rng headers = rng_stream(7, 0, 0, RNG_LINK);
    uint32_t lost = 0, runs = 0, twice = 0;
    bool lost_before = false;
    impairment_begin(&state, impairments, 1, 0, 0);
    for (int i = 0; i < PACKETS; i++) {
        const bool doubled = impairment_duplicates(&state), drawn = impairment_loses(&state);
        int copies = !drawn || doubled, come = 0;
        if (doubled && !drawn && !impairment_loses(&state))
            copies = 2;
        twice += copies == 2;
        for (int c = 0; c < copies; c++)
            come += !impairment_corrupts(&state) || rng_uniform(&headers) > 28.0 / 76;
        lost += come == 0;
        runs += come == 0 && !lost_before;
        lost_before = come == 0;
    }
    return (struct simulated){(double)lost / PACKETS, (double)twice / PACKETS, (double)lost / runs};
}

/* A run of losses ends at a packet that was doubled, and goes on over one with wrong headers; a second copy moves the chain on. */
static void runs_of_what_never_comes(void **state)
{
    (void)state;
    static const struct impairments cases[] = {
        {.loss = 0.1, .corrupt = 0.2},
        {.gilbert_elliott = {.p = 0.05, .r = 0.25, .loss_bad = 1}},
        {.gilbert_elliott = {.p = 0.05, .r = 0.25, .loss_bad = 1}, .duplicate = 0.1},
        {.gilbert_elliott = {.p = 0.05, .r = 0.2, .loss_bad = 0.7, .loss_good = 0.02}, .duplicate = 0.5},
        {.gilbert_elliott = {.p = 0.05, .r = 0.25, .loss_bad = 1}, .duplicate = 0.3, .corrupt = 0.2},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct simulated found = simulate(&cases[i]);
        const struct measure_fates_expectation expected = fates_of(&cases[i]);
        assert_near(found.lost, expected.lost, 0.01 * expected.lost);
        assert_near(found.twice, expected.duplicated, 0.01 * expected.duplicated);
        assert_near(found.run, expected.loss_run, 0.01 * expected.loss_run);
    }
    assert_true(fates_of(&(struct impairments){0}).loss_run == 1);
}

static void overtaking_shows_among_near_ones(void **state)
{
    (void)state;
    struct measure_fates_expectation expected = fates_of(&(struct impairments){.reorder = 0.25}); /* ten are under way */
    assert_true(expected.reordering_shows);
    assert_near(expected.reordered, 0.25 * (1 - pow(0.25, 10)), 1e-12);
    const struct direction asked = {.delay_ns = NS_PER_MS, .impairments = {.reorder = 0.25}};
    measure_expect_fates(&asked, 2e6, 48, &expected);
    assert_false(expected.reordering_shows);
    static const uint32_t in_order[] = {0, 1, 2, 5, 7}, mixed[] = {3, 0, 1, 2, 6, 4, 5, 7}, backward[] = {2, 1, 0};
    assert_int_equal(measure_overtakers(in_order, 5), 0);
    assert_int_equal(measure_overtakers(mixed, 8), 2);
    assert_int_equal(measure_overtakers(backward, 3), 2);
    assert_int_equal(measure_overtakers(NULL, 0), 0);
}

static void delays_of_a_distribution(void **state)
{
    (void)state;
    struct measure_expectation expected;
    struct direction asked = {.delay_ns = 10 * NS_PER_MS,
                              .impairments = {.jitter_ns = NS_PER_MS, .jitter_distribution = JITTER_NORMAL}};
    measure_expect_delays(&asked, 1000, &expected);
    assert_near(expected.delay_mean_ns, 10e6, 1e3);
    assert_near(expected.delay_sd_ns, 1e6, 2e3);
    assert_near(expected.delay_sd_error_ns, 2.5758 * 1e6 / sqrt(2000), 1e3); /* normal: sd / sqrt(2 n) */
    assert_near(expected.quantile_low_ns[1], 10e6 - 0.1023e6, 1e3);          /* the median's ranks are 459 and 541 of 1000 */
    assert_near(expected.quantile_high_ns[1], 10e6 + 0.1023e6, 1e3);
    assert_true(expected.quantile_low_ns[3] < 12.326e6 && expected.quantile_high_ns[3] > 12.326e6);
    asked.impairments.jitter_distribution = JITTER_UNIFORM;
    measure_expect_delays(&asked, 1000, &expected);
    assert_near(expected.delay_sd_ns, 1e6 / sqrt(3), 1e3);
    asked.delay_ns = 0; /* half of all draws are cut off at no delay: mean 1/4, E[x^2] 1/6 */
    measure_expect_delays(&asked, 1000, &expected);
    assert_near(expected.delay_mean_ns, 0.25e6, 1e3);
    assert_near(expected.delay_sd_ns, 1e6 * sqrt(1.0 / 6 - 1.0 / 16), 1e3);
    assert_true(expected.quantile_low_ns[0] == 0 && expected.quantile_high_ns[0] == 0);
    const struct direction steady = {.delay_ns = 10 * NS_PER_MS};
    measure_expect_delays(&steady, 200, &expected);
    assert_true(expected.delay_mean_ns == 10e6 && expected.delay_sd_ns == 0 && expected.quantile_high_ns[3] == 10e6);
}

static void probes_are_as_far_apart_as_jitter_moves_them(void **state)
{
    (void)state;
    struct measure_path path = {.asked = {.impairments = {.jitter_ns = NS_PER_MS, .jitter_distribution = JITTER_UNIFORM}}};
    assert_int_equal(measure_probe_count(&path), 24); /* the survey */
    assert_int_equal(measure_probe_spacing_ns(&path), 1200 * NS_PER_US);
    path.time_ns = 10 * NS_PER_S;
    assert_near((double)measure_probe_spacing_ns(&path), 2e6, 1e4);
    assert_int_equal(measure_probe_count(&path), 2000);
    path.time_ns = NS_PER_S;
    assert_near(measure_probe_count(&path), 500, 5);
    path.time_ns = 10 * NS_PER_MS; /* too short for that: two dozen all the same */
    assert_int_equal(measure_probe_count(&path), 24);
    path = (struct measure_path){.time_ns = NS_PER_S};
    assert_int_equal(measure_probe_count(&path), 200);
}

static void probes_of_a_slow_link_do_not_queue(void **state)
{
    (void)state;
    struct measure_path path = {.asked = {.rate_bps = 10000}};
    assert_int_equal(measure_probe_spacing_ns(&path), 92800 * NS_PER_US); /* two frames' time: 16 bytes and headers of 42 */
    path.time_ns = 5 * NS_PER_S;
    assert_int_equal(measure_probe_count(&path), 53);
    path.asked.impairments = (struct impairments){.jitter_ns = NS_PER_MS, .jitter_distribution = JITTER_UNIFORM};
    assert_int_equal(measure_probe_spacing_ns(&path), 92800 * NS_PER_US);
    path.asked.rate_bps = 1000000;
    assert_near((double)measure_probe_spacing_ns(&path), 2e6, 1e4);
}

static void datagrams_take_half_of_the_rate(void **state)
{
    (void)state;
    enum { ROOM = 16 << 20 };
    struct measure_path path = {.asked = {.rate_bps = 1000000, .queue_bytes = 150000, .impairments = {.loss = 0.01}},
                                .time_ns = 5 * NS_PER_S};
    struct measure_pace pace = measure_fates_pace(&path, ROOM);
    assert_int_equal(pace.batch, 1);
    assert_int_equal(pace.tick_ns, 2 * 90 * 8 * 1000); /* 90 bytes at 1 Mbit/s take 720 us */
    assert_int_equal(pace.count, 3416);                /* the 2,628 that are needed, and 30 % */
    path.asked.rate_bps = 100000000;
    pace = measure_fates_pace(&path, ROOM);
    assert_int_equal(pace.batch, 20);
    assert_int_equal(pace.tick_ns, NS_PER_MS);
    assert_true(8.0 * 90 * pace.batch / ((double)pace.tick_ns / 1e9) <= 50e6);
    path.asked.queue_packets = 10; /* no more at once than half of the queue */
    assert_int_equal(measure_fates_pace(&path, ROOM).batch, 5);
    path.asked.impairments.reorder = 0.1; /* one by one, so that they are apart */
    assert_int_equal(measure_fates_pace(&path, ROOM).batch, 1);
    /* What is under way while this thread sleeps for 20 ms must find room: 92 datagrams in 220 ms. */
    const struct measure_path far = {.asked = {.delay_ns = 200 * NS_PER_MS}, .time_ns = NS_PER_S};
    assert_near((double)measure_fates_pace(&far, 212992).tick_ns, 220e6 / 92, 1);
    const struct measure_path rare = {.asked = {.impairments = {.loss = 0.001}}};
    assert_int_equal(measure_fates_pace(&rare, ROOM).count, 2000); /* the survey: 100 ms */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_are_wilsons),
        cmocka_unit_test(packets_that_tell_a_probability_from_half_and_twice_of_it),
        cmocka_unit_test(losses_come_in_runs),
        cmocka_unit_test(copies_and_wrong_bits),
        cmocka_unit_test(runs_of_what_never_comes),
        cmocka_unit_test(overtaking_shows_among_near_ones),
        cmocka_unit_test(delays_of_a_distribution),
        cmocka_unit_test(probes_are_as_far_apart_as_jitter_moves_them),
        cmocka_unit_test(probes_of_a_slow_link_do_not_queue),
        cmocka_unit_test(datagrams_take_half_of_the_rate),
    };
    return cmocka_run_group_tests_name("measure expectations", tests, NULL, NULL);
}
