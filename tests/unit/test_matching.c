/* tests/unit/test_matching.c: matchings share no worker and are few; probabilities and weights against brute force. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agents/mixing/matching_plan.h"
#include "agents/mixing/mixing.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"

#include <cmocka.h>

enum { WORKERS_MAX = 40, EDGES_MAX = WORKERS_MAX * WORKERS_MAX / 2, MATCHINGS_MAX = WORKERS_MAX + 1, SMALL = 8 };

/* Two triangles with a bridge: what all ways between them need. */
static const struct worker_edge barbell[] = {{0, 1}, {0, 2}, {1, 2}, {2, 3}, {3, 4}, {3, 5}, {4, 5}};
/* Four who all know each other, with a tail. */
static const struct worker_edge kite[] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}, {3, 4}, {4, 5}};
static const struct worker_edge star[] = {{0, 1}, {0, 2}, {0, 3}, {0, 4}};

/* Every worker has one edge of a matching at most; how many there are. */
static int check_matchings(const struct matchings *matchings)
{
    bool taken[WORKERS_MAX][MATCHINGS_MAX] = {{false}};
    struct worker_edge edges[EDGES_MAX];
    bool used[MATCHINGS_MAX] = {false};
    graph_edges(&matchings->graph, edges);
    for (int i = 0; i < graph_edge_count(&matchings->graph); i++) {
        const int low = edges[i].low, high = edges[i].high, matching = matching_of(matchings, low, high);
        assert_in_range(matching, 0, matchings->count - 1);
        assert_int_equal(matching, matching_of(matchings, high, low));
        assert_false(taken[low][matching] || taken[high][matching]);
        taken[low][matching] = taken[high][matching] = used[matching] = true;
    }
    for (int i = 0; i < matchings->count; i++)
        assert_true(used[i]);
    return matchings->count;
}

static void test_shapes(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    for (int workers = 1; workers <= WORKERS_MAX; workers++)
        for (int shape = 0; shape < GRAPH_FILE; shape++) {
            const struct graph graph = graph_make((enum graph_shape)shape, workers, NULL, 0);
            const struct matchings matchings = matchings_of(&graph, arena);
            const int count = check_matchings(&matchings), degree = graph_degree_most(&graph);
            const bool odd_ring = shape == GRAPH_TORUS && (graph.rows % 2 || graph.columns % 2);
            assert_in_range(count, degree, degree + 1 + odd_ring); /* a torus: each of its two kinds of rings */
            if (shape == GRAPH_COMPLETE && workers > 2)
                assert_int_equal(count, workers - 1 + workers % 2);
        }
}

/* Random graphs of any density; Vizing's bound. */
static void test_misra_gries(void **state)
{
    (void)state;
    struct rng rng = rng_stream(1, 0, 0, RNG_SCHEME);
    for (int round = 0; round < 300; round++) {
        cleanup(arena_cleanup) struct arena *arena = arena_new();
        const int workers = 2 + (int)rng_below(&rng, WORKERS_MAX - 1);
        const uint32_t density = 1 + rng_below(&rng, 100);
        struct worker_edge edges[EDGES_MAX];
        int count = 0;
        for (int a = 0; a < workers; a++)
            for (int b = a + 1; b < workers; b++)
                if (b == a + 1 || rng_below(&rng, 100) < density)
                    edges[count++] = (struct worker_edge){a, b};
        const struct graph graph = graph_make(GRAPH_FILE, workers, edges, count);
        const struct matchings matchings = matchings_of(&graph, arena);
        assert_in_range(check_matchings(&matchings), graph_degree_most(&graph), graph_degree_most(&graph) + 1);
    }
}

/* ---- probabilities ---- */

static void read_probabilities(const struct matching_plan *plan, double budget, double *p)
{
    double sum = 0;
    for (int i = 0; i < plan->matchings.count; i++) {
        p[i] = (double)plan->probabilities[i] / MATCHING_PLAN_ONE;
        assert_true(p[i] >= 0 && p[i] <= 1);
        sum += p[i];
    }
    assert_true(fabs(sum - budget * plan->matchings.count) <= plan->matchings.count * 0.5 / MATCHING_PLAN_ONE + 1e-9);
}

