/* results/history.c: from the campaigns of a database to series with change points; see history.h.
 *
 * A campaign's cell under an arm goes on with a series when a gate would compare the two: the label and the arm are the same, so
 * are the settings (apart from those that only say how often and under which name), and so is the environment, unless all trials
 * are virtual. Otherwise it begins a series of its own. Two hosts that take turns have two series, and neither changes the
 * other. */
#include "results/history.h"

#include <fnmatch.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/options.h"
#include "base/text.h"
#include "results/database.h"
#include "results/gate_internal.h"
#include "results/sqlite_wrap.h"
#include "results/statistics.h"

static const char STANDARD_METRIC[] = "round_time_ns.p50";

struct track { /* the groups that are one series, whatever the metric */
    const struct gate_group **groups;
    const struct history_campaign **campaigns;
    int count;
    const char *differs;
};

struct reading {
    struct sql *sql;
    const struct history_question *question;
    struct arena *arena;
    struct history *history;
    struct track *tracks; /* those of one cell and arm side by side */
    int track_count, track_capacity;
};

/* ---- the campaigns ---- */

static int read_revisions(struct reading *reading, struct history_campaign *campaign, struct err *err)
{
    static const char *const texts[] = {
        "SELECT revision FROM baseline WHERE campaign_id = ? AND revision IS NOT NULL ORDER BY baseline_id DESC LIMIT 1",
        "SELECT value FROM environment_fact WHERE environment_id = ? AND name = 'laggard_revision'"};
    const char **const wanted[] = {&campaign->revision, &campaign->laggard_revision};
    const int64_t keys[] = {campaign->data->campaign_id, campaign->data->environment_id};
    for (int i = 0; i < 2; i++) {
        cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
        if (sql_prepare(reading->sql, texts[i], &rows, err) < 0)
            return -ERR_HOST;
        sql_start(rows);
        sql_put_integer(rows, keys[i]);
        int found = sql_next(rows, err);
        if (found < 0)
            return found;
        if (found > 0 && sql_text(rows, 0))
            *wanted[i] = arena_strdup(reading->arena, sql_text(rows, 0));
    }
    return 0;
}

static int read_campaigns(struct reading *reading, struct err *err)
{
    struct history *history = reading->history;
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    int64_t count = 0;
    if (sql_ask_integer(reading->sql, "SELECT count(*) FROM campaign", &count, err) < 0 ||
        sql_prepare(reading->sql,
                    "SELECT campaign_id FROM campaign WHERE campaign_id NOT IN (SELECT campaign_id FROM confirmation) "
                    "ORDER BY started_unix_ns, campaign_id",
                    &rows, err) < 0)
        return -ERR_HOST;
    history->campaigns = arena_new_array(reading->arena, struct history_campaign, (size_t)count + 1);
    int found;
    while ((found = sql_next(rows, err)) > 0 && history->campaign_count < count) {
        struct history_campaign *campaign = &history->campaigns[history->campaign_count++];
        struct gate_data *data = arena_new_object(reading->arena, struct gate_data);
        int result = gate_data_read(reading->sql, sql_integer(rows, 0), reading->arena, data, err);
        campaign->data = data;
        if (result == 0)
            result = read_revisions(reading, campaign, err);
        if (result < 0)
            return result;
    }
    if (found == 0 && history->campaign_count == 0)
        return err_set(err, ERR_USAGE,
                       "the database '%s' holds no campaign: there is nothing to show; `laggard run FILE --db %s` adds one",
                       history->path, history->path);
    return found;
}

/* ---- tracks ---- */

static bool is_same_cell(const struct gate_group *a, const struct gate_group *b)
{
    return strcmp(a->label, b->label) == 0 && strcmp(a->arm, b->arm) == 0;
}

static bool is_same_environment(const struct track *track, const struct history_campaign *campaign, const struct gate_group *group)
{
    return (group->all_virtual && track->groups[0]->all_virtual) ||
           strcmp(track->campaigns[0]->data->fingerprint, campaign->data->fingerprint) == 0;
}

static int explain(struct reading *reading, const struct track *before, const struct history_campaign *campaign,
                   const struct gate_group *group, const char **differs, struct err *err)
{
    const struct gate_data *first = before->campaigns[0]->data;
    const char *setting = gate_other_setting(group->settings, before->groups[0]->settings, reading->arena), *names;
    if (setting) {
        *differs = arena_printf(reading->arena, "another %s than in campaign %s (%lld)", setting, first->name,
                                (long long)first->campaign_id);
        return 0;
    }
    int result = gate_data_differences(reading->sql, first->environment_id, reading->sql, campaign->data->environment_id,
                                       reading->arena, &names, err);
    if (result == 0)
        *differs = arena_printf(reading->arena, "another environment than campaign %s (%lld): %s", first->name,
                                (long long)first->campaign_id, names[0] ? names : "other facts are known");
    return result;
}

