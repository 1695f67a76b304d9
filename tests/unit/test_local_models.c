/* tests/unit/test_local_models.c: schemes with local steps: models against the algorithms written out, and what one scheme becomes
 * with parameters that make it another. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agents/schemes/adacomm.h"
#include "agents/schemes/local_rounds.h"
#include "base/cleanup.h"
#include "tests/unit/local_rig.h"
#include "tests/unit/memory_world_internal.h"
#include "tests/unit/scheme_rig.h"

#include <cmocka.h> /* after node.h: its macro fail() hides the member */

enum { COUNT = 103 };

static float curved(int worker, uint64_t step, size_t i, float weight)
{
    const float centre = (float)((i * 7 + (size_t)worker * 13 + step * 3) % 101) / 100.0F;
    return (0.5F + (float)((i + (size_t)worker) % 5) / 10.0F) * (weight - centre);
}

static void curved_gradient(void *context, int worker, uint64_t step, const float *model, float *gradient)
{
    const struct scheme_setup *setup = context;
    for (size_t i = 0; i < setup->parameter_count; i++)
        gradient[i] = curved(worker, step, i, model[i]);
}

static double falling_loss(void *context, int worker, uint64_t step)
{
    (void)context;
    return (2 + worker) / (1 + 0.2 * (double)step);
}

static float initial_value(size_t i)
{
    return (float)(i % 17) / 16.0F - 0.5F;
}

static const float *own_model(struct memory_world *world, int node)
{
    const struct node *one = &world->nodes[node].node;
    return one->setup->scheme->family == FAMILY_LOCAL ? ((const struct local_rounds *)one->state)->model
                                                      : memory_world_result(world, node).model;
}

