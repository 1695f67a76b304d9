/* results/store_events.c: what happened: to a campaign, at any time; in a trial, when it ends. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "results/store_internal.h"

static const char *const direction_names[DIRECTIONS] = DIRECTION_NAMES;

static void put_number(struct sql_statement *row, int64_t number)
{
    sql_put_unsigned_or_null(row, (uint64_t)number, number != EVENT_NO_NUMBER);
}

static void put_time(struct sql_statement *row, int64_t ns, bool known)
{
    if (known)
        sql_put_integer(row, ns);
    else
        sql_put_null(row);
}

static void put_direction(struct sql_statement *row, const struct event_record *record)
{
    const struct direction *now = &record->now;
    sql_put_unsigned_or_null(row, record->down, record->has_direction);
    sql_put_unsigned_or_null(row, now->rate_bps, record->has_direction && now->rate_bps > 0);
    put_time(row, now->delay_ns, record->has_direction);
    if (record->has_direction)
        sql_put_real(row, store_long_run_loss(&now->impairments));
    else
        sql_put_null(row);
}

static int store_record(struct store *store, int64_t campaign_id, int64_t trial_id, const struct event_record *record,
                        struct err *err)
{
    struct sql_statement *row = store_row(store, ROW_EVENT, err);
    if (!row)
        return -ERR_HOST;
    sql_put_integer(row, campaign_id);
    put_time(row, trial_id, trial_id > 0);
    sql_put_integer(row, record->at_unix_ns);
    sql_put_text(row, record->kind);
    sql_put_text(row, record->text);
    put_number(row, record->event);
    put_number(row, record->step);
    put_number(row, record->link);
    sql_put_text(row, record->direction == EVENT_NO_NUMBER ? NULL : direction_names[record->direction]);
    put_number(row, record->node);
    put_time(row, record->asked_ns, record->asked_known);
    put_time(row, record->at_ns, record->happened);
    put_direction(row, record);
    return sql_run(row, err);
}

int store_event(struct store *store, int64_t campaign_id, int64_t trial_id, const char *kind, const char *text, struct err *err)
{
    struct event_record record = {.kind = kind,
                                  .text = text,
                                  .at_unix_ns = clock_wall_ns(),
                                  .event = EVENT_NO_NUMBER,
                                  .step = EVENT_NO_NUMBER,
                                  .link = EVENT_NO_NUMBER,
                                  .direction = EVENT_NO_NUMBER,
                                  .node = EVENT_NO_NUMBER};
    return store_record(store, campaign_id, trial_id, &record, err);
}

int store_events_seen(struct store *store, int64_t trial_id, const struct trial_end *end, struct err *err)
{
    if (end->event_count == 0)
        return 0;
    cleanup(sql_finish_cleanup) struct sql_statement *query = NULL;
    if (sql_prepare(store->sql, "SELECT campaign_id FROM trial WHERE trial_id = ?", &query, err) < 0)
        return -ERR_HOST;
    sql_start(query);
    sql_put_integer(query, trial_id);
    int found = sql_next(query, err);
    if (found <= 0)
        return found < 0 ? found
                         : err_set(err, ERR_HOST, "cannot store the events of trial %lld: it is not there", (long long)trial_id);
    int64_t campaign_id = sql_integer(query, 0);
    for (int i = 0; i < end->event_count; i++)
        if (store_record(store, campaign_id, trial_id, &end->events[i], err) < 0)
            return -ERR_HOST;
    return 0;
}
