/* results/gate_measure.c: what two samples say under a threshold; see gate_internal.h. Signs: `worse` is +1 where less is better,
 * so that worse x (candidate - base) is positive for what got worse. */
#include <fnmatch.h>
#include <math.h>

#include "base/err.h"
#include "results/comparison.h"
#include "results/gate_internal.h"
#include "results/statistics.h"

enum { BOOTSTRAP_SEED = 1 };

static double worse(const struct gate_threshold *threshold)
{
    return threshold->lower ? 1 : -1;
}

double gate_allowed(const struct gate_threshold *threshold, double base_median)
{
    switch (threshold->form) {
    case GATE_RATIO:
        return fabs(threshold->number - 1) * fabs(base_median);
    case GATE_DIFFERENCE:
        return threshold->number;
    case GATE_ABSOLUTE:
    case GATE_FORM_COUNT:
        break;
    }
    return 0;
}

void gate_measure(const struct gate_threshold *threshold, struct sample base, struct sample candidate, struct gate_numbers *out)
{
    double confidence = 1 - threshold->alpha;
    struct gate_numbers numbers = {.base_median = statistics_median(base.values, base.count),
                                   .median = statistics_median(candidate.values, candidate.count),
                                   .low = NAN,
                                   .high = NAN,
                                   .adjusted_p = NAN};
    statistics_median_interval(candidate.values, candidate.count, confidence, &numbers.low, &numbers.high, NULL);
    numbers.limit = threshold->form == GATE_ABSOLUTE
                        ? threshold->number
                        : numbers.base_median + worse(threshold) * gate_allowed(threshold, numbers.base_median);
    struct comparison_interval ratio, difference;
    comparison_bootstrap(base, candidate, confidence, BOOTSTRAP_SEED, &ratio, &difference);
    numbers.ratio = numbers.base_median > 0 ? numbers.median / numbers.base_median : NAN;
    numbers.ratio_low = ratio.low;
    numbers.ratio_high = ratio.high;
    numbers.difference = numbers.median - numbers.base_median;
    numbers.difference_low = difference.low;
    numbers.difference_high = difference.high;
    numbers.shift = comparison_shift(base, candidate);
    numbers.delta = comparison_delta(base, candidate);
    numbers.p = threshold->form == GATE_ABSOLUTE ? NAN : comparison_mann_whitney(base, candidate).p;
    *out = numbers;
}

size_t gate_trials_least(const struct gate_threshold *threshold, double alpha)
{
    enum { TRIED_MOST = 1000 };
    size_t least = COMPARISON_INTERVAL_LEAST, rank;
    double coverage;
    while (threshold->form == GATE_ABSOLUTE && least < TRIED_MOST && !statistics_median_ranks(least, 1 - alpha, &rank, &coverage))
        least++;
    return least;
}

static double reference(const struct gate_threshold *threshold, const struct gate_numbers *numbers)
{
    return threshold->form == GATE_ABSOLUTE ? threshold->number : numbers->base_median;
}

bool gate_is_over(const struct gate_threshold *threshold, const struct gate_numbers *numbers)
{
    double from = reference(threshold, numbers), effect = worse(threshold) * (numbers->median - from);
    return worse(threshold) * (numbers->median - numbers->limit) > 0 && effect > threshold->min_effect * fabs(from);
}

bool gate_is_better(const struct gate_threshold *threshold, const struct gate_numbers *numbers)
{
    double from = reference(threshold, numbers), gain = worse(threshold) * (from - numbers->median);
    return threshold->form != GATE_ABSOLUTE &&
           gain > fmax(gate_allowed(threshold, numbers->base_median), threshold->min_effect * fabs(from));
}

bool gate_excludes(const struct gate_threshold *threshold, const struct gate_numbers *numbers, bool is_worse)
{
    double low = numbers->difference_low, high = numbers->difference_high, centre = 0;
    if (threshold->form == GATE_ABSOLUTE) {
        low = numbers->low;
        high = numbers->high;
        centre = threshold->number;
    } else if (threshold->form == GATE_RATIO && !isnan(numbers->ratio_low)) {
        low = numbers->ratio_low;
        high = numbers->ratio_high;
        centre = 1;
    }
    return threshold->lower == is_worse ? low > centre : high < centre; /* false where there is no interval */
}

bool gate_matches(const char *pattern, const char *label)
{
    return !pattern || fnmatch(pattern, label, 0) == 0;
}

static bool matches_a_cell(const char *pattern, const struct gate_data *data)
{
    for (int g = 0; g < data->group_count; g++)
        if (gate_matches(pattern, data->groups[g].label))
            return true;
    return false;
}

int gate_check_pattern(const struct gate_question *question, const char *pattern, const char *place, struct err *err)
{
    const struct gate_data *campaign = question->campaign;
    if (matches_a_cell(pattern, campaign) || (question->baseline && matches_a_cell(pattern, question->baseline)))
        return 0;
    return err_set(err, ERR_USAGE, "%s: '%s' matches no cell of campaign %s in %s; `laggard sql %s cells` lists their labels",
                   place, pattern ? pattern : "*", campaign->name, campaign->path, campaign->path);
}
