/* test_store_counters.c: what the evidence of a verdict leaves in the database: processors, their waiting, links as measured,
 * captures. */
#include "results_fixture.h"

#include <math.h>

static void how_long_threads_ran_and_waited(void **state)
{
    struct fixture *fixture = *state;
    struct fixture_content content;
    fixture_open(fixture, NULL);
    fixture_campaign(fixture);
    fixture_content(&content, 0);
    struct node_counters *counters = &content.nodes[1].counters;
    counters->loop_busy_ns = 11, counters->loop_wait_ns = 22, counters->compute_busy_ns = 33, counters->compute_wait_ns = 0;
    counters = &content.nodes[2].counters;
    counters->loop_busy_ns = counters->loop_wait_ns = counters->compute_busy_ns = counters->compute_wait_ns = -1;
    fixture_end(fixture, fixture_begin(fixture, 0, 0, ""), &content.end);
#define WAITS "SELECT loop_busy_ns || ' ' || loop_wait_ns || ' ' || compute_busy_ns || ' ' || compute_wait_ns FROM node_counter "
    assert_asked_text(fixture, WAITS "WHERE node = 1", "11 22 33 0");
    assert_asked(fixture,
                 "SELECT count(*) FROM node_counter WHERE node = 2 AND loop_busy_ns IS NULL AND loop_wait_ns IS NULL AND "
                 "compute_busy_ns IS NULL AND compute_wait_ns IS NULL",
                 1);
}

static void what_processors_did(void **state)
{
    struct fixture *fixture = *state;
    struct fixture_content content;
    const struct processor_load load = {.stolen_share = 0.25, .pressure_some_share = 0.5, .pressure_full_share = NAN};
    fixture_open(fixture, NULL);
    fixture_campaign(fixture);
    fixture_content(&content, 0);
    content.end.load = &load;
    fixture_end(fixture, fixture_begin(fixture, 0, 0, ""), &content.end);
    assert_asked_text(fixture, "SELECT stolen_ratio || ' ' || pressure_some_ratio FROM trials", "0.25 0.5");
    assert_asked(fixture, "SELECT pressure_full_ratio IS NULL FROM trials", 1);
    fixture_end(fixture, fixture_begin(fixture, 0, 1, ""), &(struct trial_end){.status = TRIAL_FAILED, .reason = "why"});
    assert_asked(fixture, "SELECT stolen_ratio IS NULL AND pressure_some_ratio IS NULL FROM trials WHERE status = 'failed'", 1);
}

static void what_was_captured(void **state)
{
    struct fixture *fixture = *state;
    struct fixture_content content;
    fixture_open(fixture, NULL);
    fixture_campaign(fixture);
    fixture_content(&content, 0);
    fixture_end(fixture, fixture_begin(fixture, 0, 0, ""), &content.end);
    assert_asked_text(fixture,
                      "SELECT snap_bytes || ' ' || captured_count || ' ' || packet_count || ' ' || wire_bytes || ' ' || "
                      "payload_bytes || ' ' || retransmitted_segment_count || ' ' || retransmitted_bytes || ' ' || "
                      "retransmitted_ratio || ' ' || round_trip_count || ' ' || round_trip_minimum_ns || ' ' || "
                      "round_trip_p50_ns || ' ' || round_trip_p99_ns || ' ' || round_trip_maximum_ns || ' ' || "
                      "dropped_count || ' ' || return_dropped_count || ' ' || written_count || ' ' || written_bytes || ' ' "
                      "|| truncated || ' ' || path FROM captures WHERE direction = 'forward'  "
                      "AND link = 0",
                      "128 3 20 30280 28960 2 2896 0.1 4 1000 2000 3000 4000 5 6 3 456 0 captures/a.pcap");
    assert_asked(fixture,
                 "SELECT reason IS NULL AND round_trip_reason IS NULL FROM captures WHERE direction = 'forward' AND link = 0", 1);
    assert_asked_text(fixture, "SELECT reason || '; ' || round_trip_reason FROM captures WHERE direction = 'backward'",
                      "the size limit was reached; no data with a timestamp was acknowledged over this link");
    assert_asked(
        fixture,
        "SELECT truncated = 1 AND packet_count = 0 AND round_trip_p50_ns IS NULL AND retransmitted_ratio IS NULL FROM captures "
        "WHERE direction = 'backward'",
        1);
    assert_asked_text(fixture, "SELECT reason FROM captures WHERE link = 1", "the process has ended");
    assert_asked(fixture,
                 "SELECT packet_count IS NULL AND dropped_count IS NULL AND truncated IS NULL AND round_trip_reason IS NULL FROM "
                 "captures WHERE link = 1",
                 1);
    fixture_end(fixture, fixture_begin(fixture, 0, 1, ""), &(struct trial_end){.status = TRIAL_FAILED, .reason = "why"});
    assert_asked(fixture, "SELECT count(*) FROM captures", 3);
}

