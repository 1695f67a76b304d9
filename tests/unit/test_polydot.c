/* tests/unit/test_polydot.c: `polydot` trains as one process does, from whichever workers answer first and whoever is lost; what it
 * refuses, sends and predicts. The images are the package's, or made up. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/dataset.h"
#include "agents/dense_rows.h"
#include "agents/recorder.h"
#include "agents/schemes/polydot_internal.h"
#include "agents/workload.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "tests/unit/memory_world.h"
#include "tests/unit/scheme_rig.h"
#include "tests/unit/virtual_rig.h"

#include <cmocka.h> /* after node.h: its macro fail() hides the member */

enum { BATCH = 6, ROUNDS = 8, SAMPLES = 50, INPUTS = 784 };
static const struct workload_settings mlp = {
    .model = MODEL_MLP, .layers = {7, 5}, .layer_count = 2, .batch = BATCH, .learning_rate = 0.125, .rounds = ROUNDS};
static const int codes[][3] = {{1, 1, 1}, {2, 1, 1}, {1, 1, 2}, {1, 3, 1}, {2, 2, 1}, {2, 1, 2}, {1, 1, 4}, {3, 3, 1}, {1, 2, 3}};
enum { CODES = sizeof(codes) / sizeof(codes[0]) };

static struct scheme_setup setup_of(const int code[3], int workers, int rounds)
{
    struct scheme_setup setup = scheme_setup_of("polydot", workers, model_parameter_count_of(&mlp), code[0]);
    setup.values[POLYDOT_N] = code[1];
    setup.values[POLYDOT_P] = code[2];
    setup.matrix_count = model_matrices_of(&mlp, setup.matrices);
    setup.batch = BATCH;
    setup.rounds = rounds;
    setup.trained = true;
    return setup;
}

static int threshold_of(const int code[3])
{
    return polydot_threshold((struct polydot_code){.m = code[0], .n = code[1], .p = code[2]});
}

static double distance(const float *a, const float *b, size_t count)
{
    double largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, fabs((double)a[i] - (double)b[i]));
    return largest;
}

/* ---- against the plain gradient, in a world that is hostile ---- */

struct plain { /* made-up images, and a model trained on them by one process */
    struct arena *arena;
    struct dataset dataset;
    struct model *model;
    float *initial, *parameters, *gradient;
};

static void indexes_of(uint64_t step, uint32_t indexes[BATCH])
{
    for (uint32_t i = 0; i < BATCH; i++)
        indexes[i] = ((uint32_t)step * BATCH + i) % SAMPLES;
}

static void give_batch(void *context, uint64_t step, float *pixels, uint8_t *labels)
{
    const struct plain *plain = context;
    uint32_t indexes[BATCH];
    indexes_of(step, indexes);
    for (size_t i = 0; i < BATCH; i++) {
        dense_rows_scale_pixels(plain->dataset.pixels + (size_t)indexes[i] * INPUTS, INPUTS, pixels + i * INPUTS);
        labels[i] = plain->dataset.labels[indexes[i]];
    }
}

static struct plain plain_new(void)
{
    struct plain plain = {.arena = arena_new()};
    const size_t count = model_parameter_count_of(&mlp);
    struct rng rng = rng_stream(3, 0, 0, RNG_MODEL);
    uint8_t *pixels = arena_new_array(plain.arena, uint8_t, SAMPLES * INPUTS),
            *labels = arena_new_array(plain.arena, uint8_t, SAMPLES);
    for (size_t i = 0; i < SAMPLES * INPUTS; i++)
        pixels[i] = (uint8_t)rng_below(&rng, 256);
    for (size_t i = 0; i < SAMPLES; i++)
        labels[i] = (uint8_t)rng_below(&rng, 10);
    plain.dataset = (struct dataset){.sample_count = SAMPLES, .inputs = INPUTS, .classes = 10, .pixels = pixels, .labels = labels};
    plain.model = model_new(&mlp, &plain.dataset, BATCH, plain.arena, NULL);
    assert_non_null(plain.model);
    plain.initial = arena_new_array(plain.arena, float, count);
    plain.parameters = arena_new_array(plain.arena, float, count);
    plain.gradient = arena_new_array(plain.arena, float, count);
    model_initialise(plain.model, &rng, plain.initial);
    /* Biases of 0 would make sums of exactly 0 where a sample leaves a whole layer at 0, and decoding's last digit then decides
     * what ReLU's derivative is there. */
    for (size_t i = 0; i < count; i++)
        plain.initial[i] += 0.01f * (float)rng_uniform(&rng);
    memcpy(plain.parameters, plain.initial, count * sizeof(float));
    for (uint64_t step = 0; step < ROUNDS; step++) {
        uint32_t indexes[BATCH];
        indexes_of(step, indexes);
        model_gradient(plain.model, plain.parameters, indexes, BATCH, plain.gradient, NULL, NULL);
        for (size_t i = 0; i < count; i++)
            plain.parameters[i] -= 0.125f * plain.gradient[i];
    }
    return plain;
}

