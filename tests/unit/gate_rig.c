/* gate_rig.c: see gate_rig.h. */
#include "tests/unit/gate_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "results/gate.h"

enum { TRIALS_MAX = 12 };

const char *const gate_rig_metrics[GATE_RIG_METRICS] = {"round_time_ns.p50", "accuracy"};

static const char *const metric_units[GATE_RIG_METRICS] = {"ns", "ratio"};

void gate_rig_data(struct gate_rig *rig, struct gate_data *data, int arms)
{
    static const char *const names[] = {"before", "after"};
    *data = (struct gate_data){.path = "x.db",
                               .name = "x",
                               .campaign_id = 1,
                               .fingerprint = "f",
                               .arms = arena_new_array(rig->arena, const char *, 2),
                               .arm_count = arms,
                               .groups = arena_new_array(rig->arena, struct gate_group, 2),
                               .group_count = arms,
                               .metrics = arena_new_array(rig->arena, const char *, GATE_RIG_METRICS),
                               .units = arena_new_array(rig->arena, const char *, GATE_RIG_METRICS),
                               .metric_count = GATE_RIG_METRICS};
    for (int m = 0; m < GATE_RIG_METRICS; m++) {
        data->metrics[m] = gate_rig_metrics[m];
        data->units[m] = metric_units[m];
    }
    for (int a = 0; a < arms; a++) {
        data->arms[a] = arms == 1 ? "" : names[a];
        data->groups[a] = (struct gate_group){.label = "scheme=ring",
                                              .arm = data->arms[a],
                                              .settings = "name: x\nscheme: ring\n",
                                              .values = arena_new_array(rig->arena, struct sample, GATE_RIG_METRICS),
                                              .missing = arena_new_array(rig->arena, const char *, GATE_RIG_METRICS),
                                              .infinite = arena_new_array(rig->arena, int, GATE_RIG_METRICS)};
    }
}

void gate_rig_open(struct gate_rig *rig, int arms)
{
    *rig = (struct gate_rig){.arena = arena_new()};
    gate_rig_data(rig, &rig->data, arms);
    rig->thresholds[0] = (struct gate_threshold){.text = "round_time_ns.p50 <= baseline * 1.05",
                                                 .metric = gate_rig_metrics[0],
                                                 .lower = true,
                                                 .form = GATE_RATIO,
                                                 .number = 1.05,
                                                 .alpha = 0.05,
                                                 .place = "t:1:1"};
    rig->rules = (struct gate_rules){.thresholds = rig->thresholds, .threshold_count = 1, .waivers = rig->waivers};
    rig->question = (struct gate_question){.rules = &rig->rules, .campaign = &rig->data, .now_unix_ns = 1000};
}

void gate_rig_close(struct gate_rig *rig)
{
    arena_free(rig->arena);
}

void gate_rig_values(struct gate_rig *rig, struct gate_group *group, int metric, const double *values, int count)
{
    group->values[metric] = (struct sample){arena_copy(rig->arena, values, sizeof(*values) * (size_t)count), (size_t)count};
    group->finished = count > group->finished ? count : group->finished;
}

void gate_rig_around(struct gate_rig *rig, struct gate_group *group, int metric, double median, int count)
{
    double values[TRIALS_MAX];
    for (int i = 0; i < count; i++)
        values[i] = median * (1 + 0.001 * (i - (count - 1) / 2.0));
    gate_rig_values(rig, group, metric, values, count);
}

enum gate_verdict gate_rig_judge(struct gate_rig *rig)
{
    struct err err = {0};
    if (gate_judge(&rig->question, rig->arena, &rig->result, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(rig->result.row_count > 0);
    return rig->result.rows[0].verdict;
}

void gate_rig_assert(struct gate_rig *rig, enum gate_verdict verdict, const char *reason)
{
    enum gate_verdict found = gate_rig_judge(rig);
    const char *why = rig->result.rows[0].reason;
    if (found != verdict || (reason && (!why || !strstr(why, reason))))
        fail_msg("found %s (%s), expected %s (%s)", gate_verdicts[found].name, why ? why : "-", gate_verdicts[verdict].name,
                 reason ? reason : "-");
}

void gate_rig_pair(struct gate_rig *rig, double before, double after, int count)
{
    gate_rig_around(rig, &rig->data.groups[0], 0, before, count);
    gate_rig_around(rig, &rig->data.groups[1], 0, after, count);
}
