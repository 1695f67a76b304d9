/* results/baselines.c: the table `baseline`; see baselines.h. */
#include "results/baselines.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "results/database.h"
#include "results/gate_data.h"
#include "results/statistics.h"
#include "results/store_internal.h"

int baselines_find(struct sql *sql, const char *name, const char *revision, int64_t *campaign_id, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *query = NULL;
    *campaign_id = 0;
    if (sql_prepare(sql,
                    "SELECT campaign_id FROM baseline WHERE (?1 IS NULL OR name = ?1) AND (?2 IS NULL OR revision = ?2) "
                    "ORDER BY baseline_id DESC LIMIT 1",
                    &query, err) < 0)
        return -ERR_HOST;
    sql_start(query);
    sql_put_text(query, name);
    sql_put_text(query, revision);
    int found = sql_next(query, err);
    if (found > 0)
        *campaign_id = sql_integer(query, 0);
    return found < 0 ? found : 0;
}

static int insert(struct store *store, int64_t campaign_id, const char *name, const char *revision, int64_t now_unix_ns,
                  struct err *err)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    cleanup(sql_finish_cleanup) struct sql_statement *row = NULL;
    struct gate_data data; /* names the last campaign, and says so when there is none */
    int result = gate_data_read(store->sql, campaign_id, arena, &data, err);
    if (result < 0)
        return result;
    int finished = 0;
    for (int g = 0; g < data.group_count; g++)
        finished += data.groups[g].finished;
    if (finished == 0)
        return err_set(err, ERR_USAGE, "campaign %s in %s has no finished trial: it is no baseline", data.name, data.path);
    if (sql_prepare_insert(store->sql, "baseline", "name, campaign_id, revision, set_unix_ns", &row, err) < 0)
        return -ERR_HOST;
    sql_start(row);
    sql_put_text(row, name);
    sql_put_integer(row, data.campaign_id);
    sql_put_text(row, revision);
    sql_put_integer(row, now_unix_ns);
    return sql_run(row, err);
}

int baselines_set(const char *path, int64_t campaign_id, const char *name, const char *revision, int64_t now_unix_ns,
                  struct err *err)
{
    struct store *store = NULL;
    int result = store_open_existing(path, &store, err);
    return result < 0 ? result : store_close_after(store, insert(store, campaign_id, name, revision, now_unix_ns, err), err);
}

static int ask_list(struct sql *sql, struct sql_statement **rows, struct err *err)
{
    return sql_prepare(sql,
                       "SELECT baseline_id, baseline, revision, set_unix_ns, campaign_id, campaign, trials, fingerprint "
                       "FROM baselines ORDER BY baseline_id",
                       rows, err);
}

static const char *day(char text[static 20], int64_t unix_ns)
{
    time_t seconds = (time_t)(unix_ns / NS_PER_S);
    struct tm date;
    gmtime_r(&seconds, &date);
    strftime(text, 20, "%Y-%m-%d %H:%M", &date);
    return text;
}

int baselines_show(struct sql *sql, struct text *out, struct err *err)
{
    static const char *const heads[] = {"number", "baseline", "revision", "set (UTC)", "campaign", "trials"};
    static const size_t columns[] = {8, 26, 48, 66, 96};
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    if (ask_list(sql, &rows, err) < 0)
        return -ERR_HOST;
    int found = 0, count = 0;
    while ((found = sql_next(rows, err)) > 0) {
        char when[20];
        if (count++ == 0)
            for (int c = 0; c < 6; c++) {
                text_add(out, heads[c]);
                if (c < 5)
                    text_pad_to(out, columns[c]);
                else
                    text_add(out, "\n");
            }
        text_printf(out, "%" PRId64, sql_integer(rows, 0));
        text_pad_to(out, columns[0]);
        text_add_line(out, sql_text(rows, 1), '?');
        text_add(out, "  ");
        text_pad_to(out, columns[1]);
        text_add_line(out, sql_text(rows, 2) ? sql_text(rows, 2) : "-", '?');
        text_add(out, "  ");
        text_pad_to(out, columns[2]);
        text_add(out, day(when, sql_integer(rows, 3)));
        text_pad_to(out, columns[3]);
        text_add_line(out, sql_text(rows, 5), '?');
        text_printf(out, " (%" PRId64 ")  ", sql_integer(rows, 4));
        text_pad_to(out, columns[4]);
        text_printf(out, "%" PRId64 "\n", sql_integer(rows, 6));
    }
    if (count == 0)
        text_printf(out, "no baseline is set\n");
    return found;
}

static void export_group(const struct gate_data *data, const struct gate_group *group, struct json *json)
{
    for (int m = 0; m < data->metric_count; m++) {
        const struct sample *sample = &group->values[m];
        if (sample->count == 0)
            continue;
        json_begin_object(json, NULL);
        json_string(json, "label", group->label);
        json_string(json, "arm", group->arm);
        json_string(json, "metric", data->metrics[m]);
        json_string(json, "unit", data->units[m]);
        json_double(json, "median", statistics_median(sample->values, sample->count));
        json_begin_array(json, "values");
        for (size_t i = 0; i < sample->count; i++)
            json_double(json, NULL, sample->values[i]);
        json_end_array(json);
        json_end_object(json);
    }
}

static int export_one(struct sql *sql, struct sql_statement *row, struct json *json, struct err *err)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct gate_data data;
    int result = gate_data_read(sql, sql_integer(row, 4), arena, &data, err);
    if (result < 0)
        return result;
    json_begin_object(json, NULL);
    json_string(json, "baseline", sql_text(row, 1));
    json_string(json, "revision", sql_text(row, 2));
    json_integer(json, "set_unix_s", sql_integer(row, 3) / NS_PER_S); /* in ns it would exceed 2^53 */
    json_string(json, "campaign", data.name);
    json_integer(json, "campaign_id", data.campaign_id);
    json_string(json, "fingerprint", data.fingerprint);
    json_begin_array(json, "values");
    for (int g = 0; g < data.group_count; g++)
        export_group(&data, &data.groups[g], json);
    json_end_array(json);
    json_end_object(json);
    return 0;
}

int baselines_export(struct sql *sql, const char *name, struct text *out, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    if (ask_list(sql, &rows, err) < 0)
        return -ERR_HOST;
    struct json json = {.out = out};
    int found = 0;
    json_begin_array(&json, NULL);
    while ((found = sql_next(rows, err)) > 0)
        if (!name || strcmp(name, sql_word(rows, 1)) == 0) {
            int result = export_one(sql, rows, &json, err);
            if (result < 0)
                return result;
        }
    json_end_array(&json);
    text_add(out, "\n");
    return found;
}
