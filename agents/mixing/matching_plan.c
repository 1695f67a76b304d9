/* agents/mixing/matching_plan.c: probabilities of matchings and their weight; see matching_plan.h. */
#include "agents/mixing/matching_plan.h"

#include <math.h>
#include <string.h>

#include "agents/mixing/mixing.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/detmath.h"
#include "base/err.h"

struct problem {
    const struct matchings *matchings;
    int workers, edge_count;
    struct worker_edge *edges;
    int *of_edge;    /* matching of each edge */
    double *matrix;  /* [workers][workers]: becomes its eigenvectors */
    double *product; /* likewise, scratch */
    double *values;  /* [workers], ascending */
};

static struct problem problem_of(const struct matchings *matchings, struct arena *arena)
{
    const struct graph *graph = &matchings->graph;
    const size_t workers = (size_t)graph->workers;
    struct problem problem = {.matchings = matchings, .workers = graph->workers, .edge_count = graph_edge_count(graph)};
    problem.edges = arena_new_array(arena, struct worker_edge, (size_t)problem.edge_count + 1);
    problem.of_edge = arena_new_array(arena, int, (size_t)problem.edge_count + 1);
    problem.matrix = arena_new_array(arena, double, workers *workers);
    problem.product = arena_new_array(arena, double, workers *workers);
    problem.values = arena_new_array(arena, double, workers);
    graph_edges(graph, problem.edges);
    for (int i = 0; i < problem.edge_count; i++)
        problem.of_edge[i] = matching_of(matchings, problem.edges[i].low, problem.edges[i].high);
    return problem;
}

static size_t matrix_size(const struct problem *problem)
{
    return (size_t)problem->workers * (size_t)problem->workers;
}

/* Adds factor x sum_j weight(p_j) L_j. */
static void add_laplacian(const struct problem *problem, const double *p, bool variance, double factor, double *matrix)
{
    for (int i = 0; i < problem->edge_count; i++) {
        const double one = p[problem->of_edge[i]];
        spectrum_add_edge(matrix, problem->workers, problem->edges[i], factor * (variance ? one * (1 - one) : one));
    }
}

static double difference(const struct problem *problem, const double *vector, int edge)
{
    return vector[problem->edges[edge].low] - vector[problem->edges[edge].high];
}

/* ---- probabilities ---- */

/* Of Lbar; the eigenvectors stand in problem->matrix where they are asked for. */
static int eigen_of(struct problem *problem, const double *p, bool vectors, struct err *err)
{
    memset(problem->matrix, 0, matrix_size(problem) * sizeof(double));
    add_laplacian(problem, p, false, 1, problem->matrix);
    return spectrum_eigen(problem->matrix, problem->workers, vectors, problem->values, err);
}

static double softness(const struct problem *problem, double beta, int k)
{
    return detmath_exp(fmax(-700, -beta * (problem->values[k] - problem->values[1])));
}

/* Of the smooth bound; the weights of eigenvalues fall by their distance from the second. */
static int gradient_of(struct problem *problem, const double *p, double beta, double *gradient, struct err *err)
{
    const int workers = problem->workers;
    int result = eigen_of(problem, p, true, err);
    if (result < 0)
        return result;
    double total = 0;
    memset(gradient, 0, (size_t)problem->matchings->count * sizeof(*gradient));
    for (int k = 1; k < workers; k++)
        total += softness(problem, beta, k);
    for (int k = 1; k < workers; k++) {
        const double weight = softness(problem, beta, k) / total;
        const double *vector = problem->matrix + (size_t)k * (size_t)workers;
        if (weight < 1e-12)
            break;
        for (int i = 0; i < problem->edge_count; i++)
            gradient[problem->of_edge[i]] += weight * difference(problem, vector, i) * difference(problem, vector, i);
    }
    return 0;
}

