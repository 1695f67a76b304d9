/* results/sqlite_wrap.h: SQLite with this project's errors: connections, prepared statements, rows. sqlite_wrap.c and
 * sqlite_rows.c are the only files that see sqlite3.h.
 *
 * A statement is filled from left to right: sql_start(), then one sql_put_* a parameter in order, then sql_run() (an insert or
 * update) or sql_next() until it returns 0 (a query). Text and blobs that are put must stay until the statement has run. */
#ifndef LAGGARD_RESULTS_SQLITE_WRAP_H
#define LAGGARD_RESULTS_SQLITE_WRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct sql;
struct sql_statement;

/* `path` names the file in messages too; NULL: a database in memory. The file must exist unless `create`. Waits up to ten seconds
 * for other processes' locks; foreign keys are on; functions with side effects in the schema are off. */
int sql_open(const char *path, bool create, struct sql **sql, struct err *err);
/* The same without any right to write; also while another process writes. */
int sql_open_read(const char *path, struct sql **sql, struct err *err);
/* Another file of this connection, to be read and written as NAME.table. */
int sql_attach(struct sql *sql, const char *path, const char *name, struct err *err);
void sql_close(struct sql *sql);    /* finalises what was prepared; NULL allowed */
void sql_cleanup(struct sql **sql); /* for cleanup() */
const char *sql_path(const struct sql *sql);
const char *sql_version(void);
void sql_wait_at_most(struct sql *sql, int milliseconds);
void sql_forget_pages(struct sql *sql); /* gives back the memory of pages that were kept for being read again */

int sql_exec(struct sql *sql, const char *text, struct err *err); /* any number of statements, results ignored */
bool sql_is_locked(const struct sql *sql); /* whether what failed last did so because another program uses the file */
/* The first column of the first row; *value is left alone when there is no row. */
int sql_ask_integer(struct sql *sql, const char *text, int64_t *value, struct err *err);

/* The statement belongs to the connection and lives as long as it. */
int sql_prepare(struct sql *sql, const char *text, struct sql_statement **statement, struct err *err);
/* INSERT INTO table (columns) with one parameter a column; `columns` is a comma-separated list. */
int sql_prepare_insert(struct sql *sql, const char *table, const char *columns, struct sql_statement **statement, struct err *err);
/* The same for `rows` rows at once: the values of one after the other's. */
int sql_prepare_inserts(struct sql *sql, const char *table, const char *columns, int rows, struct sql_statement **statement,
                        struct err *err);
/* A query that somebody else wrote: exactly one statement, which has rows and changes nothing; otherwise ERR_USAGE. */
int sql_prepare_reading(struct sql *sql, const char *text, struct sql_statement **statement, struct err *err);
/* The nearest to a word among the texts that a query has in its first column; "" where none is near, or the query fails. */
#define SQL_TABLE_NAMES "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')"
void sql_nearest_name(struct sql *sql, const char *query, const char *word, char *near, size_t size);
void sql_finish(struct sql_statement *statement); /* before the connection ends; NULL allowed */
void sql_finish_cleanup(struct sql_statement **statement);

void sql_start(struct sql_statement *statement);
void sql_put_integer(struct sql_statement *statement, int64_t value);
void sql_put_unsigned(struct sql_statement *statement, uint64_t value); /* above INT64_MAX: stored as INT64_MAX */
void sql_put_unsigned_or_null(struct sql_statement *statement, uint64_t value, bool defined);
void sql_put_ns(struct sql_statement *statement, double ns);          /* rounded to whole ns; NULL when not finite */
void sql_put_real(struct sql_statement *statement, double value);     /* NULL when not finite */
void sql_put_text(struct sql_statement *statement, const char *text); /* NULL becomes NULL */
void sql_put_null(struct sql_statement *statement);
int sql_run(struct sql_statement *statement, struct err *err);
int64_t sql_last_row_id(const struct sql *sql);
int sql_changes(const struct sql *sql);

int sql_next(struct sql_statement *statement, struct err *err); /* 1: a row; 0: no more; negative: failed */
int64_t sql_integer(struct sql_statement *statement, int column);
double sql_real(struct sql_statement *statement, int column);      /* NAN for NULL */
const char *sql_text(struct sql_statement *statement, int column); /* NULL for NULL; valid until the next sql_next() */
const char *sql_word(struct sql_statement *statement, int column); /* "" for NULL, which only a damaged file has in this column */

enum sql_kind { SQL_NULL, SQL_INTEGER, SQL_REAL, SQL_TEXT }; /* a blob is text */
int sql_column_count(struct sql_statement *statement);
const char *sql_column_name(struct sql_statement *statement, int column);
enum sql_kind sql_kind(struct sql_statement *statement, int column);

/* A transaction is rolled back when its holder leaves the scope without sql_commit(). */
struct sql_transaction {
    struct sql *sql; /* NULL: none open */
};
int sql_begin(struct sql *sql, struct sql_transaction *transaction, struct err *err); /* BEGIN IMMEDIATE */
int sql_commit(struct sql_transaction *transaction, struct err *err);
void sql_rollback(struct sql_transaction *transaction); /* for cleanup() */

#endif
