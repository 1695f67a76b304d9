/* tests/unit/test_zeno.c: zeno++ takes what its validation gradient agrees with, at that one's length, and drops the rest, whatever
 * the order of events; and training by it, by the median, by the trimmed mean and by the mean, of the package's images. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "agents/byzantine.h"
#include "agents/dataset.h"
#include "agents/recorder.h"
#include "agents/schemes/aggregate.h"
#include "agents/schemes/server_zeno.h"
#include "agents/workload.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "tests/unit/memory_world.h"
#include "tests/unit/scheme_rig.h"
#include "tests/unit/virtual_rig.h"

#include <cmocka.h> /* after node.h: its macro fail() hides the member */

enum { FLOATS = 67, ROUNDS = 20, SEEDS = 32, RHO = 0, EPSILON, REFRESH, PATIENCE };
static const int worker_counts[] = {1, 2, 3, 5, 8};

static int dataset_fd; /* unpacked once for all tests */

static void test_score(void **state)
{
    (void)state;
    /* v = (3, 4), g = (0, 10): 0.1 x 20 - 0.002 x 25 = 1.95 */
    assert_true(server_zeno_test(0.1, 0.002, 0, 25, 100, 40));
    assert_true(server_zeno_test(0.1, 0.079, 0, 25, 100, 40));
    assert_false(server_zeno_test(0.1, 0.081, 0, 25, 100, 40)); /* 2 < 0.081 x 25 */
    assert_true(server_zeno_test(0.1, 0.081, 0.3, 25, 100, 40));
    assert_false(server_zeno_test(0.1, 0.002, 0, 25, 2500, -250)); /* turned around, ten times as long */
    assert_false(server_zeno_test(0.1, 0.002, 24, 25, 2500, -250));
    assert_true(server_zeno_test(0.1, 0.002, 26, 25, 2500, -250)); /* as much as that is let pass */
    const double bad[] = {NAN, INFINITY, -INFINITY, 0};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(server_zeno_test(0.1, 0, 1, 25, bad[i], 40));
        assert_false(server_zeno_test(0.1, 0, 1, NAN, 100, bad[i]));
    }
    assert_false(server_zeno_test(0.1, 0, 1, 25, 100, NAN));
    assert_true(server_zeno_test(0.1, 0, 0, 25, 100, 0)); /* neither for nor against it */
}

/* Everybody wants to go along ones; honest workers three times as far as v, Byzantine ones the other way or nowhere. */
struct wanted {
    const struct scheme_setup *setup;
    int honest; /* workers 0 .. honest-1 */
    uint64_t used, dropped;
};

static void validation(void *context, const float *model, float *gradient)
{
    (void)context;
    (void)model;
    for (size_t i = 0; i < FLOATS; i++)
        gradient[i] = 1;
}

static void gradient(void *context, int worker, uint64_t step, const float *model, float *out)
{
    static const float bad[] = {-10, 0, NAN, INFINITY, -INFINITY};
    const struct wanted *wanted = context;
    (void)model;
    for (size_t i = 0; i < FLOATS; i++)
        out[i] = worker < wanted->honest ? 3 : bad[step % 5];
    if (worker >= wanted->honest && step % 2)
        out[0] = NAN; /* one is enough */
}

static void on_told(void *context, int node, const struct gradient_record *record)
{
    struct wanted *wanted = context;
    if (node < wanted->setup->workers)
        return;
    wanted->used += record->fate == GRADIENT_USED;
    wanted->dropped += record->fate == GRADIENT_DROPPED;
    if (record->fate == GRADIENT_USED)
        assert_true((int)record->worker < wanted->honest);
    if (record->fate == GRADIENT_DROPPED)
        assert_true((int)record->worker >= wanted->honest);
}

static void test_takes_what_agrees(void **state)
{
    (void)state;
    static const float initial[FLOATS];
    for (size_t w = 0; w < sizeof(worker_counts) / sizeof(worker_counts[0]); w++)
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct scheme_setup setup = scheme_setup_of("zeno++", worker_counts[w], FLOATS, 0.01);
            setup.trained = true;
            setup.rounds = ROUNDS;
            setup.values[REFRESH] = (double)(1 + seed % 7);
            assert_int_equal(setup.scheme->check(&setup, NULL), 0);
            struct wanted wanted = {.setup = &setup, .honest = 1 + (int)(seed % (uint64_t)setup.workers)};
            struct memory_world_settings settings = {.setup = &setup,
                                                     .seed = seed,
                                                     .immediate_compute = seed & 1,
                                                     .sent = seed & 2 ? SENT_ON_TAKE : SENT_ANY_TIME,
                                                     .slow_first_node = seed & 8 ? 40 : 0,
                                                     .initial_model = initial,
                                                     .context = &wanted,
                                                     .gradient = gradient,
                                                     .validation = validation,
                                                     .gradient_told = on_told};
            cleanup(memory_world_cleanup) struct memory_world *world = memory_world_new(&settings);
            memory_world_run(world);
            if (memory_world_failure(world))
                fail_msg("%d workers, seed %d: %s", setup.workers, (int)seed, memory_world_failure(world));
            for (int node = 0; node < setup.nodes; node++)
                assert_true(memory_world_result(world, node).finished);
            assert_int_equal(wanted.used, ROUNDS);
            assert_int_equal(memory_world_buffers_out(world), 0);
            const float *model = memory_world_result(world, setup.workers).model;
            for (size_t i = 0; i < FLOATS; i++)
                assert_true(fabsf(model[i] + 0.125f * ROUNDS) < 1e-4f); /* each step has the length of v's */
        }
}

