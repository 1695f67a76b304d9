/* compute_time.c: the distributions of compute times, one table row each. Draws use only rng.h and detmath.h: the same bits on
 * every machine. */
#include "agents/compute_time_internal.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

#include "base/detmath.h"

static double constant_sample(const struct distribution *d, struct rng *rng)
{
    (void)rng;
    return d->kind == DISTRIBUTION_CONSTANT ? d->value_ns : 0.0;
}

static double constant_mean(const struct distribution *d)
{
    return constant_sample(d, NULL);
}

static double constant_above(const struct distribution *d, double ns)
{
    return ns < constant_mean(d) ? 1.0 : 0.0;
}

static void constant_range(const struct distribution *d, double range[3])
{
    range[0] = range[1] = range[2] = constant_mean(d);
}

static double exponential_sample(const struct distribution *d, struct rng *rng)
{
    return d->mean_ns * rng_exponential(rng);
}

static double exponential_mean(const struct distribution *d)
{
    return d->mean_ns;
}

static double exponential_above(const struct distribution *d, double ns)
{
    return ns > 0.0 ? exp(-ns / d->mean_ns) : 1.0;
}

static void exponential_range(const struct distribution *d, double range[3])
{
    range[0] = 0.0;
    range[1] = 1e-15 * d->mean_ns;
    range[2] = 50.0 * d->mean_ns; /* e^-50 = 2e-22 */
}

static double shifted_sample(const struct distribution *d, struct rng *rng)
{
    return d->shift_ns + exponential_sample(d, rng);
}

static double shifted_mean(const struct distribution *d)
{
    return d->shift_ns + d->mean_ns;
}

static double shifted_above(const struct distribution *d, double ns)
{
    return exponential_above(d, ns - d->shift_ns);
}

static void shifted_range(const struct distribution *d, double range[3])
{
    exponential_range(d, range);
    for (int i = 0; i < 3; i++)
        range[i] += d->shift_ns;
}

static double lognormal_sample(const struct distribution *d, struct rng *rng)
{
    return d->unit_ns * detmath_exp(d->mu + d->sigma * rng_normal(rng));
}

static double lognormal_mean(const struct distribution *d)
{
    return d->unit_ns * exp(d->mu + 0.5 * d->sigma * d->sigma);
}

static double lognormal_above(const struct distribution *d, double ns)
{
    double distance = ns > 0.0 ? log(ns / d->unit_ns) - d->mu : -INFINITY;
    if (d->sigma == 0.0)
        return distance < 0.0 ? 1.0 : 0.0;
    return 0.5 * erfc(distance / (d->sigma * M_SQRT2));
}

static void lognormal_range(const struct distribution *d, double range[3])
{
    double deviations = 9.5; /* P(Z > 9.5) = 1e-21 */
    range[0] = 0.0;
    range[1] = d->unit_ns * exp(d->mu - deviations * d->sigma);
    /* The mean of a time above t shifts by sigma in units of sigma. */
    range[2] = d->unit_ns * exp(d->mu + (deviations + d->sigma) * d->sigma);
}

static double pareto_sample(const struct distribution *d, struct rng *rng)
{
    return d->scale_ns * detmath_exp(-detmath_log(rng_uniform(rng)) / d->shape);
}

static double pareto_mean(const struct distribution *d)
{
    return d->shape > 1.0 ? d->scale_ns * d->shape / (d->shape - 1.0) : INFINITY;
}

static double pareto_above(const struct distribution *d, double ns)
{
    return ns > d->scale_ns ? exp(-d->shape * log(ns / d->scale_ns)) : 1.0;
}

static void pareto_range(const struct distribution *d, double range[3])
{
    range[0] = range[1] = d->scale_ns;
    range[2] =
        d->scale_ns * exp(fmin(23.0 / d->shape, 650.0)); /* P(X > it) = 1e-10: the closed tail is right to n times this; finite */
}

static double pareto_tail_power(const struct distribution *d)
{
    return d->shape;
}

static const struct compute_time_row table[] = {
    [DISTRIBUTION_MEASURED] = {constant_sample, constant_mean, constant_above, constant_range, NULL},
    [DISTRIBUTION_CONSTANT] = {constant_sample, constant_mean, constant_above, constant_range, NULL},
    [DISTRIBUTION_EXPONENTIAL] = {exponential_sample, exponential_mean, exponential_above, exponential_range, NULL},
    [DISTRIBUTION_SHIFTED_EXPONENTIAL] = {shifted_sample, shifted_mean, shifted_above, shifted_range, NULL},
    [DISTRIBUTION_LOGNORMAL] = {lognormal_sample, lognormal_mean, lognormal_above, lognormal_range, NULL},
    [DISTRIBUTION_PARETO] = {pareto_sample, pareto_mean, pareto_above, pareto_range, pareto_tail_power},
};
static_assert(sizeof(table) / sizeof(table[0]) == DISTRIBUTION_COUNT, "one row a distribution");

const struct compute_time_row *compute_time_row(enum distribution_kind kind)
{
    return &table[kind];
}

double compute_time_draw(const struct distribution *distribution, uint64_t seed, uint32_t worker, uint64_t step)
{
    struct rng rng =
        rng_stream(seed, (uint32_t)step, worker, RNG_COMPUTE_TIME); /* a stream a step: no step needs the draws before it */
    return compute_time_sample(distribution, &rng);
}

double compute_time_sample(const struct distribution *distribution, struct rng *rng)
{
    return table[distribution->kind].sample(distribution, rng);
}

double compute_time_mean(const struct distribution *distribution)
{
    return table[distribution->kind].mean(distribution);
}
