/* test_store_processes.c: rows of outside programs: of finished and of failed trials, and what such trials do not have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/results_fixture.h"

static void processes_have_rows(void **state)
{
    struct fixture *fixture = *state;
    struct fixture_content content;
    const struct process_result processes[FIXTURE_WORKERS] = {
        {.command = "[\"./train\",\"a b\"]",
         .ended = true,
         .how = {.exited = true, .status = 0},
         .end_ns = MS(170),
         .streams = {{.text = "begun", .bytes = 1000000, .truncated = true}, {.text = ""}}},
        {.command = "[]",
         .ended = true,
         .how = {.exited = true, .status = 3},
         .end_ns = 5,
         .streams = {{.text = ""}, {.text = "no"}}},
        {.command = "[]", .ended = true, .how = {.status = 9}, .end_ns = 6, .streams = {{.text = ""}, {.text = ""}}},
        {.command = "[]", .streams = {{.text = ""}, {.text = ""}}}, /* the trial ended before it */
    };
    fixture_open(fixture, NULL);
    fixture_campaign(fixture);
    fixture_content(&content, 0);
    content.end.processes = processes;
    content.end.process_count = FIXTURE_WORKERS;
    fixture_end(fixture, fixture_begin(fixture, 0, 0, ""), &content.end);
    fixture_end(
        fixture, fixture_begin(fixture, 1, 0, ""),
        &(struct trial_end){.status = TRIAL_FAILED, .reason = "x", .processes = processes, .process_count = FIXTURE_WORKERS});

    assert_asked(fixture, "SELECT count(*) FROM processes", 2 * FIXTURE_WORKERS);
    assert_asked(fixture, "SELECT count(*) FROM processes WHERE status = 'failed' AND trial = 2", FIXTURE_WORKERS);
    assert_asked_text(fixture, "SELECT json_extract(command, '$[1]') FROM processes WHERE trial = 1 AND node = 0", "a b");
    assert_asked_text(fixture,
                      "SELECT node_name || stdout || stdout_bytes || stdout_truncated || stderr_truncated FROM processes "
                      "WHERE trial = 1 AND node = 0",
                      "w0begun100000010");
    assert_asked(fixture, "SELECT end_ns FROM processes WHERE trial = 1 AND node = 0 AND exit_status = 0 AND signal IS NULL",
                 MS(170));
    assert_asked(fixture, "SELECT exit_status FROM processes WHERE trial = 1 AND node = 1 AND signal IS NULL", 3);
    assert_asked(fixture, "SELECT signal FROM processes WHERE trial = 1 AND node = 2 AND exit_status IS NULL AND end_ns = 6", 9);
    assert_asked(fixture, "SELECT coalesce(end_ns, exit_status, signal) IS NULL FROM processes WHERE trial = 1 AND node = 3", 1);
    /* Rounds and spans as of agents; what agents alone count is not there. */
    assert_asked(fixture, "SELECT count(*) FROM spans WHERE trial = 1", FIXTURE_WORKERS * FIXTURE_SPANS);
    assert_asked(fixture, "SELECT round_count FROM trials WHERE trial = 1 AND round_time_p50_ns > 0", FIXTURE_ROUNDS);
    assert_asked(fixture, "SELECT count(*) FROM node_counter", 0);
}

static void a_gradient_that_is_not_known_has_no_bandwidth(void **state)
{
    struct fixture *fixture = *state;
    struct fixture_content content;
    struct err err = {0};
    int64_t trial_id;
    fixture_open(fixture, NULL);
    fixture_campaign(fixture);
    const struct trial_plan plan = {0};
    const struct prediction none = {.reason = "an outside program runs"};
    const struct trial_begin begin = {.campaign_id = fixture->campaign_id,
                                      .plan = &plan,
                                      .arm = "",
                                      .topology = &fixture_topology,
                                      .workers = FIXTURE_WORKERS,
                                      .predicted = &none};
    must(store_trial_begin(fixture->store, &begin, &trial_id, &err), &err);
    fixture_content(&content, 0);
    fixture_end(fixture, trial_id, &content.end);
    assert_asked(fixture, "SELECT payload_bytes IS NULL FROM trials", 1);
    assert_asked(fixture,
                 "SELECT algbw_bytes_per_second IS NULL AND busbw_bytes_per_second IS NULL AND round_time_mean_ns > 0 FROM cells",
                 1);
    assert_asked_text(fixture, "SELECT prediction_reason FROM cells", "an outside program runs");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(processes_have_rows),
        TEST(a_gradient_that_is_not_known_has_no_bandwidth),
    };
    return cmocka_run_group_tests_name("store_processes", tests, NULL, NULL);
}
