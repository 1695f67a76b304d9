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

static double median_of_three(double a, double b, double c)
{
    return a < b ? (b < c ? b : fmax(a, c)) : (a < c ? a : fmax(b, c));
}

/* Hoare's selection (1961): what stands at `rank` afterwards would stand there if all were sorted, nothing before it is greater and
 * nothing behind it less. A range that pivots do not get hold of is sorted after all. */
static void select_rank(double *values, size_t count, size_t rank)
{
    enum { SMALL = 16, PIVOTS_MOST = 64 };
    ptrdiff_t first = 0, last = (ptrdiff_t)count - 1;
    for (int pivots = 0; last - first >= SMALL && pivots < PIVOTS_MOST; pivots++) {
        const double pivot = median_of_three(values[first], values[first + (last - first) / 2], values[last]);
        ptrdiff_t low = first, high = last;
        while (low <= high) {
            while (values[low] < pivot)
                low++;
            while (pivot < values[high])
                high--;
            if (low > high)
                break;
            const double moved = values[low];
            values[low++] = values[high];
            values[high--] = moved;
        }
        if (high < (ptrdiff_t)rank)
            first = low;
        if ((ptrdiff_t)rank < low)
            last = high;
    }
    if (first < last)
        qsort(values + first, (size_t)(last - first + 1), sizeof(*values), compare_doubles);
}

/* h = (n - 1) q lies between two order statistics; Hyndman and Fan (1996), type 7. */
double statistics_quantile(const double *values, size_t count, double quantile)
{
    if (count == 0 || !(quantile >= 0) || !(quantile <= 1))
        return NAN;
    cleanup(free_pointer) double *order = calloc(count, sizeof(*order));
    if (!order)
        return NAN;
    memcpy(order, values, count * sizeof(*order));
    const double position = (double)(count - 1) * quantile;
    const size_t below = (size_t)position;
    select_rank(order, count, below);
    if (below + 1 >= count)
        return order[count - 1];
    double next = order[below + 1];
    for (size_t i = below + 2; i < count; i++)
        next = order[i] < next ? order[i] : next;
    return order[below] + (position - (double)below) * (next - order[below]);
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

/* The continued fraction of the incomplete beta function (DLMF 8.17.22), from the front by Lentz's method as Thompson and Barnett
 * (1986) changed it: converges fast for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    enum { STEPS_MOST = 10000 };
    const double TINY = 1e-300, CLOSE = 1e-15;
    double numerator = 1, denominator = 1 / (1 - (a + b) * x / (a + 1)), value = denominator;
    for (int m = 1; m < STEPS_MOST; m++) {
        double terms[2] = {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                           -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))};
        double change = 1;
        for (int i = 0; i < 2; i++) {
            numerator = 1 + terms[i] / numerator;
            denominator = 1 + terms[i] * denominator;
            numerator = fabs(numerator) < TINY ? TINY : numerator;
            denominator = 1 / (fabs(denominator) < TINY ? TINY : denominator);
            change = numerator * denominator;
            value *= change;
        }
        if (fabs(change - 1) < CLOSE)
            break;
    }
    return value;
}

/* I_x(a, b), the regularised incomplete beta function; `rest` is 1 - x, which the caller knows without cancellation. Where the
 * fraction is slow it is 1 - I_rest(b, a). */
static double beta_ratio(double a, double b, double x, double rest)
{
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(rest));
    if (x > (a + 1) / (a + b + 2))
        return 1 - front / b * beta_fraction(b, a, rest);
    return front / a * beta_fraction(a, b, x);
}

/* Both tails are I_x(freedom / 2, 1 / 2) with x = freedom / (freedom + t^2) (DLMF 8.17 and Abramowitz and Stegun 26.7.1). */
double statistics_student_p(double t, double freedom)
{
    if (isnan(t) || !(freedom > 0))
        return NAN;
    double square = t * t;
    if (isinf(square) || square == 0)
        return square == 0 ? 1 : 0;
    return beta_ratio(freedom / 2, 0.5, freedom / (freedom + square), square / (freedom + square));
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
