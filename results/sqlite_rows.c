/* results/sqlite_rows.c: the values that a statement is given, and those of a row that it answers.
 *
 * A parameter that cannot be bound is remembered in the statement and reported by sql_run() or sql_next(): a row is filled by a
 * straight list of calls, with one check at its end. */
#include <math.h>

#include "base/err.h"
#include "results/sqlite_wrap.h"
#include "results/sqlite_wrap_internal.h"

void sql_start(struct sql_statement *statement)
{
    sqlite3_reset(statement->handle);
    statement->filled = 0;
    statement->put_code = SQLITE_OK;
}

static void note(struct sql_statement *statement, int code)
{
    if (statement->put_code == SQLITE_OK)
        statement->put_code = code;
}

void sql_put_integer(struct sql_statement *statement, int64_t value)
{
    note(statement, sqlite3_bind_int64(statement->handle, ++statement->filled, value));
}

void sql_put_unsigned(struct sql_statement *statement, uint64_t value)
{
    sql_put_integer(statement, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

void sql_put_unsigned_or_null(struct sql_statement *statement, uint64_t value, bool defined)
{
    if (defined)
        sql_put_unsigned(statement, value);
    else
        sql_put_null(statement);
}

void sql_put_ns(struct sql_statement *statement, double ns)
{
    if (isfinite(ns) && fabs(ns) < 9.2e18)
        sql_put_integer(statement, llround(ns));
    else
        sql_put_null(statement);
}

void sql_put_real(struct sql_statement *statement, double value)
{
    if (isfinite(value))
        note(statement, sqlite3_bind_double(statement->handle, ++statement->filled, value));
    else
        sql_put_null(statement);
}

void sql_put_text(struct sql_statement *statement, const char *text)
{
    note(statement, sqlite3_bind_text(statement->handle, ++statement->filled, text, -1, SQLITE_STATIC));
}

void sql_put_null(struct sql_statement *statement)
{
    note(statement, sqlite3_bind_null(statement->handle, ++statement->filled));
}

/* A parameter that was forgotten would silently keep its last value: that is a fault of the caller, told like every other. */
static int check_filled(struct sql_statement *statement, struct err *err)
{
    int wanted = sqlite3_bind_parameter_count(statement->handle);
    if (statement->put_code == SQLITE_OK && statement->filled == wanted)
        return 0;
    return err_set(err, ERR_HOST, "cannot use the database '%s': %d of %d values could be given to: %s", statement->sql->path,
                   statement->filled, wanted, sqlite3_sql(statement->handle));
}

int sql_run(struct sql_statement *statement, struct err *err)
{
    if (check_filled(statement, err) < 0)
        return -ERR_HOST;
    int code = sqlite3_step(statement->handle);
    int result = code == SQLITE_DONE || code == SQLITE_ROW ? 0 : sql_fail(statement->sql, "write to", err);
    sqlite3_reset(statement->handle);
    return result;
}

int sql_next(struct sql_statement *statement, struct err *err)
{
    if (check_filled(statement, err) < 0)
        return -ERR_HOST;
    int code = sqlite3_step(statement->handle);
    if (code == SQLITE_ROW)
        return 1;
    int result = 0;
    if (code != SQLITE_DONE)
        result = statement->foreign && sql_blames_query(statement->sql)
                     ? err_set(err, ERR_USAGE, "SQLite gave this query up: %s", sqlite3_errmsg(statement->sql->handle))
                     : sql_fail(statement->sql, "read", err);
    sqlite3_reset(statement->handle);
    return result;
}

static bool is_null(struct sql_statement *statement, int column)
{
    return sqlite3_column_type(statement->handle, column) == SQLITE_NULL;
}

int sql_column_count(struct sql_statement *statement)
{
    return sqlite3_column_count(statement->handle);
}

const char *sql_column_name(struct sql_statement *statement, int column)
{
    const char *name = sqlite3_column_name(statement->handle, column);
    return name ? name : "";
}

enum sql_kind sql_kind(struct sql_statement *statement, int column)
{
    switch (sqlite3_column_type(statement->handle, column)) {
    case SQLITE_INTEGER:
        return SQL_INTEGER;
    case SQLITE_FLOAT:
        return SQL_REAL;
    case SQLITE_NULL:
        return SQL_NULL;
    default:
        return SQL_TEXT;
    }
}

int64_t sql_integer(struct sql_statement *statement, int column)
{
    return sqlite3_column_int64(statement->handle, column);
}

double sql_real(struct sql_statement *statement, int column)
{
    return is_null(statement, column) ? NAN : sqlite3_column_double(statement->handle, column);
}

const char *sql_text(struct sql_statement *statement, int column)
{
    return (const char *)sqlite3_column_text(statement->handle, column);
}

const char *sql_word(struct sql_statement *statement, int column)
{
    const char *text = sql_text(statement, column);
    return text ? text : "";
}
