/* test_fidelity.c: the verdict on a trial: each doubt on both sides of its threshold, the worst verdict with every reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "harness/fidelity.h"

enum { LINKS = 2, NODES = 2 };

/* Evidence of a trial that went as asked; tests then spoil parts of it. */
struct evidence {
    struct link links[LINKS];
    struct topology topology;
    struct link_counters counters[LINKS];
    struct link_check checks[LINKS];
    struct node_result nodes[NODES];
    struct fidelity_evidence all;
};

static void good_evidence(struct evidence *evidence)
{
    *evidence = (struct evidence){
        .links = {{.name = "w0-router", .from = 0, .to = 2}, {.name = "w1-router", .from = 1, .to = 2}},
        .nodes = {{.counters = {.compute_tasks = 500}}, {.counters = {.compute_tasks = 500}}},
    };
    for (int l = 0; l < LINKS; l++)
        for (int d = 0; d < DIRECTIONS; d++) {
            evidence->links[l].direction[d].delay_ns = NS_PER_MS;
            evidence->counters[l].direction[d] = (struct direction_counters){
                .lateness_p50_ns = -1, .lateness_p99_ns = -1, .lateness_max_ns = -1, .queue_drops = 1000};
            evidence->checks[l].direction[d] = (struct direction_check){.measured = true, .within_tolerance = true};
        }
    evidence->topology = (struct topology){.links = evidence->links, .link_count = LINKS};
    evidence->all = (struct fidelity_evidence){.topology = &evidence->topology,
                                               .counters = evidence->counters,
                                               .checks = evidence->checks,
                                               .nodes = evidence->nodes,
                                               .node_count = NODES};
}

static void assert_verdict(const struct evidence *evidence, enum fidelity verdict, const char *reason)
{
    char found[FIDELITY_REASON_BYTES];
    memset(found, 'x', sizeof(found));
    assert_int_equal(fidelity_judge(&evidence->all, found), verdict);
    assert_string_equal(found, reason);
}

static void what_was_asked_is_faithful(void **state)
{
    (void)state;
    struct evidence evidence;
    good_evidence(&evidence);
    assert_verdict(&evidence, FIDELITY_FAITHFUL, ""); /* full queues were asked for */
    evidence.all.checks = NULL;
    assert_verdict(&evidence, FIDELITY_FAITHFUL, "");
    evidence.nodes[0].counters.compute_tasks = evidence.nodes[1].counters.compute_tasks = 0;
    assert_verdict(&evidence, FIDELITY_FAITHFUL, "");
}

static void unasked_losses_degrade(void **state)
{
    (void)state;
    struct evidence evidence;
    good_evidence(&evidence);
    evidence.counters[1].direction[DIRECTION_BACKWARD].unasked_drops = 1;
    assert_verdict(&evidence, FIDELITY_DEGRADED, "link w1-router backward lost 1 packets that nobody asked to lose");
}

static void unread_counters_degrade(void **state)
{
    (void)state;
    struct evidence evidence;
    good_evidence(&evidence);
    evidence.all.counters = NULL;
    assert_verdict(&evidence, FIDELITY_DEGRADED, "the links' counters could not be read: losses and lateness are unknown");
}

static void late_packets_degrade(void **state)
{
    (void)state;
    struct evidence evidence;
    good_evidence(&evidence);
    struct direction_counters *counters = &evidence.counters[0].direction[DIRECTION_FORWARD];
    counters->lateness_p99_ns = 2 * NS_PER_MS; /* the threshold itself is good */
    counters->lateness_max_ns = 500 * NS_PER_MS;
    assert_verdict(&evidence, FIDELITY_FAITHFUL, "");
    counters->lateness_p99_ns++;
    assert_verdict(&evidence, FIDELITY_DEGRADED, "link w0-router forward released one packet in a hundred over 2 ms late");
    evidence.links[0].direction[DIRECTION_FORWARD].delay_ns = 100 * NS_PER_MS; /* half of the delay is more than 2 ms */
    counters->lateness_p99_ns = 50 * NS_PER_MS;
    assert_verdict(&evidence, FIDELITY_FAITHFUL, "");
    counters->lateness_p99_ns++;
    evidence.counters[1].direction[DIRECTION_BACKWARD].lateness_p99_ns = 60 * NS_PER_MS; /* the worst is named */
    assert_verdict(&evidence, FIDELITY_DEGRADED, "link w1-router backward released one packet in a hundred over 60 ms late");
}

