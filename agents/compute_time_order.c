/* compute_time_order.c: means of order statistics: how long it takes until k of n workers are done.
 *
 * The k-th smallest of n independent times exceeds t exactly when at least n-k+1 of them exceed t. With S(t) = P(X > t) and worker
 * i slowed by f_i, the number of times above t is a sum of independent Bernoulli(S(t / f_i)), and
 *
 *     E[max(X, c)_{k:n}] = E[max(X_{k:n}, c)] = c + integral over t > c of P(at least n-k+1 are above t) dt.
 *
 * (Where each time is the least of m draws, S^m stands for S.) Workers with the same factor form a group, whose count above t is
 * binomial; groups are combined by convolution. All terms are positive, so nothing cancels. The integral runs over log t, where
 * light and heavy tails alike are smooth, in segments between the points where a group's support begins (the only kinks), each by
 * adaptive Gauss-Kronrod quadrature. A power tail beyond the last point is added in closed form: where S is small, P ~ C t^-(power
 * (n-k+1)), whose integral from T on is T P(T) / (power (n-k+1) - 1).
 *
 * Cost for g groups: about 1,000 evaluations of n exponentials and, for g > 2, n^2 / 2 products. */
#include <assert.h>
#include <math.h>
#include <stddef.h>

#include "agents/compute_time_internal.h"
#include "base/arena.h"
#include "base/cleanup.h"

enum { PIECES = 32, DEPTH_MAX = 40 };
static const double tolerance = 1e-10; /* of one piece, relative to the whole */

struct group {
    double factor;
    int count;
};

struct order_problem {
    const struct distribution *distribution;
    const struct compute_time_row *row;
    struct group *groups; /* by rising factor */
    int group_count;
    int needed;               /* n-k+1 */
    int least_of;             /* draws of which each time is the least */
    double *log_factorial;    /* 0 .. n */
    double *sum, *next, *one; /* n+1 probabilities each: of all groups so far, with one more, of one group */
};

/* probability[j] = P(j of count are above), j = 0 .. count */
static void binomial(const struct order_problem *problem, int count, double above, double *probability)
{
    double log_above = log(above), log_below = log1p(-above);
    for (int j = 0; j <= count; j++) {
        double exponent = problem->log_factorial[count] - problem->log_factorial[j] - problem->log_factorial[count - j];
        exponent += (j > 0 ? j * log_above : 0.0) + (j < count ? (count - j) * log_below : 0.0); /* 0 x -infinity is not wanted */
        probability[j] = exp(exponent);
    }
}

static double probability_above(const struct order_problem *problem, const struct group *group, double t)
{
    const double above = problem->row->above(problem->distribution, t / group->factor);
    double all_above = above;
    for (int i = 1; i < problem->least_of; i++)
        all_above *= above;
    return all_above;
}

/* P(X_{k:n} > t) */
static double order_above(struct order_problem *problem, double t)
{
    int total = 0;
    problem->sum[0] = 1.0;
    for (int g = 0; g < problem->group_count - 1; g++) {
        const struct group *group = &problem->groups[g];
        binomial(problem, group->count, probability_above(problem, group, t), problem->one);
        for (int j = 0; j <= total + group->count; j++)
            problem->next[j] = 0.0;
        for (int i = 0; i <= total; i++)
            for (int j = 0; j <= group->count; j++)
                problem->next[i + j] += problem->sum[i] * problem->one[j];
        double *swap = problem->sum;
        problem->sum = problem->next;
        problem->next = swap;
        total += group->count;
    }
    /* The last group needs no convolution: its upper tail is enough. */
    const struct group *last = &problem->groups[problem->group_count - 1];
    binomial(problem, last->count, probability_above(problem, last, t), problem->one);
    for (int j = last->count - 1; j >= 0; j--)
        problem->one[j] += problem->one[j + 1];
    double above = 0.0;
    for (int i = 0; i <= total; i++) {
        int missing = problem->needed > i ? problem->needed - i : 0;
        if (missing <= last->count)
            above += problem->sum[i] * problem->one[missing];
    }
    return above;
}

static double integrand(struct order_problem *problem, double log_t)
{
    double t = exp(log_t);
    return t * order_above(problem, t);
}

/* The 15-point Kronrod rule over the 7-point Gauss rule (QUADPACK's qk15): nodes from the outside in, Gauss nodes at odd places. */
static double gauss_kronrod(struct order_problem *problem, double low, double high, double *error)
{
    static const double node[8] = {0.991455371120812639206854697526329, 0.949107912342758524526189684047851,
                                   0.864864423359769072789712788640926, 0.741531185599394439863864773280788,
                                   0.586087235467691130294144691258380, 0.405845151377397166906606412076961,
                                   0.207784955007898467600689403773245, 0.0};
    static const double kronrod[8] = {0.022935322010529224963732008058970, 0.063092092629978553290700663189204,
                                      0.104790010322250183839876322541518, 0.140653259715525918745189590510238,
                                      0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
                                      0.204432940075298892414161999234649, 0.209482141084727828012999174891714};
    static const double gauss[4] = {0.129484966168869693270611432679082, 0.279705391489276667901467771423780,
                                    0.381830050505118944950369775488975, 0.417959183673469387755102040816327};
    double centre = 0.5 * (low + high), half = 0.5 * (high - low), fine = 0.0, coarse = 0.0;
    for (int i = 0; i < 8; i++) {
        double value = integrand(problem, centre + half * node[i]);
        if (i < 7)
            value += integrand(problem, centre - half * node[i]);
        fine += kronrod[i] * value;
        if (i % 2 == 1)
            coarse += gauss[i / 2] * value;
    }
    *error = fabs(fine - coarse) * half;
    return fine * half;
}

