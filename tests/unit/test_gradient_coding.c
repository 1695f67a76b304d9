/* tests/unit/test_gradient_coding.c: every set of stragglers leaves the whole gradient, within what the code's amplification makes
 * of rounding; the protocol around it; what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <math.h>

#include "agents/linear_system.h"
#include "agents/schemes/gradient_code.h"
#include "agents/schemes/gradient_coding.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/rng.h"
#include "tests/unit/memory_world.h"
#include "tests/unit/scheme_rig.h"
#include "tests/unit/subsets.h"

#include <cmocka.h>

enum { FLOATS = 67, ROUNDS = 6, WORKERS_MAX = 24 };

/* ---- the solver and the code alone ---- */

static void test_solver(void **state)
{
    (void)state;
    double matrix[] = {0, 2, 1, 1}, right[] = {4, 3};
    assert_true(linear_system_solve(matrix, right, 2));
    assert_true(right[0] == 1 && right[1] == 2);
    double singular[] = {1, 2, 2, 4}, nothing[] = {1, 2};
    assert_false(linear_system_solve(singular, nothing, 2));
    struct rng rng = rng_stream(1, 0, 0, RNG_SCHEME);
    for (int size = 1; size <= 16; size++) {
        double a[256], copy[256], x[16], b[16] = {0};
        for (int i = 0; i < size * size; i++)
            a[i] = copy[i] = rng_normal(&rng);
        for (int i = 0; i < size; i++)
            x[i] = rng_normal(&rng);
        for (int row = 0; row < size; row++)
            for (int column = 0; column < size; column++)
                b[row] += a[row * size + column] * x[column];
        assert_true(linear_system_solve(copy, b, size));
        for (int i = 0; i < size; i++)
            assert_true(fabs(b[i] - x[i]) < 1e-10);
    }
}

/* What workers would send, in float32, decoded for one set of stragglers: the largest error, in units of what the amplification
 * allows. */
static double error_of(const struct gradient_code *code, const float *gradients, const bool *present)
{
    const int n = code->workers, s = code->stragglers;
    double coefficients[WORKERS_MAX], worst = 0;
    const double amplification = gradient_code_decode(code, present, coefficients);
    assert_true(amplification <= code->amplification * (1 + 1e-9));
    for (size_t i = 0; i < FLOATS; i++) {
        double decoded = 0, whole = 0, size = 0;
        for (int worker = 0; worker < n; worker++) {
            float encoded = gradients[(size_t)worker * FLOATS + i];
            for (int j = 1; j <= s; j++)
                encoded += (float)code->weights[worker * (s + 1) + j] * gradients[(size_t)((worker + j) % n) * FLOATS + i];
            decoded += coefficients[worker] * (double)encoded;
            assert_true(present[worker] || coefficients[worker] == 0);
            whole += (double)gradients[(size_t)worker * FLOATS + i];
            size += fabs((double)gradients[(size_t)worker * FLOATS + i]);
        }
        worst = fmax(worst, fabs(decoded - whole) / (amplification * (2 * s + 1) * 0x1p-24 * size));
    }
    return worst;
}

static void test_every_set_of_stragglers(void **state)
{
    (void)state;
    static const struct {
        int workers, stragglers;
        double amplification; /* at most */
    } codes[] = {{3, 1, 3.01},  {4, 1, 1.01}, {4, 2, 4.3},  {5, 1, 3.2},  {5, 2, 3.01}, {5, 3, 6.6}, {8, 1, 1.01},
                 {8, 2, 13.2},  {8, 3, 10.7}, {8, 5, 10.7}, {10, 3, 18},  {12, 5, 98},  {13, 4, 82}, {16, 3, 50},
                 {17, 2, 10.8}, {20, 3, 79},  {20, 5, 970}, {24, 3, 115}, {24, 4, 8700}};
    for (size_t c = 0; c < sizeof(codes) / sizeof(codes[0]); c++) {
        const int n = codes[c].workers, s = codes[c].stragglers;
        cleanup(free_pointer) double *numbers = malloc(gradient_code_numbers(n, s) * sizeof(*numbers));
        float gradients[WORKERS_MAX * FLOATS];
        assert_true(numbers && gradient_code_choose(n, s, numbers));
        const struct gradient_code code = gradient_code_of(n, s, numbers);
        if (code.amplification > codes[c].amplification)
            fail_msg("n %d, s %d: amplification %g", n, s, code.amplification);
        struct rng rng = rng_stream(1, (uint32_t)c, 0, RNG_SCHEME);
        for (int i = 0; i < n * FLOATS; i++)
            gradients[i] = (float)rng_normal(&rng);
        int set[GRADIENT_CODE_STRAGGLERS_MAX];
        for (int i = 0; i < s; i++)
            set[i] = i;
        do {
            bool present[WORKERS_MAX];
            memset(present, true, sizeof(present));
            for (int i = 0; i < s; i++)
                present[set[i]] = false;
            double error = error_of(&code, gradients, present);
            if (!(error <= 1))
                fail_msg("n %d, s %d, without %d ...: error %g of what is allowed", n, s, set[0], error);
        } while (next_subset(set, s, n));
    }
}

