/* tests/unit/test_gossip_times.c: how long rounds of gossip take: closed forms of constant compute times, and predictions beside
 * the virtual world. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "agents/recorder.h"
#include "agents/schemes/gossip_rounds.h"
#include "tests/unit/scheme_rig.h"
#include "tests/unit/virtual_rig.h"

#include <cmocka.h> /* after node.h: its macro fail() hides the member */

static const double BYTES_PER_SECOND = 100e6;
static const int64_t LINK_DELAY_NS = 250000;
static const struct distribution constant = {.kind = DISTRIBUTION_CONSTANT, .value_ns = 10e6};
static const struct distribution exponential = {.kind = DISTRIBUTION_EXPONENTIAL, .mean_ns = 10e6};

static struct path star_path(const void *context, int from, int to)
{
    (void)context, (void)from, (void)to;
    return (struct path){.latency_ns = 2.0 * (double)LINK_DELAY_NS, .bytes_per_second = BYTES_PER_SECOND};
}

static struct scheme_setup setup_of(const char *scheme, int workers, size_t bytes, enum graph_shape shape, bool overlap, int rounds)
{
    struct scheme_setup setup = scheme_setup_of(scheme, workers, bytes / sizeof(float), shape);
    setup.values[GOSSIP_OVERLAP] = overlap;
    setup.values_carried = false;
    setup.rounds = rounds;
    return setup;
}

static double predicted_ns(struct scheme_setup setup, const struct distribution *time)
{
    struct prediction prediction = {0};
    setup.path = star_path;
    setup.compute_time = time;
    setup.scheme->predict(&setup, &prediction);
    assert_true(prediction.available);
    assert_true(prediction.latency_ns >= 0 && prediction.bandwidth_ns >= 0 && prediction.reduce_ns >= 0);
    return prediction.round_ns;
}

/* Mean round, from the start on. */
static double found_ns(struct scheme_setup setup, const struct distribution *time)
{
    struct virtual_rig rig = virtual_rig_new(setup);
    rig.compute_time = *time;
    rig.network.packet_bytes = 1448;
    rig.options.record_spans = false;
    virtual_rig_links(&rig, BYTES_PER_SECOND, LINK_DELAY_NS);
    virtual_rig_run(&rig);
    double end_ns = 0;
    for (int worker = 0; worker < setup.workers; worker++) {
        const struct recorder *recorder = virtual_node(rig.world, worker).recorder;
        assert_int_equal(recorder->round_count, setup.rounds);
        end_ns = fmax(end_ns, (double)recorder->rounds[setup.rounds - 1].held_ns);
    }
    virtual_rig_free(&rig);
    return end_ns / setup.rounds;
}

static void assert_near(double found, double expected, double tolerance, const char *what)
{
    if (!(fabs(found / expected - 1) <= tolerance))
        fail_msg("%s: %.4f ms, expected %.4f ms", what, found / 1e6, expected / 1e6);
}

/* Equal gradients: a round is gradient, degree copies and a delay, or the longer of both. */
static void test_constant_times(void **state)
{
    (void)state;
    enum { WORKERS = 9, BYTES = 1000000 };
    static const int degrees[] = {[GRAPH_RING] = 2, [GRAPH_TORUS] = 4, [GRAPH_COMPLETE] = WORKERS - 1};
    for (int shape = 0; shape < GRAPH_FILE; shape++)
        for (int overlap = 0; overlap < 2; overlap++) {
            const double exchange_ns = degrees[shape] * BYTES / BYTES_PER_SECOND * 1e9 + 2.0 * (double)LINK_DELAY_NS;
            const double expected_ns = overlap ? fmax(constant.value_ns, exchange_ns) : constant.value_ns + exchange_ns;
            const struct scheme_setup setup = setup_of("d-psgd", WORKERS, BYTES, (enum graph_shape)shape, overlap, 6);
            assert_near(predicted_ns(setup, &constant), expected_ns, 1e-9, "predicted");
            assert_near(found_ns(setup, &constant), expected_ns, 0.01, "found");
        }
    const struct scheme_setup alone = setup_of("d-psgd", 1, BYTES, GRAPH_RING, false, 6);
    assert_near(predicted_ns(alone, &constant), constant.value_ns, 1e-9, "predicted for one worker");
    assert_near(found_ns(alone, &constant), constant.value_ns, 1e-9, "found for one worker");
}

/* Additions: one for each neighbour and the own term, and the step. */
static void test_additions(void **state)
{
    (void)state;
    enum { BYTES = 1000000 };
    struct scheme_setup setup = setup_of("d-psgd", 6, BYTES, GRAPH_RING, false, 4);
    setup.reduce_ns_per_byte = 1;
    const double expected_ns = constant.value_ns + 2 * BYTES / BYTES_PER_SECOND * 1e9 + 2.0 * (double)LINK_DELAY_NS;
    assert_near(predicted_ns(setup, &constant), expected_ns + 3e6, 1e-9, "predicted"); /* the own term while copies travel */
    assert_near(found_ns(setup, &constant), expected_ns + 3e6, 0.03, "found");
}

/* The means of drawn times, by simulation; what is found is one run. */
static void test_drawn_times(void **state)
{
    (void)state;
    static const char *const schemes[] = {"d-psgd", "matcha"};
    for (int scheme = 0; scheme < 2; scheme++)
        for (int shape = 0; shape < GRAPH_FILE; shape++)
            for (int overlap = 0; overlap < 2; overlap++) {
                const struct scheme_setup setup = setup_of(schemes[scheme], 8, 100000, (enum graph_shape)shape, overlap, 200);
                assert_near(found_ns(setup, &exponential), predicted_ns(setup, &exponential), 0.1, schemes[scheme]);
            }
}

/* There is no barrier: a worker that is slow once does not hold up those far away. */
static void test_no_barrier(void **state)
{
    (void)state;
    double ring = predicted_ns(setup_of("d-psgd", 32, 4, GRAPH_RING, false, 100), &exponential);
    double complete = predicted_ns(setup_of("d-psgd", 32, 4, GRAPH_COMPLETE, false, 100), &exponential);
    assert_true(complete > 35e6); /* everyone waits for the slowest of 32: H_32 = 4.06 means */
    assert_true(ring < 0.65 * complete);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constant_times),
        cmocka_unit_test(test_additions),
        cmocka_unit_test(test_drawn_times),
        cmocka_unit_test(test_no_barrier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
