/* test_store_trial.c: what a trial writes, and that it comes whole or not at all. */
#include "results_fixture.h"

#include <malloc.h>

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

/* Rows are written 32 at a time, and what is left one by one: none is lost, doubled or shifted at the seams. */
static void many_rounds_and_spans_are_stored_row_by_row(void **state)
{
    enum { MOST = 97 };
    static const uint32_t counts[] = {1, 31, 32, 33, 64, MOST};
    struct fixture *fixture = *state;
    fixture_open(fixture, NULL);
    fixture_campaign(fixture);
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        struct round_summary rounds[MOST];
        struct span_record spans[MOST];
        struct fixture_content content;
        char query[400];
        for (uint32_t i = 0; i < counts[c]; i++) {
            rounds[i] = (struct round_summary){.round = i, .begin_ns = 1000 * i, .end_ns = 1000 * i + 7, .last_node = i % 4};
            spans[i] = (struct span_record){
                .round = i, .peer = i % 3 ? 1 : NO_PEER, .begin_ns = 1000 * i, .end_ns = 1000 * i + 5, .bytes = 9 * i};
        }
        int64_t trial_id = fixture_begin(fixture, 0, (int)c, "");
        fixture_content(&content, 0);
        content.end.rounds = rounds;
        content.end.round_count = (int)counts[c];
        content.nodes[2].spans = spans;
        content.nodes[2].span_count = counts[c];
        fixture_end(fixture, trial_id, &content.end);
        snprintf(query, sizeof(query),
                 "SELECT count(*) FROM round WHERE trial_id = %lld AND begin_ns = 1000 * round AND end_ns = begin_ns + 7 AND "
                 "slowest_node = round %% 4",
                 (long long)trial_id);
        assert_asked(fixture, query, counts[c]);
        snprintf(query, sizeof(query),
                 "SELECT count(DISTINCT round) FROM span WHERE trial_id = %lld AND node = 2 AND begin_ns = 1000 * round AND "
                 "end_ns = begin_ns + 5 AND moved_bytes = 9 * round AND (peer IS NULL) = (round %% 3 = 0)",
                 (long long)trial_id);
        assert_asked(fixture, query, counts[c]);
    }
}

/* SQLite keeps pages that it may need again, up to what `cache_size` allows: in a campaign of thousands of trials that is the
 * database's growth, once over, in memory that agents and caches of the host could use. */
static void memory_does_not_grow_with_the_database(void **state)
{
    enum { TRIALS = 30, SPANS = 2000 };
    static struct span_record spans[SPANS];
    struct fixture *fixture = *state;
    struct fixture_content content;
    size_t held_first = 0;
    fixture_open(fixture, NULL);
    fixture_campaign(fixture);
    for (uint32_t i = 0; i < SPANS; i++)
        spans[i] = (struct span_record){.round = i, .peer = 1, .begin_ns = MS(1) * i, .end_ns = MS(1) * i + 5, .bytes = i};
    fixture_content(&content, 0);
    content.nodes[2].spans = spans;
    content.nodes[2].span_count = SPANS;
    for (int trial = 0; trial < TRIALS; trial++) {
        fixture_end(fixture, fixture_begin(fixture, 0, trial, ""), &content.end);
        if (trial == 0)
            held_first = mallinfo2().uordblks;
    }
    assert_true(mallinfo2().uordblks < held_first + 256 * 1024);
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
    assert_asked(fixture, "SELECT duration_ns IS NULL AND setup_ns IS NULL AND fabric_ns IS NULL FROM trial", 1);
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

/* A log that stayed would be taken for that of the file which is at the path now, and damage it. What it held is in the file that
 * was moved. */
static void a_database_that_was_moved_leaves_no_log(void **state)
{
    struct fixture *fixture = *state;
    struct err err = {0};
    char away[sizeof(fixture->path) + 8], log[sizeof(fixture->path) + 8];
    snprintf(away, sizeof(away), "%s.away", fixture->path);
    snprintf(log, sizeof(log), "%s-wal", fixture->path);
    for (int removed = 0; removed < 2; removed++) {
        fixture_open(fixture, NULL);
        fixture_campaign(fixture);
        assert_int_equal(access(log, F_OK), 0);
        assert_int_equal(removed ? unlink(fixture->path) : rename(fixture->path, away), 0);
        assert_int_equal(store_close(steal_pointer(&fixture->store), &err), -ERR_HOST);
        assert_int_equal(access(log, F_OK), -1);
    }
    cleanup(sql_cleanup) struct sql *sql = NULL;
    int64_t campaigns = 0;
    must(sql_open(away, false, &sql, &err), &err);
    must(sql_ask_integer(sql, "SELECT count(*) FROM campaign", &campaigns, &err), &err);
    assert_int_equal(campaigns, 1);
    unlink(away);
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_campaign_is_stored_with_its_file_and_host),
        TEST(the_fingerprint_ignores_order_and_information),
        TEST(a_trial_row_says_what_ran),
        TEST(a_failed_trial_keeps_its_reason_and_has_no_verdict),
        TEST(many_rounds_and_spans_are_stored_row_by_row),
        TEST(memory_does_not_grow_with_the_database),
        TEST(a_trial_comes_whole_or_not_at_all),
        TEST(a_database_that_is_gone_is_an_error),
        TEST(a_database_that_was_moved_leaves_no_log),
        TEST(an_unknown_cell_is_an_error),
        TEST(links_asked_read_back_and_measured),
        TEST(predictions_have_parts_or_a_reason),
        TEST(a_prediction_at_the_end_replaces_the_first),
        TEST(rows_of_nodes_can_be_left_out),
        TEST(the_digest_is_of_the_content),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
