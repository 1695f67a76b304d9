/* tests/unit/test_predict_virtual.c: predictions of all-reduces beside the virtual world. Where compute times are drawn, what
 * counts is the mean of rounds without their slowest workers' times, so that a few rounds say what thousands would. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include "agents/compute_time.h"
#include "agents/predict.h"
#include "agents/recorder.h"
#include "tests/unit/scheme_rig.h"
#include "tests/unit/virtual_rig.h"

#include <cmocka.h> /* after node.h: its macro fail() hides the member */

enum { WARM = 8, SEED = 12 };
static const double BYTES_PER_SECOND = 119.55e6; /* 1 Gbit/s of packets */
static const int64_t LINK_DELAY_NS = 250000;

static const struct distribution constant = {.kind = DISTRIBUTION_CONSTANT, .value_ns = 10e6};
static const struct distribution exponential = {.kind = DISTRIBUTION_EXPONENTIAL, .mean_ns = 10e6};

static struct path star_path(const void *context, int from, int to)
{
    (void)context, (void)from, (void)to;
    return (struct path){.latency_ns = 2.0 * (double)LINK_DELAY_NS, .bytes_per_second = BYTES_PER_SECOND};
}

/* Mean round after the first ones, less that of the slowest gradient. */
static double found_ns(struct scheme_setup setup, const struct distribution *time, int rounds)
{
    setup.rounds = WARM + rounds;
    struct virtual_rig rig = virtual_rig_new(setup);
    rig.compute_time = *time;
    rig.network.packet_bytes = 1448;
    rig.options.record_spans = false;
    virtual_rig_links(&rig, BYTES_PER_SECOND, LINK_DELAY_NS);
    virtual_rig_run(&rig);
    double begin_ns = 0, end_ns = 0, slowest_ns = 0;
    for (int worker = 0; worker < setup.workers; worker++) {
        const struct recorder *recorder = virtual_node(rig.world, worker).recorder;
        assert_int_equal(recorder->round_count, WARM + rounds);
        begin_ns = fmax(begin_ns, (double)recorder->rounds[WARM - 1].held_ns);
        end_ns = fmax(end_ns, (double)recorder->rounds[WARM + rounds - 1].held_ns);
    }
    for (int round = WARM; round < WARM + rounds; round++) {
        double slowest = 0;
        for (int worker = 0; worker < setup.workers; worker++)
            slowest = fmax(slowest, compute_time_draw(time, setup.seed, (uint32_t)worker, (uint64_t)round));
        slowest_ns += slowest;
    }
    virtual_rig_free(&rig);
    return (end_ns - begin_ns - slowest_ns) / rounds;
}

static int compare(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static void predicted_as_found(const struct distribution *time, int rounds)
{
    enum { CELLS_MOST = 200 };
    static const size_t sizes[] = {64 << 10, 1 << 20, 8 << 20};
    static const int workers[] = {2, 4, 5, 8, 16};
    double off[CELLS_MOST];
    int cells = 0;
    for (int a = 0; a < allreduce_algorithm_count(); a++)
        for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
            for (size_t w = 0; w < sizeof(workers) / sizeof(workers[0]); w++) {
                const struct allreduce_algorithm *algorithm = allreduce_algorithm_at(a);
                const bool grouped = algorithm->parameter == ALLREDUCE_GROUP;
                if (grouped && workers[w] % 2 != 0)
                    continue;
                struct scheme_setup setup = scheme_setup_of(algorithm->name, workers[w], sizes[s] / sizeof(float), grouped ? 2 : 0);
                setup.seed = SEED;
                setup.values_carried = false;
                setup.reduce_ns_per_byte = 0.15;
                struct scheme_setup predicted = setup;
                struct prediction prediction = {0};
                predicted.path = star_path;
                predicted.compute_time = time;
                setup.scheme->predict(&predicted, &prediction);
                assert_true(prediction.available);
                assert_true(prediction.latency_ns >= 0 && prediction.bandwidth_ns >= 0 && prediction.reduce_ns >= 0);
                assert_true(fabs(prediction.compute_ns + prediction.latency_ns + prediction.bandwidth_ns + prediction.reduce_ns -
                                 prediction.round_ns) < 1);
                const double found = prediction.compute_ns + found_ns(setup, time, rounds);
                off[cells++] = fabs(found / prediction.round_ns - 1);
                if (!(off[cells - 1] <= 0.05))
                    fail_msg("%s, %zu bytes, %d workers: %.3f ms, predicted %.3f ms", algorithm->name, sizes[s], workers[w],
                             found / 1e6, prediction.round_ns / 1e6);
            }
    qsort(off, (size_t)cells, sizeof(*off), compare);
    assert_true(off[cells / 2] <= 0.03);
}

static void test_equal_compute_times(void **state)
{
    (void)state;
    predicted_as_found(&constant, 8);
}

static void test_exponential_compute_times(void **state)
{
    (void)state;
    predicted_as_found(&exponential, 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_compute_times),
        cmocka_unit_test(test_exponential_compute_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
