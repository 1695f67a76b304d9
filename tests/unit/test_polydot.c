/* tests/unit/test_polydot.c: `polydot` trains as one process does, from whichever workers answer first, on made-up images; and what
 * it refuses. */
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
#include "base/arena.h"
#include "base/err.h"
#include "tests/unit/memory_world.h"
#include "tests/unit/polydot_rig.h"

#include <cmocka.h> /* after node.h: its macro fail() hides the member */

enum { SAMPLES = 50, INPUTS = 784 };

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
    const size_t count = model_parameter_count_of(&polydot_rig_model);
    struct rng rng = rng_stream(3, 0, 0, RNG_MODEL);
    uint8_t *pixels = arena_new_array(plain.arena, uint8_t, SAMPLES * INPUTS),
            *labels = arena_new_array(plain.arena, uint8_t, SAMPLES);
    for (size_t i = 0; i < SAMPLES * INPUTS; i++)
        pixels[i] = (uint8_t)rng_below(&rng, 256);
    for (size_t i = 0; i < SAMPLES; i++)
        labels[i] = (uint8_t)rng_below(&rng, 10);
    plain.dataset = (struct dataset){.sample_count = SAMPLES, .inputs = INPUTS, .classes = 10, .pixels = pixels, .labels = labels};
    plain.model = model_new(&polydot_rig_model, &plain.dataset, BATCH, plain.arena, NULL);
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
    const double off = polydot_rig_distance(master.model, plain->parameters, setup->parameter_count);
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
            const struct scheme_setup setup =
                polydot_rig_setup(polydot_rig_codes[i], polydot_rig_threshold(polydot_rig_codes[i]) + (int)seed % 3, ROUNDS);
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
    const struct scheme_setup setup = polydot_rig_setup(polydot_rig_codes[1], 3, ROUNDS);
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
        struct scheme_setup setup = polydot_rig_setup(cases[i].code, cases[i].workers, 1);
        const int result = polydot_check(&setup, &err);
        assert_int_equal(result, cases[i].sentence ? -ERR_USAGE : 0);
        if (cases[i].sentence && !strstr(err.text, cases[i].sentence))
            fail_msg("%s", err.text);
    }
    struct scheme_setup timing = polydot_rig_setup(cases[4].code, 200, 1);
    timing.values_carried = timing.trained = false;
    assert_int_equal(polydot_check(&timing, &err), 0); /* times alone: no digit is lost */
    timing.matrix_count = 0;
    assert_int_equal(polydot_check(&timing, &err), -ERR_USAGE);
    assert_non_null(strstr(err.text, "synthetic"));
    struct scheme_setup large = polydot_rig_setup(polydot_rig_codes[1], 3, 1);
    large.batch = 1 << 20;
    assert_int_equal(polydot_check(&large, &err), -ERR_USAGE);
    assert_non_null(strstr(err.text, "allowed are up to 67108864"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_trains_as_one_process_does),
        cmocka_unit_test(strange_messages_are_refused),
        cmocka_unit_test(what_cannot_work_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
