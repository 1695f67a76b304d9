/* tests/unit/test_gossip.c: rounds of gossip in the hostile world: the models are those of the formulas to the bit, whatever the
 * order of events; sums, bytes and spans; what they reduce to. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agents/schemes/gossip_rounds.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "tests/unit/memory_world.h"
#include "tests/unit/scheme_rig.h"

#include <cmocka.h> /* after node.h: its macro fail() hides the member */

enum { ROUNDS = 12, WORKERS_MAX = 8, FLOATS = 37 };
static const int worker_counts[] = {1, 2, 3, 5, 8};

/* A worker's pull towards a centre of its own, which moves with the step; 0: none, so that models are only mixed. */
struct course;
struct pull {
    const struct scheme_setup *setup;
    float strength;
    uint64_t checks;
    const struct course *course; /* before its first round */
};

static void pull_gradient(void *context, int worker, uint64_t step, const float *model, float *gradient)
{
    const struct pull *pull = context;
    for (size_t i = 0; i < pull->setup->parameter_count; i++) {
        const float centre = (float)((i * 5 + (size_t)worker * 11 + step * 3) % 64) / 64;
        gradient[i] = pull->strength * (model[i] - centre);
    }
}

static float first_value(size_t i)
{
    return (float)(i % 13) / 8 - 0.5f;
}

struct models {
    float of[WORKERS_MAX][FLOATS];
};

/* Who is active, round after round, and the weight. */
struct course {
    struct graph graph;
    struct matching_plan plan; /* matcha */
    bool sampled, active[WORKERS_MAX];
    struct rng draws;
    float alpha;
    struct arena *arena;
};

static void close_course(struct course *course)
{
    arena_free(course->arena);
}

static struct course course_of(const struct scheme_setup *setup)
{
    const struct gossip_kind *kind = setup->scheme->detail;
    struct course course = {.graph = mixing_graph(setup), .arena = arena_new(), .sampled = kind->plan};
    course.alpha = mixing_alpha(setup, NULL);
    course.draws = rng_stream(setup->seed, setup->cell, RNG_ALL_NODES, RNG_COMMON);
    if (course.sampled) {
        assert_int_equal(kind->plan(setup, course.arena, &course.plan, NULL), 0);
        course.alpha = course.plan.alpha;
    }
    return course;
}

static void next_round(struct course *course)
{
    if (course->sampled)
        matching_plan_draw(course->plan.probabilities, course->plan.matchings.count, &course->draws, course->active);
}

static bool joined(const struct course *course, int a, int b)
{
    return graph_joins(&course->graph, a, b) && (!course->sampled || course->active[matching_of(&course->plan.matchings, a, b)]);
}

static int active_degree(const struct course *course, int worker)
{
    int degree = 0;
    for (int other = 0; other < course->graph.workers; other++)
        degree += joined(course, worker, other);
    return degree;
}

static void mix(const struct course *course, const struct models *from, struct models *to)
{
    const int workers = course->graph.workers;
    for (int w = 0; w < workers; w++)
        for (size_t i = 0; i < FLOATS; i++) {
            float sum = 0;
            bool begun = false;
            for (int j = 0; j < workers; j++) {
                if (j != w && !joined(course, w, j))
                    continue;
                const float weight = j == w ? mixing_own_weight(course->alpha, active_degree(course, w)) : course->alpha;
                sum = begun ? sum + weight * from->of[j][i] : weight * from->of[j][i];
                begun = true;
            }
            to->of[w][i] = sum;
        }
}

