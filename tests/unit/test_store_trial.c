/* test_store_trial.c: what a trial writes, that it comes whole or not at all, and the numbers of the views against hand-computed
 * ones. */
#include "results_fixture.h"

static void a_campaign_is_stored_with_its_file_and_host(void **state)
{
    struct fixture *fixture = *state;
    fixture_fill(fixture);
    assert_asked_text(fixture, "SELECT name FROM campaign", "tiny");
    assert_asked_text(fixture, "SELECT seed FROM campaign", "18446744073709551615");
    assert_asked_text(fixture, "SELECT file_sha256 FROM campaign", /* FIPS 180-4: "abc" */
                      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_asked(fixture, "SELECT count(*) FROM environment_fact WHERE affects_performance = 1", 2);
    assert_asked(fixture, "SELECT value IS NULL FROM environment_fact WHERE name = 'governor'", 1);
    assert_asked_text(fixture, "SELECT settings FROM trials WHERE cell = 1",
                      "{\"scheme\":\"backup(backups=1)\",\"workers\":\"4\",\"topology.link.delay\":\"250us\"}");
    assert_asked_text(fixture, "SELECT settings_text FROM cell WHERE number = 1", "scheme: backup\n");
}

static void the_fingerprint_ignores_order_and_information(void **state)
{
    struct fixture *fixture = *state;
    struct err err = {0};
    int64_t id;
    static const char *const settings_texts[] = {"", ""};
    const struct plan plan = {.name = "n", .file_path = "f", .file_text = "", .cells = fixture_cells, .cell_count = 2};
    static const struct environment_fact same[2][2] = {{{"a", "1", true}, {"b", "2", true}}, {{"b", "2", true}, {"a", "1", true}}};
    static const struct environment_fact more[] = {{"a", "1", true}, {"load", "9", false}, {"b", "2", true}};
    static const struct environment_fact other[] = {{"a", "1", true}, {"b", "3", true}};
    fixture_open(fixture, NULL);
    must(store_campaign(fixture->store, &plan, settings_texts, same[0], 2, &id, &err), &err);
    must(store_campaign(fixture->store, &plan, settings_texts, same[1], 2, &id, &err), &err);
    must(store_campaign(fixture->store, &plan, settings_texts, more, 3, &id, &err), &err);
    assert_asked(fixture, "SELECT count(DISTINCT fingerprint) FROM environment", 1);
    must(store_campaign(fixture->store, &plan, settings_texts, other, 2, &id, &err), &err);
    assert_asked(fixture, "SELECT count(DISTINCT fingerprint) FROM environment", 2);
}

static void a_trial_row_says_what_ran(void **state)
{
    struct fixture *fixture = *state;
    fixture_fill(fixture);
    assert_asked(fixture, "SELECT count(DISTINCT uuid) FROM trials", 11);
    assert_asked(fixture, "SELECT count(*) FROM trials WHERE uuid LIKE '________-____-4___-____-____________'", 11);
    assert_asked_text(fixture, "SELECT group_concat(block, ' ') FROM trials WHERE cell = 0", "4 0 6 3 1 5 2");
    assert_asked_text(fixture, "SELECT seed FROM trials WHERE cell = 0 AND block = 6", "1006");
    assert_asked_text(fixture, "SELECT world || ' ' || engine FROM trials WHERE cell = 0 AND block = 6", "emulated relay");
    assert_asked(fixture, "SELECT setup_ns - fabric_ns FROM trials WHERE cell = 0 AND block = 6", 100e6);
    assert_asked(fixture, "SELECT teardown_ns FROM trials WHERE cell = 0 AND block = 6", 20e6);
    assert_asked(fixture, "SELECT payload_bytes + parameter_count FROM trials WHERE cell = 0 AND block = 6", 1250000);
    assert_asked(fixture, "SELECT round_count FROM trials WHERE cell = 0 AND block = 6", 4);
    assert_asked_text(
        fixture, "SELECT group_concat(name || ' ' || role || ' ' || coalesce(address, '-'), ', ') FROM node WHERE trial_id = 1",
        "w0 worker 10.0.0.2, w1 worker 10.0.0.3, w2 worker 10.0.0.4, w3 worker 10.0.0.5, router router -");
}

static void a_failed_trial_keeps_its_reason_and_has_no_verdict(void **state)
{
    struct fixture *fixture = *state;
    fixture_fill(fixture);
    assert_asked_text(fixture, "SELECT reason FROM trials WHERE status = 'failed'", "agent w2: exit status 3");
    assert_asked(fixture, "SELECT count(*) FROM trials WHERE status = 'failed' AND fidelity IS NULL AND round_time_p50_ns IS NULL",
                 1);
    assert_asked(fixture, "SELECT count(*) FROM trials WHERE status = 'failed' AND digest IS NULL", 1);
}

/* The last thing that is written breaks a key: nothing of the trial may be there, and it may still fail in order. */
static void a_trial_comes_whole_or_not_at_all(void **state)
{
    struct fixture *fixture = *state;
    struct fixture_content content;
    struct err err = {0};
    fixture_open(fixture, NULL);
    fixture_campaign(fixture);
    int64_t trial_id = fixture_begin(fixture, 0, 0, "");
    fixture_content(&content, 0);
    struct evaluation_record twice[2] = {content.evaluations[1], content.evaluations[1]};
    content.nodes[3].evaluations = twice;
    content.nodes[3].evaluation_count = 2;
    assert_int_equal(store_trial_end(fixture->store, trial_id, &content.end, &err), -ERR_HOST);
    assert_non_null(strstr(err.text, "the evaluation of node 3 after round 4"));
    assert_non_null(strstr(err.text, "UNIQUE constraint failed"));
    static const char *const tables[] = {"round",        "round_held",   "span",       "evaluation",   "link_readback",
                                         "link_counter", "node_counter", "link_check", "trial_metric", "packet_summary"};
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        char query[64];
        snprintf(query, sizeof(query), "SELECT count(*) FROM %s", tables[i]);
        assert_asked(fixture, query, 0);
    }
    assert_asked_text(fixture, "SELECT status FROM trial", "running");
    assert_asked(fixture, "SELECT digest IS NULL AND duration_ns IS NULL FROM trial", 1);
    fixture_end(fixture, trial_id, &(struct trial_end){.status = TRIAL_FAILED, .reason = err.text});
    assert_asked_text(fixture, "SELECT status FROM trial", "failed");
}

