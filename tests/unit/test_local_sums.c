/* tests/unit/test_local_sums.c: schemes with local steps average the right steps of everyone, in any order of events, and send the
 * bytes that they should. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "agents/schemes/local_rounds.h"
#include "base/cleanup.h"
#include "tests/unit/local_rig.h"

#include <cmocka.h> /* after node.h: its macro fail() hides the member */

static const char *const schemes[] = {"local-sgd", "adacomm", "slowmo", "local-adaalter", "overlap-local-sgd"};
enum { SCHEMES = sizeof(schemes) / sizeof(schemes[0]) };

/* ---- sums of whole numbers: exact in any order ---- */

struct sums {
    const struct scheme_setup *setup;
    uint64_t period;                       /* 0: any step may be averaged */
    size_t checked[LOCAL_RIG_WORKERS_MAX]; /* floats */
};

static float whole_number(int worker, uint64_t step, size_t i)
{
    return (float)((i * 31 + step * 7) % 1009 + (size_t)(worker + 1) * 2003);
}

static void whole_gradient(void *context, int worker, uint64_t step, const float *model, float *gradient)
{
    const struct sums *sums = context;
    assert_null(model);
    for (size_t i = 0; i < sums->setup->parameter_count; i++)
        gradient[i] = whole_number(worker, step, i);
}

static void check_sum(void *context, int node, const float *sum, int contributors, size_t first, size_t count, uint64_t step)
{
    struct sums *sums = context;
    assert_int_equal(contributors, sums->setup->workers);
    assert_true(sums->period == 0 || (step + 1) % sums->period == 0);
    for (size_t i = first; i < first + count; i++) {
        float expected = 0;
        for (int worker = 0; worker < sums->setup->workers; worker++)
            expected += whole_number(worker, step, i);
        if (sum[i] != expected)
            fail_msg("node %d, step %d, float %zu: the sum is %g, not %g", node, (int)step, i, (double)sum[i], (double)expected);
    }
    sums->checked[node] += count;
}

static struct memory_world *new_exact(const struct scheme_setup *setup, struct sums *sums, uint64_t seed)
{
    struct memory_world_settings settings = memory_world_hostile(setup, seed);
    settings.context = sums;
    settings.gradient = whole_gradient;
    settings.check = check_sum;
    return memory_world_new(&settings);
}

static void run_exact(struct scheme_setup setup, uint64_t seed)
{
    const struct local_policy *policy = setup.scheme->detail;
    const uint64_t period = (uint64_t)setup.values[LOCAL_PERIOD], periods = LOCAL_RIG_ROUNDS / period;
    const uint64_t averages = policy->background ? (periods > 0 ? periods - 1 : 0) : periods;
    struct sums sums = {.setup = &setup, .period = period};
    cleanup(memory_world_cleanup) struct memory_world *world = new_exact(&setup, &sums, seed);
    local_rig_run(world, &setup);
    struct allreduce_shape shape;
    const struct allreduce_algorithm *algorithm = local_rounds_algorithm(&setup, &shape);
    assert_int_equal(shape.count, (size_t)policy->vectors * setup.parameter_count);
    for (int node = 0; node < setup.nodes; node++) {
        assert_int_equal(sums.checked[node], averages * shape.count);
        assert_int_equal(memory_world_result(world, node).sent_bytes, averages * algorithm->sent_bytes(algorithm, &shape, node));
        if (algorithm == &allreduce_ring && shape.count % (size_t)setup.workers == 0)
            assert_int_equal(memory_world_result(world, node).sent_bytes,
                             averages * 2 * (uint64_t)(setup.workers - 1) * shape.count * sizeof(float) / (uint64_t)setup.workers);
    }
}

static void sums_and_bytes_are_right(void **state)
{
    (void)state;
    static const double periods[] = {1, 3, 10, 20, 50};
    static const size_t counts[] = {1, 7, 200};
    for (int s = 0; s < SCHEMES; s++)
        for (int w = 0; w < LOCAL_RIG_WORKER_COUNTS; w++)
            for (int c = 0; c < 3; c++)
                for (int p = 0; p < 5; p++)
                    for (int algorithm = 1 + (p + c) % 2; algorithm < LOCAL_ALGORITHMS; algorithm += 2) {
                        struct scheme_setup setup = local_rig_setup(schemes[s], local_rig_workers[w], counts[c], periods[p]);
                        local_rig_set(&setup, "algorithm", algorithm);
                        run_exact(setup, (uint64_t)(algorithm * 5 + p * 3 + w + s));
                    }
    for (int s = 0; s < SCHEMES; s++) /* auto: whichever is predicted to be the fastest */
        run_exact(local_rig_setup(schemes[s], 3, 1000, 2), (uint64_t)s);
}

/* All nodes take the same periods, whenever worker 0's interval is over: else sums would be of different steps, or never come. */
static void nodes_agree_on_periods(void **state)
{
    (void)state;
    for (int w = 0; w < LOCAL_RIG_WORKER_COUNTS; w++)
        for (uint64_t seed = 0; seed < 16; seed++) {
            struct scheme_setup setup = local_rig_setup("adacomm", local_rig_workers[w], 10, 7);
            local_rig_set(&setup, "interval", seed % 5 == 0 ? 1 : 3000 * (double)seed);
            local_rig_set(&setup, "algorithm", 1 + (double)(seed % (LOCAL_ALGORITHMS - 1)));
            setup.rounds = 60;
            struct sums sums = {.setup = &setup};
            cleanup(memory_world_cleanup) struct memory_world *world = new_exact(&setup, &sums, seed);
            local_rig_run(world, &setup);
            for (int node = 1; node < setup.nodes; node++)
                assert_int_equal(sums.checked[node], sums.checked[0]);
            if (seed % 10 == 0) /* time passes between two looks, and each halves it: 7, 3, 1, 1 ... */
                assert_int_equal(sums.checked[0], 10 * (2 + 50));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_and_bytes_are_right),
        cmocka_unit_test(nodes_agree_on_periods),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
