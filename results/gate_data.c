/* results/gate_data.c: reads a campaign's groups and values; see gate_data.h. */
#include "results/gate_data.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "results/database.h"
#include "results/sqlite_wrap.h"

static const char *keep(struct arena *arena, struct sql_statement *rows, int column)
{
    const char *text = sql_text(rows, column);
    return text ? arena_strdup(arena, text) : NULL;
}

static int ask(struct sql *sql, const char *text, int64_t parameter, struct sql_statement **rows, struct err *err)
{
    if (sql_prepare(sql, text, rows, err) < 0)
        return -ERR_HOST;
    sql_start(*rows);
    sql_put_integer(*rows, parameter);
    return 0;
}

int gate_data_last_campaign(struct sql *sql, int64_t *campaign_id, struct err *err)
{
    int64_t found = 0;
    if (sql_ask_integer(sql,
                        "SELECT max(campaign_id) FROM campaign WHERE campaign_id NOT IN (SELECT campaign_id FROM confirmation)",
                        &found, err) < 0)
        return -ERR_HOST;
    *campaign_id = found;
    return 0;
}

static int choose_campaign(struct sql *sql, int64_t *campaign_id, struct err *err)
{
    int64_t found;
    if (gate_data_last_campaign(sql, &found, err) < 0)
        return -ERR_HOST;
    if (found == 0)
        return err_set(err, ERR_USAGE,
                       "the database '%s' holds no campaign: there is nothing to judge; `laggard run FILE --db %s` adds one",
                       sql_path(sql), sql_path(sql));
    *campaign_id = found;
    return 0;
}

static int read_campaign(struct sql *sql, struct arena *arena, struct gate_data *data, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    if (ask(sql,
            "SELECT c.name, c.file_path, c.file_text, c.environment_id, c.started_unix_ns, e.fingerprint, "
            "c.planned_trial_count, (SELECT count(*) FROM trial t WHERE t.campaign_id = c.campaign_id AND t.status <> 'running'), "
            "(SELECT coalesce(min(uuid), '') FROM trial t WHERE t.campaign_id = c.campaign_id) FROM campaign c "
            "JOIN environment e USING (environment_id) WHERE c.campaign_id = ?",
            data->campaign_id, &rows, err) < 0)
        return -ERR_HOST;
    int found = sql_next(rows, err);
    if (found == 0)
        return err_set(err, ERR_USAGE,
                       "the database '%s' holds no campaign %" PRId64 "; `laggard sql %s trials` has their campaign_id",
                       sql_path(sql), data->campaign_id, sql_path(sql));
    if (found < 0)
        return found;
    data->name = arena_strdup(arena, sql_word(rows, 0));
    data->file_path = arena_strdup(arena, sql_word(rows, 1));
    data->file_text = arena_strdup(arena, sql_word(rows, 2));
    data->environment_id = sql_integer(rows, 3);
    data->started_unix_ns = sql_integer(rows, 4);
    data->fingerprint = arena_strdup(arena, sql_word(rows, 5));
    data->planned_count = sql_integer(rows, 6);
    data->trial_count = sql_integer(rows, 7);
    data->first_uuid = arena_strdup(arena, sql_word(rows, 8));
    return 0;
}

static int read_metrics(struct sql *sql, struct arena *arena, struct gate_data *data, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    int64_t most = 0;
    if (sql_ask_integer(sql, "SELECT max(metric_id) FROM metric", &most, err) < 0 ||
        sql_prepare(sql, "SELECT metric_id, name, unit FROM metric", &rows, err) < 0)
        return -ERR_HOST;
    if (most < 0 || most > 1000)
        return err_set(err, ERR_HOST, "cannot read the database '%s': its table metric makes no sense", sql_path(sql));
    data->metrics = arena_new_array(arena, const char *, (size_t)most + 1);
    data->units = arena_new_array(arena, const char *, (size_t)most + 1);
    data->metric_count = (int)most + 1; /* by number: some may be unused, with an empty name */
    for (int i = 0; i < data->metric_count; i++)
        data->metrics[i] = data->units[i] = "";
    int found;
    while ((found = sql_next(rows, err)) > 0) {
        int64_t id = sql_integer(rows, 0);
        if (id < 0 || id > most)
            continue;
        data->metrics[id] = arena_strdup(arena, sql_word(rows, 1));
        data->units[id] = arena_strdup(arena, sql_word(rows, 2));
    }
    return found;
}

/* The arms as the file lists them; where there are none, what trials say, which is "". */
static int read_arms(struct sql *sql, struct arena *arena, struct gate_data *data, struct err *err)
{
    static const char *const tries[] = {"SELECT name FROM arm WHERE campaign_id = ? ORDER BY position",
                                        "SELECT DISTINCT arm FROM trial WHERE campaign_id = ? ORDER BY arm"};
    enum { ARMS_MOST = 1000 };
    data->arms = arena_new_array(arena, const char *, ARMS_MOST);
    for (int t = 0; t < 2 && data->arm_count == 0; t++) {
        cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
        if (ask(sql, tries[t], data->campaign_id, &rows, err) < 0)
            return -ERR_HOST;
        int found;
        while ((found = sql_next(rows, err)) > 0 && data->arm_count < ARMS_MOST)
            data->arms[data->arm_count++] = arena_strdup(arena, sql_word(rows, 0));
        if (found < 0)
            return found;
    }
    if (data->arm_count == 0)
        data->arms[data->arm_count++] = "";
    return 0;
}