/* Removed, renamed or replaced under the run: SQLite goes on writing to what nobody can find any more. */
static void a_database_that_is_gone_is_an_error(void **state)
{
    struct fixture *fixture = *state;
    const struct trial_plan plan = {0};
    const struct trial_begin begin = {.plan = &plan, .topology = &fixture_topology, .arm = ""};
    for (int replaced = 0; replaced < 2; replaced++) {
        struct err err = {0};
        int64_t trial_id;
        fixture_open(fixture, NULL);
        fixture_campaign(fixture);
        struct trial_begin here = begin;
        here.campaign_id = fixture->campaign_id;
        unlink(fixture->path);
        FILE *other = replaced ? fopen(fixture->path, "w") : NULL;
        if (other)
            fclose(other);
        assert_int_equal(store_trial_begin(fixture->store, &here, &trial_id, &err), -ERR_HOST);
        assert_non_null(strstr(err.text, "was removed, renamed or replaced"));
        err = (struct err){0};
        assert_int_equal(store_close(steal_pointer(&fixture->store), &err), -ERR_HOST);
        assert_non_null(strstr(err.text, fixture->path));
        unlink(fixture->path);
    }
}

static void an_unknown_cell_is_an_error(void **state)
{
    struct fixture *fixture = *state;
    struct err err = {0};
    int64_t trial_id = -1;
    const struct trial_plan plan = {.cell = 5};
    fixture_open(fixture, NULL);
    fixture_campaign(fixture);
    assert_int_equal(
        store_trial_begin(fixture->store,
                          &(struct trial_begin){.campaign_id = fixture->campaign_id, .plan = &plan, .topology = &fixture_topology},
                          &trial_id, &err),
        -ERR_HOST);
    assert_non_null(strstr(err.text, "has no cell 5"));
    assert_int_equal(trial_id, -1);
    assert_asked(fixture, "SELECT count(*) FROM trial", 0);
}

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

