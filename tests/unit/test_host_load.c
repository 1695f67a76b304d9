/* test_host_load.c: shares of the processors' time between two moments, and how pressure is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "base/clock.h"
#include "harness/host_load.h"

static void shares_of_the_time_between(void **state)
{
    (void)state;
    const struct host_load before = {NS_PER_S, 40, 1000, 5000000, 0}, after = {3 * NS_PER_S, 65, 1100, 5500000, 20000};
    struct processor_load load = host_load_between(&before, &after);
    assert_float_equal(load.stolen_share, 0.25, 0);
    assert_float_equal(load.pressure_some_share, 0.25, 1e-12);
    assert_float_equal(load.pressure_full_share, 0.01, 1e-12);
    load = host_load_between(&before, &before); /* no time in between */
    assert_true(isnan(load.stolen_share) && isnan(load.pressure_some_share));
    struct host_load beyond = after;
    beyond.pressure_some_us = 9000000;
    assert_float_equal(host_load_between(&before, &beyond).pressure_some_share, 1, 0);
}

static void what_is_not_known_is_not_a_number(void **state)
{
    (void)state;
    const struct host_load before = {NS_PER_S, 0, 0, -1, -1}, after = {2 * NS_PER_S, 0, 0, -1, -1};
    struct processor_load load = host_load_between(&before, &after);
    assert_true(isnan(load.stolen_share) && isnan(load.pressure_some_share) && isnan(load.pressure_full_share));
}

static void pressure_is_read_line_by_line(void **state)
{
    (void)state;
    static const char text[] = "some avg10=20.25 avg60=39.74 avg300=28.99 total=209216569\n"
                               "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
    assert_int_equal(host_load_pressure_us(text, "some "), 209216569);
    assert_int_equal(host_load_pressure_us(text, "full "), 7);
    assert_int_equal(host_load_pressure_us("some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n", "full "),
                     -1); /* before Linux 5.13 */
    assert_int_equal(host_load_pressure_us("", "some "), -1);
    assert_int_equal(host_load_pressure_us("some total=x\n", "some "), -1);
}

static void this_host_counts(void **state)
{
    (void)state;
    struct host_load first = host_load_now(), second = host_load_now();
    assert_true(first.total_ticks > 0 && first.stolen_ticks >= 0 && second.total_ticks >= first.total_ticks);
    assert_true(second.at_ns > first.at_ns && second.pressure_some_us >= first.pressure_some_us);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_of_the_time_between),
        cmocka_unit_test(what_is_not_known_is_not_a_number),
        cmocka_unit_test(pressure_is_read_line_by_line),
        cmocka_unit_test(this_host_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
