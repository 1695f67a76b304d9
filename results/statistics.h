/* results/statistics.h: the statistics that this project reports. Pure functions on arrays; inputs are never changed. */
#ifndef LAGGARD_RESULTS_STATISTICS_H
#define LAGGARD_RESULTS_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Quantile by linear interpolation between order statistics (Hyndman and Fan's type 7, the default of R and NumPy); NAN when count
 * is 0. */
double statistics_quantile(const double *values, size_t count, double quantile);
double statistics_median(const double *values, size_t count);
double statistics_mean(const double *values, size_t count); /* NAN when count is 0 */
double statistics_sd(const double *values, size_t count);   /* n - 1; NAN under 2 */

/* P(|T| >= |t|) of Student's distribution with `freedom` degrees of freedom; also small ones to about 10 digits. NAN when t is NAN
 * or freedom is not above 0. */
double statistics_student_p(double t, double freedom);

/* Distribution-free interval for the median from order statistics: the narrowest symmetric pair x_(j), x_(n+1-j) with coverage 1 -
 * 2 P(Bin(n, 1/2) < j) >= confidence. Returns false (and leaves the outputs) when n is too small: under 6 there is no 95 %
 * interval. */
bool statistics_median_interval(const double *values, size_t count, double confidence, double *low, double *high, double *coverage);
/* The rank j of that pair, from 1. */
bool statistics_median_ranks(size_t count, double confidence, size_t *low_rank, double *coverage);

#endif
