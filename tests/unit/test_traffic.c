/* test_traffic.c: when a flow of cross traffic is on, and how much of it is due by then; exponential times bit by bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "netem/topology.h"
#include "netem/traffic_internal.h"

#define MS NS_PER_MS

static void a_constant_flow_is_on_from_its_start_to_its_stop(void **state)
{
    (void)state;
    const struct traffic_setting always = {.rate_bps = 1}, within = {.rate_bps = 1, .start_ns = 10 * MS, .stop_ns = 30 * MS};
    struct traffic_schedule schedule = traffic_schedule_of(&always, 1, 0);
    assert_int_equal(traffic_schedule_active_ns(&schedule, 0), 0);
    assert_int_equal(traffic_schedule_active_ns(&schedule, 5), 5);
    assert_int_equal(traffic_schedule_when_ns(&schedule, 7), 7);
    assert_int_equal(traffic_schedule_active_ns(&schedule, NS_PER_S), NS_PER_S);
    schedule = traffic_schedule_of(&within, 1, 0);
    assert_int_equal(traffic_schedule_active_ns(&schedule, 9 * MS), 0);
    assert_int_equal(traffic_schedule_when_ns(&schedule, 1), 10 * MS); /* to ask again then */
    assert_int_equal(traffic_schedule_active_ns(&schedule, 10 * MS), 0);
    assert_int_equal(traffic_schedule_when_ns(&schedule, MS), 11 * MS);
    assert_int_equal(traffic_schedule_when_ns(&schedule, 20 * MS), 30 * MS);
    assert_int_equal(traffic_schedule_when_ns(&schedule, 20 * MS + 1), TRAFFIC_NEVER);
    assert_int_equal(traffic_schedule_active_ns(&schedule, 40 * MS), 20 * MS);
}

static void on_and_off_take_turns(void **state)
{
    (void)state;
    const struct traffic_setting asked = {.rate_bps = 1, .on_ns = 3 * MS, .off_ns = 7 * MS, .start_ns = 100 * MS};
    struct traffic_schedule schedule = traffic_schedule_of(&asked, 1, 0);
    static const struct {
        int64_t at_ms, active_ms;
    } expected[] = {{0, 0},   {100, 0}, {102, 2}, {103, 3},    {109, 3},   {110, 3},
                    {111, 4}, {113, 6}, {120, 6}, {1100, 300}, {1101, 301}};
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
        assert_int_equal(traffic_schedule_active_ns(&schedule, expected[i].at_ms * MS), expected[i].active_ms * MS);
    assert_int_equal(traffic_schedule_when_ns(&schedule, 302 * MS), 1102 * MS);
    assert_int_equal(traffic_schedule_when_ns(&schedule, 303 * MS), 1103 * MS); /* the end of the turn: then it is the next one's */
    assert_int_equal(traffic_schedule_active_ns(&schedule, 1103 * MS), 303 * MS);
    assert_int_equal(traffic_schedule_when_ns(&schedule, 303 * MS), 1110 * MS);
}

/* The ends of the first turns, and the ways in which they are found do not matter. */
static void exponential_times_follow_seed_and_flow(void **state)
{
    (void)state;
    const struct traffic_setting asked = {.rate_bps = 1, .on_ns = 10 * MS, .off_ns = 20 * MS, .spread = SPREAD_EXPONENTIAL};
    static const int64_t golden[] = {17397602, 18431850, 25573461, 103320225, 115338611, 125073217};
    struct traffic_schedule schedule = traffic_schedule_of(&asked, 7, 0);
    (void)traffic_schedule_active_ns(&schedule, 0);
    for (size_t i = 0; i < sizeof(golden) / sizeof(golden[0]); i++) {
        assert_true(schedule.on == (i % 2 == 0));
        assert_int_equal(schedule.end_ns, golden[i]);
        (void)traffic_schedule_active_ns(&schedule, schedule.end_ns);
    }
    struct traffic_schedule at_once = traffic_schedule_of(&asked, 7, 0), other_flow = traffic_schedule_of(&asked, 7, 1),
                            other_seed = traffic_schedule_of(&asked, 8, 0);
    assert_int_equal(traffic_schedule_active_ns(&at_once, NS_PER_S), traffic_schedule_active_ns(&schedule, NS_PER_S));
    assert_int_not_equal(traffic_schedule_active_ns(&other_flow, NS_PER_S), traffic_schedule_active_ns(&schedule, NS_PER_S));
    assert_int_not_equal(traffic_schedule_active_ns(&other_seed, NS_PER_S), traffic_schedule_active_ns(&schedule, NS_PER_S));
    /* In the long run on for a third: 20,000 turns, so four standard errors are 3 %. */
    int64_t active_ns = traffic_schedule_active_ns(&schedule, 300 * NS_PER_S);
    assert_in_range(active_ns, 97 * NS_PER_S, 103 * NS_PER_S);
}

