/* results/migrate.c: brings a database to the present schema; see migrate.h.
 *
 * A new file is made beside it, as `laggard run` would, and every table that both have is copied, in the columns that both have.
 * Which these are is asked, not listed; a column that is new and may not be NULL is in the list `added`. So a schema that only
 * grows needs no step of its own here. The files are exchanged when all is there. */
#include "results/migrate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/foreign_link.h"
#include "results/database.h"
#include "results/migrate_internal.h"
#include "results/store_internal.h"

/* What rows of before have in columns that came later. */
static const struct {
    const char *table, *column, *value;
} added[] = {
    {"node_counter", "lost_sample_count", "0"}, /* version 2: nothing was sampled before */
    {"prediction", "size_position", "0"},       /* version 2: no sizes were swept before */
    {"trial_metric", "size_position", "0"},
};
static int copy_table(struct sql *sql, const char *table, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *columns = NULL;
    cleanup(text_free) struct text names = {0}, values = {0}, query = {0};
    if (store_common_columns(sql, table, &columns, err) < 0)
        return -ERR_HOST;
    int found;
    while ((found = sql_next(columns, err)) > 0) {
        text_printf(&names, "%s%s", names.length > 0 ? ", " : "", sql_text(columns, 0));
        text_printf(&values, "%s%s", values.length > 0 ? ", " : "", sql_text(columns, 0));
    }
    if (found < 0 || names.length == 0)
        return found;
    for (size_t i = 0; i < sizeof(added) / sizeof(added[0]); i++)
        if (strcmp(added[i].table, table) == 0 && !strstr(names.bytes, added[i].column)) {
            text_printf(&names, ", %s", added[i].column);
            text_printf(&values, ", %s", added[i].value);
        }
    text_printf(&query, "INSERT INTO main.%s (%s) SELECT %s FROM source.%s", table, names.bytes, values.bytes, table);
    return sql_exec(sql, query.bytes, err) < 0 ? err_wrap(err, "the table %s", table) : 0;
}

/* Metrics are made with a file, and rows name them by number. */
static int check_metrics(struct sql *sql, struct err *err)
{
    int64_t differing = 0;
    if (sql_ask_integer(sql,
                        "SELECT count(*) FROM source.metric s LEFT JOIN main.metric m USING (metric_id) WHERE m.name IS NOT s.name",
                        &differing, err) < 0)
        return -ERR_HOST;
    if (differing > 0)
        return err_set(err, ERR_HOST, "%lld of its metrics are not numbered as this laggard numbers them", (long long)differing);
    return 0;
}

static int check_keys(struct sql *sql, struct err *err)
{
    int64_t broken = 0;
    if (sql_ask_integer(sql, "SELECT count(*) FROM pragma_foreign_key_check", &broken, err) < 0)
        return -ERR_HOST;
    if (broken > 0)
        return err_set(err, ERR_HOST, "%lld of its rows belong to rows that are not there", (long long)broken);
    return 0;
}

static int copy(struct store *store, struct migration *done, struct err *err)
{
    struct sql *sql = store->sql;
    cleanup(sql_rollback) struct sql_transaction transaction = {0};
    if (sql_begin(sql, &transaction, err) < 0 || sql_exec(sql, "PRAGMA defer_foreign_keys = ON", err) < 0 ||
        check_metrics(sql, err) < 0 || store_copy_tables(sql, copy_table, err) < 0 ||
        sql_exec(sql, "INSERT OR IGNORE INTO main.schema_migration SELECT * FROM source.schema_migration", err) < 0 ||
        migrate_span_summaries(store, err) < 0 || check_keys(sql, err) < 0 ||
        sql_ask_integer(sql, "SELECT count(*) FROM main.campaign", &done->campaigns, err) < 0 ||
        sql_ask_integer(sql, "SELECT count(*) FROM main.trial", &done->trials, err) < 0)
        return -ERR_HOST;
    return sql_commit(&transaction, err);
}

static void remove_database(const char *path)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        cleanup(text_free) struct text name = {0};
        text_printf(&name, "%s%s", path, endings[i]);
        unlink(name.bytes);
    }
}

