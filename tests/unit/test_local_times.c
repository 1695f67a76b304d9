/* tests/unit/test_local_times.c: how long rounds of local steps take: the closed form of constant compute times, what is hidden
 * behind gradients, predictions beside the virtual world, and the spans that say where the time went. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "agents/predict.h"
#include "agents/recorder.h"
#include "agents/schemes/local_rounds.h"
#include "base/err.h"
#include "tests/unit/local_rig.h"
#include "tests/unit/virtual_rig.h"

#include <cmocka.h> /* after node.h: its macro fail() hides the member */

enum { WORKERS = 4, COUNT = 100000, PERIOD = 10, RING = 1 };
static const double BYTES_PER_SECOND = 119.55e6; /* 1 Gbit/s of packets */
static const int64_t LINK_DELAY_NS = 250000;
static const double MS = 1e6;

static struct path star_path(const void *context, int from, int to)
{
    (void)context, (void)from, (void)to;
    return (struct path){.latency_ns = 2.0 * (double)LINK_DELAY_NS, .bytes_per_second = BYTES_PER_SECOND};
}

static struct scheme_setup setup_of(const char *scheme, int workers, int period, int rounds)
{
    struct scheme_setup setup = local_rig_setup(scheme, workers, COUNT, period);
    local_rig_set(&setup, "algorithm", RING);
    setup.rounds = rounds;
    setup.values_carried = false;
    setup.path = star_path;
    return setup;
}

static struct distribution constant_time(double ms)
{
    return (struct distribution){.kind = DISTRIBUTION_CONSTANT, .value_ns = ms * MS};
}

static struct prediction predicted(struct scheme_setup setup, const struct distribution *time)
{
    struct prediction prediction = {0};
    setup.compute_time = time;
    setup.scheme->predict(&setup, &prediction);
    assert_true(prediction.available);
    assert_true(prediction.compute_ns >= 0 && prediction.latency_ns >= 0 && prediction.bandwidth_ns >= 0);
    return prediction;
}

struct found {
    double round_ns;
    double kind_ns[SPAN_COUNT]; /* of worker 0, all rounds together */
    uint64_t kinds[SPAN_COUNT], lost;
};

static struct found run(struct scheme_setup setup, const struct distribution *time)
{
    struct found found = {0};
    struct virtual_rig rig = virtual_rig_new(setup);
    rig.compute_time = *time;
    rig.network.packet_bytes = 1448;
    virtual_rig_links(&rig, BYTES_PER_SECOND, LINK_DELAY_NS);
    virtual_rig_run(&rig);
    for (int worker = 0; worker < setup.workers; worker++) {
        const struct recorder *recorder = virtual_node(rig.world, worker).recorder;
        assert_int_equal(recorder->round_count, setup.rounds);
        found.round_ns = fmax(found.round_ns, (double)recorder->rounds[setup.rounds - 1].held_ns / setup.rounds);
        found.lost += recorder->spans_lost;
    }
    const struct recorder *recorder = virtual_node(rig.world, 0).recorder;
    for (size_t i = 0; i < recorder->span_count; i++) {
        const struct span_record *span = &recorder->spans[i];
        found.kinds[span->kind]++;
        found.kind_ns[span->kind] += (double)(span->end_ns - span->begin_ns);
        if (span->kind == SPAN_WAIT || span->kind == SPAN_REDUCE)
            assert_int_equal((span->round + 1) % (uint32_t)setup.values[LOCAL_PERIOD], 0); /* of the step that it ends */
    }
    virtual_rig_free(&rig);
    return found;
}

/* An all-reduce, as long as it is found to be: what rounds of period 1 take beyond their gradients. */
static double allreduce_ns(double ms)
{
    const struct distribution time = constant_time(ms);
    return run(setup_of("local-sgd", WORKERS, 1, 40), &time).round_ns - ms * MS;
}

static void a_longer_period_is_as_much_faster_as_it_should_be(void **state)
{
    (void)state;
    static const double compute_ms[] = {1, 5, 20};
    for (int c = 0; c < 3; c++) {
        const struct distribution time = constant_time(compute_ms[c]);
        const double every = predicted(setup_of("local-sgd", WORKERS, 1, 40), &time).round_ns;
        const double r = every / (compute_ms[c] * MS) - 1;
        for (int period = 1; period <= 40; period *= 2) {
            const double speed_up = (1 + r) / (1 + r / period);
            const struct scheme_setup setup = setup_of("local-sgd", WORKERS, period, 2 * period);
            assert_float_equal(every / predicted(setup, &time).round_ns, speed_up, 1e-9 * speed_up);
            assert_float_equal(run(setup, &time).round_ns / predicted(setup, &time).round_ns, 1, 0.02);
            assert_float_equal(predicted(setup_of("slowmo", WORKERS, period, 1), &time).round_ns, every / speed_up, 1);
            assert_float_equal(predicted(setup_of("adacomm", WORKERS, period, 1), &time).round_ns, every / speed_up, 1);
        }
    }
}

