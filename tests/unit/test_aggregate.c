/* tests/unit/test_aggregate.c: median and trimmed mean of gradients: against a sort, against values by hand, on every server that
 * has them, and in one step of a model that Byzantine workers pull at. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "agents/byzantine.h"
#include "agents/schemes/aggregate.h"
#include "agents/workload.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/rng.h"
#include "tests/unit/memory_world.h"
#include "tests/unit/scheme_rig.h"
#include "tests/unit/virtual_rig.h"

#include <cmocka.h> /* after node.h: its macro fail() hides the member */

enum { ROWS_MAX = 70, COLUMNS_MAX = 200, FLOATS = 67, SEEDS = 16 };
static const int worker_counts[] = {1, 2, 3, 5, 8};

static struct aggregate median_of(void)
{
    return (struct aggregate){.kind = AGGREGATE_MEDIAN};
}

static struct aggregate trimmed(int trim)
{
    return (struct aggregate){.kind = AGGREGATE_TRIMMED_MEAN, .trim = trim};
}

static void combine(struct aggregate aggregate, const float *const *rows, int gradients, size_t count, float *out)
{
    float *scratch = malloc(aggregate_scratch_floats(gradients) * sizeof(float));
    assert_non_null(scratch);
    aggregate_combine(aggregate, rows, gradients, count, scratch, out);
    free(scratch);
}

static int ascending(const void *a, const void *b)
{
    const float first = *(const float *)a, second = *(const float *)b;
    return (first > second) - (first < second);
}

/* What is not a number is plus infinity. */
static float expected_of(struct aggregate aggregate, const float *const *rows, int gradients, size_t i)
{
    float column[ROWS_MAX], sum;
    for (int row = 0; row < gradients; row++)
        column[row] = isnan(rows[row][i]) ? INFINITY : rows[row][i];
    qsort(column, (size_t)gradients, sizeof(float), ascending);
    if (aggregate.kind == AGGREGATE_MEDIAN)
        return gradients % 2 ? column[gradients / 2] : 0.5f * column[gradients / 2 - 1] + 0.5f * column[gradients / 2];
    sum = column[aggregate.trim];
    for (int row = aggregate.trim + 1; row < gradients - aggregate.trim; row++)
        sum += column[row];
    return sum;
}

static float some_value(struct rng *rng)
{
    switch (rng_below(rng, 12)) {
    case 0:
        return NAN;
    case 1:
        return INFINITY;
    case 2:
        return -INFINITY;
    case 3:
        return 0.0f;
    default:
        return rng_below(rng, 4) ? (float)rng_normal(rng) : (float)rng_below(rng, 3); /* equal ones, too */
    }
}

static void assert_same(float found, float expected)
{
    if (isnan(expected))
        assert_true(isnan(found));
    else
        assert_memory_equal(&found, &expected, sizeof(found));
}

static void test_equals_a_sort(void **state)
{
    (void)state;
    static float values[ROWS_MAX][COLUMNS_MAX], out[COLUMNS_MAX], turned_out[COLUMNS_MAX];
    static const size_t counts[] = {1, 63, 64, 65, COLUMNS_MAX};
    struct rng rng = rng_stream(1, 2, 3, RNG_SCHEME);
    for (int gradients = 1; gradients <= ROWS_MAX; gradients++) {
        const float *rows[ROWS_MAX], *turned[ROWS_MAX];
        const size_t count = counts[gradients % 5];
        for (int row = 0; row < gradients; row++) {
            rows[row] = turned[gradients - 1 - row] = values[row];
            for (size_t i = 0; i < count; i++)
                values[row][i] = some_value(&rng);
        }
        for (int trim = -1; 2 * trim < gradients; trim += 1 + gradients / 8) {
            const struct aggregate aggregate = trim < 0 ? median_of() : trimmed(trim);
            combine(aggregate, rows, gradients, count, out);
            combine(aggregate, turned, gradients, count, turned_out);
            for (size_t i = 0; i < count; i++) {
                assert_same(out[i], expected_of(aggregate, rows, gradients, i));
                assert_same(turned_out[i], out[i]); /* whoever came first */
            }
        }
    }
}

