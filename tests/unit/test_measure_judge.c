/* test_measure_judge.c: the verdict on a thoroughly measured direction: each quantity on both sides of its tolerance. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/clock.h"
#include "netem/measure.h"
#include "netem/measure_internal.h"

enum { MTU = 1500 };
#define GBIT UINT64_C(1000000000)

static struct measure_path thorough(struct direction asked)
{
    return (struct measure_path){.asked = asked, .mtu = MTU, .time_ns = 5 * NS_PER_S};
}

/* What a good host measures on a link of 1 Gbit/s and 10 ms. */
static struct direction_check good(void)
{
    return (struct direction_check){.measured = true,
                                    .goodput_bps = 956e6,
                                    .delay_mean_ns = 10e6,
                                    .delay_quantiles_ns = {10e6, 10e6, 10e6, 10e6},
                                    .probes_sent = 1000,
                                    .probes_received = 1000,
                                    .fates = {.sent = 10000, .spacing_ns = 1e5},
                                    .message_bytes = 125000,
                                    .message_bps = 956e6,
                                    .drift_probes = 100};
}

static void expect(const struct measure_path *path, struct direction_check check, const char *reason)
{
    measure_judge(path, &check);
    assert_string_equal(check.reason, reason);
    assert_int_equal(check.within_tolerance, reason[0] == '\0');
}

static void losses_lie_in_the_interval(void **state)
{
    (void)state;
    struct measure_path path =
        thorough((struct direction){.rate_bps = GBIT, .delay_ns = 10 * NS_PER_MS, .impairments = {.loss = 0.01}});
    struct direction_check check = good();
    check.fates.lost = check.fates.loss_runs = 100;
    check.probes_received = 990;
    expect(&path, check, "");
    check.fates.lost = check.fates.loss_runs = 127; /* 1.27 %: the interval begins at 1.01 % */
    expect(&path, check, "1.27 % of 10000 packets were lost where 1 % was asked");
    check.fates.lost = check.fates.loss_runs = 73;
    expect(&path, check, "0.73 % of 10000 packets were lost where 1 % was asked");
    check.fates.lost = check.fates.loss_runs = 100;
    check.goodput_bps = 0;
    expect(&path, check, "no transfer came through");
    path.loses = true; /* the handshake may have been lost, twice */
    expect(&path, check, "");
    check.goodput_bps = 956e6;
    check.fates.lost = check.fates.loss_runs = 79;
    expect(&path, check, "");
    path = thorough((struct direction){.rate_bps = GBIT, .delay_ns = 10 * NS_PER_MS});
    check = good();
    check.fates.lost = check.fates.loss_runs = 3;
    expect(&path, check, "3 of 10000 packets were lost, and none was to");
}

static void silence_is_as_asked_where_all_is_lost(void **state)
{
    (void)state;
    struct measure_path path = thorough((struct direction){.rate_bps = GBIT, .impairments = {.loss = 1}});
    struct direction_check check = {.measured = true, .probes_sent = 24, .fates = {.sent = 2000, .lost = 2000, .loss_runs = 1}};
    path.loses = true;
    expect(&path, check, "");
    path.asked.impairments.loss = 0.97; /* of 24 probes none may come, of 2000 packets some must */
    expect(&path, check, "100 % of 2000 packets were lost where 97 % was asked");
    check.fates.lost = 1940;
    expect(&path, check, "");
    path.asked.impairments.loss = 0.5;
    check.fates.lost = 1000;
    expect(&path, check, "none of 24 probes came through; no transfer came through");
}

static void bursts_are_as_long_as_asked(void **state)
{
    (void)state;
    struct measure_path path = thorough((struct direction){
        .rate_bps = GBIT, .delay_ns = 10 * NS_PER_MS, .impairments = {.gilbert_elliott = {.p = 0.01, .r = 0.25, .loss_bad = 1}}});
    struct direction_check check = good();
    check.probes_received = 960;
    check.fates.lost = 400, check.fates.loss_runs = 100;
    expect(&path, check, "");
    check.fates.loss_runs = 400; /* as many losses, but one by one */
    expect(&path, check, "1 losses in a row on average where 4 was asked");
    check.fates.lost = 500, check.fates.loss_runs = 125; /* 5 % for 3.85: in bursts that is chance */
    expect(&path, check, "");
}

