/* netem/shapes.h: what shapes are made with: a graph that grows place by place and link by link. One file a shape, one row each in
 * shapes.c. */
#ifndef LAGGARD_NETEM_SHAPES_H
#define LAGGARD_NETEM_SHAPES_H

#include "netem/topology.h"

enum { SHAPE_LINKS_MOST = 100000 };

struct shape_link {   /* as asked, direction by direction */
    const char *name; /* first: see topology_find_word() */
    int from, to;
    struct link_settings direction[DIRECTIONS];
    struct topology_fault origin; /* the setting that made it what it is */
};
struct shape {
    const struct settings *settings;
    struct arena *arena;
    int workers, hosts; /* the hosts are there from the start: places 0 to hosts - 1, workers first */
    struct place *places;
    int place_count, place_room;
    struct shape_link *links;
    int link_count, link_room;
    bool fewest_links;
    struct topology_fault *fault; /* never NULL */
};

/* The place of that name, or -1. */
int shape_find_place(const struct shape *shape, const char *name);
/* Returns the place. */
int shape_add_router(struct shape *shape, const char *name);
/* A link like topology.link, changed (NULL: not). `name` NULL: made of the two places' names; a second link of that name gets a
 * number. */
struct shape_link *shape_add_link(struct shape *shape, const char *name, int from, int to, const struct link_change *change);
/* Which of `groups` a host belongs to when they are filled in order and as evenly as can be. */
int shape_group_of(const struct shape *shape, int host, int groups);
void shape_apply_patch(struct link_settings *to, const struct link_patch *patch);
/* ERR_USAGE, with the setting that is at fault ("topology.racks", entry index or -1). */
int shape_fail(struct shape *shape, struct err *err, const char *path, int index, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* The rows. Each adds what its shape has beside the hosts. */
int shape_star(struct shape *shape, struct err *err);
int shape_ring(struct shape *shape, struct err *err);
int shape_mesh(struct shape *shape, struct err *err);
int shape_dumbbell(struct shape *shape, struct err *err);
int shape_tree(struct shape *shape, struct err *err);
int shape_graph(struct shape *shape, struct err *err);
int shape_sites(struct shape *shape, struct err *err);

/* Runs the settings' row, then the overrides. */
int shape_build(struct shape *shape, struct err *err);

#endif
