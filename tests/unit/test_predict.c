/* tests/unit/test_predict.c: predictions against closed forms. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "tests/unit/scheme_rig.h"

#include <cmocka.h> /* after node.h: its macro fail() hides the member */

#include "tests/unit/near.h"

static const double ms = NS_PER_MS, us = NS_PER_US;
static const double head = NS_PER_S / 1024.0; /* by which one copy of the model is ahead of the next */

/* A star of equal links: rate in bytes a second, one-way latency of a path. */
struct star {
    double latency_ns, bytes_per_second;
    int slow_node; /* its path has a quarter of the rate; -1: none */
};

static struct path star_path(const void *context, int from, int to)
{
    const struct star *star = context;
    bool slow = from == star->slow_node || to == star->slow_node;
    return (struct path){.latency_ns = star->latency_ns, .bytes_per_second = star->bytes_per_second / (slow ? 4 : 1)};
}

static struct scheme_setup setup_of(const char *scheme, int workers, double bytes, const struct star *star,
                                    const struct distribution *compute_time)
{
    struct scheme_setup setup = {.scheme = scheme_find(scheme),
                                 .workers = workers,
                                 .parameter_count = (size_t)bytes / 4,
                                 .rounds = 1,
                                 .path = star_path,
                                 .path_context = star,
                                 .compute_time = compute_time,
                                 .turn_ns = head};
    for (int i = 0; i < setup.scheme->param_count; i++)
        setup.values[i] = setup.scheme->params[i].standard;
    setup.servers = scheme_servers(setup.scheme, workers, setup.values);
    setup.nodes = workers + setup.servers;
    return setup;
}

static struct prediction predict(const struct scheme_setup *setup)
{
    struct prediction prediction;
    memset(&prediction, 0xff, sizeof(prediction));
    setup->scheme->predict(setup, &prediction);
    assert_true(prediction.available);
    assert_non_null(prediction.method);
    assert_true(prediction.compute_ns >= 0 && prediction.latency_ns >= 0 && prediction.bandwidth_ns >= 0 &&
                prediction.reduce_ns >= 0);
    assert_near(prediction.compute_ns + prediction.latency_ns + prediction.bandwidth_ns + prediction.reduce_ns, prediction.round_ns,
                1e-12);
    return prediction;
}

static const struct distribution constant_20ms = {.kind = DISTRIBUTION_CONSTANT, .value_ns = 20e6};
static const struct distribution measured = {.kind = DISTRIBUTION_MEASURED};
static const struct distribution exponential_1ms = {.kind = DISTRIBUTION_EXPONENTIAL, .mean_ns = 1e6};

/* ---- ring ---- */

static void test_ring_one_segment(void **state)
{
    (void)state;
    /* N = 4, S = 8 MB, alpha = 1 ms + 10 us, B = 100 MB/s, gamma = 0.25 ns a byte: a step is 20 ms, an add of 2 MB 0.5 ms */
    struct star star = {.latency_ns = ms, .bytes_per_second = 100e6, .slow_node = -1};
    struct scheme_setup setup = setup_of("ring", 4, 8e6, &star, &constant_20ms);
    setup.values[0] = 8e6; /* one segment a chunk */
    setup.message_ns = 10 * us;
    setup.reduce_ns_per_byte = 0.25;
    struct prediction prediction = predict(&setup);
    assert_near(prediction.compute_ns, 20 * ms, 1e-9);
    assert_near(prediction.latency_ns, 6 * 1.01 * ms, 1e-9);
    assert_near(prediction.bandwidth_ns, 6 * 20 * ms, 1e-9);
    assert_near(prediction.reduce_ns, 3 * 0.5 * ms, 1e-9);
    assert_near(prediction.round_ns, 147.56 * ms, 1e-9);
}

static void test_ring_segments_hide_latency(void **state)
{
    (void)state;
    /* s = 20 ms >= alpha + s/m = 1 + 5 ms: 2(N-1)s + alpha */
    struct star star = {.latency_ns = ms, .bytes_per_second = 100e6, .slow_node = -1};
    struct scheme_setup setup = setup_of("ring", 4, 8e6, &star, &measured);
    setup.values[0] = 0.5e6;
    struct prediction prediction = predict(&setup);
    assert_near(prediction.compute_ns, 0, 0);
    assert_near(prediction.bandwidth_ns, 120 * ms, 1e-9);
    assert_near(prediction.latency_ns, ms, 1e-9);
    assert_near(prediction.round_ns, 121 * ms, 1e-9);
    /* at the edge, alpha = 15 ms, still; beyond it, alpha = 25 ms, a hop takes alpha + s/m = 30 ms: 5 hops, then the last with
     * all of s */
    star.latency_ns = 15 * ms;
    assert_near(predict(&setup).round_ns, 135 * ms, 1e-9);
    star.latency_ns = 25 * ms;
    assert_near(predict(&setup).round_ns, 5 * 30 * ms + 20 * ms + 25 * ms, 1e-9);
}

