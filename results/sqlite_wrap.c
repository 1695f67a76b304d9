/* results/sqlite_wrap.c: connections and statements; the values of rows are in sqlite_rows.c. Turns result codes into sentences,
 * and keeps the statements of a connection in a list, so that closing never leaves one behind. */
#include "results/sqlite_wrap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/options.h"
#include "base/text.h"
#include "results/sqlite_wrap_internal.h"

/* What to do about the codes that a user can do something about. */
static const struct {
    int code;
    const char *remedy;
} remedies[] = {
    {SQLITE_BUSY, "; another program holds a lock on it: end that program's transaction and try again"},
    {SQLITE_FULL, "; what was stored before is safe: free space on that file system, then run again, or choose another place "
                  "(laggard run: --db)"},
    {SQLITE_READONLY, "; the file or its folder is not writable"},
    {SQLITE_CORRUPT, "; restore it from a copy, or recover what is left with: sqlite3 FILE .recover"},
    {SQLITE_NOTADB, "; choose another file (laggard run: --db)"},
    {SQLITE_CONSTRAINT,
     "; rows contradict each other, as in a file that was damaged or changed by hand: restore what is read from a copy"},
    {SQLITE_CANTOPEN,
     "; look whether its folder is there and writable, and that its whole path is shorter than 500 bytes, which SQLite wants"},
    {SQLITE_IOERR, "; look for errors of the disk in the kernel's log"},
};

int sql_fail(struct sql *sql, const char *what, struct err *err)
{
    int code = sqlite3_errcode(sql->handle) & 0xff;
    const char *remedy = "";
    for (size_t i = 0; i < sizeof(remedies) / sizeof(remedies[0]); i++)
        if (remedies[i].code == code)
            remedy = remedies[i].remedy;
    int error_number = code == SQLITE_CANTOPEN || code == SQLITE_IOERR ? sqlite3_system_errno(sql->handle) : 0;
    char reason[128];
    return err_set(err, ERR_HOST, "cannot %s the database '%s': %s%s%s%s", what, sql->path, sqlite3_errmsg(sql->handle),
                   error_number ? ": " : "", error_number ? strerror_r(error_number, reason, sizeof(reason)) : "", remedy);
}

/* SQLite's count of its memory, which nobody reads, takes a lock for every allocation: a tenth of what a row takes. Refused,
 * without harm, where SQLite is at work already. */
