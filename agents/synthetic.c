/* synthetic.c: gradients with a known mean, and the comparison with it. */
#include "agents/synthetic.h"

#include <math.h>

enum { PATTERN = 61, PATTERN_MOST = PATTERN / 2, WEIGHTS = 5, STEPS = 97, SAMPLES = 128 };
static const double tolerance = 1e-4;
static const double roundings = 0x1p-22; /* of a product, a few additions, and what is sent */

static int step_part(uint64_t step, size_t element)
{
    return element % SYNTHETIC_STEP_STRIDE == 0 ? 1 + (int)(step % STEPS) : 0;
}

static int weight(size_t element)
{
    return 1 + (int)(element % WEIGHTS);
}

double synthetic_mean(uint64_t step, size_t element)
{
    const int value = (int)(element % PATTERN) - PATTERN_MOST + step_part(step, element);
    return value;
}

float synthetic_value(int workers, int worker, uint64_t step, size_t element)
{
    int deviation = 2 * worker - (workers - 1);
    return (float)(synthetic_mean(step, element) + deviation * weight(element));
}

/* What is summed. */
struct weighted {
    int workers, which_count;
    const int *which;
    const float *weights;
    uint64_t step;
};

static float weighted_value(const struct weighted *sum, size_t element, bool with_step)
{
    const double without = with_step ? 0 : step_part(sum->step, element);
    double total = 0;
    for (int i = 0; i < sum->which_count; i++) {
        const double value = (double)synthetic_value(sum->workers, sum->which[i], sum->step, element) - without;
        total += sum->weights ? (double)sum->weights[i] * value : value;
    }
    return (float)total;
}

void synthetic_fill_sum(float *gradient, size_t count, int workers, const int *which, const float *weights, int which_count,
                        uint64_t step)
{
    enum { PERIOD = PATTERN * WEIGHTS };
    const struct weighted sum = {.workers = workers, .which = which, .weights = weights, .which_count = which_count, .step = step};
    float pattern[PERIOD]; /* the part that does not depend on the step repeats */
    for (size_t i = 0; i < PERIOD; i++)
        pattern[i] = weighted_value(&sum, i, false);
    for (size_t i = 0, place = 0; i < count; i++) {
        gradient[i] = pattern[place];
        place = place + 1 == PERIOD ? 0 : place + 1;
    }
    for (size_t i = 0; i < count; i += SYNTHETIC_STEP_STRIDE)
        gradient[i] = weighted_value(&sum, i, true);
}

void synthetic_fill(float *gradient, size_t count, int workers, int worker, uint64_t step)
{
    synthetic_fill_sum(gradient, count, workers, &worker, NULL, 1, step);
}

void synthetic_refresh(float *gradient, size_t count, int workers, int worker, uint64_t step)
{
    for (size_t i = 0; i < count; i += SYNTHETIC_STEP_STRIDE)
        gradient[i] = synthetic_value(workers, worker, step, i);
}

/* The one check in progress. */
struct comparison {
    const struct synthetic_check *check;
    const float *sum;
    double shift; /* c */
    double slack; /* what rounding may have changed of sum / contributors */
    struct synthetic_result *result;
    bool good;
};

static void fail(struct comparison *comparison, size_t element, double expected)
{
    struct synthetic_result *result = comparison->result;
    if (result->failures++ == 0) {
        result->element = element;
        result->found = (double)comparison->sum[element] / comparison->check->contributors;
        result->expected = expected;
    }
    comparison->good = false;
}

/* Reads c off one element; false: no set of workers sums to what is there (or it is not a number). */
static bool learn_shift(struct comparison *comparison, size_t element)
{
    const struct synthetic_check *check = comparison->check;
    double mean = synthetic_mean(check->step, element);
    double shift = rint(((double)comparison->sum[element] - check->contributors * mean) / weight(element));
    if (!(fabs(shift) <= (double)check->contributors * (check->workers - 1))) {
        fail(comparison, element, mean);
        return false;
    }
    comparison->shift = shift;
    return true;
}

static void compare(struct comparison *comparison, size_t element)
{
    const struct synthetic_check *check = comparison->check;
    if (!check->same_step && element % SYNTHETIC_STEP_STRIDE == 0)
        return;
    comparison->result->checks++;
    double found = (double)comparison->sum[element] / check->contributors;
    double expected = synthetic_mean(check->step, element) + comparison->shift * weight(element) / check->contributors;
    double allowed = tolerance * fmax(1, fabs(expected));
    if (check->amplification > 1)
        allowed = fmax(allowed, check->amplification * roundings * (PATTERN_MOST + STEPS + (check->workers - 1) * WEIGHTS));
    if (!(fabs(found - expected) <= allowed + comparison->slack))
        fail(comparison, element, expected);
}

/* Whole numbers below 2^24 are exact; from there on each addition may be off by half a unit in the last place. */
static double rounding_slack(const struct synthetic_check *check)
{
    const double most = PATTERN_MOST + STEPS + (double)WEIGHTS * (check->workers - 1), exact = 0x1p24;
    return most * check->contributors > exact ? check->rounded * most / exact : 0;
}

bool synthetic_check(const struct synthetic_check *check, const float *sum, size_t first, size_t count, bool every,
                     struct synthetic_result *result)
{
    if (count == 0 || check->approximate)
        return true;
    struct comparison comparison = {.check = check, .sum = sum, .slack = rounding_slack(check), .result = result, .good = true};
    size_t end = first + count;
    /* Not off an element that depends on the step, if there is another: a stale step would pass for another set of workers. */
    size_t teacher = first % SYNTHETIC_STEP_STRIDE == 0 && count > 1 ? first + 1 : first;
    if (!check->all_once && !check->same_step && teacher % SYNTHETIC_STEP_STRIDE == 0)
        return true; /* one element, which differs with the step: with steps mixed it tells nothing */
    if (!check->all_once && !learn_shift(&comparison, teacher))
        return false;
    if (every) {
        for (size_t i = first; i < end; i++)
            compare(&comparison, i);
        return comparison.good;
    }
    compare(&comparison, first);
    compare(&comparison, end - 1);
    /* Pairs: an element that depends on the step, and one at a changing distance behind it that does not. */
    size_t strides = count / SYNTHETIC_STEP_STRIDE / SAMPLES + 1;
    size_t stride = strides * SYNTHETIC_STEP_STRIDE;
    size_t place = (first + SYNTHETIC_STEP_STRIDE - 1) / SYNTHETIC_STEP_STRIDE * SYNTHETIC_STEP_STRIDE;
    for (size_t i = place, nth = 1; i < end; i += stride, nth++) {
        compare(&comparison, i);
        size_t behind = i + 1 + nth * 37 % (SYNTHETIC_STEP_STRIDE - 1);
        if (behind < end)
            compare(&comparison, behind);
    }
    return comparison.good;
}
