/* test_loop.c: order of timers, and that callbacks may change everything under the loop's feet. Nothing here depends on how fast
 * the host is: only orders, counts and lower bounds of times are asserted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/rng.h"

enum { FIRED_MAX = 4096 };

struct recorder {
    struct loop *loop;
    int fired[FIRED_MAX];
    int64_t deadlines[FIRED_MAX];
    int count;
};

struct probe {
    struct recorder *recorder;
    struct timer *timer, *other;
    int number, again;
};

static void record(void *context, int64_t deadline_ns)
{
    struct probe *probe = context;
    struct recorder *recorder = probe->recorder;
    assert_true(clock_now_ns() >= deadline_ns);
    assert_true(recorder->count < FIRED_MAX);
    recorder->deadlines[recorder->count] = deadline_ns;
    recorder->fired[recorder->count++] = probe->number;
}

static void turn(struct loop *loop, int64_t deadline_ns)
{
    struct err err = {0};
    if (loop_turn(loop, deadline_ns, &err) != 0)
        fail_msg("%s", err.text);
}

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

static void count_up(void *context, int64_t deadline_ns)
{
    (void)deadline_ns;
    ++*(int *)context;
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

static void arm_again_in_the_past(void *context, int64_t deadline_ns)
{
    struct probe *probe = context;
    record(context, deadline_ns);
    if (probe->again-- > 0)
        loop_arm(probe->timer, 1);
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

struct end {
    struct loop *loop;
    struct watch *watch, *victim;
    struct end *victim_end;
    int fd, peer, calls, close_victim;
    uint32_t events;
};

static void open_pair(struct end *end)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    end->fd = fds[0];
    end->peer = fds[1];
}

static void close_pair(struct end *end)
{
    close(end->fd);
    close(end->peer);
}

static void on_bytes(void *context, uint32_t events)
{
    struct end *end = context;
    end->calls++;
    end->events = events;
    if (end->victim) {
        /* Both were readable in one batch: the other one may not be called any more, and its memory may not be taken by the new
         * watch. */
        loop_unwatch(end->victim);
        loop_unwatch(end->victim);
        end->victim_end->victim = NULL;
        if (end->close_victim) {
            close_pair(end->victim_end);
            open_pair(end->victim_end); /* the same numbers again, not readable */
            end->victim_end->watch = loop_watch(end->loop, end->victim_end->fd, EPOLLIN, on_bytes, end->victim_end, NULL);
            assert_non_null(end->victim_end->watch);
        }
        end->victim = NULL;
    }
    char byte;
    while (read(end->fd, &byte, 1) == 1) {
    }
}

static void a_watch_removed_in_the_same_batch_is_not_called(void **state)
{
    (void)state;
    for (int close_victim = 0; close_victim < 2; close_victim++) {
        struct loop *loop = loop_new(NULL);
        struct end ends[2] = {{.loop = loop, .close_victim = close_victim}, {.loop = loop, .close_victim = close_victim}};
        for (int i = 0; i < 2; i++) {
            open_pair(&ends[i]);
            ends[i].watch = loop_watch(loop, ends[i].fd, EPOLLIN, on_bytes, &ends[i], NULL);
            assert_non_null(ends[i].watch);
            assert_int_equal(write(ends[i].peer, "x", 1), 1);
        }
        for (int i = 0; i < 2; i++) {
            ends[i].victim = ends[1 - i].watch; /* whichever comes first removes the other */
            ends[i].victim_end = &ends[1 - i];
        }
        turn(loop, 0);
        assert_int_equal(ends[0].calls + ends[1].calls, 1);
        turn(loop, 0);
        assert_int_equal(ends[0].calls + ends[1].calls, 1);
        if (close_victim) { /* the watch made in the callback works */
            struct end *victim = ends[0].calls ? &ends[1] : &ends[0];
            assert_int_equal(write(victim->peer, "y", 1), 1);
            turn(loop, INT64_MAX);
            assert_int_equal(victim->calls, 1);
        }
        loop_free(loop);
        close_pair(&ends[0]);
        close_pair(&ends[1]);
    }
}