/* models[node]: each worker's own, COUNT floats. */
static void train(struct scheme_setup setup, uint64_t seed, float *models)
{
    float initial[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        initial[i] = initial_value(i);
    assert_int_equal(setup.parameter_count, COUNT);
    struct memory_world_settings settings = memory_world_hostile(&setup, seed);
    settings.context = &setup;
    settings.gradient = curved_gradient;
    settings.loss = falling_loss;
    settings.initial_model = initial;
    cleanup(memory_world_cleanup) struct memory_world *world = memory_world_new(&settings);
    local_rig_run(world, &setup);
    for (int node = 0; node < setup.nodes; node++)
        memcpy(models + (size_t)node * COUNT, own_model(world, node), COUNT * sizeof(float));
}

static void assert_same_bits(struct scheme_setup left, struct scheme_setup right)
{
    float expected[LOCAL_RIG_WORKERS_MAX * COUNT], found[LOCAL_RIG_WORKERS_MAX * COUNT];
    for (uint64_t seed = 0; seed < 16; seed += 5) {
        train(left, seed, expected);
        train(right, seed + 1, found);
        assert_memory_equal(found, expected, (size_t)left.workers * COUNT * sizeof(float));
    }
}

static void without_their_own_they_are_local_sgd(void **state)
{
    (void)state;
    for (int w = 0; w < LOCAL_RIG_WORKER_COUNTS; w++)
        for (int algorithm = 1; algorithm < LOCAL_ALGORITHMS; algorithm++) {
            struct scheme_setup plain = local_rig_setup("local-sgd", local_rig_workers[w], COUNT, 3);
            struct scheme_setup slow = local_rig_setup("slowmo", local_rig_workers[w], COUNT, 3);
            struct scheme_setup never = local_rig_setup("adacomm", local_rig_workers[w], COUNT, 3), late = never;
            local_rig_set(&plain, "algorithm", algorithm);
            local_rig_set(&slow, "algorithm", algorithm);
            local_rig_set(&slow, "beta", 0);
            local_rig_set(&slow, "alpha", 1);
            local_rig_set(&never, "algorithm", algorithm);
            local_rig_set(&late, "algorithm", algorithm);
            local_rig_set(&late, "interval", 1e15);
            assert_same_bits(plain, slow);
            assert_same_bits(plain, never);
            assert_same_bits(plain, late);
        }
}

/* The mean of models after one step each is the model after the mean step: w - rate g_i summed and divided rounds otherwise than
 * the sum of g_i, by a few units in the last place of numbers below 1, a step. */
static void a_period_of_one_is_synchronous(void **state)
{
    (void)state;
    for (int w = 0; w < LOCAL_RIG_WORKER_COUNTS; w++) {
        float local[LOCAL_RIG_WORKERS_MAX * COUNT], ring[LOCAL_RIG_WORKERS_MAX * COUNT];
        struct scheme_setup together = scheme_setup_of("ring", local_rig_workers[w], COUNT, 0);
        together.rounds = LOCAL_RIG_ROUNDS;
        train(together, 3, ring);
        train(local_rig_setup("local-sgd", local_rig_workers[w], COUNT, 1), 4, local);
        for (size_t i = 0; i < (size_t)local_rig_workers[w] * COUNT; i++)
            assert_float_equal(local[i], ring[i], 2e-6);
    }
}

/* ---- two workers, written out: a sum of two is the same in any order ---- */

enum { PERIOD = 3 };

struct pair {
    float weight[2], start, anchor, velocity, momentum, divisor2, cache[2], travelling;
    bool travels;
};

typedef void pair_end(const struct scheme_setup *setup, struct pair *pair, uint64_t step);
typedef void pair_step(const struct scheme_setup *setup, struct pair *pair, int worker, float gradient);

static void plain_step(const struct scheme_setup *setup, struct pair *pair, int worker, float gradient)
{
    pair->weight[worker] += -(float)setup->learning_rate * gradient;
}

static void assert_as_written(struct scheme_setup setup, pair_step *take_step, pair_end *end, float tolerance)
{
    float found[2 * COUNT];
    setup.learning_rate = 0.1;
    for (uint64_t seed = 0; seed < 8; seed++) {
        train(setup, seed, found);
        for (size_t i = 0; i < COUNT; i++) {
            struct pair pair = {
                .weight = {initial_value(i), initial_value(i)}, .start = initial_value(i), .anchor = initial_value(i)};
            for (uint64_t step = 0; step < LOCAL_RIG_ROUNDS; step++) {
                for (int worker = 0; worker < 2; worker++)
                    take_step(&setup, &pair, worker, curved(worker, step, i, pair.weight[worker]));
                if ((step + 1) % (uint64_t)setup.values[LOCAL_PERIOD] == 0)
                    end(&setup, &pair, step);
            }
            for (int worker = 0; worker < 2; worker++)
                if (!(fabsf(found[worker * COUNT + (int)i] - pair.weight[worker]) <= tolerance))
                    fail_msg("%s: float %zu of worker %d is %.9g, not %.9g", setup.scheme->name, i, worker,
                             (double)found[worker * COUNT + (int)i], (double)pair.weight[worker]);
        }
    }
}

static float mean_of(const float *values)
{
    return 0.5F * (values[0] + values[1]);
}

static void mean_end(const struct scheme_setup *setup, struct pair *pair, uint64_t step)
{
    (void)setup, (void)step;
    pair->weight[0] = pair->weight[1] = mean_of(pair->weight);
}

/* As published; the scheme takes its terms in another order. */
static void slow_end(const struct scheme_setup *setup, struct pair *pair, uint64_t step)
{
    (void)step;
    const float rate = (float)setup->learning_rate;
    pair->momentum = 0.5F * pair->momentum + (pair->start - mean_of(pair->weight)) / rate;
    pair->start -= 0.75F * rate * pair->momentum;
    pair->weight[0] = pair->weight[1] = pair->start;
}

static void adaalter_step(const struct scheme_setup *setup, struct pair *pair, int worker, float gradient)
{
    pair->cache[worker] += gradient * gradient;
    plain_step(setup, pair, worker, gradient / sqrtf(pair->divisor2 + 0.25F));
}

static void adaalter_end(const struct scheme_setup *setup, struct pair *pair, uint64_t step)
{
    mean_end(setup, pair, step);
    pair->cache[0] = pair->cache[1] = pair->divisor2 = mean_of(pair->cache);
}

static void overlap_end(const struct scheme_setup *setup, struct pair *pair, uint64_t step)
{
    const float alpha = (float)setup->values[1], beta = (float)setup->values[2];
    (void)step;
    if (pair->travels) {
        pair->velocity = beta * pair->velocity + (pair->travelling - pair->anchor);
        pair->anchor += pair->velocity;
    }
    for (int worker = 0; worker < 2; worker++)
        pair->weight[worker] = (1 - alpha) * pair->weight[worker] + alpha * pair->anchor;
    pair->travelling = mean_of(pair->weight);
    pair->travels = true;
}

static void models_are_as_written_out(void **state)
{
    (void)state;
    struct scheme_setup local = local_rig_setup("local-sgd", 2, COUNT, PERIOD), slow = local_rig_setup("slowmo", 2, COUNT, PERIOD);
    struct scheme_setup adaalter = local_rig_setup("local-adaalter", 2, COUNT, PERIOD),
                        overlap = local_rig_setup("overlap-local-sgd", 2, COUNT, PERIOD);
    assert_as_written(local, plain_step, mean_end, 0);
    local_rig_set(&slow, "alpha", 0.75);
    assert_as_written(slow, plain_step, slow_end, 2e-6F);
    local_rig_set(&adaalter, "epsilon", 0.25);
    assert_as_written(adaalter, adaalter_step, adaalter_end, 0);
    assert_as_written(overlap, plain_step, overlap_end, 0);
    local_rig_set(&overlap, "period", 1);
    local_rig_set(&overlap, "momentum", 0);
    assert_as_written(overlap, plain_step, overlap_end, 0);
}

/* Synchronous AdaAlter: w -= rate mean(g) / sqrt(h + epsilon), then h += mean(g^2). */
static void adaalter_with_period_one_is_synchronous(void **state)
{
    (void)state;
    enum { P = 5 };
    float found[P * COUNT];
    train(local_rig_setup("local-adaalter", P, COUNT, 1), 5, found);
    for (size_t i = 0; i < COUNT; i++) {
        float weight = initial_value(i), divisor2 = 0;
        for (uint64_t step = 0; step < LOCAL_RIG_ROUNDS; step++) {
            float gradient = 0, square = 0;
            for (int worker = 0; worker < P; worker++) {
                const float own = curved(worker, step, i, weight);
                gradient += own / P;
                square += own * own / P;
            }
            weight -= 0.125F * gradient / sqrtf(divisor2 + 1);
            divisor2 += square;
        }
        for (int worker = 0; worker < P; worker++)
            assert_float_equal(found[worker * COUNT + (int)i], weight, 2e-6);
    }
}

/* Nobody is pulled: as alone. All the way: every period begins at the anchor, which nobody moves. */
static void extreme_pulls(void **state)
{
    (void)state;
    struct scheme_setup alone = local_rig_setup("local-sgd", 3, COUNT, LOCAL_RIG_ROUNDS + 1);
    struct scheme_setup overlap = local_rig_setup("overlap-local-sgd", 3, COUNT, 2);
    float models[3 * COUNT];
    local_rig_set(&overlap, "alpha", 0);
    assert_same_bits(alone, overlap);
    local_rig_set(&overlap, "alpha", 1);
    train(overlap, 1, models); /* the rounds end with a pull */
    for (size_t i = 0; i < 3 * COUNT; i++)
        assert_float_equal(models[i], initial_value(i % COUNT), 2e-6); /* thirds of a sum of three round */
}

/* ---- AdaComm's rule ---- */

static void the_period_follows_the_loss(void **state)
{
    (void)state;
    assert_int_equal(adacomm_period(20, 20, 0.92 / 2.3, 1), 13); /* sqrt(0.4) 20 = 12.6 */
    assert_int_equal(adacomm_period(20, 13, 0.95 / 2.3, 1), 6);  /* 13 is not less than 13 */
    assert_int_equal(adacomm_period(20, 20, 0.25, 1), 10);
    assert_int_equal(adacomm_period(20, 20, 0.25, 0.25), 5);
    assert_int_equal(adacomm_period(20, 20, 0.25, 2), 15); /* a rate of a half: sqrt(0.5) 20 = 14.1 */
    assert_int_equal(adacomm_period(20, 20, 1, 1), 10);
    assert_int_equal(adacomm_period(20, 20, 4, 1), 10);
    assert_int_equal(adacomm_period(20, 1, 1e-9, 1), 1);
    assert_int_equal(adacomm_period(20, 2, 1e-9, 1), 1);
    assert_int_equal(adacomm_period(1, 1, 1, 1), 1);
    assert_int_equal(adacomm_period(20, 8, (double)NAN, 1), 4);
    assert_int_equal(adacomm_period(20, 8, INFINITY, 1), 4);
}

/* At the end of the first period, 12 steps, the loss is 0.53 of the first one: the next has ceil(0.73 x 12) = 9 steps, or, with a
 * rate of a half, ceil(1.03 x 12) = 13, which is not less: 6. So averages are others, and models with them. */
static void adacomm_knows_the_rate(void **state)
{
    (void)state;
    struct scheme_setup setup = local_rig_setup("adacomm", 3, COUNT, 12);
    float plain[3 * COUNT], later[3 * COUNT];
    local_rig_set(&setup, "interval", 1);
    setup.rounds = 3 * LOCAL_RIG_ROUNDS;
    struct scheme_setup decaying = setup;
    decaying.decay_factor = 0.5;
    decaying.decay_every = setup.rounds;
    train(setup, 0, plain);
    train(decaying, 0, later);
    assert_memory_equal(plain, later, sizeof(plain));
    decaying.decay_every = 8;
    train(decaying, 0, later);
    assert_memory_not_equal(plain, later, sizeof(plain));
}

/* The losses are the same whatever the order of events, and where time passes, so that there is a look at every average, so are the
 * periods, and all bits. */
static void adacomm_is_repeatable_where_every_average_looks(void **state)
{
    (void)state;
    struct scheme_setup setup = local_rig_setup("adacomm", 5, COUNT, 6);
    local_rig_set(&setup, "interval", 1);
    local_rig_set(&setup, "algorithm", 1);
    float expected[5 * COUNT], found[5 * COUNT];
    train(setup, 0, expected);
    for (uint64_t seed = 2; seed < 16; seed += 2) {
        train(setup, seed, found);
        assert_memory_equal(found, expected, sizeof(expected));
    }
}

/* The last average, from before the steps that a worker has taken since; of overlap-local-sgd the anchor. */
static void what_all_have_in_common_is_evaluated(void **state)
{
    (void)state;
    static const char *const schemes[] = {"local-sgd", "adacomm", "slowmo", "local-adaalter", "overlap-local-sgd"};
    float initial[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        initial[i] = initial_value(i);
    for (int s = 0; s < 5; s++) {
        struct scheme_setup setup = local_rig_setup(schemes[s], 3, COUNT, 6); /* two steps are left over */
        struct memory_world_settings settings = memory_world_hostile(&setup, (uint64_t)s);
        settings.context = &setup;
        settings.gradient = curved_gradient;
        settings.initial_model = initial;
        cleanup(memory_world_cleanup) struct memory_world *world = memory_world_new(&settings);
        assert_memory_equal(memory_world_result(world, 0).model, initial, sizeof(initial));
        local_rig_run(world, &setup);
        for (int node = 1; node < setup.nodes; node++) {
            assert_memory_equal(memory_world_result(world, node).model, memory_world_result(world, 0).model, sizeof(initial));
            assert_memory_not_equal(own_model(world, node), own_model(world, 0), sizeof(initial));
            assert_memory_not_equal(memory_world_result(world, node).model, initial, sizeof(initial));
        }
        setup.rounds = 18; /* none is */
        cleanup(memory_world_cleanup) struct memory_world *whole = memory_world_new(&settings);
        local_rig_run(whole, &setup);
        assert_memory_equal(memory_world_result(whole, 0).model, memory_world_result(world, 0).model, sizeof(initial));
        if (s < 4)
            assert_memory_equal(memory_world_result(whole, 0).model, own_model(whole, 1), sizeof(initial));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_their_own_they_are_local_sgd),
        cmocka_unit_test(a_period_of_one_is_synchronous),
        cmocka_unit_test(models_are_as_written_out),
        cmocka_unit_test(adaalter_with_period_one_is_synchronous),
        cmocka_unit_test(extreme_pulls),
        cmocka_unit_test(what_all_have_in_common_is_evaluated),
        cmocka_unit_test(the_period_follows_the_loss),
        cmocka_unit_test(adacomm_knows_the_rate),
        cmocka_unit_test(adacomm_is_repeatable_where_every_average_looks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
