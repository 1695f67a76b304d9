/* results/gate.h: does a campaign hold its thresholds, compared with a baseline? Judges what gate_data.h read; reads nothing
 * itself. */
#ifndef LAGGARD_RESULTS_GATE_H
#define LAGGARD_RESULTS_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "results/gate_data.h"
#include "schemas/gate.h"

struct arena;
struct err;
struct sql;

struct gate_question {
    const struct gate_rules *rules;
    const struct gate_data *campaign;
    const struct gate_data *confirmation; /* of the campaign; NULL: there is none */
    const struct gate_data *baseline;     /* another campaign; NULL: an arm of the same one */
    const char *incomparable;             /* why the baseline's environment is another one; NULL: it is not */
    const char *rerun;                    /* the command that runs flagged cells again; NULL: not known word for word */
    int64_t now_unix_ns;                  /* which waivers still hold */
    bool self_test;                       /* every candidate is made worse than its threshold allows: each must be caught */
    double slowdown;                      /* by at least this share */
};

struct gate_numbers { /* NAN: undefined */
    double base_median, median;
    double low, high; /* of the candidate's median, from order statistics */
    double limit;     /* what the median may be */
    double ratio, ratio_low, ratio_high, difference, difference_low, difference_high;
    double shift, delta, p, adjusted_p;
};

struct gate_row {
    const struct gate_threshold *threshold;
    const char *label, *arm, *base_arm; /* base_arm NULL: another campaign, or none */
    int cell;
    const char *unit;
    enum gate_verdict verdict;
    const char *reason;               /* why, as a sentence without a full stop; NULL: the numbers say it */
    const char *remark;               /* what else is to be known: degraded trials, a waiver that expired; NULL */
    const struct gate_waiver *waiver; /* that holds for this verdict; NULL */
    int base_count, count;            /* of values */
    struct gate_numbers numbers;
};

struct gate_result {
    const struct gate_question *question;
    struct gate_row *rows;
    int row_count;
    int counts[GATE_VERDICT_COUNT]; /* waived rows are not in */
    int waived;
    enum gate_verdict verdict; /* the gravest that is not waived */
    int exit_code;
};

/* One row a cell, arm and threshold. ERR_USAGE: a pattern of cells that matches none; ERR_BASELINE: relative thresholds and nothing
 * to compare with. */
int gate_judge(const struct gate_question *question, struct arena *arena, struct gate_result *result, struct err *err);

/* Keeps the rows of a result in the database of its campaign, in place of those that were kept before. Opens the database for
 * writing: ERR_HOST where another laggard writes to it. */
int gate_store(const char *path, const struct gate_result *result, struct err *err);

/* The one table of verdicts: names, exit codes, whether it fails a check, what it means. */
struct gate_verdict_row {
    const char *name;
    int exit_code;
    bool fails;
    const char *text;
};
extern const struct gate_verdict_row gate_verdicts[GATE_VERDICT_COUNT];

/* Noise floors of these databases (gate --calibrate): ERR_USAGE names a threshold that allows less than the floor of its metric. */
int gate_noise_check(const struct gate_question *question, struct sql *sql, struct err *err);
/* A/A: stores the noise floor of every cell and metric of the campaign, over the trials of all its arms, which must be the same
 * thing. Opens the database for writing. *count: floors stored. */
int gate_calibrate(const char *path, int64_t campaign_id, int64_t now_unix_ns, int *count, struct err *err);

#endif
