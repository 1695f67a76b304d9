/* test_server_predict.c: predictions of servers that do not wait for everyone against theory, and what they are made of: flows that
 * share a link, and a timetable, against looking at everything. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "agents/scheme.h"
#include "agents/schemes/server_lane.h"
#include "agents/timetable.h"
#include "base/clock.h"
#include "base/rng.h"

#include <cmocka.h>

static const struct distribution exponential_10ms = {.kind = DISTRIBUTION_EXPONENTIAL, .mean_ns = 10e6};

static void assert_near(double found, double expected, double relative)
{
    if (!(fabs(found - expected) <= relative * fabs(expected)))
        fail_msg("found %.9g, expected %.9g", found, expected);
}

static struct path star_path(const void *context, int from, int to)
{
    (void)from;
    (void)to;
    return *(const struct path *)context;
}

static struct prediction predict_setup(const char *scheme, int workers, double first_value, const struct path *path,
                                       bool round_only)
{
    struct scheme_setup setup = {.scheme = scheme_find(scheme),
                                 .workers = workers,
                                 .servers = 1,
                                 .nodes = workers + 1,
                                 .parameter_count = 1024,
                                 .rounds = 1,
                                 .path = star_path,
                                 .path_context = path,
                                 .compute_time = &exponential_10ms,
                                 .round_only = round_only};
    struct prediction prediction;
    for (int i = 0; i < setup.scheme->param_count; i++)
        setup.values[i] = setup.scheme->params[i].standard;
    setup.values[0] = first_value;
    setup.scheme->predict(&setup, &prediction);
    assert_true(prediction.available);
    return prediction;
}

static struct prediction predict(const char *scheme, int workers, double first_value, const struct path *path)
{
    return predict_setup(scheme, workers, first_value, path, false);
}

/* Exponential, mean 10 ms, P = 8. E[X_{K:P}] = (H_P - H_{P-K}) mean, K E[X] / P where nobody waits: the seeded computation of all
 * updates must agree with the closed forms, and these with the published values. */
static void theory_at_eight_workers(void **state)
{
    static const struct {
        const char *scheme;
        double value, compute_ms;
    } rows[] = {
        {"k-sync", 1, 1.25},     {"k-sync", 2, 2.67857},    {"k-sync", 4, 6.34524},  {"k-sync", 6, 12.17857},
        {"k-sync", 8, 27.17857}, {"k-batch-sync", 4, 5},    {"k-batch-sync", 8, 10}, {"k-async", 4, 6.34524},
        {"k-batch-async", 4, 5}, {"k-batch-async", 12, 15}, {"ssp", 0, 3.39732},     {"backup", 0, 27.17857},
    };
    (void)state;
    const struct path path = {.bytes_per_second = INFINITY};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct prediction prediction = predict(rows[i].scheme, 8, rows[i].value, &path);
        assert_near(prediction.compute_ns, rows[i].compute_ms * NS_PER_MS, 0.01);
        assert_near(prediction.round_ns, rows[i].compute_ms * NS_PER_MS, 0.01);
    }
    assert_near(predict("backup", 8, 4, &path).round_ns, 10.3 * NS_PER_MS, 0.02); /* by an independent computation */
}

/* A thousand workers are followed as eight are. Interrupted workers: E[X_{K:P}] and every worker's model and gradient on the
 * link. */
static void theory_at_a_thousand_workers(void **state)
{
    (void)state;
    const struct path near = {.bytes_per_second = INFINITY}, slow = {.bytes_per_second = 1e9};
    assert_near(predict("k-sync", 1000, 500, &near).round_ns, 6.92647 * NS_PER_MS, 0.02);
    assert_near(predict("k-batch-sync", 1000, 1000, &near).round_ns, 10 * NS_PER_MS, 0.02);
    assert_near(predict("k-batch-async", 1000, 1000, &near).round_ns, 10 * NS_PER_MS, 0.03);
    /* 4 KiB in 4.096 us: an update needs a gradient at least */
    assert_near(predict("async", 1000, 0, &near).round_ns, 0.01 * NS_PER_MS, 0.05);
    assert_true(predict("k-sync", 1000, 500, &slow).round_ns > 6.92647 * NS_PER_MS + 500 * 4096);
}

/* Parts are differences of seeded computations, in which arrivals come in another order. */
static void no_part_is_negative(void **state)
{
    static const char *const schemes[] = {"async", "k-async", "k-batch-async", "k-sync", "k-batch-sync", "ssp", "backup"};
    (void)state;
    int negative = 0;
    for (size_t s = 0; s < sizeof(schemes) / sizeof(schemes[0]); s++)
        for (int workers = 2; workers <= 4; workers++)
            for (double rate = 1e6; rate < 2e8; rate *= 5) {
                const struct path path = {.bytes_per_second = rate, .latency_ns = NS_PER_MS};
                struct scheme_setup setup = {.scheme = scheme_find(schemes[s]),
                                             .workers = workers,
                                             .servers = 1,
                                             .nodes = workers + 1,
                                             .parameter_count = 7850,
                                             .rounds = 1,
                                             .path = star_path,
                                             .path_context = &path,
                                             .compute_time = &exponential_10ms,
                                             .reduce_ns_per_byte = 0.15};
                struct prediction found;
                for (int i = 0; i < setup.scheme->param_count; i++)
                    setup.values[i] = setup.scheme->params[i].standard;
                setup.scheme->predict(&setup, &found);
                assert_true(found.available && found.round_ns > 0);
                const double sum = found.compute_ns + found.bandwidth_ns + found.latency_ns + found.reduce_ns;
                assert_near(sum, found.round_ns, 1e-12);
                const double parts[] = {found.compute_ns, found.bandwidth_ns, found.latency_ns, found.reduce_ns};
                for (int i = 0; i < 4; i++)
                    negative += parts[i] < 0;
            }
    assert_int_equal(negative, 0);
}

