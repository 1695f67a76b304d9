/* results/gate_data.h: what a gate reads of one campaign: its groups (a cell under an arm) with their trials' values. */
#ifndef LAGGARD_RESULTS_GATE_DATA_H
#define LAGGARD_RESULTS_GATE_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "results/comparison.h"

struct arena;
struct err;
struct sql;

struct gate_group { /* a cell under an arm */
    int64_t cell_id;
    int number; /* of the cell */
    const char *label, *arm;
    const char *settings; /* every setting, one a line */
    int finished;         /* and not void */
    int failed, interrupted, void_count, degraded;
    bool all_virtual;
    const char *reason;    /* of the first failed trial, or, where none failed, of the first void one; NULL */
    struct sample *values; /* one a metric: finite numbers of finished trials that are not void, in the order of trials */
    const char **missing;  /* one a metric: why a trial has no number; NULL */
    int *infinite;         /* one a metric: values that are no finite numbers */
};

struct gate_data {
    const char *path;
    int64_t campaign_id;
    const char *name, *file_path, *file_text;
    const char *fingerprint;
    int64_t environment_id, started_unix_ns;
    int64_t planned_count, trial_count; /* of trials: planned, and in the database, whatever became of them */
    const char *first_uuid;             /* of its trials: two campaigns with the same are copies; "" without trials */
    const char **arms;                  /* in order; one called "" where the campaign has none */
    int arm_count;
    struct gate_group *groups;
    int group_count;
    const char **metrics; /* by name */
    const char **units;
    int metric_count;
};

/* campaign_id 0: the last one that is not a confirming rerun. ERR_USAGE: there is none, or not this one. */
int gate_data_read(struct sql *sql, int64_t campaign_id, struct arena *arena, struct gate_data *data, struct err *err);
/* The last one that is not a confirming rerun; 0: the database holds none. */
int gate_data_last_campaign(struct sql *sql, int64_t *campaign_id, struct err *err);
/* The last campaign that ran flagged cells of this one again; 0: none did. */
int gate_data_confirmation(struct sql *sql, int64_t campaign_id, int64_t *confirmation_id, struct err *err);
const struct gate_group *gate_data_find(const struct gate_data *data, const char *label, const char *arm);
int gate_data_metric(const struct gate_data *data, const char *name); /* -1: there is none */
/* Facts that affect performance and differ: "cpu_model, memory_total"; "" when none does. */
int gate_data_differences(struct sql *a, int64_t environment_a, struct sql *b, int64_t environment_b, struct arena *arena,
                          const char **names, struct err *err);

#endif
