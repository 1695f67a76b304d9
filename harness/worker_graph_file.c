/* worker_graph_file.c: reads the edges of a graph between workers; see worker_graph_file.h. */
#include "harness/worker_graph_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "base/units.h"
#include "harness/input_file.h"
#include "harness/text_lines.h"
#include "harness/yaml_document.h"

struct row { /* an edge and where it stands: sorted together */
    struct worker_edge edge;
    struct worker_edge_place place;
};

static bool separates(char c)
{
    return c == ',' || text_lines_is_blank(c);
}

/* The next word from *from on, which then lies behind it; an empty one: there is none. */
static int take(const struct text_lines *lines, const char *line, size_t length, size_t *from, struct text_word *word,
                struct err *err)
{
    while (*from < length && text_lines_is_blank(line[*from]))
        ++*from;
    size_t to = *from;
    while (to < length && !separates(line[to]))
        to++;
    int status = text_lines_word(lines, line, *from, to, word, err);
    *from = to;
    return status;
}

static int read_worker(const struct text_lines *lines, const struct text_word *word, int32_t *worker, struct err *err)
{
    int64_t value;
    if (units_parse_integer(word->text, 0, WORKER_GRAPH_WORKERS_MOST - 1, &value, NULL) < 0)
        return text_lines_refuse(lines, word->column, err,
                                 "found '%s', the index of a worker is needed, 0 to %d at most: an edge is two of them, such as "
                                 "'0 1'",
                                 yaml_document_printable(word->text).text, WORKER_GRAPH_WORKERS_MOST - 1);
    *worker = (int32_t)value;
    return 0;
}

static int read_edge(const struct text_lines *lines, const char *line, size_t length, struct row *row, struct err *err)
{
    struct text_word words[2], rest;
    int32_t workers[2] = {0};
    size_t from = 0;
    for (int i = 0; i < 2; i++) {
        int status = take(lines, line, length, &from, &words[i], err);
        if (status == 0)
            status = read_worker(lines, &words[i], &workers[i], err);
        if (status < 0)
            return status;
        while (i == 0 && from < length && text_lines_is_blank(line[from]))
            from++;
        from += i == 0 && from < length && line[from] == ',';
    }
    int status = take(lines, line, length, &from, &rest, err);
    if (status < 0)
        return status;
    if (from < length || rest.text[0])
        return text_lines_refuse(lines, rest.column, err, "found more than two workers: an edge a line");
    if (workers[0] == workers[1])
        return text_lines_refuse(lines, words[1].column, err, "found an edge from worker %d to itself", workers[0]);
    const int low = workers[1] < workers[0];
    *row = (struct row){.edge = {.low = workers[low], .high = workers[!low]},
                        .place = {.line = lines->line, .low_column = words[low].column, .high_column = words[!low].column}};
    return 0;
}

static int compare(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (a->edge.low != b->edge.low)
        return a->edge.low < b->edge.low ? -1 : 1;
    if (a->edge.high != b->edge.high)
        return a->edge.high < b->edge.high ? -1 : 1;
    return a->place.line - b->place.line;
}

/* Of all edges that stand there twice the one whose second line comes first. */
static int refuse_repeated(struct text_lines *lines, const struct row *rows, int count, struct err *err)
{
    const struct row *repeated = NULL;
    for (int i = 1; i < count; i++)
        if (rows[i].edge.low == rows[i - 1].edge.low && rows[i].edge.high == rows[i - 1].edge.high &&
            (!repeated || rows[i].place.line < repeated->place.line))
            repeated = &rows[i];
    if (!repeated)
        return 0;
    const struct worker_edge_place *place = &repeated->place;
    lines->line = place->line;
    return text_lines_refuse(lines, place->low_column < place->high_column ? place->low_column : place->high_column, err,
                             "found the edge between workers %d and %d again, it stands in line %d; one line is both directions",
                             repeated->edge.low, repeated->edge.high, repeated[-1].place.line);
}

static int read_rows(struct text_lines *lines, struct row *rows, int *count, struct err *err)
{
    const char *line;
    size_t length;
    *count = 0;
    while (text_lines_next(lines, &line, &length)) {
        if (text_lines_left_out(line, length))
            continue;
        if (*count == WORKER_GRAPH_EDGES_MOST)
            return text_lines_refuse(lines, 1, err, "found more than %d edges", WORKER_GRAPH_EDGES_MOST);
        int status = read_edge(lines, line, length, &rows[*count], err);
        if (status < 0)
            return status;
        ++*count;
    }
    lines->line += lines->line == 0;
    return *count > 0 ? 0 : text_lines_refuse(lines, 1, err, "found no edge: two workers a line, such as '0 1'");
}

/* As many rows as the text has lines, as far as a graph may have edges. */
static size_t rows_needed(const char *text, size_t length)
{
    size_t count = 1;
    for (size_t i = 0; i < length && count < WORKER_GRAPH_EDGES_MOST; i++)
        count += text[i] == '\n';
    return count;
}

int worker_graph_parse(const char *file, const char *text, size_t length, struct arena *arena, struct worker_graph *graph,
                       struct err *err)
{
    struct text_lines lines = {.file = file, .at = text, .end = text + length};
    cleanup(arena_cleanup) struct arena *scratch = arena_new();
    struct row *rows = arena_new_array(scratch, struct row, rows_needed(text, length));
    int count;
    int status = read_rows(&lines, rows, &count, err);
    if (status < 0)
        return status;
    qsort(rows, (size_t)count, sizeof(*rows), compare);
    status = refuse_repeated(&lines, rows, count, err);
    if (status < 0)
        return status;
    struct worker_edge *edges = arena_new_array(arena, struct worker_edge, (size_t)count);
    struct worker_edge_place *places = arena_new_array(arena, struct worker_edge_place, (size_t)count);
    for (int i = 0; i < count; i++) {
        edges[i] = rows[i].edge;
        places[i] = rows[i].place;
    }
    *graph = (struct worker_graph){.path = file, .edges = edges, .places = places, .count = count};
    return 0;
}

int worker_graph_load(const char *path, struct arena *arena, struct worker_graph *graph, struct err *err)
{
    cleanup(text_free) struct text text = {0};
    int status = input_file_read(path, "worker graph", WORKER_GRAPH_FILE_MOST, &text, err);
    if (status < 0)
        return status;
    return worker_graph_parse(path, text.bytes ? text.bytes : "", text.length, arena, graph, err);
}
