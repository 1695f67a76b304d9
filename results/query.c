/* results/query.c: rows of any query, in three forms; see query.h. CSV is RFC 4180's, with \n between lines: fields with commas,
 * quotes or line breaks are quoted, NULL is an empty field and an empty text is "". JSON Lines: an object a line; numbers that a
 * reader of JSON would round (beyond 2^53) are texts. */
#include "results/query.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "results/sqlite_wrap.h"

const char *const query_format_names[QUERY_FORMAT_COUNT + 1] = {
    [QUERY_TABLE] = "table", [QUERY_CSV] = "csv", [QUERY_JSONL] = "jsonl"};

/* ---- CSV ---- */

static void add_csv_text(const char *text, struct text *out)
{
    cleanup(text_free) struct text utf8 = {0};
    text_add_utf8(&utf8, text, strlen(text));
    if (utf8.length > 0 && !strpbrk(utf8.bytes, ",\"\r\n")) {
        text_add(out, utf8.bytes);
        return;
    }
    text_add(out, "\"");
    for (const char *c = utf8.bytes ? utf8.bytes : ""; *c; c++)
        text_add_bytes(out, *c == '"' ? "\"\"" : c, *c == '"' ? 2 : 1);
    text_add(out, "\"");
}

/* Seventeen digits bring a double back; the shortest that do are shown. */
static void add_real(double value, struct text *out)
{
    struct json json = {.out = out};
    json_double(&json, NULL, value);
}

static void add_csv_row(struct sql_statement *rows, int columns, struct text *out)
{
    for (int c = 0; c < columns; c++) {
        text_add(out, c ? "," : "");
        switch (sql_kind(rows, c)) {
        case SQL_NULL:
            break;
        case SQL_INTEGER:
            text_printf(out, "%" PRId64, sql_integer(rows, c));
            break;
        case SQL_REAL:
            if (isfinite(sql_real(rows, c)))
                add_real(sql_real(rows, c), out);
            break;
        case SQL_TEXT:
            add_csv_text(sql_text(rows, c), out);
            break;
        }
    }
    text_add(out, "\n");
}

/* ---- JSON Lines ---- */

static void add_json_row(struct sql_statement *rows, int columns, struct text *out)
{
    const int64_t exact = INT64_C(1) << 53;
    struct json json = {.out = out};
    json_begin_object(&json, NULL);
    for (int c = 0; c < columns; c++) {
        const char *name = sql_column_name(rows, c);
        char spelled[24];
        switch (sql_kind(rows, c)) {
        case SQL_NULL:
            json_null(&json, name);
            break;
        case SQL_INTEGER:
            if (llabs(sql_integer(rows, c)) <= exact) {
                json_integer(&json, name, sql_integer(rows, c));
            } else {
                snprintf(spelled, sizeof(spelled), "%" PRId64, sql_integer(rows, c));
                json_string(&json, name, spelled);
            }
            break;
        case SQL_REAL:
            json_double(&json, name, sql_real(rows, c));
            break;
        case SQL_TEXT:
            json_string(&json, name, sql_text(rows, c));
            break;
        }
    }
    json_end_object(&json);
    text_add(out, "\n");
}

/* ---- the table ---- */

struct grid {
    struct arena *arena;
    const char **cells; /* row after row */
    bool *right;        /* numbers stand flush right */
    size_t *widths;
    int columns;
    size_t count, capacity; /* of cells */
};

static void grid_add(struct grid *grid, int column, const char *cell)
{
    if (grid->count == grid->capacity) {
        size_t capacity = grid->capacity ? 2 * grid->capacity : 256;
        const char **cells = arena_new_array(grid->arena, const char *, capacity);
        if (grid->count > 0)
            memcpy(cells, grid->cells, grid->count * sizeof(*cells));
        grid->cells = cells;
        grid->capacity = capacity;
    }
    size_t width = text_width(cell);
    grid->widths[column] = width > grid->widths[column] ? width : grid->widths[column];
    grid->cells[grid->count++] = cell;
}

/* A terminal obeys no name from a database. */
static const char *plain(struct arena *arena, const char *text)
{
    cleanup(text_free) struct text out = {0};
    text_add_line(&out, text, ' ');
    return arena_strdup(arena, out.bytes ? out.bytes : "");
}

static void grid_row(struct grid *grid, struct sql_statement *rows)
{
    for (int c = 0; c < grid->columns; c++) {
        enum sql_kind kind = sql_kind(rows, c);
        cleanup(text_free) struct text value = {0};
        grid->right[c] = grid->right[c] || kind == SQL_INTEGER || kind == SQL_REAL;
        if (kind == SQL_REAL)
            text_printf(&value, "%.6g", sql_real(rows, c));
        else if (kind == SQL_INTEGER)
            text_printf(&value, "%" PRId64, sql_integer(rows, c));
        grid_add(grid, c,
                 kind == SQL_TEXT ? plain(grid->arena, sql_text(rows, c))
                                  : arena_strdup(grid->arena, value.bytes ? value.bytes : ""));
    }
}

static void grid_print(const struct grid *grid, FILE *stream)
{
    for (size_t i = 0; i < grid->count; i++) {
        int c = (int)(i % (size_t)grid->columns);
        int padding = (int)(grid->widths[c] - text_width(grid->cells[i]));
        bool last = c == grid->columns - 1;
        if (grid->right[c])
            fprintf(stream, "%*s%s%s", padding, "", grid->cells[i], last ? "\n" : "  ");
        else if (last)
            fprintf(stream, "%s\n", grid->cells[i]);
        else
            fprintf(stream, "%s%*s", grid->cells[i], padding + 2, "");
    }
}

static int print_table(struct sql_statement *rows, int columns, FILE *stream, struct err *err)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct grid grid = {.arena = arena,
                        .right = arena_new_array(arena, bool, (size_t)columns),
                        .widths = arena_new_array(arena, size_t, (size_t)columns),
                        .columns = columns};
    for (int c = 0; c < columns; c++)
        grid_add(&grid, c, plain(arena, sql_column_name(rows, c)));
    int found;
    while ((found = sql_next(rows, err)) > 0)
        grid_row(&grid, rows);
    if (found == 0)
        grid_print(&grid, stream);
    return found;
}

static int print_lines(struct sql_statement *rows, int columns, enum query_format format, FILE *stream, struct err *err)
{
    cleanup(text_free) struct text head = {0};
    for (int c = 0; format == QUERY_CSV && c < columns; c++) {
        text_add(&head, c ? "," : "");
        add_csv_text(sql_column_name(rows, c), &head);
    }
    if (format == QUERY_CSV)
        fprintf(stream, "%s\n", head.bytes);
    int found = 0;
    while (!ferror(stream) && (found = sql_next(rows, err)) > 0) {
        cleanup(text_free) struct text line = {0};
        if (format == QUERY_CSV)
            add_csv_row(rows, columns, &line);
        else
            add_json_row(rows, columns, &line);
        fwrite(line.bytes, 1, line.length, stream);
    }
    return ferror(stream) ? 0 : found;
}

int query_print(struct sql *sql, const char *text, enum query_format format, FILE *stream, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    int result = sql_prepare_reading(sql, text, &rows, err);
    if (result < 0)
        return result;
    int columns = sql_column_count(rows);
    return format == QUERY_TABLE ? print_table(rows, columns, stream, err) : print_lines(rows, columns, format, stream, err);
}