/* Behind those of the same cell and arm. */
static struct track *insert_track(struct reading *reading, int index)
{
    if (reading->track_count == reading->track_capacity) {
        int capacity = reading->track_capacity ? 2 * reading->track_capacity : 64;
        struct track *tracks = arena_new_array(reading->arena, struct track, (size_t)capacity);
        if (reading->track_count > 0)
            memcpy(tracks, reading->tracks, (size_t)reading->track_count * sizeof(*tracks));
        reading->tracks = tracks;
        reading->track_capacity = capacity;
    }
    struct track *track = &reading->tracks[index];
    memmove(track + 1, track, (size_t)(reading->track_count++ - index) * sizeof(*track));
    size_t most = (size_t)reading->history->campaign_count;
    *track = (struct track){.groups = arena_new_array(reading->arena, const struct gate_group *, most),
                            .campaigns = arena_new_array(reading->arena, const struct history_campaign *, most)};
    return track;
}

static int add_group(struct reading *reading, const struct history_campaign *campaign, const struct gate_group *group,
                     struct err *err)
{
    struct track *goes_on = NULL;
    int behind = -1, result = 0;
    for (int t = 0; t < reading->track_count && !goes_on; t++) {
        struct track *track = &reading->tracks[t];
        if (!is_same_cell(track->groups[0], group))
            continue;
        behind = t;
        if (track->campaigns[track->count - 1] == campaign)
            return 0; /* a label names one cell of a campaign: of a file that has it twice a gate, too, reads the first */
        if (is_same_environment(track, campaign, group) &&
            !gate_other_setting(group->settings, track->groups[0]->settings, reading->arena))
            goes_on = track;
    }
    if (!goes_on) {
        const char *differs = NULL;
        if (behind >= 0)
            result = explain(reading, &reading->tracks[behind], campaign, group, &differs, err);
        goes_on = insert_track(reading, behind >= 0 ? behind + 1 : reading->track_count);
        goes_on->differs = differs;
    }
    goes_on->groups[goes_on->count] = group;
    goes_on->campaigns[goes_on->count++] = campaign;
    return result;
}

static bool has_trials(const struct gate_group *group)
{
    return group->finished + group->failed + group->interrupted + group->void_count > 0;
}

static int make_tracks(struct reading *reading, struct err *err)
{
    bool matched = false;
    int result = 0;
    for (int c = 0; c < reading->history->campaign_count && result == 0; c++) {
        const struct history_campaign *campaign = &reading->history->campaigns[c];
        for (int g = 0; g < campaign->data->group_count && result == 0; g++) {
            const struct gate_group *group = &campaign->data->groups[g];
            if (!gate_matches(reading->question->cell, group->label))
                continue;
            matched = true;
            if (has_trials(group))
                result = add_group(reading, campaign, group, err);
        }
    }
    if (result == 0 && !matched && reading->question->cell)
        return err_set(err, ERR_USAGE, "'%s' matches no cell in '%s'; `laggard sql %s cells` lists them", reading->question->cell,
                       reading->history->path, reading->history->path);
    if (result == 0 && reading->track_count == 0)
        return err_set(err, ERR_USAGE, "no trial in '%s' has ended%s%s", reading->history->path,
                       reading->question->cell ? " of a cell that matches " : "",
                       reading->question->cell ? reading->question->cell : "");
    return result;
}

/* ---- series ---- */

/* Which trials do not count, and why there is no number. */
static const char *remark_on(struct arena *arena, const struct gate_group *group, int metric)
{
    cleanup(text_free) struct text text = {0};
    const struct {
        int count;
        const char *what;
    } states[] = {{group->failed, "failed"},
                  {group->interrupted, "interrupted"},
                  {group->void_count, "void and left out"},
                  {group->degraded, "degraded"},
                  {group->infinite[metric], "without a finite number"}};
    for (size_t s = 0; s < sizeof(states) / sizeof(states[0]); s++)
        if (states[s].count > 0)
            text_printf(&text, "%s%d %s", text.length > 0 ? ", " : "", states[s].count, states[s].what);
    bool none = group->values[metric].count == 0;
    const char *why = group->missing[metric] ? group->missing[metric] : group->reason;
    if (why)
        text_printf(&text, "%s%s", text.length > 0 ? ": " : "", why);
    return text.length > 0 ? arena_strdup(arena, text.bytes) : none ? "no value" : NULL;
}

static void find_changes(struct reading *reading, struct history_series *series)
{
    struct change_point *changes;
    double *values = arena_new_array(reading->arena, double, (size_t)series->point_count + 1);
    int *places = arena_new_array(reading->arena, int, (size_t)series->point_count + 1), count = 0;
    for (int p = 0; p < series->point_count; p++)
        if (isfinite(series->points[p].median)) {
            values[count] = series->points[p].median;
            places[count++] = p;
        }
    series->measured_count = count;
    size_t found = change_points_find(values, (size_t)count, &reading->question->rule, reading->arena, &changes);
    for (size_t i = 0; i < found; i++) {
        series->points[places[changes[i].position]].change = &changes[i];
        if (history_is_worse(series, &changes[i]))
            reading->history->worse_count++;
        else
            reading->history->better_count++;
    }
}

