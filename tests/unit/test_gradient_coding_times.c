/* tests/unit/test_gradient_coding_times.c: how long rounds of gradient coding take: closed forms, predictions, and the virtual
 * world. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "agents/compute_time.h"
#include "agents/recorder.h"
#include "agents/schemes/gradient_coding.h"
#include "base/clock.h"
#include "tests/unit/scheme_rig.h"
#include "tests/unit/virtual_rig.h"

#include <cmocka.h> /* after node.h: its macro fail() hides the member */

static const struct distribution exponential = {.kind = DISTRIBUTION_EXPONENTIAL, .mean_ns = 10e6};
static const struct distribution lognormal = {.kind = DISTRIBUTION_LOGNORMAL, .mu = 2.3, .sigma = 0.5, .unit_ns = 1e6};
static const struct distribution pareto = {.kind = DISTRIBUTION_PARETO, .scale_ns = 5e6, .shape = 2.5};

struct cell {
    int workers, stragglers;
    enum gradient_coding_code code;
    bool cancel;
};

static struct path free_path(const void *context, int from, int to)
{
    (void)context;
    (void)from;
    (void)to;
    return (struct path){.bytes_per_second = INFINITY};
}

static struct scheme_setup setup_of(const struct cell *cell, const struct distribution *time)
{
    struct scheme_setup setup = scheme_setup_of("gradient-coding", cell->workers, 1, cell->stragglers);
    setup.values[GRADIENT_CODING_CODE] = cell->code;
    setup.values[GRADIENT_CODING_CANCEL] = cell->cancel;
    setup.values_carried = false;
    setup.compute_time = time;
    setup.path = free_path;
    return setup;
}

static struct prediction predict(struct scheme_setup setup)
{
    struct prediction prediction;
    setup.scheme->predict(&setup, &prediction);
    assert_true(prediction.available);
    return prediction;
}

static void assert_near(double found, double expected, double relative)
{
    if (!(fabs(found - expected) <= relative * expected))
        fail_msg("found %.9g, expected %.9g", found, expected);
}

/* (s+1)(H_n - H_s) and H_{n/(s+1)}, times 10 ms. */
static void test_exponential(void **state)
{
    (void)state;
    static const struct {
        struct cell cell;
        double compute_ms;
    } rows[] = {
        {{8, 0, GRADIENT_CODING_CYCLIC, true}, 27.178571},      {{8, 1, GRADIENT_CODING_CYCLIC, true}, 34.357143},
        {{8, 3, GRADIENT_CODING_CYCLIC, true}, 35.380952},      {{8, 7, GRADIENT_CODING_CYCLIC, true}, 10},
        {{8, 1, GRADIENT_CODING_FRACTIONAL, true}, 20.833333},  {{8, 3, GRADIENT_CODING_FRACTIONAL, true}, 15},
        {{8, 7, GRADIENT_CODING_FRACTIONAL, true}, 10},         {{10, 3, GRADIENT_CODING_CYCLIC, true}, 43.825397},
        {{12, 2, GRADIENT_CODING_FRACTIONAL, true}, 20.833333},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct prediction prediction = predict(setup_of(&rows[i].cell, &exponential));
        assert_near(prediction.compute_ns, rows[i].compute_ms * NS_PER_MS, rows[i].cell.stragglers ? 1e-6 : 0.01);
        assert_near(prediction.round_ns, rows[i].compute_ms * NS_PER_MS, 0.01);
    }
}

