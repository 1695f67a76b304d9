/* fuzz_worker_graph.c: damaged files of worker graphs. Each is refused with a printable sentence at a place, or gives edges that
 * keep every promise of worker_graph_file.h. */
#include "harness/worker_graph_file.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "tests/fuzz/fuzz_sentence.h"

enum { FILE_MAX = 2048 };

static size_t make_edges(struct fuzz *fuzz, char bytes[FILE_MAX])
{
    static const char *const between[] = {" ", ",", "\t", " , "}, *const ends[] = {"\n", "\r\n", " \n", "\n# 1 2\n"};
    size_t length = 0, lines = fuzz_few(fuzz, 40);
    for (size_t i = 0; i < lines; i++)
        length += (size_t)snprintf(bytes + length, FILE_MAX - length, "%zu%s%zu%s", fuzz_below(fuzz, 30),
                                   between[fuzz_below(fuzz, 4)], 30 + i, ends[fuzz_below(fuzz, 4)]);
    return length;
}

static void check_graph(struct fuzz *fuzz, const struct worker_graph *graph)
{
    FUZZ_CHECK(fuzz, graph->count >= 1 && graph->count <= WORKER_GRAPH_EDGES_MOST);
    for (int i = 0; i < graph->count; i++) {
        const struct worker_edge *edge = &graph->edges[i];
        FUZZ_CHECK(fuzz, edge->low >= 0 && edge->low < edge->high && edge->high < WORKER_GRAPH_WORKERS_MOST);
        FUZZ_CHECK(fuzz, i == 0 || edge[-1].low < edge->low || (edge[-1].low == edge->low && edge[-1].high < edge->high));
        FUZZ_CHECK(fuzz, graph->places[i].line >= 1 && graph->places[i].low_column >= 1 && graph->places[i].high_column >= 1);
    }
}

static void fuzz_one(struct fuzz *fuzz)
{
    static char bytes[FILE_MAX];
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    size_t length = make_edges(fuzz, bytes);
    length = fuzz_mutate(fuzz, (uint8_t *)bytes, length, sizeof(bytes));
    struct worker_graph graph = {.count = -7};
    struct err err = {0};
    if (worker_graph_parse("t", bytes, length, arena, &graph, &err) < 0) {
        fuzz_check_sentence(fuzz, &err);
        FUZZ_CHECK(fuzz, graph.count == -7);
        return;
    }
    check_graph(fuzz, &graph);
    fuzz->accepted++;
}

FUZZ_MAIN("worker_graph")