static void test_measured_work_of_slow_workers_is_stretched(void **state)
{
    (void)state;
    struct star star = {.latency_ns = ms, .bytes_per_second = INFINITY, .slow_node = -1};
    static const double factors[] = {1, 3, 0.5, 1};
    for (int s = 0; s < 2; s++) {
        struct scheme_setup setup = setup_of(s ? "ring" : "ps-sync", 4, 4, &star, &measured);
        setup.gradient_ns = 2 * ms;
        assert_near(predict(&setup).compute_ns, 2 * ms, 1e-9);
        setup.slow_factors = factors;
        assert_near(predict(&setup).compute_ns, 6 * ms, 1e-9);
    }
}

static void test_ring_special_cases(void **state)
{
    (void)state;
    struct star star = {.latency_ns = ms, .bytes_per_second = INFINITY, .slow_node = -1};
    struct scheme_setup setup = setup_of("ring", 8, 8e6, &star, &exponential_1ms);
    struct prediction prediction = predict(&setup);
    assert_near(prediction.compute_ns, 2.717857143 * ms, 1e-9);                       /* H_8 */
    assert_in_range((uint64_t)prediction.latency_ns, 12 * NS_PER_MS, 14 * NS_PER_MS); /* 14 if all began together */
    assert_near(prediction.bandwidth_ns, 0, 0);
    setup = setup_of("ring", 1, 8e6, &star, &constant_20ms);
    assert_near(predict(&setup).round_ns, 20 * ms, 1e-9);
    setup.gradient_ns = 30 * ms; /* the real work takes longer than the drawn time */
    assert_near(predict(&setup).round_ns, 30 * ms, 1e-9);
    setup = setup_of("ring", 2, 4, &star, &measured); /* one float: chunks of 1 and 0 floats, two hops */
    assert_near(predict(&setup).round_ns, 2 * ms, 1e-9);
    /* one slow link counts whole: 2(N-1) steps of the slow link's 4 x 10 ms, and its path's latency */
    struct star slow = {.latency_ns = 0, .bytes_per_second = 100e6, .slow_node = 1};
    setup = setup_of("ring", 4, 4e6, &slow, &measured);
    setup.values[0] = 100e3;
    assert_in_range((uint64_t)predict(&setup).round_ns, 6 * 40 * NS_PER_MS, 6 * 40 * NS_PER_MS + 4 * NS_PER_MS);
}

/* Two workers, no bytes to wait for: who is ready at a, the other at b, has the sum at max(b, a + alpha) + alpha, and computes on
 * from there. The mean over a million such rounds. */
static void test_ring_of_two_goes_on_from_its_own_end(void **state)
{
    (void)state;
    enum { ROUNDS = 1000000 };
    for (double alpha = 0.25 * ms; alpha < 5 * ms; alpha *= 4) {
        struct star star = {.latency_ns = alpha, .bytes_per_second = INFINITY, .slow_node = -1};
        struct scheme_setup setup = setup_of("ring", 2, 8, &star, &exponential_1ms);
        struct rng rng = rng_stream(77, 0, 0, RNG_COMPUTE_TIME);
        double end[2] = {0, 0};
        for (int round = 0; round < ROUNDS; round++) {
            const double a = end[0] + rng_exponential(&rng) * ms, b = end[1] + rng_exponential(&rng) * ms;
            end[0] = fmax(b, a + alpha) + alpha;
            end[1] = fmax(a, b + alpha) + alpha;
        }
        struct prediction prediction = predict(&setup);
        assert_near(prediction.compute_ns, 1.5 * ms, 1e-9);
        assert_near(prediction.round_ns, fmax(end[0], end[1]) / ROUNDS, 0.01);
    }
}

/* ---- lists of operations ---- */

/* Without bytes and delays a message comes at the moment of its turn: it is added once all the same. log2 P additions of all, or P
 * - 1 of P where everyone sums everything. */
static void test_additions_are_made_once(void **state)
{
    (void)state;
    static const struct {
        const char *scheme;
        double additions[3]; /* of P = 2, 4, 8 */
    } rows[] = {
        {"recursive-doubling", {1, 2, 3}}, {"naive", {1, 3, 7}}, {"binomial-tree", {1, 2, 3}}, {"direct", {0.5, 0.75, 0.875}}};
    struct star star = {.latency_ns = 0, .bytes_per_second = INFINITY, .slow_node = -1};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++)
        for (int i = 0; i < 3; i++) {
            struct scheme_setup setup = setup_of(rows[row].scheme, 2 << i, 8e6, &star, &measured);
            setup.reduce_ns_per_byte = 0.25;
            assert_near(predict(&setup).reduce_ns, rows[row].additions[i] * 2 * ms, 1e-9);
        }
}

