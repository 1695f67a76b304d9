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
    const struct host_load before = {NS_PER_S, 40, 1000, 5000000, 0, 0, 0}, after = {3 * NS_PER_S, 65, 1100, 5500000, 20000, 0, 0};
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
    const struct host_load before = {NS_PER_S, 0, 0, -1, -1, 0, 0}, after = {2 * NS_PER_S, 0, 0, -1, -1, 0, 0};
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

static void suspension_and_clock(void **state)
{
    (void)state;
    const struct host_load before = {.at_ns = 5 * NS_PER_S, .suspended_ns = NS_PER_S, .wall_ns = 1000 * NS_PER_S};
    struct host_load after = before;
    after.at_ns += 10 * NS_PER_S;
    after.wall_ns += 10 * NS_PER_S;
    assert_int_equal(host_load_suspended_ns(&before, &after), 0);
    assert_int_equal(host_load_clock_step_ns(&before, &after), 0);
    after.suspended_ns += NS_PER_S / 2000; /* clocks are read one after the other */
    assert_int_equal(host_load_suspended_ns(&before, &after), 0);
    after.suspended_ns = before.suspended_ns + 3 * NS_PER_S; /* the wall clock goes on while it sleeps */
    after.wall_ns += 3 * NS_PER_S;
    assert_int_equal(host_load_suspended_ns(&before, &after), 3 * NS_PER_S);
    assert_int_equal(host_load_clock_step_ns(&before, &after), 0);
    after.wall_ns -= 3600 * NS_PER_S;
    assert_int_equal(host_load_clock_step_ns(&before, &after), -3600 * NS_PER_S);
    struct host_load slow = before; /* an hour of a clock that is steered by 500 parts in a million is no step */
    slow.at_ns += 3600 * NS_PER_S;
    slow.wall_ns += 3600 * NS_PER_S + 1800 * NS_PER_MS;
    assert_int_equal(host_load_clock_step_ns(&before, &slow), 0);
}

static void memory_that_ran_out(void **state)
{
    (void)state;
    assert_int_equal(host_load_memory_kills_in("pgfault 9\noom_kill 3\nnuma_hit 1\n"), 3);
    assert_int_equal(host_load_memory_kills_in("pgfault 9\n"), -1);
    assert_int_equal(host_load_memory_kills_in(""), -1);
    assert_true(host_load_memory_kills() >= 0);
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
        cmocka_unit_test(shares_of_the_time_between),    cmocka_unit_test(what_is_not_known_is_not_a_number),
        cmocka_unit_test(pressure_is_read_line_by_line), cmocka_unit_test(suspension_and_clock),
        cmocka_unit_test(memory_that_ran_out),           cmocka_unit_test(this_host_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
