/* tests/unit/test_schemes.c: every scheme gives the right sums and models, whatever the order of events, and sends the bytes it
 * should. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include "agents/collectives/ring_allreduce.h"
#include "agents/schemes/allreduce_rounds.h"
#include "base/cleanup.h"
#include "tests/unit/memory_world.h"
#include "tests/unit/scheme_rig.h"

#include <cmocka.h> /* after node.h: its macro fail() hides the member */

enum { ROUNDS = 20, WORKERS_MAX = 8 };
static const int worker_counts[] = {1, 2, 3, 5, 8};
static const size_t float_counts[] = {1, 2, 7, 1000};
enum { WORKER_COUNTS = sizeof(worker_counts) / sizeof(worker_counts[0]) };
enum { FLOAT_COUNTS = sizeof(float_counts) / sizeof(float_counts[0]) };

/* ---- sums of whole numbers: exact in any order ---- */

struct exact {
    const struct scheme_setup *setup;
    size_t checked[2 * WORKERS_MAX]; /* floats, over all rounds */
};

/* Distinct for each (worker, round), and different at neighbouring floats; sums of eight stay below 2^24. */
static float whole_number(int worker, uint64_t step, size_t i)
{
    return (float)((i * 31 + step * 7) % 1009 + (size_t)(worker + 1) * 2003);
}

static void whole_gradient(void *context, int worker, uint64_t step, const float *model, float *gradient)
{
    const struct exact *exact = context;
    assert_null(model);
    for (size_t i = 0; i < exact->setup->parameter_count; i++)
        gradient[i] = whole_number(worker, step, i);
}

static void check_sum(void *context, int node, const float *sum, int contributors, size_t first, size_t count, uint64_t step)
{
    struct exact *exact = context;
    assert_int_equal(contributors, exact->setup->workers);
    for (size_t i = first; i < first + count; i++) {
        float expected = 0;
        for (int worker = 0; worker < exact->setup->workers; worker++)
            expected += whole_number(worker, step, i);
        if (sum[i] != expected)
            fail_msg("node %d, round %d, float %zu: the sum is %g, not %g", node, (int)step, i, (double)sum[i], (double)expected);
    }
    exact->checked[node] += count;
}

static void assert_good_end(struct memory_world *world, const struct scheme_setup *setup)
{
    if (memory_world_failure(world))
        fail_msg("%s", memory_world_failure(world));
    for (int node = 0; node < setup->nodes; node++) {
        struct memory_node_result result = memory_world_result(world, node);
        assert_true(result.finished);
        assert_int_equal(result.rounds_finished, setup->rounds);
    }
    assert_int_equal(memory_world_buffers_out(world), 0);
}

static void assert_bytes(struct memory_world *world, const struct scheme_setup *setup)
{
    const uint64_t rounds = (uint64_t)setup->rounds, workers = (uint64_t)setup->workers;
    const uint64_t bytes = setup->parameter_count * sizeof(float);
    for (int node = 0; node < setup->nodes; node++) {
        uint64_t sent = memory_world_result(world, node).sent_bytes;
        if (setup->scheme->family == FAMILY_SERVER) {
            const int shards = (int)setup->values[0], shard = node - (setup->servers ? setup->workers : 0);
            const bool beside = setup->servers == 0;
            uint64_t piece = shard < 0 || shard >= shards
                                 ? 0
                                 : 4 * allreduce_cut(0, setup->parameter_count, (size_t)shards, (size_t)shard).count;
            uint64_t pushed = node < setup->workers ? bytes - (beside ? piece : 0) : 0;
            assert_int_equal(sent, rounds * (pushed + piece * (workers - beside)));
            continue;
        }
        struct allreduce_shape shape;
        const struct allreduce_algorithm *algorithm = allreduce_rounds_algorithm(setup, &shape);
        uint64_t expected = 0;
        const size_t buckets = (setup->parameter_count + shape.count - 1) / shape.count;
        for (size_t bucket = 0; bucket < buckets; bucket++) {
            shape.count = allreduce_cut(0, setup->parameter_count, buckets, bucket).count;
            expected += algorithm->sent_bytes(algorithm, &shape, node);
        }
        assert_int_equal(sent, rounds * expected);
        const bool optimal = algorithm == &allreduce_ring || algorithm == &allreduce_direct ||
                             (algorithm == &allreduce_halving_doubling && (workers & (workers - 1)) == 0);
        if (optimal && buckets == 1 && setup->parameter_count % workers == 0)
            assert_int_equal(sent, rounds * 2 * (workers - 1) * bytes / workers);
    }
}

