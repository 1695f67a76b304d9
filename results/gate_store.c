/* results/gate_store.c: keeps a gate's verdicts in the table `verdict` of the campaign's database, in place of earlier ones. */
#include "base/cleanup.h"
#include "base/err.h"
#include "results/gate.h"
#include "results/store_internal.h"

static const char columns[] =
    "campaign_id, position, judged_unix_ns, cell_id, label, arm, baseline_arm, baseline_campaign, baseline_started_unix_ns, "
    "metric, "
    "unit, threshold, alpha, verdict, reason, remark, waiver_owner, baseline_median, median, limit_value, ratio, ratio_low, "
    "ratio_high, difference, difference_low, difference_high, p_holm, baseline_trial_count, trial_count";

static void put_numbers(struct sql_statement *insert, const struct gate_numbers *numbers)
{
    const double values[] = {numbers->base_median,     numbers->median,     numbers->limit,      numbers->ratio,
                             numbers->ratio_low,       numbers->ratio_high, numbers->difference, numbers->difference_low,
                             numbers->difference_high, numbers->adjusted_p};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        sql_put_real(insert, values[i]);
}

static int store_row_of(struct sql_statement *insert, const struct gate_result *result, int position, struct err *err)
{
    const struct gate_question *question = result->question;
    const struct gate_row *row = &result->rows[position];
    const struct gate_data *baseline = row->threshold->form != GATE_ABSOLUTE ? question->baseline : NULL;
    const struct gate_group *group = row->cell >= 0 ? gate_data_find(question->campaign, row->label, row->arm) : NULL;
    sql_start(insert);
    sql_put_integer(insert, question->campaign->campaign_id);
    sql_put_integer(insert, position);
    sql_put_integer(insert, question->now_unix_ns);
    if (group)
        sql_put_integer(insert, group->cell_id);
    else
        sql_put_null(insert);
    sql_put_text(insert, row->label);
    sql_put_text(insert, row->arm);
    sql_put_text(insert, row->base_arm);
    sql_put_text(insert, baseline ? baseline->name : NULL);
    if (baseline)
        sql_put_integer(insert, baseline->started_unix_ns);
    else
        sql_put_null(insert);
    sql_put_text(insert, row->threshold->metric);
    sql_put_text(insert, row->unit);
    sql_put_text(insert, row->threshold->text);
    sql_put_real(insert, row->threshold->alpha);
    sql_put_text(insert, gate_verdicts[row->verdict].name);
    sql_put_text(insert, row->reason);
    sql_put_text(insert, row->remark);
    sql_put_text(insert, row->waiver ? row->waiver->owner : NULL);
    put_numbers(insert, &row->numbers);
    sql_put_integer(insert, row->base_count);
    sql_put_integer(insert, row->count);
    return sql_run(insert, err);
}

static int store_rows(struct sql *sql, const struct gate_result *result, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *insert = NULL, *forget = NULL;
    cleanup(sql_rollback) struct sql_transaction transaction = {0};
    if (sql_begin(sql, &transaction, err) < 0 || sql_prepare(sql, "DELETE FROM verdict WHERE campaign_id = ?", &forget, err) < 0)
        return -ERR_HOST;
    sql_start(forget);
    sql_put_integer(forget, result->question->campaign->campaign_id);
    if (sql_run(forget, err) < 0 || sql_prepare_insert(sql, "verdict", columns, &insert, err) < 0)
        return -ERR_HOST;
    for (int i = 0; i < result->row_count; i++)
        if (store_row_of(insert, result, i, err) < 0)
            return -ERR_HOST;
    return sql_commit(&transaction, err);
}

int gate_store(const char *path, const struct gate_result *result, struct err *err)
{
    struct store *store = NULL;
    int opened = store_open_existing(path, &store, err);
    return opened < 0 ? opened : store_close_after(store, store_rows(store->sql, result, err), err);
}
