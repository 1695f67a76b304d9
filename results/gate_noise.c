/* results/gate_noise.c: the noise floor: how far the medians of two arms of the same thing are apart by chance. Calibrated from an
 * A/A campaign, kept in the table noise_floor, and asked before a gate judges: a threshold below it would flag chance. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "results/comparison.h"
#include "results/database.h"
#include "results/gate_internal.h"
#include "results/store_internal.h"

static const double CONFIDENCE = 0.95;
enum { SEED = 1 };

static int check_same(struct sql *sql, const struct gate_data *data, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    if (data->arm_count == 1)
        return 0;
    if (sql_prepare(sql, "SELECT count(DISTINCT changes) FROM arm WHERE campaign_id = ?", &rows, err) < 0)
        return -ERR_HOST;
    sql_start(rows);
    sql_put_integer(rows, data->campaign_id);
    if (sql_next(rows, err) < 0)
        return -ERR_HOST;
    if (sql_integer(rows, 0) > 1)
        return err_set(err, ERR_USAGE,
                       "cannot calibrate with campaign %s in %s: its arms differ, and noise shows only between equal ones; run one "
                       "whose arms set the same (arms: [{name: a}, {name: a2}]) or one without arms",
                       data->name, data->path);
    return 0;
}

/* The values of all arms of a cell: groups of a cell stand side by side. */
static struct sample pooled(const struct gate_data *data, int first, int metric, struct arena *arena)
{
    size_t count = 0;
    for (int a = 0; a < data->arm_count; a++)
        count += data->groups[first + a].values[metric].count;
    double *values = arena_new_array(arena, double, count + 1);
    size_t filled = 0;
    for (int a = 0; a < data->arm_count; a++) {
        const struct sample *sample = &data->groups[first + a].values[metric];
        if (sample->count > 0)
            memcpy(values + filled, sample->values, sample->count * sizeof(*values));
        filled += sample->count;
    }
    return (struct sample){values, count};
}

static int store_floor(struct sql_statement *insert, int64_t cell_id, int metric, struct sample values, int64_t now_unix_ns,
                       struct err *err)
{
    struct comparison_noise noise = comparison_noise_floor(values, CONFIDENCE, SEED);
    if (isnan(noise.difference))
        return 0;
    sql_start(insert);
    sql_put_integer(insert, cell_id);
    sql_put_integer(insert, metric);
    sql_put_integer(insert, (int64_t)(values.count / 2));
    sql_put_real(insert, noise.ratio);
    sql_put_real(insert, noise.difference);
    sql_put_real(insert, CONFIDENCE);
    sql_put_integer(insert, now_unix_ns);
    return sql_run(insert, err) < 0 ? -ERR_HOST : 1;
}

static int calibrate(struct store *store, int64_t campaign_id, int64_t now_unix_ns, struct arena *arena, int *count,
                     struct err *err)
{
    struct gate_data data;
    cleanup(sql_finish_cleanup) struct sql_statement *insert = NULL;
    cleanup(sql_rollback) struct sql_transaction transaction = {0};
    int result = gate_data_read(store->sql, campaign_id, arena, &data, err);
    if (result == 0)
        result = check_same(store->sql, &data, err);
    if (result < 0)
        return result;
    if (sql_begin(store->sql, &transaction, err) < 0 ||
        sql_prepare(store->sql,
                    "INSERT OR REPLACE INTO noise_floor (cell_id, metric_id, arm_trial_count, floor_ratio, floor_difference, "
                    "confidence_ratio, calibrated_unix_ns) VALUES (?, ?, ?, ?, ?, ?, ?)",
                    &insert, err) < 0)
        return -ERR_HOST;
    int stored = 0;
    for (int g = 0; g < data.group_count; g += data.arm_count)
        for (int m = 0; m < data.metric_count; m++) {
            int floor = data.metrics[m][0]
                            ? store_floor(insert, data.groups[g].cell_id, m, pooled(&data, g, m, arena), now_unix_ns, err)
                            : 0;
            if (floor < 0)
                return floor;
            stored += floor;
        }
    if (stored == 0)
        return err_set(
            err, ERR_USAGE,
            "cannot calibrate with campaign %s in %s: no cell has %d finished trials, so no two arms of %d; set repeats to "
            "%d or more",
            data.name, data.path, 2 * COMPARISON_TEST_LEAST, COMPARISON_TEST_LEAST, 2 * COMPARISON_INTERVAL_LEAST);
    *count = stored;
    return sql_commit(&transaction, err);
}

