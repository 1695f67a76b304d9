/* test_store_views.c: the numbers of the views against ones computed by hand. */
#include "results_fixture.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

static void percentiles_of_a_trial(void **state)
{
    struct fixture *fixture = *state;
    fixture_fill(fixture);
    assert_asked(fixture, "SELECT round_time_mean_ns FROM trials WHERE cell = 0 AND block = 1", 24333333);
    assert_asked(fixture, "SELECT round_time_p50_ns FROM trials WHERE cell = 0 AND block = 1", 21000000);
    assert_asked(fixture, "SELECT round_time_p90_ns FROM trials WHERE cell = 0 AND block = 1", 37000000);
    assert_asked(fixture, "SELECT round_time_p99_ns FROM trials WHERE cell = 0 AND block = 1", 40600000);
    assert_asked(fixture, "SELECT round_time_maximum_ns FROM trials WHERE cell = 0 AND block = 1", 41000000);
    assert_asked(fixture, "SELECT prediction_ratio FROM trials WHERE cell = 0 AND block = 1", (70.0 / 3 + 1) / 20);
    assert_asked(fixture, "SELECT accuracy FROM trials WHERE cell = 0 AND block = 1", 0.51);
    assert_asked_text(fixture, "SELECT typeof(round_time_p50_ns) FROM trials WHERE cell = 0 AND block = 1", "integer");
}

static void cells_are_over_trials(void **state)
{
    struct fixture *fixture = *state;
    fixture_fill(fixture);
    fixture_close(fixture);
#define CELL_0(column, expected) assert_asked(fixture, "SELECT " column " FROM cells WHERE scheme = 'ring'", expected)
    CELL_0("trials", 6); /* k = 0, 1, 2, 4, 5, 6 */
    CELL_0("void", 1);
    CELL_0("failed", 0);
    CELL_0("workers", 4);
    CELL_0("round_time_p50_ns", 23000000); /* 20 21 22 24 25 26 */
    CELL_0("round_time_low_ns", 20000000);
    CELL_0("round_time_high_ns", 26000000);
    CELL_0("round_time_interval_reason IS NULL", 1);
    CELL_0("round_time_mean_ns", 26333333); /* 70/3 + 18/6 */
    CELL_0("round_time_p90_ns", 39000000);
    CELL_0("round_time_p99_ns", 42600000);
    CELL_0("predicted_round_ns", 20000000);
    CELL_0("predicted_measured_round_ns", 25000000);
    CELL_0("prediction_ratio", (70.0 / 3 + 3) / 20);
    CELL_0("prediction_measured_ratio", (70.0 / 3 + 3) / 25);
    CELL_0("algbw_bytes_per_second", 1e6 / ((70.0 / 3 + 3) * 1e-3));
    CELL_0("busbw_bytes_per_second", 1.5 * 1e6 / ((70.0 / 3 + 3) * 1e-3));
    CELL_0("accuracy", 0.53);
    CELL_0("loss", 0.97);
    assert_asked_text(fixture, "SELECT fidelity FROM cells WHERE scheme = 'ring'", "void 1/7, degraded 1/7");
    assert_asked_text(fixture, "SELECT typeof(round_time_p50_ns) || typeof(predicted_round_ns) FROM cells WHERE scheme = 'ring'",
                      "integerinteger");
#define CELL_1(column, expected) assert_asked(fixture, "SELECT " column " FROM cells WHERE scheme = 'backup'", expected)
    CELL_1("trials", 2);
    CELL_1("failed", 1);
    CELL_1("round_time_p50_ns", 20500000);
    CELL_1("round_time_low_ns IS NULL AND round_time_high_ns IS NULL", 1);
    CELL_1("predicted_round_ns IS NULL AND prediction_ratio IS NULL", 1);
    CELL_1("busbw_bytes_per_second IS NULL", 1);
    assert_asked_text(fixture, "SELECT round_time_interval_reason FROM cells WHERE scheme = 'backup'",
                      "too few trials: 2, 6 are needed");
    assert_asked_text(fixture, "SELECT prediction_reason FROM cells WHERE scheme = 'backup'",
                      "backup without cancelling has no formula");
    assert_asked_text(fixture, "SELECT fidelity FROM cells WHERE scheme = 'backup'", "faithful");
    assert_asked(fixture,
                 "SELECT count(*) FROM cell_metrics WHERE scheme = 'ring' AND metric = 'round_time_ns.max' AND median = 43000000",
                 1);
}

