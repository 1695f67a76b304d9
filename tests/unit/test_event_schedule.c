/* test_event_schedule.c: steps come in the order of their times, with the times that the events' moments give them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "harness/event_schedule.h"

enum { EVENTS_MOST = 4 };
#define MS NS_PER_MS
#define START (INT64_C(1000) * NS_PER_S)

struct rig {
    struct arena *arena;
    struct planned_event planned[EVENTS_MOST];
    struct event_plan plan;
    struct settings settings;
    struct event_schedule *schedule;
};

static void open_rig(struct rig *rig, const struct event_request *events, int count, uint32_t warmup_rounds)
{
    *rig = (struct rig){.arena = arena_new()};
    for (int i = 0; i < count; i++)
        rig->planned[i] = (struct planned_event){.asked = &events[i], .link = -1};
    rig->plan = (struct event_plan){.events = rig->planned, .count = count};
    rig->settings = (struct settings){.workload.rounds = 1000, .warmup_rounds = (int)warmup_rounds};
    rig->schedule = event_schedule_new(&rig->plan, &rig->settings, rig->arena);
}

static void close_rig(struct rig *rig)
{
    arena_free(rig->arena);
}

/* `ms` after the start. */
static void expect(struct rig *rig, int64_t now_ms, int event, int64_t step, int64_t asked_ms)
{
    struct event_due due;
    assert_true(event_schedule_take(rig->schedule, START + now_ms * MS, &due));
    assert_int_equal(due.event, event);
    assert_int_equal(due.step, step);
    assert_int_equal(due.asked_ns, START + asked_ms * MS);
}

static void expect_next(const struct rig *rig, int64_t ms)
{
    assert_int_equal(event_schedule_next_ns(rig->schedule), ms < 0 ? EVENT_NEVER_NS : START + ms * MS);
}

static void expect_nothing(struct rig *rig, int64_t now_ms)
{
    struct event_due due;
    assert_false(event_schedule_take(rig->schedule, START + now_ms * MS, &due));
}

static void events_come_in_the_order_of_their_times(void **state)
{
    (void)state;
    const struct event_request events[] = {
        {.kind = EVENT_HEAL, .round = EVENT_BY_TIME, .at_ns = 500 * MS},
        {.kind = EVENT_SET, .round = EVENT_BY_TIME, .at_ns = 200 * MS},
        {.kind = EVENT_DOWN, .round = EVENT_BY_TIME, .at_ns = 500 * MS},
    };
    struct rig rig;
    open_rig(&rig, events, 3, 0);
    expect_next(&rig, -1);
    expect_nothing(&rig, 1000000); /* the rounds have not begun */
    event_schedule_start(rig.schedule, START);
    expect_next(&rig, 200);
    expect_nothing(&rig, 199);
    expect(&rig, 200, 1, 0, 200);
    expect(&rig, 800, 0, 0, 500); /* late; of two at the same time the first of the file */
    expect(&rig, 800, 2, 0, 500);
    expect_nothing(&rig, 1000000);
    expect_next(&rig, -1);
    close_rig(&rig);
}

static void a_flap_keeps_its_beat_however_late_it_is(void **state)
{
    (void)state;
    const struct event_request flap = {
        .kind = EVENT_FLAP, .round = EVENT_BY_TIME, .at_ns = 100 * MS, .down_ns = 50 * MS, .up_ns = 200 * MS, .times = 2};
    struct rig rig;
    open_rig(&rig, &flap, 1, 0);
    event_schedule_start(rig.schedule, START);
    assert_int_equal(event_step_count(&flap), 4);
    expect(&rig, 120, 0, 0, 100);
    expect_next(&rig, 150);
    expect(&rig, 170, 0, 1, 150);
    expect(&rig, 600, 0, 2, 350); /* down, and at once up again: steps of a flap are never left out */
    expect(&rig, 600, 0, 3, 400);
    expect_nothing(&rig, 1000000);
    close_rig(&rig);
}

static void a_pause_lasts_from_its_beginning(void **state)
{
    (void)state;
    const struct event_request pause = {.kind = EVENT_PAUSE, .round = EVENT_BY_TIME, .at_ns = 100 * MS, .pause_ns = 200 * MS};
    struct rig rig;
    open_rig(&rig, &pause, 1, 0);
    event_schedule_start(rig.schedule, START);
    expect(&rig, 130, 0, 0, 100);
    event_schedule_paused(rig.schedule, 0, START + 131 * MS);
    expect_next(&rig, 331);
    expect(&rig, 331, 0, 1, 331);
    expect_next(&rig, -1);
    close_rig(&rig);
}

