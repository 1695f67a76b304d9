/* results/summary.c: reads the view `cells` of one campaign, and prints it for programs. Whoever asks the database gets the same
 * numbers. */
#include "results/summary.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "results/store_internal.h"
#include "results/summary_internal.h"

void summary_free(struct summary *summary)
{
    arena_free(summary->arena);
}

int summary_query(struct store *store, const char *text, int64_t campaign_id, struct sql_statement **statement, struct err *err)
{
    if (sql_prepare(store->sql, text, statement, err) < 0)
        return -ERR_HOST;
    sql_start(*statement);
    sql_put_integer(*statement, campaign_id);
    return 0;
}

int summary_counts(struct store *store, int64_t campaign_id, struct summary_counts *counts, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    if (summary_query(store,
                      "SELECT count(*), total(status = 'finished'), total(status = 'failed'), total(status = 'interrupted'), "
                      "total(fidelity = 'void'), total(fidelity = 'degraded') FROM trials WHERE campaign_id = ?",
                      campaign_id, &rows, err) < 0 ||
        sql_next(rows, err) < 0)
        return -ERR_HOST;
    *counts = (struct summary_counts){
        .trials = (int)sql_integer(rows, 0),
        .finished = (int)sql_integer(rows, 1),
        .failed = (int)sql_integer(rows, 2),
        .interrupted = (int)sql_integer(rows, 3),
        .void_count = (int)sql_integer(rows, 4),
        .degraded = (int)sql_integer(rows, 5),
    };
    return 0;
}

static int read_axes(struct store *store, int64_t campaign_id, struct summary *summary, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    if (summary_query(store,
                      "SELECT e.key FROM cells c, json_each(c.settings) e "
                      "WHERE c.campaign_id = ? AND e.key NOT IN ('scheme', 'workers') GROUP BY e.key ORDER BY min(e.id)",
                      campaign_id, &rows, err) < 0)
        return -ERR_HOST;
    int found;
    while ((found = sql_next(rows, err)) > 0 && summary->axis_count < SUMMARY_AXES_MAX)
        summary->axes[summary->axis_count++] = arena_strdup(summary->arena, sql_word(rows, 0));
    return found < 0 ? found : 0;
}

/* `settings` is a JSON object of swept paths; `scheme` there carries the parameters ("backup(backups=1)"). */
static int read_settings(struct sql_statement *pairs, const char *settings, struct summary *summary, struct summary_cell *cell,
                         struct err *err)
{
    sql_start(pairs);
    sql_put_text(pairs, settings);
    int found;
    while ((found = sql_next(pairs, err)) > 0) {
        const char *path = sql_word(pairs, 0);
        const char *value = arena_strdup(summary->arena, sql_word(pairs, 1));
        if (strcmp(path, "scheme") == 0)
            cell->scheme_text = value;
        for (int i = 0; i < summary->axis_count; i++)
            if (strcmp(path, summary->axes[i]) == 0)
                cell->axis_values[i] = value;
    }
    return found;
}

static const char *keep(struct summary *summary, struct sql_statement *rows, int column)
{
    const char *text = sql_text(rows, column);
    return text ? arena_strdup(summary->arena, text) : NULL;
}

static int read_cells(struct store *store, int64_t campaign_id, struct summary *summary, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL, *pairs = NULL;
    int64_t count = 0;
    if (summary_query(store, "SELECT count(*) FROM cells WHERE campaign_id = ?", campaign_id, &rows, err) < 0 ||
        sql_next(rows, err) < 0)
        return -ERR_HOST;
    count = sql_integer(rows, 0);
    sql_finish(steal_pointer(&rows));
    summary->cells = arena_new_array(summary->arena, struct summary_cell, (size_t)count);
    if (sql_prepare(store->sql, "SELECT key, value FROM json_each(?)", &pairs, err) < 0 ||
        summary_query(
            store,
            "SELECT label, scheme, arm, fidelity, workers, trials, failed, interrupted, void, degraded, round_time_p50_ns, "
            "round_time_low_ns, round_time_high_ns, round_time_mean_ns, round_time_p99_ns, predicted_round_ns, "
            "predicted_measured_round_ns, prediction_ratio, accuracy, payload_bytes, algbw_bytes_per_second, "
            "busbw_bytes_per_second, "
            "settings, size_position IS NOT NULL FROM cells WHERE campaign_id = ? ORDER BY cell, arm, size_position",
            campaign_id, &rows, err) < 0)
        return -ERR_HOST;
    int found;
    while ((found = sql_next(rows, err)) > 0 && summary->cell_count < count) {
        struct summary_cell *cell = &summary->cells[summary->cell_count++];
        cell->label = keep(summary, rows, 0);
        cell->scheme = cell->scheme_text = keep(summary, rows, 1);
        cell->arm = keep(summary, rows, 2);
        cell->fidelity = keep(summary, rows, 3);
        int64_t *const integers[] = {&cell->workers,     &cell->trials,     &cell->failed,
                                     &cell->interrupted, &cell->void_count, &cell->degraded};
        for (int i = 0; i < 6; i++)
            *integers[i] = sql_integer(rows, 4 + i);
        double *const reals[] = {&cell->p50,
                                 &cell->low,
                                 &cell->high,
                                 &cell->mean,
                                 &cell->p99,
                                 &cell->predicted,
                                 &cell->predicted_measured,
                                 &cell->ratio,
                                 &cell->accuracy,
                                 &cell->payload_bytes,
                                 &cell->algbw,
                                 &cell->busbw};
        for (int i = 0; i < 12; i++)
            *reals[i] = sql_real(rows, 10 + i);
        cell->swept = sql_integer(rows, 23) != 0;
        if (read_settings(pairs, sql_text(rows, 22), summary, cell, err) < 0)
            return -ERR_HOST;
    }
    return found < 0 ? found : 0;
}

