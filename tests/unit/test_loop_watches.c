/* test_loop_watches.c: descriptors under watch: callbacks may end or replace any of them, and busy timers do not starve them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"
#include "tests/unit/loop_rig.h"

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
        cmocka_unit_test(a_watch_removed_in_the_same_batch_is_not_called),
        cmocka_unit_test(watches_can_change_and_end),
        cmocka_unit_test(a_busy_wait_misses_nothing),
        cmocka_unit_test(descriptors_are_served_beside_busy_timers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