/* The nearest point with 0 <= p <= 1 and the sum: all are moved by the same, found by bisection, and cut. */
static void project(double *p, int count, double sum)
{
    double low = -2, high = 2;
    for (int i = 0; i < count; i++) {
        low = fmin(low, p[i] - 1);
        high = fmax(high, p[i]);
    }
    for (int halving = 0; halving < 60; halving++) {
        const double shift = (low + high) / 2;
        double found = 0;
        for (int i = 0; i < count; i++)
            found += fmin(1, fmax(0, p[i] - shift));
        if (found > sum)
            low = shift;
        else
            high = shift;
    }
    for (int i = 0; i < count; i++)
        p[i] = fmin(1, fmax(0, p[i] - (low + high) / 2));
}

/* Accelerated ascent with a step that suits the bound's curvature, beta x (largest eigenvalue of an L_j)^2 at most, and a larger
 * beta again and again. */
static int optimise(struct problem *problem, double budget, double *p, struct arena *scratch, struct err *err)
{
    enum { STAGES = 6, STEPS = 100 };
    const int count = problem->matchings->count;
    double *ahead = arena_new_array(scratch, double, (size_t)count), *before = arena_new_array(scratch, double, (size_t)count);
    double *gradient = arena_new_array(scratch, double, (size_t)count);
    int result = eigen_of(problem, p, false, err);
    double beta = result == 0 ? 8 / problem->values[1] : 0;
    for (int stage = 0; stage < STAGES && result == 0; stage++, beta *= 4) {
        memcpy(ahead, p, (size_t)count * sizeof(*p));
        for (int step = 0; step < STEPS && result == 0; step++) {
            result = gradient_of(problem, ahead, beta, gradient, err);
            memcpy(before, p, (size_t)count * sizeof(*p));
            for (int i = 0; i < count; i++)
                p[i] = ahead[i] + gradient[i] / (4 * beta);
            project(p, count, budget * count);
            for (int i = 0; i < count; i++)
                ahead[i] = p[i] + step / (step + 3.0) * (p[i] - before[i]);
        }
    }
    return result;
}

double matching_plan_connectivity(const struct matchings *matchings, const double *probabilities, struct err *err)
{
    cleanup(arena_cleanup) struct arena *scratch = arena_new();
    struct problem problem = problem_of(matchings, scratch);
    return eigen_of(&problem, probabilities, false, err) < 0 ? NAN : problem.values[1];
}

/* ---- the weight ---- */

/* matrix = E[W^2] - J; its eigenvalues and eigenvectors. */
static int eigen_of_square(struct problem *problem, const double *p, double alpha, struct err *err)
{
    const int workers = problem->workers;
    double *mean = problem->product;
    memset(mean, 0, matrix_size(problem) * sizeof(double));
    add_laplacian(problem, p, false, 1, mean);
    for (int row = 0; row < workers; row++)
        for (int column = 0; column < workers; column++) {
            double product = 0;
            for (int k = 0; k < workers; k++)
                product += mean[row * workers + k] * mean[column * workers + k];
            problem->matrix[row * workers + column] =
                (row == column) - 1.0 / workers - 2 * alpha * mean[row * workers + column] + alpha * alpha * product;
        }
    add_laplacian(problem, p, true, 2 * alpha * alpha, problem->matrix);
    return spectrum_eigen(problem->matrix, workers, true, problem->values, err);
}

double matching_plan_radius(const struct matchings *matchings, const double *probabilities, double alpha, struct err *err)
{
    cleanup(arena_cleanup) struct arena *scratch = arena_new();
    struct problem problem = problem_of(matchings, scratch);
    return eigen_of_square(&problem, probabilities, alpha, err) < 0 ? NAN : problem.values[problem.workers - 1];
}

/* How the largest eigenvalue changes with alpha; where several are the largest, in the mean over all of them, in whatever basis:
 * a subgradient. */