static void make(const struct graph *graph, double budget, struct arena *arena, struct matching_plan *plan, double *p)
{
    struct err err = {0};
    if (matching_plan_make(graph, budget, arena, plan, &err) < 0)
        fail_msg("%s", err.text);
    read_probabilities(plan, budget, p);
}

/* Where all matchings are alike none is more important. */
static void test_symmetric_optima(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    static const struct {
        enum graph_shape shape;
        int workers;
    } symmetric[] = {{GRAPH_RING, 4}, {GRAPH_RING, 16}, {GRAPH_COMPLETE, 6}, {GRAPH_COMPLETE, 7}, {GRAPH_TORUS, 16}};
    for (size_t i = 0; i < sizeof(symmetric) / sizeof(symmetric[0]); i++) {
        const struct graph graph = graph_make(symmetric[i].shape, symmetric[i].workers, NULL, 0);
        struct matching_plan plan;
        double p[MATCHINGS_MAX];
        make(&graph, 0.375, arena, &plan, p);
        for (int j = 0; j < plan.matchings.count; j++)
            assert_true(p[j] == 0.375);
    }
    const struct graph star_graph = graph_make(GRAPH_FILE, 5, star, 4);
    struct matching_plan plan;
    double p[MATCHINGS_MAX];
    make(&star_graph, 0.25, arena, &plan, p);
    for (int j = 0; j < 4; j++)
        assert_true(p[j] == 0.25);
}

/* Three matchings: every pair of two probabilities on a grid, the third from the budget. */
static void test_optimum_against_brute_force(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    const struct graph graph = graph_make(GRAPH_FILE, 6, barbell, 7);
    for (double budget = 0.1; budget < 0.95; budget += 0.2) {
        struct matching_plan plan;
        double p[MATCHINGS_MAX], best = 0, q[3];
        make(&graph, budget, arena, &plan, p);
        assert_int_equal(plan.matchings.count, 3);
        for (q[0] = 0; q[0] <= 1; q[0] += 1.0 / 64)
            for (q[1] = 0; q[1] <= 1; q[1] += 1.0 / 64) {
                q[2] = 3 * budget - q[0] - q[1];
                if (q[2] >= 0 && q[2] <= 1)
                    best = fmax(best, matching_plan_connectivity(&plan.matchings, q, NULL));
            }
        const double found = matching_plan_connectivity(&plan.matchings, p, NULL);
        assert_true(found > best * 0.999);
    }
    const struct graph tailed = graph_make(GRAPH_FILE, 6, kite, 8);
    for (double budget = 0.125; budget < 0.6; budget += 0.25) {
        struct matching_plan plan;
        double p[MATCHINGS_MAX], equal[MATCHINGS_MAX];
        make(&tailed, budget, arena, &plan, p);
        for (int j = 0; j < plan.matchings.count; j++)
            equal[j] = budget;
        assert_true(matching_plan_connectivity(&plan.matchings, p, NULL) >
                    1.2 * matching_plan_connectivity(&plan.matchings, equal, NULL));
    }
}

/* ---- the weight ---- */

