/* results/gate.c: from rules and data to verdicts; see gate.h.
 *
 * A row is flagged when the effect is beyond the threshold, its interval excludes no change, and Holm's p over the thresholds of
 * the same cell and arm is at most alpha. One such finding is wrong about as often as alpha says, so a flagged row becomes
 * `regressed` only when a rerun of its cell, judged alone by the same rule, agrees; until there is one it is `unconfirmed`. In the
 * virtual world a rerun would bring the same numbers: there it is `regressed` at once. */
#include "results/gate.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/options.h"
#include "results/gate_internal.h"

const struct gate_verdict_row gate_verdicts[GATE_VERDICT_COUNT] = {
    [GATE_PASS] = {"pass", 0, false, "within the threshold"},
    [GATE_IMPROVED] = {"improved", 0, false, "better by more than the threshold allows it to be worse, and significantly so"},
    [GATE_NEW] = {"new", 0, false, "the baseline has no such cell or no data"},
    [GATE_INCONCLUSIVE] = {"inconclusive", 5, false, "beyond the threshold but maybe by chance, too few trials, or only void ones"},
    [GATE_UNCONFIRMED] = {"unconfirmed", 5, false, "worse, significantly; no rerun has confirmed it yet"},
    [GATE_INCOMPARABLE] = {"incomparable", 6, true, "the baseline comes from another environment or from other settings"},
    [GATE_ERROR] = {"error", 4, true, "trials failed, or a value is no finite number"},
    [GATE_MISSING] = {"missing", 1, true, "there is no data where there should be"},
    [GATE_REGRESSED] = {"regressed", 1, true, "worse than the threshold allows; confirmed by a rerun, or in the virtual world"},
};

struct judging {
    const struct gate_question *question;
    struct arena *arena;
    struct gate_result *result;
    int capacity;
    const char *base_arm; /* NULL: another campaign is the baseline, or nothing is */
};

static struct gate_row *add_row(struct judging *judging)
{
    struct gate_result *result = judging->result;
    if (result->row_count == judging->capacity) { /* the arena keeps the old ones: half of it is waste at most */
        int capacity = judging->capacity ? 2 * judging->capacity : 64;
        struct gate_row *rows = arena_new_array(judging->arena, struct gate_row, (size_t)capacity);
        if (result->row_count > 0)
            memcpy(rows, result->rows, (size_t)result->row_count * sizeof(*rows));
        result->rows = rows;
        judging->capacity = capacity;
    }
    return &result->rows[result->row_count++];
}

static void decide(struct gate_row *row, enum gate_verdict verdict, const char *reason)
{
    row->verdict = verdict;
    row->reason = reason;
}

/* ---- one row ---- */

/* Why this group has no number to judge; true: the row is decided. */
static bool has_no_data(struct judging *judging, struct gate_row *row, const struct gate_group *group, int metric)
{
    struct arena *arena = judging->arena;
    if (group->failed > 0) {
        decide(row, GATE_ERROR,
               arena_printf(arena, "%d trial%s failed: %s", group->failed, group->failed == 1 ? "" : "s",
                            group->reason ? group->reason : "no reason is stored"));
        return true;
    }
    if (metric >= 0 && group->infinite[metric] > 0) {
        decide(row, GATE_ERROR,
               arena_printf(arena, "%d value%s no finite number", group->infinite[metric],
                            group->infinite[metric] == 1 ? " is" : "s are"));
        return true;
    }
    if (metric >= 0 && group->missing[metric] && group->values[metric].count > 0) {
        decide(row, GATE_ERROR,
               arena_printf(arena, "%zu of %d trials have a value: %s", group->values[metric].count, group->finished,
                            group->missing[metric]));
        return true;
    }
    if (metric >= 0 && group->values[metric].count > 0)
        return false;
    if (group->finished == 0 && group->void_count > 0)
        decide(row, GATE_INCONCLUSIVE,
               arena_printf(arena, group->void_count == 1 ? "%d trial is void: %s" : "all %d trials are void: %s",
                            group->void_count, group->reason ? group->reason : "no reason is stored"));
    else if (group->finished == 0)
        decide(row, GATE_MISSING, "no trial finished");
    else
        decide(row, GATE_MISSING, metric >= 0 && group->missing[metric] ? group->missing[metric] : "no trial has this metric");
    return true;
}