static int slope_of(struct problem *problem, const double *p, double alpha, double *slope, struct err *err)
{
    const int workers = problem->workers;
    int result = eigen_of_square(problem, p, alpha, err), alike = 0;
    const double *mean = problem->product, largest = problem->values[workers - 1];
    *slope = 0;
    for (int k = workers - 1; k >= 0 && problem->values[k] > largest - 1e-10 && result == 0; k--, alike++) {
        const double *vector = problem->matrix + (size_t)k * (size_t)workers;
        double linear = 0, square = 0;
        for (int row = 0; row < workers; row++) {
            double product = 0;
            for (int column = 0; column < workers; column++)
                product += mean[row * workers + column] * vector[column];
            linear += vector[row] * product;
            square += product * product;
        }
        for (int i = 0; i < problem->edge_count; i++) {
            const double one = p[problem->of_edge[i]];
            square += 2 * one * (1 - one) * difference(problem, vector, i) * difference(problem, vector, i);
        }
        *slope += 2 * alpha * square - 2 * linear;
    }
    return result;
}

static int search_alpha(struct problem *problem, const double *p, float *alpha, struct err *err)
{
    enum { DOUBLINGS = 6, HALVINGS = 48 };
    double low = 0, high = 1, slope = -1;
    int result = 0;
    for (int i = 0; i < DOUBLINGS && slope < 0 && result == 0; i++) {
        result = slope_of(problem, p, high, &slope, err);
        low = slope < 0 ? high : low;
        high = slope < 0 ? 2 * high : high;
    }
    for (int i = 0; i < HALVINGS && result == 0; i++) {
        const double middle = (low + high) / 2;
        result = slope_of(problem, p, middle, &slope, err);
        low = slope < 0 ? middle : low;
        high = slope < 0 ? high : middle;
    }
    *alpha = (float)((low + high) / 2);
    return result;
}

/* All matchings alike: E[W^2] has eigenvalues 1 - 2 a p l + a^2 (p^2 l^2 + 2 p (1-p) l) for those l of L, the largest at one of the
 * ends. That of the second is least at 1/(p l + 2 (1-p)), and from where both are equal the other one is larger. */
static int equal_alpha(const struct graph *graph, double p, float *alpha, struct err *err)
{
    struct spectrum spectrum;
    int result = spectrum_of_graph(graph, &spectrum, err);
    if (result < 0)
        return result;
    if (p == 1 || graph->workers == 1)
        *alpha = mixing_alpha_of(&spectrum);
    else
        *alpha = (float)fmin(1 / (p * spectrum.second + 2 * (1 - p)), 2 / (p * (spectrum.second + spectrum.largest) + 2 * (1 - p)));
    return 0;
}

/* ---- both ---- */

int matching_plan_make(const struct graph *graph, double budget, struct arena *arena, struct matching_plan *plan, struct err *err)
{
    cleanup(arena_cleanup) struct arena *scratch = arena_new();
    *plan = (struct matching_plan){.matchings = matchings_of(graph, arena)};
    const int count = plan->matchings.count;
    double *p = arena_new_array(scratch, double, (size_t)count + 1);
    uint32_t *rounded = arena_new_array(arena, uint32_t, (size_t)count + 1);
    for (int i = 0; i < count; i++)
        p[i] = budget;
    const bool chosen = graph->workers <= MATCHING_PLAN_WORKERS_MOST && budget < 1 && count > 1;
    struct problem problem = {0};
    if (chosen) {
        problem = problem_of(&plan->matchings, scratch);
        int result = optimise(&problem, budget, p, scratch, err);
        if (result < 0)
            return result;
    }
    bool equal = true;
    for (int i = 0; i < count; i++) {
        rounded[i] = (uint32_t)lrint(p[i] * MATCHING_PLAN_ONE);
        p[i] = (double)rounded[i] / MATCHING_PLAN_ONE;
        equal = equal && rounded[i] == rounded[0];
    }
    plan->probabilities = rounded;
    return chosen && !equal ? search_alpha(&problem, p, &plan->alpha, err) : equal_alpha(graph, p[0], &plan->alpha, err);
}