int gate_calibrate(const char *path, int64_t campaign_id, int64_t now_unix_ns, int *count, struct err *err)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct store *store = NULL;
    int result = store_open_existing(path, &store, err);
    return result < 0 ? result : store_close_after(store, calibrate(store, campaign_id, now_unix_ns, arena, count, err), err);
}

/* Medians of n values scatter as 1 / sqrt(n): a floor of other arms than today's is scaled. */
static double scaled(double floor, int64_t calibrated, int today)
{
    return today > 0 ? floor * sqrt((double)calibrated / today) : floor;
}

static int check_threshold(const struct gate_threshold *threshold, const struct gate_group *group, const char *metric, double ratio,
                           double difference, int64_t trials, struct err *err)
{
    double allowed = threshold->form == GATE_RATIO ? fabs(threshold->number - 1) : threshold->number;
    double floor = scaled(threshold->form == GATE_RATIO ? ratio : difference, trials, group->finished);
    if (threshold->form == GATE_ABSOLUTE || strcmp(threshold->metric, metric) != 0 || !gate_matches(threshold->cells, group->label))
        return 0;
    if (threshold->form == GATE_RATIO && threshold->min_effect > allowed)
        allowed = threshold->min_effect;
    if (!(floor > allowed))
        return 0;
    if (threshold->form == GATE_RATIO)
        return err_set(err, ERR_USAGE,
                       "%s: '%s' allows %.3g %% in cell %s, but two arms of the same thing differ by up to %.3g %% by chance there "
                       "(table noise_floor); allow more, or run more trials",
                       threshold->place, threshold->text, 100 * allowed, group->label, 100 * floor);
    return err_set(err, ERR_USAGE,
                   "%s: '%s' allows %.6g in cell %s, but two arms of the same thing differ by up to %.6g by chance there (table "
                   "noise_floor); allow more, or run more trials",
                   threshold->place, threshold->text, allowed, group->label, floor);
}

/* The arm of this cell that has the settings of a calibrated one: an equal label alone says the same of what is swept only. */
static const struct gate_group *calibrated_group(const struct gate_data *data, const char *label, const char *settings,
                                                 struct arena *arena)
{
    for (int g = 0; g < data->group_count; g++)
        if (strcmp(data->groups[g].label, label) == 0 && !gate_other_setting(data->groups[g].settings, settings, arena))
            return &data->groups[g];
    return NULL;
}

int gate_noise_check(const struct gate_question *question, struct sql *sql, struct err *err)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    const struct gate_data *data = question->campaign;
    if (sql_prepare(sql,
                    "SELECT n.label, n.metric, n.floor_ratio, n.floor_difference, n.arm_trial_count, coalesce((SELECT "
                    "min(a.settings_text) FROM arm_cell a WHERE a.cell_id = n.cell_id), c.settings_text) FROM noise_floors n "
                    "JOIN cell c USING (cell_id) WHERE n.fingerprint = ? ORDER BY n.calibrated_unix_ns",
                    &rows, err) < 0)
        return -ERR_HOST;
    sql_start(rows);
    sql_put_text(rows, data->fingerprint);
    int found;
    while ((found = sql_next(rows, err)) > 0) {
        const struct gate_group *group = calibrated_group(data, sql_word(rows, 0), sql_word(rows, 5), arena);
        for (int t = 0; group && t < question->rules->threshold_count; t++) {
            int result = check_threshold(&question->rules->thresholds[t], group, sql_word(rows, 1), sql_real(rows, 2),
                                         sql_real(rows, 3), sql_integer(rows, 4), err);
            if (result < 0)
                return result;
        }
    }
    return found;
}
