/* results/gate_output_json.c: a gate's result as JSON: ours, Bencher's metric format, and github-action-benchmark's. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/units.h"
#include "results/gate_output.h"

static void add_row(struct json *json, const struct gate_row *row)
{
    const struct gate_threshold *threshold = row->threshold;
    const struct gate_numbers *n = &row->numbers;
    bool relative = threshold->form != GATE_ABSOLUTE;
    json_begin_object(json, NULL);
    json_string(json, "verdict", gate_verdicts[row->verdict].name);
    json_bool(json, "fails", gate_verdicts[row->verdict].fails && !row->waiver);
    json_string(json, "reason", row->reason);
    json_string(json, "remark", row->remark);
    json_string(json, "label", row->label);
    if (row->cell >= 0)
        json_integer(json, "cell", row->cell);
    else
        json_null(json, "cell");
    json_string(json, "arm", row->arm);
    json_string(json, "baseline_arm", row->base_arm);
    json_string(json, "metric", threshold->metric);
    json_string(json, "unit", row->unit);
    json_string(json, "threshold", threshold->text);
    json_double(json, "alpha", threshold->alpha);
    json_double(json, "min_effect", threshold->min_effect);
    json_double(json, "limit", n->limit);
    json_integer(json, "baseline_trials", relative ? row->base_count : 0);
    json_integer(json, "trials", row->count);
    json_double(json, "baseline_median", relative ? n->base_median : NAN);
    json_double(json, "median", n->median);
    json_double(json, "median_low", n->low);
    json_double(json, "median_high", n->high);
    json_double(json, "ratio", relative ? n->ratio : NAN);
    json_double(json, "ratio_low", n->ratio_low);
    json_double(json, "ratio_high", n->ratio_high);
    json_double(json, "difference", relative ? n->difference : NAN);
    json_double(json, "difference_low", n->difference_low);
    json_double(json, "difference_high", n->difference_high);
    json_double(json, "shift", relative ? n->shift : NAN);
    json_double(json, "cliffs_delta", relative ? n->delta : NAN);
    json_double(json, "p", n->p);
    json_double(json, "p_holm", n->adjusted_p);
    if (row->waiver) {
        json_begin_object(json, "waiver");
        json_string(json, "owner", row->waiver->owner);
        json_string(json, "expires", row->waiver->expires);
        json_string(json, "reason", row->waiver->reason);
        json_end_object(json);
    } else {
        json_null(json, "waiver");
    }
    json_end_object(json);
}

static void add_campaign(struct json *json, const char *key, const struct gate_data *data)
{
    if (!data) {
        json_null(json, key);
        return;
    }
    json_begin_object(json, key);
    json_string(json, "db", data->path);
    json_string(json, "name", data->name);
    json_integer(json, "campaign_id", data->campaign_id);
    json_string(json, "fingerprint", data->fingerprint);
    json_integer(json, "planned_trials", data->planned_count);
    json_integer(json, "trials", data->trial_count);
    json_end_object(json);
}

void gate_print_json(const struct gate_result *result, struct text *out)
{
    struct json json = {.out = out};
    json_begin_object(&json, NULL);
    json_string(&json, "verdict", gate_verdicts[result->verdict].name);
    json_integer(&json, "exit_code", result->exit_code);
    add_campaign(&json, "campaign", result->question->campaign);
    add_campaign(&json, "baseline", result->question->baseline);
    add_campaign(&json, "confirmation", result->question->confirmation);
    json_begin_object(&json, "counts");
    for (int v = 0; v < GATE_VERDICT_COUNT; v++)
        json_integer(&json, gate_verdicts[v].name, result->counts[v]);
    json_integer(&json, "waived", result->waived);
    json_end_object(&json);
    json_begin_array(&json, "rows");
    for (int i = 0; i < result->row_count; i++)
        add_row(&json, &result->rows[i]);
    json_end_array(&json);
    json_end_object(&json);
    text_add(out, "\n");
}

/* Several thresholds may be on one metric: its value is written once. */
static bool is_first(const struct gate_result *result, int index)
{
    const struct gate_row *row = &result->rows[index];
    for (int i = index; i-- > 0 && strcmp(result->rows[i].label, row->label) == 0 && strcmp(result->rows[i].arm, row->arm) == 0;)
        if (strcmp(result->rows[i].threshold->metric, row->threshold->metric) == 0)
            return false;
    return true;
}

static void name_of(const struct gate_result *result, const struct gate_row *row, struct text *out)
{
    text_printf(out, "%s/%s", result->question->campaign->name, row->label);
    if (row->arm[0])
        text_printf(out, "/%s", row->arm);
}

/* {"benchmark": {"measure": {"value", "lower_value", "upper_value"}}}; rows of a benchmark stand side by side. */
void gate_print_bmf(const struct gate_result *result, struct text *out)
{
    struct json json = {.out = out};
    cleanup(text_free) struct text open = {0};
    json_begin_object(&json, NULL);
    for (int i = 0; i < result->row_count; i++) {
        const struct gate_row *row = &result->rows[i];
        cleanup(text_free) struct text name = {0};
        if (!isfinite(row->numbers.median) || !is_first(result, i))
            continue;
        name_of(result, row, &name);
        if (!open.bytes || strcmp(open.bytes, name.bytes) != 0) {
            if (open.bytes)
                json_end_object(&json);
            text_free(&open);
            text_add(&open, name.bytes);
            json_begin_object(&json, name.bytes);
        }
        json_begin_object(&json, row->threshold->metric);
        json_double(&json, "value", row->numbers.median);
        if (isfinite(row->numbers.low)) {
            json_double(&json, "lower_value", row->numbers.low);
            json_double(&json, "upper_value", row->numbers.high);
        }
        json_end_object(&json);
    }
    if (open.bytes)
        json_end_object(&json);
    json_end_object(&json);
    text_add(out, "\n");
}

/* [{"name", "unit", "value", "range", "extra"}] */
void gate_print_benchmark(const struct gate_result *result, bool lower, struct text *out)
{
    struct json json = {.out = out};
    json_begin_array(&json, NULL);
    for (int i = 0; i < result->row_count; i++) {
        const struct gate_row *row = &result->rows[i];
        cleanup(text_free) struct text name = {0}, range = {0}, extra = {0};
        if (row->threshold->lower != lower || !isfinite(row->numbers.median) || !is_first(result, i))
            continue;
        name_of(result, row, &name);
        text_printf(&name, " %s", row->threshold->metric);
        json_begin_object(&json, NULL);
        json_string(&json, "name", name.bytes);
        json_string(&json, "unit", row->unit);
        json_double(&json, "value", row->numbers.median);
        if (isfinite(row->numbers.low)) {
            text_printf(&range, "%.6g to %.6g", row->numbers.low, row->numbers.high);
            json_string(&json, "range", range.bytes);
        }
        text_printf(&extra, "%d trial%s, %s", row->count, units_plural(row->count), gate_verdicts[row->verdict].name);
        json_string(&json, "extra", extra.bytes);
        json_end_object(&json);
    }
    json_end_array(&json);
    text_add(out, "\n");
}
