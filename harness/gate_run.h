/* harness/gate_run.h: one gate from its files to its result: what `laggard gate`, `laggard baselines` and `laggard run --confirm`
 * share. */
#ifndef LAGGARD_HARNESS_GATE_RUN_H
#define LAGGARD_HARNESS_GATE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "results/gate.h"

struct arena;
struct err;

struct gate_asked {
    const char *db;
    const char *baseline_db;   /* NULL: the database itself */
    const char *baseline_name; /* NULL: the last that was set, whatever its name */
    const char *revision;      /* NULL: any */
    const char *thresholds;    /* a file; NULL: `gate` of the campaign file in the database */
    const char *calibration;   /* a database with noise floors beside those of the other two; NULL */
    int64_t campaign_id;       /* 0: the last */
    bool every_metric;         /* no rules: one threshold a metric that has values, which allows nothing */
    bool values_only;          /* likewise, but nothing is compared: for exports */
    bool self_test;
    double slowdown;
};

/* Everything lives in the arena. ERR_BASELINE where a baseline is asked for and is not there, or is the
 * campaign itself. */
int gate_run(const struct gate_asked *asked, struct arena *arena, struct gate_result *result, struct err *err);

#endif
