/* cmd_sql.c: `laggard sql`: canned or free queries of a database, which is only read. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/options.h"
#include "harness/commands.h"
#include "results/database.h"
#include "results/query.h"
#include "results/sqlite_wrap.h"

struct sql_options {
    int format;
    bool print;
};

static const struct option_row sql_rows[] = {
    {.name = "format",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct sql_options, format),
     .choices = query_format_names,
     .value_name = "FORMAT",
     .help = "how to print it (default: table)"},
    {.name = "print",
     .type = OPTION_FLAG,
     .offset = offsetof(struct sql_options, print),
     .help = "print the query of NAME, and run nothing"},
    {0},
};
const struct option_table cmd_sql_table = {
    .command = "sql",
    .usage = "DB [NAME or QUERY] [OPTIONS]",
    .summary = "Asks the database: a canned query by its name, or any SELECT. Without either it lists the names.",
    .rows = sql_rows,
    .positional_minimum = 1,
    .positional_maximum = 2,
};

static int list(void)
{
    for (const struct canned_query *query = canned_queries; query->name; query++)
        printf("%-16s %s\n", query->name, query->summary);
    return 0;
}

/* One word is a name; a query has several. */
static int find(struct sql *sql, const char *asked, const char **text, struct err *err)
{
    enum { NAMES_MAX = 64 };
    char table[80];
    const struct canned_query *canned = canned_query_find(asked);
    const char *names[NAMES_MAX];
    size_t count = 0;
    *text = canned ? canned->sql : asked;
    if (canned || strpbrk(asked, " \t\n("))
        return 0;
    sql_nearest_name(sql, SQL_TABLE_NAMES, asked, table, sizeof(table));
    if (strcmp(table, asked) == 0)
        return err_set(err, ERR_USAGE, "'%s' is no canned query, but a table or view: laggard sql %s \"SELECT * FROM %s\"", asked,
                       sql_path(sql), asked);
    for (const struct canned_query *query = canned_queries; query->name && count < NAMES_MAX; query++)
        names[count++] = query->name;
    const char *near = options_nearest(asked, names, count);
    return err_set(err, ERR_USAGE,
                   "there is no canned query '%.80s'%s%s%s `laggard sql DB` lists them, and a free one has more than one word",
                   asked, near ? ", did you mean '" : ";", near ? near : "", near ? "'?" : "");
}

int cmd_sql(int argc, char **argv, struct err *err)
{
    struct sql_options options = {0};
    cleanup(sql_cleanup) struct sql *sql = NULL;
    const char *text;
    int words;
    int result = options_parse(&cmd_sql_table, argc, argv, &options, &words, err);
    if (result != 0)
        return result < 0 ? result : 0;
    if (words == 1 && (options.print || options.format != QUERY_TABLE))
        return err_set(err, ERR_USAGE, "sql: --%s is about a query, and none is asked: name one, such as cells, or write a SELECT",
                       options.print ? "print" : "format");
    result = database_open(argv[0], &sql, err);
    if (result < 0 || words == 1)
        return result < 0 ? result : list();
    result = find(sql, argv[1], &text, err);
    if (result < 0)
        return result;
    if (options.print) {
        printf("%s\n", text);
        return 0;
    }
    return query_print(sql, text, (enum query_format)options.format, stdout, err);
}