static void links_asked_read_back_and_measured(void **state)
{
    struct fixture *fixture = *state;
    fixture_fill(fixture);
#define FORWARD "FROM links WHERE trial = 2 AND link_name = 'w0-router' AND direction = 'forward'"
#define BACKWARD "FROM links WHERE trial = 2 AND link_name = 'w0-router' AND direction = 'backward'"
    assert_asked(fixture, "SELECT count(*) FROM links WHERE trial = 2", 2 * FIXTURE_LINKS);
    assert_asked_text(fixture, "SELECT from_name || '>' || to_name " FORWARD, "w0>router");
    assert_asked_text(fixture, "SELECT from_name || '>' || to_name " BACKWARD, "router>w0");
    assert_asked(fixture, "SELECT asked_rate_bps = read_back_rate_bps AND asked_queue_bytes = read_back_limit_bytes " FORWARD, 1);
    assert_asked(fixture, "SELECT asked_rate_bps IS NULL AND asked_queue_bytes IS NULL AND read_back_rate_bps IS NULL " BACKWARD,
                 1);
    assert_asked(fixture, "SELECT measured_goodput_bps " FORWARD, 9.5e8);
    assert_asked(fixture, "SELECT measured_delay_mean_ns " FORWARD, 251000);
    assert_asked(fixture,
                 "SELECT measured_delay_mean_ns IS NULL AND measured_goodput_bps IS NULL AND NOT within_tolerance " BACKWARD, 1);
    assert_asked_text(fixture, "SELECT measurement_reason " BACKWARD, "no probe arrived");
    assert_asked_text(fixture, "SELECT measurement_reason FROM links WHERE trial = 2 AND link = 1 LIMIT 1",
                      "this link was not measured");
    assert_asked(fixture, "SELECT lateness_p99_ns " FORWARD, 2000);
    assert_asked(fixture, "SELECT lateness_p99_ns IS NULL AND backlog_bytes IS NULL AND queue_drop_count = 2 " BACKWARD, 1);
}

static void predictions_have_parts_or_a_reason(void **state)
{
    struct fixture *fixture = *state;
    fixture_fill(fixture);
    assert_asked(fixture,
                 "SELECT predicted_round_ns - predicted_compute_ns - predicted_latency_ns - predicted_bandwidth_ns - "
                 "predicted_reduce_ns FROM predictions WHERE trial = 2 AND basis = 'asked'",
                 0);
    assert_asked(fixture, "SELECT prediction_ratio FROM predictions WHERE trial = 2 AND basis = 'measured'", 70.0 / 3 / 25);
    assert_asked(
        fixture,
        "SELECT count(*) FROM predictions WHERE scheme = 'backup' AND predicted_round_ns IS NULL AND predicted_compute_ns IS NULL",
        4);
}