static int count_cells(struct sql *sql, int64_t campaign_id, int64_t *count, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    if (ask(sql, "SELECT count(*) FROM cell WHERE campaign_id = ?", campaign_id, &rows, err) < 0 || sql_next(rows, err) < 0)
        return -ERR_HOST;
    *count = sql_integer(rows, 0);
    return 0;
}

static void start_group(struct sql_statement *rows, const struct gate_group *group)
{
    sql_start(rows);
    sql_put_integer(rows, group->cell_id);
    sql_put_text(rows, group->arm);
}

/* What became of the group's trials. */
static int read_counts(struct sql_statement *rows, struct arena *arena, struct gate_group *group, struct err *err)
{
    start_group(rows, group);
    if (sql_next(rows, err) < 0)
        return -ERR_HOST;
    int *const numbers[] = {&group->finished, &group->failed, &group->interrupted, &group->void_count, &group->degraded};
    const int count = sizeof(numbers) / sizeof(numbers[0]);
    for (int i = 0; i < count; i++)
        *numbers[i] = (int)sql_integer(rows, i);
    group->all_virtual = sql_integer(rows, count) == 1;
    group->reason = keep(arena, rows, count + 1);
    return 0;
}

/* What the arm made of the cell's settings. */
static int read_settings(struct sql_statement *rows, struct arena *arena, struct gate_group *group, struct err *err)
{
    start_group(rows, group);
    int there = sql_next(rows, err);
    if (there > 0)
        group->settings = keep(arena, rows, 0);
    return there < 0 ? there : 0;
}

/* The cells, each under all arms, with room for values. */
static int make_groups(struct sql *sql, struct arena *arena, struct gate_data *data, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *cells = NULL;
    int64_t cell_count = 0;
    if (count_cells(sql, data->campaign_id, &cell_count, err) < 0 ||
        ask(sql, "SELECT cell_id, number, label, settings_text FROM cell WHERE campaign_id = ? ORDER BY number", data->campaign_id,
            &cells, err) < 0)
        return -ERR_HOST;
    data->groups = arena_new_array(arena, struct gate_group, (size_t)cell_count * (size_t)data->arm_count + 1);
    int found;
    while ((found = sql_next(cells, err)) > 0 && data->group_count < cell_count * data->arm_count) {
        const char *label = keep(arena, cells, 2), *settings = keep(arena, cells, 3);
        for (int a = 0; a < data->arm_count; a++)
            data->groups[data->group_count++] =
                (struct gate_group){.cell_id = sql_integer(cells, 0),
                                    .number = (int)sql_integer(cells, 1),
                                    .label = label,
                                    .arm = data->arms[a],
                                    .settings = settings,
                                    .values = arena_new_array(arena, struct sample, (size_t)data->metric_count),
                                    .missing = arena_new_array(arena, const char *, (size_t)data->metric_count),
                                    .infinite = arena_new_array(arena, int, (size_t)data->metric_count)};
    }
    return found < 0 ? found : 0;
}

static int read_groups(struct sql *sql, struct arena *arena, struct gate_data *data, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *counts = NULL, *settings = NULL;
    int result = make_groups(sql, arena, data, err);
    if (result < 0)
        return result;
    if (sql_prepare(sql,
                    "SELECT total(status = 'finished' AND fidelity <> 'void'), total(status = 'failed'), "
                    "total(status = 'interrupted'), total(status = 'finished' AND fidelity = 'void'), "
                    "total(status = 'finished' AND fidelity = 'degraded'), min(world = 'virtual'), "
                    "(SELECT CASE status WHEN 'failed' THEN reason ELSE fidelity_reason END FROM trial WHERE cell_id = ?1 AND "
                    "arm = ?2 AND (status = 'failed' OR fidelity = 'void') ORDER BY status <> 'failed', trial_id LIMIT 1) "
                    "FROM trial WHERE cell_id = ?1 AND arm = ?2",
                    &counts, err) < 0 ||
        sql_prepare(sql, "SELECT settings_text FROM arm_cell WHERE cell_id = ? AND arm = ?", &settings, err) < 0)
        return -ERR_HOST;
    for (int g = 0; g < data->group_count && result == 0; g++) {
        result = read_counts(counts, arena, &data->groups[g], err);
        if (result == 0)
            result = read_settings(settings, arena, &data->groups[g], err);
    }
    return result;
}