/* The formulas, worker by worker. */
static void expected_models(const struct scheme_setup *setup, struct pull *pull, struct models *models)
{
    cleanup(close_course) struct course course = course_of(setup);
    for (int w = 0; w < setup->workers; w++)
        for (size_t i = 0; i < FLOATS; i++)
            models->of[w][i] = first_value(i);
    for (int round = 0; round < setup->rounds; round++) {
        struct models gradients, mixed;
        next_round(&course);
        const bool overlap = setup->values[GOSSIP_OVERLAP] != 0;
        for (int w = 0; w < setup->workers; w++)
            pull_gradient(pull, w, (uint64_t)round, models->of[w], gradients.of[w]);
        for (int half = 0; half < 2; half++) {
            if ((half == 0) == overlap) {
                mix(&course, models, &mixed);
                *models = mixed;
                continue;
            }
            for (int w = 0; w < setup->workers; w++)
                for (size_t i = 0; i < FLOATS; i++)
                    models->of[w][i] -= (float)setup->learning_rate * gradients.of[w][i];
        }
    }
}

static struct memory_world_settings hostile(const struct scheme_setup *setup, uint64_t seed, struct pull *pull)
{
    struct memory_world_settings settings = memory_world_hostile(setup, seed);
    settings.context = pull;
    settings.gradient = pull_gradient;
    return settings;
}

/* Runs to the end with what the controller prepares; every node sent S bytes to each active neighbour. */
static struct memory_world *run(struct memory_world_settings *settings)
{
    struct scheme_setup setup = *settings->setup;
    cleanup(close_course) struct course course = course_of(&setup);
    struct blob blob = {0};
    assert_int_equal(setup.scheme->prepare(&setup, &blob, NULL), 0);
    cleanup(free_pointer) uint8_t *bytes = blob.bytes;
    setup.prepared = bytes;
    setup.prepared_bytes = blob.length;
    settings->setup = &setup;
    struct memory_world *world = memory_world_new(settings);
    memory_world_run(world);
    if (memory_world_failure(world))
        fail_msg("%s", memory_world_failure(world));
    assert_int_equal(memory_world_buffers_out(world), 0);
    int sent[WORKERS_MAX] = {0};
    for (int round = 0; round < setup.rounds; round++) {
        next_round(&course);
        for (int node = 0; node < setup.nodes; node++)
            sent[node] += active_degree(&course, node);
    }
    for (int node = 0; node < setup.nodes; node++) {
        const struct memory_node_result result = memory_world_result(world, node);
        uint64_t spans = 0;
        for (int kind = 0; kind < SPAN_COUNT; kind++)
            spans += result.spans[kind];
        assert_true(result.finished && result.rounds_finished == (uint64_t)setup.rounds);
        assert_true(spans <= (uint64_t)setup.rounds * setup.scheme->spans_a_round(&setup, node));
        assert_int_equal(result.sent_messages, sent[node]);
        assert_int_equal(result.sent_bytes, result.sent_messages * setup.parameter_count * sizeof(float));
    }
    return world;
}

/* Both schemes, all shapes, several numbers of workers, each in all ways in which the world can be hostile. */
static void each_case(void (*test)(struct scheme_setup *setup, uint64_t seed))
{
    static const char *const schemes[] = {"d-psgd", "matcha"};
    for (int scheme = 0; scheme < 2; scheme++)
        for (size_t w = 0; w < sizeof(worker_counts) / sizeof(worker_counts[0]); w++)
            for (int shape = 0; shape < GRAPH_FILE; shape++)
                for (uint64_t seed = 0; seed < 16; seed += scheme == 0 ? 1 : 3) {
                    struct scheme_setup setup = scheme_setup_of(schemes[scheme], worker_counts[w], FLOATS, shape);
                    setup.values[GOSSIP_OVERLAP] = (double)((seed >> 3 ^ seed >> 2 ^ seed >> 1 ^ seed ^ w) & 1);
                    setup.rounds = ROUNDS;
                    setup.seed = seed + 1;
                    test(&setup, seed);
                }
}

static void check_models(struct scheme_setup *setup, uint64_t seed)
{
    float initial[FLOATS];
    for (size_t i = 0; i < FLOATS; i++)
        initial[i] = first_value(i);
    struct pull pull = {.setup = setup, .strength = 0.75f};
    struct models expected;
    expected_models(setup, &pull, &expected);
    struct memory_world_settings settings = hostile(setup, seed, &pull);
    settings.initial_model = initial;
    cleanup(memory_world_cleanup) struct memory_world *world = run(&settings);
    for (int node = 0; node < setup->nodes; node++)
        assert_memory_equal(memory_world_result(world, node).model, expected.of[node], sizeof(initial));
}

