/* results/summary.h: the closing table of a campaign, read from the views `cells` and `trials` only. */
#ifndef LAGGARD_RESULTS_SUMMARY_H
#define LAGGARD_RESULTS_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct store;
struct text;

/* Both have a row a message size where trials sweep sizes.
 * For people: scheme, workers, swept settings, size and bandwidths where sizes are swept, median round time
 * with its 95 % interval over trials, mean, predicted mean, their ratio, accuracy, fidelity. */
int summary_table(struct store *store, int64_t campaign_id, bool colour, struct text *out, struct err *err);
/* For programs:
 * {"campaign","db","trials","failed","void","interrupted","degraded","cells":[{"scheme","workers","arm","trials","failed","void",
 * "round_time_p50_ns","round_time_low_ns","round_time_high_ns","round_time_mean_ns","round_time_p99_ns","predicted_round_ns",
 * "predicted_measured_round_ns","prediction_ratio","accuracy","fidelity","label","payload_bytes","algbw_bytes_per_second",
 * "busbw_bytes_per_second", ... swept settings by dotted path but scheme and
 * workers}]}. Names and meanings are those of the view; "scheme" is without parameters, "label" has them. Undefined values are
 * null. */
int summary_json(struct store *store, int64_t campaign_id, const char *db_path, struct text *out, struct err *err);
/* Numbers of the campaign's trials by state. */
struct summary_counts {
    int trials, finished, failed, interrupted, void_count, degraded;
};
int summary_counts(struct store *store, int64_t campaign_id, struct summary_counts *counts, struct err *err);

#endif
