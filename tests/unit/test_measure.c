/* test_measure.c: how measurements of a link become figures and verdicts, on made-up arrivals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "netem/measure.h"
#include "netem/measure_internal.h"

enum { SEGMENT = 1448, MOST = 20000, MTU = 1500 };
#define GBIT UINT64_C(1000000000)
#define EVENLY_NS 12000 /* between segments */

static struct measure_arrival arrivals[MOST];

static double even_rate(void)
{
    return 8e9 * SEGMENT / EVENLY_NS;
}

static struct measure_path path_of(uint64_t rate_bps, int64_t delay_ns)
{
    return (struct measure_path){
        .asked = {.rate_bps = rate_bps, .delay_ns = delay_ns, .queue_bytes = 1500000}, .round_trip_ns = 2 * delay_ns, .mtu = MTU};
}

static void steady_stream(void **state)
{
    (void)state;
    for (int i = 0; i < 5000; i++)
        arrivals[i] = (struct measure_arrival){.time_ns = i * EVENLY_NS, .bytes = (uint64_t)(i + 1) * SEGMENT};
    double bps = measure_stretch_bps(arrivals, 5000, 20000, NS_PER_MS);
    assert_true(fabs(bps / even_rate() - 1) < 1e-9);
    assert_true(measure_stretch_bps(arrivals, 0, 0, NS_PER_MS) == 0);
    assert_true(measure_stretch_bps(arrivals, 1, 0, NS_PER_MS) == 0);
}

/* tbf's bucket: 100 segments at once, then the rate. */
static void first_burst_is_left_out(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++)
        arrivals[i] = (struct measure_arrival){.time_ns = i < 100 ? 0 : (i - 99) * EVENLY_NS, .bytes = (uint64_t)(i + 1) * SEGMENT};
    double bps = measure_stretch_bps(arrivals, 1000, 100 * SEGMENT, NS_PER_MS);
    assert_true(fabs(bps / even_rate() - 1) < 1e-9);
    bps = measure_stretch_bps(arrivals, 300, 200 * SEGMENT, NS_PER_MS); /* more than a quarter */
    assert_true(fabs(bps / even_rate() - 1) < 1e-9);
}

/* A long path: bursts of 10, 20, 40 ... segments at the link's rate, one a round trip of 100 ms. */
static void slow_start_on_a_long_path(void **state)
{
    (void)state;
    int count = 0;
    for (int round = 0; round < 8; round++)
        for (int i = 0; i < 10 << round; i++, count++)
            arrivals[count] = (struct measure_arrival){.time_ns = round * 100 * NS_PER_MS + i * EVENLY_NS,
                                                       .bytes = (uint64_t)(count + 1) * SEGMENT};
    double bps = measure_stretch_bps(arrivals, count, 20000, NS_PER_MS);
    assert_true(fabs(bps / even_rate() - 1) < 1e-9);
}

/* The reader was kept away for 20 ms and then found everything: over the whole transfer this evens out. */
static void stalled_reader_evens_out(void **state)
{
    (void)state;
    int count = 0;
    for (int i = 0; i < 5000; i++) {
        bool away = i >= 2500 && i < 2500 + 20 * NS_PER_MS / EVENLY_NS;
        if (!away)
            arrivals[count++] = (struct measure_arrival){.time_ns = i * EVENLY_NS, .bytes = (uint64_t)(i + 1) * SEGMENT};
    }
    double bps = measure_stretch_bps(arrivals, count, 20000, INT64_MAX);
    assert_true(fabs(bps / even_rate() - 1) < 1e-9);
}

static void pauses_count_only_where_slow_start_is_long(void **state)
{
    (void)state;
    struct measure_path lan = path_of(GBIT, 250 * NS_PER_US), wan = path_of(GBIT, 50 * NS_PER_MS),
                        slow = path_of(1000000, NS_PER_MS);
    assert_int_equal(measure_pause_ns(&lan, 22500), INT64_MAX);
    assert_int_equal(measure_pause_ns(&wan, 22500), NS_PER_MS);
    assert_int_equal(measure_pause_ns(&slow, 3512), INT64_MAX);
    struct measure_path slow_wan = path_of(1000000, NS_PER_S);
    assert_int_equal(measure_pause_ns(&slow_wan, 2500), 80 * NS_PER_MS); /* four buckets' time at 1 Mbit/s */
}

static void transfers_fit_the_rate(void **state)
{
    (void)state;
    struct measure_path path = path_of(GBIT, 0);
    assert_int_equal(measure_transfer_bytes(&path), 7500000); /* 60 ms */
    path = path_of(GBIT, 50 * NS_PER_MS);
    assert_int_equal(measure_transfer_bytes(&path), 45000000); /* and three round trips */
    path = path_of(10000000, 0);
    assert_int_equal(measure_transfer_bytes(&path), 200000); /* the least */
    path = path_of(1000000, 0);
    assert_int_equal(measure_transfer_bytes(&path), 125000); /* one second */
    path = path_of(10000, 0);
    assert_int_equal(measure_transfer_bytes(&path), 5 * MTU); /* of 1250 bytes there would be one arrival, and no stretch */
    path = path_of(0, 0);
    assert_true(measure_transfer_bytes(&path) > 1000000);
}

