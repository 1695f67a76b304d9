/* test_event_outlook.c: which events will hardly come: far behind the expected end of the rounds, with nothing before them that
 * holds the rounds up for as long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "harness/event_outlook.h"
#include "schemas/events.h"
#include "schemas/settings.h"

#define S NS_PER_S
#define AT(seconds, what) .kind = (what), .at_ns = (seconds)*S, .round = EVENT_BY_TIME

/* With rounds of a second in all. */
static void assert_outlook(const struct event_request *events, int count, const char *expected)
{
    const struct settings settings = {.events = events, .event_count = count};
    cleanup(text_free) struct text text = {0};
    event_outlook(&settings, (double)S, &text);
    assert_string_equal(text.bytes ? text.bytes : "", expected);
}
#define OUTLOOK(expected, ...)                                                                                                     \
    assert_outlook((const struct event_request[]){__VA_ARGS__},                                                                    \
                   sizeof((const struct event_request[]){__VA_ARGS__}) / sizeof(struct event_request), expected)

static void events_far_behind_the_end_hardly_come(void **state)
{
    (void)state;
    OUTLOOK("", {AT(2, EVENT_SET), .link = "a"});
    OUTLOOK("event 0, at 3s", {AT(3, EVENT_SET), .link = "a"});
    OUTLOOK("event 1, at 1h; event 2, at 2h", {AT(1, EVENT_CRASH)}, {AT(3600, EVENT_PAUSE)}, {AT(7200, EVENT_SET), .link = "a"});
    OUTLOOK("", {.kind = EVENT_SET, .link = "a", .round = 1000000}); /* too late a round is an error elsewhere */
}

static void what_stops_the_rounds_is_added(void **state)
{
    (void)state;
    OUTLOOK("", {AT(1, EVENT_PAUSE), .pause_ns = 10 * S}, {AT(12, EVENT_CRASH)});
    OUTLOOK("event 1, at 13s", {AT(1, EVENT_PAUSE), .pause_ns = 10 * S}, {AT(13, EVENT_CRASH)});
    OUTLOOK("event 1, at 33s", {AT(1, EVENT_FLAP), .link = "a", .times = 3, .down_ns = 10 * S}, {AT(33, EVENT_CRASH)});
    OUTLOOK("event 2, at 8s", {AT(1, EVENT_PARTITION)}, {AT(6, EVENT_HEAL)}, {AT(8, EVENT_CRASH)});
    OUTLOOK("", {AT(1, EVENT_DOWN), .link = "a"}, {AT(6, EVENT_UP), .link = "a"}, {AT(7, EVENT_CRASH)});
}

static void behind_what_may_last_nothing_is_said(void **state)
{
    (void)state;
    OUTLOOK("", {AT(1, EVENT_PARTITION)}, {AT(3600, EVENT_HEAL)});
    OUTLOOK("", {AT(1, EVENT_DOWN), .link = "a"}, {AT(2, EVENT_DOWN), .link = "b"}, {AT(3, EVENT_UP), .link = "b"},
            {AT(3600, EVENT_UP), .link = "a"});
    OUTLOOK("", {.kind = EVENT_DOWN, .link = "a", .round = 2}, {AT(3600, EVENT_UP), .link = "a"});
    OUTLOOK("", {AT(1, EVENT_SET), .link = "a"}, {AT(100, EVENT_SET), .link = "a"});
    OUTLOOK("event 1, at 101s", {AT(1, EVENT_SET), .link = "a"}, {AT(101, EVENT_SET), .link = "a"});
    const struct event_request late = {AT(3600, EVENT_CRASH)};
    const struct settings settings = {.events = &late, .event_count = 1};
    cleanup(text_free) struct text text = {0};
    assert_int_equal(event_outlook(&settings, NAN, &text), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_far_behind_the_end_hardly_come),
        cmocka_unit_test(what_stops_the_rounds_is_added),
        cmocka_unit_test(behind_what_may_last_nothing_is_said),
    };
    return cmocka_run_group_tests_name("event_outlook", tests, NULL, NULL);
}
