/* test_store_sizes.c: a trial that sweeps message sizes in the database: a row and numbers for each, beside trials that
 * sweep none. */
#include "results_fixture.h"

#include "base/text.h"
#include "results/summary.h"

/* The four rounds of the fixture as two sizes of two rounds, of which the first is warm-up: 99 and 10 ms, 20 and 40 ms. */
static const struct message_size two_sizes[] = {{.payload_bytes = 4096, .round_count = 2},
                                                {.payload_bytes = 1000000, .first_round = 2, .round_count = 2}};

static int64_t begin_sweep(struct fixture *fixture, int cell)
{
    struct err err = {0};
    int64_t trial_id = 0;
    const struct trial_plan plan = {.cell = cell, .repeat = fixture->started, .order = fixture->started++, .seed = 1};
    const struct prediction predicted[] = {{.available = true, .method = "closed form", .round_ns = 8e6},
                                           {.available = true, .method = "closed form", .round_ns = 50e6}};
    must(store_trial_begin(fixture->store,
                           &(struct trial_begin){.campaign_id = fixture->campaign_id,
                                                 .plan = &plan,
                                                 .world = WORLD_EMULATED,
                                                 .engine = ENGINE_RELAY,
                                                 .topology = &fixture_topology,
                                                 .workers = FIXTURE_WORKERS,
                                                 .sizes = two_sizes,
                                                 .size_count = 2,
                                                 .warmup_rounds = 1,
                                                 .predicted = predicted},
                           &trial_id, &err),
         &err);
    return trial_id;
}

static void each_message_size_has_numbers_of_its_own(void **state)
{
    struct fixture *fixture = *state;
    struct fixture_content content;
    const struct prediction measured[] = {{.available = true, .method = "closed form", .round_ns = 10e6},
                                          {.reason = "no formula for this"}};
    fixture_open(fixture, NULL);
    fixture_campaign(fixture);
    for (int k = 0; k < 2; k++) { /* 10 and 11, 40 and 41 ms */
        fixture_content(&content, k);
        content.rounds[2].warmup = true;
        content.end.sizes = two_sizes;
        content.end.size_count = 2;
        content.end.predicted_measured = measured;
        fixture_end(fixture, begin_sweep(fixture, 0), &content.end);
    }
    fixture_content(&content, 0);
    fixture_end(fixture, fixture_begin(fixture, 1, 0, ""), &content.end);
    begin_sweep(fixture, 0); /* and one that has no end */
    assert_asked(fixture, "SELECT count(*) FROM message_sizes", 7);
    assert_asked(fixture, "SELECT round_time_mean_ns FROM message_sizes WHERE trial = 2 AND payload_bytes = 4096", 11e6);
    assert_asked(fixture, "SELECT round_time_p50_ns FROM message_sizes WHERE trial = 2 AND size_position = 1", 41e6);
    assert_asked(fixture, "SELECT begin_ns FROM message_sizes WHERE trial = 1 AND size_position = 1", 109e6);
    assert_asked(fixture, "SELECT end_ns FROM message_sizes WHERE trial = 1 AND size_position = 0", 109e6);
    assert_asked(fixture, "SELECT count(*) FROM message_sizes WHERE round_count = 2 AND round_time_reason IS NULL", 4);
    assert_asked(fixture, "SELECT count(*) FROM message_sizes WHERE trial = 4 AND round_time_mean_ns IS NULL AND round_count = 0",
                 2);
    assert_asked_text(fixture, "SELECT round_time_reason FROM message_sizes WHERE trial = 4", "the trial did not finish");
    assert_asked(fixture,
                 "SELECT size_position IS NULL AND payload_bytes = 1000000 AND round_count = 4 FROM message_sizes WHERE trial = 3",
                 1);
    assert_asked(fixture, "SELECT algbw_bytes_per_second FROM message_sizes WHERE trial = 1 AND size_position = 0", 409600);
    assert_asked(fixture, "SELECT busbw_bytes_per_second FROM message_sizes WHERE trial = 1 AND size_position = 0", 409600 * 1.5);
    assert_asked_text(fixture, "SELECT bandwidth_reason FROM message_sizes WHERE trial = 3",
                      "a bus bandwidth is defined for all-reduce schemes");
    assert_asked(fixture, "SELECT prediction_ratio FROM message_sizes WHERE trial = 1 AND size_position = 1", 0.8);
    assert_asked(fixture, "SELECT prediction_measured_ratio FROM message_sizes WHERE trial = 1 AND size_position = 0", 1);
    assert_asked_text(fixture, "SELECT prediction_measured_ratio FROM message_sizes WHERE trial = 1 AND size_position = 1", NULL);
    /* cells */
    assert_asked(fixture, "SELECT count(*) FROM cells", 3);
    assert_asked(fixture, "SELECT round_time_mean_ns FROM cells WHERE payload_bytes = 4096", 10.5e6);
    assert_asked(fixture, "SELECT sum(trials) * 100 + sum(interrupted) FROM cells WHERE cell = 0", 400);
    assert_asked(fixture, "SELECT busbw_bytes_per_second FROM cells WHERE size_position = 1", 1e6 / 40.5e-3 * 1.5);
    assert_asked(fixture, "SELECT predicted_round_ns FROM cells WHERE size_position = 1", 50e6);
    assert_asked(fixture, "SELECT mean FROM cell_metrics WHERE cell = 0 AND size_position = 1 AND metric = 'round_time_ns.max'",
                 40.5e6);
    assert_asked(fixture, "SELECT count(*) FROM predictions WHERE trial = 1 AND payload_bytes IS NOT NULL", 4);
    /* trials: what would mix sizes is undefined */
    assert_asked(fixture, "SELECT size_count FROM trials WHERE trial = 1", 2);
    assert_asked(fixture,
                 "SELECT count(*) FROM trials WHERE trial < 3 AND round_time_mean_ns IS NULL AND predicted_round_ns IS NULL "
                 "AND predicted_measured_round_ns IS NULL AND payload_bytes IS NULL AND round_count = 4 AND loss > 0",
                 2);
    assert_asked_text(fixture, "SELECT round_time_reason FROM trials WHERE trial = 1",
                      "it sweeps message sizes: the view message_sizes has each");
    assert_asked(fixture, "SELECT round_time_mean_ns FROM trials WHERE trial = 3", 23333333);
    /* the views of what happened */
    assert_asked(fixture, "SELECT sum(payload_bytes) FROM rounds WHERE trial = 1", 2 * 4096 + 2000000);
    assert_asked(fixture, "SELECT count(*) FROM spans WHERE trial = 1 AND warmup AND round IN (0, 2)", 8);
    assert_asked(fixture, "SELECT count(*) FROM spans WHERE trial = 1 AND warmup AND round IN (1, 3)", 0);
    assert_asked(fixture, "SELECT max(round_count) FROM workers WHERE trial = 1", 2);
    fixture_same_span_totals(fixture);
}