/* By the definition: all subsets of matchings, with their probabilities. */
static double radius_by_subsets(const struct matchings *matchings, const double *p, double alpha)
{
    const int n = matchings->graph.workers;
    double expected[SMALL * SMALL], values[SMALL], laplacian[SMALL * SMALL], w[SMALL * SMALL];
    struct worker_edge edges[EDGES_MAX];
    graph_edges(&matchings->graph, edges);
    for (int i = 0; i < n * n; i++)
        expected[i] = -1.0 / n;
    for (unsigned subset = 0; subset < 1u << matchings->count; subset++) {
        double probability = 1;
        for (int j = 0; j < matchings->count; j++)
            probability *= subset >> j & 1 ? p[j] : 1 - p[j];
        memset(laplacian, 0, sizeof(laplacian));
        for (int i = 0; i < graph_edge_count(&matchings->graph); i++)
            if (subset >> matching_of(matchings, edges[i].low, edges[i].high) & 1)
                spectrum_add_edge(laplacian, n, edges[i], 1);
        for (int i = 0; i < n * n; i++)
            w[i] = (i % (n + 1) == 0) - alpha * laplacian[i];
        for (int row = 0; row < n; row++)
            for (int column = 0; column < n; column++)
                for (int k = 0; k < n; k++)
                    expected[row * n + column] += probability * w[row * n + k] * w[k * n + column];
    }
    assert_int_equal(spectrum_eigen(expected, n, false, values, NULL), 0);
    return values[n - 1];
}

static void test_weight_against_brute_force(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    const struct graph graphs[] = {graph_make(GRAPH_FILE, 6, barbell, 7), graph_make(GRAPH_RING, 5, NULL, 0),
                                   graph_make(GRAPH_RING, 8, NULL, 0),    graph_make(GRAPH_COMPLETE, 6, NULL, 0),
                                   graph_make(GRAPH_FILE, 5, star, 4),    graph_make(GRAPH_TORUS, 6, NULL, 0)};
    for (size_t g = 0; g < sizeof(graphs) / sizeof(graphs[0]); g++)
        for (double budget = 0.125; budget <= 1; budget += 0.25) {
            struct matching_plan plan;
            double p[MATCHINGS_MAX];
            make(&graphs[g], budget, arena, &plan, p);
            const double found = radius_by_subsets(&plan.matchings, p, plan.alpha);
            assert_true(found < 1);
            assert_true(fabs(found - matching_plan_radius(&plan.matchings, p, plan.alpha, NULL)) < 1e-9);
            for (double alpha = 1.0 / 128; alpha < 1.2; alpha += 1.0 / 128)
                assert_true(radius_by_subsets(&plan.matchings, p, alpha) >= found - 1e-7);
        }
}

static void test_whole_budget_is_d_psgd(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    for (int workers = 1; workers <= WORKERS_MAX; workers++)
        for (int shape = 0; shape < GRAPH_FILE; shape++) {
            const struct graph graph = graph_make((enum graph_shape)shape, workers, NULL, 0);
            struct matching_plan plan;
            struct spectrum spectrum;
            double p[MATCHINGS_MAX];
            make(&graph, 1, arena, &plan, p);
            assert_int_equal(spectrum_of_graph(&graph, &spectrum, NULL), 0);
            assert_true(plan.alpha == mixing_alpha_of(&spectrum));
            for (int j = 0; j < plan.matchings.count; j++)
                assert_int_equal(plan.probabilities[j], MATCHING_PLAN_ONE);
        }
}

static void test_draws(void **state)
{
    (void)state;
    static const uint32_t probabilities[] = {0, 16384, 32768, MATCHING_PLAN_ONE};
    struct rng rng = rng_stream(3, 1, RNG_ALL_NODES, RNG_COMMON);
    int counts[4] = {0};
    for (int round = 0; round < 10000; round++) {
        bool active[4];
        matching_plan_draw(probabilities, 4, &rng, active);
        for (int j = 0; j < 4; j++)
            counts[j] += active[j];
    }
    assert_true(counts[0] == 0 && counts[3] == 10000);
    assert_in_range(counts[1], 2500 - 173, 2500 + 173); /* four standard deviations */
    assert_in_range(counts[2], 5000 - 200, 5000 + 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_misra_gries),
        cmocka_unit_test(test_symmetric_optima),
        cmocka_unit_test(test_optimum_against_brute_force),
        cmocka_unit_test(test_weight_against_brute_force),
        cmocka_unit_test(test_whole_budget_is_d_psgd),
        cmocka_unit_test(test_draws),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
