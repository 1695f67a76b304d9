/* results/metric_list.c: reads the table `metric` out of schemas/results.sql, so that names stand in one place.
 * See metric_list.h. */
#include "results/metric_list.h"

#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "results/schema_sql.h"
#include "results/sqlite_wrap.h"

/* Once for all: the schema is part of the program, and to set a database up for every file with a gate took over a millisecond. */
static struct {
    struct arena *arena; /* lives as long as the program */
    struct metric_row *rows;
    int count;
} known;

static int read_all(struct arena *arena, struct metric_row **out, int *count, struct err *err)
{
    cleanup(sql_cleanup) struct sql *sql = NULL;
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    int64_t all = 0;
    if (sql_open(NULL, true, &sql, err) < 0 || sql_exec(sql, schema_sql_tables, err) < 0 ||
        sql_ask_integer(sql, "SELECT count(*) FROM metric", &all, err) < 0 ||
        sql_prepare(sql, "SELECT name, unit, better FROM metric ORDER BY metric_id", &rows, err) < 0)
        return -ERR_HOST;
    struct metric_row *list = arena_new_array(arena, struct metric_row, (size_t)all);
    int found, filled = 0;
    while ((found = sql_next(rows, err)) > 0 && filled < all)
        list[filled++] = (struct metric_row){.name = arena_strdup(arena, sql_text(rows, 0)),
                                             .unit = arena_strdup(arena, sql_text(rows, 1)),
                                             .lower = strcmp(sql_text(rows, 2), "lower") == 0};
    if (found < 0)
        return -ERR_HOST;
    *out = list;
    *count = filled;
    return 0;
}

int metric_list_read(const struct metric_row **out, int *count, struct err *err)
{
    if (!known.rows) {
        cleanup(arena_cleanup) struct arena *arena = arena_new();
        int status = read_all(arena, &known.rows, &known.count, err);
        if (status < 0)
            return status;
        known.arena = steal_pointer(&arena);
    }
    *out = known.rows;
    *count = known.count;
    return 0;
}
