/* gate_run.c: finds campaign, baseline, rerun and rules of a gate, and has them judged; see gate_run.h. */
#include "harness/gate_run.h"

#include <float.h>
#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "harness/gate_rules.h"
#include "results/baselines.h"
#include "results/database.h"
#include "results/metric_list.h"
#include "results/sqlite_wrap.h"

static int rules_of_metrics(const struct gate_data *campaign, bool compared, struct arena *arena, const struct gate_rules **out,
                            struct err *err)
{
    const struct metric_row *metrics;
    int count;
    int result = metric_list_read(&metrics, &count, err);
    if (result < 0)
        return result;
    struct gate_threshold *thresholds = arena_new_array(arena, struct gate_threshold, (size_t)count + 1);
    struct gate_rules *rules = arena_new_object(arena, struct gate_rules);
    for (int m = 0; m < count; m++) {
        bool any = false;
        int index = gate_data_metric(campaign, metrics[m].name);
        for (int g = 0; index >= 0 && g < campaign->group_count && !any; g++)
            any = campaign->groups[g].values[index].count > 0;
        if (any && rules->threshold_count < GATE_THRESHOLDS_MAX)
            thresholds[rules->threshold_count++] = (struct gate_threshold){.text = metrics[m].name,
                                                                           .metric = metrics[m].name,
                                                                           .lower = metrics[m].lower,
                                                                           .form = compared ? GATE_RATIO : GATE_ABSOLUTE,
                                                                           .number = compared           ? 1
                                                                                     : metrics[m].lower ? DBL_MAX
                                                                                                        : -DBL_MAX,
                                                                           .alpha = 0.05,
                                                                           .place = campaign->path};
    }
    rules->thresholds = thresholds;
    *out = rules;
    return rules->threshold_count > 0
               ? 0
               : err_set(err, ERR_USAGE, "campaign %s in %s has no trial with a value to compare", campaign->name, campaign->path);
}

static int read_rules(const struct gate_asked *asked, const struct gate_data *campaign, struct arena *arena,
                      const struct gate_rules **rules, struct err *err)
{
    if (asked->every_metric || asked->values_only)
        return rules_of_metrics(campaign, asked->every_metric, arena, rules, err);
    if (asked->thresholds)
        return gate_rules_load(asked->thresholds, arena, rules, err);
    int result = gate_rules_of_campaign(campaign->file_path, campaign->file_text, arena, rules, err);
    if (result == 0 && !*rules)
        return err_set(err, ERR_USAGE,
                       "campaign %s in %s has no thresholds: its file has no `gate`; name a threshold file with --thresholds",
                       campaign->name, campaign->path);
    return result;
}

static bool is_named(const struct gate_asked *asked)
{
    return asked->baseline_db || asked->baseline_name || asked->revision;
}

/* Which campaign of which file is the baseline, if it is a campaign at all: the one asked for; or, of a campaign without arms, the
 * last that was set in the same file. */
static int find_baseline(const struct gate_asked *asked, struct sql *own, const struct gate_data *campaign, struct sql **sql,
                         int64_t *campaign_id, struct err *err)
{
    *campaign_id = 0;
    if (!is_named(asked) && campaign->arm_count > 1)
        return 0;
    if (asked->baseline_db) {
        int result = database_open(asked->baseline_db, sql, err);
        if (result == -ERR_USAGE && err)
            err->kind = ERR_BASELINE;
        if (result < 0)
            return result == -ERR_USAGE ? -ERR_BASELINE : result;
    }
    struct sql *where = asked->baseline_db ? *sql : own;
    int result = baselines_find(where, asked->baseline_name, asked->revision, campaign_id, err);
    if (result < 0 || *campaign_id > 0)
        return result;
    if (asked->baseline_name || asked->revision)
        return err_set(err, ERR_BASELINE, "%s has no baseline%s%s%s%s; `laggard baselines show %s` lists them", sql_path(where),
                       asked->baseline_name ? " called " : "", asked->baseline_name ? asked->baseline_name : "",
                       asked->revision ? " of revision " : "", asked->revision ? asked->revision : "", sql_path(where));
    if (!asked->baseline_db)
        return 0;
    result = gate_data_last_campaign(where, campaign_id, err);
    if (result == 0 && *campaign_id == 0)
        return err_set(err, ERR_BASELINE, "the baseline '%s' holds no campaign; `laggard run` stores one, with --db",
                       sql_path(where));
    return result;
}

static int compare_environments(struct sql *own, const struct gate_data *campaign, struct sql *other,
                                const struct gate_data *baseline, struct arena *arena, const char **incomparable, struct err *err)
{
    const char *names;
    if (strcmp(campaign->fingerprint, baseline->fingerprint) == 0)
        return 0;
    int result = gate_data_differences(own, campaign->environment_id, other, baseline->environment_id, arena, &names, err);
    if (result == 0)
        *incomparable =
            arena_printf(arena, "the baseline ran in another environment: %s", names[0] ? names : "other facts are known");
    return result;
}

