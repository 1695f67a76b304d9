/* tests/unit/test_polydot_virtual.c: `polydot` in the virtual world, on the package's images: its mini-batches, bytes, times,
 * predictions, and lost workers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agents/dataset.h"
#include "agents/recorder.h"
#include "base/err.h"
#include "tests/unit/polydot_rig.h"
#include "tests/unit/scheme_rig.h"
#include "tests/unit/virtual_rig.h"

#include <cmocka.h> /* after node.h: its macro fail() hides the member */

static int dataset_fd;

static struct virtual_rig rig_of(struct scheme_setup setup)
{
    struct virtual_rig rig = virtual_rig_new(setup);
    rig.workload = polydot_rig_model;
    rig.workload.rounds = setup.rounds;
    rig.workload.gradients = setup.values_carried ? GRADIENTS_REAL : GRADIENTS_NONE;
    rig.setup.batch = BATCH;
    rig.setup.path = setup.path;
    rig.options.dataset_fd = dataset_fd;
    rig.compute_time = (struct distribution){.kind = DISTRIBUTION_EXPONENTIAL, .mean_ns = 2e6};
    virtual_rig_links(&rig, 1e8, 500000); /* the setup's path: 1 ms over two of them */
    return rig;
}

static const float *model_at_end(struct virtual_rig *rig, int node)
{
    return rig->setup.scheme->model_to_evaluate(virtual_node(rig->world, node).node);
}

/* The master's mini-batches are those of a single worker with all the data. */
static void its_mini_batches_are_one_workers(void **state)
{
    (void)state;
    struct scheme_setup single = scheme_setup_of("ps-sync", 1, model_parameter_count_of(&polydot_rig_model), 1);
    single.rounds = 30;
    single.trained = true;
    struct virtual_rig plain = rig_of(single);
    virtual_rig_run(&plain);
    for (int i = 0; i < CODES; i++) {
        struct virtual_rig rig =
            rig_of(polydot_rig_setup(polydot_rig_codes[i], polydot_rig_threshold(polydot_rig_codes[i]) + 1, 30));
        virtual_rig_run(&rig);
        const double off =
            polydot_rig_distance(model_at_end(&rig, rig.setup.workers), model_at_end(&plain, 1), rig.setup.parameter_count);
        if (off > 5e-4)
            fail_msg("m %d n %d p %d: after 30 steps the model is %g off", polydot_rig_codes[i][0], polydot_rig_codes[i][1],
                     polydot_rig_codes[i][2], off);
        virtual_rig_free(&rig);
    }
    virtual_rig_free(&plain);
}

static void bytes_are_as_the_formula_says(void **state)
{
    (void)state;
    /* m = 2, p = 2, n = 1, batch 6: widths 784, 7, 5, 10. Forward (6 x 784)(784 x 7): blocks 3 x 392 and 392 x 7; ... */
    static const int job_floats[] = {392 * (3 + 7), 4 * (3 + 5), 3 * (3 + 10), 3 * (5 + 5),
                                     5 * (3 + 5),   3 * (3 + 7), 3 * (3 + 7),  3 * (4 + 784)};
    static const int result_floats[] = {3 * 7, 3 * 5, 3 * 10, 5 * 5, 3 * 5, 3 * 7, 3 * 7, 4 * 784};
    const int code[] = {2, 1, 2};
    uint64_t jobs = 0, results = 0;
    struct scheme_setup setup = polydot_rig_setup(code, polydot_rig_threshold(code), ROUNDS);
    assert_int_equal(polydot_step_products(&setup), 8);
    for (int product = 0; product < 8; product++) {
        const struct polydot_shape shape = polydot_step_shape(&setup, polydot_code_of(&setup), product);
        if (product == 5 || product == 6)
            continue;
        assert_int_equal(polydot_shape_job_bytes(&shape), 4 * job_floats[product]);
        assert_int_equal(polydot_shape_result_bytes(&shape), 4 * result_floats[product]);
    }
    for (int product = 0; product < 8; product++) {
        const struct polydot_shape shape = polydot_step_shape(&setup, polydot_code_of(&setup), product);
        jobs += polydot_shape_job_bytes(&shape);
        results += polydot_shape_result_bytes(&shape);
    }
    /* As many workers as the threshold: none is late. */
    struct virtual_rig rig = rig_of(setup);
    virtual_rig_run(&rig);
    assert_int_equal(virtual_node(rig.world, setup.workers).counters->sent_payload_bytes, jobs * ROUNDS * (uint64_t)setup.workers);
    for (int worker = 0; worker < setup.workers; worker++)
        assert_int_equal(virtual_node(rig.world, worker).counters->sent_payload_bytes, results * ROUNDS);
    virtual_rig_free(&rig);
}

