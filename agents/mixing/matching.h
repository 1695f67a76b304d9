/* agents/mixing/matching.h: the edges of a graph between workers parted into matchings: sets of edges of which no two share a
 * worker, so that each worker has one neighbour in a matching at most. An edge colouring, in other words.
 *
 *     ring       even: 2, edge (i, i+1) in i mod 2; odd: the edge that closes it in a third one
 *     torus      those of its rows' rings, then those of its columns' rings
 *     complete   n even: n-1, n odd: n (the circle method): edge (a, b) in a + b mod n-1 or n; with an even n the last worker's
 *                edge to a in 2a
 *     file       by the algorithm of Misra and Gries: at most one more than the largest degree
 *
 * Those of rings and complete graphs are as few as can be. Source: J. Misra, D. Gries, "A constructive proof of Vizing's theorem",
 * Information Processing Letters 41 (1992). */
#ifndef LAGGARD_AGENTS_MIXING_MATCHING_H
#define LAGGARD_AGENTS_MIXING_MATCHING_H

#include "agents/mixing/graph.h"

struct arena;

struct matchings {
    struct graph graph;
    int count;
    /* file: of each edge. May lie at any address. NULL: the others, which have formulas */
    const void *of_file_edge; /* int32_t */
};
/* What is computed goes into the arena. */
struct matchings matchings_of(const struct graph *graph, struct arena *arena);
/* From what another made. */
struct matchings matchings_known(const struct graph *graph, int count, const void *of_file_edge);
/* Of the edge between two neighbours. */
int matching_of(const struct matchings *matchings, int worker, int neighbour);

#endif
