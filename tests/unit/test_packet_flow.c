/* test_packet_flow.c: what one connection has passed before, and when its timestamps come back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "netem/packet_flow.h"

/* ---- what has passed before ---- */

static void numbers_that_passed_are_known(void **state)
{
    (void)state;
    struct packet_flow flow = {0};
    assert_int_equal(packet_flow_pass(&flow, 1000, 500), 0);
    assert_int_equal(packet_flow_pass(&flow, 1500, 500), 0);
    assert_int_equal(packet_flow_pass(&flow, 1000, 500), 500); /* sent again */
    assert_int_equal(packet_flow_pass(&flow, 1900, 300), 100); /* the last hundred, and two hundred new */
    assert_int_equal(packet_flow_pass(&flow, 2200, 0), 0);
    assert_int_equal(packet_flow_pass(&flow, 2200, 1), 0);
}

static void a_hole_is_filled_once(void **state)
{
    (void)state;
    struct packet_flow flow = {0};
    packet_flow_pass(&flow, 0, 100);
    assert_int_equal(packet_flow_pass(&flow, 300, 100), 0); /* 100 to 300 were lost on the way here */
    assert_int_equal(packet_flow_pass(&flow, 150, 50), 0);  /* the hole splits */
    assert_int_equal(flow.hole_count, 2);
    assert_int_equal(packet_flow_pass(&flow, 150, 50), 50);
    assert_int_equal(packet_flow_pass(&flow, 0, 400), 100 + 50 + 100); /* fills both */
    assert_int_equal(flow.hole_count, 0);
    assert_int_equal(packet_flow_pass(&flow, 0, 400), 400);
}

static void holes_have_an_end(void **state)
{
    (void)state;
    struct packet_flow flow = {0};
    packet_flow_pass(&flow, 0, 10);
    for (uint32_t i = 1; i <= PACKET_FLOW_HOLES + 1; i++)
        packet_flow_pass(&flow, 20 * i, 10); /* each leaves ten out */
    assert_int_equal(flow.hole_count, PACKET_FLOW_HOLES);
    assert_int_equal(packet_flow_pass(&flow, 10, 10), 10); /* the oldest hole is forgotten */
    assert_int_equal(packet_flow_pass(&flow, 30, 10), 0);
    for (uint32_t i = 1; i <= PACKET_FLOW_HOLES; i++) /* all the rest, from behind, each in two */
        packet_flow_pass(&flow, 20 * (PACKET_FLOW_HOLES + 2 - i) - 7, 2);
    assert_int_equal(flow.hole_count, PACKET_FLOW_HOLES);
}

static void numbers_wrap_around(void **state)
{
    (void)state;
    struct packet_flow flow = {0};
    uint32_t sequence = 0xffffff00u;
    packet_flow_begin(&flow, sequence);
    for (int i = 0; i < 3 * 4096; i++, sequence += 1u << 20) /* three times around */
        assert_int_equal(packet_flow_pass(&flow, sequence, 1u << 20), 0);
    assert_int_equal(packet_flow_pass(&flow, sequence - (1u << 20), 1u << 20), 1u << 20);
    struct packet_flow near = {0};
    packet_flow_pass(&near, 0xfffffff0u, 32); /* 16 in front, 16 behind */
    assert_int_equal(packet_flow_pass(&near, 0xfffffff8u, 16), 16);
    assert_int_equal(packet_flow_pass(&near, 12, 8), 4);
}

static void ports_may_be_used_again(void **state)
{
    (void)state;
    struct packet_flow flow = {0};
    packet_flow_begin(&flow, 1000);
    assert_int_equal(packet_flow_pass(&flow, 1000, 1), 0); /* the SYN itself */
    packet_flow_begin(&flow, 1000);
    assert_int_equal(packet_flow_pass(&flow, 1000, 1), 1); /* sent again */
    assert_int_equal(packet_flow_pass(&flow, 1001, 100), 0);
    packet_flow_begin(&flow, 1020); /* another connection */
    assert_int_equal(packet_flow_pass(&flow, 1020, 50), 0);
    assert_int_equal(packet_flow_pass(&flow, 1020 + (1u << 31), 50), 0); /* one whose SYN nobody saw */
    assert_int_equal(packet_flow_pass(&flow, 1020 + (1u << 31), 50), 50);
}

/* ---- round trips ---- */

static void a_timestamp_comes_back_once(void **state)
{
    (void)state;
    struct packet_flow flow = {0};
    packet_flow_pass(&flow, 100, 50);
    assert_int_equal(packet_flow_sent(&flow, 7, 100, 1000), -1);
    assert_int_equal(packet_flow_sent(&flow, 7, 110, 1200), -1);   /* the same tick: the first counts */
    assert_int_equal(packet_flow_echoed(&flow, 7, 100, 1500), -1); /* acknowledges nothing of it */
    assert_int_equal(packet_flow_echoed(&flow, 7, 150, 4000), 3000);
    assert_int_equal(packet_flow_echoed(&flow, 7, 150, 5000), -1);
    assert_int_equal(packet_flow_sent(&flow, 7, 150, 6000), -1); /* still the same tick */
    assert_int_equal(packet_flow_echoed(&flow, 7, 200, 7000), -1);
    assert_int_equal(packet_flow_echoed(&flow, 8, 200, 7000), -1); /* never left with data */
}

static void an_echo_may_be_told_first(void **state)
{
    (void)state;
    struct packet_flow flow = {0};
    assert_int_equal(packet_flow_echoed(&flow, 9, 150, 4000), -1);
    assert_int_equal(packet_flow_echoed(&flow, 11, 150, 4100), -1);
    assert_int_equal(packet_flow_sent(&flow, 9, 100, 1000), 3000);
    assert_int_equal(packet_flow_sent(&flow, 11, 150, 1000), -1); /* that echo was of a bare acknowledgement */
    assert_int_equal(packet_flow_echoed(&flow, 11, 151, 9000), 8000);
}

static void long_round_trips_keep_their_place(void **state)
{
    (void)state;
    struct packet_flow flow = {0};
    int samples = 0;
    for (uint32_t tick = 0; tick < 20000; tick++) { /* ten round trips of 2,000 ticks, of which 256 have a place at a time */
        int64_t now_ns = tick * NS_PER_MS;
        int64_t got = packet_flow_echoed(&flow, tick - 2000, tick - 1999, now_ns);
        if (got >= 0) {
            assert_int_equal(got, 2000 * NS_PER_MS);
            samples++;
        }
        assert_int_equal(packet_flow_sent(&flow, tick, tick, now_ns), -1);
    }
    assert_in_range(samples, 9 * PACKET_FLOW_STAMPS, 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_that_passed_are_known),
        cmocka_unit_test(a_hole_is_filled_once),
        cmocka_unit_test(holes_have_an_end),
        cmocka_unit_test(numbers_wrap_around),
        cmocka_unit_test(ports_may_be_used_again),
        cmocka_unit_test(a_timestamp_comes_back_once),
        cmocka_unit_test(an_echo_may_be_told_first),
        cmocka_unit_test(long_round_trips_keep_their_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
