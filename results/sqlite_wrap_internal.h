/* results/sqlite_wrap_internal.h: between sqlite_wrap.c and sqlite_rows.c, the only files that see sqlite3.h. */
#ifndef LAGGARD_RESULTS_SQLITE_WRAP_INTERNAL_H
#define LAGGARD_RESULTS_SQLITE_WRAP_INTERNAL_H

#include <sqlite3.h>
#include <stdbool.h>

struct err;

struct sql_statement {
    struct sql *sql;
    sqlite3_stmt *handle;
    int filled;   /* parameters put since sql_start() */
    int put_code; /* first failure of a put, SQLITE_OK if none */
    bool foreign; /* somebody else wrote it: what is wrong may be the query, not the file */
    struct sql_statement *next;
};

struct sql {
    sqlite3 *handle;
    struct sql_statement *statements;
    char path[];
};

/* "cannot WHAT the database ...": the reason that SQLite gives, and what to do. Always -ERR_HOST. */
int sql_fail(struct sql *sql, const char *what, struct err *err);
/* Whether what failed last did so for what the statement says, not for the file or the host. */
bool sql_blames_query(const struct sql *sql);

#endif
