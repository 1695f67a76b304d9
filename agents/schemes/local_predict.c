/* agents/schemes/local_predict.c: how long rounds of local steps and averages take.
 *
 * In the foreground a period is the slowest worker's `period` gradients and an all-reduce:
 *
 *     round = E[max over workers of the sum of period X] / period + all-reduce / period
 *
 * The more draws a period sums, the less its slowest worker stands out: that part falls from E[X_{P:P}] towards E[X]. For a
 * constant X = Y and D an all-reduce the speed-up over period 1 is (1 + r) / (1 + r / period), r = D / Y.
 *
 * In the background a worker that is through with its period waits for the all-reduce that all began at the end of the one before.
 * With S_i(k) the sum of worker i's draws in period k, C the all-reduce, B_i(k) when its period k is over:
 *
 *     B_i(k) = max(B_i(k-1) + S_i(k), max_j B_j(k-1) + C)
 *
 * the growth of which, by a seeded simulation, over `period` is the round; for a constant X it is max(Y, C / period). With C = 0 it
 * is what compute alone takes.
 *
 * Where the workload has a model every step reads and writes it: S gamma more. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "agents/predict.h"
#include "agents/schemes/local_rounds.h"
#include "base/cleanup.h"

enum { SEED = 2019, DRAWS = 400000, PERIODS_MIN = 40, PERIODS_MAX = 20000, WARM = 8 };

static bool constant(const struct scheme_setup *setup)
{
    return setup->compute_time->kind == DISTRIBUTION_CONSTANT || setup->compute_time->kind == DISTRIBUTION_MEASURED;
}

static int simulated_periods(const struct scheme_setup *setup, int period)
{
    return (int)fmin(fmax(DRAWS / ((double)setup->workers * period), PERIODS_MIN), PERIODS_MAX);
}

/* Of the sum of `period` draws, the slowest worker's. */
static double slowest_sum_ns(const struct scheme_setup *setup, int period)
{
    if (period == 1 || constant(setup))
        return period * predict_slowest_ns(setup);
    const int periods = simulated_periods(setup, period);
    struct rng rng = rng_stream(SEED, 0, RNG_ALL_NODES, RNG_PREDICT);
    double sum_ns = 0;
    for (int k = 0; k < periods; k++) {
        double slowest_ns = 0;
        for (int worker = 0; worker < setup->workers; worker++)
            slowest_ns = fmax(slowest_ns, predict_steps_ns(setup, worker, period, &rng));
        sum_ns += slowest_ns;
    }
    return sum_ns / periods;
}

/* A period in the mean, in the background of whose gradients an all-reduce takes so long. NAN: memory is short. */
static double overlapped_ns(const struct scheme_setup *setup, int period, double allreduce_ns)
{
    if (constant(setup))
        return fmax(period * predict_slowest_ns(setup), allreduce_ns);
    cleanup(free_pointer) double *over_ns = calloc((size_t)setup->workers, sizeof(*over_ns));
    if (!over_ns)
        return NAN;
    const int periods = WARM + simulated_periods(setup, period);
    struct rng rng = rng_stream(SEED, 0, RNG_ALL_NODES, RNG_PREDICT);
    double there_ns = 0, warm_ns = 0, last_ns = 0;
    for (int k = 0; k < periods; k++) {
        for (int worker = 0; worker < setup->workers; worker++) {
            over_ns[worker] = fmax(over_ns[worker] + predict_steps_ns(setup, worker, period, &rng), there_ns);
            last_ns = fmax(last_ns, over_ns[worker]);
        }
        there_ns = last_ns + allreduce_ns;
        warm_ns = k == WARM - 1 ? last_ns : warm_ns;
    }
    return (last_ns - warm_ns) / (periods - WARM);
}

/* What an all-reduce adds to a period, in the proportions of its parts. */
static void add_parts(struct prediction *prediction, const struct prediction *parts, double exposed_ns, double whole_ns, int period)
{
    const double share = whole_ns > 0 ? exposed_ns / whole_ns / period : 0;
    prediction->bandwidth_ns = parts->bandwidth_ns * share;
    prediction->latency_ns = parts->latency_ns * share;
    prediction->reduce_ns = parts->reduce_ns * share;
}

void local_rounds_predict(const struct scheme_setup *setup, struct prediction *prediction)
{
    const struct local_policy *policy = setup->scheme->detail;
    const int period = (int)setup->values[LOCAL_PERIOD];
    struct prediction parts = {0};
    struct allreduce_shape shape;
    if (!predict_begin(setup, prediction) || (policy->unpredictable && policy->unpredictable(setup, prediction)))
        return;
    const struct allreduce_algorithm *algorithm = local_rounds_algorithm(setup, &shape);
    const double whole_ns = predict_allreduce_ns(setup, algorithm, &shape, &parts);
    double compute_ns, exposed_ns;
    if (policy->background) {
        compute_ns = overlapped_ns(setup, period, 0);
        exposed_ns = overlapped_ns(setup, period, whole_ns) - compute_ns;
    } else {
        compute_ns = slowest_sum_ns(setup, period);
        exposed_ns = predict_staggered_ns(setup, algorithm, &shape, period, whole_ns);
    }
    if (isnan(compute_ns + exposed_ns)) {
        snprintf(prediction->reason, sizeof(prediction->reason),
                 "%s among %d workers has more messages than can be followed one by one", algorithm->name, setup->workers);
        return;
    }
    prediction->compute_ns = compute_ns / period;
    add_parts(prediction, &parts, exposed_ns, whole_ns, period);
    if (setup->matrix_count > 0)
        prediction->reduce_ns += (double)setup->parameter_count * sizeof(float) * setup->reduce_ns_per_byte;
    prediction->method = period == 1 || constant(setup) ? algorithm->method : "seeded simulation";
    predict_end(prediction);
}
