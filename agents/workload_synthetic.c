/* workload_synthetic.c: a node's synthetic gradients, and the check of every sum that it is given. */
#include <inttypes.h>
#include <stdio.h>

#include "agents/vector.h"
#include "agents/workload_internal.h"

void workload_fill(struct workload *workload, const struct task *task)
{
    const struct workload_options *options = &workload->options;
    if (workload->sort != SORT_SYNTHETIC || !task->gradient || task->kind == TASK_MATRIX_BLOCK)
        return;
    if (task->kind == TASK_VALIDATION || task->kind == TASK_GRADIENT_PARTITIONS) {
        workload->filled = workload->filled == task->gradient ? NULL : workload->filled;
        if (task->kind == TASK_GRADIENT_PARTITIONS)
            synthetic_fill_sum(task->gradient, workload->parameter_count, options->workers, task->partitions, task->weights,
                               task->partition_count, task->step);
        return;
    }
    if (workload->filled == task->gradient) {
        synthetic_refresh(task->gradient, workload->parameter_count, options->workers, options->role_index, task->step);
        return;
    }
    synthetic_fill(task->gradient, workload->parameter_count, options->workers, options->role_index, task->step);
    workload->filled = task->gradient;
}

void workload_resize(struct workload *workload, size_t parameter_count)
{
    workload->parameter_count = parameter_count;
    workload->filled = NULL;
    workload->last_sum = NULL;
    workload->last_check = (struct synthetic_check){0};
    workload->range_count = 0;
}

/* ---- checks ---- */

static bool conclude(struct workload *workload, const struct synthetic_check *check, const struct synthetic_result *result,
                     char *sentence, size_t sentence_bytes)
{
    workload->checks += result->checks;
    workload->failures += result->failures;
    if (result->failures == 0)
        return true;
    snprintf(sentence, sentence_bytes,
             "the reduction of round %" PRIu64 " is wrong: element %zu of sum / %d contributors is %.9g, expected %.9g "
             "(%" PRIu64 " of %" PRIu64 " values checked differ)",
             check->step, result->element, check->contributors, result->found, result->expected, result->failures, result->checks);
    return false;
}

static void remember(struct workload *workload, const struct synthetic_check *check, const float *sum, size_t first, size_t count)
{
    if (sum != workload->last_sum || check->step != workload->last_check.step) {
        workload->last_sum = sum;
        workload->range_count = 0;
    }
    workload->last_check = *check;
    struct checked_range range = {.first = first, .end = first + count};
    for (int i = 0; i < workload->range_count;) { /* swallows its neighbours */
        struct checked_range other = workload->ranges[i];
        if (other.end < range.first || range.end < other.first) {
            i++;
            continue;
        }
        range.first = other.first < range.first ? other.first : range.first;
        range.end = other.end > range.end ? other.end : range.end;
        workload->ranges[i] = workload->ranges[--workload->range_count];
        i = 0;
    }
    if (workload->range_count < CHECKED_RANGES_MAX)
        workload->ranges[workload->range_count++] = range;
}

struct synthetic_check workload_check_of(const struct scheme_setup *setup, int contributors, uint64_t step)
{
    const unsigned flags = setup->scheme->flags;
    const bool mixed = flags & (SCHEME_ASYNCHRONOUS | SCHEME_REPEATS_WORKERS), weighted = flags & SCHEME_WEIGHTS_SAMPLES;
    return (struct synthetic_check){
        .workers = setup->workers,
        .contributors = contributors,
        .step = step,
        .all_once = contributors == setup->workers && !mixed && !weighted,
        .same_step = !mixed,
        .approximate = scheme_approximates(setup),
        .amplification = scheme_amplification(setup),
        .rounded = weighted ? setup->workers : 0,
    };
}

bool workload_check(struct workload *workload, const struct synthetic_check *check, const float *sum, size_t first, size_t count,
                    char *sentence, size_t sentence_bytes)
{
    if (workload->sort != SORT_SYNTHETIC || count == 0 || check->contributors < 1)
        return true;
    struct synthetic_result result = {0};
    synthetic_check(check, sum, first, count, false, &result);
    remember(workload, check, sum, first, count);
    return conclude(workload, check, &result, sentence, sentence_bytes);
}

bool workload_check_last(struct workload *workload, char *sentence, size_t sentence_bytes)
{
    struct synthetic_result result = {0};
    for (int i = 0; i < workload->range_count; i++)
        synthetic_check(&workload->last_check, workload->last_sum, workload->ranges[i].first,
                        workload->ranges[i].end - workload->ranges[i].first, true, &result);
    return conclude(workload, &workload->last_check, &result, sentence, sentence_bytes);
}

const float *workload_last_sum(const struct workload *workload)
{
    bool whole =
        workload->range_count == 1 && workload->ranges[0].first == 0 && workload->ranges[0].end == workload->parameter_count;
    return whole ? workload->last_sum : NULL;
}

void workload_checks(const struct workload *workload, uint64_t *checks, uint64_t *failures)
{
    *checks = workload->checks;
    *failures = workload->failures;
}
