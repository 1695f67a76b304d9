/* test_event_plan.c: what events mean in a network: which directions are built for what, what a link becomes, who is parted from
 * whom, and when node 0 has to speak. Refusals are in tests/golden/bad-event-*. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "harness/campaign.h"
#include "harness/event_plan.h"
#include "harness/forecast.h"
#include "netem/impairment.h"
#include "netem/topology.h"

#define MS NS_PER_MS
#define MBIT UINT64_C(1000000)
#define HEAD(link)                                                                                                                 \
    "name: t\ntopology: {link: {" link "}}\nworkload: {model: synthetic, size: 100KB, rounds: 10}\nscheme: ring\nworkers: 4\n"

struct rig {
    struct arena *arena;
    const struct settings *settings;
    struct topology topology;
    struct event_plan plan;
};

static void open_rig(struct rig *rig, const char *campaign)
{
    *rig = (struct rig){.arena = arena_new()};
    struct plan plan;
    struct event_fault fault;
    struct err err;
    int servers;
    if (campaign_parse("t.yaml", campaign, strlen(campaign), rig->arena, &plan, &err) < 0)
        fail_msg("%s", err.text);
    rig->settings = &plan.cells[0].settings;
    assert_int_equal(forecast_topology(rig->settings, rig->arena, &rig->topology, &servers, &err), 0);
    assert_int_equal(event_plan_make(rig->settings, &rig->topology, rig->arena, &rig->plan, &fault, &err), 0);
}

static void close_rig(struct rig *rig)
{
    arena_free(rig->arena);
}

static void expect_marks(const struct rig *rig, int link, int direction, bool changes, uint64_t rate_most_bps,
                         int64_t delay_most_ns)
{
    const struct direction *marked = &rig->topology.links[link].direction[direction];
    assert_int_equal(marked->changes, changes);
    assert_int_equal(marked->rate_most_bps, rate_most_bps);
    assert_int_equal(marked->delay_most_ns, delay_most_ns);
}

static void directions_are_built_for_the_most_that_comes(void **state)
{
    (void)state;
    struct rig rig;
    open_rig(&rig, HEAD("rate: 100mbit") "events:\n"
                                         "  - {at: 1s, do: set, link: w0-router, to: {rate: 10mbit, back: {rate: 1gbit}}}\n"
                                         "  - {at: 2s, do: set, link: 1, to: {delay: 5ms, jitter: 2ms}}\n"
                                         "  - {at: 3s, do: set, link: 1, to: {delay: 3ms, rate: 50mbit}}\n"
                                         "  - {at: 4s, do: down, link: w2-router, direction: backward}\n"
                                         "  - {at: 5s, do: set, link: w3-router, to: {back: {loss: 1%}}}\n"
                                         "  - {at: 5s, do: partition, nodes: [w3]}\n");
    expect_marks(&rig, 0, DIRECTION_FORWARD, false, 100 * MBIT, 0); /* a rate alone needs no engine */
    expect_marks(&rig, 0, DIRECTION_BACKWARD, false, 1000 * MBIT, 0);
    const int64_t jittered_ns = 5 * MS + impairment_jitter_most_ns(&(struct impairments){.jitter_ns = 2 * MS});
    expect_marks(&rig, 1, DIRECTION_FORWARD, true, 100 * MBIT, jittered_ns);
    expect_marks(&rig, 1, DIRECTION_BACKWARD, true, 100 * MBIT, jittered_ns);
    expect_marks(&rig, 2, DIRECTION_FORWARD, false, 0, 0);
    expect_marks(&rig, 2, DIRECTION_BACKWARD, true, 100 * MBIT, 0);
    expect_marks(&rig, 3, DIRECTION_FORWARD, false, 0, 0);
    expect_marks(&rig, 3, DIRECTION_BACKWARD, true, 100 * MBIT, 0);
    close_rig(&rig);

    open_rig(&rig, HEAD("rate: 100mbit, delay: 30ms") "events:\n"
                                                      "  - {at: 0s, do: trace, link: w0-router, file: tests/golden/link.csv, "
                                                      "format: csv, direction: forward}\n"
                                                      "  - {at: 0s, do: trace, link: w1-router, file: tests/golden/cellular.trace, "
                                                      "format: mahimahi}\n");
    expect_marks(&rig, 0, DIRECTION_FORWARD, true, 100 * MBIT, 80 * MS);
    expect_marks(&rig, 0, DIRECTION_BACKWARD, false, 0, 0);
    expect_marks(&rig, 1, DIRECTION_FORWARD, false, 100 * MBIT, 30 * MS); /* the relay holds rate x delay */
    close_rig(&rig);
}

