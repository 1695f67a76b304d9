/* test_gate_rules.c: which rows a gate has and what else decides: data that is missing, another campaign as baseline, patterns,
 * waivers, families of metrics, the gravest verdict. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "results/gate.h"
#include "tests/unit/gate_rig.h"

static void no_data_never_passes(void **state)
{
    (void)state;
    cleanup(gate_rig_close) struct gate_rig rig;
    gate_rig_open(&rig, 2);
    gate_rig_around(&rig, &rig.data.groups[0], 0, 100, 6);
    gate_rig_assert(&rig, GATE_MISSING, "no trial finished");
    assert_int_equal(rig.result.exit_code, 1);
    rig.data.groups[1].finished = 6;
    rig.data.groups[1].missing[0] = "no round was measured";
    gate_rig_assert(&rig, GATE_MISSING, "no round was measured");
    rig.data.groups[1].finished = 0;
    rig.data.groups[1].void_count = 6;
    rig.data.groups[1].reason = "the links were off";
    gate_rig_assert(&rig, GATE_INCONCLUSIVE, "all 6 trials are void: the links were off");
    rig.data.groups[1].void_count = 0;
    rig.data.groups[1].failed = 1;
    rig.data.groups[1].missing[0] = NULL;
    rig.data.groups[1].reason = "w1 died";
    gate_rig_around(&rig, &rig.data.groups[1], 0, 100, 6);
    gate_rig_assert(&rig, GATE_ERROR, "1 trial failed: w1 died");
    assert_int_equal(rig.result.exit_code, 4);
    rig.data.groups[1].failed = 0;
    rig.data.groups[1].infinite[0] = 2;
    gate_rig_assert(&rig, GATE_ERROR, "2 values are no finite number");
    rig.data.groups[1].infinite[0] = 0;
    gate_rig_values(&rig, &rig.data.groups[0], 0, NULL, 0);
    gate_rig_assert(&rig, GATE_NEW, "no value of this metric");
    assert_int_equal(rig.result.exit_code, 0);
}

static void another_campaign_is_a_baseline(void **state)
{
    (void)state;
    cleanup(gate_rig_close) struct gate_rig rig;
    gate_rig_open(&rig, 1);
    struct err err = {0};
    gate_rig_around(&rig, &rig.data.groups[0], 0, 110, 6);
    assert_int_equal(gate_judge(&rig.question, rig.arena, &rig.result, &err), -ERR_BASELINE);
    assert_non_null(strstr(err.text, "has one arm; name a baseline with --baseline"));
    gate_rig_data(&rig, &rig.baseline, 1);
    rig.question.baseline = &rig.baseline;
    gate_rig_assert(&rig, GATE_NEW, "no value");
    gate_rig_around(&rig, &rig.baseline.groups[0], 0, 100, 6);
    gate_rig_assert(&rig, GATE_UNCONFIRMED, NULL);
    rig.baseline.groups[0].settings = "name: other\nscheme: ps-sync\n"; /* its name is no matter */
    gate_rig_assert(&rig, GATE_INCOMPARABLE, "the baseline had another scheme");
    assert_int_equal(rig.result.exit_code, 6);
    rig.baseline.groups[0].settings = "name: other\nscheme: ring\nrecord_nodes: true\n"; /* nor is what was stored, known or not */
    rig.question.incomparable = "the baseline ran in another environment: cpu_model";
    gate_rig_assert(&rig, GATE_INCOMPARABLE, "cpu_model");
    rig.data.groups[0].all_virtual = rig.baseline.groups[0].all_virtual = true;
    gate_rig_assert(&rig, GATE_REGRESSED, NULL); /* a virtual clock is the same everywhere */
    rig.question.incomparable = NULL;
    rig.data.groups[0].label = "scheme=other";
    gate_rig_judge(&rig);
    assert_int_equal(rig.result.row_count, 2);
    assert_true(rig.result.rows[0].verdict == GATE_NEW && rig.result.rows[1].verdict == GATE_MISSING);
    assert_int_equal(rig.result.exit_code, 1); /* a cell that is gone does not pass in silence */
}

