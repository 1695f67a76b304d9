/* test_gate.c: verdicts from numbers: every verdict with its exit code, waivers, self-test, and how often chance and a real
 * slowdown are told apart. Made without a database: results/gate.h judges what it is given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "tests/unit/gate_rig.h"

static void within_the_threshold_passes(void **state)
{
    (void)state;
    cleanup(gate_rig_close) struct gate_rig rig;
    gate_rig_open(&rig, 2);
    gate_rig_pair(&rig, 100, 103, 6); /* significantly slower, but less than is allowed */
    gate_rig_assert(&rig, GATE_PASS, NULL);
    assert_int_equal(rig.result.exit_code, 0);
    assert_true(fabs(rig.result.rows[0].numbers.limit - 105) < 1e-9);
    assert_true(rig.result.rows[0].numbers.p < 0.05);
    assert_string_equal(rig.result.rows[0].base_arm, "before");
}

static void much_better_is_improved(void **state)
{
    (void)state;
    cleanup(gate_rig_close) struct gate_rig rig;
    gate_rig_open(&rig, 2);
    gate_rig_pair(&rig, 100, 90, 6);
    gate_rig_assert(&rig, GATE_IMPROVED, NULL);
    gate_rig_pair(&rig, 100, 97, 6); /* better, but by less than it may be worse */
    gate_rig_assert(&rig, GATE_PASS, NULL);
}

static void beyond_the_threshold_needs_a_rerun(void **state)
{
    (void)state;
    cleanup(gate_rig_close) struct gate_rig rig;
    gate_rig_open(&rig, 2);
    gate_rig_pair(&rig, 100, 110, 6);
    gate_rig_assert(&rig, GATE_UNCONFIRMED, "run FILE --db DB --confirm");
    assert_int_equal(rig.result.exit_code, 5);
    gate_rig_data(&rig, &rig.rerun, 2);
    rig.question.confirmation = &rig.rerun;
    gate_rig_assert(&rig, GATE_UNCONFIRMED, "run FILE --db DB --confirm"); /* it has no trial of this cell */
    gate_rig_around(&rig, &rig.rerun.groups[0], 0, 100, 6);
    gate_rig_around(&rig, &rig.rerun.groups[1], 0, 111, 6);
    gate_rig_assert(&rig, GATE_REGRESSED, "a rerun confirms it");
    assert_int_equal(rig.result.exit_code, 1);
    gate_rig_around(&rig, &rig.rerun.groups[1], 0, 103, 6);
    gate_rig_assert(&rig, GATE_PASS, "a rerun is within the threshold");
    const double wide[] = {90, 95, 104, 110, 130, 140};
    gate_rig_values(&rig, &rig.rerun.groups[1], 0, wide, 6);
    gate_rig_assert(&rig, GATE_INCONCLUSIVE, "a rerun is beyond the threshold, too");
    gate_rig_around(&rig, &rig.rerun.groups[1], 0, 111, 5);
    gate_rig_assert(&rig, GATE_UNCONFIRMED, "under 6 trials an arm");
}

static void the_virtual_world_needs_none(void **state)
{
    (void)state;
    cleanup(gate_rig_close) struct gate_rig rig;
    gate_rig_open(&rig, 2);
    gate_rig_pair(&rig, 100, 110, 6);
    rig.data.groups[1].all_virtual = true;
    gate_rig_assert(&rig, GATE_REGRESSED, NULL);
}

static void chance_is_inconclusive(void **state)
{
    (void)state;
    cleanup(gate_rig_close) struct gate_rig rig;
    gate_rig_open(&rig, 2);
    const double before[] = {90, 95, 100, 101, 120, 140}, after[] = {93, 99, 104, 116, 125, 139};
    gate_rig_values(&rig, &rig.data.groups[0], 0, before, 6);
    gate_rig_values(&rig, &rig.data.groups[1], 0, after, 6);
    gate_rig_assert(&rig, GATE_INCONCLUSIVE, "may be chance");
    assert_int_equal(rig.result.exit_code, 5);
}

static void too_few_trials_show_nothing(void **state)
{
    (void)state;
    cleanup(gate_rig_close) struct gate_rig rig;
    gate_rig_open(&rig, 2);
    gate_rig_pair(&rig, 100, 150, 3);
    gate_rig_assert(&rig, GATE_INCONCLUSIVE, "too few trials: 3 against 3; under 4 an arm no difference can be shown");
    rig.data.groups[0].finished = rig.data.groups[1].finished = 0;
    gate_rig_pair(&rig, 100, 100, 3);
    gate_rig_assert(&rig, GATE_INCONCLUSIVE, "too few trials");
    gate_rig_pair(&rig, 100, 150, 5);
    gate_rig_assert(&rig, GATE_INCONCLUSIVE, "under 6 trials an arm there is no 95 % interval");
    gate_rig_pair(&rig, 100, 101, 5);
    gate_rig_assert(&rig, GATE_PASS, NULL);
}

static void a_small_effect_is_none(void **state)
{
    (void)state;
    cleanup(gate_rig_close) struct gate_rig rig;
    gate_rig_open(&rig, 2);
    rig.thresholds[0].number = 1;
    rig.thresholds[0].min_effect = 0.05;
    gate_rig_pair(&rig, 100, 104, 6);
    gate_rig_assert(&rig, GATE_PASS, NULL);
    gate_rig_pair(&rig, 100, 106, 6);
    gate_rig_assert(&rig, GATE_UNCONFIRMED, NULL);
}