static void what_is_due_is_rate_times_time(void **state)
{
    (void)state;
    assert_int_equal(traffic_units_due(8000, 1000, NS_PER_S - 1), 0);
    assert_int_equal(traffic_units_due(8000, 1000, NS_PER_S), 1);
    assert_int_equal(traffic_units_ns(8000, 1000, 1), NS_PER_S);
    assert_int_equal(traffic_units_ns(20000000, 1400, 3), 1680000);
    assert_int_equal(traffic_units_due(UINT64_C(400000000000), 1, 168 * 3600 * NS_PER_S), UINT64_C(30240000000000000)); /* a week */
    for (uint64_t units = 1; units < 5000; units += 7) { /* the least time in which so many come due, and no unit is lost */
        int64_t when_ns = traffic_units_ns(12345677, 1397, units);
        assert_int_equal(traffic_units_due(12345677, 1397, when_ns), units);
        assert_int_equal(traffic_units_due(12345677, 1397, when_ns - 1), units - 1);
    }
}

static void what_is_too_late_is_left_out_but_for_the_last(void **state)
{
    (void)state;
    const uint64_t rate = 8000000, unit = 100; /* ten a millisecond */
    assert_int_equal(traffic_units_late(rate, unit, 10 * MS, 0), 0);
    assert_int_equal(traffic_units_late(rate, unit, 11 * MS, 0), 10);
    assert_int_equal(traffic_units_late(rate, unit, 11 * MS, 10), 0);
    assert_int_equal(traffic_units_late(rate, unit, 11 * MS, 4), 6);
    assert_int_equal(traffic_units_late(rate, unit, 50 * MS, 0), 400);
    /* One in 100 ms: two are due, the older one is left out; one is due, and goes. */
    assert_int_equal(traffic_units_late(8000, unit, 290 * MS, 0), 1);
    assert_int_equal(traffic_units_late(8000, unit, 290 * MS, 1), 0);
    assert_int_equal(traffic_units_late(8000, unit, 99 * MS, 0), 0);
}

static void flows_get_their_places_in_a_network(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    static const char *const names[] = {"paris", "tokyo"}, *const routers[] = {"core"};
    const struct graph_link links[] = {{.from = "paris", .to = "core"}, {.from = "core", .to = "tokyo"}};
    const struct settings settings = {
        .shape = SHAPE_GRAPH, .mtu = 600, .hosts = {names, 2}, .routers = {routers, 1}, .links = {links, 2}};
    const struct traffic_setting asked[] = {{.from = "tokyo", .to = "w0", .rate_bps = 1},
                                            {.from = "1", .to = "core", .rate_bps = 1, .packet_bytes = 572},
                                            {.from = "core", .to = "paris", .rate_bps = 1, .transport = TRANSPORT_TCP}};
    const struct traffic_list list = {asked, 3};
    struct traffic_flow flows[3] = {0};
    struct traffic_fault fault = {0};
    struct topology topology;
    assert_int_equal(topology_build(&settings, 2, 0, arena, &topology, NULL), 0);
    assert_int_equal(traffic_resolve(&list, &settings.hosts, &topology, flows, &fault, NULL), 0);
    assert_true(flows[0].from == 1 && flows[0].to == 0 && flows[1].from == 1 && flows[1].to == 2);
    assert_true(flows[2].from == 2 && flows[2].to == 0 && flows[2].asked.packet_bytes == 0);
    assert_int_equal(flows[0].asked.packet_bytes, 572); /* what fits the mtu */
    const struct traffic_setting wrong = {.from = "ohio", .to = "w0", .rate_bps = 1};
    struct err err;
    assert_int_equal(traffic_resolve(&(struct traffic_list){&wrong, 1}, &settings.hosts, &topology, flows, &fault, &err),
                     -ERR_USAGE);
    assert_string_equal(fault.key, "from");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_constant_flow_is_on_from_its_start_to_its_stop), cmocka_unit_test(on_and_off_take_turns),
        cmocka_unit_test(exponential_times_follow_seed_and_flow),           cmocka_unit_test(what_is_due_is_rate_times_time),
        cmocka_unit_test(what_is_too_late_is_left_out_but_for_the_last),    cmocka_unit_test(flows_get_their_places_in_a_network),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