static void networks_that_are_built_differently_are_measured_apart(void **state)
{
    (void)state;
    struct rig plain, slower, cut;
    cleanup(text_free) struct text plain_text = {0}, slower_text = {0}, cut_text = {0};
    open_rig(&plain, HEAD("rate: 100mbit"));
    open_rig(&slower, HEAD("rate: 100mbit") "events: [{at: 1s, do: set, link: 0, to: {rate: 10mbit}}]\n");
    open_rig(&cut, HEAD("rate: 100mbit") "events: [{at: 1s, do: down, link: 0}]\n");
    topology_describe(&plain.topology, &plain_text);
    topology_describe(&slower.topology, &slower_text);
    topology_describe(&cut.topology, &cut_text);
    assert_string_not_equal(plain_text.bytes, slower_text.bytes);
    assert_string_not_equal(slower_text.bytes, cut_text.bytes);
    close_rig(&plain);
    close_rig(&slower);
    close_rig(&cut);
}

static void names_and_indexes_find_links_and_nodes(void **state)
{
    (void)state;
    struct rig rig;
    open_rig(&rig, "name: t\nscheme: ps-sync\nworkers: 2\nworkload: {model: synthetic, size: 100KB, rounds: 10}\n"
                   "topology: {shape: graph, hosts: [paris, tokyo, ohio], routers: [core], link: {rate: 1gbit},\n"
                   "  links: [{from: paris, to: core, name: seine}, {from: tokyo, to: core}, {from: ohio, to: core}]}\n"
                   "events:\n"
                   "  - {at: 1s, do: down, link: seine}\n"
                   "  - {at: 1s, do: down, link: w1-core}\n"
                   "  - {at: 1s, do: crash, node: tokyo}\n"
                   "  - {at: 1s, do: partition, nodes: [s0, 0]}\n");
    assert_int_equal(rig.plan.events[0].link, 0);
    assert_int_equal(rig.plan.events[1].link, 1);
    assert_int_equal(rig.plan.events[2].nodes[0], 1);
    assert_int_equal(rig.plan.events[3].node_count, 2);
    assert_true(rig.plan.events[3].nodes[0] == 2 && rig.plan.events[3].nodes[1] == 0);
    close_rig(&rig);
}

static void a_change_leaves_what_it_does_not_name(void **state)
{
    (void)state;
    struct rig rig;
    open_rig(&rig, HEAD("rate: 1gbit, delay: 5ms, loss: 1%, jitter: 1ms") "events:\n"
                                                                          "  - {at: 1s, do: set, link: 0, to: {rate: 100mbit, "
                                                                          "back: {loss: 0}}}\n"
                                                                          "  - {at: 2s, do: set, link: 0, to: {queue: 300KB}}\n"
                                                                          "  - {at: 3s, do: set, link: 0, to: {rate: 10mbit}}\n");
    struct direction now = rig.topology.links[0].direction[DIRECTION_BACKWARD], then;
    assert_int_equal(now.queue_bytes, 1500000);
    assert_int_equal(event_direction_set(rig.plan.events[0].asked, DIRECTION_BACKWARD, &now, 1500, &then, NULL), 0);
    assert_true(then.rate_bps == 100 * MBIT && then.delay_ns == 5 * MS && then.impairments.jitter_ns == MS);
    assert_true(then.impairments.loss == 0);
    assert_int_equal(then.queue_bytes, 150000); /* nobody asked for one: it follows the rate */
    assert_true(then.rate_most_bps == now.rate_most_bps && then.changes);
    assert_int_equal(event_direction_set(rig.plan.events[0].asked, DIRECTION_FORWARD, &now, 1500, &then, NULL), 0);
    assert_true(then.impairments.loss == 0.01);
    now = then;
    assert_int_equal(event_direction_set(rig.plan.events[1].asked, DIRECTION_FORWARD, &now, 1500, &then, NULL), 0);
    assert_true(then.rate_bps == 100 * MBIT && then.queue_bytes == 300000);
    now = then;
    assert_int_equal(event_direction_set(rig.plan.events[2].asked, DIRECTION_FORWARD, &now, 1500, &then, NULL), 0);
    assert_true(then.rate_bps == 10 * MBIT && then.queue_bytes == 300000); /* somebody asked for this one */

    const struct trace_step step = {.rate_bps = 2 * MBIT, .delay_ns = 9 * MS, .loss = 0.5};
    const struct link_trace trace = {.steps = &step, .count = 1, .has_delay = true};
    assert_int_equal(event_direction_trace(&trace, &step, &now, 1500, &then, NULL), 0);
    assert_true(then.rate_bps == 100 * MBIT && then.delay_ns == 9 * MS && then.impairments.loss == 0.01);
    close_rig(&rig);
}

static bool parted(const int *group, const char *expected)
{
    for (int i = 0; expected[i]; i++)
        for (int j = 0; j < i; j++)
            if ((group[i] == group[j]) != (expected[i] == expected[j]))
                return false;
    return true;
}

