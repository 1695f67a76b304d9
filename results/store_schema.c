/* results/store_schema.c: fills an empty database: tables, views, their documentation, and the rows that come from the program. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "results/schema_sql.h"
#include "results/statistics.h"
#include "results/store_internal.h"
#include "schemas/names.h"

enum { MEDIAN_RANK_MAXIMUM = 1000 };

static int fill_span_kinds(struct sql *sql, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *row = NULL;
    if (sql_prepare_insert(sql, "span_kind", "kind, name", &row, err) < 0)
        return -ERR_HOST;
    for (int kind = 0; kind < SPAN_COUNT; kind++) {
        sql_start(row);
        sql_put_integer(row, kind);
        sql_put_text(row, span_names[kind]);
        if (sql_run(row, err) < 0)
            return -ERR_HOST;
    }
    return 0;
}

/* The ranks as rows, so that the views need no program for an exact interval. */
static int fill_median_ranks(struct sql *sql, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *row = NULL;
    if (sql_prepare_insert(sql, "median_rank", "value_count, low_rank, coverage_ratio", &row, err) < 0)
        return -ERR_HOST;
    for (size_t count = 1; count <= MEDIAN_RANK_MAXIMUM; count++) {
        size_t low_rank;
        double coverage;
        if (!statistics_median_ranks(count, 0.95, &low_rank, &coverage))
            continue;
        sql_start(row);
        sql_put_integer(row, (int64_t)count);
        sql_put_integer(row, (int64_t)low_rank);
        sql_put_real(row, coverage);
        if (sql_run(row, err) < 0)
            return -ERR_HOST;
    }
    return 0;
}

static int note_version(struct sql *sql, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *row = NULL;
    if (sql_prepare_insert(sql, "schema_migration", "version, applied_unix_ns, sqlite_version", &row, err) < 0)
        return -ERR_HOST;
    sql_start(row);
    sql_put_integer(row, STORE_VERSION);
    sql_put_integer(row, clock_wall_ns());
    sql_put_text(row, sql_version());
    return sql_run(row, err);
}

int store_schema_create(struct sql *sql, struct err *err)
{
    if (sql_exec(sql, schema_sql_tables, err) < 0 || sql_exec(sql, schema_sql_gate, err) < 0 ||
        sql_exec(sql, schema_sql_views, err) < 0 || sql_exec(sql, schema_sql_columns, err) < 0 || fill_span_kinds(sql, err) < 0 ||
        fill_median_ranks(sql, err) < 0)
        return -ERR_HOST;
    return note_version(sql, err);
}

int store_schema_index(struct sql *sql, struct err *err)
{
    return sql_exec(sql, schema_sql_indexes, err);
}
