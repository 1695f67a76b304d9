/* loop_rig.h: what the tests of the loop share: timers that note when they fired, and a turn that must not fail. */
#ifndef LAGGARD_TESTS_LOOP_RIG_H
#define LAGGARD_TESTS_LOOP_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"

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

static inline void record(void *context, int64_t deadline_ns)
{
    struct probe *probe = context;
    struct recorder *recorder = probe->recorder;
    assert_true(clock_now_ns() >= deadline_ns);
    assert_true(recorder->count < FIRED_MAX);
    recorder->deadlines[recorder->count] = deadline_ns;
    recorder->fired[recorder->count++] = probe->number;
}

static inline void turn(struct loop *loop, int64_t deadline_ns)
{
    struct err err = {0};
    if (loop_turn(loop, deadline_ns, &err) != 0)
        fail_msg("%s", err.text);
}

static inline void count_up(void *context, int64_t deadline_ns)
{
    (void)deadline_ns;
    ++*(int *)context;
}

static inline void arm_again_in_the_past(void *context, int64_t deadline_ns)
{
    struct probe *probe = context;
    record(context, deadline_ns);
    if (probe->again-- > 0)
        loop_arm(probe->timer, 1);
}

#endif