static void test_values_by_hand(void **state)
{
    (void)state;
    static const float columns[][5] = {{3, -40, NAN, 1, 7}, {1, 1, 1, 9, -9}, {INFINITY, INFINITY, 2, 4, -INFINITY}};
    static const float expected[][4] = {
        /* median of 5, of the first 4, trimmed by 1 of 5, by 2 of 5 */
        {3, 2, 1 + 3 + 7, 3},
        {1, 1, 1 + 1 + 1, 1},
        {4, INFINITY, INFINITY, 4},
    };
    for (size_t c = 0; c < sizeof(columns) / sizeof(columns[0]); c++) {
        const float *rows[5];
        float found[4];
        for (int row = 0; row < 5; row++)
            rows[row] = &columns[c][row];
        combine(median_of(), rows, 5, 1, &found[0]);
        combine(median_of(), rows, 4, 1, &found[1]);
        combine(trimmed(1), rows, 5, 1, &found[2]);
        combine(trimmed(2), rows, 5, 1, &found[3]);
        for (int i = 0; i < 4; i++)
            assert_same(found[i], expected[c][i]);
    }
}

static void test_parameters(void **state)
{
    (void)state;
    struct err err = {0};
    struct scheme_setup setup = scheme_setup_of("k-async", 8, FLOATS, 5);
    assert_int_equal(aggregate_of(NULL).kind, AGGREGATE_MEAN);
    assert_int_equal(aggregate_of((const double[]){AGGREGATE_TRIMMED_MEAN, 0}).kind, AGGREGATE_MEAN); /* to the bit */
    assert_int_equal(aggregate_contributors(aggregate_of(NULL), 5), 5);
    assert_int_equal(aggregate_contributors(median_of(), 5), 1);
    assert_int_equal(aggregate_contributors(trimmed(2), 5), 1);
    assert_int_equal(aggregate_contributors(trimmed(2), 3), 1); /* fewer than the check saw */
    static const int median_tolerates[] = {0, 0, 0, 1, 1, 2, 2, 3, 3};
    for (int gradients = 1; gradients <= 8; gradients++)
        assert_int_equal(aggregate_tolerates(median_of(), gradients), median_tolerates[gradients]);
    assert_int_equal(aggregate_tolerates(trimmed(2), 8), 2);
    assert_int_equal(aggregate_tolerates(aggregate_of(NULL), 8), 0);
    assert_true(aggregate_cost(aggregate_of(NULL), 8) == 0 && aggregate_cost(median_of(), 8) > 4);
    /* k-async: k, compensate, adasync, aggregate, trim */
    setup.values[3] = AGGREGATE_TRIMMED_MEAN;
    setup.values[4] = 2;
    assert_int_equal(setup.scheme->check(&setup, &err), 0);
    assert_int_equal(scheme_tolerates(&setup), 2);
    setup.values[4] = 3;
    assert_int_equal(setup.scheme->check(&setup, &err), -ERR_USAGE);
    assert_non_null(strstr(err.text, "found trim 3, but an update has 5 gradients, of which one at least has to be left: allowed "
                                     "are 0 to 2"));
    setup.values[3] = AGGREGATE_MEAN; /* which has no trim */
    assert_int_equal(setup.scheme->check(&setup, &err), 0);
    setup.values[3] = AGGREGATE_MEDIAN;
    setup.values[1] = 0.5;
    setup.trained = true;
    assert_int_equal(setup.scheme->check(&setup, &err), -ERR_USAGE);
    assert_non_null(strstr(err.text, "'compensate' weighs gradients"));
}

/* ---- on servers ---- */

struct watch {
    const struct scheme_setup *setup;
    struct aggregate aggregate;
    float gradients[ROWS_MAX][FLOATS];
    int collected;
    uint64_t checked;
};

static float some_number(int worker, uint64_t step, size_t i)
{
    return (float)((i * 31 + step * 7 + (size_t)(worker + 1) * (2003 + i % 5 * 401)) % 1009);
}

static void some_gradient(void *context, int worker, uint64_t step, const float *model, float *gradient)
{
    (void)context;
    (void)model;
    for (size_t i = 0; i < FLOATS; i++)
        gradient[i] = some_number(worker, step, i);
}

static void on_told(void *context, int node, const struct gradient_record *record)
{
    struct watch *watch = context;
    if (node < watch->setup->workers || record->fate != GRADIENT_USED)
        return;
    for (size_t i = 0; i < FLOATS; i++)
        watch->gradients[watch->collected][i] = some_number((int)record->worker, record->step, i);
    watch->collected++;
}

static void assert_combined(struct watch *watch, const float *sum, int contributors, size_t first, size_t count)
{
    const float *rows[ROWS_MAX];
    for (int row = 0; row < watch->collected; row++)
        rows[row] = watch->gradients[row];
    assert_int_equal(contributors, aggregate_contributors(watch->aggregate, watch->collected));
    for (size_t i = first; i < first + count; i++)
        assert_same(sum[i], expected_of(watch->aggregate, rows, watch->collected, i));
    watch->checked += count;
}

