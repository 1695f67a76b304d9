/* results/store_copy.c: what copying one database into another needs, for merging and for migrating. */
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "results/store_internal.h"

/* Filled when a database is made, the same in every file of a version. */
static const char *const fixed[] = {"schema_migration", "metric",     "median_rank", "allreduce_scheme",
                                    "span_kind",        "column_doc", NULL};

int store_attach_source(struct store *store, const char *path, struct err *err)
{
    return sql_attach(store->sql, path, "source", err);
}

static bool is_fixed(const char *table)
{
    for (int i = 0; fixed[i]; i++)
        if (strcmp(fixed[i], table) == 0)
            return true;
    return false;
}

int store_copy_tables(struct sql *sql, store_copy_table *copy_table, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *tables = NULL;
    if (sql_prepare(sql,
                    "SELECT m.name FROM main.sqlite_schema m JOIN source.sqlite_schema s USING (name) WHERE m.type = 'table' AND "
                    "m.name NOT LIKE 'sqlite%' ORDER BY m.rowid",
                    &tables, err) < 0)
        return -ERR_HOST;
    int found, result = 0;
    while (result == 0 && (found = sql_next(tables, err)) > 0)
        result = is_fixed(sql_text(tables, 0)) ? 0 : copy_table(sql, sql_text(tables, 0), err);
    return result < 0 ? result : found;
}

int store_common_columns(struct sql *sql, const char *table, struct sql_statement **columns, struct err *err)
{
    if (sql_prepare(
            sql,
            "SELECT m.name FROM pragma_table_info(?1, 'main') m JOIN pragma_table_info(?1, 'source') s USING (name) ORDER BY m.cid",
            columns, err) < 0)
        return -ERR_HOST;
    sql_start(*columns);
    sql_put_text(*columns, table);
    return 0;
}
