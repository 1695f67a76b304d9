/* results/store_replace.c: a trial that did not finish gives way to the one that runs in its place: its rows go, and an event of
 * the campaign tells that it was there and what became of it. */
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "results/store_internal.h"

/* In every table that has a trial's number: one added to the schema is cleared, too. */
static int delete_rows(struct store *store, int64_t trial_id, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *tables = NULL;
    if (sql_exec(store->sql, "PRAGMA defer_foreign_keys = ON", err) < 0 ||
        sql_prepare(
            store->sql,
            "SELECT m.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c ON c.name = 'trial_id' WHERE m.type = 'table'",
            &tables, err) < 0)
        return -ERR_HOST;
    int found;
    while ((found = sql_next(tables, err)) > 0) {
        cleanup(text_free) struct text query = {0};
        text_printf(&query, "DELETE FROM %s WHERE trial_id = %lld", sql_text(tables, 0), (long long)trial_id);
        if (sql_exec(store->sql, query.bytes, err) < 0)
            return err_wrap(err, "the table %s", sql_text(tables, 0));
    }
    return found;
}

int store_replace(struct store *store, int64_t trial_id, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *old = NULL;
    cleanup(text_free) struct text text = {0};
    if (sql_prepare(store->sql,
                    "SELECT t.campaign_id, t.uuid, t.status, coalesce(t.reason, ''), t.block + 1, c.label, t.arm FROM trial t JOIN "
                    "cell c USING (cell_id) WHERE t.trial_id = ? AND t.status <> 'finished'",
                    &old, err) < 0)
        return -ERR_HOST;
    sql_start(old);
    sql_put_integer(old, trial_id);
    int found = sql_next(old, err);
    if (found == 0)
        return err_set(err, ERR_HOST, "cannot run trial %lld of '%s' again: it is not there any more, or has finished",
                       (long long)trial_id, sql_path(store->sql));
    if (found < 0)
        return found;
    const int64_t campaign_id = sql_integer(old, 0);
    const char *label = sql_text(old, 5), *arm = sql_text(old, 6), *reason = sql_text(old, 3);
    text_printf(&text, "trial %s (%s%s%s%srepeat %lld) had %s%s%s; another one runs in its place", sql_text(old, 1), label,
                label[0] ? ", " : "", arm[0] ? "arm " : "", arm, (long long)sql_integer(old, 4), sql_text(old, 2),
                reason[0] ? ": " : "", reason);
    return delete_rows(store, trial_id, err) < 0 ? -ERR_HOST : store_event(store, campaign_id, 0, "replaced", text.bytes, err);
}