/* Of an all-reduce that is shorter than a period nine tenths cost nothing, by target; here all of it. */
static void what_overlaps_is_hidden(void **state)
{
    (void)state;
    const double whole_ns = allreduce_ns(2);
    assert_true(whole_ns > 5 * MS);
    static const double shares[] = {0.1, 0.5, 0.9, 0.98}; /* all-reduce over period */
    for (int i = 0; i < 4; i++) {
        const double compute_ms = whole_ns / shares[i] / PERIOD / MS;
        const struct distribution time = constant_time(compute_ms);
        const struct found plain = run(setup_of("local-sgd", WORKERS, PERIOD, 20 * PERIOD), &time);
        const struct found overlapped = run(setup_of("overlap-local-sgd", WORKERS, PERIOD, 20 * PERIOD), &time);
        const double cost_ns = plain.round_ns - compute_ms * MS;
        assert_float_equal(cost_ns / (whole_ns / PERIOD), 1, 0.02);
        const double hidden = (plain.round_ns - overlapped.round_ns) / cost_ns;
        if (!(hidden >= 0.9))
            fail_msg("of an all-reduce that takes %g of a period %g is hidden", shares[i], hidden);
        assert_true(overlapped.kinds[SPAN_WAIT] == 0 && plain.kinds[SPAN_WAIT] > 0);
        assert_float_equal(predicted(setup_of("overlap-local-sgd", WORKERS, PERIOD, 1), &time).round_ns / overlapped.round_ns, 1,
                           0.01);
    }
}

/* Longer ones are what rounds take, and what they take longer is waited for. */
static void what_does_not_fit_is_waited_for(void **state)
{
    (void)state;
    const struct distribution time = constant_time(0.2);
    const int rounds = 40 * PERIOD;
    const struct found found = run(setup_of("overlap-local-sgd", WORKERS, PERIOD, rounds), &time);
    const double period_ns = predicted(setup_of("overlap-local-sgd", WORKERS, PERIOD, 1), &time).round_ns * PERIOD;
    const double whole_ns = predicted(setup_of("local-sgd", WORKERS, 1, 1), &time).round_ns - 0.2 * MS;
    assert_float_equal(period_ns, whole_ns, 1);
    assert_true(whole_ns > 2 * 0.2 * MS * PERIOD);
    assert_float_equal(found.round_ns * PERIOD / whole_ns, 1, 0.05); /* the first period has nothing to wait for */
    assert_int_equal(found.kinds[SPAN_WAIT], 39);
    assert_float_equal(found.kind_ns[SPAN_WAIT] / 39, whole_ns - 0.2 * MS * PERIOD, 0.05 * whole_ns);
}

static void predictions_hold_where_compute_times_vary(void **state)
{
    (void)state;
    const struct distribution exponential = {.kind = DISTRIBUTION_EXPONENTIAL, .mean_ns = 2e6};
    static const char *const schemes[] = {"local-sgd", "local-adaalter", "overlap-local-sgd"};
    static const int workers[] = {2, 3, 8}, periods[] = {1, 4, 10};
    for (int s = 0; s < 3; s++)
        for (int w = 0; w < 3; w++)
            for (int p = 0; p < 3; p++) {
                const struct scheme_setup setup = setup_of(schemes[s], workers[w], periods[p], 2400);
                const double found_ns = run(setup, &exponential).round_ns, round_ns = predicted(setup, &exponential).round_ns;
                if (!(fabs(found_ns / round_ns - 1) <= 0.05))
                    fail_msg("%s among %d, period %d: %.3f ms, predicted %.3f", schemes[s], workers[w], periods[p], found_ns / MS,
                             round_ns / MS);
            }
}

