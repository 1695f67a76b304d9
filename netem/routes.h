/* netem/routes.h: shortest paths through a topology, computed once. Predictions walk them and namespaces are given them, so that
 * both mean the same.
 *
 * Theory of operation. The shorter of two ways is the one with the smaller sum of one-way delays, then the one over fewer links; in
 * a topology with `fewest_links` the other way round. Each direction counts for itself: the way back may be another. A link
 * direction is named by its sending end, 2 * link + direction.
 *
 * Most places hang on one link. Such a leaf sends everything to its neighbour, so that tables are kept only for the core, the
 * places with more links: nothing for a star but its router, nothing for a tree but its routers. */
#ifndef LAGGARD_NETEM_ROUTES_H
#define LAGGARD_NETEM_ROUTES_H

#include <stdbool.h>
#include <stdint.h>

#include "schemas/topology.h"

struct arena;

/* Of the topology's places and links as they stand; lives in the arena. */
const struct routes *routes_compute(const struct topology *topology, struct arena *arena);

/* The way between two places, link by link: the first of the shortest ones, by number of link. */
struct route {
    const struct topology *topology; /* with its routes */
    int at, to;                      /* places */
};
static inline struct route topology_route(const struct topology *topology, int from, int to)
{
    return (struct route){.topology = topology, .at = from, .to = to};
}
/* The next sending end, or -1: arrived, or (at != to) there is no way. */
int route_next(struct route *route);

/* All ends of `from` that begin a shortest way to `to`, in ascending order; how many are written, at most `most`. Between them
 * flows are shared. */
int routes_first_ends(const struct topology *topology, int from, int to, int *ends, int most);

int routes_degree(const struct topology *topology, int place); /* how many ends it has */
/* The place towards which packets for `to` go: a leaf's neighbour, or `to` itself. Places with one anchor share their routes. */
int routes_anchor(const struct topology *topology, int to);
bool routes_transit(const struct topology *topology, int place); /* whether other places' packets pass through it */

/* What no route between two hosts exceeds, in delay and (maybe on another one) in links; a bound, which a star of unequal links
 * does not reach. False: some two hosts have no route. */
struct routes_longest {
    int64_t delay_ns;
    int links;
};
bool routes_longest(const struct topology *topology, struct routes_longest *longest);

#endif