/* A new database at `fresh` with what is in the one at `path`. */
static int make(const char *fresh, const char *path, struct migration *done, struct err *err)
{
    struct store *store = NULL;
    int result = store_open(fresh, NULL, &store, err);
    if (result < 0)
        return result;
    result = store_attach_source(store, path, err);
    if (result == 0)
        result = copy(store, done, err);
    sql_exec(store->sql, "DETACH source", NULL);
    return store_close_after(store, result, err);
}

/* A campaign that was killed leaves a log beside the file; what is in it belongs to what is kept. */
static int fold_log(const char *path, struct err *err)
{
    cleanup(sql_cleanup) struct sql *sql = NULL;
    int64_t locked = 0;
    if (sql_open(path, false, &sql, err) < 0)
        return -ERR_HOST;
    sql_wait_at_most(sql, 1000);
    if (sql_ask_integer(sql, "PRAGMA wal_checkpoint(TRUNCATE)", &locked, err) < 0)
        return -ERR_HOST;
    if (locked)
        return err_set(err, ERR_HOST, "another program is reading it; migrate it when that has ended");
    if (sql_exec(sql, "PRAGMA journal_mode = DELETE", err) < 0)
        return -ERR_HOST;
    return database_check_whole(sql, err); /* or what is missing would be blamed on the new file, or not be missed */
}

/* Who could not read the file before cannot read the new one. */
static int exchange(const char *path, const char *fresh, const char *kept, struct err *err)
{
    struct stat status;
    if (stat(path, &status) < 0 || chmod(fresh, status.st_mode & 07777) < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot give the new file the permissions of the old one");
    if (link(path, kept) < 0) {
        /* A file system without hard links: for a moment there is no file of that name. */
        if (errno == EEXIST || rename(path, kept) < 0)
            return err_set_errno(err, ERR_HOST, errno, "cannot keep it as '%s'", kept);
    }
    if (rename(fresh, path) < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot put the new file in its place (as it was it is at '%s')", kept);
    return 0;
}

static int replace(const char *path, struct migration *done, struct err *err)
{
    cleanup(text_free) struct text fresh = {0};
    struct store_lock *lock = NULL;
    text_printf(&fresh, "%s.migrating", path);
    if (store_lock_take_older(path, &lock, err) < 0)
        return -ERR_HOST;
    remove_database(fresh.bytes); /* of a migration that was killed: who holds the lock is the only one */
    int result = fold_log(path, err);
    if (result == 0)
        result = make(fresh.bytes, path, done, err);
    if (result == 0)
        result = exchange(path, fresh.bytes, done->copy.bytes, err);
    if (result < 0) {
        remove_database(fresh.bytes);
        err_wrap(err, "cannot migrate '%s', which is as it was", path);
    }
    store_lock_free(lock);
    return result;
}

/* Of a file that is cut off or damaged, "there is nothing to do" would be half the truth. */
static int look_at(const char *path, struct err *err)
{
    cleanup(sql_cleanup) struct sql *sql = NULL;
    return database_open(path, &sql, err);
}

/* What a link leads to is migrated, where it lies; the link stays one. */
static char *follow(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISLNK(status.st_mode) ? realpath(path, NULL) : NULL;
}

int migrate(const char *name, struct migration *done, struct err *err)
{
    cleanup(free_pointer) char *followed = follow(name);
    const char *path = followed ? followed : name;
    *done = (struct migration){.to = STORE_VERSION};
    int result = database_version(path, &done->from, err);
    if (result < 0)
        return result;
    if (done->from == STORE_VERSION)
        return look_at(path, err);
    if (done->from == 0)
        return err_set(err, ERR_USAGE,
                       "cannot migrate '%s': it is no database of laggard, or one whose first campaign never began; name one that "
                       "`laggard run` made",
                       path);
    text_printf(&done->copy, "%s.v%u", path, done->from);
    if (access(done->copy.bytes, F_OK) == 0)
        return err_set(err, ERR_USAGE,
                       "cannot migrate '%s': '%s', where it would be kept as it is, is there already; move that away", path,
                       done->copy.bytes);
    if (foreign_link_refuse(name, err) < 0) /* the lock is of what it leads to, and looks at no link */
        return -ERR_HOST;
    return replace(path, done, err);
}
