/* results/merge.c: adds a database to another one; see merge.h.
 *
 * The source is attached, so that SQL copies from one to the other in one transaction. Every row id of the source that is a key
 * elsewhere gets a new number: what is new is shifted beyond what is there; campaigns and cells that are there already (shards)
 * keep the number they have. The numbers stand in temporary tables, moved_NAME (old, new), and a copy of a table replaces each of
 * its key columns through them. Which columns a table has is asked, not listed: a table added to the schema is merged, too. */
#include "results/merge.h"

#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "results/database.h"
#include "results/store_internal.h"

/* Key columns by name, and the table whose rows they number. */
static const struct {
    const char *column, *key;
} keys[] = {
    {"environment_id", "environment_id"},
    {"campaign_id", "campaign_id"},
    {"confirmed_campaign_id", "campaign_id"},
    {"cell_id", "cell_id"},
    {"trial_id", "trial_id"},
    {"span_id", "span_id"},
    {"event_id", "event_id"},
    {"sample_id", "sample_id"},
    {"baseline_id", "baseline_id"},
};
/* Rows with such a number, and nothing else that says which they are. */
static const struct {
    const char *key, *table;
} shifted[] = {{"span_id", "span"}, {"event_id", "event"}, {"sample_id", "counter_sample"}, {"baseline_id", "baseline"}};
/* What the trials of a campaign ran as: options such as --world make other cells of the same file. */
#define VARIANTS(schema, campaign)                                                                                                 \
    "SELECT v.number, v.label, v.settings_text, a.arm, a.settings_text FROM " schema ".cell v LEFT JOIN " schema                   \
    ".arm_cell a USING (cell_id) WHERE v.campaign_id = " campaign ".campaign_id"
/* A campaign is there when one of its trials is; or, as a shard (unless they are to stay apart), when a campaign of the same name,
 * file, seed, environment and cells is. Reruns that confirm another campaign are shards of nothing. */
static const char match_shards[] =
    "(SELECT min(m.campaign_id) FROM main.campaign m JOIN main.environment me USING (environment_id) WHERE m.name = c.name AND "
    "m.file_sha256 = c.file_sha256 AND m.seed = c.seed AND me.fingerprint = e.fingerprint AND c.campaign_id NOT IN "
    "(SELECT campaign_id FROM source.confirmation) AND m.campaign_id NOT IN (SELECT campaign_id FROM main.confirmation) "
    "AND NOT EXISTS (" VARIANTS("source", "c") " EXCEPT " VARIANTS(
        "main", "m") ") "
                     "AND NOT EXISTS (" VARIANTS("main", "m") " EXCEPT " VARIANTS("source", "c") "))";