/* The integral against draws. */
static void test_largest_of_least(void **state)
{
    (void)state;
    enum { GROUPS = 4, GROUP = 3, DRAWS = 40000 };
    const struct distribution *const times[] = {&exponential, &lognormal, &pareto};
    for (size_t t = 0; t < sizeof(times) / sizeof(times[0]); t++)
        for (double floor_ns = 0; floor_ns <= 8e6; floor_ns += 8e6) {
            double sum = 0, squares = 0;
            for (uint64_t draw = 0; draw < DRAWS; draw++) {
                double largest = floor_ns;
                for (uint32_t group = 0; group < GROUPS; group++) {
                    double least = INFINITY;
                    for (uint32_t i = 0; i < GROUP; i++)
                        least = fmin(least, compute_time_draw(times[t], 1, group * GROUP + i, draw));
                    largest = fmax(largest, least);
                }
                sum += largest;
                squares += largest * largest;
            }
            const double mean = sum / DRAWS, error = sqrt((squares / DRAWS - mean * mean) / DRAWS);
            assert_true(fabs(compute_time_least_order_mean(times[t], GROUPS, GROUPS, GROUP, floor_ns) - mean) < 4 * error);
        }
}

/* Mean of a round in the virtual world; blocks[i]: when round i ended. */
static double measure(struct scheme_setup setup, int rounds, double *ends)
{
    setup.rounds = rounds;
    struct virtual_rig rig = virtual_rig_new(setup);
    rig.compute_time = *setup.compute_time;
    rig.options.record_spans = false;
    virtual_rig_run(&rig);
    const struct recorder *recorder = virtual_node(rig.world, setup.workers).recorder;
    assert_int_equal(recorder->round_count, rounds);
    for (int round = 0; ends && round < rounds; round++)
        ends[round] = (double)recorder->rounds[round].held_ns;
    const double mean = (double)recorder->rounds[rounds - 1].held_ns / rounds;
    virtual_rig_free(&rig);
    return mean;
}

static void test_predicted_and_measured(void **state)
{
    (void)state;
    static const struct cell cells[] = {
        {8, 1, GRADIENT_CODING_CYCLIC, true},      {8, 3, GRADIENT_CODING_CYCLIC, true},  {8, 1, GRADIENT_CODING_FRACTIONAL, true},
        {8, 3, GRADIENT_CODING_FRACTIONAL, true},  {8, 1, GRADIENT_CODING_CYCLIC, false}, {8, 3, GRADIENT_CODING_CYCLIC, false},
        {8, 1, GRADIENT_CODING_FRACTIONAL, false}, {5, 2, GRADIENT_CODING_CYCLIC, true},  {3, 1, GRADIENT_CODING_CYCLIC, false},
        {2, 1, GRADIENT_CODING_FRACTIONAL, false},
    };
    const struct distribution *const times[] = {&exponential, &lognormal, &pareto};
    for (size_t t = 0; t < sizeof(times) / sizeof(times[0]); t++)
        for (size_t c = t; c < sizeof(cells) / sizeof(cells[0]); c += 3) { /* each with one of them */
            const struct scheme_setup setup = setup_of(&cells[c], times[t]);
            assert_near(measure(setup, 5000, NULL), predict(setup).round_ns, 0.04);
        }
}

/* Without stragglers rounds end when those of ps-sync do, to the nanosecond, and are predicted to take as long. */
static void test_without_stragglers(void **state)
{
    (void)state;
    static const int workers[] = {2, 3, 5, 8};
    for (size_t w = 0; w < sizeof(workers) / sizeof(workers[0]); w++) {
        enum { ROUNDS = 200 };
        const struct cell cell = {.workers = workers[w]};
        double coded_ends[ROUNDS], plain_ends[ROUNDS];
        struct scheme_setup plain = scheme_setup_of("ps-sync", workers[w], 1, 1), coded = setup_of(&cell, &exponential);
        plain.compute_time = &exponential;
        plain.values_carried = false;
        measure(plain, ROUNDS, plain_ends);
        measure(coded, ROUNDS, coded_ends);
        for (int round = 0; round < ROUNDS; round++)
            assert_true(coded_ends[round] == plain_ends[round]);
        plain.path = free_path;
        assert_true(predict(coded).round_ns == predict(plain).round_ns);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exponential),
        cmocka_unit_test(test_largest_of_least),
        cmocka_unit_test(test_predicted_and_measured),
        cmocka_unit_test(test_without_stragglers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