static void run_exact_setup(struct scheme_setup setup, uint64_t seed)
{
    const size_t count = setup.parameter_count;
    setup.rounds = ROUNDS;
    assert_true(!setup.scheme->check || setup.scheme->check(&setup, NULL) == 0);
    struct exact exact = {.setup = &setup};
    struct memory_world_settings settings = memory_world_hostile(&setup, seed);
    settings.context = &exact;
    settings.gradient = whole_gradient;
    settings.check = check_sum;
    cleanup(memory_world_cleanup) struct memory_world *world = memory_world_new(&settings);
    memory_world_run(world);
    assert_good_end(world, &setup);
    assert_bytes(world, &setup);
    for (int node = 0; node < setup.nodes; node++) {
        size_t held = count;
        if (node >= setup.workers)
            held = allreduce_cut(0, count, (size_t)setup.servers, (size_t)(node - setup.workers)).count;
        assert_int_equal(exact.checked[node], held * ROUNDS);
    }
}

static void run_exact(const char *scheme, int workers, size_t count, double parameter, uint64_t seed)
{
    run_exact_setup(scheme_setup_of(scheme, workers, count, parameter), seed);
}

/* Dedicated servers, and as many beside workers. */
static void run_shards(int workers, size_t count, int shards, uint64_t seed)
{
    struct scheme_setup setup = scheme_setup_of("ps-sync", workers, count, shards);
    run_exact_setup(setup, seed);
    if (shards > workers)
        return;
    setup.values[1] = 1;
    setup.servers = 0;
    setup.nodes = workers;
    run_exact_setup(setup, seed);
}

static void test_ring_sums(void **state)
{
    (void)state;
    static const double segments[] = {0, 4, 12, 256, 1000};
    for (int w = 0; w < WORKER_COUNTS; w++)
        for (int c = 0; c < FLOAT_COUNTS; c++)
            for (size_t s = 0; s < sizeof(segments) / sizeof(segments[0]); s++)
                for (uint64_t seed = 0; seed < 16; seed++)
                    if (float_counts[c] < 1000 || segments[s] != 4 || seed < 2)
                        run_exact("ring", worker_counts[w], float_counts[c], segments[s], seed);
}

static void test_ring_sums_large(void **state)
{
    (void)state;
    for (int w = 0; w < WORKER_COUNTS; w++) {
        run_exact("ring", worker_counts[w], 100003, 0, 10);
        run_exact("ring", worker_counts[w], 100003, 4096, 11);
    }
}

/* More segments than sends may be under way, the neighbour quick or slow. */
static void test_ring_sums_many_segments(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 16; seed += 2) {
        run_exact("ring", 2, 2400, 4, seed);
        run_exact("ring", 3, 1200, 4, seed);
    }
}

/* Every algorithm, with any number of workers. */
static void test_allreduce_sums(void **state)
{
    (void)state;
    for (int a = 0; a < allreduce_algorithm_count(); a++) {
        const char *name = allreduce_algorithm_at(a)->name;
        const bool grouped = allreduce_algorithm_at(a)->parameter == ALLREDUCE_GROUP;
        for (int workers = 1; workers <= WORKERS_MAX; workers++)
            for (int group = 1; group <= (grouped ? workers : 1); group++) {
                if (workers % group != 0)
                    continue;
                for (int c = 0; c < FLOAT_COUNTS; c++)
                    for (uint64_t seed = 0; seed < 16; seed += 3)
                        run_exact(name, workers, float_counts[c], grouped ? group : 0, seed);
                if (workers == 3 || workers == 8)
                    run_exact(name, workers, 100003, grouped ? group : 0, 16);
            }
    }
}

