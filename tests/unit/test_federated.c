/* test_federated.c: fedavg, fedbuff and safa: what becomes of the model is what the records of their updates say, whatever the
 * order of events; where they come down to something simpler they are equal to it. Times: test_federated_times.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "agents/schemes/federated.h"
#include "base/cleanup.h"
#include "tests/unit/memory_world.h"
#include "tests/unit/scheme_rig.h"

#include <cmocka.h> /* after node.h: its macro fail() hides the member */

enum { FLOATS = 5, ROUNDS = 12, WORKERS_MAX = 8, SEEDS = 8, PERIOD = 3, RECORDS_MAX = 4096 };
enum { FRACTION = FEDERATED_OWN, LAG };
enum { K = FEDERATED_OWN, CONCURRENCY, WAIT, STALENESS, MAX_STALENESS, SERVER_RATE };
static const int worker_counts[] = {1, 2, 3, 5, 8};
enum { WORKER_COUNTS = sizeof(worker_counts) / sizeof(worker_counts[0]) };
static const float initial[FLOATS] = {1, -2, 0.5f, 3, 0};
static const uint32_t unequal[WORKERS_MAX] = {100, 300, 50, 250, 100, 10, 400, 90};

static struct scheme_setup setup_of(const char *scheme, int workers, int period)
{
    struct scheme_setup setup = scheme_setup_of(scheme, workers, FLOATS, period);
    setup.rounds = ROUNDS;
    setup.batch = 1;
    return setup;
}

/* ---- a model, and what its gradients are ---- */

static void slope(int worker, uint64_t step, const float *model, float *gradient)
{
    for (size_t i = 0; i < FLOATS; i++)
        gradient[i] = 0.25f * model[i] + 0.5f * (float)(worker + 1) + 0.125f * (float)(step % 7) - 0.1f * (float)i;
}

struct watch {
    struct gradient_record records[RECORDS_MAX]; /* the server's */
    int count, lost_work;                        /* lost_work: told by clients */
    float model[FLOATS];                         /* at the end */
    uint64_t sent_by_clients, sent_by_server;
    int workers;
};

static void gradient(void *context, int worker, uint64_t step, const float *model, float *out)
{
    (void)context;
    slope(worker, step, model, out);
}

static void told(void *context, int node, const struct gradient_record *record)
{
    struct watch *watch = context;
    if (node < watch->workers) {
        assert_int_equal(record->fate, GRADIENT_CANCELLED);
        watch->lost_work++;
        return;
    }
    assert_true(watch->count < RECORDS_MAX);
    watch->records[watch->count++] = *record;
}

/* Runs it in the world in memory; every way of being hostile, by the bits of the seed. */
static struct watch *run(const struct scheme_setup *setup, uint64_t seed)
{
    static struct watch watch;
    watch = (struct watch){.workers = setup->workers};
    assert_true(setup->scheme->check(setup, NULL) == 0);
    struct memory_world_settings settings = {.setup = setup,
                                             .seed = seed,
                                             .immediate_compute = seed & 1,
                                             .sent = seed & 2 ? SENT_ON_TAKE : SENT_ANY_TIME,
                                             .slow_first_node = seed & 4 ? 40 : 0,
                                             .initial_model = initial,
                                             .context = &watch,
                                             .gradient = gradient,
                                             .gradient_told = told};
    cleanup(memory_world_cleanup) struct memory_world *world = memory_world_new(&settings);
    memory_world_run(world);
    if (memory_world_failure(world))
        fail_msg("%s", memory_world_failure(world));
    for (int node = 0; node < setup->nodes; node++) {
        struct memory_node_result result = memory_world_result(world, node);
        assert_true(result.finished);
        *(node < setup->workers ? &watch.sent_by_clients : &watch.sent_by_server) += result.sent_bytes;
    }
    struct memory_node_result server = memory_world_result(world, setup->workers);
    assert_int_equal(server.rounds_finished, setup->rounds);
    assert_int_equal(memory_world_buffers_out(world), 0);
    memcpy(watch.model, server.model, sizeof(watch.model));
    assert_int_equal(watch.sent_by_clients, (uint64_t)watch.count * sizeof(watch.model)); /* each update is told of once */
    return &watch;
}