static void assert_good_run(struct memory_world *world, const struct scheme_setup *setup, const struct plain *plain)
{
    if (memory_world_failure(world))
        fail_msg("%s", memory_world_failure(world));
    const int threshold = polydot_threshold(polydot_code_of(setup)), products = polydot_step_products(setup);
    for (int node = 0; node < setup->nodes; node++) {
        const struct memory_node_result result = memory_world_result(world, node);
        uint64_t spans = 0;
        for (int kind = 0; kind < SPAN_COUNT; kind++)
            spans += result.spans[kind];
        assert_true(result.finished);
        assert_int_equal(result.rounds_finished, setup->rounds);
        assert_true(spans <= setup->scheme->spans_a_round(setup, node) * (uint64_t)setup->rounds);
    }
    const struct memory_node_result master = memory_world_result(world, setup->workers);
    assert_int_equal(master.gradients[GRADIENT_USED], (uint64_t)(threshold * products * setup->rounds));
    assert_int_equal(memory_world_buffers_out(world), 0);
    /* Eight steps; amplifications are below 1,000. */
    const double off = distance(master.model, plain->parameters, setup->parameter_count);
    if (off > 2e-4)
        fail_msg("m %g n %g p %g among %d: the model is %g off", setup->values[0], setup->values[1], setup->values[2],
                 setup->workers, off);
}

static void it_trains_as_one_process_does(void **state)
{
    (void)state;
    struct plain plain = plain_new();
    for (int i = 0; i < CODES; i++)
        for (uint64_t seed = 0; seed < 8; seed++) {
            const struct scheme_setup setup = setup_of(codes[i], threshold_of(codes[i]) + (int)seed % 3, ROUNDS);
            struct memory_world *world =
                memory_world_new(&(struct memory_world_settings){.setup = &setup,
                                                                 .seed = seed,
                                                                 .immediate_compute = seed & 1,
                                                                 .sent = seed & 2 ? SENT_ON_TAKE : SENT_ANY_TIME,
                                                                 .slow_first_node = seed & 4 ? 50 : 0,
                                                                 .initial_model = plain.initial,
                                                                 .context = &plain,
                                                                 .batch = give_batch});
            memory_world_run(world);
            assert_good_run(world, &setup, &plain);
            memory_world_cleanup(&world);
        }
    arena_free(plain.arena);
}

static void strange_messages_are_refused(void **state)
{
    (void)state;
    struct plain plain = plain_new();
    const struct scheme_setup setup = setup_of(codes[1], 3, ROUNDS);
    const struct {
        int source, destination;
        struct message_header header;
        size_t length;
    } messages[] = {
        {0, 3, {.kind = 9}, 0},                  /* unknown */
        {0, 3, {.kind = 2}, 5},                  /* a result that is too short */
        {0, 3, {.kind = 2, .index = 8}, 0},      /* of a product that no step has */
        {3, 0, {.kind = 1, .step = ROUNDS}, 16}, /* a job after the last step */
    };
    for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
        static const char payload[16];
        struct memory_world *world = memory_world_new(&(struct memory_world_settings){
            .setup = &setup, .initial_model = plain.initial, .context = &plain, .batch = give_batch});
        memory_world_inject(world, messages[i].source, messages[i].destination, &messages[i].header, payload, messages[i].length);
        memory_world_run(world);
        assert_non_null(memory_world_failure(world));
        assert_non_null(strstr(memory_world_failure(world), "the nodes do not run the same scheme"));
        memory_world_cleanup(&world);
    }
    arena_free(plain.arena);
}

/* ---- in the virtual world ---- */

static int dataset_fd;

