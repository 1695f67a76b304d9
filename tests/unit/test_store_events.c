/* test_store_events.c: what is stored of events, cross traffic and limits of processors. */
#include "results_fixture.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

static void events_belong_to_a_campaign_or_a_trial(void **state)
{
    struct fixture *fixture = *state;
    struct err err = {0};
    fixture_open(fixture, NULL);
    fixture_campaign(fixture);
    must(store_event(fixture->store, fixture->campaign_id, 0, "verify", "8 links were measured", &err), &err);
    int64_t trial_id = fixture_begin(fixture, 0, 0, "");
    must(store_event(fixture->store, fixture->campaign_id, trial_id, "peer-lost", "w2 was lost in round 3", &err), &err);
    assert_asked(fixture, "SELECT count(*) FROM event WHERE trial_id IS NULL AND kind = 'verify' AND at_unix_ns > 0", 1);
    assert_asked_text(fixture, "SELECT text FROM event WHERE trial_id = 1", "w2 was lost in round 3");
    assert_int_equal(store_event(fixture->store, 99, 0, "x", "y", &err), -ERR_HOST); /* no such campaign */
    assert_non_null(strstr(err.text, "FOREIGN KEY"));
}

static void what_happened_in_a_trial_comes_with_it(void **state)
{
    struct fixture *fixture = *state;
    const struct event_record blank = {.at_unix_ns = 5, .step = -1, .link = -1, .direction = -1, .node = -1};
    struct event_record events[4] = {blank, blank, blank, blank};
    events[0].kind = "set", events[0].text = "link w1-router forward becomes slower; 2 ms late";
    events[0].link = 1, events[0].direction = DIRECTION_FORWARD, events[0].has_direction = true;
    events[0].now = (struct direction){
        .rate_bps = 10000000, .delay_ns = 5000000, .impairments = {.gilbert_elliott = {.p = 0.1, .r = 0.3, .loss_bad = 1}}};
    events[0].asked_known = events[0].happened = true;
    events[0].asked_ns = MS(100), events[0].at_ns = MS(102);
    events[1].kind = "flap", events[1].text = "link w2-router goes down", events[1].event = 1, events[1].step = 6;
    events[1].link = 2, events[1].has_direction = events[1].down = true, events[1].happened = true, events[1].at_ns = 0;
    events[2].kind = "pause", events[2].text = "node w3 pauses", events[2].event = 2, events[2].node = 3;
    events[2].asked_known = true, events[2].asked_ns = MS(9000);
    events[3].kind = "heal", events[3].text = "again", events[3].event = 3;
    struct fixture_content content;
    fixture_content(&content, 0);
    content.end.events = events;
    content.end.event_count = 4;
    fixture_open(fixture, NULL);
    fixture_campaign(fixture);
    fixture_end(fixture, fixture_begin(fixture, 0, 0, ""), &content.end);
    assert_asked(fixture, "SELECT count(*) FROM event WHERE trial_id = 1 AND campaign_id = 1 AND at_unix_ns = 5", 4);
    assert_asked_text(
        fixture,
        "SELECT printf('%d %s %s %d %d %d %s %g %d', number, coalesce(step, '-'), direction, asked_ns, at_ns, rate_bps, "
        "delay_ns, loss_ratio, down) FROM event WHERE kind = 'set'",
        "0 - forward 100000000 102000000 10000000 5000000 0.25 0");
    assert_asked(fixture,
                 "SELECT step = 6 AND direction IS NULL AND rate_bps IS NULL AND down AND asked_ns IS NULL AND at_ns = 0 "
                 "FROM event WHERE kind = 'flap'",
                 1);
    assert_asked(fixture,
                 "SELECT node = 3 AND at_ns IS NULL AND asked_ns = 9000000000 AND link IS NULL AND down IS NULL AND "
                 "delay_ns IS NULL AND loss_ratio IS NULL FROM event WHERE kind = 'pause'",
                 1);
    /* The view names what they are about, and the round that was under way: 102 ms are in the second one. */
    assert_asked_text(fixture,
                      "SELECT group_concat(event || coalesce(link_name, '') || coalesce(node_name, '') || ' ' || "
                      "coalesce(round, '-'), ', ') FROM events",
                      "1w2-router 0, 0w1-router 1, 2w3 -, 3 -");
    assert_asked(fixture, "SELECT late_ns FROM events WHERE kind = 'set'", 2000000);

    /* A failed trial has them too; and one with an event that its network lacks does not come in half. */
    content.end = (struct trial_end){.status = TRIAL_FAILED, .reason = "node w3 crashed", .events = events, .event_count = 3};
    fixture_end(fixture, fixture_begin(fixture, 0, 1, ""), &content.end);
    assert_asked(fixture, "SELECT count(*) FROM event WHERE trial_id = 2", 3);
    events[0].link = 77;
    struct err err = {0};
    int64_t trial_id = fixture_begin(fixture, 0, 2, "");
    assert_int_equal(store_trial_end(fixture->store, trial_id, &content.end, &err), -ERR_HOST);
    assert_asked(fixture, "SELECT count(*) FROM event WHERE trial_id = 3", 0);
    assert_asked_text(fixture, "SELECT status FROM trial WHERE trial_id = 3", "running");
}