static void a_prediction_at_the_end_replaces_the_first(void **state)
{
    struct fixture *fixture = *state;
    struct fixture_content content;
    const struct prediction better = {.available = true, .method = "closed form", .round_ns = 22e6};
    fixture_open(fixture, NULL);
    fixture_campaign(fixture);
    fixture_content(&content, 0);
    content.end.predicted = &better;
    int64_t trial_id = fixture_begin(fixture, 0, 0, "");
    assert_asked(fixture, "SELECT predicted_round_ns FROM trials", 20e6);
    fixture_end(fixture, trial_id, &content.end);
    assert_asked(fixture, "SELECT predicted_round_ns FROM trials", 22e6);
    assert_asked(fixture, "SELECT count(*) FROM predictions", 2);
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

static void rows_of_nodes_can_be_left_out(void **state)
{
    struct fixture *fixture = *state;
    struct fixture_content content;
    fixture_open(fixture, NULL);
    fixture_campaign(fixture);
    for (int without = 0; without < 2; without++) {
        fixture_content(&content, 0);
        content.end.without_node_rows = without;
        fixture_end(fixture, fixture_begin(fixture, 0, without, ""), &content.end);
    }
    assert_asked(fixture, "SELECT count(*) FROM round_held WHERE trial_id = 1", FIXTURE_WORKERS * FIXTURE_ROUNDS);
    assert_asked(fixture, "SELECT count(*) FROM gradient WHERE trial_id = 1", 2);
    assert_asked(fixture, "SELECT count(*) FROM round_held WHERE trial_id = 2", 0);
    assert_asked(fixture, "SELECT count(*) FROM gradient WHERE trial_id = 2", 0);
    assert_asked(fixture, "SELECT count(DISTINCT digest) FROM trials", 1);
    assert_asked(fixture, "SELECT count(DISTINCT round_time_mean_ns) FROM trials", 1);
    assert_asked(fixture, "SELECT count(*) FROM spans WHERE trial = 2", FIXTURE_WORKERS * FIXTURE_SPANS);
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

static void the_digest_is_of_the_content(void **state)
{
    struct fixture *fixture = *state;
    struct fixture_content content;
    fixture_open(fixture, NULL);
    fixture_campaign(fixture);
    for (int variant = 0; variant < 6; variant++) {
        fixture_content(&content, 0);
        if (variant == 1) /* what does not belong to the content */
            content.end.setup_ns = content.end.duration_ns = 1;
        else if (variant == 2)
            content.spans[2][1].end_ns++;
        else if (variant == 3)
            content.spans[2][1].flags ^= SPAN_OVERRUN;
        else if (variant == 4)
            content.rounds[3].end_ns++;
        else if (variant == 5)
            content.evaluations[1].accuracy += 1e-15;
        fixture_end(fixture, fixture_begin(fixture, variant % 2, variant, ""), &content.end);
    }
    assert_asked(fixture, "SELECT count(*) FROM trial WHERE length(digest) = 64", 6);
    assert_asked(fixture, "SELECT count(DISTINCT digest) FROM trial", 5);
    assert_asked(fixture, "SELECT a.digest = b.digest FROM trial a, trial b WHERE a.trial_id = 1 AND b.trial_id = 2", 1);
}

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

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_campaign_is_stored_with_its_file_and_host),
        TEST(the_fingerprint_ignores_order_and_information),
        TEST(a_trial_row_says_what_ran),
        TEST(a_failed_trial_keeps_its_reason_and_has_no_verdict),
        TEST(a_trial_comes_whole_or_not_at_all),
        TEST(a_database_that_is_gone_is_an_error),
        TEST(an_unknown_cell_is_an_error),
        TEST(percentiles_of_a_trial),
        TEST(cells_are_over_trials),
        TEST(arms_are_apart),
        TEST(straggling_is_behind_the_fastest),
        TEST(rounds_spans_and_curves),
        TEST(links_asked_read_back_and_measured),
        TEST(flows_of_cross_traffic_come_with_their_trial),
        TEST(limits_of_processors_come_with_their_trial),
        TEST(predictions_have_parts_or_a_reason),
        TEST(a_prediction_at_the_end_replaces_the_first),
        TEST(undefined_is_null_with_a_reason),
        TEST(rows_of_nodes_can_be_left_out),
        TEST(several_evaluating_nodes_are_averaged),
        TEST(the_digest_is_of_the_content),
        TEST(events_belong_to_a_campaign_or_a_trial),
        TEST(what_happened_in_a_trial_comes_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