/* ---- one server ---- */

static void test_server_constant(void **state)
{
    (void)state;
    /* P = 4, S = 1 MB, B = 100 MB/s: u = 10 ms. T = 2 alpha + 4u + X + 4u, less what the first copy is ahead of the last */
    struct star star = {.latency_ns = ms, .bytes_per_second = 100e6, .slow_node = -1};
    struct scheme_setup setup = setup_of("ps-sync", 4, 1e6, &star, &constant_20ms);
    struct prediction prediction = predict(&setup);
    assert_near(prediction.compute_ns, 20 * ms, 1e-9);
    assert_near(prediction.latency_ns, 2 * ms, 1e-9);
    assert_near(prediction.bandwidth_ns, 80 * ms - 3 * head, 1e-9);
    assert_near(prediction.reduce_ns, 0, 1e-9);
    /* the four uploads share the link and nearly end together: three adds are left after the second, which ends 4/3 of a head start
     * before the fourth */
    setup.reduce_ns_per_byte = 4;
    assert_near(predict(&setup).reduce_ns, 3 * 4 * ms - head * 4 / 3, 1e-9);
    /* no rate: nothing but latency, the adds, and messages that leave the server one by one */
    star.bytes_per_second = INFINITY;
    setup.message_ns = 10 * us;
    prediction = predict(&setup);
    assert_near(prediction.bandwidth_ns, 0, 0);
    assert_near(prediction.latency_ns, 2 * 1.01 * ms + 2 * 3 * 10 * us, 1e-9);
    assert_near(prediction.reduce_ns, 3 * 4 * ms, 1e-9);
    /* flows that share the link packet by packet: all copies end together */
    star = (struct star){.latency_ns = ms, .bytes_per_second = 100e6, .slow_node = -1};
    setup = setup_of("ps-sync", 4, 1e6, &star, &constant_20ms);
    setup.turn_ns = 0;
    assert_near(predict(&setup).bandwidth_ns, 80 * ms, 1e-9);
    /* 40 kB, u = 0.4 ms: copy after copy. The first upload begins after one copy, the others follow it */
    setup = setup_of("ps-sync", 4, 40e3, &star, &constant_20ms);
    assert_near(predict(&setup).bandwidth_ns, 5 * 0.4 * ms, 1e-9);
}

static void test_server_shards(void **state)
{
    (void)state;
    /* P = 4, S = 1 MB, B = 100 MB/s: two servers take 4 x 5 ms each way; beside all workers 3/4 of 10 ms each way, and less to
     * add */
    struct star star = {.latency_ns = ms, .bytes_per_second = 100e6, .slow_node = -1};
    struct scheme_setup setup = setup_of("ps-sync", 4, 1e6, &star, &constant_20ms);
    setup.values[0] = 2;
    setup.servers = 2;
    assert_near(predict(&setup).bandwidth_ns, 40 * ms - 3 * head, 1e-9);
    setup.values[0] = 4;
    setup.values[1] = 1;
    setup.servers = 0;
    setup.nodes = 4;
    struct prediction prediction = predict(&setup);
    assert_near(prediction.bandwidth_ns, 15 * ms, 1e-9);
    assert_near(prediction.latency_ns, 2 * ms, 1e-9);
    setup.reduce_ns_per_byte = 4;
    assert_near(predict(&setup).reduce_ns, 3 * ms, 1e-9);
}

static void test_server_exponential(void **state)
{
    (void)state;
    /* P = 2, worker 0 ahead by h: A = X_0 - h, B = X_1. E[max(min(A, B) + 2u, max(A, B) + u)] = E[min(A, B)] + u
     * + E[max(u, |A - B|)] = 1 - h - exp(-h)/2 + 2u + (exp(h-u) + exp(-h-u))/2; without h 1/2 + 2u + exp(-u) */
    static const double transmissions[] = {0.01, 0.3, 1, 5};
    for (size_t i = 0; i < sizeof(transmissions) / sizeof(transmissions[0]); i++) {
        double u = transmissions[i];
        struct star star = {.latency_ns = 0, .bytes_per_second = 1e9 / u, .slow_node = -1};
        struct scheme_setup setup = setup_of("ps-sync", 2, 1e6, &star, &exponential_1ms);
        struct prediction prediction = predict(&setup);
        double h = fmin(u, head / ms);
        double uploads = 1 - h - exp(-h) / 2 + 2 * u + (exp(h - u) + exp(-h - u)) / 2;
        double deviation = fmin(u, 1) / sqrt(20000); /* what is simulated is min(D, u) */
        assert_near(prediction.compute_ns, 1.5 * ms, 1e-9);
        assert_near(prediction.round_ns / ms, 2 * u + uploads, 4 * deviation / (4 * u + 1));
        assert_string_equal(prediction.method, "seeded simulation");
        assert_true(predict(&setup).round_ns == prediction.round_ns); /* the seed is fixed */
    }
}