static void check_server(void *context, int node, const float *sum, int contributors, size_t first, size_t count, uint64_t step)
{
    struct watch *watch = context;
    (void)step;
    assert_int_equal(node, watch->setup->workers);
    assert_combined(watch, sum, contributors, first, count);
    watch->collected = 0;
}

/* ps-sync: each worker checks what shards broadcast, and knows the whole round. */
static void check_worker(void *context, int node, const float *sum, int contributors, size_t first, size_t count, uint64_t step)
{
    struct watch *watch = context;
    if (node >= watch->setup->workers)
        return;
    for (int worker = 0; worker < watch->setup->workers; worker++)
        some_gradient(NULL, worker, step, NULL, watch->gradients[worker]);
    watch->collected = watch->setup->workers;
    assert_combined(watch, sum, contributors, first, count);
}

static uint64_t run(struct scheme_setup *setup, int parameter, struct aggregate aggregate, bool at_workers, uint64_t seed)
{
    struct watch watch = {.setup = setup, .aggregate = aggregate};
    setup->values[parameter] = aggregate.kind;
    setup->values[parameter + 1] = aggregate.trim;
    setup->rounds = 9;
    assert_int_equal(setup->scheme->check(setup, NULL), 0);
    struct memory_world_settings settings = {.setup = setup,
                                             .seed = seed,
                                             .immediate_compute = seed & 1,
                                             .sent = seed & 2 ? SENT_ON_TAKE : SENT_ANY_TIME,
                                             .slow_first_node = seed & 4 ? 40 : 0,
                                             .context = &watch,
                                             .gradient = some_gradient,
                                             .gradient_told = at_workers ? NULL : on_told,
                                             .check = at_workers ? check_worker : check_server};
    cleanup(memory_world_cleanup) struct memory_world *world = memory_world_new(&settings);
    memory_world_run(world);
    if (memory_world_failure(world))
        fail_msg("%s with %d workers, seed %d: %s", setup->scheme->name, setup->workers, (int)seed, memory_world_failure(world));
    for (int node = 0; node < setup->nodes; node++)
        assert_true(memory_world_result(world, node).finished);
    assert_int_equal(memory_world_buffers_out(world), 0);
    return watch.checked;
}

static void test_servers_combine_what_they_use(void **state)
{
    (void)state;
    static const struct {
        const char *scheme;
        int parameter;
        bool all_but;
    } schemes[] = {{"backup", 2, true},        {"ps-drop", 1, true},  {"k-sync", 2, false},
                   {"k-batch-sync", 2, false}, {"k-async", 3, false}, {"k-batch-async", 3, false}};
    for (size_t s = 0; s < sizeof(schemes) / sizeof(schemes[0]); s++)
        for (size_t w = 0; w < sizeof(worker_counts) / sizeof(worker_counts[0]); w++)
            for (uint64_t seed = 0; seed < SEEDS; seed++) {
                const int workers = worker_counts[w], quota = 1 + (int)(seed % (uint64_t)workers);
                struct scheme_setup setup =
                    scheme_setup_of(schemes[s].scheme, workers, FLOATS, schemes[s].all_but ? workers - quota : quota);
                const bool trims = seed & 8 && quota > 2;
                assert_int_equal(run(&setup, schemes[s].parameter, trims ? trimmed((quota - 1) / 2) : median_of(), false, seed),
                                 9 * FLOATS);
            }
}

static void test_shards_combine_their_pieces(void **state)
{
    (void)state;
    for (size_t w = 0; w < sizeof(worker_counts) / sizeof(worker_counts[0]); w++)
        for (int shards = 1; shards <= 3; shards++)
            for (uint64_t seed = 0; seed < SEEDS; seed++) {
                const int workers = worker_counts[w];
                struct scheme_setup setup = scheme_setup_of("ps-sync", workers, FLOATS, shards);
                setup.values[1] = seed & 8 && shards <= workers;
                setup.servers = scheme_servers(setup.scheme, workers, setup.values);
                setup.nodes = workers + setup.servers;
                const bool trims = seed & 4 && workers > 2;
                /* A worker beside a shard takes that shard's step itself. */
                assert_int_equal(run(&setup, 2, trims ? trimmed(1) : median_of(), true, seed), (uint64_t)workers * 9 * FLOATS);
            }
}

/* Workers 1 and 3 of 5 send -10 times the gradient of ones: the mean is (3 - 20)/5 = -3.4, at a rate of 1/8 a step of 0.425 the
 * wrong way. Infinities and NaNs are trimmed like others; the mean keeps them. */