static void what_became_of_packets_on_idle_links(void **state)
{
    struct fixture *fixture = *state;
    struct fixture_content content;
    fixture_open(fixture, NULL);
    fixture_campaign(fixture);
    fixture_content(&content, 0);
    content.checks[0].direction[0].fates = (struct packet_fates){
        .sent = 1000, .lost = 40, .loss_runs = 10, .duplicated = 3, .corrupted = 2, .reordered = 1, .spacing_ns = 1e5};
    fixture_end(fixture, fixture_begin(fixture, 0, 0, ""), &content.end);
    assert_asked_text(fixture,
                      "SELECT measured_packet_count || ' ' || measured_lost_count || ' ' || measured_loss_ratio || ' ' || "
                      "measured_loss_run || ' ' || measured_duplicated_count || ' ' || measured_corrupted_count || ' ' || "
                      "measured_reordered_count FROM links WHERE link = 0 AND direction = 'forward'",
                      "1000 40 0.04 4.0 3 2 1");
    assert_asked(fixture,
                 "SELECT measured_packet_count IS NULL AND measured_lost_count IS NULL AND measured_loss_ratio IS NULL AND "
                 "measured_loss_run IS NULL FROM links WHERE link = 0 AND direction = 'backward'",
                 1);
}

static void counters_over_time(void **state)
{
    struct fixture *fixture = *state;
    struct fixture_content content;
    fixture_open(fixture, NULL);
    fixture_campaign(fixture);
    fixture_content(&content, 0);
    struct direction_sample directions[2][DIRECTIONS * FIXTURE_LINKS] = {{{.carried_bytes = 100}}};
    directions[1][0] =
        (struct direction_sample){.carried_bytes = 5000, .queue_drops = 4, .unasked_drops = 3, .lost = 2, .backlog_bytes = 1514};
    const struct counter_sample samples[] = {{.at_ns = MS(50), .load = {NAN, NAN, NAN}, .directions = directions[0]},
                                             {.at_ns = MS(100),
                                              .load = {.stolen_share = 0.125, .pressure_some_share = 0.5, .pressure_full_share = 0},
                                              .directions = directions[1]}};
    const struct sample_record node_samples[] = {{.at_ns = MS(60),
                                                  .retransmits = 9,
                                                  .connections = 2,
                                                  .window_least_segments = 10,
                                                  .window_most_segments = 40,
                                                  .unacknowledged_segments = 7,
                                                  .round_trip_most_ns = 1500000}};
    content.end.samples = samples;
    content.end.sample_count = 2;
    content.nodes[1].samples = node_samples;
    content.nodes[1].sample_count = 1;
    content.nodes[1].counters.samples_lost = 5;
    fixture_end(fixture, fixture_begin(fixture, 0, 0, ""), &content.end);
    assert_asked(fixture, "SELECT count(*) FROM samples", 2 * (DIRECTIONS * FIXTURE_LINKS + 1) + 1);
    assert_asked_text(
        fixture,
        "SELECT carried_bytes || ' ' || backlog_bytes || ' ' || queue_drop_count || ' ' || unasked_drop_count || ' ' || "
        "lost_count FROM samples WHERE at_ns = 100000000 AND link_name = 'w0-router' AND direction = 'forward'",
        "5000 1514 4 3 2");
    assert_asked_text(fixture,
                      "SELECT node_name || ' ' || connection_count || ' ' || window_minimum_segments || ' ' || "
                      "window_maximum_segments || ' ' || unacknowledged_segments || ' ' || round_trip_maximum_ns || ' ' || "
                      "tcp_retransmit_count FROM samples WHERE at_ns = 60000000",
                      "w1 2 10 40 7 1500000 9");
    assert_asked_text(fixture,
                      "SELECT stolen_ratio || ' ' || pressure_some_ratio FROM samples WHERE link_name IS NULL AND node_name IS "
                      "NULL AND at_ns = 100000000",
                      "0.125 0.5");
    assert_asked(fixture, "SELECT lost_sample_count FROM node_counter WHERE node = 1", 5);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(how_long_threads_ran_and_waited),      TEST(what_processors_did), TEST(what_was_captured),
        TEST(what_became_of_packets_on_idle_links), TEST(counters_over_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
