/* test_fidelity.c: the verdict on a trial: each doubt on both sides of its threshold, the worst verdict with every reason, and the
 * manual's table of thresholds, which `test_fidelity --update` writes anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "harness/fidelity.h"
#include "tests/unit/fidelity_rig.h"

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

static void a_lost_node_degrades_unless_an_event_ended_it(void **state)
{
    (void)state;
    struct evidence evidence;
    static const struct place places[] = {{.name = "w0"}, {.name = "w1"}};
    static const bool crashed[NODES] = {false, true};
    good_evidence(&evidence);
    evidence.topology.places = places;
    evidence.nodes[1] = (struct node_result){.lost = true};
    assert_verdict(&evidence, FIDELITY_DEGRADED, "node w1 was lost, which nobody asked for");
    evidence.all.crashed = crashed;
    assert_verdict(&evidence, FIDELITY_FAITHFUL, "");
    evidence.nodes[0].counters.loop_wait_ns = 200; /* who is lost waited for nothing, and is no median */
    evidence.all.duration_ns = 1000;
    assert_verdict(&evidence, FIDELITY_DEGRADED, "the median node waited for a processor for 20 % of the rounds' time");
    evidence.all.busy_waits = true; /* who looks for messages all the time waits for processors that it does not need */
    assert_verdict(&evidence, FIDELITY_FAITHFUL, "");
}

static void unasked_losses_degrade(void **state)
{
    (void)state;
    struct evidence evidence;
    good_evidence(&evidence);
    evidence.counters[1].direction[DIRECTION_BACKWARD].unasked_drops = 1;
    assert_verdict(&evidence, FIDELITY_DEGRADED, "link w1-router backward lost 1 packet that nobody asked to lose");
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
    assert_verdict(&evidence, FIDELITY_DEGRADED, "11 of 1000 gradients took longer than the drawn compute time");
    evidence.nodes[1].counters.overruns = 490;
    assert_verdict(&evidence, FIDELITY_DEGRADED, "500 of 1000 gradients took longer than the drawn compute time");
    evidence.nodes[1].counters.overruns = 491;
    assert_verdict(&evidence, FIDELITY_VOID, "501 of 1000 gradients took longer than the drawn compute time");
}

static void what_events_ask_for_is_no_doubt(void **state)
{
    (void)state;
    struct evidence evidence;
    const bool paused[NODES] = {false, true};
    good_evidence(&evidence);
    evidence.nodes[1].counters.overruns = 400;
    evidence.nodes[1].counters.timer_late_count = 400;
    evidence.all.paused = paused; /* its own clock says nothing about this host */
    assert_verdict(&evidence, FIDELITY_FAITHFUL, "");
    evidence.nodes[0].counters.overruns = 6; /* of its own 500 */
    assert_verdict(&evidence, FIDELITY_DEGRADED, "6 of 500 gradients took longer than the drawn compute time");
    evidence.nodes[0].counters.overruns = 0;

    for (int l = 0; l < LINKS; l++)
        for (int d = 0; d < DIRECTIONS; d++)
            evidence.counters[l].direction[d].queue_drops = 0;
    evidence.nodes[0].counters.sent_messages = 200;
    evidence.nodes[0].counters.tcp_retransmits = 3;
    assert_verdict(&evidence, FIDELITY_DEGRADED,
                   "TCP sent 3 segments again (0 timeouts), though no link lost a packet: they came too late");
    evidence.all.parted = true;
    assert_verdict(&evidence, FIDELITY_FAITHFUL, "");
    evidence.all.parted = false;
    evidence.links[1].direction[DIRECTION_BACKWARD].rate_most_bps = 1000; /* its rate changes */
    assert_verdict(&evidence, FIDELITY_FAITHFUL, "");
}

static void sending_again_without_a_cause_degrades(void **state)
{
    (void)state;
    struct evidence evidence;
    good_evidence(&evidence);
    evidence.nodes[0].counters.tcp_retransmits = 3;
    evidence.nodes[0].counters.sent_messages = 200;
    evidence.nodes[1].counters.tcp_timeouts = 1;
    assert_verdict(&evidence, FIDELITY_FAITHFUL, ""); /* queues were full */
    for (int l = 0; l < LINKS; l++)
        for (int d = 0; d < DIRECTIONS; d++)
            evidence.counters[l].direction[d].queue_drops = 0;
    static const char again[] = "TCP sent 3 segments again (1 timeout), though no link lost a packet: they came too late";
    assert_verdict(&evidence, FIDELITY_DEGRADED, again);
    evidence.nodes[1].counters.sent_messages = 100; /* one in a hundred */
    assert_verdict(&evidence, FIDELITY_FAITHFUL, "");
    evidence.nodes[1].counters.sent_messages = 0;
    struct direction *asked = &evidence.links[1].direction[DIRECTION_FORWARD];
    asked->impairments.loss = 1e-6;
    assert_verdict(&evidence, FIDELITY_FAITHFUL, "");
    *asked = (struct direction){.delay_ns = NS_PER_MS, .changes = true}; /* an event may cut it */
    assert_verdict(&evidence, FIDELITY_FAITHFUL, "");
    *asked = (struct direction){.delay_ns = NS_PER_MS};
    assert_verdict(&evidence, FIDELITY_DEGRADED, again);
    evidence.all.counters = NULL;
    assert_verdict(&evidence, FIDELITY_DEGRADED, "the links' counters could not be read: losses and lateness are unknown");
}