static void assert_near(const char *what, const float *found, const float *expected)
{
    for (size_t i = 0; i < FLOATS; i++)
        if (!(fabsf(found[i] - expected[i]) <= 2e-5f * fmaxf(1, fabsf(expected[i]))))
            fail_msg("%s, float %zu: found %.9g, expected %.9g", what, i, (double)found[i], (double)expected[i]);
}

/* ---- the same once more, from the records ---- */

static double weight_of(const struct scheme_setup *setup, int worker)
{
    return setup->samples ? setup->samples[worker] : 1;
}

/* `period` steps, the last of which has that number. */
static void train(const struct scheme_setup *setup, int worker, uint64_t last, const float *from, float *model)
{
    const uint64_t period = (uint64_t)setup->values[FEDERATED_PERIOD];
    float direction[FLOATS];
    memcpy(model, from, FLOATS * sizeof(*model));
    for (uint64_t step = last + 1 - period; step <= last; step++) {
        slope(worker, step, model, direction);
        for (size_t i = 0; i < FLOATS; i++)
            model[i] -= (float)setup->learning_rate * direction[i];
    }
}

/* The models of all versions; `merge` makes the one behind `version` of records[first .. end), all of that round. */
typedef void (*merge_rule)(const struct scheme_setup *setup, float history[][FLOATS], uint32_t version,
                           const struct gradient_record *records, int count);

static void replay(const struct scheme_setup *setup, const struct watch *watch, merge_rule merge)
{
    static float history[ROUNDS + 1][FLOATS];
    memcpy(history[0], initial, sizeof(initial));
    int first = 0;
    for (uint32_t version = 0; version < ROUNDS; version++) {
        int end = first;
        while (end < watch->count && watch->records[end].round == version)
            end++;
        memcpy(history[version + 1], history[version], sizeof(initial));
        merge(setup, history, version, watch->records + first, end - first);
        first = end;
    }
    assert_near(setup->scheme->name, watch->model, history[ROUNDS]);
}

static void merge_average(const struct scheme_setup *setup, float history[][FLOATS], uint32_t version,
                          const struct gradient_record *records, int count)
{
    double sum[FLOATS] = {0}, weight = 0;
    int used = 0;
    for (int r = 0; r < count; r++) {
        if (records[r].fate != GRADIENT_USED)
            continue;
        float model[FLOATS];
        assert_int_equal(records[r].staleness, 0);
        train(setup, (int)records[r].worker, records[r].step, history[version], model);
        for (size_t i = 0; i < FLOATS; i++)
            sum[i] += weight_of(setup, (int)records[r].worker) * model[i];
        weight += weight_of(setup, (int)records[r].worker);
        used++;
    }
    assert_int_equal(used, federated_quota(setup->workers, setup->values[FRACTION]));
    for (size_t i = 0; i < FLOATS; i++)
        history[version + 1][i] = (float)(sum[i] / weight);
}

static void merge_buffer(const struct scheme_setup *setup, float history[][FLOATS], uint32_t version,
                         const struct gradient_record *records, int count)
{
    double sum[FLOATS] = {0};
    int used = 0;
    for (int r = 0; r < count; r++) {
        const bool fresh = records[r].staleness <= (uint32_t)setup->values[MAX_STALENESS];
        assert_int_equal(records[r].fate, fresh ? GRADIENT_USED : GRADIENT_LATE);
        if (!fresh)
            continue;
        const float *from = history[version - records[r].staleness];
        const double counts = setup->values[STALENESS] == 1 ? 1 : pow(1 + records[r].staleness, -0.5);
        float model[FLOATS];
        train(setup, (int)records[r].worker, records[r].step, from, model);
        for (size_t i = 0; i < FLOATS; i++)
            sum[i] += counts * ((double)from[i] - model[i]);
        used++;
    }
    assert_int_equal(used, (int)setup->values[K]);
    for (size_t i = 0; i < FLOATS; i++)
        history[version + 1][i] = (float)(history[version][i] - setup->values[SERVER_RATE] / setup->values[K] * sum[i]);
}

