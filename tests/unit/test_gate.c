/* test_gate.c: verdicts from numbers: every verdict with its exit code, waivers, self-test, and how often chance and a real
 * slowdown are told apart. Made without a database: results/gate.h judges what it is given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/rng.h"
#include "results/gate.h"

enum { METRICS = 2, TRIALS_MAX_HERE = 12 };
static const char *const metric_names[METRICS] = {"round_time_ns.p50", "accuracy"};
static const char *const metric_units[METRICS] = {"ns", "ratio"};

/* One cell under one or two arms; values of each metric as they are set. */
struct rig {
    struct arena *arena;
    struct gate_data data, baseline, rerun;
    struct gate_threshold thresholds[4];
    struct gate_waiver waivers[1];
    struct gate_rules rules;
    struct gate_question question;
    struct gate_result result;
};

static void make_data(struct rig *rig, struct gate_data *data, int arms)
{
    static const char *const names[] = {"before", "after"};
    *data = (struct gate_data){.path = "x.db",
                               .name = "x",
                               .campaign_id = 1,
                               .fingerprint = "f",
                               .arms = arena_new_array(rig->arena, const char *, 2),
                               .arm_count = arms,
                               .groups = arena_new_array(rig->arena, struct gate_group, 2),
                               .group_count = arms,
                               .metrics = arena_new_array(rig->arena, const char *, METRICS),
                               .units = arena_new_array(rig->arena, const char *, METRICS),
                               .metric_count = METRICS};
    for (int m = 0; m < METRICS; m++) {
        data->metrics[m] = metric_names[m];
        data->units[m] = metric_units[m];
    }
    for (int a = 0; a < arms; a++) {
        data->arms[a] = arms == 1 ? "" : names[a];
        data->groups[a] = (struct gate_group){.label = "scheme=ring",
                                              .arm = data->arms[a],
                                              .settings = "name: x\nscheme: ring\n",
                                              .values = arena_new_array(rig->arena, struct sample, METRICS),
                                              .missing = arena_new_array(rig->arena, const char *, METRICS),
                                              .infinite = arena_new_array(rig->arena, int, METRICS)};
    }
}

static void setup(struct rig *rig, int arms)
{
    *rig = (struct rig){.arena = arena_new()};
    make_data(rig, &rig->data, arms);
    rig->thresholds[0] = (struct gate_threshold){.text = "round_time_ns.p50 <= baseline * 1.05",
                                                 .metric = metric_names[0],
                                                 .lower = true,
                                                 .form = GATE_RATIO,
                                                 .number = 1.05,
                                                 .alpha = 0.05,
                                                 .place = "t:1:1"};
    rig->rules = (struct gate_rules){.thresholds = rig->thresholds, .threshold_count = 1, .waivers = rig->waivers};
    rig->question = (struct gate_question){.rules = &rig->rules, .campaign = &rig->data, .now_unix_ns = 1000};
}

static void clean(struct rig *rig)
{
    arena_free(rig->arena);
}

static void set_values(struct rig *rig, struct gate_group *group, int metric, const double *values, int count)
{
    group->values[metric] = (struct sample){arena_copy(rig->arena, values, sizeof(*values) * (size_t)count), (size_t)count};
    group->finished = count > group->finished ? count : group->finished;
}

/* `count` values around `median`, half of them on either side, in steps of 0.1 %. */
static void set_around(struct rig *rig, struct gate_group *group, int metric, double median, int count)
{
    double values[TRIALS_MAX_HERE];
    for (int i = 0; i < count; i++)
        values[i] = median * (1 + 0.001 * (i - (count - 1) / 2.0));
    set_values(rig, group, metric, values, count);
}

