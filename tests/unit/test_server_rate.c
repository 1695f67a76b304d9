/* tests/unit/test_server_rate.c: rates that make up for staleness and quotas that follow the loss: the formulas in numbers worked
 * out by hand, and what servers make of them, whatever the order of events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/schemes/server_rate.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "tests/unit/memory_world.h"
#include "tests/unit/scheme_rig.h"

#include <cmocka.h>

enum { FLOATS = 4, ROUNDS = 40, WORKERS = 4, SEEDS = 24 };

static void test_formulas(void **state)
{
    (void)state;
    assert_float_equal(server_rate_compensated(0.5, 0.1, 0), 0.1, 0);
    assert_float_equal(server_rate_compensated(0.5, 0.1, 4), 0.1, 0);
    assert_float_equal(server_rate_compensated(0.5, 0.1, 5), 0.1, 1e-15);
    assert_float_equal(server_rate_compensated(0.5, 0.1, 10), 0.05, 1e-15);
    assert_float_equal(server_rate_compensated(0.5, 0.1, 1e6), 5e-7, 1e-15);
    assert_int_equal(server_rate_adasync(2, 8, 2.3, 2.3), 2);
    assert_int_equal(server_rate_adasync(2, 8, 2.3, 0.575), 4); /* a quarter: twice as many */
    assert_int_equal(server_rate_adasync(2, 8, 2.25, 1), 3);    /* 2 x 1.5 */
    assert_int_equal(server_rate_adasync(2, 8, 2.25, 1.5), 2);  /* 2.449 */
    assert_int_equal(server_rate_adasync(2, 8, 2.25, 1.4), 3);  /* 2.535 */
    assert_int_equal(server_rate_adasync(2, 8, 16, 0.5), 8);    /* 11.3, and there are 8 */
    assert_int_equal(server_rate_adasync(2, 8, 16, 0), 8);
    assert_int_equal(server_rate_adasync(2, 8, 1, 100), 1); /* 0.2 */
    assert_int_equal(server_rate_adasync(3, 8, 0, 1), 3);   /* no ratio */
    assert_int_equal(server_rate_adasync(3, 8, -1, 1), 3);
}

/* A model of four equal floats; every gradient is 8 everywhere, so that at rate 1/8 a whole one moves each float by -1. With
 * C = 1/2 the rate of a gradient whose model was d away is min(0.5 / (4 d^2), 1/8): 1/d^2 of all of it where d > 1. */
struct reference {
    int quota, collected;
    double sum, model[ROUNDS + 1];
    bool behind; /* some rate was less than the whole */
    uint32_t used_in[ROUNDS];
};

static void eights(void *context, int worker, uint64_t step, const float *model, float *gradient)
{
    (void)context;
    (void)worker;
    (void)step;
    (void)model;
    for (size_t i = 0; i < FLOATS; i++)
        gradient[i] = 8;
}

static void follow(void *context, int node, const struct gradient_record *record)
{
    struct reference *reference = context;
    (void)node;
    if (record->fate != GRADIENT_USED)
        return;
    double moved = reference->model[record->round] - reference->model[record->round - record->staleness];
    double share = moved * moved > 1 ? 1 / (moved * moved) : 1;
    reference->behind |= share < 1;
    reference->sum += share;
    if (++reference->collected == reference->quota) {
        reference->model[record->round + 1] = reference->model[record->round] - reference->sum / reference->quota;
        reference->sum = reference->collected = 0;
    }
}

static const float zeros[FLOATS];

static void test_compensated_models(void **state)
{
    (void)state;
    static const struct {
        const char *scheme;
        int quota, parameter; /* where compensate is */
    } cases[] = {{"async", 1, 0}, {"k-async", 2, 1}, {"k-batch-async", 2, 1}, {"ssp", 1, 1}};
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        bool behind = false;
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct scheme_setup setup = scheme_setup_of(cases[c].scheme, WORKERS, FLOATS, cases[c].quota);
            setup.values[cases[c].parameter] = 0.5;
            setup.rounds = ROUNDS;
            setup.trained = true;
            assert_int_equal(setup.scheme->check(&setup, NULL), 0);
            struct reference reference = {.quota = cases[c].quota};
            struct memory_world_settings settings = {.setup = &setup,
                                                     .seed = seed,
                                                     .sent = seed & 2 ? SENT_ON_TAKE : SENT_ANY_TIME,
                                                     .slow_first_node = seed & 1 ? 40 : 0,
                                                     .initial_model = zeros,
                                                     .context = &reference,
                                                     .gradient = eights,
                                                     .gradient_told = follow};
            cleanup(memory_world_cleanup) struct memory_world *world = memory_world_new(&settings);
            memory_world_run(world);
            assert_null(memory_world_failure(world));
            struct memory_node_result server = memory_world_result(world, WORKERS);
            assert_true(server.finished);
            for (size_t i = 0; i < FLOATS; i++)
                assert_float_equal(server.model[i], reference.model[ROUNDS], 1e-4);
            assert_int_equal(memory_world_buffers_out(world), 0);
            behind |= reference.behind;
        }
        assert_true(behind);
    }
}

