/* test_loop.c: order of timers, and that callbacks may change everything under the loop's feet. Nothing here depends on how fast
 * the host is: only orders, counts and lower bounds of times are asserted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/rng.h"
#include "tests/unit/loop_rig.h"

static void timers_fire_in_order_of_deadline_then_of_arming(void **state)
{
    (void)state;
    struct loop *loop = loop_new(NULL);
    struct recorder recorder = {.loop = loop};
    enum { TIMERS = 500 };
    static struct probe probes[TIMERS];
    struct rng rng = rng_stream(1, 0, 0, RNG_ORDER);
    int64_t now = clock_now_ns();
    for (int i = 0; i < TIMERS; i++) {
        probes[i] = (struct probe){.recorder = &recorder, .number = i};
        probes[i].timer = loop_timer(loop, record, &probes[i]);
        loop_arm(probes[i].timer, now - 1000 + rng_below(&rng, 100));
    }
    int disarmed = 0;
    for (int i = 0; i < TIMERS; i += 7) {
        loop_disarm(probes[i].timer);
        loop_disarm(probes[i].timer); /* twice is allowed */
        disarmed++;
    }
    for (int i = 1; i < TIMERS; i += 7)
        loop_arm(probes[i].timer, now - 5000 - i); /* moved to the front */
    turn(loop, 0);
    assert_int_equal(recorder.count, TIMERS - disarmed);
    for (int i = 1; i < recorder.count; i++) {
        assert_true(recorder.deadlines[i - 1] <= recorder.deadlines[i]);
        bool moved = recorder.fired[i] % 7 == 1;
        if (recorder.deadlines[i - 1] == recorder.deadlines[i] && !moved)
            assert_true(recorder.fired[i - 1] < recorder.fired[i]);
    }
    struct loop_lateness lateness = loop_lateness(loop);
    assert_int_equal(lateness.count, recorder.count);
    assert_true(lateness.maximum_ns >= 0 && lateness.total_ns >= lateness.maximum_ns);
    loop_free(loop);
}

static void a_random_heap_stays_a_heap(void **state)
{
    (void)state;
    struct loop *loop = loop_new(NULL);
    struct recorder recorder = {.loop = loop};
    enum { TIMERS = 60 };
    static struct probe probes[TIMERS];
    struct rng rng = rng_stream(2, 0, 0, RNG_ORDER);
    for (int i = 0; i < TIMERS; i++) {
        probes[i] = (struct probe){.recorder = &recorder, .number = i};
        probes[i].timer = loop_timer(loop, record, &probes[i]);
    }
    for (int repeat = 0; repeat < 200; repeat++) {
        int64_t expected[TIMERS] = {0};
        int64_t past = clock_now_ns() - 1000000;
        for (int step = 0; step < 300; step++) {
            uint32_t i = rng_below(&rng, TIMERS);
            expected[i] = rng_below(&rng, 3) ? past + rng_below(&rng, 1000) : 0;
            if (expected[i])
                loop_arm(probes[i].timer, expected[i]);
            else
                loop_disarm(probes[i].timer);
        }
        recorder.count = 0;
        turn(loop, 0);
        int armed = 0;
        for (int i = 0; i < TIMERS; i++)
            armed += expected[i] != 0;
        assert_int_equal(recorder.count, armed);
        for (int i = 0; i < recorder.count; i++) {
            assert_true(recorder.deadlines[i] == expected[recorder.fired[i]]);
            assert_true(i == 0 || recorder.deadlines[i - 1] <= recorder.deadlines[i]);
        }
    }
    loop_free(loop);
}

static void ignored_timers_fire_and_are_not_counted(void **state)
{
    (void)state;
    int fired = 0;
    struct err err;
    struct loop *loop = loop_new(&err);
    assert_non_null(loop);
    struct timer *ignored = loop_timer(loop, count_up, &fired), *counted = loop_timer(loop, count_up, &fired);
    loop_ignore_lateness(ignored);
    loop_arm(ignored, clock_now_ns());
    loop_arm(counted, clock_now_ns());
    turn(loop, 0);
    assert_int_equal(fired, 2);
    assert_int_equal(loop_lateness(loop).count, 1);
    loop_free(loop);
}