enum agreement { RERUN_AGREES, RERUN_UNSURE, RERUN_DENIES };

/* The same rule over a rerun's trials alone. The direction is known now, so the test is one-sided: at alpha, its interval likewise.
 * p is not corrected, since one row is asked about. */
static enum agreement ask_rerun(const struct gate_threshold *threshold, struct sample base, struct sample candidate)
{
    struct gate_threshold one_sided = *threshold;
    struct gate_numbers numbers;
    one_sided.alpha = 2 * threshold->alpha;
    gate_measure(&one_sided, base, candidate, &numbers);
    if (!gate_is_over(&one_sided, &numbers))
        return RERUN_DENIES;
    bool shown = threshold->form == GATE_ABSOLUTE || numbers.p <= one_sided.alpha;
    return shown && gate_excludes(&one_sided, &numbers, true) ? RERUN_AGREES : RERUN_UNSURE;
}

static struct sample sample_of(const struct gate_data *data, const struct gate_group *group, const char *metric)
{
    int index = data && group ? gate_data_metric(data, metric) : -1;
    return index >= 0 ? group->values[index] : (struct sample){0};
}

static const struct gate_group *base_of(const struct judging *judging, const struct gate_data *data, const char *label,
                                        const char *arm)
{
    if (judging->question->baseline) {
        const struct gate_group *same = gate_data_find(judging->question->baseline, label, arm);
        return same || judging->question->baseline->arm_count != 1
                   ? same
                   : gate_data_find(judging->question->baseline, label, judging->question->baseline->arms[0]);
    }
    return judging->base_arm ? gate_data_find(data, label, judging->base_arm) : NULL;
}

static void confirm(struct judging *judging, struct gate_row *row, const struct gate_group *group)
{
    const struct gate_question *question = judging->question;
    const struct gate_data *rerun = question->confirmation;
    if (group->all_virtual || question->self_test) {
        decide(row, GATE_REGRESSED, NULL);
        return;
    }
    const struct gate_group *again = rerun ? gate_data_find(rerun, row->label, row->arm) : NULL;
    struct sample candidate = sample_of(rerun, again, row->threshold->metric);
    const struct gate_group *base_group = rerun ? base_of(judging, rerun, row->label, row->arm) : NULL;
    struct sample base = sample_of(question->baseline ? question->baseline : rerun, base_group, row->threshold->metric);
    bool relative = row->threshold->form != GATE_ABSOLUTE;
    const size_t needed = gate_trials_least(row->threshold, 2 * row->threshold->alpha); /* one-sided, as ask_rerun() asks */
    if (candidate.count < needed || (relative && base.count < needed)) {
        const char *command = question->rerun ? question->rerun : "laggard run FILE --db DB --confirm";
        decide(row, GATE_UNCONFIRMED,
               candidate.count == 0 ? arena_printf(judging->arena, "run the flagged cells again: %s", command)
                                    : arena_printf(judging->arena, "the rerun has under %zu trials an arm: %s", needed, command));
        return;
    }
    switch (ask_rerun(row->threshold, base, candidate)) {
    case RERUN_AGREES:
        decide(row, GATE_REGRESSED, "a rerun confirms it");
        break;
    case RERUN_UNSURE:
        decide(row, GATE_INCONCLUSIVE, "a rerun is beyond the threshold, too, but that one may be chance: more trials would tell");
        break;
    case RERUN_DENIES:
        decide(row, GATE_PASS, "flagged at first, but a rerun is within the threshold");
        break;
    }
}