static void arms_are_apart(void **state)
{
    struct fixture *fixture = *state;
    struct fixture_content content;
    fixture_open(fixture, NULL);
    fixture_campaign(fixture);
    for (int k = 0; k < 4; k++) {
        fixture_content(&content, k);
        fixture_end(fixture, fixture_begin(fixture, 0, k, k < 2 ? "old" : "new"), &content.end);
    }
    assert_asked(fixture, "SELECT round_time_p50_ns FROM cells WHERE arm = 'old'", 20500000);
    assert_asked(fixture, "SELECT round_time_p50_ns FROM cells WHERE arm = 'new'", 22500000);
}

static void straggling_is_behind_the_fastest(void **state)
{
    struct fixture *fixture = *state;
    fixture_fill(fixture);
#define WORKER(node, column, expected)                                                                                             \
    assert_asked(fixture, "SELECT " column " FROM workers WHERE trial = 1 AND node_name = '" node "'", expected)
    WORKER("w0", "straggling_mean_ns", 0);
    WORKER("w0", "compute_mean_ns", 3666667);    /* 3 + 2, 3, 3 ms: parts are summed */
    WORKER("w1", "straggling_mean_ns", 3333333); /* 1, 4, 5 ms */
    WORKER("w1", "straggling_p50_ns", 4000000);
    WORKER("w1", "straggling_p99_ns", 4980000);
    WORKER("w3", "round_count", 2); /* round 2 was cancelled: 3, 11 ms */
    WORKER("w3", "straggling_mean_ns", 7000000);
    WORKER("w3", "straggling_p50_ns", 7000000);
    WORKER("w3", "straggling_p99_ns", 10920000);
    WORKER("w3", "straggling_maximum_ns", 11000000);
    fixture_same_span_totals(fixture);
}

static void rounds_spans_and_curves(void **state)
{
    struct fixture *fixture = *state;
    fixture_fill(fixture); /* trial 2 has k = 0 */
    assert_asked_text(
        fixture, "SELECT group_concat(round || ':' || warmup || ':' || (round_time_ns / 1000000), ' ') FROM rounds WHERE trial = 2",
        "0:1:99 1:0:10 2:0:20 3:0:40");
    assert_asked_text(fixture, "SELECT slowest_node_name FROM rounds WHERE trial = 2 AND round = 1", "w3");
    assert_asked(fixture, "SELECT count(*) FROM spans WHERE trial = 2", FIXTURE_WORKERS * FIXTURE_SPANS);
    assert_asked(fixture,
                 "SELECT count(*) FROM spans WHERE trial = 2 AND cancelled = 1 AND node_name = 'w3' AND round = 2 AND NOT overrun",
                 1);
    assert_asked(fixture, "SELECT sum(moved_bytes) FROM spans WHERE trial = 2 AND kind = 'send' AND peer_name = 'w0'", 1500);
    assert_asked(fixture, "SELECT count(*) FROM spans WHERE trial = 2 AND kind = 'compute' AND peer IS NULL AND warmup", 4);
    assert_asked(fixture, "SELECT held_ns FROM round_held WHERE trial_id = 2 AND node = 3 AND round = 0", 99000000);
    assert_asked(fixture, "SELECT count(*) FROM gradient WHERE trial_id = 2", 2);
    assert_asked(fixture, "SELECT arrived_ns FROM gradient WHERE trial_id = 2 AND fate = 'late' AND round = 1 AND worker = 0",
                 8000000);
    assert_asked(fixture, "SELECT staleness_count FROM gradient WHERE trial_id = 2 AND fate = 'used' AND step = 3", 2);
    assert_asked_text(
        fixture,
        "SELECT group_concat(round || ':' || (at_ns / 1000000) || ':' || accuracy, ' ') FROM learning_curves WHERE trial = 2",
        "0:0:0.1 4:169:0.5");
    assert_asked(fixture, "SELECT count(*) FROM time_to_accuracy WHERE trial = 2", 99);
    assert_asked_text(fixture,
                      "SELECT group_concat(target_ratio || ':' || ifnull(round, '') || ':' || ifnull(at_ns / 1000000, '') || ':' "
                      "|| (reason IS NULL), ' ') FROM (SELECT * FROM time_to_accuracy WHERE trial = 2 AND "
                      "target_ratio IN (0.1, 0.11, 0.5, 0.51, 0.7) ORDER BY target_ratio)",
                      "0.1:0:0:1 0.11:4:169:1 0.5:4:169:1 0.51:::0 0.7:::0");
}

