/* shapes.c: the table of shapes, what they are built with, and the overrides that come last. */
#include "netem/shapes.h"

#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"

static int (*const rows[])(struct shape *shape, struct err *err) = {
    [SHAPE_STAR] = shape_star, [SHAPE_RING] = shape_ring,   [SHAPE_MESH] = shape_mesh,   [SHAPE_DUMBBELL] = shape_dumbbell,
    [SHAPE_TREE] = shape_tree, [SHAPE_GRAPH] = shape_graph, [SHAPE_SITES] = shape_sites,
};
static_assert(sizeof(rows) / sizeof(rows[0]) == SHAPE_COUNT, "one row a shape");

int shape_fail(struct shape *shape, struct err *err, const char *path, int index, const char *format, ...)
{
    char sentence[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    *shape->fault = (struct topology_fault){.path = path, .index = index};
    return err_set(err, ERR_USAGE, "%s", sentence);
}

int shape_find_place(const struct shape *shape, const char *name)
{
    return topology_find_word(shape->places, sizeof(struct place), shape->place_count, 0, name);
}

int shape_add_router(struct shape *shape, const char *name)
{
    if (shape->place_count == shape->place_room) {
        int room = 2 * shape->place_room + 8;
        struct place *places = arena_new_array(shape->arena, struct place, (size_t)room);
        memcpy(places, shape->places, (size_t)shape->place_count * sizeof(*places));
        shape->places = places;
        shape->place_room = room;
    }
    shape->places[shape->place_count] = (struct place){.name = name, .kind = PLACE_ROUTER};
    return shape->place_count++;
}

void shape_apply_patch(struct link_settings *to, const struct link_patch *patch)
{
    const unsigned char *values = (const unsigned char *)&patch->values;
    for (size_t i = 0; i < sizeof(*to); i++)
        if (patch->replaces[i])
            ((unsigned char *)to)[i] = values[i];
    /* A queue is counted in bytes or in packets: who sets the one takes the other out. */
    bool bytes = patch->replaces[offsetof(struct link_settings, queue_bytes)];
    bool packets = patch->replaces[offsetof(struct link_settings, queue_packets)] && to->queue_packets > 0;
    if (bytes && !packets)
        to->queue_packets = 0;
    if (packets && !bytes)
        to->queue_bytes = 0;
}

/* `back`: which direction is the change's way back. */
static void apply_change(struct shape_link *link, const struct link_change *change, int back)
{
    for (int d = 0; d < DIRECTIONS; d++)
        shape_apply_patch(&link->direction[d], &change->both);
    shape_apply_patch(&link->direction[back], &change->back);
}

struct shape_link *shape_add_link(struct shape *shape, const char *name, int from, int to, const struct link_change *change)
{
    if (shape->link_count == shape->link_room) {
        int room = 2 * shape->link_room + 16;
        struct shape_link *links = arena_new_array(shape->arena, struct shape_link, (size_t)room);
        if (shape->link_count > 0)
            memcpy(links, shape->links, (size_t)shape->link_count * sizeof(*links));
        shape->links = links;
        shape->link_room = room;
    }
    struct shape_link *link = &shape->links[shape->link_count++];
    if (!name)
        name = arena_printf(shape->arena, "%s-%s", shape->places[from].name, shape->places[to].name);
    *link = (struct shape_link){.name = name,
                                .from = from,
                                .to = to,
                                .direction = {shape->settings->link, shape->settings->link},
                                .origin = {.path = "topology.link", .index = -1}};
    if (shape->settings->back)
        shape_apply_patch(&link->direction[DIRECTION_BACKWARD], shape->settings->back);
    if (change)
        apply_change(link, change, DIRECTION_BACKWARD);
    return link;
}

int shape_group_of(const struct shape *shape, int host, int groups)
{
    int each = shape->hosts / groups, larger = shape->hosts % groups; /* the first ones hold one more */
    return host < larger * (each + 1) ? host / (each + 1) : larger + (host - larger * (each + 1)) / each;
}

/* ---- overrides ---- */

static int override_link(struct shape *shape, const struct link_override *override, int position, struct err *err)
{
    int found = topology_find_word(shape->links, sizeof(struct shape_link), shape->link_count, shape->link_count, override->link);
    if (found < 0)
        return shape_fail(shape, err, "topology.overrides", position,
                          "there is no link '%.80s': the first one is '%s', and indexes go from 0 to %d", override->link,
                          shape->link_count ? shape->links[0].name : "none", shape->link_count - 1);
    apply_change(&shape->links[found], &override->change, DIRECTION_BACKWARD);
    shape->links[found].origin = (struct topology_fault){.path = "topology.overrides", .index = position};
    return 0;
}

static int override_node(struct shape *shape, const struct link_override *override, int position, struct err *err)
{
    const struct topology known = {.places = shape->places, .place_count = shape->place_count, .host_count = shape->hosts};
    int found = topology_find_place(&known, &shape->settings->hosts, override->node);
    if (found < 0)
        return shape_fail(shape, err, "topology.overrides", position,
                          "there is no node '%.80s': here the nodes are %s to %s, indexes 0 to %d", override->node,
                          shape->places[0].name, shape->places[shape->hosts - 1].name, shape->hosts - 1);
    for (int i = 0; i < shape->link_count; i++) {
        struct shape_link *link = &shape->links[i];
        if (link->from != found && link->to != found)
            continue;
        apply_change(link, &override->change, link->from == found ? DIRECTION_BACKWARD : DIRECTION_FORWARD);
        link->origin = (struct topology_fault){.path = "topology.overrides", .index = position};
    }
    return 0;
}

int shape_build(struct shape *shape, struct err *err)
{
    const struct settings *settings = shape->settings;
    if ((unsigned)settings->shape >= SHAPE_COUNT)
        return shape_fail(shape, err, "topology.shape", -1, "there is no topology shape number %d", (int)settings->shape);
    int code = rows[settings->shape](shape, err);
    for (int i = 0; i < settings->override_count && code == 0; i++) {
        const struct link_override *override = &settings->overrides[i];
        code = override->link ? override_link(shape, override, i, err) : override_node(shape, override, i, err);
    }
    return code;
}
