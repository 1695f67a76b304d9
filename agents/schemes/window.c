/* agents/schemes/window.c: a round's compute window; see window.h.
 *
 * The mean number of samples. With a = window m / f for a worker slowed by f, b = min(floor(a / X), cap) is a sum of indicators:
 *
 *     E[b] = sum over j = 1 .. cap of P(X <= a / j)
 *
 * Example: X of 10 or 20 ms with equal chances, m = 8, window 15 ms: (12 + 6) / 2 = 9 samples. For an exponential X the terms fall
 * as 1/j only, and the mean depends on the cap: few mini-batches take next to no time, and have most of the samples. */
#include "agents/schemes/window.h"

#include <math.h>

#include "agents/compute_time.h"

static int64_t most_samples(const struct scheme_setup *setup, int cap)
{
    const int64_t most = INT32_MAX / setup->workers; /* so that all together can be counted */
    const int64_t asked = setup->values[cap] > 0 ? (int64_t)setup->values[cap] : WINDOW_SAMPLES_MAX;
    return asked < most ? asked : most;
}

void window_bound_task(struct node *node, int window, int cap, struct task *task)
{
    task->kind = TASK_SAMPLES;
    task->deadline_ns = node_now(node) + (int64_t)node->setup->values[window];
    task->sample_cap = most_samples(node->setup, cap);
}

static double samples_of(const struct scheme_setup *setup, double factor, double window_ns, double most)
{
    const bool nothing = setup->compute_time->kind == DISTRIBUTION_CONSTANT && setup->compute_time->value_ns <= 0;
    if (nothing) /* the world counts a mini-batch */
        return fmin(setup->batch, most);
    if (setup->compute_time->kind != DISTRIBUTION_MEASURED)
        return compute_time_fitting_mean(setup->compute_time, window_ns * setup->batch / factor, (int64_t)most);
    if (!setup->trained) /* nothing is computed: likewise */
        return fmin(setup->batch, most);
    return setup->gradient_ns > 0 ? fmin(floor(window_ns * setup->batch / (setup->gradient_ns * fmax(factor, 1))), most) : NAN;
}

void window_foresee(const struct scheme_setup *setup, int window, int cap, struct window_forecast *forecast)
{
    const double window_ns = setup->values[window];
    *forecast = (struct window_forecast){.setup = *setup, .compute_time = {.kind = DISTRIBUTION_CONSTANT, .value_ns = window_ns}};
    double factor = NAN, samples = 0;
    for (int worker = 0; worker < setup->workers; worker++) {
        const double own = setup->slow_factors ? setup->slow_factors[worker] : 1;
        if (own != factor) /* most are like the one before */
            samples = samples_of(setup, own, window_ns, (double)most_samples(setup, cap));
        factor = own;
        forecast->samples += samples;
    }
    forecast->setup.compute_time = &forecast->compute_time;
    forecast->setup.slow_factors = NULL;
    forecast->setup.gradient_ns = 0;
}

void window_count_samples(const struct window_forecast *forecast, struct prediction *prediction)
{
    prediction->counts_samples = prediction->available && isfinite(forecast->samples);
    prediction->samples = prediction->counts_samples ? forecast->samples : 0;
}
