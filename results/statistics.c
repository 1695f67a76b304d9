/* results/statistics.c: quantiles, moments and the distribution-free interval of the median. */
#include "results/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static int compare_doubles(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* A sorted copy, or NULL when count is 0 or memory is short (callers then answer "undefined"). */
static double *sorted_copy(const double *values, size_t count)
{
    if (count == 0)
        return NULL;
    double *sorted = calloc(count, sizeof(*sorted));
    if (!sorted)
        return NULL;
    memcpy(sorted, values, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare_doubles);
    return sorted;
}

/* h = (n - 1) q lies between two order statistics; Hyndman and Fan (1996), type 7. */
double statistics_quantile(const double *values, size_t count, double quantile)
{
    cleanup(free_pointer) double *sorted = sorted_copy(values, count);
    if (!sorted || !(quantile >= 0) || !(quantile <= 1))
        return NAN;
    double position = (double)(count - 1) * quantile;
    size_t below = (size_t)position;
    if (below + 1 >= count)
        return sorted[count - 1];
    return sorted[below] + (position - (double)below) * (sorted[below + 1] - sorted[below]);
}

double statistics_median(const double *values, size_t count)
{
    return statistics_quantile(values, count, 0.5);
}

double statistics_mean(const double *values, size_t count)
{
    if (count == 0)
        return NAN;
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

double statistics_sd(const double *values, size_t count)
{
    if (count < 2)
        return NAN;
    double mean = statistics_mean(values, count), squares = 0;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    return sqrt(squares / (double)(count - 1));
}

/* P(Bin(n, 1/2) < j) grows with j: the largest j whose two tails still leave the confidence gives the narrowest interval. Terms and
 * their sum are kept as integers times 2^exponent, so that they are exact as long as they fit a double (n up to about 50) and never
 * underflow. Example: n = 10, j = 2: tail = (1 + 10) / 1024, coverage = 1 - 22 / 1024 = 0.978515625; j = 3 leaves 0.890625. */
bool statistics_median_ranks(size_t count, double confidence, size_t *low_rank, double *coverage)
{
    double term = 1, tail = 0;
    int exponent = count > 100000000 ? 0 : -(int)count;
    if (exponent == 0)
        return false;
    size_t best = 0;
    double best_coverage = 0;
    for (size_t j = 1; 2 * j <= count; j++) {
        tail += term; /* terms 0 .. j - 1 */
        double covered = 1 - 2 * ldexp(tail, exponent);
        if (!(covered >= confidence))
            break;
        best = j;
        best_coverage = covered;
        term = term * (double)(count - j + 1) / (double)j;
        if (term > 0x1p500) {
            term = ldexp(term, -400);
            tail = ldexp(tail, -400);
            exponent += 400;
        }
    }
    if (best == 0)
        return false;
    *low_rank = best;
    *coverage = best_coverage;
    return true;
}

bool statistics_median_interval(const double *values, size_t count, double confidence, double *low, double *high, double *coverage)
{
    size_t rank;
    double covered;
    if (!statistics_median_ranks(count, confidence, &rank, &covered))
        return false;
    cleanup(free_pointer) double *sorted = sorted_copy(values, count);
    if (!sorted)
        return false;
    *low = sorted[rank - 1];
    *high = sorted[count - rank];
    if (coverage)
        *coverage = covered;
    return true;
}