static void the_digest_knows_message_sizes(void **state)
{
    struct fixture *fixture = *state;
    struct fixture_content content;
    fixture_open(fixture, NULL);
    fixture_campaign(fixture);
    fixture_content(&content, 0);
    fixture_end(fixture, fixture_begin(fixture, 0, 0, ""), &content.end);
    content.end.predicted_measured = NULL;
    content.end.sizes = two_sizes;
    for (content.end.size_count = 2; content.end.size_count > 0; content.end.size_count--)
        fixture_end(fixture, begin_sweep(fixture, 0), &content.end);
    assert_asked(fixture, "SELECT count(DISTINCT digest) FROM trials", 3);
}

static void the_closing_table_has_a_line_a_size(void **state)
{
    struct fixture *fixture = *state;
    struct fixture_content content;
    struct err err = {0};
    cleanup(text_free) struct text table = {0}, document = {0};
    fixture_open(fixture, NULL);
    fixture_campaign(fixture);
    fixture_content(&content, 0);
    fixture_end(fixture, fixture_begin(fixture, 1, 0, ""), &content.end);
    content.rounds[2].warmup = true;
    content.end.sizes = two_sizes;
    content.end.size_count = 2;
    content.end.predicted_measured = NULL;
    content.nodes[0].evaluation_count = 0;
    fixture_end(fixture, begin_sweep(fixture, 0), &content.end);
    must(summary_table(fixture->store, fixture->campaign_id, false, &table, &err), &err);
    static const char expected[] =
        "scheme             workers  delay  size  trials  median round [95 % interval]     mean      algbw      busbw  predicted  "
        "mean/predicted  accuracy  fidelity\n"
        "ring                     4  250us  4KiB       1  10 ms (too few trials)          10 ms   410 kB/s   614 kB/s       8 ms  "
        "          1.25         –  faithful\n"
        "ring                     4  250us   1MB       1  40 ms (too few trials)          40 ms  25.0 MB/s  37.5 MB/s      50 ms  "
        "          0.80         –  faithful\n";
    if (strncmp(table.bytes, expected, strlen(expected)) != 0)
        assert_string_equal(table.bytes, expected);
    must(summary_json(fixture->store, fixture->campaign_id, "a.db", &document, &err), &err);
    assert_non_null(
        strstr(document.bytes, "\"payload_bytes\":4096,\"algbw_bytes_per_second\":409600,\"busbw_bytes_per_second\":614400"));
    assert_non_null(strstr(document.bytes,
                           "\"payload_bytes\":1000000,\"algbw_bytes_per_second\":25000000,\"busbw_bytes_per_second\":37500000"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_message_size_has_numbers_of_its_own),
        TEST(the_digest_knows_message_sizes),
        TEST(the_closing_table_has_a_line_a_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