/* Of a tolerance that nobody reaches. What was dropped takes the bypass, after the sum. */
static void merge_cache(const struct scheme_setup *setup, float history[][FLOATS], uint32_t version,
                        const struct gradient_record *records, int count)
{
    static float cache[WORKERS_MAX][FLOATS];
    static bool picked[WORKERS_MAX], before[WORKERS_MAX];
    int used = 0;
    for (int worker = 0; worker < setup->workers; worker++) {
        before[worker] = version > 0 && picked[worker];
        picked[worker] = false;
        if (version == 0)
            memcpy(cache[worker], initial, sizeof(initial));
    }
    for (int r = 0; r < count; r++) {
        const int worker = (int)records[r].worker;
        if (records[r].fate != GRADIENT_USED)
            continue;
        train(setup, worker, records[r].step, history[version - records[r].staleness], cache[worker]);
        picked[worker] = true;
        used++;
    }
    const int quota = federated_quota(setup->workers, setup->values[FRACTION]);
    assert_true(used <= quota);
    double sum[FLOATS] = {0}, weight = 0;
    for (int worker = 0; worker < setup->workers; worker++) {
        for (size_t i = 0; i < FLOATS; i++)
            sum[i] += weight_of(setup, worker) * cache[worker][i];
        weight += weight_of(setup, worker);
    }
    for (size_t i = 0; i < FLOATS; i++)
        history[version + 1][i] = (float)(sum[i] / weight);
    for (int r = 0; r < count; r++) {
        const int worker = (int)records[r].worker;
        if (records[r].fate == GRADIENT_USED)
            continue;
        assert_int_equal(records[r].fate, GRADIENT_DROPPED);
        assert_true(before[worker]); /* who was not picked in the last round is never put aside */
        assert_int_equal(used, quota);
        train(setup, worker, records[r].step, history[version - records[r].staleness], cache[worker]);
    }
}

static void fedavg_is_the_average_of_those_picked(void **state)
{
    (void)state;
    static const double fractions[] = {1, 0.5, 0.1};
    for (int w = 0; w < WORKER_COUNTS; w++)
        for (int f = 0; f < 3; f++)
            for (uint64_t seed = 0; seed < SEEDS; seed++) {
                struct scheme_setup setup = setup_of("fedavg", worker_counts[w], PERIOD);
                setup.values[FRACTION] = fractions[f];
                setup.samples = seed & 1 ? unequal : NULL;
                setup.seed = seed;
                const struct watch *watch = run(&setup, seed);
                replay(&setup, watch, merge_average);
                const int quota = federated_quota(setup.workers, fractions[f]);
                assert_int_equal(watch->count, quota * ROUNDS);
                assert_int_equal(watch->sent_by_server, watch->sent_by_clients); /* a model down for each up */
            }
}

/* fraction 1, equal shards: the plain average of the models every `period` steps. */
static void fedavg_of_all_is_local_averaging(void **state)
{
    (void)state;
    for (int w = 0; w < WORKER_COUNTS; w++) {
        struct scheme_setup setup = setup_of("fedavg", worker_counts[w], 4);
        float mean[FLOATS];
        memcpy(mean, initial, sizeof(mean));
        for (uint64_t round = 0; round < ROUNDS; round++) {
            double sum[FLOATS] = {0};
            for (int worker = 0; worker < setup.workers; worker++) {
                float model[FLOATS];
                train(&setup, worker, 4 * round + 3, mean, model);
                for (size_t i = 0; i < FLOATS; i++)
                    sum[i] += model[i];
            }
            for (size_t i = 0; i < FLOATS; i++)
                mean[i] = (float)(sum[i] / setup.workers);
        }
        assert_near("local averaging", run(&setup, 3)->model, mean);
    }
}

static void fedbuff_is_what_the_buffer_held(void **state)
{
    (void)state;
    for (int w = 0; w < WORKER_COUNTS; w++)
        for (int k = 1; k <= 4; k += 3)
            for (uint64_t seed = 0; seed < 4 * SEEDS; seed++) {
                struct scheme_setup setup = setup_of("fedbuff", worker_counts[w], PERIOD);
                setup.values[K] = k;
                setup.values[CONCURRENCY] = seed & 8 ? (setup.workers + 1) / 2 : 0;
                setup.values[STALENESS] = seed & 16 ? 1 : 0;
                setup.values[MAX_STALENESS] = seed & 1 ? 100 : 1;
                setup.values[SERVER_RATE] = 0.5;
                setup.values[WAIT] = setup.workers >= 8 && seed & 2 ? 1 : 0;
                setup.seed = seed;
                replay(&setup, run(&setup, seed), merge_buffer);
            }
}