/* ---- the protocol ---- */

/* Distinct for each (worker, round), and different at neighbouring floats. */
static float whole_number(int worker, uint64_t step, size_t i)
{
    return (float)((i * 31 + step * 7) % 1009 + (size_t)(worker + 1) * 2003);
}

struct watch {
    const struct scheme_setup *setup;
    double allowed; /* of the sum of absolute values */
    uint64_t updates;
};

static void check_sum(void *context, int node, const float *sum, int contributors, size_t first, size_t count, uint64_t step)
{
    struct watch *watch = context;
    const int workers = watch->setup->workers;
    assert_int_equal(node, workers);
    assert_int_equal(contributors, workers);
    assert_int_equal(step, watch->updates++);
    assert_true(first == 0 && count == FLOATS);
    for (size_t i = 0; i < FLOATS; i++) {
        double expected = 0;
        for (int worker = 0; worker < workers; worker++)
            expected += (double)whole_number(worker, step, i);
        if (!(fabs((double)sum[i] - expected) <= watch->allowed * expected))
            fail_msg("round %d, float %zu: the sum is %.9g, not %.9g", (int)step, i, (double)sum[i], expected);
    }
}

static void whole_gradient(void *context, int worker, uint64_t step, const float *model, float *gradient)
{
    (void)context;
    (void)model;
    for (size_t i = 0; i < FLOATS; i++)
        gradient[i] = whole_number(worker, step, i);
}

/* Depends on everything, so that a wrong model or mini-batch shows in all that follows. */
static void trained_gradient(void *context, int worker, uint64_t step, const float *model, float *gradient)
{
    (void)context;
    for (size_t i = 0; i < FLOATS; i++)
        gradient[i] = 0.25f * model[i] + whole_number(worker, step, i) / 4096;
}

static struct scheme_setup coded_setup(int workers, int stragglers, enum gradient_coding_code code, bool cancel)
{
    struct scheme_setup setup = scheme_setup_of("gradient-coding", workers, FLOATS, stragglers);
    setup.values[GRADIENT_CODING_CODE] = code;
    setup.values[GRADIENT_CODING_CANCEL] = cancel;
    setup.rounds = ROUNDS;
    return setup;
}

static void assert_good_end(struct memory_world *world, const struct scheme_setup *setup, int quota)
{
    if (memory_world_failure(world))
        fail_msg("%s", memory_world_failure(world));
    for (int node = 0; node < setup->nodes; node++)
        assert_true(memory_world_result(world, node).finished);
    const struct memory_node_result server = memory_world_result(world, setup->workers);
    assert_int_equal(server.rounds_finished, ROUNDS);
    assert_int_equal(server.gradients[GRADIENT_USED], quota * ROUNDS);
    assert_int_equal(memory_world_buffers_out(world), 0);
    uint64_t sent = 0, arrived = 0;
    for (int worker = 0; worker < setup->workers; worker++)
        sent += memory_world_result(world, worker).sent_bytes;
    for (int fate = 0; fate < GRADIENT_FATE_COUNT; fate++)
        arrived += server.gradients[fate];
    assert_int_equal(sent, arrived * FLOATS * sizeof(float)); /* one vector, whatever it is made of */
}

static const struct {
    int workers, stragglers;
    enum gradient_coding_code code;
    int quota;
} cells[] = {
    {1, 0, GRADIENT_CODING_CYCLIC, 1},     {2, 0, GRADIENT_CODING_CYCLIC, 2},     {2, 1, GRADIENT_CODING_CYCLIC, 1},
    {2, 1, GRADIENT_CODING_FRACTIONAL, 1}, {3, 1, GRADIENT_CODING_CYCLIC, 2},     {3, 2, GRADIENT_CODING_FRACTIONAL, 1},
    {5, 1, GRADIENT_CODING_CYCLIC, 4},     {5, 2, GRADIENT_CODING_CYCLIC, 3},     {5, 4, GRADIENT_CODING_CYCLIC, 1},
    {8, 3, GRADIENT_CODING_CYCLIC, 5},     {8, 1, GRADIENT_CODING_FRACTIONAL, 4}, {8, 3, GRADIENT_CODING_FRACTIONAL, 2},
};
enum { CELLS = sizeof(cells) / sizeof(cells[0]) };