static void unwatch_itself(void *context, uint32_t events)
{
    struct end *end = context;
    end->calls++;
    end->events = events;
    loop_unwatch(end->watch);
}

static void watches_can_change_and_end(void **state)
{
    (void)state;
    struct loop *loop = loop_new(NULL);
    struct end end = {.loop = loop};
    open_pair(&end);
    for (int i = 1; i <= 3; i++) {
        end.watch = loop_watch(loop, end.fd, EPOLLIN, unwatch_itself, &end, NULL);
        turn(loop, 0);
        assert_int_equal(end.calls, i - 1); /* nothing to read */
        assert_int_equal(loop_change(end.watch, EPOLLOUT), 0);
        turn(loop, INT64_MAX);
        assert_int_equal(end.calls, i);
        assert_int_equal(end.events, EPOLLOUT);
        turn(loop, 0);
        assert_int_equal(end.calls, i);
    }
    struct err err = {0};
    assert_null(loop_watch(loop, -1, EPOLLIN, on_bytes, &end, &err));
    assert_int_equal(err.kind, ERR_HOST);
    assert_non_null(strstr(err.text, "cannot watch descriptor -1"));
    close_pair(&end);
    loop_free(loop);
    loop_free(NULL);
}

/* Timers, descriptors and a turn's end come as they do where the loop sleeps. */
static void a_busy_wait_misses_nothing(void **state)
{
    (void)state;
    enum { TURNS = 3 };
    struct loop *loop = loop_new(NULL);
    struct end end = {0};
    int fired = 0;
    open_pair(&end);
    assert_non_null(loop_watch(loop, end.fd, EPOLLIN, on_bytes, &end, NULL));
    struct timer *timer = loop_timer(loop, count_up, &fired);
    const int64_t waits_ns[] = {NS_PER_MS, 50 * NS_PER_MS, 0};
    for (int i = 0; i < TURNS; i++) {
        loop_busy_wait(loop, waits_ns[i]);
        int64_t begin_ns = clock_now_ns();
        assert_int_equal(loop_turn(loop, begin_ns + 5 * NS_PER_MS, NULL), 0);
        assert_true(clock_now_ns() >= begin_ns + 5 * NS_PER_MS);
        assert_int_equal(fired, i);
        begin_ns = clock_now_ns();
        loop_arm(timer, begin_ns + 5 * NS_PER_MS);
        assert_int_equal(loop_turn(loop, INT64_MAX, NULL), 0);
        assert_true(clock_now_ns() >= begin_ns + 5 * NS_PER_MS);
        assert_int_equal(fired, i + 1);
        assert_int_equal(write(end.peer, "x", 1), 1);
        assert_int_equal(loop_turn(loop, INT64_MAX, NULL), 0);
        assert_int_equal(end.calls, i + 1);
    }
    close_pair(&end);
    loop_free(loop);
}

static void descriptors_are_served_beside_busy_timers(void **state)
{
    (void)state;
    struct loop *loop = loop_new(NULL);
    struct recorder recorder = {.loop = loop};
    struct probe greedy = {.recorder = &recorder, .again = 1000};
    greedy.timer = loop_timer(loop, arm_again_in_the_past, &greedy);
    loop_arm(greedy.timer, 1);
    struct end end = {.loop = loop};
    open_pair(&end);
    end.watch = loop_watch(loop, end.fd, EPOLLIN, on_bytes, &end, NULL);
    assert_int_equal(write(end.peer, "x", 1), 1);
    turn(loop, INT64_MAX);
    assert_int_equal(end.calls, 1);
    assert_int_equal(recorder.count, 1);
    close_pair(&end);
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
        cmocka_unit_test(a_watch_removed_in_the_same_batch_is_not_called),
        cmocka_unit_test(watches_can_change_and_end),
        cmocka_unit_test(ignored_timers_fire_and_are_not_counted),
        cmocka_unit_test(a_busy_wait_misses_nothing),
        cmocka_unit_test(descriptors_are_served_beside_busy_timers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
