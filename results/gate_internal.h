/* results/gate_internal.h: what the files of the gate share: how one comparison is measured and what it means. */
#ifndef LAGGARD_RESULTS_GATE_INTERNAL_H
#define LAGGARD_RESULTS_GATE_INTERNAL_H

#include <stddef.h>

#include "results/gate.h"

/* Everything that two samples say under a threshold. base may be empty under an absolute one. */
void gate_measure(const struct gate_threshold *threshold, struct sample base, struct sample candidate,
                  struct gate_numbers *numbers);
/* The candidate's median is beyond what the threshold allows, by min_effect at least. */
bool gate_is_over(const struct gate_threshold *threshold, const struct gate_numbers *numbers);
bool gate_is_better(const struct gate_threshold *threshold, const struct gate_numbers *numbers); /* by as much */
/* The interval lies on one side of no change (or of the absolute limit): worse, or better. */
bool gate_excludes(const struct gate_threshold *threshold, const struct gate_numbers *numbers, bool worse);
/* Trials an arm under which gate_measure() with this alpha has no interval for gate_excludes(). */
size_t gate_trials_least(const struct gate_threshold *threshold, double alpha);
/* How much the threshold allows, in the metric's unit. */
double gate_allowed(const struct gate_threshold *threshold, double base_median);
/* The first setting that differs, or NULL. What only says how often and under which name is no difference. */
const char *gate_other_setting(const char *a, const char *b, struct arena *arena);
/* Trials that failed, were interrupted, are void or degraded; NULL: none. base: NULL, there is none. */
const char *gate_remark(const struct gate_group *base, const struct gate_group *group, struct arena *arena);
bool gate_matches(const char *pattern, const char *label);
/* ERR_USAGE, with the pattern's place: it matches no cell of campaign and baseline, so that it would never fail, or never waive. */
int gate_check_pattern(const struct gate_question *question, const char *pattern, const char *place, struct err *err);

#endif