/* A client that is given up goes on, and models come to it meanwhile: it takes the newest one, and that whole. */
static void fedbuff_takes_whole_models_after_a_deadline(void **state)
{
    (void)state;
    int late_models = 0;
    for (uint64_t seed = 0; seed < 8 * SEEDS; seed++) {
        struct scheme_setup setup = setup_of("fedbuff", 5, PERIOD);
        setup.values[K] = 2;
        setup.values[CONCURRENCY] = 2;
        setup.values[FEDERATED_DEADLINE] = 3;
        setup.seed = seed;
        const struct watch *watch = run(&setup, seed);
        replay(&setup, watch, merge_buffer);
        late_models += watch->sent_by_server > watch->sent_by_clients;
    }
    assert_true(late_models > 0);
}

/* K = P, everyone waits, one step each: synchronous gradient descent. */
static void fedbuff_of_all_that_wait_is_ps_sync(void **state)
{
    (void)state;
    for (int w = 0; w < WORKER_COUNTS; w++) {
        const int workers = worker_counts[w];
        struct scheme_setup setup = setup_of("fedbuff", workers, 1), server = scheme_setup_of("ps-sync", workers, FLOATS, 1);
        setup.values[K] = workers;
        setup.values[WAIT] = 1;
        server.rounds = ROUNDS;
        struct memory_world_settings settings = {.setup = &server, .seed = 1, .initial_model = initial, .gradient = gradient};
        cleanup(memory_world_cleanup) struct memory_world *world = memory_world_new(&settings);
        memory_world_run(world);
        assert_null(memory_world_failure(world));
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            const struct watch *watch = run(&setup, seed);
            assert_near("ps-sync", watch->model, memory_world_result(world, workers).model);
            for (int r = 0; r < watch->count; r++)
                assert_true(watch->records[r].staleness == 0 && watch->records[r].fate == GRADIENT_USED);
        }
    }
}

static void safa_is_the_average_of_its_cache(void **state)
{
    (void)state;
    static const double fractions[] = {1, 0.7, 0.5, 0.2};
    for (int w = 0; w < WORKER_COUNTS; w++)
        for (int f = 0; f < 4; f++)
            for (uint64_t seed = 0; seed < SEEDS; seed++) {
                struct scheme_setup setup = setup_of("safa", worker_counts[w], PERIOD);
                setup.values[FRACTION] = fractions[f];
                setup.values[LAG] = 1000;
                setup.values[FEDERATED_DROPOUT] = seed & 2 ? 0.3 : 0; /* who fails does the same once more */
                setup.values[FEDERATED_DEADLINE] = 1e15;
                setup.samples = seed & 1 ? unequal : NULL;
                replay(&setup, run(&setup, seed), merge_cache);
            }
}

static void safa_of_all_is_fedavg(void **state)
{
    (void)state;
    for (int w = 0; w < WORKER_COUNTS; w++)
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct scheme_setup safa = setup_of("safa", worker_counts[w], PERIOD),
                                fedavg = setup_of("fedavg", worker_counts[w], PERIOD);
            safa.values[FRACTION] = fedavg.values[FRACTION] = 1;
            safa.samples = fedavg.samples = unequal;
            float model[FLOATS];
            memcpy(model, run(&fedavg, seed)->model, sizeof(model));
            assert_near("fedavg", run(&safa, seed)->model, model);
        }
}

/* With lag 0 nobody is tolerated: whoever has not answered when a round is over has lost its work, or crossed the new model. */
static void safa_of_no_lag_forces_everyone(void **state)
{
    (void)state;
    int forced = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct scheme_setup setup = setup_of("safa", 8, PERIOD);
        setup.values[LAG] = 0;
        const struct watch *watch = run(&setup, seed);
        for (int r = 0; r < watch->count; r++) {
            assert_true(watch->records[r].staleness == 0 || watch->records[r].fate == GRADIENT_LATE);
            forced += watch->records[r].fate == GRADIENT_LATE;
        }
        forced += watch->lost_work;
    }
    assert_true(forced > SEEDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fedavg_is_the_average_of_those_picked), cmocka_unit_test(fedavg_of_all_is_local_averaging),
        cmocka_unit_test(fedbuff_is_what_the_buffer_held),       cmocka_unit_test(fedbuff_of_all_that_wait_is_ps_sync),
        cmocka_unit_test(safa_is_the_average_of_its_cache),      cmocka_unit_test(safa_of_all_is_fedavg),
        cmocka_unit_test(safa_of_no_lag_forces_everyone),        cmocka_unit_test(fedbuff_takes_whole_models_after_a_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
