/* prediction.h: what theory says a round takes, in parts. All times are means in nanoseconds. */
#ifndef LAGGARD_SCHEMAS_PREDICTION_H
#define LAGGARD_SCHEMAS_PREDICTION_H

#include <stdbool.h>

struct prediction {
    bool available;
    char reason[160];    /* why not, when not available */
    const char *method;  /* "closed form", "max-plus recurrence", "seeded simulation" */
    double round_ns;     /* the whole */
    double compute_ns;   /* E of the order statistic waited for */
    double latency_ns;   /* propagation and per-message cost */
    double bandwidth_ns; /* bytes through the narrowest link */
    double reduce_ns;    /* arithmetic that nothing hides */
    bool counts_samples; /* the scheme does not fix how many there are in a round, and theory knows: */
    double samples;      /* of all workers, the mean */
};

#endif
