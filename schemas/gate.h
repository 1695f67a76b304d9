/* gate.h: what a gate demands: thresholds on metrics, and waivers. Plain data; read by harness/gate_rules.c, judged by
 * results/gate.h. */
#ifndef LAGGARD_SCHEMAS_GATE_H
#define LAGGARD_SCHEMAS_GATE_H

#include <stdbool.h>
#include <stdint.h>

enum gate_form {
    GATE_ABSOLUTE,   /* metric <= 25ms */
    GATE_RATIO,      /* metric <= baseline * 1.05 */
    GATE_DIFFERENCE, /* metric <= baseline + 2ms */
    GATE_FORM_COUNT
};

struct gate_threshold {
    const char *text;   /* as written */
    const char *metric; /* a row of the table `metric` */
    bool lower;         /* lower is better: `<=` */
    enum gate_form form;
    double number;     /* limit, factor, or slack (not negative); in the metric's unit */
    double min_effect; /* a share of the baseline or limit: less than this is no effect */
    double alpha;      /* of the test, and 1 - confidence of the interval */
    const char *cells; /* pattern of labels with * and ?; NULL: all cells */
    const char *place; /* "file:line:column" */
};

enum gate_verdict {
    GATE_PASS,
    GATE_IMPROVED,
    GATE_NEW,          /* the baseline has no data */
    GATE_INCONCLUSIVE, /* too few trials, or an effect that may be chance */
    GATE_UNCONFIRMED,  /* an effect that a rerun has to confirm */
    GATE_INCOMPARABLE, /* another environment, or other settings */
    GATE_ERROR,        /* trials failed */
    GATE_MISSING,      /* no data, where there should be */
    GATE_REGRESSED,
    GATE_VERDICT_COUNT
};

struct gate_waiver { /* `verdict` of these cells and this metric does not fail the gate, until it expires */
    const char *metric;
    const char *cells; /* pattern of labels; NULL: all */
    enum gate_verdict verdict;
    const char *owner, *reason;
    const char *expires; /* "2027-01-31": the last day, UTC */
    int64_t expires_unix_ns;
    const char *place;
};

enum { GATE_THRESHOLDS_MAX = 200 };
struct gate_rules {
    const char *baseline_arm; /* NULL: the first */
    const struct gate_threshold *thresholds;
    int threshold_count;
    const struct gate_waiver *waivers;
    int waiver_count;
};

#endif