static struct virtual_rig rig_of(struct scheme_setup setup)
{
    struct virtual_rig rig = virtual_rig_new(setup);
    rig.workload = mlp;
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
    struct scheme_setup single = scheme_setup_of("ps-sync", 1, model_parameter_count_of(&mlp), 1);
    single.rounds = 30;
    single.trained = true;
    struct virtual_rig plain = rig_of(single);
    virtual_rig_run(&plain);
    for (int i = 0; i < CODES; i++) {
        struct virtual_rig rig = rig_of(setup_of(codes[i], threshold_of(codes[i]) + 1, 30));
        virtual_rig_run(&rig);
        const double off = distance(model_at_end(&rig, rig.setup.workers), model_at_end(&plain, 1), rig.setup.parameter_count);
        if (off > 5e-4)
            fail_msg("m %d n %d p %d: after 30 steps the model is %g off", codes[i][0], codes[i][1], codes[i][2], off);
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
    struct scheme_setup setup = setup_of(code, threshold_of(code), ROUNDS);
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
        struct scheme_setup setup = setup_of(codes[i], threshold_of(codes[i]) + 2, ROUNDS);
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
            struct scheme_setup setup = setup_of(codes[i], threshold_of(codes[i]) + spare[s], 400);
            struct prediction prediction;
            setup.values_carried = setup.trained = false;
            setup.reduce_ns_per_byte = 0.15;
            struct virtual_rig rig = rig_of(setup);
            virtual_rig_run(&rig);
            polydot_predict(&rig.setup, &prediction);
            assert_true(prediction.available);
            const double ratio = mean_round_ns(&rig) / prediction.round_ns;
            if (ratio < 0.93 || ratio > 1.07)
                fail_msg("m %d n %d p %d among %d: %g ns, predicted %g", codes[i][0], codes[i][1], codes[i][2], setup.workers,
                         mean_round_ns(&rig), prediction.round_ns);
            virtual_rig_free(&rig);
        }
}

/* Eight products of E[X_{K:N}] = (H_N - H_{N-K}) mean each; without bytes and delays nothing else is left. */
static void compute_is_the_sum_of_order_statistics(void **state)
{
    (void)state;
    const int code[] = {2, 2, 1};
    struct scheme_setup setup = setup_of(code, 8, 4000);
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
        struct virtual_rig rig = rig_of(setup_of(code, 6, 10));
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

/* ---- what is refused ---- */

static void what_cannot_work_is_refused(void **state)
{
    (void)state;
    const struct {
        int code[3], workers;
        const char *sentence; /* NULL: it works */
    } cases[] = {
        {{2, 2, 2}, 9, NULL},
        {{2, 2, 2}, 8, "mnp + p - 1 = 9 workers' blocks, there are 8; allowed are 1 to 8"},
        {{3, 4, 1}, 20, "= 12 blocks, allowed are 1 to 11"},
        {{1, 1, 6}, 11, NULL},
        {{2, 2, 1}, 200, "allowed are 4 to "},
    };
    struct err err;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct scheme_setup setup = setup_of(cases[i].code, cases[i].workers, 1);
        const int result = polydot_check(&setup, &err);
        assert_int_equal(result, cases[i].sentence ? -ERR_USAGE : 0);
        if (cases[i].sentence && !strstr(err.text, cases[i].sentence))
            fail_msg("%s", err.text);
    }
    struct scheme_setup timing = setup_of(cases[4].code, 200, 1);
    timing.values_carried = timing.trained = false;
    assert_int_equal(polydot_check(&timing, &err), 0); /* times alone: no digit is lost */
    timing.matrix_count = 0;
    assert_int_equal(polydot_check(&timing, &err), -ERR_USAGE);
    assert_non_null(strstr(err.text, "synthetic"));
    struct scheme_setup large = setup_of(codes[1], 3, 1);
    large.batch = 1 << 20;
    assert_int_equal(polydot_check(&large, &err), -ERR_USAGE);
    assert_non_null(strstr(err.text, "allowed are up to 67108864"));
}

static int share_data(void **state)
{
    (void)state;
    return dataset_export(DATASET_FASHION_MNIST, NULL, &dataset_fd, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_trains_as_one_process_does),
        cmocka_unit_test(strange_messages_are_refused),
        cmocka_unit_test(its_mini_batches_are_one_workers),
        cmocka_unit_test(bytes_are_as_the_formula_says),
        cmocka_unit_test(times_are_the_same_without_values),
        cmocka_unit_test(predictions_are_near),
        cmocka_unit_test(compute_is_the_sum_of_order_statistics),
        cmocka_unit_test(it_goes_on_with_as_many_as_it_needs),
        cmocka_unit_test(what_cannot_work_is_refused),
    };
    return cmocka_run_group_tests(tests, share_data, NULL);
}
