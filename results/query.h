/* results/query.h: any reading query of a database, printed: for people as a table, for programs as CSV or JSON Lines; and the
 * canned ones by name. */
#ifndef LAGGARD_RESULTS_QUERY_H
#define LAGGARD_RESULTS_QUERY_H

#include <stdio.h>

struct err;
struct sql;

enum query_format { QUERY_TABLE, QUERY_CSV, QUERY_JSONL, QUERY_FORMAT_COUNT };
extern const char *const query_format_names[QUERY_FORMAT_COUNT + 1];

struct canned_query {
    const char *name, *summary, *sql;
};
extern const struct canned_query canned_queries[]; /* ends with a row without a name */
const struct canned_query *canned_query_find(const char *name);

/* Runs one statement and writes its rows as they come (a table: in the end). ERR_USAGE: it is no reading query, or more than one,
 * or SQLite does not understand it. What the stream cannot take is the stream's error. */
int query_print(struct sql *sql, const char *text, enum query_format format, FILE *stream, struct err *err);

#endif