static void pulled_gradient(void *context, int worker, uint64_t step, const float *model, float *gradient)
{
    const double *factor = context;
    const struct byzantine_workers byzantine = {.attack = ATTACK_SIGN_FLIP, .factor = *factor};
    (void)model;
    for (size_t i = 0; i < FLOATS; i++)
        gradient[i] = 1;
    if (worker == 1 || worker == 3)
        byzantine_falsify(&byzantine, &(struct byzantine_layer){.step = step, .worker = worker}, gradient, FLOATS);
}

static void test_one_step(void **state)
{
    (void)state;
    static const float initial[FLOATS];
    static const struct {
        const char *scheme;
        int parameter;
    } schemes[] = {{"ps-sync", 2}, {"k-sync", 2}, {"k-async", 3}};
    static const struct {
        double kind, trim;
        double factor;
        float expected;
    } cases[] = {
        {AGGREGATE_MEAN, 0, 10, 0.425f},         {AGGREGATE_MEDIAN, 0, 10, -0.125f},   {AGGREGATE_TRIMMED_MEAN, 2, 10, -0.125f},
        {AGGREGATE_TRIMMED_MEAN, 0, 10, 0.425f}, {AGGREGATE_MEDIAN, 0, 1e39, -0.125f}, {AGGREGATE_TRIMMED_MEAN, 2, 1e39, -0.125f},
        {AGGREGATE_MEDIAN, 0, NAN, -0.125f},     {AGGREGATE_MEAN, 0, NAN, NAN},
    };
    for (size_t s = 0; s < sizeof(schemes) / sizeof(schemes[0]); s++)
        for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
            struct scheme_setup setup = scheme_setup_of(schemes[s].scheme, 5, FLOATS, s == 0 ? 1 : 5);
            double factor = cases[c].factor;
            setup.values[schemes[s].parameter] = cases[c].kind;
            setup.values[schemes[s].parameter + 1] = cases[c].trim;
            struct memory_world_settings settings = {
                .setup = &setup, .seed = c, .initial_model = initial, .context = &factor, .gradient = pulled_gradient};
            cleanup(memory_world_cleanup) struct memory_world *world = memory_world_new(&settings);
            memory_world_run(world);
            assert_null(memory_world_failure(world));
            const float *model = memory_world_result(world, 5).model;
            for (size_t i = 0; i < FLOATS; i++)
                if (isnan(cases[c].expected))
                    assert_true(isnan(model[i]));
                else
                    assert_true(fabsf(model[i] - cases[c].expected) < 1e-6f);
        }
}

/* The virtual world's check of synthetic sums holds for what is left of a trimmed sum, and for a median. */
static void test_synthetic_values(void **state)
{
    (void)state;
    static const struct {
        const char *scheme;
        int parameter;
    } schemes[] = {{"ps-sync", 2}, {"backup", 2}, {"k-sync", 2}, {"k-batch-sync", 2}, {"k-async", 3}, {"k-batch-async", 3}};
    for (size_t s = 0; s < sizeof(schemes) / sizeof(schemes[0]); s++)
        for (size_t w = 0; w < sizeof(worker_counts) / sizeof(worker_counts[0]); w++)
            for (int values = 0; values < 2; values++)
                for (int kind = AGGREGATE_MEDIAN; kind <= AGGREGATE_TRIMMED_MEAN; kind++) {
                    const int workers = worker_counts[w];
                    const double first = s == 0 ? 1 : strcmp(schemes[s].scheme, "backup") == 0 ? workers > 3 : (workers + 1) / 2;
                    struct scheme_setup setup = scheme_setup_of(schemes[s].scheme, workers, 3000, first);
                    setup.rounds = 20;
                    setup.values_carried = values;
                    setup.values[schemes[s].parameter] = kind;
                    if (setup.scheme->check(&setup, NULL) < 0)
                        continue; /* nothing would be left */
                    struct virtual_rig rig = virtual_rig_new(setup);
                    rig.compute_time = (struct distribution){.kind = DISTRIBUTION_EXPONENTIAL, .mean_ns = 1e6};
                    virtual_rig_run(&rig);
                    uint64_t checks, failures;
                    workload_checks(virtual_node(rig.world, setup.nodes - 1).workload, &checks, &failures);
                    assert_true(!values || checks > 0);
                    assert_int_equal(failures, 0);
                    virtual_rig_free(&rig);
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equals_a_sort),
        cmocka_unit_test(test_values_by_hand),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_servers_combine_what_they_use),
        cmocka_unit_test(test_shards_combine_their_pieces),
        cmocka_unit_test(test_one_step),
        cmocka_unit_test(test_synthetic_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