static void test_patience_ends(void **state)
{
    (void)state;
    static const float initial[FLOATS];
    struct scheme_setup setup = scheme_setup_of("zeno++", 3, FLOATS, 0.01);
    setup.trained = true;
    setup.rounds = ROUNDS;
    setup.values[PATIENCE] = 12;
    assert_int_equal(scheme_tolerates(&setup), 2);
    struct wanted wanted = {.setup = &setup, .honest = 0};
    struct memory_world_settings settings = {.setup = &setup,
                                             .initial_model = initial,
                                             .context = &wanted,
                                             .gradient = gradient,
                                             .validation = validation,
                                             .gradient_told = on_told};
    cleanup(memory_world_cleanup) struct memory_world *world = memory_world_new(&settings);
    memory_world_run(world);
    assert_non_null(memory_world_failure(world));
    assert_non_null(strstr(memory_world_failure(world), "rejected 12 gradients one after the other at version 0"));
}

/* ---- training, in the virtual world ---- */

struct outcome {
    double accuracy, loss;
    uint64_t used, dropped; /* at the server */
    float model[8192];
};

/* Softmax regression by 5 workers; the last `byzantine_count` of them attack. */
static void train(const char *scheme, const double *values, int rounds, int byzantine_count, struct outcome *outcome)
{
    static const int last[] = {4, 3};
    struct scheme_setup setup = scheme_setup_of(scheme, 5, 7850, 0);
    memcpy(setup.values, values, (size_t)setup.scheme->param_count * sizeof(double));
    setup.servers = scheme_servers(setup.scheme, 5, setup.values);
    setup.nodes = 5 + setup.servers;
    setup.rounds = rounds;
    setup.learning_rate = 0.01;
    setup.trained = true;
    struct virtual_rig rig = virtual_rig_new(setup);
    rig.setup.batch = rig.workload.batch = 64;
    rig.workload.model = MODEL_SOFTMAX;
    rig.workload.byzantine =
        (struct byzantine_workers){.workers = last, .worker_count = byzantine_count, .attack = ATTACK_SIGN_FLIP, .factor = 10};
    rig.options.dataset_fd = dataset_fd;
    rig.compute_time = (struct distribution){.kind = DISTRIBUTION_EXPONENTIAL, .mean_ns = 1e6};
    virtual_rig_run(&rig);
    struct virtual_node_view view = virtual_node(rig.world, 5);
    const float *model = setup.scheme->model_to_evaluate(view.node);
    uint64_t samples;
    *outcome = (struct outcome){0};
    workload_evaluate(view.workload, model, &outcome->loss, &outcome->accuracy, &samples);
    memcpy(outcome->model, model, 7850 * sizeof(float));
    for (uint32_t i = 0; i < view.recorder->gradient_count; i++) {
        outcome->used += view.recorder->gradients[i].fate == GRADIENT_USED;
        outcome->dropped += view.recorder->gradients[i].fate == GRADIENT_DROPPED;
    }
    virtual_rig_free(&rig);
}

static void test_training_under_attack(void **state)
{
    (void)state;
    static const struct {
        const char *scheme;
        double values[SCHEME_PARAMS_MAX];
        int rounds;
        bool withstands;
    } cases[] = {
        {"ps-sync", {1, 0, AGGREGATE_MEAN}, 60, false},
        {"ps-sync", {1, 0, AGGREGATE_MEDIAN}, 60, true},
        {"ps-sync", {1, 0, AGGREGATE_TRIMMED_MEAN, 2}, 60, true},
        {"k-async", {5, 0, 0, AGGREGATE_MEDIAN}, 60, true},
        {"async", {0}, 200, false},
        {"zeno++", {0.0001, 0, 5, 1000}, 200, true},
    };
    static struct outcome honest, attacked;
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        train(cases[c].scheme, cases[c].values, cases[c].rounds, 0, &honest);
        train(cases[c].scheme, cases[c].values, cases[c].rounds, 2, &attacked);
        assert_true(honest.accuracy > 0.55);
        if (cases[c].withstands)
            assert_true(attacked.accuracy > honest.accuracy - 0.1);
        else
            assert_true(attacked.accuracy < 0.3 && !(attacked.loss < 3));
    }
}

static void test_zeno_without_attack(void **state)
{
    (void)state;
    static struct outcome zeno, again, async;
    static const double values[SCHEME_PARAMS_MAX] = {0.0001, 0, 5, 1000}, none[SCHEME_PARAMS_MAX];
    train("zeno++", values, 200, 0, &zeno);
    train("zeno++", values, 200, 0, &again);
    assert_memory_equal(zeno.model, again.model, sizeof(zeno.model));
    assert_int_equal(zeno.used, 200);
    assert_true(zeno.dropped <= 20);
    train("async", none, 200, 0, &async);
    assert_true(fabs(zeno.accuracy - async.accuracy) < 0.1);
}

static int unpack(void **state)
{
    (void)state;
    return dataset_export(DATASET_FASHION_MNIST, NULL, &dataset_fd, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_score),
        cmocka_unit_test(test_takes_what_agrees),
        cmocka_unit_test(test_patience_ends),
        cmocka_unit_test(test_training_under_attack),
        cmocka_unit_test(test_zeno_without_attack),
    };
    return cmocka_run_group_tests(tests, unpack, NULL);
}