static void test_models_are_those_of_the_formulas(void **state)
{
    (void)state;
    each_case(check_models);
}

/* With the whole budget matcha is d-psgd. */
static void test_whole_budget_is_d_psgd(void **state)
{
    (void)state;
    for (int shape = 0; shape < GRAPH_FILE; shape++)
        for (int overlap = 0; overlap < 2; overlap++) {
            struct models models[2];
            for (int sampled = 0; sampled < 2; sampled++) {
                struct scheme_setup setup = scheme_setup_of(sampled ? "matcha" : "d-psgd", 6, FLOATS, shape);
                struct pull pull = {.setup = &setup, .strength = 0.75f};
                setup.rounds = ROUNDS;
                setup.values[GOSSIP_OVERLAP] = overlap;
                setup.values[GOSSIP_COMMON_COUNT] = 1;
                expected_models(&setup, &pull, &models[sampled]);
            }
            for (int w = 0; w < 6; w++)
                assert_memory_equal(models[0].of[w], models[1].of[w], sizeof(models[0].of[w]));
        }
}

/* On the complete graph with the step first, all hold what one process with all mini-batches would. */
static void test_complete_graph_is_allreduce_sgd(void **state)
{
    (void)state;
    for (int workers = 2; workers <= WORKERS_MAX; workers++) {
        struct scheme_setup setup = scheme_setup_of("d-psgd", workers, FLOATS, GRAPH_COMPLETE);
        setup.values[GOSSIP_OVERLAP] = 0;
        setup.rounds = ROUNDS;
        struct pull pull = {.setup = &setup, .strength = 0.75f};
        struct models models;
        expected_models(&setup, &pull, &models);
        float one[FLOATS], gradient[FLOATS];
        for (size_t i = 0; i < FLOATS; i++)
            one[i] = first_value(i);
        for (int round = 0; round < ROUNDS; round++) {
            double sum[FLOATS] = {0};
            for (int w = 0; w < workers; w++) {
                pull_gradient(&pull, w, (uint64_t)round, one, gradient);
                for (size_t i = 0; i < FLOATS; i++)
                    sum[i] += gradient[i];
            }
            for (size_t i = 0; i < FLOATS; i++)
                one[i] -= (float)(setup.learning_rate / workers * sum[i]);
        }
        for (int w = 0; w < workers; w++)
            for (size_t i = 0; i < FLOATS; i++)
                assert_true(fabsf(models.of[w][i] - one[i]) < 2e-6f);
    }
}

/* Mixing alone keeps the sum of all models, and brings them together. */
static void test_sum_of_models_is_kept(void **state)
{
    (void)state;
    for (int shape = 0; shape < GRAPH_FILE; shape++) {
        struct scheme_setup setup = scheme_setup_of("d-psgd", WORKERS_MAX, FLOATS, shape);
        cleanup(close_course) struct course course = course_of(&setup);
        struct models models, mixed;
        double sum = 0, spread = 0;
        for (int w = 0; w < WORKERS_MAX; w++) {
            sum += models.of[w][0] = (float)(w * w % 7);
            for (size_t i = 1; i < FLOATS; i++)
                models.of[w][i] = 0;
        }
        for (int round = 0; round < 100; round++) {
            mix(&course, &models, &mixed);
            models = mixed;
        }
        for (int w = 0; w < WORKERS_MAX; w++)
            spread = fmax(spread, fabs(models.of[w][0] - sum / WORKERS_MAX));
        assert_true(spread < 1e-4);
    }
}

/* ---- synthetic: sums of whole numbers, exact in any order ---- */

static float whole_number(int worker, uint64_t step, size_t i)
{
    return (float)((i * 29 + step * 5) % 1013 + (size_t)(worker + 1) * 1999);
}

