/* agents/mixing/graph.h: the graph between workers of a decentralised scheme: who exchanges models with whom. Undirected, without
 * loops; nodes are workers 0 .. n-1.
 *
 *     ring       worker i with i-1 and i+1 (mod n)
 *     torus      a grid of rows x columns, worker r*columns + c, closed to rings in both directions; rows is the largest divisor
 *                of n that is not above its square root: 12 workers are 3 x 4, a prime number of them is one row, a ring
 *     complete   everyone with everyone
 *     file       the edges of the campaign's worker_graph
 *
 * Two workers of which each is the other's neighbour on both sides (rings of two) share one edge. */
#ifndef LAGGARD_AGENTS_MIXING_GRAPH_H
#define LAGGARD_AGENTS_MIXING_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "agents/scheme.h"

enum graph_shape { GRAPH_RING, GRAPH_TORUS, GRAPH_COMPLETE, GRAPH_FILE, GRAPH_SHAPE_COUNT };
extern const char *const graph_shape_names[GRAPH_SHAPE_COUNT + 1];

/* The parameter by which a scheme's user chooses; its value is an enum graph_shape. */
#define GRAPH_PARAM                                                                                                                \
    {                                                                                                                              \
        .name = "graph", .unit = PARAM_CHOICE, .minimum = 0, .maximum = GRAPH_SHAPE_COUNT - 1, .standard = GRAPH_RING,             \
        .choices = graph_shape_names,                                                                                              \
        .help =                                                                                                                    \
            "who exchanges with whom: a ring, a torus (as near to a square as the number of workers allows, of a prime number "    \
            "a ring), everyone with everyone, or the edges of the file that the field worker_graph names"                          \
    }

struct graph {
    enum graph_shape shape;
    int workers, rows, columns; /* torus; others: 1 row */
    /* file: ascending by low, then high. May lie at any address. */
    const void *edges;
    int edge_count;
};

/* Of a file's edges, which stay where they are; NULL and 0 for the others. */
struct graph graph_make(enum graph_shape shape, int workers, const void *edges, int edge_count);
struct worker_edge graph_file_edge(const struct graph *graph, int index);
int graph_file_edge_number(const struct graph *graph, int low, int high); /* -1: there is none */
bool graph_joins(const struct graph *graph, int worker, int other);
int graph_degree(const struct graph *graph, int worker);
int graph_degree_most(const struct graph *graph);
/* Writes the neighbours, ascending, and returns how many; graph_degree() of them are needed. */
int graph_neighbours(const struct graph *graph, int worker, int *neighbours);
int graph_edge_count(const struct graph *graph);
/* All edges, ascending. graph_edge_count() of them are needed. */
void graph_edges(const struct graph *graph, struct worker_edge *edges);
/* The first worker that no way leads to from worker 0; -1: every one is reached. `scratch`: workers of them. */
int graph_unreached(const struct graph *graph, int *scratch);

#endif