static void undefined_is_null_with_a_reason(void **state)
{
    struct fixture *fixture = *state;
    struct fixture_content content;
    fixture_open(fixture, NULL);
    fixture_campaign(fixture);
    fixture_content(&content, 0); /* trial 1: diverged */
    content.evaluations[1].loss = NAN;
    content.nodes[0].counters.gradient_mean_ns = NAN;
    fixture_end(fixture, fixture_begin(fixture, 0, 0, ""), &content.end);
    assert_asked(fixture, "SELECT loss IS NULL FROM trials", 1);
    assert_asked_text(fixture, "SELECT loss_reason FROM trials", "not a finite number: training diverged");
    assert_asked(fixture, "SELECT accuracy FROM trials", 0.5);
    assert_asked_text(fixture, "SELECT reason FROM learning_curves WHERE round = 4",
                      "the loss is not a finite number: training diverged");
    assert_asked(fixture, "SELECT count(*) FROM time_to_accuracy WHERE target_ratio = 0.5 AND round = 4 AND at_ns > 0", 1);
    assert_asked(fixture,
                 "SELECT gradient_mean_ns IS NULL AND idle_gradient_ns = 1200 AND blas IS NULL FROM node_counter WHERE node = 0",
                 1);
    assert_asked(fixture, "SELECT gradient_mean_ns FROM node_counter WHERE node = 1", 1235);
    assert_asked(fixture, "SELECT model_sha256 LIKE 'abcd0000%' AND length(model_sha256) = 64 FROM node_counter WHERE node = 1", 1);
    fixture_content(&content, 0); /* trial 2: only warm-up, nothing evaluated, an infinite prediction */
    content.end.round_count = 1;
    content.nodes[0].evaluation_count = 0;
    content.predicted_measured.round_ns = INFINITY;
    fixture_end(fixture, fixture_begin(fixture, 0, 1, ""), &content.end);
    assert_asked_text(fixture, "SELECT round_time_reason FROM trials WHERE trial = 2", "no round was measured");
    assert_asked_text(fixture, "SELECT loss_reason FROM trials WHERE trial = 2", "nothing was evaluated");
    assert_asked_text(fixture, "SELECT prediction_reason FROM predictions WHERE trial = 2 AND basis = 'measured'",
                      "the formula gave no finite time");
}

static void several_evaluating_nodes_are_averaged(void **state)
{
    struct fixture *fixture = *state;
    struct fixture_content content;
    fixture_open(fixture, NULL);
    fixture_campaign(fixture);
    fixture_content(&content, 0);
    const struct evaluation_record other = {.round = 4, .at_ns = MS(200), .loss = 2, .accuracy = 0.7, .sample_count = 100};
    content.nodes[1].evaluations = &other;
    content.nodes[1].evaluation_count = 1;
    fixture_end(fixture, fixture_begin(fixture, 0, 0, ""), &content.end);
    assert_asked(fixture, "SELECT accuracy FROM trials", 0.6);
    assert_asked(fixture, "SELECT loss FROM trials", 1.5);
    assert_asked(fixture, "SELECT accuracy FROM learning_curves WHERE round = 4 AND node_count = 2 AND at_ns = 200000000", 0.6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(percentiles_of_a_trial),
        TEST(cells_are_over_trials),
        TEST(arms_are_apart),
        TEST(straggling_is_behind_the_fastest),
        TEST(rounds_spans_and_curves),
        TEST(undefined_is_null_with_a_reason),
        TEST(several_evaluating_nodes_are_averaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
