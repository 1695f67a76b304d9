/* shape_graph.c: hosts, routers and links as they are written out. A host that no node runs on forwards like a router. */
#include "base/arena.h"
#include "base/units.h"
#include "netem/shapes.h"

#include <string.h>

/* What names stand for: routers and idle hosts by their place, hosts by the node on them. */
static int find(const struct shape *shape, const char *name)
{
    const struct name_list *hosts = &shape->settings->hosts;
    for (int i = 0; i < hosts->count && i < shape->hosts; i++)
        if (strcmp(hosts->names[i], name) == 0)
            return i;
    return shape_find_place(shape, name);
}

static int add_places(struct shape *shape, const char *path, const struct name_list *names, int first, struct err *err)
{
    for (int i = first; i < names->count; i++) {
        if (find(shape, names->names[i]) >= 0)
            return shape_fail(shape, err, path, i, "the name '%s' is taken already", names->names[i]);
        shape_add_router(shape, names->names[i]);
    }
    return 0;
}

static int check_hosts(struct shape *shape, struct err *err)
{
    const struct name_list *hosts = &shape->settings->hosts;
    if (hosts->count > 0 && hosts->count < shape->hosts)
        return shape_fail(shape, err, "topology.hosts", -1, "found %d host%s for %d nodes: each node needs its own", hosts->count,
                          units_plural(hosts->count), shape->hosts);
    for (int i = 0; i < hosts->count; i++) {
        int named = shape_find_place(shape, hosts->names[i]);
        if (named >= 0 && named != i)
            return shape_fail(shape, err, "topology.hosts", i, "'%s' is the name of another node here", hosts->names[i]);
        for (int before = 0; before < i; before++)
            if (strcmp(hosts->names[before], hosts->names[i]) == 0)
                return shape_fail(shape, err, "topology.hosts", i, "the name '%s' is taken already", hosts->names[i]);
    }
    return 0;
}

/* "w0-core", and "w0-core#2" for a second one between the two. */
static const char *link_name(const struct shape *shape, const struct graph_link *asked, int from, int to)
{
    int same = 0;
    for (int i = 0; i < shape->link_count && !asked->name; i++)
        same += shape->links[i].from == from && shape->links[i].to == to;
    if (asked->name || same == 0)
        return asked->name;
    return arena_printf(shape->arena, "%s-%s#%d", shape->places[from].name, shape->places[to].name, same + 1);
}

static int add_link(struct shape *shape, const struct graph_link *asked, int index, struct err *err)
{
    const char *const names[] = {asked->from, asked->to};
    int places[2];
    for (int end = 0; end < 2; end++) {
        places[end] = find(shape, names[end]);
        if (places[end] < 0)
            return shape_fail(shape, err, "topology.links", index, "there is no '%s' among the nodes, hosts and routers, %d in all",
                              names[end], shape->place_count);
    }
    if (places[0] == places[1])
        return shape_fail(shape, err, "topology.links", index, "a link needs two ends, '%s' and '%s' are one", names[0], names[1]);
    const char *name = link_name(shape, asked, places[0], places[1]);
    for (int i = 0; i < shape->link_count && name; i++)
        if (strcmp(shape->links[i].name, name) == 0)
            return shape_fail(shape, err, "topology.links", index, "the name '%s' is taken already", name);
    shape_add_link(shape, name, places[0], places[1], &asked->change)->origin =
        (struct topology_fault){.path = "topology.links", .index = index};
    return 0;
}

int shape_graph(struct shape *shape, struct err *err)
{
    const struct settings *settings = shape->settings;
    int code = check_hosts(shape, err);
    if (code == 0 && settings->hosts.count > 0)
        code = add_places(shape, "topology.hosts", &settings->hosts, shape->hosts, err);
    if (code == 0)
        code = add_places(shape, "topology.routers", &settings->routers, 0, err);
    for (int i = 0; i < settings->links.count && code == 0; i++)
        code = add_link(shape, &settings->links.links[i], i, err);
    return code;
}