static void a_timer_armed_in_the_past_waits_for_the_next_turn(void **state)
{
    (void)state;
    struct loop *loop = loop_new(NULL);
    struct recorder recorder = {.loop = loop};
    struct probe greedy = {.recorder = &recorder, .again = 3}, other = {.recorder = &recorder, .number = 1};
    greedy.timer = loop_timer(loop, arm_again_in_the_past, &greedy);
    other.timer = loop_timer(loop, record, &other);
    loop_arm(greedy.timer, 5);
    loop_arm(other.timer, 6);
    turn(loop, 0);
    assert_int_equal(recorder.count, 2); /* the greedy one did not starve the other */
    assert_int_equal(recorder.fired[1], 1);
    for (int i = 0; i < 5; i++)
        turn(loop, 0);
    assert_int_equal(recorder.count, 5);
    /* what was armed far in the past is not counted as late by decades */
    assert_true(loop_lateness(loop).maximum_ns < clock_now_ns() - 6);
    loop_free(loop);
}

static void disarm_other(void *context, int64_t deadline_ns)
{
    struct probe *probe = context;
    record(context, deadline_ns);
    if (probe->again)
        loop_arm(probe->other, INT64_MAX);
    else
        loop_disarm(probe->other);
}

static void a_due_timer_can_be_disarmed_or_moved_by_another(void **state)
{
    (void)state;
    for (int moved = 0; moved < 2; moved++) {
        struct loop *loop = loop_new(NULL);
        struct recorder recorder = {.loop = loop};
        struct probe second = {.recorder = &recorder, .number = 1}, third = {.recorder = &recorder, .number = 2};
        struct probe first = {.recorder = &recorder, .again = moved};
        first.timer = loop_timer(loop, disarm_other, &first);
        second.timer = loop_timer(loop, record, &second);
        third.timer = loop_timer(loop, record, &third);
        first.other = second.timer;
        loop_arm(first.timer, 1);
        loop_arm(second.timer, 2);
        loop_arm(third.timer, 3);
        turn(loop, 0);
        assert_int_equal(recorder.count, 2);
        assert_int_equal(recorder.fired[1], 2);
        turn(loop, 0);
        assert_int_equal(recorder.count, 2); /* moved, it is not due */
        loop_free(loop);
    }
}

static void a_turn_waits_until_a_timer_or_its_deadline(void **state)
{
    (void)state;
    struct loop *loop = loop_new(NULL);
    struct recorder recorder = {.loop = loop};
    struct probe probe = {.recorder = &recorder};
    probe.timer = loop_timer(loop, record, &probe);
    for (int i = 0; i < 3; i++) {
        int64_t deadline = clock_now_ns() + 2 * NS_PER_MS;
        turn(loop, deadline);
        assert_true(clock_now_ns() >= deadline);
        assert_int_equal(recorder.count, i);
        loop_arm(probe.timer, clock_now_ns() + 2 * NS_PER_MS);
        turn(loop, INT64_MAX);
        assert_int_equal(recorder.count, i + 1);
    }
    loop_arm(probe.timer, clock_now_ns() + 3600 * NS_PER_S);
    turn(loop, 0); /* does not wait for it */
    assert_int_equal(recorder.count, 3);
    loop_free(loop);
}

static void stop_loop(void *context, int64_t deadline_ns)
{
    (void)deadline_ns;
    loop_stop(context);
}

static void run_ends_by_stop_and_can_run_again(void **state)
{
    (void)state;
    struct loop *loop = loop_new(NULL);
    struct timer *timer = loop_timer(loop, stop_loop, loop);
    for (int i = 0; i < 3; i++) {
        loop_arm(timer, clock_now_ns() + NS_PER_MS);
        assert_int_equal(loop_run(loop, NULL), 0);
    }
    loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timers_fire_in_order_of_deadline_then_of_arming),
        cmocka_unit_test(a_random_heap_stays_a_heap),
        cmocka_unit_test(a_timer_armed_in_the_past_waits_for_the_next_turn),
        cmocka_unit_test(a_due_timer_can_be_disarmed_or_moved_by_another),
        cmocka_unit_test(a_turn_waits_until_a_timer_or_its_deadline),
        cmocka_unit_test(run_ends_by_stop_and_can_run_again),
        cmocka_unit_test(ignored_timers_fire_and_are_not_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