/* In buckets, contributed at the end or as backward goes. */
static void test_buckets(void **state)
{
    (void)state;
    for (int a = 0; a < allreduce_algorithm_count(); a++) {
        const struct allreduce_algorithm *algorithm = allreduce_algorithm_at(a);
        const int behind = algorithm->parameter != ALLREDUCE_NO_PARAMETER;
        for (int workers = 1; workers <= 4; workers++)
            for (uint64_t seed = 0; seed < 16; seed++) {
                struct scheme_setup setup =
                    scheme_setup_of(algorithm->name, workers, 1000, algorithm->parameter == ALLREDUCE_GROUP);
                setup.values[behind + ALLREDUCE_BUCKET] = 900;
                setup.values[behind + ALLREDUCE_OVERLAP] = seed / 8;
                run_exact_setup(setup, seed);
            }
    }
}

static void test_ps_sync_sums(void **state)
{
    (void)state;
    for (int w = 0; w < WORKER_COUNTS; w++) {
        for (int c = 0; c < FLOAT_COUNTS; c++)
            for (uint64_t seed = 0; seed < 16; seed++)
                for (int shards = 1; shards <= 4; shards += 1 + (shards > 1))
                    run_shards(worker_counts[w], float_counts[c], shards, seed);
        run_shards(worker_counts[w], 100003, 1, 16);
        run_shards(worker_counts[w], 100003, 3, 16);
    }
}

/* ---- a model that learns: the bits do not depend on the order of events ---- */

/* Worker's gradient of a sum of squares whose centre and weights differ by worker and step: it depends on the model, as
 * gradients do. */
static void curved_gradient(void *context, int worker, uint64_t step, const float *model, float *gradient)
{
    const struct scheme_setup *setup = context;
    for (size_t i = 0; i < setup->parameter_count; i++) {
        float centre = (float)((i * 7 + (size_t)worker * 13 + step * 3) % 101) / 100.0f;
        float weight = 0.5f + (float)((i + (size_t)worker) % 5) / 10.0f;
        gradient[i] = weight * (model[i] - centre);
    }
}

static void initial_values(float *model, size_t count)
{
    for (size_t i = 0; i < count; i++)
        model[i] = (float)(i % 17) / 16.0f - 0.5f;
}

/* One process with all workers' mini-batches: w -= rate / P x sum. `first_worker` says whose gradient starts the sum of float i. */
static void reference(const struct scheme_setup *setup, int (*first_worker)(const struct scheme_setup *, size_t i), float *model)
{
    const size_t count = setup->parameter_count;
    cleanup(free_pointer) float *gradients = calloc(count * (size_t)setup->workers, sizeof(float));
    assert_non_null(gradients);
    initial_values(model, count);
    for (uint64_t step = 0; step < (uint64_t)setup->rounds; step++) {
        for (int worker = 0; worker < setup->workers; worker++)
            curved_gradient((void *)(uintptr_t)setup, worker, step, model, gradients + (size_t)worker * count);
        for (size_t i = 0; i < count; i++) {
            int first = first_worker(setup, i);
            float sum = gradients[(size_t)first * count + i];
            for (int k = 1; k < setup->workers; k++)
                sum += gradients[(size_t)((first + k) % setup->workers) * count + i];
            model[i] -= (float)(setup->learning_rate / setup->workers) * sum;
        }
    }
}

static int always_zero(const struct scheme_setup *setup, size_t i)
{
    (void)setup, (void)i;
    return 0;
}

/* In a ring, chunk c's sum starts at rank c. */
static int owner_of_chunk(const struct scheme_setup *setup, size_t i)
{
    struct ring_allreduce_layout layout = ring_allreduce_layout(setup->workers, setup->parameter_count, 0);
    for (int chunk = 0; chunk < setup->workers; chunk++) {
        struct allreduce_range range = ring_allreduce_chunk(&layout, chunk);
        if (i >= range.first && i < range.first + range.count)
            return chunk;
    }
    fail_msg("float %zu is in no chunk", i);
    return -1;
}