static enum gate_verdict judged(struct rig *rig)
{
    struct err err = {0};
    if (gate_judge(&rig->question, rig->arena, &rig->result, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(rig->result.row_count > 0);
    return rig->result.rows[0].verdict;
}

static void assert_verdict(struct rig *rig, enum gate_verdict verdict, const char *reason)
{
    enum gate_verdict found = judged(rig);
    const char *why = rig->result.rows[0].reason;
    if (found != verdict || (reason && (!why || !strstr(why, reason))))
        fail_msg("found %s (%s), expected %s (%s)", gate_verdicts[found].name, why ? why : "-", gate_verdicts[verdict].name,
                 reason ? reason : "-");
}

static void pair(struct rig *rig, double before, double after, int count)
{
    set_around(rig, &rig->data.groups[0], 0, before, count);
    set_around(rig, &rig->data.groups[1], 0, after, count);
}

static void within_the_threshold_passes(void **state)
{
    (void)state;
    cleanup(clean) struct rig rig;
    setup(&rig, 2);
    pair(&rig, 100, 103, 6); /* significantly slower, but less than is allowed */
    assert_verdict(&rig, GATE_PASS, NULL);
    assert_int_equal(rig.result.exit_code, 0);
    assert_true(fabs(rig.result.rows[0].numbers.limit - 105) < 1e-9);
    assert_true(rig.result.rows[0].numbers.p < 0.05);
    assert_string_equal(rig.result.rows[0].base_arm, "before");
}

static void much_better_is_improved(void **state)
{
    (void)state;
    cleanup(clean) struct rig rig;
    setup(&rig, 2);
    pair(&rig, 100, 90, 6);
    assert_verdict(&rig, GATE_IMPROVED, NULL);
    pair(&rig, 100, 97, 6); /* better, but by less than it may be worse */
    assert_verdict(&rig, GATE_PASS, NULL);
}

static void beyond_the_threshold_needs_a_rerun(void **state)
{
    (void)state;
    cleanup(clean) struct rig rig;
    setup(&rig, 2);
    pair(&rig, 100, 110, 6);
    assert_verdict(&rig, GATE_UNCONFIRMED, "run FILE --db DB --confirm");
    assert_int_equal(rig.result.exit_code, 5);
    make_data(&rig, &rig.rerun, 2);
    rig.question.confirmation = &rig.rerun;
    assert_verdict(&rig, GATE_UNCONFIRMED, "run FILE --db DB --confirm"); /* it has no trial of this cell */
    set_around(&rig, &rig.rerun.groups[0], 0, 100, 6);
    set_around(&rig, &rig.rerun.groups[1], 0, 111, 6);
    assert_verdict(&rig, GATE_REGRESSED, "a rerun confirms it");
    assert_int_equal(rig.result.exit_code, 1);
    set_around(&rig, &rig.rerun.groups[1], 0, 103, 6);
    assert_verdict(&rig, GATE_PASS, "a rerun is within the threshold");
    const double wide[] = {90, 95, 104, 110, 130, 140};
    set_values(&rig, &rig.rerun.groups[1], 0, wide, 6);
    assert_verdict(&rig, GATE_INCONCLUSIVE, "a rerun is beyond the threshold, too");
    set_around(&rig, &rig.rerun.groups[1], 0, 111, 5);
    assert_verdict(&rig, GATE_UNCONFIRMED, "under 6 trials an arm");
}

static void the_virtual_world_needs_none(void **state)
{
    (void)state;
    cleanup(clean) struct rig rig;
    setup(&rig, 2);
    pair(&rig, 100, 110, 6);
    rig.data.groups[1].all_virtual = true;
    assert_verdict(&rig, GATE_REGRESSED, NULL);
}

static void chance_is_inconclusive(void **state)
{
    (void)state;
    cleanup(clean) struct rig rig;
    setup(&rig, 2);
    const double before[] = {90, 95, 100, 101, 120, 140}, after[] = {93, 99, 104, 116, 125, 139};
    set_values(&rig, &rig.data.groups[0], 0, before, 6);
    set_values(&rig, &rig.data.groups[1], 0, after, 6);
    assert_verdict(&rig, GATE_INCONCLUSIVE, "may be chance");
    assert_int_equal(rig.result.exit_code, 5);
}

static void too_few_trials_show_nothing(void **state)
{
    (void)state;
    cleanup(clean) struct rig rig;
    setup(&rig, 2);
    pair(&rig, 100, 150, 3);
    assert_verdict(&rig, GATE_INCONCLUSIVE, "too few trials: 3 against 3; under 4 an arm no difference can be shown");
    rig.data.groups[0].finished = rig.data.groups[1].finished = 0;
    pair(&rig, 100, 100, 3);
    assert_verdict(&rig, GATE_INCONCLUSIVE, "too few trials");
    pair(&rig, 100, 150, 5);
    assert_verdict(&rig, GATE_INCONCLUSIVE, "under 6 trials an arm there is no 95 % interval");
    pair(&rig, 100, 101, 5);
    assert_verdict(&rig, GATE_PASS, NULL);
}

static void a_small_effect_is_none(void **state)
{
    (void)state;
    cleanup(clean) struct rig rig;
    setup(&rig, 2);
    rig.thresholds[0].number = 1;
    rig.thresholds[0].min_effect = 0.05;
    pair(&rig, 100, 104, 6);
    assert_verdict(&rig, GATE_PASS, NULL);
    pair(&rig, 100, 106, 6);
    assert_verdict(&rig, GATE_UNCONFIRMED, NULL);
}

static void differences_and_limits(void **state)
{
    (void)state;
    cleanup(clean) struct rig rig;
    setup(&rig, 2);
    rig.thresholds[0] = (struct gate_threshold){
        .text = "accuracy >= baseline - 1%", .metric = metric_names[1], .form = GATE_DIFFERENCE, .number = 0.01, .alpha = 0.05};
    set_around(&rig, &rig.data.groups[0], 1, 0.8, 6);
    set_around(&rig, &rig.data.groups[1], 1, 0.795, 6);
    assert_verdict(&rig, GATE_PASS, NULL);
    set_around(&rig, &rig.data.groups[1], 1, 0.77, 6);
    assert_verdict(&rig, GATE_UNCONFIRMED, NULL);
    set_around(&rig, &rig.data.groups[1], 1, 0.83, 6);
    assert_verdict(&rig, GATE_IMPROVED, NULL);
    rig.thresholds[0] = (struct gate_threshold){
        .text = "accuracy >= 0.75", .metric = metric_names[1], .form = GATE_ABSOLUTE, .number = 0.75, .alpha = 0.05};
    assert_verdict(&rig, GATE_PASS, NULL);
    assert_int_equal(rig.result.row_count, 2); /* nothing is compared: every arm is judged */
    set_around(&rig, &rig.data.groups[0], 1, 0.7, 6);
    assert_verdict(&rig, GATE_UNCONFIRMED, NULL);
    set_around(&rig, &rig.data.groups[0], 1, 0.7, 5);
    assert_verdict(&rig, GATE_INCONCLUSIVE, "no 95 % interval");
    rig.thresholds[0].alpha = 0.01;
    set_around(&rig, &rig.data.groups[0], 1, 0.7, 7);
    assert_verdict(&rig, GATE_INCONCLUSIVE, "under 8 trials an arm there is no 99 % interval");
    set_around(&rig, &rig.data.groups[0], 1, 0.7, 8);
    assert_verdict(&rig, GATE_UNCONFIRMED, NULL);
}

static void zero_has_no_ratio(void **state)
{
    (void)state;
    cleanup(clean) struct rig rig;
    setup(&rig, 2);
    const double nothing[6] = {0}, more[6] = {1, 1, 1, 1, 1, 1};
    set_values(&rig, &rig.data.groups[0], 0, nothing, 6);
    set_values(&rig, &rig.data.groups[1], 0, nothing, 6);
    assert_verdict(&rig, GATE_PASS, NULL);
    assert_true(isnan(rig.result.rows[0].numbers.ratio));
    set_values(&rig, &rig.data.groups[1], 0, more, 6);
    assert_verdict(&rig, GATE_UNCONFIRMED, NULL); /* from nothing to something: by the difference */
}

static void no_data_never_passes(void **state)
{
    (void)state;
    cleanup(clean) struct rig rig;
    setup(&rig, 2);
    set_around(&rig, &rig.data.groups[0], 0, 100, 6);
    assert_verdict(&rig, GATE_MISSING, "no trial finished");
    assert_int_equal(rig.result.exit_code, 1);
    rig.data.groups[1].finished = 6;
    rig.data.groups[1].missing[0] = "no round was measured";
    assert_verdict(&rig, GATE_MISSING, "no round was measured");
    rig.data.groups[1].finished = 0;
    rig.data.groups[1].void_count = 6;
    rig.data.groups[1].reason = "the links were off";
    assert_verdict(&rig, GATE_INCONCLUSIVE, "all 6 trials are void: the links were off");
    rig.data.groups[1].void_count = 0;
    rig.data.groups[1].failed = 1;
    rig.data.groups[1].missing[0] = NULL;
    rig.data.groups[1].reason = "w1 died";
    set_around(&rig, &rig.data.groups[1], 0, 100, 6);
    assert_verdict(&rig, GATE_ERROR, "1 trial failed: w1 died");
    assert_int_equal(rig.result.exit_code, 4);
    rig.data.groups[1].failed = 0;
    rig.data.groups[1].infinite[0] = 2;
    assert_verdict(&rig, GATE_ERROR, "2 values are no finite number");
    rig.data.groups[1].infinite[0] = 0;
    set_values(&rig, &rig.data.groups[0], 0, NULL, 0);
    assert_verdict(&rig, GATE_NEW, "no value of this metric");
    assert_int_equal(rig.result.exit_code, 0);
}

static void another_campaign_is_a_baseline(void **state)
{
    (void)state;
    cleanup(clean) struct rig rig;
    setup(&rig, 1);
    struct err err = {0};
    set_around(&rig, &rig.data.groups[0], 0, 110, 6);
    assert_int_equal(gate_judge(&rig.question, rig.arena, &rig.result, &err), -ERR_BASELINE);
    assert_non_null(strstr(err.text, "has one arm; name a baseline with --baseline"));
    make_data(&rig, &rig.baseline, 1);
    rig.question.baseline = &rig.baseline;
    assert_verdict(&rig, GATE_NEW, "no value");
    set_around(&rig, &rig.baseline.groups[0], 0, 100, 6);
    assert_verdict(&rig, GATE_UNCONFIRMED, NULL);
    rig.baseline.groups[0].settings = "name: other\nscheme: ps-sync\n"; /* its name is no matter */
    assert_verdict(&rig, GATE_INCOMPARABLE, "the baseline had another scheme");
    assert_int_equal(rig.result.exit_code, 6);
    rig.baseline.groups[0].settings = "name: other\nscheme: ring\nrecord_nodes: true\n"; /* nor is what was stored, known or not */
    rig.question.incomparable = "the baseline ran in another environment: cpu_model";
    assert_verdict(&rig, GATE_INCOMPARABLE, "cpu_model");
    rig.data.groups[0].all_virtual = rig.baseline.groups[0].all_virtual = true;
    assert_verdict(&rig, GATE_REGRESSED, NULL); /* a virtual clock is the same everywhere */
    rig.question.incomparable = NULL;
    rig.data.groups[0].label = "scheme=other";
    judged(&rig);
    assert_int_equal(rig.result.row_count, 2);
    assert_true(rig.result.rows[0].verdict == GATE_NEW && rig.result.rows[1].verdict == GATE_MISSING);
    assert_int_equal(rig.result.exit_code, 1); /* a cell that is gone does not pass in silence */
}

static void a_pattern_that_matches_nothing_is_an_error(void **state)
{
    (void)state;
    cleanup(clean) struct rig rig;
    setup(&rig, 2);
    struct err err = {0};
    rig.thresholds[0].cells = "scheme=ps*";
    assert_int_equal(gate_judge(&rig.question, rig.arena, &rig.result, &err), -ERR_USAGE);
    assert_string_equal(err.text, "t:1:1: 'scheme=ps*' matches no cell of campaign x in x.db");
    rig.thresholds[0].cells = NULL;
    rig.rules.baseline_arm = "middle";
    assert_int_equal(gate_judge(&rig.question, rig.arena, &rig.result, &err), -ERR_BASELINE);
    assert_non_null(strstr(err.text, "no arm 'middle'"));
}

static void a_waiver_holds_until_it_expires(void **state)
{
    (void)state;
    cleanup(clean) struct rig rig;
    setup(&rig, 2);
    pair(&rig, 100, 110, 6);
    rig.data.groups[1].all_virtual = true;
    rig.waivers[0] = (struct gate_waiver){
        .metric = metric_names[0], .verdict = GATE_REGRESSED, .owner = "anna", .expires = "2027-01-31", .expires_unix_ns = 1001};
    rig.rules.waiver_count = 1;
    assert_verdict(&rig, GATE_REGRESSED, NULL);
    assert_int_equal(rig.result.exit_code, 0);
    assert_int_equal(rig.result.waived, 1);
    assert_ptr_equal(rig.result.rows[0].waiver, &rig.waivers[0]);
    rig.question.now_unix_ns = 1001;
    assert_verdict(&rig, GATE_REGRESSED, NULL);
    assert_int_equal(rig.result.exit_code, 1);
    assert_string_equal(rig.result.rows[0].remark, "anna's waiver expired after 2027-01-31");
    rig.question.now_unix_ns = 0;
    rig.waivers[0].verdict = GATE_MISSING; /* of another verdict */
    judged(&rig);
    assert_int_equal(rig.result.exit_code, 1);
}

/* Two metrics of a cell are two tests: p of each is held against half of alpha first. */
static void metrics_of_a_cell_are_one_family(void **state)
{
    (void)state;
    cleanup(clean) struct rig rig;
    setup(&rig, 2);
    rig.thresholds[1] = rig.thresholds[0];
    rig.thresholds[1].metric = metric_names[1];
    rig.rules.threshold_count = 2;
    const double before[] = {100, 101, 102, 103, 104, 105}, after[] = {103.5, 106, 109, 114, 115, 120};
    set_values(&rig, &rig.data.groups[0], 0, before, 6);
    set_values(&rig, &rig.data.groups[1], 0, after, 6);
    set_values(&rig, &rig.data.groups[0], 1, before, 6);
    set_values(&rig, &rig.data.groups[1], 1, before, 6);
    judged(&rig);
    const struct gate_numbers *n = &rig.result.rows[0].numbers;
    assert_true(fabs(n->adjusted_p - 2 * n->p) < 1e-12 && rig.result.rows[1].numbers.adjusted_p == 1);
}

static void the_gravest_verdict_decides(void **state)
{
    (void)state;
    cleanup(clean) struct rig rig;
    setup(&rig, 2);
    rig.thresholds[1] = (struct gate_threshold){
        .text = "accuracy >= 0.5", .metric = metric_names[1], .form = GATE_ABSOLUTE, .number = 0.5, .alpha = 0.05};
    rig.rules.threshold_count = 2;
    pair(&rig, 100, 110, 6);
    judged(&rig);
    assert_true(rig.result.rows[0].verdict == GATE_UNCONFIRMED && rig.result.rows[1].verdict == GATE_MISSING);
    assert_true(rig.result.verdict == GATE_MISSING && rig.result.exit_code == 1);
}

static void an_injected_slowdown_is_caught(void **state)
{
    (void)state;
    cleanup(clean) struct rig rig;
    setup(&rig, 2);
    pair(&rig, 100, 92, 6);
    rig.question.self_test = true;
    rig.question.slowdown = 0.1;
    assert_verdict(&rig, GATE_REGRESSED, NULL);
    assert_true(fabs(rig.result.rows[0].numbers.ratio - 1.1) < 1e-9);
    const double noise[] = {50, 70, 90, 110, 150, 190};
    set_values(&rig, &rig.data.groups[0], 0, noise, 6);
    set_values(&rig, &rig.data.groups[1], 0, noise, 6);
    assert_verdict(&rig, GATE_INCONCLUSIVE, NULL); /* too noisy to be seen: the self-test says so */
}

/* ---- how often ---- */

static double draw(struct rng *rng, double median, double sigma)
{
    return median * exp(sigma * rng_normal(rng));
}

/* The verdict after a rerun, of arms that differ by `slowdown`. */
static enum gate_verdict once(struct rig *rig, struct rng *rng, double slowdown, double sigma)
{
    struct gate_data *const both[] = {&rig->data, &rig->rerun};
    for (int d = 0; d < 2; d++)
        for (int a = 0; a < 2; a++) {
            double values[6];
            for (int i = 0; i < 6; i++)
                values[i] = draw(rng, a ? 100 * (1 + slowdown) : 100, sigma);
            set_values(rig, &both[d]->groups[a], 0, values, 6);
        }
    rig->question.confirmation = &rig->rerun;
    return judged(rig);
}

static double share_regressed(double factor, double slowdown, double sigma, int times)
{
    int regressed = 0;
    struct rng rng = rng_stream(20261129, 0, 0, RNG_BOOTSTRAP);
    for (int i = 0; i < times; i++) {
        cleanup(clean) struct rig rig;
        setup(&rig, 2);
        make_data(&rig, &rig.rerun, 2);
        rig.thresholds[0].number = factor;
        regressed += once(&rig, &rng, slowdown, sigma) == GATE_REGRESSED;
    }
    return (double)regressed / times;
}

static void chance_regresses_in_one_of_a_hundred_at_most(void **state)
{
    (void)state;
    double share = share_regressed(1, 0, 0.03, 1000); /* a threshold that allows nothing: the worst case */
    print_message("# A/A, 6 trials an arm, nothing allowed, rerun included: %.1f %% regressed\n", 100 * share);
    assert_true(share <= 0.01);
}

static void a_slowdown_of_a_tenth_is_caught(void **state)
{
    (void)state;
    double share = share_regressed(1.05, 0.1, 0.02, 400);
    print_message("# 10 %% slower, 6 trials an arm, 5 %% allowed, noise of 2 %%: %.1f %% regressed\n", 100 * share);
    assert_true(share >= 0.95);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(within_the_threshold_passes),
        cmocka_unit_test(much_better_is_improved),
        cmocka_unit_test(beyond_the_threshold_needs_a_rerun),
        cmocka_unit_test(the_virtual_world_needs_none),
        cmocka_unit_test(chance_is_inconclusive),
        cmocka_unit_test(too_few_trials_show_nothing),
        cmocka_unit_test(a_small_effect_is_none),
        cmocka_unit_test(differences_and_limits),
        cmocka_unit_test(zero_has_no_ratio),
        cmocka_unit_test(no_data_never_passes),
        cmocka_unit_test(another_campaign_is_a_baseline),
        cmocka_unit_test(a_pattern_that_matches_nothing_is_an_error),
        cmocka_unit_test(a_waiver_holds_until_it_expires),
        cmocka_unit_test(metrics_of_a_cell_are_one_family),
        cmocka_unit_test(the_gravest_verdict_decides),
        cmocka_unit_test(an_injected_slowdown_is_caught),
        cmocka_unit_test(chance_regresses_in_one_of_a_hundred_at_most),
        cmocka_unit_test(a_slowdown_of_a_tenth_is_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
