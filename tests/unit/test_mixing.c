/* tests/unit/test_mixing.c: graphs between workers, their eigenvalues against closed forms, mixing weights and what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agents/mixing/mixing.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "tests/unit/scheme_rig.h"

#include <cmocka.h>

enum { WORKERS_MAX = 40, EDGES_MAX = WORKERS_MAX * WORKERS_MAX / 2 };

/* Two triangles with a bridge. */
static const struct worker_edge barbell[] = {{0, 1}, {0, 2}, {1, 2}, {2, 3}, {3, 4}, {3, 5}, {4, 5}};
static const struct worker_graph barbell_file = {.path = "barbell.txt", .edges = barbell, .count = 7};
static const struct worker_edge parted[] = {{0, 2}, {1, 3}, {2, 4}};
static const struct worker_graph parted_file = {.path = "parted.txt", .edges = parted, .count = 3};

static void check_graph(const struct graph *graph)
{
    int neighbours[WORKERS_MAX], degrees = 0, found = 0, scratch[WORKERS_MAX];
    struct worker_edge edges[EDGES_MAX];
    for (int a = 0; a < graph->workers; a++) {
        const int degree = graph_neighbours(graph, a, neighbours);
        assert_int_equal(degree, graph_degree(graph, a));
        assert_true(degree <= graph_degree_most(graph));
        degrees += degree;
        int next = 0;
        for (int b = 0; b < graph->workers; b++) {
            const bool joined = next < degree && neighbours[next] == b; /* ascending, each once */
            next += joined;
            assert_int_equal(graph_joins(graph, a, b), joined);
            assert_int_equal(graph_joins(graph, b, a), joined);
            assert_true(!joined || a != b);
        }
        assert_int_equal(next, degree);
    }
    assert_int_equal(2 * graph_edge_count(graph), degrees);
    graph_edges(graph, edges);
    for (int a = 0; a < graph->workers; a++)
        for (int b = a + 1; b < graph->workers; b++)
            if (graph_joins(graph, a, b)) {
                assert_true(edges[found].low == a && edges[found].high == b);
                found++;
            }
    assert_int_equal(found, graph_edge_count(graph));
    assert_int_equal(graph_unreached(graph, scratch), -1);
    assert_false(graph_joins(graph, 0, graph->workers) || graph_joins(graph, -1, 0));
}

static void test_shapes(void **state)
{
    (void)state;
    for (int workers = 1; workers <= WORKERS_MAX; workers++)
        for (int shape = 0; shape < GRAPH_FILE; shape++) {
            const struct graph graph = graph_make((enum graph_shape)shape, workers, NULL, 0);
            check_graph(&graph);
            const int degree = shape == GRAPH_COMPLETE ? workers - 1 : shape == GRAPH_RING ? 2 : 4;
            for (int worker = 0; worker < workers; worker++)
                assert_true(graph_degree(&graph, worker) <= degree);
        }
    const struct graph twelve = graph_make(GRAPH_TORUS, 12, NULL, 0), prime = graph_make(GRAPH_TORUS, 13, NULL, 0);
    assert_true(twelve.rows == 3 && twelve.columns == 4 && prime.rows == 1 && prime.columns == 13);
    assert_true(graph_joins(&twelve, 0, 3) && graph_joins(&twelve, 0, 8) && !graph_joins(&twelve, 0, 5));
    int neighbours[4];
    assert_int_equal(graph_neighbours(&twelve, 5, neighbours), 4);
    assert_true(neighbours[0] == 1 && neighbours[1] == 4 && neighbours[2] == 6 && neighbours[3] == 9);
    const struct graph square = graph_make(GRAPH_TORUS, 4, NULL, 0); /* rings of two share their edges */
    assert_int_equal(graph_edge_count(&square), 4);
    struct { /* at an odd address, as a blob may lie */
        char odd;
        char edges[sizeof(barbell)];
    } blob;
    memcpy(blob.edges, barbell, sizeof(barbell));
    const struct graph file = graph_make(GRAPH_FILE, 6, blob.edges, 7);
    check_graph(&file);
    assert_int_equal(graph_degree_most(&file), 3);
}

static void test_unreached(void **state)
{
    (void)state;
    int scratch[6];
    const struct graph graph = graph_make(GRAPH_FILE, 5, parted, 3);
    assert_int_equal(graph_unreached(&graph, scratch), 1);
    const struct graph lonely = graph_make(GRAPH_FILE, 6, barbell, 4); /* 4 and 5 have no edge */
    assert_int_equal(graph_unreached(&lonely, scratch), 4);
}

/* LAPACK of the whole Laplacian beside the closed forms. */
static void test_eigenvalues(void **state)
{
    (void)state;
    double matrix[WORKERS_MAX * WORKERS_MAX], values[WORKERS_MAX];
    struct worker_edge edges[EDGES_MAX];
    struct err err = {0};
    for (int workers = 2; workers <= WORKERS_MAX; workers += workers < 12 ? 1 : 7)
        for (int shape = 0; shape < GRAPH_FILE; shape++) {
            const struct graph graph = graph_make((enum graph_shape)shape, workers, NULL, 0);
            struct spectrum spectrum, computed;
            memset(matrix, 0, sizeof(matrix));
            graph_edges(&graph, edges);
            for (int i = 0; i < graph_edge_count(&graph); i++)
                spectrum_add_edge(matrix, workers, edges[i], 1);
            assert_int_equal(spectrum_eigen(matrix, workers, false, values, &err), 0);
            assert_int_equal(spectrum_of_graph(&graph, &spectrum, &err), 0);
            assert_true(fabs(values[0]) < 1e-12 * workers);
            assert_true(fabs(values[1] - spectrum.second) < 1e-12 * workers);
            assert_true(fabs(values[workers - 1] - spectrum.largest) < 1e-12 * workers);
            for (int k = 0; shape == GRAPH_RING && workers > 2 && k < workers; k++) { /* in pairs, from the least on */
                const double expected = 2 - 2 * cos(2 * M_PI * ((k + 1) / 2) / workers);
                assert_true(fabs(values[k] - expected) < 1e-12 * workers);
            }
            const struct graph file = graph_make(GRAPH_FILE, workers, edges, graph_edge_count(&graph));
            assert_int_equal(spectrum_of_graph(&file, &computed, &err), 0);
            assert_true(mixing_alpha_of(&computed) == mixing_alpha_of(&spectrum)); /* to the bit, thanks to the grid */
        }
}