int summary_read(struct store *store, int64_t campaign_id, struct summary *summary, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    summary->arena = arena_new();
    if (summary_query(store, "SELECT name, planned_trial_count FROM campaign WHERE campaign_id = ?", campaign_id, &rows, err) < 0)
        return -ERR_HOST;
    int found = sql_next(rows, err);
    if (found == 0)
        return err_set(err, ERR_HOST, "cannot summarise: '%s' has no campaign %lld", sql_path(store->sql), (long long)campaign_id);
    if (found < 0)
        return found;
    summary->campaign = keep(summary, rows, 0);
    summary->planned = sql_integer(rows, 1);
    if (summary_counts(store, campaign_id, &summary->counts, err) < 0 || read_axes(store, campaign_id, summary, err) < 0)
        return -ERR_HOST;
    return read_cells(store, campaign_id, summary, err);
}

static void add_whole(struct json *json, const char *key, double value)
{
    if (isfinite(value))
        json_integer(json, key, llround(value));
    else
        json_null(json, key);
}

static void add_cell(struct json *json, const struct summary *summary, const struct summary_cell *cell)
{
    json_begin_object(json, NULL);
    json_string(json, "scheme", cell->scheme);
    json_integer(json, "workers", cell->workers);
    json_string(json, "arm", cell->arm);
    json_integer(json, "trials", cell->trials);
    json_integer(json, "failed", cell->failed);
    json_integer(json, "void", cell->void_count);
    add_whole(json, "round_time_p50_ns", cell->p50);
    add_whole(json, "round_time_low_ns", cell->low);
    add_whole(json, "round_time_high_ns", cell->high);
    add_whole(json, "round_time_mean_ns", cell->mean);
    add_whole(json, "round_time_p99_ns", cell->p99);
    add_whole(json, "predicted_round_ns", cell->predicted);
    add_whole(json, "predicted_measured_round_ns", cell->predicted_measured);
    json_double(json, "prediction_ratio", cell->ratio);
    json_double(json, "accuracy", cell->accuracy);
    json_string(json, "fidelity", cell->fidelity);
    json_string(json, "label", cell->label);
    add_whole(json, "payload_bytes", cell->payload_bytes);
    add_whole(json, "algbw_bytes_per_second", cell->algbw);
    add_whole(json, "busbw_bytes_per_second", cell->busbw);
    for (int i = 0; i < summary->axis_count; i++)
        json_string(json, summary->axes[i], cell->axis_values[i]);
    json_end_object(json);
}

int summary_json(struct store *store, int64_t campaign_id, const char *db_path, struct text *out, struct err *err)
{
    cleanup(summary_free) struct summary summary = {0};
    if (summary_read(store, campaign_id, &summary, err) < 0)
        return -ERR_HOST;
    struct json json = {.out = out};
    json_begin_object(&json, NULL);
    json_string(&json, "campaign", summary.campaign);
    json_string(&json, "db", db_path);
    json_integer(&json, "trials", summary.counts.trials);
    json_integer(&json, "failed", summary.counts.failed);
    json_integer(&json, "void", summary.counts.void_count);
    json_integer(&json, "interrupted", summary.counts.interrupted);
    json_integer(&json, "degraded", summary.counts.degraded);
    json_begin_array(&json, "cells");
    for (int i = 0; i < summary.cell_count; i++)
        add_cell(&json, &summary, &summary.cells[i]);
    json_end_array(&json);
    json_end_object(&json);
    text_add(out, "\n");
    return 0;
}
