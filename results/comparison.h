/* results/comparison.h: two samples compared, distribution-free: is there a difference, how large is it, how sure is that. Pure
 * functions on arrays of finite numbers; inputs are never changed.
 *
 * The first sample is the base, the second the candidate: a ratio above 1, a positive shift and a positive delta mean that the
 * candidate's values are greater. A sample's values are trials, never rounds: those of one trial share the state of the host. */
#ifndef LAGGARD_RESULTS_COMPARISON_H
#define LAGGARD_RESULTS_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    COMPARISON_TEST_LEAST = 4,     /* trials an arm: under that no arrangement of them has p <= 0.05 */
    COMPARISON_INTERVAL_LEAST = 6, /* under that no 95 % interval of a median exists */
    COMPARISON_EXACT_MOST = 20,    /* up to so many a side p is exact, above it is the normal approximation's */
    COMPARISON_RESAMPLES = 4000
};

struct sample {
    const double *values;
    size_t count;
};

struct mann_whitney {
    double u; /* pairs in which the base's value is greater; an equal pair counts half */
    double p; /* two-sided */
    bool exact;
};
/* Mann and Whitney's test. Ties get their mean rank, and the exact distribution is that of the ranks as they are (all splits of the
 * pooled values), so that it stays exact with ties. p is NAN when a sample is empty. */
struct mann_whitney comparison_mann_whitney(struct sample base, struct sample candidate);

/* Hodges and Lehmann's shift: the median of all differences candidate - base. Samples above 1000 are thinned to that many of their
 * quantiles. NAN when one is empty. */
double comparison_shift(struct sample base, struct sample candidate);

/* Cliff's delta: the share of pairs in which the candidate is greater, less that in which it is smaller; -1 to 1. NAN when one is
 * empty. */
double comparison_delta(struct sample base, struct sample candidate);

struct comparison_interval {
    double low, high; /* NAN: undefined */
};
/* Percentile bootstrap of the ratio and of the difference of the two medians (candidate to base): both come from the same
 * COMPARISON_RESAMPLES resamples, drawn from the stream (seed, RNG_BOOTSTRAP): the same seed gives the same interval everywhere.
 * Undefined under COMPARISON_INTERVAL_LEAST values in a sample; the ratio's also when a resampled base median is not above 0. */
void comparison_bootstrap(struct sample base, struct sample candidate, double confidence, uint64_t seed,
                          struct comparison_interval *ratio, struct comparison_interval *difference);

/* Holm's step-down correction. adjusted[i] belongs to p[i]; what is NAN is no test, does not count, and stays NAN. */
void comparison_holm(const double *p, size_t count, double *adjusted);

/* The smallest p that this many values a side can reach: below a family's alpha or nothing can be shown. */
double comparison_least_p(size_t base_count, size_t candidate_count);

/* How far apart the medians of two arms of the same thing are by chance: the `confidence` quantile of |ratio - 1| and of the
 * difference over random splits of the values into two arms of floor(n / 2), seeded as above. Undefined under
 * 2 x COMPARISON_TEST_LEAST values. */
struct comparison_noise {
    double ratio, difference; /* NAN: undefined */
};
struct comparison_noise comparison_noise_floor(struct sample values, double confidence, uint64_t seed);

#endif