static void test_eigenvectors(void **state)
{
    (void)state;
    double matrix[36] = {0}, vectors[36], values[6];
    struct err err = {0};
    for (int i = 0; i < 7; i++)
        spectrum_add_edge(matrix, 6, barbell[i], 1 + i);
    memcpy(vectors, matrix, sizeof(matrix));
    assert_int_equal(spectrum_eigen(vectors, 6, true, values, &err), 0);
    for (int k = 0; k < 6; k++)
        for (int row = 0; row < 6; row++) {
            double product = 0;
            for (int column = 0; column < 6; column++)
                product += matrix[6 * row + column] * vectors[6 * k + column];
            assert_true(fabs(product - values[k] * vectors[6 * k + row]) < 1e-12 * values[5]);
        }
}

static float alpha_of(enum graph_shape shape, int workers)
{
    struct scheme_setup setup = scheme_setup_of("d-psgd", workers, 10, shape);
    struct err err = {0};
    assert_int_equal(setup.scheme->check(&setup, &err), 0);
    return mixing_alpha(&setup, &err);
}

static void test_weights(void **state)
{
    (void)state;
    for (int workers = 2; workers <= 1000; workers += 1 + workers / 7) { /* the mean of all models */
        const float alpha = alpha_of(GRAPH_COMPLETE, workers);
        assert_true(alpha == (float)(1.0 / workers));
        assert_true(fabsf(mixing_own_weight(alpha, workers - 1) * (float)workers - 1) < 1e-4);
    }
    assert_true(alpha_of(GRAPH_RING, 4) == 1.0f / 3 && alpha_of(GRAPH_RING, 2) == 0.5f && alpha_of(GRAPH_RING, 1) == 0);
    assert_true(alpha_of(GRAPH_TORUS, 16) == 0.2f); /* 2 / (2 + 8) */
    /* No other weight makes the largest distance from the mean shrink faster. */
    struct spectrum spectrum;
    const struct graph graph = graph_make(GRAPH_FILE, 6, barbell, 7);
    assert_int_equal(spectrum_of_graph(&graph, &spectrum, NULL), 0);
    const double best = mixing_alpha_of(&spectrum), second = spectrum.second, largest = spectrum.largest;
    const double radius = fmax(fabs(1 - best * second), fabs(1 - best * largest));
    assert_true(radius < 1);
    for (double alpha = 0; alpha < 1; alpha += 1.0 / 512)
        assert_true(fmax(fabs(1 - alpha * second), fabs(1 - alpha * largest)) >= radius - 1e-6);
}

static void test_file_travels_in_the_blob(void **state)
{
    (void)state;
    struct err err = {0};
    struct scheme_setup setup = scheme_setup_of("d-psgd", 6, 10, GRAPH_FILE);
    setup.graph = &barbell_file;
    assert_int_equal(setup.scheme->check(&setup, &err), 0);
    struct blob blob = {0};
    assert_int_equal(setup.scheme->prepare(&setup, &blob, &err), 0);
    struct scheme_setup node = setup;
    node.graph = NULL;
    node.prepared = blob.bytes;
    node.prepared_bytes = blob.length;
    assert_int_equal(mixing_blob_bytes(&node), blob.length);
    assert_true(mixing_alpha(&node, &err) == mixing_alpha(&setup, &err));
    for (int a = 0; a < 6; a++) {
        assert_int_equal(setup.scheme->spans_a_round(&setup, a), setup.scheme->spans_a_round(&node, a));
        for (int b = 0; b < 6; b++)
            assert_int_equal(scheme_talks(&setup, a, b), scheme_talks(&node, a, b));
    }
    assert_true(scheme_talks(&node, 2, 3) && !scheme_talks(&node, 2, 4));
    free(blob.bytes);
}

static void test_refused(void **state)
{
    (void)state;
    struct err err = {0};
    struct scheme_setup setup = scheme_setup_of("d-psgd", 5, 10, GRAPH_FILE);
    assert_int_equal(setup.scheme->check(&setup, &err), -ERR_USAGE);
    assert_non_null(strstr(err.text, "needs the field worker_graph"));
    setup.graph = &parted_file;
    assert_int_equal(setup.scheme->check(&setup, &err), -ERR_USAGE);
    assert_non_null(strstr(err.text, "no way along its edges leads from worker 0 to worker 1"));
    setup.workers = setup.nodes = SPECTRUM_WORKERS_MOST + 1;
    assert_int_equal(setup.scheme->check(&setup, &err), -ERR_USAGE);
    assert_non_null(strstr(err.text, "allows 2 to 1024"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),       cmocka_unit_test(test_unreached), cmocka_unit_test(test_eigenvalues),
        cmocka_unit_test(test_eigenvectors), cmocka_unit_test(test_weights),   cmocka_unit_test(test_file_travels_in_the_blob),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