static void partitions_add_up(void **state)
{
    (void)state;
    enum { NODES = 5 };
    int group[NODES] = {0}, scratch[EVENT_PART_SCRATCH * NODES];
    const int left[] = {0, 1}, odd[] = {1, 3};
    const struct planned_event first = {.nodes = left, .node_count = 2}, second = {.nodes = odd, .node_count = 2};
    event_part(&first, NODES, group, scratch);
    assert_true(parted(group, "aabbb"));
    event_part(&second, NODES, group, scratch);
    assert_true(parted(group, "abcdc"));
    for (int again = 0; again < 100; again++) /* what is parted stays so, and the numbers small */
        event_part(&first, NODES, group, scratch);
    assert_true(parted(group, "abcdc"));
    for (int i = 0; i < NODES; i++)
        assert_true(group[i] >= 0 && group[i] < 4);
}

static void node_0_speaks_when_events_wait_for_it(void **state)
{
    (void)state;
    struct rig rig;
    const uint32_t *marks;
    open_rig(&rig, HEAD("rate: 1gbit") "warmup_rounds: 3\ntrial_deadline: 90s\nevents:\n"
                                       "  - {round: 9, do: crash, node: w0}\n"
                                       "  - {at: 7s, do: pause, node: w0, for: 500ms}\n"
                                       "  - {round: 0, do: flap, link: 0, down: 20ms, up: 1s, times: 5}\n"
                                       "  - {round: 9, do: down, link: 1}\n");
    assert_int_equal(event_marks(rig.settings, rig.arena, &marks), 2);
    assert_true(marks[0] == 3 && marks[1] == 12);
    assert_int_equal(event_stopped_ns(rig.settings), 600 * MS);
    assert_int_equal(event_extra_ns(rig.settings), 7600 * MS);
    close_rig(&rig);
    open_rig(&rig, HEAD("rate: 1gbit") "events: [{round: 0, do: down, link: 0}]\n"); /* that is the start */
    assert_int_equal(event_marks(rig.settings, rig.arena, &marks), 0);
    close_rig(&rig);
}

static void an_engine_may_not_do_all_of_it(void **state)
{
    (void)state;
    struct rig rig;
    struct err err;
    open_rig(&rig, HEAD("rate: 1gbit") "events:\n  - {at: 1s, do: set, link: 0, to: {delay: 5ms}}\n"
                                       "  - {at: 2s, do: set, link: 0, to: {jitter: 1ms, jitter_correlation: 0.5}}\n");
    assert_int_equal(event_plan_check_engine(&rig.plan, &rig.topology, ENGINE_RELAY, &err), 0);
    assert_int_equal(event_plan_check_engine(&rig.plan, &rig.topology, ENGINE_NETEM, &err), -ERR_USAGE);
    assert_non_null(strstr(err.text, "event 1, link w0-router forward: engine netem cannot correlate jitter"));
    close_rig(&rig);
}

static void each_event_has_its_sentence(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "at 2s: link w0-router becomes {rate: 10mbit, back: {delay: 5ms}}",
        "at 1s: link w1-router forward goes down",
        "before round 2: link w1-router comes up",
        "at 0: link w1-router flaps 5 times: down for 50ms, up for 200ms",
        "at 1s: no way between the others and w0, w1",
        "at 2s: all nodes reach each other again",
        "before round 5: node w2 pauses for 200ms",
        "before round 8: node w3 crashes",
        "at 0: link w3-router backward follows tests/golden/link.csv: 4 steps in 4s, again and again",
    };
    struct rig rig;
    open_rig(
        &rig,
        HEAD("rate: 1gbit") "events:\n"
                            "  - {at: 2s, do: set, link: w0-router, to: {rate: 10mbit, back: {delay: 5ms}}}\n"
                            "  - {at: 1s, do: down, link: 1, direction: forward}\n"
                            "  - {round: 2, do: up, link: w1-router}\n"
                            "  - {at: 0s, do: flap, link: w1-router, down: 50ms, up: 200ms, times: 5}\n"
                            "  - {at: 1s, do: partition, nodes: [w0, 1]}\n"
                            "  - {at: 2s, do: heal}\n"
                            "  - {round: 5, do: pause, node: w2, for: 200ms}\n"
                            "  - {round: 8, do: crash, node: w3}\n"
                            "  - {at: 0s, do: trace, link: 3, file: tests/golden/link.csv, format: csv, direction: backward}\n");
    for (int i = 0; i < rig.plan.count; i++) {
        cleanup(text_free) struct text text = {0};
        event_describe_when(rig.plan.events[i].asked, &text);
        text_add(&text, ": ");
        event_describe(&rig.plan.events[i], &rig.topology, &text);
        assert_string_equal(text.bytes, expected[i]);
    }
    close_rig(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directions_are_built_for_the_most_that_comes),
        cmocka_unit_test(networks_that_are_built_differently_are_measured_apart),
        cmocka_unit_test(names_and_indexes_find_links_and_nodes),
        cmocka_unit_test(a_change_leaves_what_it_does_not_name),
        cmocka_unit_test(partitions_add_up),
        cmocka_unit_test(node_0_speaks_when_events_wait_for_it),
        cmocka_unit_test(an_engine_may_not_do_all_of_it),
        cmocka_unit_test(each_event_has_its_sentence),
    };
    return cmocka_run_group_tests_name("event_plan", tests, NULL, NULL);
}
