/* results/store.c: the life of the database file: check, open, recover, close.
 *
 * While a campaign runs the file is in WAL mode with synchronous NORMAL: a commit costs no sync, a crash of the host loses at most
 * the last trials and never damages the file, and readers work meanwhile. On a network file system WAL cannot work, so there it
 * keeps a rollback journal. Closing turns the file back into one that needs no companion. */
#include "results/store.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "results/database.h"
#include "results/store_internal.h"

/* The file was moved away: what is in its log is folded into it, under its new name, and the log does not stay at the old one. */
static void leave_no_log(struct store *store)
{
    const char *path = sql_path(store->sql);
    if (store_lock_verify(store->lock, path, NULL) == 0)
        return;
    sql_wait_at_most(store->sql, 1000);
    (void)sql_exec(store->sql, "PRAGMA wal_checkpoint(TRUNCATE)", NULL);
    store_lock_remove_log(store->lock, path);
}

static void store_free(struct store *store)
{
    if (!store)
        return;
    if (store->sql)
        leave_no_log(store);
    sql_close(store->sql);
    store_lock_free(store->lock);
    free(store);
}

static void store_cleanup(struct store **store)
{
    store_free(steal_pointer(store));
}

int store_check(const char *path, struct err *err)
{
    return store_lock_check(path, err);
}

/* The first look at the file was at its bytes; this one goes through SQLite, which may have rolled back a journal or read a log. */
static int create_or_recognise(struct sql *sql, struct err *err)
{
    int64_t application_id = 0, version = 0, objects = 0;
    cleanup(sql_rollback) struct sql_transaction transaction = {0};
    if (sql_begin(sql, &transaction, err) < 0 || sql_ask_integer(sql, "PRAGMA application_id", &application_id, err) < 0 ||
        sql_ask_integer(sql, "PRAGMA user_version", &version, err) < 0 ||
        sql_ask_integer(sql, "SELECT count(*) FROM sqlite_schema", &objects, err) < 0)
        return -ERR_HOST;
    if (objects > 0 && application_id == STORE_APPLICATION_ID && version == STORE_VERSION)
        return sql_commit(&transaction, err);
    if (objects > 0 && application_id == STORE_APPLICATION_ID && version > 0 && version < STORE_VERSION)
        return database_refuse_older(sql_path(sql), (uint32_t)version, ERR_HOST, err);
    if (objects > 0)
        return err_set(
            err, ERR_HOST,
            "cannot use '%s' as the database: it holds something else (application_id %lld, version %lld); choose another "
            "name (laggard run: --db)",
            sql_path(sql), (long long)application_id, (long long)version);
    if (store_schema_create(sql, err) < 0)
        return -ERR_HOST;
    return sql_commit(&transaction, err);
}

static int choose_journal(struct sql *sql, struct err *err)
{
    return sql_exec(sql,
                    store_on_network(sql_path(sql)) ? "PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL"
                                                    : "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL",
                    err);
}

static int note_interrupted(struct sql *sql, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *insert = NULL;
    if (sql_prepare(sql,
                    "INSERT INTO event (campaign_id, trial_id, at_unix_ns, kind, text) SELECT campaign_id, trial_id, ?, "
                    "'interrupted', 'the controller had ended before this trial did, as the next one found' "
                    "FROM trial WHERE status = 'running'",
                    &insert, err) < 0)
        return -ERR_HOST;
    sql_start(insert);
    sql_put_integer(insert, clock_wall_ns());
    return sql_run(insert, err);
}

/* The lock says that nobody else is writing, so a trial that is still marked as running has lost its controller. */
static int mark_interrupted(struct sql *sql, int *interrupted, struct err *err)
{
    int64_t running = 0;
    if (sql_ask_integer(sql, "SELECT count(*) FROM trial WHERE status = 'running'", &running, err) < 0)
        return -ERR_HOST;
    if (running > 0 && note_interrupted(sql, err) < 0)
        return -ERR_HOST;
    if (running > 0 && sql_exec(sql,
                                "UPDATE trial SET status = 'interrupted', reason = 'the controller ended before this trial did' "
                                "WHERE status = 'running'",
                                err) < 0)
        return -ERR_HOST;
    if (interrupted)
        *interrupted = (int)running;
    return 0;
}

static int open_locked(const char *path, int *interrupted, struct store *store, struct err *err)
{
    if (sql_open(path, false, &store->sql, err) < 0 || create_or_recognise(store->sql, err) < 0 ||
        choose_journal(store->sql, err) < 0 || sql_exec(store->sql, "PRAGMA cache_size = -65536", err) < 0)
        return -ERR_HOST;
    if (mark_interrupted(store->sql, interrupted, err) < 0)
        return -ERR_HOST;
    store_lock_note_log(store->lock, path);
    return 0;
}

int store_open(const char *path, int *interrupted, struct store **out, struct err *err)
{
    cleanup(store_cleanup) struct store *store = calloc(1, sizeof(*store));
    if (!store)
        return err_set(err, ERR_HOST, "cannot open the database '%s': out of memory", path);
    if (store_lock_take(path, &store->lock, err) < 0)
        return -ERR_HOST;
    if (open_locked(path, interrupted, store, err) < 0) {
        cleanup(free_pointer) char *created = store_lock_created(store->lock, path);
        if (created)
            unlink(created);
        return -ERR_HOST;
    }
    *out = steal_pointer(&store);
    return 0;
}

/* A reader that is still there keeps the file in WAL mode: no harm, the next writer folds the log in. */
static void fold_journal(struct sql *sql)
{
    struct err err = {0};
    sql_wait_at_most(sql, 1000);
    if (sql_exec(sql, "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE", &err) == 0)
        return;
    if (!sql_is_locked(sql))
        log_warning("a part of the database stays in '%s-wal', and is safe there: copy both together (%s)", sql_path(sql),
                    err.text);
    else
        log_warning("'%s' is being read by another program: copy it together with '%s-wal', or copy it later", sql_path(sql),
                    sql_path(sql));
}

int store_close(struct store *store, struct err *err)
{
    if (!store)
        return 0;
    int result = store_lock_verify(store->lock, sql_path(store->sql), err);
    if (result == 0)
        result = store_schema_index(store->sql, err);
    if (result == 0)
        result = sql_exec(store->sql, "PRAGMA optimize", err);
    if (result == 0)
        fold_journal(store->sql);
    store_free(store);
    return result;
}

int store_open_existing(const char *path, struct store **store, struct err *err)
{
    struct sql *look = NULL;
    int result = database_open(path, &look, err);
    if (result < 0)
        return result;
    sql_close(look);
    return store_open(path, NULL, store, err);
}

int store_close_after(struct store *store, int result, struct err *err)
{
    struct err close_err = {0};
    if (store_close(store, &close_err) < 0 && result == 0)
        return err_set(err, close_err.kind, "%s", close_err.text);
    return result;
}