static void a_pattern_that_matches_nothing_is_an_error(void **state)
{
    (void)state;
    cleanup(gate_rig_close) struct gate_rig rig;
    gate_rig_open(&rig, 2);
    struct err err = {0};
    rig.thresholds[0].cells = "scheme=ps*";
    assert_int_equal(gate_judge(&rig.question, rig.arena, &rig.result, &err), -ERR_USAGE);
    assert_string_equal(err.text, "t:1:1: 'scheme=ps*' matches no cell of campaign x in x.db; `laggard sql x.db cells` lists "
                                  "their labels");
    rig.thresholds[0].cells = NULL;
    rig.rules.baseline_arm = "middle";
    assert_int_equal(gate_judge(&rig.question, rig.arena, &rig.result, &err), -ERR_BASELINE);
    assert_non_null(strstr(err.text, "no arm 'middle'"));
}

static void a_waiver_holds_until_it_expires(void **state)
{
    (void)state;
    cleanup(gate_rig_close) struct gate_rig rig;
    gate_rig_open(&rig, 2);
    gate_rig_pair(&rig, 100, 110, 6);
    rig.data.groups[1].all_virtual = true;
    rig.waivers[0] = (struct gate_waiver){.metric = gate_rig_metrics[0],
                                          .verdict = GATE_REGRESSED,
                                          .owner = "anna",
                                          .expires = "2027-01-31",
                                          .expires_unix_ns = 1001};
    rig.rules.waiver_count = 1;
    gate_rig_assert(&rig, GATE_REGRESSED, NULL);
    assert_int_equal(rig.result.exit_code, 0);
    assert_int_equal(rig.result.waived, 1);
    assert_ptr_equal(rig.result.rows[0].waiver, &rig.waivers[0]);
    rig.question.now_unix_ns = 1001;
    gate_rig_assert(&rig, GATE_REGRESSED, NULL);
    assert_int_equal(rig.result.exit_code, 1);
    assert_string_equal(rig.result.rows[0].remark, "anna's waiver expired after 2027-01-31");
    rig.question.now_unix_ns = 0;
    rig.waivers[0].verdict = GATE_MISSING; /* of another verdict */
    gate_rig_judge(&rig);
    assert_int_equal(rig.result.exit_code, 1);
}

/* Two metrics of a cell are two tests: p of each is held against half of alpha first. */
static void metrics_of_a_cell_are_one_family(void **state)
{
    (void)state;
    cleanup(gate_rig_close) struct gate_rig rig;
    gate_rig_open(&rig, 2);
    rig.thresholds[1] = rig.thresholds[0];
    rig.thresholds[1].metric = gate_rig_metrics[1];
    rig.rules.threshold_count = 2;
    const double before[] = {100, 101, 102, 103, 104, 105}, after[] = {103.5, 106, 109, 114, 115, 120};
    gate_rig_values(&rig, &rig.data.groups[0], 0, before, 6);
    gate_rig_values(&rig, &rig.data.groups[1], 0, after, 6);
    gate_rig_values(&rig, &rig.data.groups[0], 1, before, 6);
    gate_rig_values(&rig, &rig.data.groups[1], 1, before, 6);
    gate_rig_judge(&rig);
    const struct gate_numbers *n = &rig.result.rows[0].numbers;
    assert_true(fabs(n->adjusted_p - 2 * n->p) < 1e-12 && rig.result.rows[1].numbers.adjusted_p == 1);
}

static void the_gravest_verdict_decides(void **state)
{
    (void)state;
    cleanup(gate_rig_close) struct gate_rig rig;
    gate_rig_open(&rig, 2);
    rig.thresholds[1] = (struct gate_threshold){
        .text = "accuracy >= 0.5", .metric = gate_rig_metrics[1], .form = GATE_ABSOLUTE, .number = 0.5, .alpha = 0.05};
    rig.rules.threshold_count = 2;
    gate_rig_pair(&rig, 100, 110, 6);
    gate_rig_judge(&rig);
    assert_true(rig.result.rows[0].verdict == GATE_UNCONFIRMED && rig.result.rows[1].verdict == GATE_MISSING);
    assert_true(rig.result.verdict == GATE_MISSING && rig.result.exit_code == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_data_never_passes),
        cmocka_unit_test(another_campaign_is_a_baseline),
        cmocka_unit_test(a_pattern_that_matches_nothing_is_an_error),
        cmocka_unit_test(a_waiver_holds_until_it_expires),
        cmocka_unit_test(metrics_of_a_cell_are_one_family),
        cmocka_unit_test(the_gravest_verdict_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