static void judge_numbers(struct judging *judging, struct gate_row *row, const struct gate_group *group)
{
    const struct gate_threshold *threshold = row->threshold;
    const struct gate_numbers *numbers = &row->numbers;
    struct arena *arena = judging->arena;
    bool relative = threshold->form != GATE_ABSOLUTE;
    int least = relative && row->base_count < row->count ? row->base_count : row->count;
    const int needed = (int)gate_trials_least(threshold, threshold->alpha);
    bool over = gate_is_over(threshold, numbers), shown = !relative || numbers->adjusted_p <= threshold->alpha;
    if (relative && least < COMPARISON_TEST_LEAST)
        decide(row, GATE_INCONCLUSIVE,
               arena_printf(arena, "too few trials: %d against %d; under %d an arm no difference can be shown", row->count,
                            row->base_count, COMPARISON_TEST_LEAST));
    else if (!over && gate_is_better(threshold, numbers) && shown && gate_excludes(threshold, numbers, false))
        decide(row, GATE_IMPROVED, NULL);
    else if (!over)
        decide(row, GATE_PASS, NULL);
    else if (least < needed)
        decide(row, GATE_INCONCLUSIVE,
               arena_printf(arena, "beyond the threshold, but under %d trials an arm there is no %.6g %% interval", needed,
                            100 * (1 - threshold->alpha)));
    else if (!shown || !gate_excludes(threshold, numbers, true))
        decide(row, GATE_INCONCLUSIVE, "beyond the threshold, but that may be chance: more trials would tell");
    else
        confirm(judging, row, group);
}

/* ---- self-test: the candidate's own scatter around a median that is too bad ---- */
static struct sample worsened(struct judging *judging, const struct gate_threshold *threshold, double base_median,
                              struct sample sample)
{
    double from = threshold->form == GATE_ABSOLUTE ? threshold->number : base_median;
    double by = fmax(2 * gate_allowed(threshold, base_median), judging->question->slowdown * fabs(from));
    double aim = threshold->lower ? from + by : from - by, median = 0;
    struct gate_numbers own;
    gate_measure(threshold, sample, sample, &own);
    median = own.median;
    double *values = arena_new_array(judging->arena, double, sample.count);
    for (size_t i = 0; i < sample.count; i++)
        values[i] = aim > 0 && median > 0 ? sample.values[i] * (aim / median) : sample.values[i] + (aim - median);
    return (struct sample){values, sample.count};
}

/* ---- all rows ---- */

static void judge_row(struct judging *judging, const struct gate_group *group, const struct gate_threshold *threshold)
{
    const struct gate_question *question = judging->question;
    const struct gate_data *data = question->campaign, *base_data = question->baseline ? question->baseline : data;
    int metric = gate_data_metric(data, threshold->metric);
    bool relative = threshold->form != GATE_ABSOLUTE;
    const struct gate_group *base_group = relative ? base_of(judging, data, group->label, group->arm) : NULL;
    struct sample base = sample_of(base_data, base_group, threshold->metric), candidate = sample_of(data, group, threshold->metric);
    struct gate_row *row = add_row(judging);
    *row = (struct gate_row){.threshold = threshold,
                             .label = group->label,
                             .arm = group->arm,
                             .base_arm = relative ? judging->base_arm : NULL,
                             .cell = group->number,
                             .unit = metric >= 0 ? data->units[metric] : "",
                             .verdict = GATE_VERDICT_COUNT, /* judge_numbers() decides once p values are corrected */
                             .base_count = (int)base.count,
                             .remark = gate_remark(base_group, group, judging->arena)};
    const char *setting =
        question->baseline && base_group ? gate_other_setting(group->settings, base_group->settings, judging->arena) : NULL;
    if (question->self_test && candidate.count > 0) {
        struct gate_numbers own;
        gate_measure(threshold, base, candidate, &own);
        candidate = worsened(judging, threshold, own.base_median, candidate);
    }
    gate_measure(threshold, base, candidate, &row->numbers);
    row->count = (int)candidate.count;
    if (has_no_data(judging, row, group, metric))
        return;
    if (relative && !base_group)
        decide(row, GATE_NEW, "the baseline has no such cell");
    else if (relative && question->incomparable && !(group->all_virtual && base_group->all_virtual))
        decide(row, GATE_INCOMPARABLE, question->incomparable);
    else if (relative && setting)
        decide(row, GATE_INCOMPARABLE, arena_printf(judging->arena, "the baseline had another %s", setting));
    else if (relative && base.count == 0)
        decide(row, GATE_NEW, "the baseline has no value of this metric");
}

