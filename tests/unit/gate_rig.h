/* gate_rig.h: a gate's question made without a database: one cell under one or two arms, values of each metric as they are set. */
#ifndef LAGGARD_TESTS_GATE_RIG_H
#define LAGGARD_TESTS_GATE_RIG_H

#include "base/arena.h"
#include "results/gate.h"

enum { GATE_RIG_METRICS = 2 };

/* One cell under one or two arms; values of each metric as they are set. */
struct gate_rig {
    struct arena *arena;
    struct gate_data data, baseline, rerun;
    struct gate_threshold thresholds[4];
    struct gate_waiver waivers[1];
    struct gate_rules rules;
    struct gate_question question;
    struct gate_result result;
};

extern const char *const gate_rig_metrics[GATE_RIG_METRICS];
void gate_rig_data(struct gate_rig *rig, struct gate_data *data, int arms);
void gate_rig_open(struct gate_rig *rig, int arms);
void gate_rig_close(struct gate_rig *rig);
void gate_rig_values(struct gate_rig *rig, struct gate_group *group, int metric, const double *values, int count);
/* `count` values around `median`, half of them on either side, in steps of 0.1 %. */
void gate_rig_around(struct gate_rig *rig, struct gate_group *group, int metric, double median, int count);
enum gate_verdict gate_rig_judge(struct gate_rig *rig);
void gate_rig_assert(struct gate_rig *rig, enum gate_verdict verdict, const char *reason);
void gate_rig_pair(struct gate_rig *rig, double before, double after, int count);

#endif
