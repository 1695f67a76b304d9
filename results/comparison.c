/* results/comparison.c: the rank test, the effects, and Holm's correction; see comparison.h. */
#include "results/comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "results/comparison_internal.h"
#include "results/statistics.h"

struct ranked {
    double value;
    bool of_base;
    int doubled_rank; /* 2 x the mean rank of its ties: whole */
};

static int compare_ranked(const void *a, const void *b)
{
    double left = ((const struct ranked *)a)->value, right = ((const struct ranked *)b)->value;
    return (left > right) - (left < right);
}

/* Ranks from 1; the values at positions first .. last, all equal, get (first + last) / 2. Returns the sum of t^3 - t over ties. */
static double rank_all(struct ranked *pool, size_t count)
{
    double ties = 0;
    for (size_t first = 0, last; first < count; first = last + 1) {
        last = first;
        while (last + 1 < count && pool[last + 1].value == pool[first].value)
            last++;
        for (size_t i = first; i <= last; i++)
            pool[i].doubled_rank = (int)(first + last + 2);
        double tied = (double)(last - first + 1);
        ties += tied * tied * tied - tied;
    }
    return ties;
}

/* Of the base's values. */
static double doubled_rank_sum(const struct ranked *pool, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += pool[i].of_base ? pool[i].doubled_rank : 0;
    return sum;
}

/* How many of the splits that give the base `chosen` of the pool have each sum of doubled ranks: an item is either not in the base,
 * or it is and adds its rank. 40 items have C(40, 20) = 1.4e11 splits at most, which a double counts exactly. Returns
 * counts[0 .. most], NULL when memory is short. */
static double *count_splits(const struct ranked *pool, size_t count, size_t chosen, int most)
{
    size_t width = (size_t)most + 1;
    cleanup(free_pointer) double *ways = calloc((chosen + 1) * width, sizeof(*ways));
    double *counts = calloc(width, sizeof(*counts));
    if (!ways || !counts) {
        free(counts);
        return NULL;
    }
    ways[0] = 1;
    for (size_t item = 0; item < count; item++) {
        size_t rank = (size_t)pool[item].doubled_rank;
        for (size_t taken = chosen; taken-- > 0;)
            for (size_t sum = 0; sum + rank < width; sum++)
                ways[(taken + 1) * width + sum + rank] += ways[taken * width + sum];
    }
    memcpy(counts, ways + chosen * width, width * sizeof(*counts));
    return counts;
}

/* Twice the smaller tail, the observed sum in both: with ties the distribution need not be symmetric. */
static double exact_p(const struct ranked *pool, size_t count, size_t chosen, int observed)
{
    int most = 0;
    for (size_t i = 0; i < count; i++)
        most += pool[i].doubled_rank;
    cleanup(free_pointer) double *counts = count_splits(pool, count, chosen, most);
    if (!counts)
        return NAN;
    double below = 0, above = 0, all = 0;
    for (int sum = 0; sum <= most; sum++) {
        all += counts[sum];
        below += sum <= observed ? counts[sum] : 0;
        above += sum >= observed ? counts[sum] : 0;
    }
    return fmin(1, 2 * fmin(below, above) / all);
}

/* With the correction for ties and for continuity. */
static double normal_p(double u, double base_count, double candidate_count, double ties)
{
    double count = base_count + candidate_count, pairs = base_count * candidate_count;
    double variance = pairs / 12 * (count + 1 - ties / (count * (count - 1)));
    if (!(variance > 0))
        return 1; /* all values are equal */
    double z = (fmax(u, pairs - u) - pairs / 2 - 0.5) / sqrt(variance);
    return fmin(1, erfc(z / sqrt(2)));
}

/* Both samples, ranked, with u and the ties; NULL: one is empty, or memory is short. */
static struct ranked *rank_both(struct sample base, struct sample candidate, double *u, double *ties)
{
    const size_t count = base.count + candidate.count;
    if (base.count == 0 || candidate.count == 0)
        return NULL;
    struct ranked *pool = calloc(count, sizeof(*pool));
    if (!pool)
        return NULL;
    for (size_t i = 0; i < count; i++)
        pool[i] = i < base.count ? (struct ranked){.value = base.values[i], .of_base = true}
                                 : (struct ranked){.value = candidate.values[i - base.count]};
    qsort(pool, count, sizeof(*pool), compare_ranked);
    *ties = rank_all(pool, count);
    *u = doubled_rank_sum(pool, count) / 2 - (double)base.count * ((double)base.count + 1) / 2;
    return pool;
}

