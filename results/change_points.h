/* results/change_points.h: where does a series of numbers change its level? A pure function: the input is never changed, and
 * nothing is drawn, so that the same series always has the same answer.
 *
 * E-divisive means (Matteson and James, "A nonparametric approach for multiple change point analysis of multivariate data", JASA
 * 109, 2014), with Student's t-test in place of their permutations, as Fleming et al. have it ("Hunter: using change point
 * detection to hunt for performance regressions", ICPE 2023). */
#ifndef LAGGARD_RESULTS_CHANGE_POINTS_H
#define LAGGARD_RESULTS_CHANGE_POINTS_H

#include <stddef.h>

struct arena;

enum {
    CHANGE_POINTS_LEVEL_LEAST = 2,                      /* values of a level: a single one is an outlier */
    CHANGE_POINTS_LEAST = 2 * CHANGE_POINTS_LEVEL_LEAST /* under so many values there is no change point */
};

struct change_point {
    size_t position;      /* of the first value of the new level, from 0 */
    double before, after; /* levels: means of the values from the change point before this one, and up to the one after it */
    double p;             /* that they are one level: two-sided, corrected for the places at which the series could change */
};

struct change_rule {
    double alpha;      /* a change point has p <= alpha */
    double min_effect; /* and |after - before| >= this share of |before| */
};

/* In order of positions; *points belongs to the arena. Returns how many: 0 also under CHANGE_POINTS_LEAST values, and where one of
 * them is not finite or their sums are not. Takes time in proportion to count^2, for every change point again at most. */
size_t change_points_find(const double *values, size_t count, const struct change_rule *rule, struct arena *arena,
                          struct change_point **points);

#endif
