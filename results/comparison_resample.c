/* results/comparison_resample.c: what comes from drawing again: the bootstrap of two medians, and the noise floor of an A/A
 * comparison. Seeded, so that an answer does not change when it is asked for twice. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "results/comparison_internal.h"
#include "results/statistics.h"

static int compare_doubles(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

void comparison_sort(double *values, size_t count)
{
    enum { FEW = 32 };
    if (count > FEW) {
        qsort(values, count, sizeof(*values), compare_doubles);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        double value = values[i];
        size_t j = i;
        for (; j > 0 && values[j - 1] > value; j--)
            values[j] = values[j - 1];
        values[j] = value;
    }
}

static double sorted_median(const double *sorted, size_t count)
{
    return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

/* Draws as many as there are, with replacement. */
static double resampled_median(struct rng *rng, struct sample sample, double *scratch)
{
    for (size_t i = 0; i < sample.count; i++)
        scratch[i] = sample.values[rng_below(rng, (uint32_t)sample.count)];
    comparison_sort(scratch, sample.count);
    return sorted_median(scratch, sample.count);
}

static struct comparison_interval central(const double *values, size_t count, double confidence)
{
    return (struct comparison_interval){.low = statistics_quantile(values, count, (1 - confidence) / 2),
                                        .high = statistics_quantile(values, count, (1 + confidence) / 2)};
}

void comparison_bootstrap(struct sample base, struct sample candidate, double confidence, uint64_t seed,
                          struct comparison_interval *ratio, struct comparison_interval *difference)
{
    *ratio = *difference = (struct comparison_interval){NAN, NAN};
    size_t most = base.count > candidate.count ? base.count : candidate.count;
    if (base.count < COMPARISON_INTERVAL_LEAST || candidate.count < COMPARISON_INTERVAL_LEAST || most > UINT32_MAX)
        return;
    cleanup(free_pointer) double *scratch = calloc(most, sizeof(*scratch));
    cleanup(free_pointer) double *ratios = calloc(COMPARISON_RESAMPLES, sizeof(*ratios));
    cleanup(free_pointer) double *differences = calloc(COMPARISON_RESAMPLES, sizeof(*differences));
    if (!scratch || !ratios || !differences)
        return;
    struct rng rng = rng_stream(seed, 0, 0, RNG_BOOTSTRAP);
    bool positive = true;
    for (size_t i = 0; i < COMPARISON_RESAMPLES; i++) {
        double before = resampled_median(&rng, base, scratch), after = resampled_median(&rng, candidate, scratch);
        ratios[i] = after / before;
        differences[i] = after - before;
        positive = positive && before > 0;
    }
    *difference = central(differences, COMPARISON_RESAMPLES, confidence);
    if (positive)
        *ratio = central(ratios, COMPARISON_RESAMPLES, confidence);
}

struct comparison_noise comparison_noise_floor(struct sample values, double confidence, uint64_t seed)
{
    struct comparison_noise noise = {NAN, NAN};
    size_t half = values.count / 2;
    if (half < COMPARISON_TEST_LEAST || values.count > UINT32_MAX)
        return noise;
    cleanup(free_pointer) double *pool = calloc(values.count, sizeof(*pool)), *scratch = calloc(half, sizeof(*scratch));
    cleanup(free_pointer) double *ratios = calloc(COMPARISON_RESAMPLES, sizeof(*ratios));
    cleanup(free_pointer) double *differences = calloc(COMPARISON_RESAMPLES, sizeof(*differences));
    if (!pool || !scratch || !ratios || !differences)
        return noise;
    memcpy(pool, values.values, values.count * sizeof(*pool));
    struct rng rng = rng_stream(seed, 1, 0, RNG_BOOTSTRAP);
    bool positive = true;
    for (size_t i = 0; i < COMPARISON_RESAMPLES; i++) {
        for (size_t k = 0; k < 2 * half; k++) { /* the first places of a shuffle: two arms without an element in common */
            size_t other = k + rng_below(&rng, (uint32_t)(values.count - k));
            double value = pool[k];
            pool[k] = pool[other];
            pool[other] = value;
        }
        double medians[2];
        for (int arm = 0; arm < 2; arm++) {
            memcpy(scratch, pool + (size_t)arm * half, half * sizeof(*scratch));
            comparison_sort(scratch, half);
            medians[arm] = sorted_median(scratch, half);
        }
        differences[i] = fabs(medians[1] - medians[0]);
        positive = positive && medians[0] > 0 && medians[1] > 0;
        ratios[i] = positive ? fmax(medians[1] / medians[0], medians[0] / medians[1]) - 1 : NAN;
    }
    noise.difference = statistics_quantile(differences, COMPARISON_RESAMPLES, confidence);
    if (positive)
        noise.ratio = statistics_quantile(ratios, COMPARISON_RESAMPLES, confidence);
    return noise;
}
