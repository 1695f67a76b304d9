/* agents/compute_time_internal.h: what the table of distributions tells the order statistics. */
#ifndef LAGGARD_AGENTS_COMPUTE_TIME_INTERNAL_H
#define LAGGARD_AGENTS_COMPUTE_TIME_INTERNAL_H

#include "agents/compute_time.h"

struct compute_time_row {
    double (*sample)(const struct distribution *, struct rng *);
    double (*mean)(const struct distribution *);
    double (*above)(const struct distribution *, double ns); /* P(X > ns) */
    /* [0] where the support begins; all but a negligible part of the distribution, and of its mean, lies between [1] and [2]. */
    void (*range)(const struct distribution *, double range[3]);
    /* P(X > t) is proportional to t^-power beyond range[2]; NULL: the rest beyond it is negligible. */
    double (*tail_power)(const struct distribution *);
};
const struct compute_time_row *compute_time_row(enum distribution_kind kind);

#endif