static void rounds_are_measured_ones(void **state)
{
    (void)state;
    const struct event_request events[] = {
        {.kind = EVENT_PAUSE, .round = 5, .pause_ns = 10 * MS},
        {.kind = EVENT_SET, .round = 0},
        {.kind = EVENT_DOWN, .round = 7},
    };
    struct rig rig;
    open_rig(&rig, events, 3, 3);
    event_schedule_start(rig.schedule, START);
    expect_next(&rig, -1);
    event_schedule_round(rig.schedule, 2, START + 40 * MS);
    expect_next(&rig, -1);
    event_schedule_round(rig.schedule, 3, START + 50 * MS); /* the warm-up is over */
    expect(&rig, 60, 1, 0, 50);
    event_schedule_round(rig.schedule, 8, START + 90 * MS);
    expect(&rig, 91, 0, 0, 90);
    event_schedule_paused(rig.schedule, 0, START + 91 * MS);
    event_schedule_round(rig.schedule, 9, START + 95 * MS); /* told again: the moment stays */
    expect_next(&rig, 101);
    event_schedule_round(rig.schedule, 13, START + 96 * MS); /* one that nobody told of in time */
    expect(&rig, 97, 2, 0, 96);
    close_rig(&rig);

    const struct event_request first = {.kind = EVENT_SET, .round = 0};
    open_rig(&rig, &first, 1, 0);
    event_schedule_start(rig.schedule, START);
    expect(&rig, 0, 0, 0, 0); /* without warm-up: when the rounds begin */
    close_rig(&rig);
}

static const struct trace_step steps[] = {{.at_ns = 0}, {.at_ns = 100 * MS}, {.at_ns = 250 * MS}};
static const struct link_trace trace = {.steps = steps, .count = 3, .period_ns = 400 * MS, .has_rate = true};

static void a_trace_begins_anew_and_passes_over_what_is_old(void **state)
{
    (void)state;
    const struct event_request asked = {
        .kind = EVENT_TRACE, .round = EVENT_BY_TIME, .at_ns = 1000 * MS, .trace = &trace, .repeat = true};
    struct rig rig;
    open_rig(&rig, &asked, 1, 0);
    event_schedule_start(rig.schedule, START);
    assert_int_equal(event_step_count(&asked), EVENT_NEVER_NS);
    expect(&rig, 1000, 0, 0, 1000);
    expect(&rig, 1110, 0, 1, 1100);
    expect_next(&rig, 1250);
    struct event_due due;
    assert_true(event_schedule_take(rig.schedule, START + 1510 * MS, &due)); /* two steps behind: 1250 and 1400 are old */
    assert_int_equal(due.step, 4);
    assert_int_equal(due.asked_ns, START + 1500 * MS);
    assert_int_equal(due.passed_over, 2);
    expect_next(&rig, 1650);
    close_rig(&rig);
}

static void a_trace_that_is_not_repeated_ends(void **state)
{
    (void)state;
    struct event_request asked = {.kind = EVENT_TRACE, .round = EVENT_BY_TIME, .trace = &trace};
    struct rig rig;
    open_rig(&rig, &asked, 1, 0);
    event_schedule_start(rig.schedule, START);
    expect(&rig, 0, 0, 0, 0);
    expect(&rig, 100, 0, 1, 100);
    expect(&rig, 250, 0, 2, 250);
    expect_next(&rig, -1);
    close_rig(&rig);
    const struct link_trace constant = {.steps = steps, .count = 1, .period_ns = MS, .has_rate = true};
    asked.repeat = true;
    asked.trace = &constant;
    assert_int_equal(event_step_count(&asked), 1); /* anew it would be the same */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_in_the_order_of_their_times),
        cmocka_unit_test(a_flap_keeps_its_beat_however_late_it_is),
        cmocka_unit_test(a_pause_lasts_from_its_beginning),
        cmocka_unit_test(rounds_are_measured_ones),
        cmocka_unit_test(a_trace_begins_anew_and_passes_over_what_is_old),
        cmocka_unit_test(a_trace_that_is_not_repeated_ends),
    };
    return cmocka_run_group_tests_name("event_schedule", tests, NULL, NULL);
}
