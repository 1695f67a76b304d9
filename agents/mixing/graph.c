/* agents/mixing/graph.c: neighbours and edges of the graphs between workers; see graph.h. */
#include "agents/mixing/graph.h"

#include <assert.h>
#include <string.h>

const char *const graph_shape_names[] = {
    [GRAPH_RING] = "ring", [GRAPH_TORUS] = "torus", [GRAPH_COMPLETE] = "complete", [GRAPH_FILE] = "file", NULL};
static_assert(sizeof(graph_shape_names) / sizeof(graph_shape_names[0]) == GRAPH_SHAPE_COUNT + 1, "one name a shape");

struct graph graph_make(enum graph_shape shape, int workers, const void *edges, int edge_count)
{
    int rows = 1;
    for (int divisor = 1; shape == GRAPH_TORUS && divisor * divisor <= workers; divisor++)
        if (workers % divisor == 0)
            rows = divisor;
    return (struct graph){
        .shape = shape, .workers = workers, .rows = rows, .columns = workers / rows, .edges = edges, .edge_count = edge_count};
}

struct worker_edge graph_file_edge(const struct graph *graph, int index)
{
    struct worker_edge edge;
    memcpy(&edge, (const char *)graph->edges + (size_t)index * sizeof(edge), sizeof(edge));
    return edge;
}

/* ---- grids: a ring is a torus of one row ---- */

static void add_distinct(int worker, int other, int *neighbours, int *count)
{
    for (int i = 0; i < *count; i++)
        if (neighbours[i] == other)
            return;
    if (other == worker)
        return;
    int at = (*count)++;
    for (; at > 0 && neighbours[at - 1] > other; at--)
        neighbours[at] = neighbours[at - 1];
    neighbours[at] = other;
}

enum { GRID_DEGREE = 4 };

static int grid_neighbours(const struct graph *graph, int worker, int neighbours[GRID_DEGREE])
{
    const int rows = graph->rows, columns = graph->columns, row = worker / columns, column = worker % columns;
    int count = 0;
    add_distinct(worker, row * columns + (column + 1) % columns, neighbours, &count);
    add_distinct(worker, row * columns + (column + columns - 1) % columns, neighbours, &count);
    add_distinct(worker, (row + 1) % rows * columns + column, neighbours, &count);
    add_distinct(worker, (row + rows - 1) % rows * columns + column, neighbours, &count);
    return count;
}

/* ---- files ---- */

int graph_file_edge_number(const struct graph *graph, int low, int high)
{
    int first = 0, end = graph->edge_count;
    while (first < end) {
        const int middle = first + (end - first) / 2;
        const struct worker_edge edge = graph_file_edge(graph, middle);
        if (edge.low == low && edge.high == high)
            return middle;
        if (edge.low < low || (edge.low == low && edge.high < high))
            first = middle + 1;
        else
            end = middle;
    }
    return -1;
}

/* Edges to lower workers come before those to higher ones, both ascending. neighbours NULL: only counted. */
static int file_neighbours(const struct graph *graph, int worker, int *neighbours)
{
    int count = 0;
    for (int i = 0; i < graph->edge_count; i++) {
        const struct worker_edge edge = graph_file_edge(graph, i);
        if (edge.low != worker && edge.high != worker)
            continue;
        if (neighbours)
            neighbours[count] = edge.low == worker ? edge.high : edge.low;
        count++;
    }
    return count;
}

/* ---- all ---- */

bool graph_joins(const struct graph *graph, int worker, int other)
{
    if (worker == other || worker < 0 || other < 0 || worker >= graph->workers || other >= graph->workers)
        return false;
    if (graph->shape == GRAPH_COMPLETE)
        return true;
    if (graph->shape == GRAPH_FILE)
        return graph_file_edge_number(graph, worker < other ? worker : other, worker < other ? other : worker) >= 0;
    int neighbours[GRID_DEGREE], count = grid_neighbours(graph, worker, neighbours);
    for (int i = 0; i < count; i++)
        if (neighbours[i] == other)
            return true;
    return false;
}

int graph_degree(const struct graph *graph, int worker)
{
    int neighbours[GRID_DEGREE];
    if (graph->shape == GRAPH_COMPLETE)
        return graph->workers - 1;
    return graph->shape == GRAPH_FILE ? file_neighbours(graph, worker, NULL) : grid_neighbours(graph, worker, neighbours);
}

int graph_degree_most(const struct graph *graph)
{
    int most = graph_degree(graph, 0); /* the others are alike everywhere */
    for (int worker = 1; graph->shape == GRAPH_FILE && worker < graph->workers; worker++) {
        const int degree = graph_degree(graph, worker);
        most = degree > most ? degree : most;
    }
    return most;
}

int graph_neighbours(const struct graph *graph, int worker, int *neighbours)
{
    if (graph->shape == GRAPH_FILE)
        return file_neighbours(graph, worker, neighbours);
    if (graph->shape == GRAPH_COMPLETE) {
        for (int i = 0; i < graph->workers - 1; i++)
            neighbours[i] = i + (i >= worker);
        return graph->workers - 1;
    }
    int grid[GRID_DEGREE], count = grid_neighbours(graph, worker, grid);
    memcpy(neighbours, grid, (size_t)count * sizeof(*neighbours));
    return count;
}

/* Writes those from `low` to higher workers, if there is a place to write to. */
static int upward(const struct graph *graph, int low, struct worker_edge *edges)
{
    int neighbours[GRID_DEGREE], count = 0;
    const int degree = graph->shape == GRAPH_COMPLETE ? graph->workers - 1 - low : grid_neighbours(graph, low, neighbours);
    for (int i = 0; i < degree; i++) {
        const int high = graph->shape == GRAPH_COMPLETE ? low + 1 + i : neighbours[i];
        if (high > low && edges)
            edges[count] = (struct worker_edge){.low = low, .high = high};
        count += high > low;
    }
    return count;
}

int graph_edge_count(const struct graph *graph)
{
    int count = 0;
    if (graph->shape == GRAPH_FILE)
        return graph->edge_count;
    for (int low = 0; low < graph->workers; low++)
        count += upward(graph, low, NULL);
    return count;
}

void graph_edges(const struct graph *graph, struct worker_edge *edges)
{
    if (graph->shape == GRAPH_FILE) {
        memcpy(edges, graph->edges, (size_t)graph->edge_count * sizeof(*edges));
        return;
    }
    for (int low = 0; low < graph->workers; low++)
        edges += upward(graph, low, edges);
}

/* Groups are joined along the edges: of two, the one with the higher first worker goes into the other. */
int graph_unreached(const struct graph *graph, int *scratch)
{
    int *parent = scratch;
    if (graph->shape != GRAPH_FILE)
        return -1;
    for (int worker = 0; worker < graph->workers; worker++)
        parent[worker] = worker;
    for (int i = 0; i < graph->edge_count; i++) {
        const struct worker_edge edge = graph_file_edge(graph, i);
        int a = edge.low, b = edge.high;
        while (parent[a] != a)
            a = parent[a] = parent[parent[a]];
        while (parent[b] != b)
            b = parent[b] = parent[parent[b]];
        parent[a > b ? a : b] = a > b ? b : a;
    }
    for (int worker = 0; worker < graph->workers; worker++) {
        int group = worker;
        while (parent[group] != group)
            group = parent[group];
        if (group != 0)
            return worker;
    }
    return -1;
}
