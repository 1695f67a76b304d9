/* results/summary.h: the closing table of a campaign, read from the view `cells` only. */
#ifndef LAGGARD_RESULTS_SUMMARY_H
#define LAGGARD_RESULTS_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct store;
struct text;

/* For people: scheme, workers, swept settings, median round time with its 95 % interval over trials, mean, predicted mean, their ratio, accuracy, fidelity. */
int summary_table(struct store *store, int64_t campaign_id, bool colour, struct text *out, struct err *err);
/* For programs: {"campaign","db","trials","failed","void","cells":[{"scheme","workers","arm","trials","round_time_p50_ns","round_time_mean_ns",
 * "round_time_p99_ns","predicted_round_ns","predicted_measured_round_ns","accuracy","fidelity", ... swept settings by dotted path}]}. Undefined
 * values are null. */
int summary_json(struct store *store, int64_t campaign_id, const char *db_path, struct text *out, struct err *err);
/* Numbers of the campaign's trials by state. */
struct summary_counts {
    int trials, finished, failed, interrupted, void_count, degraded;
};
int summary_counts(struct store *store, int64_t campaign_id, struct summary_counts *counts, struct err *err);

#endif