static const char match_campaigns[] =
    "CREATE TEMP TABLE moved_campaign_id AS SELECT c.campaign_id AS old, "
    "coalesce((SELECT m.campaign_id FROM source.trial t JOIN main.trial m USING (uuid) WHERE t.campaign_id = c.campaign_id LIMIT "
    "1), %s) "
    "AS there, c.campaign_id + (SELECT coalesce(max(campaign_id), 0) FROM main.campaign) AS new "
    "FROM source.campaign c JOIN source.environment e USING (environment_id);"
    "UPDATE moved_campaign_id SET new = there WHERE there IS NOT NULL;"
    "CREATE TEMP TABLE moved_cell_id AS SELECT c.cell_id AS old, "
    "(SELECT m.cell_id FROM main.cell m WHERE k.there IS NOT NULL AND m.campaign_id = k.there AND m.number = c.number) AS there, "
    "c.cell_id + (SELECT coalesce(max(cell_id), 0) FROM main.cell) AS new "
    "FROM source.cell c JOIN moved_campaign_id k ON k.old = c.campaign_id;"
    "UPDATE moved_cell_id SET new = there WHERE there IS NOT NULL; CREATE INDEX temp.by_cell ON moved_cell_id (old);"
    "CREATE TEMP TABLE moved_trial_id AS SELECT t.trial_id AS old, "
    "coalesce((SELECT m.trial_id FROM main.trial m WHERE m.uuid = t.uuid), "
    /* A virtual clock gives one trial the same times whenever it runs: two such are one. */
    "(SELECT m.trial_id FROM main.trial m JOIN moved_cell_id k ON k.there = m.cell_id WHERE k.old = t.cell_id AND m.arm = t.arm "
    "AND m.block = t.block AND m.world = 'virtual' AND t.world = 'virtual' AND m.status = 'finished' AND t.status = 'finished' AND "
    "m.fidelity = t.fidelity AND m.digest = t.digest), "
    /* One that did not finish is not needed where another one of its place is. */
    "(SELECT m.trial_id FROM main.trial m JOIN moved_cell_id k ON k.there = m.cell_id WHERE k.old = t.cell_id AND m.arm = t.arm "
    "AND m.block = t.block AND t.status <> 'finished')) AS there, "
    "t.trial_id + (SELECT coalesce(max(trial_id), 0) FROM main.trial) AS new FROM source.trial t;"
    "UPDATE moved_trial_id SET new = there WHERE there IS NOT NULL;"
    /* Of an environment that no new campaign has, there is nothing to take. */
    "CREATE TEMP TABLE moved_environment_id AS SELECT e.environment_id AS old, CASE WHEN EXISTS (SELECT 1 FROM source.campaign c "
    "JOIN moved_campaign_id k ON k.old = c.campaign_id WHERE c.environment_id = e.environment_id AND k.there IS NULL) THEN NULL "
    "ELSE 0 "
    "END AS there, e.environment_id + (SELECT coalesce(max(environment_id), 0) FROM main.environment) AS new "
    "FROM source.environment e;";

/* The first trial that stands against another one: a copy that is not the same, or two of the same place in the campaign. */
static const char conflict[] =
    "SELECT 'trial ' || t.uuid || ' is in both, but not the same' FROM source.trial t JOIN main.trial m USING (uuid) "
    "WHERE t.status IS NOT m.status OR t.digest IS NOT m.digest OR t.fidelity IS NOT m.fidelity "
    "UNION ALL SELECT 'both have a trial of cell ' || c.label || CASE t.arm WHEN '' THEN '' ELSE ', arm ' || t.arm END || ', "
    "repeat ' || "
    "(t.block + 1) || ', and not the same one' FROM source.trial t JOIN moved_cell_id k ON k.old = t.cell_id "
    "JOIN source.cell c ON c.cell_id = t.cell_id JOIN main.trial m ON m.cell_id = k.there AND m.arm = t.arm AND m.block = t.block "
    "AND m.uuid <> t.uuid WHERE k.there IS NOT NULL AND t.status = 'finished' AND m.status = 'finished' AND m.trial_id IS NOT "
    "(SELECT there FROM moved_trial_id WHERE old = t.trial_id) "
    "UNION ALL SELECT 'several of its campaigns are the same one there: ' || c.name FROM moved_campaign_id k JOIN source.campaign "
    "c "
    "ON c.campaign_id = k.old WHERE k.there IS NOT NULL GROUP BY k.there HAVING count(*) > 1 LIMIT 1";

static int check_conflicts(struct sql *sql, const char *to, const char *from, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    if (sql_prepare(sql, conflict, &rows, err) < 0)
        return -ERR_HOST;
    int found = sql_next(rows, err);
    if (found > 0)
        return err_set(err, ERR_USAGE,
                       "cannot merge '%s' into '%s': %s; nothing of it was merged (--separate keeps campaigns apart)", from, to,
                       sql_text(rows, 0));
    return found;
}