static int check_noise(const struct gate_asked *asked, const struct gate_question *question, struct sql *own, struct sql *other,
                       struct err *err)
{
    cleanup(sql_cleanup) struct sql *calibration = NULL;
    int result = gate_noise_check(question, own, err);
    if (result == 0 && other)
        result = gate_noise_check(question, other, err);
    if (result == 0 && asked->calibration)
        result = database_open(asked->calibration, &calibration, err);
    if (result == 0 && calibration)
        result = gate_noise_check(question, calibration, err);
    return result;
}

static bool is_plain(const char *name)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-";
    return name && name[0] && name[0] != '-' && strspn(name, plain) == strlen(name);
}

/* What runs flagged cells again, to be typed as it stands; NULL: --confirm could not be asked the same, or a shell would
 * not take a name in it for one word. */
static const char *rerun_command(const struct gate_asked *asked, const struct gate_data *campaign, struct arena *arena)
{
    const bool other = asked->campaign_id > 0 || asked->baseline_name || asked->revision; /* what --confirm does not take */
    if (other || !is_plain(campaign->file_path) || !is_plain(asked->db) || (asked->baseline_db && !is_plain(asked->baseline_db)) ||
        (asked->thresholds && !is_plain(asked->thresholds)))
        return NULL;
    return arena_printf(arena, "laggard run %s --db %s --confirm%s%s%s%s", campaign->file_path, asked->db,
                        asked->baseline_db ? " --baseline " : "", asked->baseline_db ? asked->baseline_db : "",
                        asked->thresholds ? " --thresholds " : "", asked->thresholds ? asked->thresholds : "");
}

/* In a copy of the file, or in one that it was merged into. */
static bool has_same_trials(const struct gate_data *campaign, const struct gate_data *baseline)
{
    return campaign->first_uuid[0] && strcmp(campaign->first_uuid, baseline->first_uuid) == 0;
}

int gate_run(const struct gate_asked *asked, struct arena *arena, struct gate_result *out, struct err *err)
{
    cleanup(sql_cleanup) struct sql *own = NULL, *other = NULL;
    struct gate_data *campaign = arena_new_object(arena, struct gate_data), *rerun = arena_new_object(arena, struct gate_data),
                     *baseline = arena_new_object(arena, struct gate_data);
    struct gate_question *question = arena_new_object(arena, struct gate_question);
    *question = (struct gate_question){
        .campaign = campaign, .now_unix_ns = clock_wall_ns(), .self_test = asked->self_test, .slowdown = asked->slowdown};
    int64_t rerun_id = 0, baseline_id = 0;
    int result = database_open(asked->db, &own, err);
    if (result == 0)
        result = gate_data_read(own, asked->campaign_id, arena, campaign, err);
    if (result == 0)
        question->rerun = rerun_command(asked, campaign, arena);
    if (result == 0)
        result = read_rules(asked, campaign, arena, &question->rules, err);
    if (result == 0)
        result = gate_data_confirmation(own, campaign->campaign_id, &rerun_id, err);
    if (result == 0 && rerun_id > 0) {
        result = gate_data_read(own, rerun_id, arena, rerun, err);
        question->confirmation = rerun;
    }
    if (result == 0)
        result = find_baseline(asked, own, campaign, &other, &baseline_id, err);
    if (result == 0 && baseline_id > 0)
        result = gate_data_read(other ? other : own, baseline_id, arena, baseline, err);
    const bool itself =
        result == 0 && baseline_id > 0 && ((!other && baseline_id == campaign->campaign_id) || has_same_trials(campaign, baseline));
    if (itself && is_named(asked) && !asked->self_test)
        return err_set(err, ERR_BASELINE,
                       "campaign %s (%" PRId64 ") of '%s' would be compared with itself: it is the baseline of '%s', or its last "
                       "campaign; name another file with --baseline, or set an earlier campaign: laggard baselines set DB "
                       "--campaign N",
                       campaign->name, campaign->campaign_id, asked->db, baseline->path);
    if (result == 0 && baseline_id > 0 && !itself) {
        question->baseline = baseline;
        result = compare_environments(own, campaign, other ? other : own, baseline, arena, &question->incomparable, err);
    }
    if (result == 0 && !asked->every_metric && !asked->values_only)
        result = check_noise(asked, question, own, other, err);
    if (result == 0 && (result = gate_judge(question, arena, out, err)) == -ERR_BASELINE && baseline_id > 0 && itself)
        result = err_wrap(err, "campaign %s (%" PRId64 ") is itself the baseline that is set in '%s'", campaign->name,
                          campaign->campaign_id, asked->db);
    return result;
}
