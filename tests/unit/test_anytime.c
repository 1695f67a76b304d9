/* tests/unit/test_anytime.c: gradients weighted by their samples: sums, models, workers without a sample; how many samples fit into
 * a window. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "agents/compute_time.h"
#include "agents/recorder.h"
#include "agents/synthetic.h"
#include "agents/workload.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "tests/unit/memory_world.h"
#include "tests/unit/scheme_rig.h"
#include "tests/unit/virtual_rig.h"

#include <cmocka.h> /* after node.h: its macro fail() hides the member */

enum { ROUNDS = 14, FLOATS = 1003 };
static const int worker_counts[] = {1, 2, 3, 5, 8};
enum { WORKER_COUNTS = sizeof(worker_counts) / sizeof(worker_counts[0]) };

/* ---- in a world in memory ---- */

struct case_of {
    const struct scheme_setup *setup;
    int64_t equal; /* samples of every worker; 0: they differ */
    size_t checked;
};

/* From 0 to 6, every seventh round nothing at all. */
static int64_t samples_done(void *context, int worker, uint64_t step)
{
    const struct case_of *own = context;
    if (own->equal != 0)
        return own->equal;
    return step % 7 == 3 ? 0 : (int64_t)((uint64_t)worker * 3 + step * 5) % 7;
}

static int64_t none_done(void *context, int worker, uint64_t step)
{
    (void)context, (void)worker, (void)step;
    return 0;
}

static float whole_number(int worker, uint64_t step, size_t i)
{
    return (float)((i * 31 + step * 7) % 1009 + (size_t)(worker + 1) * 2003);
}

static void whole_gradient(void *context, int worker, uint64_t step, const float *model, float *gradient)
{
    const struct case_of *own = context;
    (void)model;
    for (size_t i = 0; i < own->setup->parameter_count; i++)
        gradient[i] = whole_number(worker, step, i);
}

/* sum / contributors = sum of b g / sum of b, in whole numbers. */
static void check_sum(void *context, int node, const float *sum, int contributors, size_t first, size_t count, uint64_t step)
{
    struct case_of *own = context;
    double samples = 0;
    for (int worker = 0; worker < own->setup->workers; worker++)
        samples += (double)samples_done(own, worker, step);
    assert_true(samples > 0 && contributors > 0 && contributors <= samples);
    for (size_t i = first; i < first + count; i++) {
        double expected = 0;
        for (int worker = 0; worker < own->setup->workers; worker++)
            expected += (double)samples_done(own, worker, step) * (double)whole_number(worker, step, i);
        if ((double)sum[i] * samples != expected * contributors)
            fail_msg("node %d, round %d, float %zu of %d workers: %g of %d, not %g of %g", node, (int)step, i, own->setup->workers,
                     (double)sum[i], contributors, expected, samples);
    }
    own->checked += count;
}

static struct scheme_setup setup_of(const char *scheme, int workers, int shards, bool colocated)
{
    struct scheme_setup setup = scheme_setup_of(scheme, workers, FLOATS, shards);
    setup.values[1] = colocated;
    setup.servers = scheme_servers(setup.scheme, workers, setup.values);
    setup.nodes = workers + setup.servers;
    setup.rounds = ROUNDS;
    setup.batch = 8;
    assert_true(!setup.scheme->check || setup.scheme->check(&setup, NULL) == 0);
    return setup;
}

static struct memory_world_settings hostile(const struct scheme_setup *setup, uint64_t seed, struct case_of *own)
{
    struct memory_world_settings settings = memory_world_hostile(setup, seed);
    settings.context = own;
    settings.samples = samples_done;
    settings.gradient = whole_gradient;
    return settings;
}

static void run_to_the_end(struct memory_world *world, const struct scheme_setup *setup)
{
    memory_world_run(world);
    if (memory_world_failure(world))
        fail_msg("%s", memory_world_failure(world));
    for (int node = 0; node < setup->nodes; node++) {
        assert_true(memory_world_result(world, node).finished);
        assert_int_equal(memory_world_result(world, node).rounds_finished, setup->rounds);
    }
    assert_int_equal(memory_world_buffers_out(world), 0);
}