/* Every flow looked at, moved by hand from end to end. */
/* Without the closed form for the computing part the round is the simulation's alone. */
static void a_round_alone_is_the_sum_of_its_parts(void **state)
{
    (void)state;
    const struct path path = {.latency_ns = 1e6, .bytes_per_second = 1e7};
    static const char *const schemes[] = {"k-sync", "k-async", "async", "backup", "ssp"};
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        const struct prediction parts = predict_setup(schemes[i], 8, 2, &path, false),
                                round = predict_setup(schemes[i], 8, 2, &path, true);
        assert_near(round.round_ns, parts.round_ns, 0.02);
        assert_true(round.latency_ns == 0 && parts.latency_ns > 0);
    }
}

static void flows_share_a_lane(void **state)
{
    enum { WORKERS = 9, ENDS = 2000 };
    (void)state;
    struct rng rng = rng_stream(7, 0, 0, RNG_PREDICT);
    double own_ns[WORKERS], left[WORKERS];
    for (int worker = 0; worker < WORKERS; worker++) {
        own_ns[worker] = 1000.0 * (1 + worker % 3);
        left[worker] = -1;
    }
    struct lane lane;
    assert_true(lane_make(&lane, own_ns, WORKERS));
    assert_true(lane.whole_ns == 1000);
    double now = 0;
    for (int ends = 0; ends < ENDS;) {
        int count = 0, first, expected = -1;
        double at = 0, soonest = INFINITY;
        for (int worker = 0; worker < WORKERS; worker++)
            count += left[worker] >= 0;
        for (int worker = 0; worker < WORKERS; worker++) {
            const double speed = fmin(1.0 / count, 1000 / own_ns[worker]);
            if (left[worker] < 0 || now + left[worker] / speed >= soonest - 1e-6)
                continue;
            soonest = now + left[worker] / speed;
            expected = worker;
        }
        assert_int_equal(lane_first(&lane, now, &first, &at), count > 0);
        const double pause = now + 500 * rng_exponential(&rng);
        const bool ended = soonest <= pause;
        const double to = ended ? soonest : pause;
        if (ended)
            assert_true(fabs(at - soonest) < 1e-6);
        for (int worker = 0; worker < WORKERS; worker++)
            if (left[worker] >= 0)
                left[worker] = fmax(left[worker] - (to - now) * fmin(1.0 / count, 1000 / own_ns[worker]), 0);
        lane_pass(&lane, to - now);
        now = to;
        if (ended) {
            assert_int_equal(first, expected);
            lane_end(&lane, first);
            left[first] = -1;
            ends++;
            continue;
        }
        const int begins = (int)rng_below(&rng, WORKERS);
        if (left[begins] < 0) {
            lane_begin(&lane, begins);
            left[begins] = 1000;
        }
    }
    lane_free(&lane);
}

static void a_timetable_keeps_the_earliest_first(void **state)
{
    enum { THINGS = 37, CHANGES = 20000 };
    (void)state;
    struct rng rng = rng_stream(8, 0, 0, RNG_PREDICT);
    struct timetable table;
    double at[THINGS], found;
    uint32_t thing;
    assert_true(timetable_make(&table, THINGS));
    assert_false(timetable_first(&table, &thing, &found));
    for (int i = 0; i < THINGS; i++)
        at[i] = INFINITY;
    for (int change = 0; change < CHANGES; change++) {
        const uint32_t which = rng_below(&rng, THINGS);
        at[which] = rng_below(&rng, 4) == 0 ? INFINITY : rng_below(&rng, 20); /* few times: many are equal */
        timetable_set(&table, which, at[which]);
        uint32_t expected = 0;
        for (uint32_t i = 1; i < THINGS; i++)
            expected = at[i] < at[expected] ? i : expected;
        assert_int_equal(timetable_first(&table, &thing, &found), !isinf(at[expected]));
        if (!isinf(at[expected])) {
            assert_int_equal(thing, expected);
            assert_true(found == at[expected]);
        }
    }
    timetable_free(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(theory_at_eight_workers), cmocka_unit_test(theory_at_a_thousand_workers),
        cmocka_unit_test(no_part_is_negative),     cmocka_unit_test(a_round_alone_is_the_sum_of_its_parts),
        cmocka_unit_test(flows_share_a_lane),      cmocka_unit_test(a_timetable_keeps_the_earliest_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
