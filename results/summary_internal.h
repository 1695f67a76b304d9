/* results/summary_internal.h: what the two forms of the closing table share: the view `cells` of one campaign in memory. */
#ifndef LAGGARD_RESULTS_SUMMARY_INTERNAL_H
#define LAGGARD_RESULTS_SUMMARY_INTERNAL_H

#include <stdint.h>

#include "results/sqlite_wrap.h"
#include "results/summary.h"

struct arena;

enum { SUMMARY_AXES_MAX = 16 };

struct summary_cell {        /* one row of the view */
    const char *scheme;      /* its name */
    const char *scheme_text; /* as swept: "backup(backups=1)" */
    const char *label, *arm, *fidelity;
    int64_t workers, trials, failed, interrupted, void_count, degraded;
    bool swept; /* one of several message sizes */
    double p50, low, high, mean, p99, predicted, predicted_measured, ratio, accuracy, payload_bytes, algbw, busbw; /* NAN: NULL */
    const char *axis_values[SUMMARY_AXES_MAX]; /* NULL where the cell does not set it */
};

struct summary {
    struct arena *arena;
    const char *campaign;
    const char *axes[SUMMARY_AXES_MAX]; /* swept paths but `scheme` and `workers` */
    int axis_count;
    struct summary_cell *cells;
    int cell_count;
    int64_t planned;
    struct summary_counts counts;
};

int summary_read(struct store *store, int64_t campaign_id, struct summary *summary, struct err *err);
void summary_free(struct summary *summary); /* also for cleanup() */
/* Prepares a query whose one parameter is the campaign. */
int summary_query(struct store *store, const char *text, int64_t campaign_id, struct sql_statement **statement, struct err *err);

#endif
