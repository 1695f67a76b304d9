/* tests/unit/test_virtual_means.c: mean round times in the virtual world, within four standard errors of the closed forms: nothing
 * but compute takes time. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "agents/recorder.h"
#include "tests/unit/scheme_rig.h"
#include "tests/unit/virtual_rig.h"

#include <cmocka.h> /* after node.h: its macro fail() hides the member */

static const double MS = 1e6;

struct moments_of {
    double mean, sd, error; /* of the mean */
};

/* Rounds one after another depend on each other where workers go on: means of blocks do not. */
static struct moments_of measure(struct scheme_setup setup, const struct distribution *time, int rounds)
{
    enum { BLOCKS = 50 };
    setup.rounds = rounds;
    setup.values_carried = false;
    struct virtual_rig rig = virtual_rig_new(setup);
    rig.compute_time = *time;
    rig.options.record_spans = false;
    virtual_rig_run(&rig);
    const struct recorder *recorder = virtual_node(rig.world, scheme_round_node(setup.scheme, setup.workers)).recorder;
    assert_int_equal(recorder->round_count, rounds);
    double sum = 0, squares = 0, block_squares = 0, before = 0;
    const int block = rounds / BLOCKS;
    for (int r = 0; r < rounds; r++) {
        const double end = (double)recorder->rounds[r].held_ns / MS, took = end - before;
        sum += took;
        squares += took * took;
        before = end;
    }
    const double mean = sum / rounds;
    for (int b = 0; b < BLOCKS; b++) {
        const double begin = b ? (double)recorder->rounds[b * block - 1].held_ns / MS : 0;
        const double part = ((double)recorder->rounds[(b + 1) * block - 1].held_ns / MS - begin) / block - mean;
        block_squares += part * part;
    }
    virtual_rig_free(&rig);
    return (struct moments_of){
        .mean = mean, .sd = sqrt((squares - sum * mean) / (rounds - 1)), .error = sqrt(block_squares / (BLOCKS - 1) / BLOCKS)};
}

static void assert_mean(const char *scheme, int workers, double parameter, const struct distribution *time, double expected)
{
    struct moments_of found = measure(scheme_setup_of(scheme, workers, 1, parameter), time, 10000);
    if (!(fabs(found.mean - expected) <= 4 * found.error))
        fail_msg("%s(%g) among %d: %.6f ms, expected %.6f, standard error %.6f", scheme, parameter, workers, found.mean, expected,
                 found.error);
}

static const struct distribution exponential = {.kind = DISTRIBUTION_EXPONENTIAL, .mean_ns = 1e6};

/* E[X_{K:8}] of Exp(1). */
static void who_waits_for_k_waits_for_the_order_statistic(void **state)
{
    (void)state;
    static const struct {
        int k;
        double mean;
    } expected[] = {{1, 0.125}, {2, 0.267857}, {4, 0.634524}, {6, 1.217857}, {8, 2.717857}};
    for (int i = 0; i < 5; i++) {
        assert_mean("k-sync", 8, expected[i].k, &exponential, expected[i].mean);
        assert_mean("k-batch-sync", 8, expected[i].k, &exponential, expected[i].k / 8.0);
        assert_mean("k-async", 8, expected[i].k, &exponential, expected[i].mean);
        assert_mean("k-batch-async", 8, expected[i].k, &exponential, expected[i].k / 8.0);
    }
    assert_mean("ps-sync", 8, 1, &exponential, 2.717857);
    assert_mean("ring", 8, 0, &exponential, 2.717857);
    assert_mean("async", 8, 0, &exponential, 0.125);
}

/* Whatever the distribution. */
static void asynchronous_updates_share_the_mean(void **state)
{
    (void)state;
    const struct distribution shifted = {.kind = DISTRIBUTION_SHIFTED_EXPONENTIAL, .shift_ns = 1e6, .mean_ns = 5e5};
    const struct distribution pareto = {.kind = DISTRIBUTION_PARETO, .scale_ns = 1e6, .shape = 3};
    assert_mean("async", 8, 0, &shifted, 1.5 / 8);
    assert_mean("async", 8, 0, &pareto, 1.5 / 8);
    assert_mean("k-batch-async", 8, 4, &shifted, 1.5 / 2);
    assert_mean("k-batch-async", 8, 4, &pareto, 1.5 / 2);
}

/* The slowest of n leaves, Lognormal(3, 0.1). */
static void a_parent_waits_for_the_slowest_leaf(void **state)
{
    (void)state;
    static const struct {
        int leaves;
        double mean, sd;
    } expected[] = {{10, 23.46737, 1.39524}, {100, 25.83397, 1.12587}, {1000, 27.79251, 0.99063}};
    const struct distribution lognormal = {.kind = DISTRIBUTION_LOGNORMAL, .mu = 3, .sigma = 0.1, .unit_ns = 1e6};
    for (int i = 0; i < 3; i++) {
        struct moments_of found = measure(scheme_setup_of("ps-sync", expected[i].leaves, 1, 1), &lognormal, 1000);
        assert_true(fabs(found.mean - expected[i].mean) < 4 * expected[i].sd / sqrt(1000));
        assert_true(fabs(found.sd / expected[i].sd - 1) < 0.15);
    }
}

/* Of 100 workers: 96 of them, all of them. */
static void a_hundred_workers(void **state)
{
    (void)state;
    struct moments_of most = measure(scheme_setup_of("k-sync", 100, 1, 96), &exponential, 4000);
    struct moments_of all = measure(scheme_setup_of("k-sync", 100, 1, 100), &exponential, 4000);
    assert_true(fabs(most.mean - 3.104044) < 4 * most.error);
    assert_true(fabs(all.mean - 5.187378) < 4 * all.error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waits_for_k_waits_for_the_order_statistic),
        cmocka_unit_test(asynchronous_updates_share_the_mean),
        cmocka_unit_test(a_parent_waits_for_the_slowest_leaf),
        cmocka_unit_test(a_hundred_workers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