static double refine(struct order_problem *problem, double low, double high, double allowed, int depth)
{
    double error, centre = 0.5 * (low + high);
    double value = gauss_kronrod(problem, low, high, &error);
    if (error <= allowed || depth == 0)
        return value;
    return refine(problem, low, centre, allowed, depth - 1) + refine(problem, centre, high, allowed, depth - 1);
}

/* Over one segment without kinks, in equal pieces; allowed < 0: one look at each piece, for the size of the whole. */
static double integrate_segment(struct order_problem *problem, double low, double high, int pieces, double allowed)
{
    double total = 0.0, error, step = (log(high) - log(low)) / pieces;
    for (int i = 0; i < pieces; i++) {
        double from = log(low) + i * step, to = i == pieces - 1 ? log(high) : from + step;
        total += allowed < 0.0 ? gauss_kronrod(problem, from, to, &error) : refine(problem, from, to, allowed, DEPTH_MAX);
    }
    return total;
}

static double integrate(struct order_problem *problem, double begin, double low, double high, double allowed)
{
    double total = 0.0, from = low;
    assert(problem->group_count > 0);
    int pieces = 1 + PIECES / problem->group_count;
    for (int g = 0; g <= problem->group_count; g++) {
        double to = g < problem->group_count ? begin * problem->groups[g].factor : high;
        if (to <= from)
            continue;
        if (to > high)
            to = high;
        if (to > from)
            total += integrate_segment(problem, from, to, pieces, allowed);
        from = to;
    }
    return total;
}

static void add_to_groups(struct order_problem *problem, double factor)
{
    int place = problem->group_count;
    while (place > 0 && problem->groups[place - 1].factor > factor)
        place--;
    if (place > 0 && problem->groups[place - 1].factor == factor) {
        problem->groups[place - 1].count++;
        return;
    }
    for (int i = problem->group_count++; i > place; i--)
        problem->groups[i] = problem->groups[i - 1];
    problem->groups[place] = (struct group){.factor = factor, .count = 1};
}

static double harmonic_difference(int n, int k)
{
    double sum = 0.0;
    for (int i = n; i > n - k; i--)
        sum += 1.0 / i;
    return sum;
}

static double order_mean(const struct distribution *distribution, int k, int n, const double *factors, int least_of,
                         double floor_ns)
{
    assert(k >= 1 && k <= n);
    cleanup(arena_cleanup) struct arena *scratch = arena_new();
    struct order_problem problem = {.distribution = distribution,
                                    .row = compute_time_row(distribution->kind),
                                    .groups = arena_new_array(scratch, struct group, (size_t)n),
                                    .needed = n - k + 1,
                                    .least_of = least_of,
                                    .log_factorial = arena_new_array(scratch, double, (size_t)n + 1),
                                    .sum = arena_new_array(scratch, double, (size_t)n + 1),
                                    .next = arena_new_array(scratch, double, (size_t)n + 1),
                                    .one = arena_new_array(scratch, double, (size_t)n + 1)};
    for (int i = 0; i < n; i++) {
        add_to_groups(&problem, factors ? factors[i] : 1.0);
        problem.log_factorial[i + 1] = problem.log_factorial[i] + log(i + 1.0);
    }
    double smallest = problem.groups[0].factor, largest = problem.groups[problem.group_count - 1].factor;
    if (distribution->kind == DISTRIBUTION_EXPONENTIAL && smallest == largest && floor_ns <= 0.0)
        return smallest * distribution->mean_ns / least_of * harmonic_difference(n, k);

    double range[3];
    problem.row->range(distribution, range);
    double low = fmax(floor_ns, smallest * range[1]), high = fmax(low, largest * range[2]), tail = 0.0;
    if (low <= 0.0)
        return 0.0; /* a constant of nothing */
    if (problem.row->tail_power) {
        double power = problem.row->tail_power(distribution) * problem.needed * least_of;
        if (power <= 1.0)
            return INFINITY;
        tail = high * order_above(&problem, high) / (power - 1.0);
    }
    double size = low + tail + integrate(&problem, range[0], low, high, -1.0);
    return low + tail + integrate(&problem, range[0], low, high, tolerance * size);
}

double compute_time_order_mean(const struct distribution *distribution, int k, int n, const double *factors, double floor_ns)
{
    return order_mean(distribution, k, n, factors, 1, floor_ns);
}

double compute_time_least_order_mean(const struct distribution *distribution, int k, int n, int least_of, double floor_ns)
{
    return order_mean(distribution, k, n, NULL, least_of, floor_ns);
}