static void sums_are_weighted(void **state)
{
    (void)state;
    for (int w = 0; w < WORKER_COUNTS; w++)
        for (int shards = 1; shards <= 2; shards++)
            for (int colocated = 0; colocated < (shards <= worker_counts[w] ? 2 : 1); colocated++)
                for (uint64_t seed = 0; seed < 16; seed++) {
                    struct scheme_setup setup = setup_of("anytime", worker_counts[w], shards, colocated);
                    struct case_of own = {.setup = &setup};
                    struct memory_world_settings settings = hostile(&setup, seed, &own);
                    settings.check = check_sum;
                    cleanup(memory_world_cleanup) struct memory_world *world = memory_world_new(&settings);
                    run_to_the_end(world, &setup);
                    uint64_t sent = 0, rounds = 0, expected = 0;
                    const uint64_t workers = (uint64_t)setup.workers, bytes = FLOATS * sizeof(float);
                    for (uint64_t round = 0; round < ROUNDS; round++) {
                        uint64_t with_samples = 0;
                        for (int worker = 0; worker < setup.workers; worker++)
                            with_samples += samples_done(&own, worker, round) > 0;
                        rounds += with_samples > 0;
                        expected += bytes * (workers + with_samples); /* who did nothing sends headers alone */
                    }
                    for (int node = 0; node < setup.nodes; node++)
                        sent += memory_world_result(world, node).sent_bytes;
                    assert_int_equal(own.checked, rounds * FLOATS * (workers + !colocated));
                    if (!colocated)
                        assert_int_equal(sent, expected);
                }
}

/* ---- a model that learns ---- */

static void curved_gradient(void *context, int worker, uint64_t step, const float *model, float *gradient)
{
    const struct case_of *own = context;
    for (size_t i = 0; i < own->setup->parameter_count; i++) {
        float centre = (float)((i * 7 + (size_t)worker * 13 + step * 3) % 101) / 100.0f;
        gradient[i] = (0.5f + (float)((i + (size_t)worker) % 5) / 10.0f) * (model[i] - centre);
    }
}

static void run_model(const char *scheme, int workers, uint64_t seed, int64_t equal, const float *initial, float *end)
{
    struct scheme_setup setup = setup_of(scheme, workers, 1, false);
    struct case_of own = {.setup = &setup, .equal = equal};
    struct memory_world_settings settings = hostile(&setup, seed, &own);
    settings.gradient = curved_gradient;
    settings.initial_model = initial;
    settings.samples = equal < 0 ? none_done : samples_done;
    cleanup(memory_world_cleanup) struct memory_world *world = memory_world_new(&settings);
    run_to_the_end(world, &setup);
    memcpy(end, memory_world_result(world, 0).model, FLOATS * sizeof(float));
    for (int node = 1; node < setup.nodes; node++)
        assert_memory_equal(memory_world_result(world, node).model, end, FLOATS * sizeof(float));
    if (equal < 0)
        assert_int_equal(memory_world_result(world, workers).gradients[GRADIENT_DROPPED], workers * ROUNDS);
}

/* One process: w -= rate / B x sum of b g. */
static void reference(int workers, const float *initial, float *model)
{
    struct scheme_setup setup = setup_of("anytime", workers, 1, false);
    struct case_of own = {.setup = &setup};
    float gradient[FLOATS];
    double sum[FLOATS];
    memcpy(model, initial, FLOATS * sizeof(float));
    for (uint64_t step = 0; step < ROUNDS; step++) {
        double samples = 0;
        memset(sum, 0, sizeof(sum));
        for (int worker = 0; worker < workers; worker++) {
            const double done = (double)samples_done(&own, worker, step);
            curved_gradient(&own, worker, step, model, gradient);
            for (size_t i = 0; i < FLOATS; i++)
                sum[i] += done * (double)gradient[i];
            samples += done;
        }
        for (size_t i = 0; i < FLOATS && samples > 0; i++)
            model[i] = (float)((double)model[i] - setup.learning_rate / samples * sum[i]);
    }
}

static void models_are_those_of_one_process(void **state)
{
    (void)state;
    float initial[FLOATS], end[FLOATS], other[FLOATS];
    for (size_t i = 0; i < FLOATS; i++)
        initial[i] = (float)(i % 17) / 16.0f - 0.5f;
    for (int w = 0; w < WORKER_COUNTS; w++)
        for (uint64_t seed = 0; seed < 16; seed += 5) {
            const int workers = worker_counts[w];
            reference(workers, initial, other);
            run_model("anytime", workers, seed, 0, initial, end);
            for (size_t i = 0; i < FLOATS; i++)
                assert_float_equal(end[i], other[i], 1e-6);
            run_model("anytime", workers, seed, 5, initial, end); /* equal weights: the bits of ps-sync */
            run_model("ps-sync", workers, seed + 1, 5, initial, other);
            assert_memory_equal(end, other, sizeof(end));
            run_model("anytime", workers, seed, -1, initial, end);
            assert_memory_equal(end, initial, sizeof(end));
        }
}

/* ---- in the virtual world ---- */