static void captures_that_miss_packets_degrade(void **state)
{
    (void)state;
    struct evidence evidence;
    struct capture_result captures[] = {
        {.link = 0,
         .direction = DIRECTION_FORWARD,
         .summary = {.captured_count = 100, .return_dropped_count = 5, .truncated = true}},
        {.link = 1, .direction = DIRECTION_BACKWARD, .summary = {.captured_count = 90}},
    };
    good_evidence(&evidence);
    evidence.all.captures = captures;
    evidence.all.capture_count = 2;
    assert_verdict(&evidence, FIDELITY_FAITHFUL, ""); /* a file that is as long as it may be is what was asked */
    captures[1].summary.dropped_count = 10;
    assert_verdict(&evidence, FIDELITY_DEGRADED, "the capture of link w1-router backward missed 10 of 100 packets");
    captures[0].failure = "the process that captures has ended";
    assert_verdict(&evidence, FIDELITY_DEGRADED,
                   "link w0-router forward was not captured to the end: the process that captures has ended");
}

static void late_cross_traffic_degrades(void **state)
{
    (void)state;
    struct evidence evidence;
    good_evidence(&evidence);
    const struct place places[] = {{.name = "w0"}, {.name = "w1"}, {.name = "router"}};
    const struct traffic_flow flows[] = {{.from = 0, .to = 1}, {.from = 2, .to = 0}, {.from = 1, .to = 0}};
    struct traffic_counters counters[] = {{.asked_packets = 1000, .sent_packets = 400, .refused_packets = 600},
                                          {.asked_packets = 1000, .sent_packets = 990, .late_packets = 10},
                                          {.asked_bytes = 1000, .sent_bytes = 10}}; /* TCP: what the network gives it */
    evidence.topology.places = places;
    evidence.all.flows = flows;
    evidence.all.traffic = counters;
    evidence.all.flow_count = 3;
    assert_verdict(&evidence, FIDELITY_FAITHFUL, "");
    counters[1].late_packets = 25;
    assert_verdict(&evidence, FIDELITY_DEGRADED,
                   "cross traffic from router to w0: this host was too late for 2.5 % of the packets, and did not send them");
}

static void the_worst_verdict_has_every_reason(void **state)
{
    (void)state;
    struct evidence evidence;
    good_evidence(&evidence);
    evidence.nodes[0].counters.overruns = 501;
    evidence.nodes[0].counters.spans_lost = 7;
    assert_verdict(&evidence, FIDELITY_VOID,
                   "501 of 1000 gradients took longer than the drawn compute time; 7 spans had no room in memory");

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

static const char manual_path[] = "docs/emulator.md";
static const char table_begin[] = "<!-- doubts: begin -->\n", table_end[] = "<!-- doubts: end -->\n";

/* The manual, and where its table begins and ends. */
static void read_manual(struct text *manual, char **begin, char **end)
{
    cleanup(close_file) FILE *file = fopen(manual_path, "r");
    if (!file)
        fail_msg("cannot open %s", manual_path);
    char buffer[4096];
    for (size_t got; (got = fread(buffer, 1, sizeof(buffer), file)) > 0;)
        text_add_bytes(manual, buffer, got);
    *begin = strstr(manual->bytes, table_begin);
    *end = strstr(manual->bytes, table_end);
    assert_true(*begin && *end);
    *begin += strlen(table_begin);
}

static void the_manual_has_these_thresholds(void **state)
{
    (void)state;
    cleanup(text_free) struct text manual = {0}, table = {0};
    char *begin, *end;
    read_manual(&manual, &begin, &end);
    fidelity_markdown(&table);
    *end = '\0';
    assert_string_equal(begin, table.bytes);
}

static int update(void)
{
    cleanup(text_free) struct text manual = {0}, updated = {0};
    char *begin, *end;
    read_manual(&manual, &begin, &end);
    text_add_bytes(&updated, manual.bytes, (size_t)(begin - manual.bytes));
    fidelity_markdown(&updated);
    text_add(&updated, end);
    cleanup(close_file) FILE *file = fopen(manual_path, "w");
    return file && fwrite(updated.bytes, 1, updated.length, file) == updated.length ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--update") == 0)
        return update();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_asked_is_faithful),
        cmocka_unit_test(a_lost_node_degrades_unless_an_event_ended_it),
        cmocka_unit_test(unasked_losses_degrade),
        cmocka_unit_test(late_packets_degrade),
        cmocka_unit_test(links_out_of_tolerance_degrade),
        cmocka_unit_test(overruns_degrade_and_void),
        cmocka_unit_test(what_events_ask_for_is_no_doubt),
        cmocka_unit_test(sending_again_without_a_cause_degrades),
        cmocka_unit_test(late_cross_traffic_degrades),
        cmocka_unit_test(unread_counters_degrade),
        cmocka_unit_test(captures_that_miss_packets_degrade),
        cmocka_unit_test(the_worst_verdict_has_every_reason),
        cmocka_unit_test(the_manual_has_these_thresholds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