static void times_are_the_same_without_values(void **state)
{
    (void)state;
    for (int i = 0; i < CODES; i++) {
        struct scheme_setup setup =
            polydot_rig_setup(polydot_rig_codes[i], polydot_rig_threshold(polydot_rig_codes[i]) + 2, ROUNDS);
        setup.reduce_ns_per_byte = 0.15;
        struct virtual_rig with = rig_of(setup);
        virtual_rig_run(&with);
        setup.values_carried = setup.trained = false;
        struct virtual_rig without = rig_of(setup);
        virtual_rig_run(&without);
        assert_int_equal(virtual_now_ns(with.world), virtual_now_ns(without.world));
        assert_int_equal(virtual_moments(with.world), virtual_moments(without.world));
        assert_null(model_at_end(&without, setup.workers));
        virtual_rig_free(&with);
        virtual_rig_free(&without);
    }
}

static double mean_round_ns(struct virtual_rig *rig)
{
    return (double)virtual_now_ns(rig->world) / rig->setup.rounds;
}

static void predictions_are_near(void **state)
{
    (void)state;
    static const int spare[] = {0, 1, 4};
    for (int i = 0; i < CODES; i++)
        for (int s = 0; s < 3; s++) {
            struct scheme_setup setup =
                polydot_rig_setup(polydot_rig_codes[i], polydot_rig_threshold(polydot_rig_codes[i]) + spare[s], 400);
            struct prediction prediction;
            setup.values_carried = setup.trained = false;
            setup.reduce_ns_per_byte = 0.15;
            struct virtual_rig rig = rig_of(setup);
            virtual_rig_run(&rig);
            polydot_predict(&rig.setup, &prediction);
            assert_true(prediction.available);
            const double ratio = mean_round_ns(&rig) / prediction.round_ns;
            if (ratio < 0.93 || ratio > 1.07)
                fail_msg("m %d n %d p %d among %d: %g ns, predicted %g", polydot_rig_codes[i][0], polydot_rig_codes[i][1],
                         polydot_rig_codes[i][2], setup.workers, mean_round_ns(&rig), prediction.round_ns);
            virtual_rig_free(&rig);
        }
}

/* Eight products of E[X_{K:N}] = (H_N - H_{N-K}) mean each; without bytes and delays nothing else is left. */
static void compute_is_the_sum_of_order_statistics(void **state)
{
    (void)state;
    const int code[] = {2, 2, 1};
    struct scheme_setup setup = polydot_rig_setup(code, 8, 4000);
    setup.values_carried = setup.trained = false;
    struct virtual_rig rig = rig_of(setup);
    struct prediction prediction;
    virtual_rig_links(&rig, INFINITY, 0);
    virtual_rig_run(&rig);
    polydot_predict(&rig.setup, &prediction);
    const double expected_ns = 8 * 2e6 * (1.0 / 8 + 1.0 / 7 + 1.0 / 6 + 1.0 / 5);
    assert_true(fabs(prediction.compute_ns - (expected_ns)) < 1e-6 * expected_ns);
    assert_true(fabs(mean_round_ns(&rig) - (expected_ns)) < 0.01 * expected_ns);
    virtual_rig_free(&rig);
}

/* ---- losses ---- */

struct crash {
    struct virtual_rig *rig;
    int next, most;
};

static void crash_another(void *context, uint32_t rounds_done)
{
    struct crash *crash = context;
    (void)rounds_done;
    if (crash->next < crash->most)
        virtual_crash(crash->rig->world, crash->next++);
}

static void it_goes_on_with_as_many_as_it_needs(void **state)
{
    (void)state;
    const int code[] = {2, 2, 1};
    for (int lost = 2; lost <= 3; lost++) { /* of 6, where 4 are needed */
        struct virtual_rig rig = rig_of(polydot_rig_setup(code, 6, 10));
        struct crash crash = {.rig = &rig, .most = lost};
        struct err err;
        rig.options.alarm = crash_another;
        rig.options.context = &crash;
        virtual_rig_make(&rig);
        virtual_alarm(rig.world, 5000000);
        const int result = virtual_rig_try(&rig, &err);
        if (lost == 2) {
            assert_int_equal(result, 0);
            assert_int_equal(virtual_node(rig.world, 6).recorder->round_count, 10);
        } else {
            assert_true(result < 0);
            assert_non_null(strstr(err.text, "worker 2 is lost: 3 are left, and decoding a product needs 4"));
        }
        virtual_rig_free(&rig);
    }
}

static int share_data(void **state)
{
    (void)state;
    return dataset_export(DATASET_FASHION_MNIST, NULL, &dataset_fd, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_mini_batches_are_one_workers),       cmocka_unit_test(bytes_are_as_the_formula_says),
        cmocka_unit_test(times_are_the_same_without_values),      cmocka_unit_test(predictions_are_near),
        cmocka_unit_test(compute_is_the_sum_of_order_statistics), cmocka_unit_test(it_goes_on_with_as_many_as_it_needs),
    };
    return cmocka_run_group_tests(tests, share_data, NULL);
}