static void test_server_slow_workers_and_links(void **state)
{
    (void)state;
    static const double factors[] = {1, 4, 1};
    struct star star = {.latency_ns = 0, .bytes_per_second = 100e6, .slow_node = -1};
    struct scheme_setup setup = setup_of("ps-sync", 3, 1e6, &star, &constant_20ms);
    setup.slow_factors = factors;
    struct prediction prediction = predict(&setup);
    assert_near(prediction.compute_ns, 80 * ms, 1e-9);
    /* the two others' uploads are over when the slow worker's begins */
    assert_near(prediction.bandwidth_ns, 30 * ms + 10 * ms - head, 1e-9);
    /* it comes last and has two adds behind it: its own and worker 2's */
    setup.reduce_ns_per_byte = 1;
    assert_near(predict(&setup).reduce_ns, 2 * ms, 1e-9);
    /* worker 1 has a link of a quarter: its broadcast and its upload take 40 ms, and nobody is ahead */
    struct star uneven = {.latency_ns = 0, .bytes_per_second = 100e6, .slow_node = 1};
    setup = setup_of("ps-sync", 3, 1e6, &uneven, &constant_20ms);
    assert_near(predict(&setup).bandwidth_ns, 40 * ms + 40 * ms, 1e-9);
    setup = setup_of("ps-sync", 3, 1e6, &star, &constant_20ms);
    setup.gradient_ns = 25 * ms;
    assert_near(predict(&setup).compute_ns, 25 * ms, 1e-9);
}

static void test_server_uploads_share_the_link(void **state)
{
    (void)state;
    /* Ready at 10, 15, 10, 80 ms, u = 10 ms. Workers 0 and 2 have 2.5 ms of work done each at 15; then three share: 0 and 2 end
     * at 37.5, 1, alone in the end, at 40; worker 3 at 90. Adds of 30 ms: 40 -> 70 -> 100 -> 130. All of 0 to 2 is over sooner by
     * what worker 0 is ahead of worker 3. */
    static const double factors[] = {1, 1.5, 1, 8};
    static const struct distribution constant_10ms = {.kind = DISTRIBUTION_CONSTANT, .value_ns = 10e6};
    struct star star = {.latency_ns = 0, .bytes_per_second = 100e6, .slow_node = -1};
    struct scheme_setup setup = setup_of("ps-sync", 4, 1e6, &star, &constant_10ms);
    setup.slow_factors = factors;
    setup.reduce_ns_per_byte = 30;
    assert_near(predict(&setup).reduce_ns, (130 - 90) * ms - 3 * head, 1e-9);
    /* worker 0 last: the first add waits for it, 90 -> 93 -> 96 -> 99 */
    static const double first_last[] = {8, 1.5, 1, 1};
    setup.slow_factors = first_last;
    setup.reduce_ns_per_byte = 3;
    assert_near(predict(&setup).reduce_ns, 9 * ms, 1e-9);
}

static void test_no_mean_no_prediction(void **state)
{
    (void)state;
    const struct distribution heavy = {.kind = DISTRIBUTION_PARETO, .scale_ns = 1e6, .shape = 1};
    struct star star = {.bytes_per_second = INFINITY, .slow_node = -1};
    for (int i = 0; i < scheme_count(); i++) {
        struct scheme_setup setup = setup_of(scheme_at(i)->name, 2, 4, &star, &heavy);
        struct prediction prediction;
        setup.scheme->predict(&setup, &prediction);
        if (scheme_param(setup.scheme, "window") >= 0) { /* a round takes that, whatever is drawn */
            assert_true(prediction.available);
            continue;
        }
        assert_false(prediction.available);
        assert_non_null(strstr(prediction.reason, "no mean"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring_one_segment),
        cmocka_unit_test(test_ring_segments_hide_latency),
        cmocka_unit_test(test_measured_work_of_slow_workers_is_stretched),
        cmocka_unit_test(test_ring_special_cases),
        cmocka_unit_test(test_ring_of_two_goes_on_from_its_own_end),
        cmocka_unit_test(test_additions_are_made_once),
        cmocka_unit_test(test_server_constant),
        cmocka_unit_test(test_server_shards),
        cmocka_unit_test(test_server_exponential),
        cmocka_unit_test(test_server_slow_workers_and_links),
        cmocka_unit_test(test_server_uploads_share_the_link),
        cmocka_unit_test(test_no_mean_no_prediction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
