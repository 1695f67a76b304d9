/* test_fabric_change.c: what a direction of a standing link may become, and what is refused with which sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "netem/fabric.h"

static const struct direction built = {.rate_bps = 100000000,
                                       .delay_ns = 5 * NS_PER_MS,
                                       .queue_bytes = 150000,
                                       .rate_most_bps = 200000000,
                                       .delay_most_ns = 20 * NS_PER_MS,
                                       .changes = true};

static void assert_allowed(const struct direction *from, const struct direction *to, bool down, enum engine_kind engine)
{
    struct err err = {0};
    if (fabric_check_change(from, to, down, engine, &err) < 0)
        fail_msg("refused: %s", err.text);
}

static void assert_refused(const struct direction *from, const struct direction *to, bool down, enum engine_kind engine,
                           const char *sentence)
{
    struct err err = {0};
    assert_int_equal(fabric_check_change(from, to, down, engine, &err), -ERR_USAGE);
    if (!strstr(err.text, sentence))
        fail_msg("found: %s", err.text);
}

static void within_what_was_planned(void **state)
{
    (void)state;
    struct direction to = built;
    assert_allowed(&built, &to, true, ENGINE_RELAY);
    to.rate_bps = 200000000;
    to.queue_bytes = 1;
    to.delay_ns = 0;
    to.impairments = (struct impairments){.loss = 1, .duplicate = 1, .corrupt = 1, .reorder = 1};
    assert_allowed(&built, &to, false, ENGINE_RELAY);
    to.delay_ns = 20 * NS_PER_MS;
    assert_allowed(&built, &to, false, ENGINE_NETEM);
    to.rate_bps = 200000001;
    assert_refused(&built, &to, false, ENGINE_NETEM,
                   "a rate of 200000001bit is more than the 200mbit that the direction was built for");
    to.rate_bps = 8000;
    to.delay_ns++;
    assert_refused(&built, &to, false, ENGINE_NETEM, "is more than the 20ms that the direction was built for");
    to.delay_ns = 19 * NS_PER_MS;
    to.impairments = (struct impairments){.jitter_ns = NS_PER_MS + 1000}; /* uniform: up to its whole width */
    assert_refused(&built, &to, false, ENGINE_NETEM, "a delay of 20000756ns with its jitter is more than the 20ms");
    to.impairments.jitter_ns = NS_PER_MS;
    assert_allowed(&built, &to, false, ENGINE_NETEM);
    to.delay_ns = -1;
    assert_refused(&built, &to, false, ENGINE_NETEM, "below 0");
}

static void rates_stay_rates(void **state)
{
    (void)state;
    struct direction unlimited = built, packets = built, to = built;
    unlimited.rate_bps = unlimited.queue_bytes = unlimited.rate_most_bps = 0;
    assert_refused(&built, &unlimited, false, ENGINE_RELAY, "a rate cannot be taken away while packets flow");
    assert_refused(&unlimited, &built, false, ENGINE_RELAY, "a rate cannot be introduced while packets flow");
    assert_allowed(&unlimited, &unlimited, true, ENGINE_RELAY);
    packets.queue_packets = 10;
    assert_refused(&built, &packets, false, ENGINE_RELAY, "a queue cannot be counted in packets from some moment on");
    assert_refused(&packets, &built, false, ENGINE_RELAY, "a queue cannot be counted in bytes from some moment on");
    assert_allowed(&packets, &packets, false, ENGINE_RELAY);
    to.queue_bytes = 0;
    assert_refused(&built, &to, false, ENGINE_RELAY, "a queue of 0 bytes");
}

/* Without an engine there is a rate and nothing else. */
static void what_was_not_built_for_it(void **state)
{
    (void)state;
    struct direction plain = built, to;
    plain.changes = false;
    to = plain;
    to.rate_bps = 8000;
    assert_allowed(&plain, &to, false, ENGINE_NONE);
    assert_refused(&plain, &to, true, ENGINE_NONE, "can change its rate and its queue, but not go down");
    to.delay_ns = 0;
    assert_refused(&plain, &to, false, ENGINE_NONE, "but neither its delay nor its impairments");
    to = plain;
    to.impairments.loss = 0.1;
    assert_refused(&plain, &to, false, ENGINE_NONE, "but neither its delay nor its impairments");
    plain.rate_most_bps = 0; /* nothing above what it is */
    to = plain;
    to.rate_bps++;
    assert_refused(&plain, &to, false, ENGINE_NONE, "more than the 100mbit");
}

static void what_an_engine_cannot_do(void **state)
{
    (void)state;
    struct direction to = built;
    to.impairments = (struct impairments){.jitter_ns = 1000, .jitter_correlation = 0.5};
    assert_allowed(&built, &to, false, ENGINE_RELAY);
    assert_refused(&built, &to, false, ENGINE_NETEM, "engine netem cannot correlate jitter");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(within_what_was_planned),
        cmocka_unit_test(rates_stay_rates),
        cmocka_unit_test(what_was_not_built_for_it),
        cmocka_unit_test(what_an_engine_cannot_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