/* A round is the window and what the links take, whatever the compute times; synthetic sums are checked on all nodes. */
static void rounds_take_the_window(void **state)
{
    (void)state;
    for (int w = 1; w < WORKER_COUNTS; w++) {
        struct scheme_setup setup = setup_of("anytime", worker_counts[w], 1, false);
        setup.values[2] = 5e6;
        struct virtual_rig rig = virtual_rig_new(setup);
        rig.setup.batch = rig.workload.batch = 8;
        rig.compute_time = (struct distribution){.kind = DISTRIBUTION_EXPONENTIAL, .mean_ns = 20e6};
        virtual_rig_links(&rig, 1e9, 1000);
        virtual_rig_run(&rig);
        for (int node = 0; node < setup.nodes; node++) {
            const struct virtual_node_view view = virtual_node(rig.world, node);
            const struct recorder *recorder = view.recorder;
            uint64_t checks, failures;
            workload_checks(view.workload, &checks, &failures);
            assert_true(recorder->round_count == ROUNDS && failures == 0 && checks > 0);
            assert_in_range(recorder->rounds[ROUNDS - 1].held_ns, ROUNDS * 5000000, ROUNDS * 5300000);
        }
        virtual_rig_free(&rig);
    }
}

/* ---- how many samples fit ---- */

static void the_mean_of_what_fits(void **state)
{
    (void)state;
    static const struct distribution distributions[] = {
        {.kind = DISTRIBUTION_CONSTANT, .value_ns = 3e6},
        {.kind = DISTRIBUTION_EXPONENTIAL, .mean_ns = 10e6},
        {.kind = DISTRIBUTION_SHIFTED_EXPONENTIAL, .shift_ns = 5e6, .mean_ns = 5e6},
        {.kind = DISTRIBUTION_LOGNORMAL, .mu = 2, .sigma = 0.5, .unit_ns = 1e6},
        {.kind = DISTRIBUTION_PARETO, .scale_ns = 4e6, .shape = 1.5},
    };
    enum { DRAWS = 200000, MOST = 100 };
    for (size_t d = 0; d < sizeof(distributions) / sizeof(distributions[0]); d++) {
        struct rng rng = rng_stream(7, 0, RNG_ALL_NODES, RNG_PREDICT);
        double sum = 0, squares = 0;
        for (int i = 0; i < DRAWS; i++) {
            const double fit = fmin(floor(80e6 / compute_time_sample(&distributions[d], &rng)), MOST);
            sum += fit;
            squares += fit * fit;
        }
        const double mean = sum / DRAWS, error = sqrt(fmax(squares / DRAWS - mean * mean, 0) / DRAWS);
        assert_true(fabs(compute_time_fitting_mean(&distributions[d], 80e6, MOST) - mean) <= 4 * error + 1e-9);
    }
    /* Blocks instead of single terms: against the plain sum. */
    double plain = 0;
    for (int j = 1; j <= 1 << 20; j++)
        plain += 1 - exp(-8.0 / j);
    assert_float_equal(compute_time_fitting_mean(&distributions[1], 80e6, 1 << 20) / plain, 1, 1e-6);
    assert_float_equal(compute_time_fitting_mean(&distributions[0], 9e6, MOST), 3, 0); /* a whole number of them */
}

static void predictions_tell_the_samples(void **state)
{
    (void)state;
    struct distribution time = {.kind = DISTRIBUTION_CONSTANT, .value_ns = 10e6};
    struct scheme_setup setup = setup_of("anytime", 4, 1, false);
    const double slow[4] = {1, 1, 2, 4};
    setup.values[2] = 15e6;
    setup.compute_time = &time;
    setup.slow_factors = slow;
    struct prediction prediction;
    setup.scheme->predict(&setup, &prediction);
    assert_true(prediction.available && prediction.counts_samples && prediction.samples == 12 + 12 + 6 + 3);
    assert_float_equal(prediction.compute_ns, 15e6, 1e-3);
    setup.values[3] = 7; /* cap */
    setup.scheme->predict(&setup, &prediction);
    assert_true(prediction.samples == 7 + 7 + 6 + 3);
}

/* Weights make sums of whole numbers larger than a float32 holds exactly; the check of synthetic gradients bears that and no more.
 *  */
static void checks_bear_rounding(void **state)
{
    (void)state;
    struct synthetic_check check = {.workers = 1000, .contributors = 0, .step = 5, .same_step = true, .rounded = 1000};
    float sum[1200] = {0};
    for (int worker = 0; worker < check.workers; worker++) {
        const int weight = 1 + worker % 97;
        for (size_t i = 0; i < 1200; i++)
            sum[i] += (float)weight * synthetic_value(check.workers, worker, check.step, i);
        check.contributors += weight;
    }
    struct synthetic_result result = {0};
    assert_true(synthetic_check(&check, sum, 0, 1200, true, &result) && result.checks == 1200);
    sum[700] += 2.0f * (float)check.contributors;
    assert_false(synthetic_check(&check, sum, 0, 1200, true, &result));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_weighted),
        cmocka_unit_test(models_are_those_of_one_process),
        cmocka_unit_test(rounds_take_the_window),
        cmocka_unit_test(the_mean_of_what_fits),
        cmocka_unit_test(predictions_tell_the_samples),
        cmocka_unit_test(checks_bear_rounding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