static void run_learning(const char *scheme, int workers, double segment, int (*first_worker)(const struct scheme_setup *, size_t))
{
    enum { COUNT = 1003 };
    struct scheme_setup setup = scheme_setup_of(scheme, workers, COUNT, segment);
    setup.rounds = ROUNDS;
    float expected[COUNT], one_process[COUNT], initial[COUNT];
    initial_values(initial, COUNT);
    reference(&setup, first_worker, expected);
    reference(&setup, always_zero, one_process);
    for (size_t i = 0; i < COUNT; i++)
        assert_float_equal(expected[i], one_process[i], 1e-6);
    for (uint64_t seed = 0; seed < 16; seed++) {
        struct memory_world_settings settings = memory_world_hostile(&setup, seed);
        settings.context = &setup;
        settings.gradient = curved_gradient;
        settings.initial_model = initial;
        cleanup(memory_world_cleanup) struct memory_world *world = memory_world_new(&settings);
        memory_world_run(world);
        assert_good_end(world, &setup);
        for (int node = 0; node < setup.nodes; node++)
            assert_memory_equal(memory_world_result(world, node).model, expected, sizeof(expected));
    }
}

static void test_models_equal_one_process(void **state)
{
    (void)state;
    for (int w = 0; w < WORKER_COUNTS; w++) {
        run_learning("ps-sync", worker_counts[w], 1, always_zero);
        run_learning("ring", worker_counts[w], 0, owner_of_chunk);
        run_learning("ring", worker_counts[w], 64, owner_of_chunk);
    }
}

/* ---- spans ---- */

static void test_spans(void **state)
{
    (void)state;
    struct scheme_setup setup = scheme_setup_of("ring", 4, 4000, 500); /* chunks of 1,000 floats in 8 segments */
    setup.rounds = ROUNDS;
    struct exact exact = {.setup = &setup};
    struct memory_world_settings settings = {
        .setup = &setup, .seed = 3, .later_limit = 2, .context = &exact, .gradient = whole_gradient};
    cleanup(memory_world_cleanup) struct memory_world *ring = memory_world_new(&settings);
    memory_world_run(ring);
    assert_good_end(ring, &setup);
    for (int node = 0; node < 4; node++) {
        struct memory_node_result result = memory_world_result(ring, node);
        assert_int_equal(result.spans[SPAN_REDUCE], ROUNDS * 3 * 8);
        assert_int_equal(result.spans[SPAN_APPLY], ROUNDS * 4 * 8);
        assert_in_range(result.spans[SPAN_WAIT], 1, ROUNDS);
        assert_int_equal(result.sent_messages, ROUNDS * 6 * 8);
    }
    struct scheme_setup server_setup = scheme_setup_of("ps-sync", 4, 1000, 1);
    server_setup.rounds = ROUNDS;
    exact.setup = settings.setup = &server_setup;
    cleanup(memory_world_cleanup) struct memory_world *server = memory_world_new(&settings);
    memory_world_run(server);
    assert_good_end(server, &server_setup);
    assert_int_equal(memory_world_result(server, 4).spans[SPAN_REDUCE], ROUNDS * 3);
    assert_int_equal(memory_world_result(server, 4).spans[SPAN_APPLY], ROUNDS);
    assert_int_equal(memory_world_result(server, 0).spans[SPAN_WAIT], ROUNDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring_sums),
        cmocka_unit_test(test_ring_sums_large),
        cmocka_unit_test(test_ring_sums_many_segments),
        cmocka_unit_test(test_allreduce_sums),
        cmocka_unit_test(test_buckets),
        cmocka_unit_test(test_ps_sync_sums),
        cmocka_unit_test(test_models_equal_one_process),
        cmocka_unit_test(test_spans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