struct mann_whitney comparison_mann_whitney(struct sample base, struct sample candidate)
{
    struct mann_whitney result = {.u = NAN, .p = NAN};
    const size_t count = base.count + candidate.count;
    double ties;
    cleanup(free_pointer) struct ranked *pool = rank_both(base, candidate, &result.u, &ties);
    if (!pool)
        return result;
    result.exact = base.count <= COMPARISON_EXACT_MOST && candidate.count <= COMPARISON_EXACT_MOST;
    result.p = result.exact ? exact_p(pool, count, base.count, (int)doubled_rank_sum(pool, count))
                            : normal_p(result.u, (double)base.count, (double)candidate.count, ties);
    return result;
}

/* At most 1000 values that stand for all: their quantiles. */
static size_t thin(struct sample sample, double *values)
{
    enum { MOST = COMPARISON_THINNED };
    if (sample.count == 0) /* an empty one may have no values to point to */
        return 0;
    if (sample.count <= MOST) {
        memcpy(values, sample.values, sample.count * sizeof(*values));
        return sample.count;
    }
    cleanup(free_pointer) double *sorted = calloc(sample.count, sizeof(*sorted));
    if (!sorted)
        return 0;
    memcpy(sorted, sample.values, sample.count * sizeof(*sorted));
    comparison_sort(sorted, sample.count);
    for (size_t i = 0; i < MOST; i++)
        values[i] = sorted[(2 * i + 1) * sample.count / (2 * MOST)];
    return MOST;
}

double comparison_shift(struct sample base, struct sample candidate)
{
    enum { MOST = COMPARISON_THINNED };
    cleanup(free_pointer) double *first = calloc(MOST, sizeof(*first)), *second = calloc(MOST, sizeof(*second));
    size_t first_count = first ? thin(base, first) : 0, second_count = second ? thin(candidate, second) : 0;
    size_t pairs = first_count * second_count;
    if (pairs == 0)
        return NAN;
    cleanup(free_pointer) double *differences = calloc(pairs, sizeof(*differences));
    if (!differences)
        return NAN;
    for (size_t i = 0; i < first_count; i++)
        for (size_t j = 0; j < second_count; j++)
            differences[i * second_count + j] = second[j] - first[i];
    return statistics_median(differences, pairs);
}

double comparison_delta(struct sample base, struct sample candidate)
{
    double u, ties;
    cleanup(free_pointer) struct ranked *pool = rank_both(base, candidate, &u, &ties);
    double pairs = (double)base.count * (double)candidate.count;
    return pool ? (pairs - 2 * u) / pairs : NAN; /* u: base greater */
}

struct ordered_p {
    double p;
    size_t position;
};

static int compare_p(const void *a, const void *b)
{
    const struct ordered_p *left = a, *right = b;
    if (left->p != right->p)
        return left->p < right->p ? -1 : 1;
    return left->position < right->position ? -1 : 1;
}

/* The k-th smallest of m (from 0) is multiplied by m - k, and none may be below the one before it. */
void comparison_holm(const double *p, size_t count, double *adjusted)
{
    cleanup(free_pointer) struct ordered_p *order = calloc(count + 1, sizeof(*order));
    size_t tests = 0;
    for (size_t i = 0; i < count; i++) {
        adjusted[i] = NAN;
        if (order && !isnan(p[i]))
            order[tests++] = (struct ordered_p){p[i], i};
    }
    if (!order)
        return;
    qsort(order, tests, sizeof(*order), compare_p);
    double before = 0;
    for (size_t k = 0; k < tests; k++) {
        before = fmax(before, fmin(1, order[k].p * (double)(tests - k)));
        adjusted[order[k].position] = before;
    }
}

/* 2 / C(n + m, n): both tails of the two arrangements in which the arms do not overlap. */
double comparison_least_p(size_t base_count, size_t candidate_count)
{
    double splits = 1;
    for (size_t i = 1; i <= base_count && splits < 1e300; i++)
        splits = splits * (double)(candidate_count + i) / (double)i;
    return fmin(1, 2 / splits);
}