static void whole_gradient(void *context, int worker, uint64_t step, const float *model, float *gradient)
{
    const struct pull *pull = context;
    assert_null(model);
    for (size_t i = 0; i < pull->setup->parameter_count; i++)
        gradient[i] = whole_number(worker, step, i);
}

/* Rounds of a node come in order: the course goes on with those of each node by itself. */
static void check_sum(void *context, int node, const float *sum, int contributors, size_t first, size_t count, uint64_t step)
{
    struct pull *pull = context;
    struct course course = *pull->course;
    const uint64_t mixed_in = step + (uint64_t)pull->setup->values[GOSSIP_OVERLAP];
    for (uint64_t round = 0; round <= mixed_in; round++)
        next_round(&course);
    assert_int_equal(contributors, active_degree(&course, node) + 1);
    for (size_t i = first; i < first + count; i++) {
        float expected = whole_number(node, step, i);
        for (int other = 0; other < pull->setup->workers; other++)
            expected += joined(&course, node, other) ? whole_number(other, step, i) : 0;
        assert_true(sum[i] == expected);
    }
    pull->checks++;
}

static void check_synthetic(struct scheme_setup *setup, uint64_t seed)
{
    cleanup(close_course) struct course course = course_of(setup);
    struct pull pull = {.setup = setup, .course = &course};
    struct memory_world_settings settings = hostile(setup, seed, &pull);
    settings.gradient = whole_gradient;
    settings.check = check_sum;
    cleanup(memory_world_cleanup) struct memory_world *world = run(&settings);
    assert_int_equal(pull.checks, setup->workers * (ROUNDS - (int)setup->values[GOSSIP_OVERLAP]));
}

static void test_synthetic_sums(void **state)
{
    (void)state;
    each_case(check_synthetic);
}

static void test_foreign_messages_fail_the_node(void **state)
{
    (void)state;
    static const struct {
        int source, destination;
        struct message_header header;
        size_t length;
    } foreign[] = {
        {0, 1, {.channel = 9, .kind = 1}, 4 * FLOATS},
        {0, 1, {.channel = 1, .kind = 7}, 4 * FLOATS},
        {0, 2, {.channel = 1, .kind = 1}, 4 * FLOATS}, /* no neighbour on a ring of 5 */
        {0, 1, {.channel = 1, .kind = 1}, 4 * FLOATS - 4},
        {0, 1, {.channel = 1, .kind = 1}, 4 * FLOATS + 4},
        {0, 1, {.channel = 1, .kind = 1, .step = 5}, 4 * FLOATS}, /* the true one is then a duplicate */
    };
    static const uint8_t payload[4 * FLOATS + 4];
    for (size_t f = 0; f < sizeof(foreign) / sizeof(foreign[0]); f++)
        for (uint64_t seed = 4; seed < 16; seed += 8) {
            struct scheme_setup setup = scheme_setup_of("d-psgd", 5, FLOATS, GRAPH_RING);
            setup.rounds = ROUNDS;
            struct pull pull = {.setup = &setup};
            struct memory_world_settings settings = hostile(&setup, seed, &pull);
            settings.gradient = whole_gradient;
            cleanup(memory_world_cleanup) struct memory_world *world = memory_world_new(&settings);
            memory_world_inject(world, foreign[f].source, foreign[f].destination, &foreign[f].header, payload, foreign[f].length);
            memory_world_run(world);
            assert_non_null(memory_world_failure(world));
            assert_non_null(strstr(memory_world_failure(world), "the nodes do not run the same scheme"));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models_are_those_of_the_formulas),
        cmocka_unit_test(test_whole_budget_is_d_psgd),
        cmocka_unit_test(test_complete_graph_is_allreduce_sgd),
        cmocka_unit_test(test_sum_of_models_is_kept),
        cmocka_unit_test(test_synthetic_sums),
        cmocka_unit_test(test_foreign_messages_fail_the_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