static void correct_family(struct gate_row *rows, int count)
{
    double p[GATE_THRESHOLDS_MAX] = {0}, adjusted[GATE_THRESHOLDS_MAX];
    for (int i = 0; i < count; i++)
        p[i] = rows[i].verdict == GATE_VERDICT_COUNT ? rows[i].numbers.p : NAN;
    comparison_holm(p, (size_t)count, adjusted);
    for (int i = 0; i < count; i++)
        rows[i].numbers.adjusted_p = adjusted[i];
}

static void waive(struct judging *judging, struct gate_row *row)
{
    const struct gate_question *question = judging->question;
    for (int w = 0; w < question->rules->waiver_count; w++) {
        const struct gate_waiver *waiver = &question->rules->waivers[w];
        bool covers = waiver->verdict == row->verdict || (waiver->verdict == GATE_REGRESSED && row->verdict == GATE_UNCONFIRMED);
        if (!covers || strcmp(waiver->metric, row->threshold->metric) != 0 || !gate_matches(waiver->cells, row->label))
            continue;
        if (question->now_unix_ns < waiver->expires_unix_ns) {
            row->waiver = waiver;
            return;
        }
        const char *expired = arena_printf(judging->arena, "%s's waiver expired after %s", waiver->owner, waiver->expires);
        row->remark = row->remark ? arena_printf(judging->arena, "%s, %s", row->remark, expired) : expired;
    }
}

static void judge_group(struct judging *judging, const struct gate_group *group)
{
    const struct gate_rules *rules = judging->question->rules;
    int first = judging->result->row_count;
    for (int t = 0; t < rules->threshold_count; t++)
        if (gate_matches(rules->thresholds[t].cells, group->label))
            judge_row(judging, group, &rules->thresholds[t]);
    struct gate_row *rows = judging->result->rows + first;
    int count = judging->result->row_count - first;
    if (count == 0)
        return;
    correct_family(rows, count);
    for (int i = 0; i < count; i++)
        if (rows[i].verdict == GATE_VERDICT_COUNT)
            judge_numbers(judging, &rows[i], group);
}

/* What the baseline has and the campaign has not: a cell that is no longer there must not pass in silence. */
static void judge_lost(struct judging *judging)
{
    const struct gate_question *question = judging->question;
    const struct gate_rules *rules = question->rules;
    const struct gate_data *base = question->baseline;
    for (int g = 0; base && g < base->group_count; g++) {
        const struct gate_group *group = &base->groups[g];
        bool there = gate_data_find(question->campaign, group->label, group->arm) ||
                     (base->arm_count == 1 && gate_data_find(question->campaign, group->label, question->campaign->arms[0]));
        for (int t = 0; !there && t < rules->threshold_count; t++) {
            const struct gate_threshold *threshold = &rules->thresholds[t];
            struct sample values = sample_of(base, group, threshold->metric);
            if (threshold->form == GATE_ABSOLUTE || !gate_matches(threshold->cells, group->label) || values.count == 0)
                continue;
            struct gate_row *row = add_row(judging);
            *row = (struct gate_row){.threshold = threshold,
                                     .label = group->label,
                                     .arm = group->arm,
                                     .cell = -1,
                                     .unit = base->units[gate_data_metric(base, threshold->metric)],
                                     .base_count = (int)values.count};
            gate_measure(threshold, values, (struct sample){0}, &row->numbers);
            decide(row, GATE_MISSING, "the baseline has this cell, and the campaign has not");
        }
    }
}