static void links_out_of_tolerance_degrade(void **state)
{
    (void)state;
    struct evidence evidence;
    good_evidence(&evidence);
    struct direction_check *check = &evidence.checks[1].direction[DIRECTION_FORWARD];
    check->within_tolerance = false;
    snprintf(check->reason, sizeof(check->reason), "delay 1.4 ms where 1 ms was asked");
    assert_verdict(&evidence, FIDELITY_DEGRADED, "link w1-router forward: delay 1.4 ms where 1 ms was asked");
    check->measured = false; /* not in the sample: nothing is known */
    assert_verdict(&evidence, FIDELITY_FAITHFUL, "");
}

static void overruns_degrade_and_void(void **state)
{
    (void)state;
    struct evidence evidence;
    good_evidence(&evidence);
    evidence.nodes[0].counters.overruns = 10; /* of 1000: one in a hundred is good */
    assert_verdict(&evidence, FIDELITY_FAITHFUL, "");
    evidence.nodes[1].counters.overruns = 1;
    assert_verdict(&evidence, FIDELITY_DEGRADED, "11 of 1000 gradients took longer than their drawn compute time");
    evidence.nodes[1].counters.overruns = 490;
    assert_verdict(&evidence, FIDELITY_DEGRADED, "500 of 1000 gradients took longer than their drawn compute time");
    evidence.nodes[1].counters.overruns = 491;
    assert_verdict(&evidence, FIDELITY_VOID, "501 of 1000 gradients took longer than their drawn compute time");
}

static void late_timers_and_lost_spans_degrade(void **state)
{
    (void)state;
    struct evidence evidence;
    good_evidence(&evidence);
    evidence.nodes[0].counters.timer_late_count = 50;
    assert_verdict(&evidence, FIDELITY_FAITHFUL, "");
    evidence.nodes[1].counters.timer_late_count = 1;
    assert_verdict(&evidence, FIDELITY_DEGRADED,
                   "51 timers fired over 1 ms late for 1000 compute tasks: the processors are overloaded");
    evidence.nodes[1].counters.timer_late_count = 0;
    evidence.nodes[1].counters.spans_lost = 7;
    assert_verdict(&evidence, FIDELITY_DEGRADED, "7 spans did not fit their memory");
}

static void stolen_time_degrades(void **state)
{
    (void)state;
    struct evidence evidence;
    good_evidence(&evidence);
    evidence.all.stolen_share = 0.05;
    assert_verdict(&evidence, FIDELITY_FAITHFUL, "");
    evidence.all.stolen_share = 0.123;
    assert_verdict(&evidence, FIDELITY_DEGRADED, "the hypervisor took 12 % of the processors' time");
}

static void the_worst_verdict_has_every_reason(void **state)
{
    (void)state;
    struct evidence evidence;
    good_evidence(&evidence);
    evidence.nodes[0].counters.overruns = 501;
    evidence.nodes[0].counters.spans_lost = 7;
    assert_verdict(&evidence, FIDELITY_VOID,
                   "501 of 1000 gradients took longer than their drawn compute time; 7 spans did not fit their memory");

    /* Everything at once is cut where the room ends, and the verdict stays. */
    evidence.counters[0].direction[0].unasked_drops = UINT64_MAX;
    evidence.counters[0].direction[0].lateness_p99_ns = INT64_MAX;
    evidence.checks[0].direction[0].within_tolerance = false;
    memset(evidence.checks[0].direction[0].reason, 'r', sizeof(evidence.checks[0].direction[0].reason) - 1);
    evidence.nodes[0].counters.timer_late_count = UINT32_MAX;
    char reason[FIDELITY_REASON_BYTES + 1];
    reason[FIDELITY_REASON_BYTES] = 'g'; /* a guard */
    assert_int_equal(fidelity_judge(&evidence.all, reason), FIDELITY_VOID);
    assert_int_equal(reason[FIDELITY_REASON_BYTES], 'g');
    assert_int_equal(strlen(reason), FIDELITY_REASON_BYTES - 1);
    assert_memory_equal(reason, "link w0-router forward lost 18446744073709551615 packets", 56);
    assert_string_equal(reason + FIDELITY_REASON_BYTES - 4, "...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_asked_is_faithful),
        cmocka_unit_test(unasked_losses_degrade),
        cmocka_unit_test(late_packets_degrade),
        cmocka_unit_test(links_out_of_tolerance_degrade),
        cmocka_unit_test(overruns_degrade_and_void),
        cmocka_unit_test(late_timers_and_lost_spans_degrade),
        cmocka_unit_test(stolen_time_degrades),
        cmocka_unit_test(unread_counters_degrade),
        cmocka_unit_test(the_worst_verdict_has_every_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