static void copies_wrong_bits_and_order(void **state)
{
    (void)state;
    struct measure_path path = thorough((struct direction){
        .rate_bps = GBIT, .delay_ns = 10 * NS_PER_MS, .impairments = {.duplicate = 0.02, .corrupt = 0.01, .reorder = 0.1}});
    struct direction_check check = good();
    check.fates.lost = check.fates.loss_runs = 10;
    check.fates.duplicated = 200, check.fates.corrupted = 90, check.fates.reordered = 1000;
    check.delay_mean_ns = 9e6; /* some are sent at once: of no meaning */
    expect(&path, check, "");
    check.fates.duplicated = 20;
    expect(&path, check, "0.2 % of 10000 packets came twice where 2 % was asked");
    check.fates.duplicated = 200, check.fates.corrupted = 0;
    expect(&path, check, "0 % of 10000 packets came with a wrong bit where 0.901 % was asked");
    check.fates.corrupted = 90, check.fates.reordered = 0;
    expect(&path, check, "0 % of 10000 packets overtook others where 10 % was asked");
    check.fates.spacing_ns = 1e7; /* too far apart to overtake */
    expect(&path, check, "");
    path = thorough((struct direction){.rate_bps = GBIT, .delay_ns = 10 * NS_PER_MS});
    check = good();
    check.fates.reordered = 1;
    expect(&path, check, "1 of 10000 packets overtook others, and none was to");
}

static void delays_have_the_asked_distribution(void **state)
{
    (void)state;
    struct measure_path path =
        thorough((struct direction){.rate_bps = GBIT,
                                    .delay_ns = 10 * NS_PER_MS,
                                    .impairments = {.jitter_ns = 2 * NS_PER_MS, .jitter_distribution = JITTER_NORMAL}});
    struct direction_check check = good();
    check.delay_sd_ns = 2e6;
    const double normal[CHECK_QUANTILES] = {10e6 - 1.2816 * 2e6, 10e6, 10e6 + 1.2816 * 2e6, 10e6 + 2.3263 * 2e6};
    memcpy(check.delay_quantiles_ns, normal, sizeof(normal));
    expect(&path, check, "");
    check.delay_sd_ns = 2.5e6;
    expect(&path, check, "delays with a standard deviation of 2.5 ms where 2 ms was asked");
    check.delay_sd_ns = 2e6;
    check.delay_quantiles_ns[1] = 8.9e6; /* the same spread, another shape */
    expect(&path, check, "50 % of delays under 8.9 ms where 9.8 ms to 10.2 ms was asked");
    check = good(); /* none at all */
    expect(&path, check,
           "delays with a standard deviation of 0 ns where 2 ms was asked; 10 % of delays under 10 ms where 7.13 ms to 7.69 ms was "
           "asked");
    check.delay_sd_ns = 2e6;
    memcpy(check.delay_quantiles_ns, normal, sizeof(normal));
    check.delay_mean_ns = 10.8e6; /* 500 us, and 163 us that a thousand probes cannot tell */
    expect(&path, check, "delay 10.8 ms where 10 ms was asked");
    check.delay_mean_ns = 10.6e6;
    expect(&path, check, "");
}

static void messages_after_idle_keep_the_rate(void **state)
{
    (void)state;
    struct measure_path path = thorough((struct direction){.rate_bps = GBIT, .delay_ns = 10 * NS_PER_MS, .queue_bytes = 1500000});
    struct direction_check check = good();
    check.message_bps = 956e6 * 1.15; /* 5 %, and 14.4 of 125 kB that the bucket holds */
    expect(&path, check, "");
    check.message_bps = 956e6 * 1.25;
    expect(&path, check, "a message of 125000 bytes after idle at 1.2 Gbit/s where 956 Mbit/s was asked");
    check.message_bps = 956e6 * 0.93; /* 5 %, and 50 us of 1,046 */
    expect(&path, check, "");
    check.message_bps = 956e6 * 0.9;
    expect(&path, check, "a message of 125000 bytes after idle at 860 Mbit/s where 956 Mbit/s was asked");
    path.slow_start_after_idle = true;
    expect(&path, check, "");
    path.slow_start_after_idle = false;
    check.message_bps = 0; /* not measured */
    expect(&path, check, "");
}

static void delays_do_not_drift(void **state)
{
    (void)state;
    struct measure_path path = thorough((struct direction){.rate_bps = GBIT, .delay_ns = 10 * NS_PER_MS});
    struct direction_check check = good();
    check.drift_ns = -499e3; /* 5 % of 10 ms */
    expect(&path, check, "");
    check.drift_ns = -501e3;
    expect(&path, check, "the delay drifted by -501 us");
    path.asked.impairments = (struct impairments){.jitter_ns = 2 * NS_PER_MS, .jitter_distribution = JITTER_UNIFORM};
    measure_judge(&path, &check); /* a hundred such probes cannot tell */
    assert_null(strstr(check.reason, "drifted"));
    check.drift_probes = 0;
    check.drift_ns = 9e9;
    measure_judge(&path, &check);
    assert_null(strstr(check.reason, "drifted"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_lie_in_the_interval),
        cmocka_unit_test(bursts_are_as_long_as_asked),
        cmocka_unit_test(copies_wrong_bits_and_order),
        cmocka_unit_test(delays_have_the_asked_distribution),
        cmocka_unit_test(messages_after_idle_keep_the_rate),
        cmocka_unit_test(delays_do_not_drift),
        cmocka_unit_test(silence_is_as_asked_where_all_is_lost),
    };
    return cmocka_run_group_tests_name("measure verdicts", tests, NULL, NULL);
}