static void a_duration_is_the_sum_of_its_parts(void **state)
{
    (void)state;
    const struct direction slow = {.rate_bps = 10000, .queue_bytes = 150000}, fast = {.rate_bps = 100000000, .queue_bytes = 150000};
    const struct link links[] = {{.direction = {slow, slow}}, {.direction = {fast, fast}}};
    const struct topology topology = {.links = links, .link_count = 2, .mtu = MTU};
    struct measure_effort first = {.sample = 1}, all = {0}, thorough = {.time_ns = 5 * NS_PER_S};
    /* 24 probes at half of the rate, five frames, and until the bucket is full. */
    assert_true(fabs((double)measure_expected_ns(&topology, &first) / (2 * (24 * 92.8e6 + 6e9 + 0.302e9)) - 1) < 0.01);
    assert_true(measure_expected_ns(&topology, &all) - measure_expected_ns(&topology, &first) < NS_PER_S);
    /* Each slow direction: the time for delays, for fates, and the transfer; then the drift of all. */
    int64_t took_ns = measure_expected_ns(&topology, &thorough);
    assert_true(took_ns > 2 * 16 * NS_PER_S + 5 * NS_PER_S && took_ns < 2 * 17 * NS_PER_S + 2 * 2 * NS_PER_S + 5 * NS_PER_S);
    assert_true(measure_seconds_most(2, &thorough, measure_longest_round_trip_ns(&topology)) * NS_PER_S > 2 * took_ns);
}

static void statistics_of_delays(void **state)
{
    (void)state;
    int64_t delays[] = {9000, 4000, 4000, 2000, 5000, 7000, 5000, 4000};
    struct direction_check check = {0};
    measure_delay_statistics(delays, 8, &check);
    assert_true(check.delay_mean_ns == 5000 && check.delay_min_ns == 2000 && check.delay_max_ns == 9000);
    assert_true(fabs(check.delay_sd_ns - 2138.0899) < 1e-3);
    assert_true(check.delay_quantiles_ns[0] == 3400 &&
                check.delay_quantiles_ns[1] == 4500); /* type 7: places 0.7 and 3.5 of 0 to 7 */
    assert_true(fabs(check.delay_quantiles_ns[2] - 7600) < 1e-6 && fabs(check.delay_quantiles_ns[3] - 8860) < 1e-6);
    measure_delay_statistics(delays, 1, &check);
    assert_true(check.delay_mean_ns == 2000 && check.delay_sd_ns == 0);
    struct direction_check untouched = {.delay_mean_ns = 7};
    measure_delay_statistics(delays, 0, &untouched);
    assert_true(untouched.delay_mean_ns == 7);
}

static struct direction_check good(void)
{
    return (struct direction_check){
        .measured = true, .goodput_bps = 956e6, .delay_mean_ns = 1e6, .probes_sent = 24, .probes_received = 24};
}

static void expect_verdict(struct direction_check check, const struct direction *asked, const char *reason)
{
    const struct measure_path path = {.asked = *asked, .mtu = MTU};
    measure_judge(&path, &check);
    assert_string_equal(check.reason, reason);
    assert_int_equal(check.within_tolerance, reason[0] == '\0');
}

static void verdicts_say_why(void **state)
{
    (void)state;
    const struct direction asked = {.rate_bps = GBIT, .delay_ns = NS_PER_MS};
    struct direction_check check = good();
    expect_verdict(check, &asked, "");
    check.delay_mean_ns = 1.19e6;
    expect_verdict(check, &asked, "");
    check.delay_mean_ns = 1.4e6;
    expect_verdict(check, &asked, "delay 1.4 ms where 1 ms was asked");
    check.delay_mean_ns = 0.7e6;
    expect_verdict(check, &asked, "delay 700 us where 1 ms was asked");
    check = good();
    check.goodput_bps = 690e6;
    expect_verdict(check, &asked, "goodput 690 Mbit/s where 956 Mbit/s was asked");
    check.goodput_bps = 1.281e9;
    check.probes_received = 21;
    expect_verdict(check, &asked, "3 of 24 probes were lost; goodput 1.28 Gbit/s where 956 Mbit/s was asked");
    check = (struct direction_check){.measured = true, .probes_sent = 24};
    expect_verdict(check, &asked, "none of 24 probes came through; no transfer came through");

    const struct direction free_of_both = {0};
    check = good();
    check.delay_mean_ns = 30e3;
    check.goodput_bps = 12e9;
    expect_verdict(check, &free_of_both, "");
    check.delay_mean_ns = 300e3;
    expect_verdict(check, &free_of_both, "delay 300 us where none was asked");

    const struct direction far = {.rate_bps = GBIT, .delay_ns = 50 * NS_PER_MS}; /* 5 % is more than 200 us there */
    check = good();
    check.delay_mean_ns = 52e6;
    expect_verdict(check, &far, "");
}

static void samples_are_spread(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(measure_sampled_link(5, 0, i), i);
        assert_int_equal(measure_sampled_link(5, 9, i), i);
    }
    static const int expected[] = {0, 25, 50, 75};
    for (int i = 0; i < 4; i++)
        assert_int_equal(measure_sampled_link(100, 4, i), expected[i]);
    int previous = -1;
    for (int i = 0; i < 32; i++) {
        int link = measure_sampled_link(33, 32, i);
        assert_true(link > previous && link < 33);
        previous = link;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steady_stream),
        cmocka_unit_test(first_burst_is_left_out),
        cmocka_unit_test(slow_start_on_a_long_path),
        cmocka_unit_test(stalled_reader_evens_out),
        cmocka_unit_test(pauses_count_only_where_slow_start_is_long),
        cmocka_unit_test(transfers_fit_the_rate),
        cmocka_unit_test(a_duration_is_the_sum_of_its_parts),
        cmocka_unit_test(statistics_of_delays),
        cmocka_unit_test(verdicts_say_why),
        cmocka_unit_test(samples_are_spread),
    };
    return cmocka_run_group_tests_name("measure", tests, NULL, NULL);
}