static void test_the_sum_is_whole(void **state)
{
    (void)state;
    for (size_t c = 0; c < CELLS; c++)
        for (uint64_t seed = 0; seed < 32; seed++) {
            struct scheme_setup setup = coded_setup(cells[c].workers, cells[c].stragglers, cells[c].code, seed / 16 % 2);
            struct blob blob = {0};
            assert_int_equal(setup.scheme->check(&setup, NULL), 0);
            assert_int_equal(setup.scheme->prepare(&setup, &blob, NULL), 0);
            setup.prepared = blob.bytes;
            setup.prepared_bytes = blob.length;
            const double amplification = scheme_amplification(&setup);
            const bool exact = amplification == 1 && cells[c].quota * (cells[c].stragglers + 1) == cells[c].workers;
            struct watch watch = {.setup = &setup, .allowed = exact ? 0 : amplification * (2 * cells[c].stragglers + 2) * 0x1p-24};
            struct memory_world_settings settings = memory_world_hostile(&setup, seed);
            settings.context = &watch;
            settings.gradient = whole_gradient;
            settings.check = check_sum;
            cleanup(memory_world_cleanup) struct memory_world *world = memory_world_new(&settings);
            memory_world_run(world);
            assert_good_end(world, &setup, cells[c].quota);
            assert_int_equal(watch.updates, ROUNDS);
            free(blob.bytes);
        }
}

/* The model after ROUNDS updates; the setup's scheme needs no weights. */
static void train(const struct scheme_setup *setup, uint64_t seed, float *model)
{
    float initial[FLOATS];
    for (size_t i = 0; i < FLOATS; i++)
        initial[i] = (float)i / 64;
    struct memory_world_settings settings = memory_world_hostile(setup, seed);
    settings.initial_model = initial;
    settings.gradient = trained_gradient;
    cleanup(memory_world_cleanup) struct memory_world *world = memory_world_new(&settings);
    memory_world_run(world);
    assert_null(memory_world_failure(world));
    memcpy(model, memory_world_result(world, setup->workers).model, FLOATS * sizeof(*model));
}

/* Without stragglers the model has the bits of ps-sync; of a fractional code it has the same bits whoever was late. */
static void test_bits(void **state)
{
    (void)state;
    static const int workers[] = {1, 2, 3, 5, 8};
    float expected[FLOATS], found[FLOATS];
    for (size_t w = 0; w < sizeof(workers) / sizeof(workers[0]); w++) {
        struct scheme_setup plain = scheme_setup_of("ps-sync", workers[w], FLOATS, 1);
        plain.rounds = ROUNDS;
        train(&plain, 1, expected);
        for (uint64_t seed = 0; seed < 32; seed++) {
            const struct scheme_setup setup = coded_setup(workers[w], 0, seed % 2, seed / 16);
            train(&setup, seed, found);
            assert_memory_equal(found, expected, sizeof(expected));
        }
    }
    for (int s = 1; s < 8; s = 2 * s + 1)
        for (uint64_t seed = 0; seed < 32; seed++) {
            const struct scheme_setup setup = coded_setup(8, s, GRADIENT_CODING_FRACTIONAL, seed / 16);
            train(&setup, seed, seed == 0 ? expected : found);
            if (seed > 0)
                assert_memory_equal(found, expected, sizeof(expected));
        }
}

static void test_refuses(void **state)
{
    (void)state;
    static const struct {
        int workers, stragglers;
        enum gradient_coding_code code;
        const char *says;
    } cases[] = {
        {4, 4, GRADIENT_CODING_CYCLIC, "with 4 workers: found stragglers 4, allowed are 0 to 3"},
        {1, 1, GRADIENT_CODING_FRACTIONAL, "with 1 worker: found stragglers 1, allowed are 0 to 0"},
        {12, 4, GRADIENT_CODING_FRACTIONAL, "allowed are 0, 1, 2, 3, 5, 11"},
        {40, 17, GRADIENT_CODING_CYCLIC, "found stragglers 17 with code: cyclic"},
        {60, 6, GRADIENT_CODING_CYCLIC, "allowed are 0, 1, 2, 3, 59; or code: fractional, or gradients: none"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct scheme_setup setup = coded_setup(cases[i].workers, cases[i].stragglers, cases[i].code, false);
        struct err err = {0};
        assert_int_equal(setup.scheme->check(&setup, &err), -ERR_USAGE);
        if (!strstr(err.text, cases[i].says))
            fail_msg("'%s' does not say '%s'", err.text, cases[i].says);
    }
    struct scheme_setup timing = coded_setup(1000, 300, GRADIENT_CODING_CYCLIC, false);
    timing.values_carried = false;
    assert_int_equal(timing.scheme->check(&timing, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solver),           cmocka_unit_test(test_every_set_of_stragglers),
        cmocka_unit_test(test_the_sum_is_whole), cmocka_unit_test(test_bits),
        cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
