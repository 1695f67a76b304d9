/* worker_graph.h: a graph between workers as a campaign's file says it: who exchanges models with whom. */
#ifndef LAGGARD_SCHEMAS_WORKER_GRAPH_H
#define LAGGARD_SCHEMAS_WORKER_GRAPH_H

#include <stdint.h>

struct worker_edge { /* undirected; the lower worker first */
    int32_t low, high;
};
struct worker_edge_place { /* in the file */
    int line, low_column, high_column;
};
struct worker_graph {
    const char *path, *written;      /* from where laggard runs, and from where the campaign file is */
    const struct worker_edge *edges; /* ascending by low, then high; each once, none a loop */
    const struct worker_edge_place *places;
    int count;
};

#endif
