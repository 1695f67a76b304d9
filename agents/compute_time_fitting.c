/* compute_time_fitting.c: how many pieces of work fit into a time, when all of them take the same drawn time.
 *
 * The number of pieces min(floor(a / X), most) is the sum over j = 1 .. most of "j of them fit", so that its mean is
 *
 *     sum over j of P(X <= a / j)
 *
 * The terms fall with j: the first ones are added one by one, later ones in blocks whose width grows with j, by Simpson's rule.
 * For an X that may be arbitrarily short, as an exponential one, they fall as 1/j only, and the mean grows with the logarithm of
 * `most`. */
#include <math.h>

#include "agents/compute_time_internal.h"

enum { ONE_BY_ONE = 4096, BLOCKS_AN_OCTAVE = 64 };

double compute_time_fitting_mean(const struct distribution *distribution, double available_ns, int64_t most)
{
    const struct compute_time_row *row = compute_time_row(distribution->kind);
    if (distribution->kind == DISTRIBUTION_CONSTANT)
        return distribution->value_ns > 0 ? fmin(floor(available_ns / distribution->value_ns), (double)most) : (double)most;
    const int64_t exact = most < ONE_BY_ONE ? most : ONE_BY_ONE;
    double mean = 0;
    for (int64_t j = 1; j <= exact; j++)
        mean += 1 - row->above(distribution, available_ns / (double)j);
    const double growth = exp2(1.0 / BLOCKS_AN_OCTAVE), end = (double)most + 0.5;
    double from = (double)exact + 0.5;
    while (from < end) {
        const double to = fmin(from * growth, end);
        const double fits = 1 - row->above(distribution, available_ns / from),
                     middle = 1 - row->above(distribution, available_ns / (0.5 * (from + to))),
                     last = 1 - row->above(distribution, available_ns / to);
        mean += (to - from) * (fits + 4 * middle + last) / 6;
        from = to;
    }
    return mean;
}