/* What did not finish in the one gives way to what did in the other, as when a campaign goes on. */
static int replace_unfinished(struct store *store, struct err *err)
{
    static const char query[] =
        "CREATE TEMP TABLE given_way AS SELECT m.trial_id FROM moved_trial_id k JOIN source.trial t ON t.trial_id = k.old JOIN "
        "moved_cell_id c ON c.old = t.cell_id JOIN main.trial m ON m.cell_id = c.there AND m.arm = t.arm AND m.block = t.block "
        "WHERE k.there IS NULL AND t.status = 'finished' AND m.status <> 'finished'";
    int64_t trial_id;
    int result = sql_exec(store->sql, query, err);
    do {
        trial_id = 0;
        if (result == 0)
            result = sql_ask_integer(
                store->sql, "SELECT trial_id FROM given_way WHERE trial_id IN (SELECT trial_id FROM main.trial)", &trial_id, err);
        if (result == 0 && trial_id > 0)
            result = store_replace(store, trial_id, err);
    } while (result == 0 && trial_id > 0);
    return result;
}

static int number_rows(struct sql *sql, struct err *err)
{
    for (size_t i = 0; i < sizeof(shifted) / sizeof(shifted[0]); i++) {
        cleanup(text_free) struct text query = {0};
        text_printf(
            &query,
            "CREATE TEMP TABLE moved_%s AS SELECT %s AS old, NULL AS there, %s + (SELECT coalesce(max(%s), 0) FROM main.%s) AS "
            "new FROM source.%s; CREATE INDEX temp.by_%s ON moved_%s (old);",
            shifted[i].key, shifted[i].key, shifted[i].key, shifted[i].key, shifted[i].table, shifted[i].table, shifted[i].key,
            shifted[i].key);
        if (sql_exec(sql, query.bytes, err) < 0)
            return -ERR_HOST;
    }
    return sql_exec(sql,
                    "CREATE INDEX temp.by_trial ON moved_trial_id (old); "
                    "CREATE INDEX temp.by_campaign ON moved_campaign_id (old)",
                    err);
}

static const char *key_of(const char *column)
{
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (strcmp(keys[i].column, column) == 0)
            return keys[i].key;
    return NULL;
}

/* Of a row's keys the narrowest says whether the row is there: a trial of a shard is new, its campaign and cell are not. */
static bool decides(const char *table, const char *column, const char *key)
{
    static const char *const by_campaign[] = {"campaign", "arm", "baseline", "confirmation", "verdict", NULL};
    if (strcmp(column, key) != 0)
        return false;
    if (strcmp(key, "trial_id") == 0)
        return true;
    if (strcmp(key, "cell_id") == 0)
        return strcmp(table, "trial") != 0;
    if (strcmp(key, "environment_id") == 0)
        return strcmp(table, "campaign") != 0;
    for (int i = 0; strcmp(key, "campaign_id") == 0 && by_campaign[i]; i++)
        if (strcmp(by_campaign[i], table) == 0)
            return true;
    return false;
}

/* INSERT INTO main.T (columns) SELECT columns, keys replaced, FROM source.T, but for rows of a campaign, cell or trial that is
 * there. */
static int copy_table(struct sql *sql, const char *table, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *columns = NULL;
    cleanup(text_free) struct text names = {0}, values = {0}, where = {0}, query = {0};
    if (store_common_columns(sql, table, &columns, err) < 0)
        return -ERR_HOST;
    int found;
    while ((found = sql_next(columns, err)) > 0) {
        const char *name = sql_text(columns, 0), *key = key_of(name);
        text_printf(&names, "%s%s", names.length > 0 ? ", " : "", name);
        text_add(&values, values.length > 0 ? ", " : "");
        if (!key) {
            text_printf(&values, "r.%s", name);
            continue;
        }
        text_printf(&values, "(SELECT k.new FROM moved_%s k WHERE k.old = r.%s)", key, name);
        if (decides(table, name, key))
            text_printf(&where, "%s(r.%s IS NULL OR EXISTS (SELECT 1 FROM moved_%s k WHERE k.old = r.%s AND k.there IS NULL))",
                        where.length > 0 ? " AND " : "", name, key, name);
    }
    if (found < 0 || names.length == 0)
        return found;
    if (strcmp(table, "event") == 0) /* those of a campaign alone come with it, a shard's too, but once */
        text_add(&where,
                 " AND (r.trial_id IS NOT NULL OR NOT EXISTS (SELECT 1 FROM moved_campaign_id k JOIN main.event m ON "
                 "m.campaign_id = k.there AND m.trial_id IS NULL AND m.at_unix_ns = r.at_unix_ns AND m.kind = r.kind AND m.text = "
                 "r.text WHERE k.old = r.campaign_id))");
    text_printf(&query, "INSERT INTO main.%s (%s) SELECT %s FROM source.%s r%s%s", table, names.bytes, values.bytes, table,
                where.length > 0 ? " WHERE " : "", where.length > 0 ? where.bytes : "");
    return sql_exec(sql, query.bytes, err) < 0 ? err_wrap(err, "the table %s", table) : 0;
}