static void flows_of_cross_traffic_come_with_their_trial(void **state)
{
    struct fixture *fixture = *state;
    const struct traffic_flow flows[] = {
        {.from = 0,
         .to = 4,
         .asked = {.rate_bps = 8000000, .packet_bytes = 1000, .on_ns = MS(3), .off_ns = MS(7), .start_ns = MS(1)}},
        {.from = 2, .to = 1, .asked = {.rate_bps = 5, .transport = TRANSPORT_TCP, .packet_bytes = 9, .stop_ns = MS(9)}}};
    const struct traffic_counters counters[] = {{.active_ns = MS(500),
                                                 .asked_bytes = 500000,
                                                 .sent_bytes = 450000,
                                                 .received_bytes = 400000,
                                                 .asked_packets = 500,
                                                 .sent_packets = 450,
                                                 .refused_packets = 30,
                                                 .late_packets = 20,
                                                 .received_packets = 400},
                                                {.asked_bytes = 0}};
    struct fixture_content content;
    fixture_content(&content, 0);
    content.end.flows = flows;
    content.end.traffic = counters;
    content.end.flow_count = 2;
    fixture_open(fixture, NULL);
    fixture_campaign(fixture);
    fixture_end(fixture, fixture_begin(fixture, 0, 0, ""), &content.end);
    assert_asked_text(
        fixture,
        "SELECT from_name || ' ' || to_name || ' ' || transport || printf(' %d %d %d %d %s %d %s %d', asked_bps, "
        "packet_bytes, on_ns, off_ns, spread, start_ns, coalesce(stop_ns, '-'), active_ns) FROM traffic WHERE flow = 0",
        "w0 router udp 8000000 1000 3000000 7000000 constant 1000000 - 500000000");
    assert_asked_text(
        fixture,
        "SELECT printf('%d %d %d %d %d %d %d %d %d %g %g', asked_bytes, sent_bytes, received_bytes, asked_packet_count, "
        "sent_packet_count, refused_packet_count, late_packet_count, received_packet_count, missing_packet_count, "
        "measured_bps, carried_ratio) FROM traffic WHERE flow = 0",
        "500000 450000 400000 500 450 30 20 400 50 6.4e+06 0.8");
    assert_asked(
        fixture,
        "SELECT transport = 'tcp' AND stop_ns = 9000000 AND coalesce(packet_bytes, on_ns, off_ns, spread, asked_packet_count, "
        "late_packet_count, missing_packet_count, measured_bps) IS NULL FROM traffic WHERE flow = 1",
        1);
}

static void limits_of_processors_come_with_their_trial(void **state)
{
    struct fixture *fixture = *state;
    const struct cpu_limit_result limits[] = {{.node = 1, .asked = {.processors = 0.25, .period_ns = MS(10)}},
                                              {.node = 3,
                                               .asked = {.processors = 2, .period_ns = MS(100)},
                                               .counted = true,
                                               .usage = {.period_count = 40, .throttled_count = 30, .throttled_ns = MS(500)}}};
    struct fixture_content content;
    fixture_content(&content, 0);
    content.end.cpu_limits = limits;
    content.end.cpu_limit_count = 2;
    fixture_open(fixture, NULL);
    fixture_campaign(fixture);
    fixture_end(fixture, fixture_begin(fixture, 0, 0, ""), &content.end);
    assert_asked_text(fixture,
                      "SELECT group_concat(printf('%s %s %g %d %s %s %s', node_name, role, processors, period_ns, "
                      "coalesce(period_count, '-'), coalesce(throttled_count, '-'), coalesce(throttled_ns, '-')), ', ') "
                      "FROM (SELECT * FROM cpu_limits ORDER BY node)",
                      "w1 worker 0.25 10000000 - - -, w3 worker 2 100000000 40 30 500000000");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(flows_of_cross_traffic_come_with_their_trial),
        TEST(limits_of_processors_come_with_their_trial),
        TEST(events_belong_to_a_campaign_or_a_trial),
        TEST(what_happened_in_a_trial_comes_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
