/* agents/compute_time.h: distributions of compute times: draws, moments and order statistics. Draws use only rng.h and
 * detmath.h. */
#ifndef LAGGARD_AGENTS_COMPUTE_TIME_H
#define LAGGARD_AGENTS_COMPUTE_TIME_H

#include "base/rng.h"
#include "schemas/settings.h"

/* Nanoseconds; 0 for DISTRIBUTION_MEASURED. The draw of (seed, worker, step) is the same in every cell and world. */
double compute_time_draw(const struct distribution *distribution, uint64_t seed, uint32_t worker, uint64_t step);
double compute_time_sample(const struct distribution *distribution, struct rng *rng);
double compute_time_mean(const struct distribution *distribution); /* INFINITY for pareto with shape <= 1 */
/* E[max(X, floor)_{k:n}] for n independent draws, k from 1, worker i slowed by factors[i] (NULL: all 1), by numeric integration;
 * closed form for the exponential without factors and floor: (H_n - H_{n-k}) mean. */
double compute_time_order_mean(const struct distribution *distribution, int k, int n, const double *factors, double floor_ns);
/* The same where each of the n is the least of `least_of` draws, without factors. */
double compute_time_least_order_mean(const struct distribution *distribution, int k, int n, int least_of, double floor_ns);
/* E[min(floor(available / X), most)]: how many pieces that take the one drawn X each fit into a time. A constant of nothing:
 * most. */
double compute_time_fitting_mean(const struct distribution *distribution, double available_ns, int64_t most);

#endif