static struct history_point make_point(struct arena *arena, const struct history_campaign *campaign, const struct gate_group *group,
                                       int metric)
{
    const struct sample *sample = &group->values[metric];
    struct history_point point = {.campaign = campaign,
                                  .count = (int)sample->count,
                                  .median = statistics_median(sample->values, sample->count),
                                  .low = NAN,
                                  .high = NAN,
                                  .remark = remark_on(arena, group, metric)};
    statistics_median_interval(sample->values, sample->count, 0.95, &point.low, &point.high, NULL);
    return point;
}

static struct history_series make_series(struct reading *reading, const struct track *track, int metric, bool lower)
{
    const struct gate_data *data = track->campaigns[0]->data;
    struct history_series series = {.label = track->groups[0]->label,
                                    .arm = track->groups[0]->arm,
                                    .metric = data->metrics[metric],
                                    .unit = data->units[metric],
                                    .lower = lower,
                                    .differs = track->differs,
                                    .points = arena_new_array(reading->arena, struct history_point, (size_t)track->count),
                                    .point_count = track->count};
    for (int p = 0; p < track->count; p++)
        series.points[p] = make_point(reading->arena, track->campaigns[p], track->groups[p], metric);
    find_changes(reading, &series);
    return series;
}

/* Of each metric whether it is asked for, and whether less of it is better. */
static int choose_metrics(struct reading *reading, const struct gate_data *data, bool *asked, bool *lower, struct err *err)
{
    const char *pattern = reading->question->metric ? reading->question->metric : STANDARD_METRIC;
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    bool any = false;
    if (sql_prepare(reading->sql, "SELECT metric_id, better = 'lower' FROM metric", &rows, err) < 0)
        return -ERR_HOST;
    int found;
    while ((found = sql_next(rows, err)) > 0) {
        int64_t metric = sql_integer(rows, 0);
        if (metric < 0 || metric >= data->metric_count)
            continue;
        lower[metric] = sql_integer(rows, 1) == 1;
        asked[metric] = fnmatch(pattern, data->metrics[metric], 0) == 0;
        any = any || asked[metric];
    }
    if (found < 0 || any)
        return found;
    const char *near = options_nearest(pattern, data->metrics, (size_t)data->metric_count);
    return err_set(err, ERR_USAGE,
                   "--metric: there is no metric '%s'%s%s%s `laggard sql %s \"SELECT name FROM metric\"` lists them", pattern,
                   near && near[0] ? ", did you mean '" : ";", near && near[0] ? near : "", near && near[0] ? "'?" : "",
                   reading->history->path);
}

static int make_all_series(struct reading *reading, struct err *err)
{
    struct history *history = reading->history;
    const struct gate_data *data = history->campaigns[0].data; /* metrics are the file's */
    bool *asked = arena_new_array(reading->arena, bool, (size_t)data->metric_count);
    bool *lower = arena_new_array(reading->arena, bool, (size_t)data->metric_count);
    int result = choose_metrics(reading, data, asked, lower, err);
    if (result < 0)
        return result;
    const char *why = NULL;
    history->series =
        arena_new_array(reading->arena, struct history_series, (size_t)reading->track_count * (size_t)data->metric_count + 1);
    for (int t = 0; t < reading->track_count; t++)
        for (int m = 0; m < data->metric_count; m++) {
            if (!asked[m])
                continue;
            struct history_series series = make_series(reading, &reading->tracks[t], m, lower[m]);
            why = series.points[series.point_count - 1].remark;
            if (series.measured_count > 0)
                history->series[history->series_count++] = series;
        }
    if (history->series_count == 0)
        return err_set(err, ERR_USAGE, "no campaign in '%s' has a value of %s: %s", history->path,
                       reading->question->metric ? reading->question->metric : STANDARD_METRIC, why ? why : "no trial finished");
    return 0;
}

bool history_is_worse(const struct history_series *series, const struct change_point *change)
{
    return series->lower == (change->after > change->before);
}

int history_read(struct sql *sql, const struct history_question *question, struct arena *arena, struct history *out,
                 struct err *err)
{
    struct history history = {.path = arena_strdup(arena, sql_path(sql)), .rule = question->rule};
    struct reading reading = {.sql = sql, .question = question, .arena = arena, .history = &history};
    int result = read_campaigns(&reading, err);
    if (result == 0)
        result = make_tracks(&reading, err);
    if (result == 0)
        result = make_all_series(&reading, err);
    if (result == 0)
        *out = history;
    return result;
}