static int count(struct sql *sql, struct merge_counts *counts, struct err *err)
{
    int64_t numbers[4] = {0};
    static const char *const queries[4] = {"SELECT count(*) FROM moved_campaign_id WHERE there IS NULL",
                                           "SELECT count(*) FROM moved_campaign_id WHERE there IS NOT NULL",
                                           "SELECT count(*) FROM moved_trial_id WHERE there IS NULL",
                                           "SELECT count(*) FROM moved_trial_id WHERE there IS NOT NULL"};
    for (int i = 0; i < 4; i++)
        if (sql_ask_integer(sql, queries[i], &numbers[i], err) < 0)
            return -ERR_HOST;
    *counts = (struct merge_counts){(int)numbers[0], (int)numbers[1], (int)numbers[2], (int)numbers[3]};
    return 0;
}

static int merge(struct store *store, const char *from, bool separate, struct merge_counts *counts, struct err *err)
{
    struct sql *sql = store->sql;
    cleanup(text_free) struct text match = {0};
    cleanup(sql_rollback) struct sql_transaction transaction = {0};
    text_printf(&match, match_campaigns, separate ? "NULL" : match_shards);
    if (sql_begin(sql, &transaction, err) < 0 || sql_exec(sql, "PRAGMA defer_foreign_keys = ON", err) < 0 ||
        sql_exec(sql, match.bytes, err) < 0)
        return -ERR_HOST;
    int result = check_conflicts(sql, sql_path(sql), from, err);
    if (result == 0)
        result = replace_unfinished(store, err);
    if (result == 0)
        result = number_rows(sql, err);
    if (result == 0)
        result = store_copy_tables(sql, copy_table, err);
    if (result == 0)
        result = count(sql, counts, err);
    return result == 0 ? sql_commit(&transaction, err) : result;
}

/* Trials that are running in the source belong to somebody who still writes. */
static int check_source(const char *from, struct err *err)
{
    cleanup(sql_cleanup) struct sql *sql = NULL;
    int64_t running = 0;
    int result = database_open(from, &sql, err);
    if (result == 0)
        result = sql_ask_integer(sql, "SELECT count(*) FROM trial WHERE status = 'running'", &running, err);
    if (result < 0)
        return result;
    if (running == 0) /* or what is missing would be blamed on the other file, or not be missed */
        return database_check_whole(sql, err) < 0 ? err_wrap(err, "cannot merge '%s'", from) : 0;
    return err_set(err, ERR_USAGE,
                   "cannot merge '%s': a campaign is writing to it, or was killed; merge it when it has ended, or run "
                   "into it once more",
                   from);
}

int merge_add(const char *to, const char *from, bool separate, struct merge_counts *counts, struct err *err)
{
    struct store *store = NULL;
    int result = check_source(from, err);
    if (result == 0)
        result = store_open(to, NULL, &store, err);
    if (result != 0)
        return result;
    result = store_attach_source(store, from, err);
    if (result == 0)
        result = merge(store, from, separate, counts, err);
    if (result == -ERR_HOST)
        err_wrap(err, "cannot merge '%s'", from);
    struct err close_err = {0};
    cleanup(free_pointer) char *created = store_lock_created(store->lock, to);
    sql_exec(store->sql, "DETACH source", NULL);
    if (store_close(store, &close_err) < 0 && result == 0)
        return err_set(err, close_err.kind, "%s", close_err.text);
    if (result < 0 && created)
        unlink(created);
    return result;
}