/* What a sum of many draws varies less by: from E[X_{P:P}] towards E[X]. */
static void slow_moments_average_out(void **state)
{
    (void)state;
    const struct distribution exponential = {.kind = DISTRIBUTION_EXPONENTIAL, .mean_ns = 1e6};
    double before = 2.717857 * MS; /* H_8 */
    assert_float_equal(predicted(setup_of("local-sgd", 8, 1, 1), &exponential).compute_ns, before, 1e-4 * before);
    for (int period = 2; period <= 64; period *= 2) {
        const double now = predicted(setup_of("local-sgd", 8, period, 1), &exponential).compute_ns;
        assert_true(now < before && now > 1 * MS);
        before = now;
    }
    assert_true(before < 1.25 * MS);
    const double alone = predicted(setup_of("overlap-local-sgd", 8, 8, 1), &exponential).compute_ns;
    assert_true(alone < predicted(setup_of("local-sgd", 8, 8, 1), &exponential).compute_ns);
}

/* The longest period is predicted at once, and as sums of many are: mean n X, of P workers the slowest 1.4236 (P = 8) deviations
 * above. */
static void the_longest_period_is_predicted_from_few_draws(void **state)
{
    (void)state;
    static const char *const schemes[] = {"local-sgd", "slowmo", "overlap-local-sgd"};
    const struct distribution exponential = {.kind = DISTRIBUTION_EXPONENTIAL, .mean_ns = 1e6};
    const clock_t began = clock();
    for (size_t s = 0; s < sizeof(schemes) / sizeof(*schemes); s++)
        for (int period = 10000; period <= 1000000; period *= 100) {
            const struct prediction prediction = predicted(setup_of(schemes[s], 8, period, 1), &exponential);
            const double slowest = s == 2 ? 1 : 1 + 1.4236 / sqrt(period);
            assert_float_equal(prediction.compute_ns, slowest * MS, 0.3 / sqrt(period) * MS * (s == 2 ? 5 : 1));
        }
    assert_true(clock() - began < 10 * CLOCKS_PER_SEC); /* of this process alone; a draw each would take five minutes */
}

static void adacomm_says_why_it_has_no_prediction(void **state)
{
    (void)state;
    const struct distribution time = constant_time(1);
    struct scheme_setup setup = setup_of("adacomm", WORKERS, PERIOD, 1);
    struct prediction prediction = {0};
    local_rig_set(&setup, "interval", 1e9);
    setup.compute_time = &time;
    setup.scheme->predict(&setup, &prediction);
    assert_true(!prediction.available);
    assert_non_null(strstr(prediction.reason, "loss"));
}

static void spans_have_room(void **state)
{
    (void)state;
    const struct distribution exponential = {.kind = DISTRIBUTION_EXPONENTIAL, .mean_ns = 1e5};
    static const char *const schemes[] = {"local-sgd", "adacomm", "slowmo", "local-adaalter", "overlap-local-sgd"};
    for (int s = 0; s < 5; s++)
        for (int period = 1; period <= 7; period += 3)
            for (int algorithm = 1; algorithm < LOCAL_ALGORITHMS; algorithm++) {
                struct scheme_setup setup = setup_of(schemes[s], 5, period, 21);
                local_rig_set(&setup, "algorithm", algorithm);
                if (s == 1)
                    local_rig_set(&setup, "interval", 3e6);
                assert_int_equal(setup.scheme->family, FAMILY_LOCAL);
                struct virtual_rig rig = virtual_rig_new(setup);
                rig.compute_time = exponential;
                virtual_rig_links(&rig, BYTES_PER_SECOND, LINK_DELAY_NS);
                virtual_rig_run(&rig);
                for (int worker = 0; worker < setup.workers; worker++) {
                    assert_int_equal(virtual_node(rig.world, worker).recorder->spans_lost, 0);
                    assert_true(virtual_node(rig.world, worker).recorder->span_count <=
                                setup.scheme->spans_a_round(&setup, worker) * (uint64_t)setup.rounds);
                }
                virtual_rig_free(&rig);
            }
}

/* A worker that is gone: nobody can average without it, and the trial says so. */
static void nobody_survives_a_lost_worker(void **state)
{
    (void)state;
    for (int i = 0; i < scheme_count(); i++)
        if (scheme_at(i)->family == FAMILY_LOCAL)
            assert_false(scheme_at(i)->flags & SCHEME_SURVIVES_PEER_LOSS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_longer_period_is_as_much_faster_as_it_should_be),
        cmocka_unit_test(what_overlaps_is_hidden),
        cmocka_unit_test(what_does_not_fit_is_waited_for),
        cmocka_unit_test(predictions_hold_where_compute_times_vary),
        cmocka_unit_test(slow_moments_average_out),
        cmocka_unit_test(the_longest_period_is_predicted_from_few_draws),
        cmocka_unit_test(adacomm_says_why_it_has_no_prediction),
        cmocka_unit_test(spans_have_room),
        cmocka_unit_test(nobody_survives_a_lost_worker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
