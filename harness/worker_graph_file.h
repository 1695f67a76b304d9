/* harness/worker_graph_file.h: files with a graph between workers.
 *
 * A line is an edge: the indexes of two workers, from 0, with blanks or a comma between. '#' begins a line to be left out, empty
 * lines do not matter. An edge stands there once, in whichever direction; nobody is a neighbour of itself. Which workers there are
 * is another question, and whether the graph holds together. */
#ifndef LAGGARD_HARNESS_WORKER_GRAPH_FILE_H
#define LAGGARD_HARNESS_WORKER_GRAPH_FILE_H

#include <stddef.h>

#include "schemas/worker_graph.h"

struct arena;
struct err;

enum { WORKER_GRAPH_EDGES_MOST = 65536, WORKER_GRAPH_WORKERS_MOST = 100000, WORKER_GRAPH_FILE_MOST = 4 << 20 };

/* Pure. Edges go into the arena, path is `file` itself. Errors are ERR_USAGE and begin with "file:line:column: ". */
int worker_graph_parse(const char *file, const char *text, size_t length, struct arena *arena, struct worker_graph *graph,
                       struct err *err);
/* Reads a file of at most WORKER_GRAPH_FILE_MOST (input_file.h) and parses it. */
int worker_graph_load(const char *path, struct arena *arena, struct worker_graph *graph, struct err *err);

#endif