static void differences_and_limits(void **state)
{
    (void)state;
    cleanup(gate_rig_close) struct gate_rig rig;
    gate_rig_open(&rig, 2);
    rig.thresholds[0] = (struct gate_threshold){
        .text = "accuracy >= baseline - 1%", .metric = gate_rig_metrics[1], .form = GATE_DIFFERENCE, .number = 0.01, .alpha = 0.05};
    gate_rig_around(&rig, &rig.data.groups[0], 1, 0.8, 6);
    gate_rig_around(&rig, &rig.data.groups[1], 1, 0.795, 6);
    gate_rig_assert(&rig, GATE_PASS, NULL);
    gate_rig_around(&rig, &rig.data.groups[1], 1, 0.77, 6);
    gate_rig_assert(&rig, GATE_UNCONFIRMED, NULL);
    gate_rig_around(&rig, &rig.data.groups[1], 1, 0.83, 6);
    gate_rig_assert(&rig, GATE_IMPROVED, NULL);
    rig.thresholds[0] = (struct gate_threshold){
        .text = "accuracy >= 0.75", .metric = gate_rig_metrics[1], .form = GATE_ABSOLUTE, .number = 0.75, .alpha = 0.05};
    gate_rig_assert(&rig, GATE_PASS, NULL);
    assert_int_equal(rig.result.row_count, 2); /* nothing is compared: every arm is judged */
    gate_rig_around(&rig, &rig.data.groups[0], 1, 0.7, 6);
    gate_rig_assert(&rig, GATE_UNCONFIRMED, NULL);
    gate_rig_around(&rig, &rig.data.groups[0], 1, 0.7, 5);
    gate_rig_assert(&rig, GATE_INCONCLUSIVE, "no 95 % interval");
    rig.thresholds[0].alpha = 0.01;
    gate_rig_around(&rig, &rig.data.groups[0], 1, 0.7, 7);
    gate_rig_assert(&rig, GATE_INCONCLUSIVE, "under 8 trials an arm there is no 99 % interval");
    gate_rig_around(&rig, &rig.data.groups[0], 1, 0.7, 8);
    gate_rig_assert(&rig, GATE_UNCONFIRMED, NULL);
}

static void zero_has_no_ratio(void **state)
{
    (void)state;
    cleanup(gate_rig_close) struct gate_rig rig;
    gate_rig_open(&rig, 2);
    const double nothing[6] = {0}, more[6] = {1, 1, 1, 1, 1, 1};
    gate_rig_values(&rig, &rig.data.groups[0], 0, nothing, 6);
    gate_rig_values(&rig, &rig.data.groups[1], 0, nothing, 6);
    gate_rig_assert(&rig, GATE_PASS, NULL);
    assert_true(isnan(rig.result.rows[0].numbers.ratio));
    gate_rig_values(&rig, &rig.data.groups[1], 0, more, 6);
    gate_rig_assert(&rig, GATE_UNCONFIRMED, NULL); /* from nothing to something: by the difference */
}

static void an_injected_slowdown_is_caught(void **state)
{
    (void)state;
    cleanup(gate_rig_close) struct gate_rig rig;
    gate_rig_open(&rig, 2);
    gate_rig_pair(&rig, 100, 92, 6);
    rig.question.self_test = true;
    rig.question.slowdown = 0.1;
    gate_rig_assert(&rig, GATE_REGRESSED, NULL);
    assert_true(fabs(rig.result.rows[0].numbers.ratio - 1.1) < 1e-9);
    const double noise[] = {50, 70, 90, 110, 150, 190};
    gate_rig_values(&rig, &rig.data.groups[0], 0, noise, 6);
    gate_rig_values(&rig, &rig.data.groups[1], 0, noise, 6);
    gate_rig_assert(&rig, GATE_INCONCLUSIVE, NULL); /* too noisy to be seen: the self-test says so */
}

/* ---- how often ---- */

static double draw(struct rng *rng, double median, double sigma)
{
    return median * exp(sigma * rng_normal(rng));
}

/* The verdict after a rerun, of arms that differ by `slowdown`. */
static enum gate_verdict once(struct gate_rig *rig, struct rng *rng, double slowdown, double sigma)
{
    struct gate_data *const both[] = {&rig->data, &rig->rerun};
    for (int d = 0; d < 2; d++)
        for (int a = 0; a < 2; a++) {
            double values[6];
            for (int i = 0; i < 6; i++)
                values[i] = draw(rng, a ? 100 * (1 + slowdown) : 100, sigma);
            gate_rig_values(rig, &both[d]->groups[a], 0, values, 6);
        }
    rig->question.confirmation = &rig->rerun;
    return gate_rig_judge(rig);
}

static double share_regressed(double factor, double slowdown, double sigma, int times)
{
    int regressed = 0;
    struct rng rng = rng_stream(20261129, 0, 0, RNG_BOOTSTRAP);
    for (int i = 0; i < times; i++) {
        cleanup(gate_rig_close) struct gate_rig rig;
        gate_rig_open(&rig, 2);
        gate_rig_data(&rig, &rig.rerun, 2);
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
        cmocka_unit_test(an_injected_slowdown_is_caught),
        cmocka_unit_test(chance_regresses_in_one_of_a_hundred_at_most),
        cmocka_unit_test(a_slowdown_of_a_tenth_is_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