static int read_values(struct sql *sql, struct arena *arena, struct gate_data *data, struct err *err)
{
    /* One number of a trial is judged: where it sweeps message sizes there is none. */
    static const char values_of[] =
        "SELECT v.metric_id, CASE WHEN z.trial_id IS NULL THEN v.value END, CASE WHEN z.trial_id IS NULL THEN v.reason "
        "ELSE 'its trials sweep message sizes: give each trials of its own, with workload.size in the matrix' END "
        "FROM trial t JOIN trial_metric v USING (trial_id) "
        "LEFT JOIN message_size z ON z.trial_id = v.trial_id AND z.size_position = v.size_position "
        "WHERE t.cell_id = ? AND t.arm = ? AND t.status = 'finished' AND t.fidelity <> 'void' ORDER BY t.trial_id";
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    if (sql_prepare(sql, values_of, &rows, err) < 0)
        return -ERR_HOST;
    for (int g = 0; g < data->group_count; g++) {
        struct gate_group *group = &data->groups[g];
        double **values = arena_new_array(arena, double *, (size_t)data->metric_count);
        for (int m = 0; m < data->metric_count; m++)
            group->values[m].values = values[m] = arena_new_array(arena, double, (size_t)group->finished + 1);
        start_group(rows, group);
        int found;
        while ((found = sql_next(rows, err)) > 0) {
            int64_t metric = sql_integer(rows, 0);
            if (metric < 0 || metric >= data->metric_count)
                continue;
            const char *reason = sql_text(rows, 2);
            double value = sql_real(rows, 1);
            struct sample *sample = &group->values[metric];
            if (isfinite(value) && sample->count < (size_t)group->finished)
                values[metric][sample->count++] = value;
            else if (reason)
                group->missing[metric] = arena_strdup(arena, reason);
            else
                group->infinite[metric]++;
        }
        if (found < 0)
            return found;
    }
    return 0;
}

int gate_data_read(struct sql *sql, int64_t campaign_id, struct arena *arena, struct gate_data *out, struct err *err)
{
    struct gate_data data = {.path = arena_strdup(arena, sql_path(sql)), .campaign_id = campaign_id};
    int result = campaign_id == 0 ? choose_campaign(sql, &data.campaign_id, err) : 0;
    if (result == 0)
        result = read_campaign(sql, arena, &data, err);
    if (result == 0)
        result = read_metrics(sql, arena, &data, err);
    if (result == 0)
        result = read_arms(sql, arena, &data, err);
    if (result == 0)
        result = read_groups(sql, arena, &data, err);
    if (result == 0)
        result = read_values(sql, arena, &data, err);
    if (result == 0)
        *out = data;
    return result;
}

int gate_data_confirmation(struct sql *sql, int64_t campaign_id, int64_t *confirmation_id, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    *confirmation_id = 0;
    if (ask(sql, "SELECT max(campaign_id) FROM confirmation WHERE confirmed_campaign_id = ?", campaign_id, &rows, err) < 0 ||
        sql_next(rows, err) < 0)
        return -ERR_HOST;
    *confirmation_id = sql_integer(rows, 0);
    return 0;
}

const struct gate_group *gate_data_find(const struct gate_data *data, const char *label, const char *arm)
{
    for (int g = 0; g < data->group_count; g++)
        if (strcmp(data->groups[g].label, label) == 0 && strcmp(data->groups[g].arm, arm) == 0)
            return &data->groups[g];
    return NULL;
}

int gate_data_metric(const struct gate_data *data, const char *name)
{
    for (int m = 0; m < data->metric_count; m++)
        if (strcmp(data->metrics[m], name) == 0)
            return m;
    return -1;
}

static const char *fact_of(struct sql_statement *query, int64_t environment, const char *name, struct arena *arena, struct err *err,
                           int *result)
{
    sql_start(query);
    sql_put_integer(query, environment);
    sql_put_text(query, name);
    int found = sql_next(query, err);
    *result = found < 0 ? found : 0;
    return found > 0 ? keep(arena, query, 0) : NULL;
}

int gate_data_differences(struct sql *a, int64_t environment_a, struct sql *b, int64_t environment_b, struct arena *arena,
                          const char **names, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *facts = NULL, *others = NULL;
    cleanup(text_free) struct text list = {0};
    if (ask(a, "SELECT name, value FROM environment_fact WHERE environment_id = ? AND affects_performance = 1 ORDER BY name",
            environment_a, &facts, err) < 0 ||
        sql_prepare(b, "SELECT value FROM environment_fact WHERE environment_id = ? AND name = ?", &others, err) < 0)
        return -ERR_HOST;
    int found;
    while ((found = sql_next(facts, err)) > 0) {
        int result;
        const char *name = keep(arena, facts, 0), *value = keep(arena, facts, 1);
        const char *other = fact_of(others, environment_b, name, arena, err, &result);
        if (result < 0)
            return result;
        if (strcmp(value ? value : "", other ? other : "") != 0)
            text_printf(&list, "%s%s", list.length > 0 ? ", " : "", name);
    }
    *names = arena_strdup(arena, list.bytes ? list.bytes : "");
    return found;
}