static void no_memory_count(void)
{
    static bool asked;
    if (!asked)
        (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    asked = true;
}

/* What SQLite would take for something else than the name of a file: ":memory:", "file:a?mode=memory". */
static void spell_file_name(const char *path, struct text *out)
{
    text_printf(out, "%s%s", path[0] == ':' || strncmp(path, "file:", strlen("file:")) == 0 ? "./" : "", path);
}

static const char IN_MEMORY[] = ":memory:";

static int open_with(const char *file, int flags, struct sql **out, struct err *err)
{
    const char *path = file ? file : IN_MEMORY;
    cleanup(text_free) struct text name = {0};
    cleanup(sql_cleanup) struct sql *sql = calloc(1, sizeof(*sql) + strlen(path) + 1);
    if (!sql)
        return err_set(err, ERR_HOST, "cannot open the database '%s': out of memory", path);
    memcpy(sql->path, path, strlen(path) + 1);
    no_memory_count();
    spell_file_name(path, &name);
    if (sqlite3_open_v2(file ? name.bytes : IN_MEMORY, &sql->handle, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        return sql->handle ? sql_fail(sql, "open", err)
                           : err_set(err, ERR_HOST, "cannot open the database '%s': out of memory", path);
    sqlite3_busy_timeout(sql->handle, 10000);
    sqlite3_db_config(sql->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(sql->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    if (sql_exec(sql, "PRAGMA foreign_keys = ON", err) < 0)
        return -ERR_HOST;
    *out = steal_pointer(&sql);
    return 0;
}

int sql_open(const char *path, bool create, struct sql **out, struct err *err)
{
    return open_with(path, SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0), out, err);
}

int sql_open_read(const char *path, struct sql **out, struct err *err)
{
    return open_with(path, SQLITE_OPEN_READONLY, out, err);
}

int sql_attach(struct sql *sql, const char *path, const char *name, struct err *err)
{
    cleanup(text_free) struct text query = {0}, file_name = {0};
    cleanup(sql_finish_cleanup) struct sql_statement *attach = NULL;
    spell_file_name(path, &file_name);
    text_printf(&query, "ATTACH ? AS %s", name);
    if (sql_prepare(sql, query.bytes, &attach, err) < 0)
        return -ERR_HOST;
    sql_start(attach);
    sql_put_text(attach, file_name.bytes);
    return sql_run(attach, err);
}

void sql_close(struct sql *sql)
{
    if (!sql)
        return;
    while (sql->statements)
        sql_finish(sql->statements);
    sqlite3_close(sql->handle);
    free(sql);
}

void sql_cleanup(struct sql **sql)
{
    sql_close(steal_pointer(sql));
}

const char *sql_path(const struct sql *sql)
{
    return sql->path;
}

const char *sql_version(void)
{
    return sqlite3_libversion();
}

void sql_wait_at_most(struct sql *sql, int milliseconds)
{
    sqlite3_busy_timeout(sql->handle, milliseconds);
}

void sql_forget_pages(struct sql *sql)
{
    sqlite3_db_release_memory(sql->handle);
}

int sql_exec(struct sql *sql, const char *text, struct err *err)
{
    if (sqlite3_exec(sql->handle, text, NULL, NULL, NULL) != SQLITE_OK)
        return sql_fail(sql, "write to", err);
    return 0;
}

bool sql_is_locked(const struct sql *sql)
{
    int primary = sqlite3_errcode(sql->handle) & 0xff;
    return primary == SQLITE_BUSY || primary == SQLITE_LOCKED;
}

int sql_ask_integer(struct sql *sql, const char *text, int64_t *value, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *statement = NULL;
    if (sql_prepare(sql, text, &statement, err) < 0)
        return -ERR_HOST;
    int found = sql_next(statement, err);
    if (found > 0)
        *value = sql_integer(statement, 0);
    return found < 0 ? found : 0;
}

int sql_prepare(struct sql *sql, const char *text, struct sql_statement **out, struct err *err)
{
    struct sql_statement *statement = calloc(1, sizeof(*statement));
    if (!statement) {
        err_set(err, ERR_HOST, "cannot use the database '%s': out of memory", sql->path);
        return -ERR_HOST;
    }
    if (sqlite3_prepare_v3(sql->handle, text, -1, SQLITE_PREPARE_PERSISTENT, &statement->handle, NULL) != SQLITE_OK) {
        free(statement);
        sql_fail(sql, "use", err);
        return -ERR_HOST;
    }
    statement->sql = sql;
    statement->next = sql->statements;
    sql->statements = statement;
    *out = statement;
    return 0;
}

bool sql_blames_query(const struct sql *sql)
{
    switch (sqlite3_errcode(sql->handle) & 0xff) {
    case SQLITE_ERROR: /* also overflows, malformed JSON and functions that are not allowed, once rows are asked for */
    case SQLITE_TOOBIG:
    case SQLITE_AUTH:
    case SQLITE_MISMATCH:
        return true;
    default:
        return false;
    }
}

void sql_nearest_name(struct sql *sql, const char *query, const char *word, char *near, size_t size)
{
    enum { NAMES_MAX = 2000 };
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    const char **names = arena_new_array(arena, const char *, NAMES_MAX);
    size_t count = 0;
    if (sql_prepare(sql, query, &rows, NULL) == 0)
        while (count < NAMES_MAX && sql_next(rows, NULL) > 0)
            if (sql_kind(rows, 0) == SQL_TEXT)
                names[count++] = arena_strdup(arena, sql_text(rows, 0));
    const char *found = options_nearest(word, names, count);
    snprintf(near, size, "%s", found ? found : "");
}

/* What to do about a name that SQLite does not find. */
static void add_hint(struct sql *sql, const char *reason, struct text *out)
{
    static const struct {
        const char *begin, *names;
    } kinds[] = {{"no such table: ", SQL_TABLE_NAMES}, {"no such column: ", "SELECT DISTINCT column_name FROM column_doc"}};
    char near[80] = "";
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
        if (strncmp(reason, kinds[k].begin, strlen(kinds[k].begin)) == 0) {
            const char *dot = strrchr(reason, '.'); /* "t.column" */
            sql_nearest_name(sql, kinds[k].names, dot ? dot + 1 : reason + strlen(kinds[k].begin), near, sizeof(near));
        }
    if (near[0])
        text_printf(out, ", did you mean '%s'?", near);
    if (strncmp(reason, "no such ", strlen("no such ")) == 0)
        text_printf(out, "%s `laggard sql DB columns` lists tables, views and columns", near[0] ? "" : ";");
}

int sql_prepare_reading(struct sql *sql, const char *text, struct sql_statement **out, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *statement = NULL;
    const char *rest = NULL;
    sqlite3_stmt *handle = NULL;
    if (sqlite3_prepare_v3(sql->handle, text, -1, 0, &handle, &rest) != SQLITE_OK) {
        cleanup(text_free) struct text reason = {0};
        if (!sql_blames_query(sql))
            return sql_fail(sql, "read", err);
        text_add(&reason, sqlite3_errmsg(sql->handle)); /* of which the next statement makes another one */
        cleanup(text_free) struct text hint = {0};
        add_hint(sql, reason.bytes, &hint);
        return err_set(err, ERR_USAGE, "SQLite does not take this query: %s%s", reason.bytes, hint.bytes ? hint.bytes : "");
    }
    bool reads = handle && sqlite3_stmt_readonly(handle) && sqlite3_column_count(handle) > 0;
    bool alone = !rest || !rest[strspn(rest, "; \t\r\n")];
    const int parameters = sqlite3_bind_parameter_count(handle);
    sqlite3_finalize(handle);
    if (!reads)
        return err_set(err, ERR_USAGE, "this is no query that reads: one that begins with SELECT or WITH is needed");
    if (!alone)
        return err_set(err, ERR_USAGE, "this is more than one query: give one, without anything behind it");
    if (parameters > 0)
        return err_set(err, ERR_USAGE,
                       "this query has %d parameter%s (?, :NAME, @NAME, $NAME), which nothing gives a value: write values",
                       parameters, parameters == 1 ? "" : "s");
    if (sql_prepare(sql, text, &statement, err) < 0)
        return -ERR_HOST;
    statement->foreign = true;
    *out = steal_pointer(&statement);
    return 0;
}

int sql_prepare_inserts(struct sql *sql, const char *table, const char *columns, int rows, struct sql_statement **out,
                        struct err *err)
{
    cleanup(text_free) struct text text = {0};
    text_printf(&text, "INSERT INTO %s (%s) VALUES ", table, columns);
    for (int row = 0; row < rows; row++) {
        text_add(&text, row ? ", (?" : "(?");
        for (const char *p = columns; *p; p++)
            if (*p == ',')
                text_add(&text, ", ?");
        text_add(&text, ")");
    }
    return sql_prepare(sql, text.bytes, out, err);
}

int sql_prepare_insert(struct sql *sql, const char *table, const char *columns, struct sql_statement **out, struct err *err)
{
    return sql_prepare_inserts(sql, table, columns, 1, out, err);
}

void sql_finish(struct sql_statement *statement)
{
    if (!statement)
        return;
    struct sql_statement **link = &statement->sql->statements;
    while (*link != statement)
        link = &(*link)->next;
    *link = statement->next;
    sqlite3_finalize(statement->handle);
    free(statement);
}

void sql_finish_cleanup(struct sql_statement **statement)
{
    sql_finish(steal_pointer(statement));
}

int64_t sql_last_row_id(const struct sql *sql)
{
    return sqlite3_last_insert_rowid(sql->handle);
}

int sql_changes(const struct sql *sql)
{
    return sqlite3_changes(sql->handle);
}

int sql_begin(struct sql *sql, struct sql_transaction *transaction, struct err *err)
{
    if (sql_exec(sql, "BEGIN IMMEDIATE", err) < 0)
        return -ERR_HOST;
    transaction->sql = sql;
    return 0;
}

int sql_commit(struct sql_transaction *transaction, struct err *err)
{
    if (sql_exec(transaction->sql, "COMMIT", err) < 0)
        return -ERR_HOST;
    transaction->sql = NULL;
    return 0;
}

void sql_rollback(struct sql_transaction *transaction)
{
    if (transaction->sql && !sqlite3_get_autocommit(transaction->sql->handle))
        sqlite3_exec(transaction->sql->handle, "ROLLBACK", NULL, NULL, NULL);
    transaction->sql = NULL;
}