/* ---- AdaSync ---- */

/* Losses that tell how far training is: 4 at the initial model, 1/4 of that from the worker's step 3 on. */
static double falling_loss(void *context, int worker, uint64_t step)
{
    (void)context;
    (void)worker;
    return step < 3 ? 4 : 1;
}

static void count_used(void *context, int node, const struct gradient_record *record)
{
    struct reference *reference = context;
    (void)node;
    if (record->fate == GRADIENT_USED)
        reference->used_in[record->round]++;
}

static void test_the_quota_follows_the_loss(void **state)
{
    (void)state;
    static const struct {
        const char *scheme;
        int first, parameter;
        uint32_t last; /* 2 x k, at most 4 */
    } cases[] = {
        {"async", 1, 1, 2}, {"k-sync", 1, 1, 2}, {"k-batch-sync", 2, 1, 4}, {"k-async", 3, 2, 4}, {"k-batch-async", 2, 2, 4}};
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++)
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct scheme_setup setup = scheme_setup_of(cases[c].scheme, WORKERS, FLOATS, cases[c].first);
            if (strcmp(cases[c].scheme, "async") == 0)
                setup.values[0] = 0;
            setup.values[cases[c].parameter] = 20000;
            setup.rounds = ROUNDS;
            setup.trained = true;
            assert_int_equal(setup.scheme->check(&setup, NULL), 0);
            struct reference reference = {0};
            struct memory_world_settings settings = {.setup = &setup,
                                                     .seed = seed,
                                                     .sent = seed & 2 ? SENT_ON_TAKE : SENT_ANY_TIME,
                                                     .initial_model = zeros,
                                                     .context = &reference,
                                                     .gradient = eights,
                                                     .loss = falling_loss,
                                                     .gradient_told = count_used};
            cleanup(memory_world_cleanup) struct memory_world *world = memory_world_new(&settings);
            memory_world_run(world);
            if (memory_world_failure(world))
                fail_msg("%s, seed %d: %s", cases[c].scheme, (int)seed, memory_world_failure(world));
            for (int node = 0; node < setup.nodes; node++)
                assert_true(memory_world_result(world, node).finished);
            assert_int_equal(reference.used_in[0], cases[c].first);
            if (reference.used_in[ROUNDS - 1] != cases[c].last)
                fail_msg("%s, seed %d: the last update has %u gradients", cases[c].scheme, (int)seed,
                         reference.used_in[ROUNDS - 1]);
            assert_int_equal(memory_world_buffers_out(world), 0);
        }
}

static void test_refusals_and_predictions(void **state)
{
    (void)state;
    struct scheme_setup setup = scheme_setup_of("k-async", WORKERS, FLOATS, 2);
    struct err err = {0};
    assert_int_equal(setup.scheme->check(&setup, &err), 0);
    setup.values[1] = 1;
    assert_int_equal(setup.scheme->check(&setup, &err), -ERR_USAGE);
    assert_non_null(strstr(err.text, "'compensate' needs a model that is trained"));
    setup.values[1] = 0;
    setup.values[2] = 1e9;
    assert_int_equal(setup.scheme->check(&setup, &err), -ERR_USAGE);
    assert_non_null(strstr(err.text, "'adasync' needs a model that is trained"));
    setup.trained = true;
    assert_int_equal(setup.scheme->check(&setup, &err), 0);
    struct prediction prediction;
    setup.scheme->predict(&setup, &prediction);
    assert_false(prediction.available);
    assert_string_equal(prediction.reason, "adasync: k follows the loss, which no formula knows");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formulas),
        cmocka_unit_test(test_compensated_models),
        cmocka_unit_test(test_the_quota_follows_the_loss),
        cmocka_unit_test(test_refusals_and_predictions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