static int check_patterns(const struct gate_question *question, struct err *err)
{
    const struct gate_rules *rules = question->rules;
    int status = 0;
    for (int t = 0; t < rules->threshold_count && status == 0; t++)
        status = gate_check_pattern(question, rules->thresholds[t].cells, rules->thresholds[t].place, err);
    for (int w = 0; w < rules->waiver_count && status == 0; w++)
        if (rules->waivers[w].cells)
            status = gate_check_pattern(question, rules->waivers[w].cells, rules->waivers[w].place, err);
    return status;
}

/* Which arm the others are compared with. */
static int choose_base_arm(struct judging *judging, struct err *err)
{
    const struct gate_question *question = judging->question;
    const struct gate_data *data = question->campaign;
    const char *wanted = question->rules->baseline_arm;
    bool relative = false;
    for (int t = 0; t < question->rules->threshold_count; t++)
        relative = relative || question->rules->thresholds[t].form != GATE_ABSOLUTE;
    if (question->baseline)
        return 0;
    for (int a = 0; wanted && a < data->arm_count; a++)
        if (strcmp(data->arms[a], wanted) == 0)
            judging->base_arm = data->arms[a];
    const char *near = wanted ? options_nearest(wanted, data->arms, (size_t)data->arm_count) : NULL;
    if (wanted && !judging->base_arm && relative)
        return err_set(err, ERR_BASELINE,
                       "campaign %s in %s has no arm '%s' to compare with%s%s%s `laggard sql %s arms` lists them", data->name,
                       data->path, wanted, near ? ", did you mean '" : ";", near ? near : "", near ? "'?" : "", data->path);
    if (relative && data->arm_count > 1 && !judging->base_arm)
        judging->base_arm = data->arms[0];
    if (relative && data->arm_count == 1 && !question->self_test)
        return err_set(err, ERR_BASELINE,
                       "there is nothing to compare with: campaign %s in %s has one arm; name a baseline with --baseline, set one "
                       "with `laggard baselines set`, or list arms in the campaign file",
                       data->name, data->path);
    if (relative && data->arm_count == 1)
        judging->base_arm = data->arms[0]; /* a self-test worsens what it is compared with */
    return 0;
}

static void conclude(struct judging *judging)
{
    struct gate_result *result = judging->result;
    for (int i = 0; i < result->row_count; i++) {
        struct gate_row *row = &result->rows[i];
        waive(judging, row);
        if (row->waiver) {
            result->waived++;
            continue;
        }
        result->counts[row->verdict]++;
        result->verdict = row->verdict > result->verdict ? row->verdict : result->verdict;
    }
    result->exit_code = gate_verdicts[result->verdict].exit_code;
}

int gate_judge(const struct gate_question *question, struct arena *arena, struct gate_result *out, struct err *err)
{
    struct gate_result result = {.question = question};
    struct judging judging = {.question = question, .arena = arena, .result = &result};
    int status = check_patterns(question, err);
    if (status == 0)
        status = choose_base_arm(&judging, err);
    if (status < 0)
        return status;
    const struct gate_data *data = question->campaign;
    for (int g = 0; g < data->group_count; g++) {
        bool is_base = judging.base_arm && data->arm_count > 1 && strcmp(data->groups[g].arm, judging.base_arm) == 0;
        if (!is_base)
            judge_group(&judging, &data->groups[g]);
    }
    judge_lost(&judging);
    if (result.row_count == 0)
        return err_set(err, ERR_USAGE, "campaign %s in %s has no cell to judge", data->name, data->path);
    conclude(&judging);
    *out = result;
    return 0;
}
