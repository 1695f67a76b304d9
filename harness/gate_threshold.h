/* harness/gate_threshold.h: one threshold of a gate as it is written: "round_time_ns.p50 <= baseline * 1.05". Pure. */
#ifndef LAGGARD_HARNESS_GATE_THRESHOLD_H
#define LAGGARD_HARNESS_GATE_THRESHOLD_H

#include "results/metric_list.h"
#include "schemas/gate.h"

struct arena;
struct err;

/* Fills in metric, lower, form and number; the rest of *threshold stays. The sentence of the error (ERR_USAGE) names no place.
 * Metrics are those that may be named; texts are copied into the arena. */
int gate_threshold_parse(const char *text, const struct metric_row *metrics, int metric_count, struct arena *arena,
                         struct gate_threshold *threshold, struct err *err);
/* NULL, and ERR_USAGE with the name that is nearest: there is none of this name. */
const struct metric_row *gate_threshold_metric(const char *name, const struct metric_row *metrics, int count, struct err *err);
/* A value of a metric in its unit: "25ms", "80%", "1.5". */
int gate_threshold_value(const char *text, const struct metric_row *metric, double *value, struct err *err);

#endif
