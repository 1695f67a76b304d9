/* netem/routes.c: Dijkstra's algorithm from each place of the core, backwards, so that one run gives every place's way to one
 * target. */
#include "netem/routes.h"

#include "base/arena.h"

struct cost {
    int64_t first, second; /* delay and links, or links and delay */
};
static const struct cost UNREACHED = {INT64_MAX, INT64_MAX};

struct routes {
    int *degree;     /* one a place */
    int *leaf_end;   /* one a place: the only end of a leaf, or -1 */
    int *core_index; /* one a place: -1 for leaves */
    bool *transit;   /* one a place */
    int core_count;
    int *core;         /* places */
    int *first_end;    /* one a core place and one more: where its ends begin in `ends` */
    int *ends;         /* sending ends that lead from core to core, in ascending order at each place */
    struct cost *cost; /* [target * core_count + source] */
    int *next;         /* likewise: the first end of the way, -1: none */
};

static int end_place(const struct topology *topology, int end)
{
    const struct link *link = &topology->links[end / 2];
    return end % 2 == DIRECTION_FORWARD ? link->from : link->to;
}

static int far_place(const struct topology *topology, int end)
{
    return end_place(topology, end ^ 1);
}

static int compare(struct cost a, struct cost b)
{
    if (a.first != b.first)
        return a.first < b.first ? -1 : 1;
    return a.second < b.second ? -1 : a.second > b.second;
}

static struct cost add_link(const struct topology *topology, struct cost cost, int end)
{
    int64_t delay_ns = topology->links[end / 2].direction[end % 2].delay_ns;
    if (topology->fewest_links)
        return (struct cost){cost.first + 1, cost.second + delay_ns};
    return (struct cost){cost.first + delay_ns, cost.second + 1};
}

/* ---- a heap of core places, the nearest first; a place may be in it several times, and the later ones are passed over ---- */
struct waiting {
    struct cost cost;
    int index;
};
struct heap {
    struct waiting *entries;
    int count;
};

static void heap_push(struct heap *heap, struct waiting added)
{
    int at = heap->count++;
    for (int above; at > 0 && compare(added.cost, heap->entries[above = (at - 1) / 2].cost) < 0; at = above)
        heap->entries[at] = heap->entries[above];
    heap->entries[at] = added;
}

static struct waiting heap_pop(struct heap *heap)
{
    struct waiting top = heap->entries[0], moved = heap->entries[--heap->count];
    int at = 0;
    for (int below; (below = 2 * at + 1) < heap->count; at = below) {
        if (below + 1 < heap->count && compare(heap->entries[below + 1].cost, heap->entries[below].cost) < 0)
            below++;
        if (compare(moved.cost, heap->entries[below].cost) <= 0)
            break;
        heap->entries[at] = heap->entries[below];
    }
    heap->entries[at] = moved;
    return top;
}

/* ---- the core and its links ---- */
static void find_core(const struct topology *topology, struct routes *routes, struct arena *arena)
{
    size_t places = (size_t)topology->place_count;
    routes->degree = arena_new_array(arena, int, places);
    routes->leaf_end = arena_new_array(arena, int, places);
    routes->core_index = arena_new_array(arena, int, places);
    routes->transit = arena_new_array(arena, bool, places);
    routes->core = arena_new_array(arena, int, places);
    for (int end = 0; end < 2 * topology->link_count; end++)
        routes->degree[end_place(topology, end)]++;
    for (int place = 0; place < topology->place_count; place++)
        routes->leaf_end[place] = -1;
    for (int end = 0; end < 2 * topology->link_count; end++) {
        int here = end_place(topology, end), there = far_place(topology, end);
        if (routes->degree[here] == 1 && routes->leaf_end[there] < 0) /* two leaves on one link: the second one counts as core */
            routes->leaf_end[here] = end;
    }
    for (int place = 0; place < topology->place_count; place++) {
        routes->core_index[place] = routes->leaf_end[place] < 0 ? routes->core_count : -1;
        if (routes->leaf_end[place] < 0)
            routes->core[routes->core_count++] = place;
    }
}

static void list_core_ends(const struct topology *topology, struct routes *routes, struct arena *arena)
{
    int count = 0;
    routes->first_end = arena_new_array(arena, int, (size_t)routes->core_count + 1);
    for (int pass = 0; pass < 2; pass++) { /* first how many each place has, then which */
        for (int end = 0; end < 2 * topology->link_count; end++) {
            int from = routes->core_index[end_place(topology, end)], to = routes->core_index[far_place(topology, end)];
            if (from < 0 || to < 0)
                continue;
            if (pass == 0)
                routes->first_end[from + 1]++, count++;
            else
                routes->ends[routes->first_end[from]++] = end;
        }
        if (pass == 0) {
            routes->ends = arena_new_array(arena, int, (size_t)count + 1);
            for (int i = 0; i < routes->core_count; i++)
                routes->first_end[i + 1] += routes->first_end[i];
        }
    }
    for (int i = routes->core_count; i > 0; i--) /* the second pass has moved each start to the next one's */
        routes->first_end[i] = routes->first_end[i - 1];
    routes->first_end[0] = 0;
}

static bool is_first_end(const struct topology *topology, const struct routes *routes, const struct cost *cost, int source, int end)
{
    struct cost beyond = cost[routes->core_index[far_place(topology, end)]];
    return beyond.first != INT64_MAX && compare(add_link(topology, beyond, end), cost[source]) == 0;
}

/* Every core place's cost to one target, then from where its ways begin. */
static void compute_target(const struct topology *topology, struct routes *routes, struct heap *heap, int target)
{
    struct cost *cost = &routes->cost[(size_t)target * (size_t)routes->core_count];
    int *next = &routes->next[(size_t)target * (size_t)routes->core_count];
    for (int i = 0; i < routes->core_count; i++) {
        cost[i] = UNREACHED;
        next[i] = -1;
    }
    cost[target] = (struct cost){0, 0};
    heap_push(heap, (struct waiting){cost[target], target});
    while (heap->count > 0) {
        struct waiting nearest = heap_pop(heap);
        if (compare(nearest.cost, cost[nearest.index]) > 0)
            continue;
        for (int i = routes->first_end[nearest.index]; i < routes->first_end[nearest.index + 1]; i++) {
            int end = routes->ends[i] ^ 1, source = routes->core_index[end_place(topology, end)]; /* the opposite direction */
            struct cost through = add_link(topology, nearest.cost, end);
            if (compare(through, cost[source]) >= 0)
                continue;
            cost[source] = through;
            heap_push(heap, (struct waiting){through, source});
        }
    }
    for (int source = 0; source < routes->core_count; source++)
        for (int i = routes->first_end[source]; source != target && i < routes->first_end[source + 1]; i++) {
            int end = routes->ends[i], far = far_place(topology, end);
            if (!is_first_end(topology, routes, cost, source, end))
                continue;
            if (next[source] < 0)
                next[source] = end;
            if (far != routes->core[target])
                routes->transit[far] = true;
        }
}

const struct routes *routes_compute(const struct topology *topology, struct arena *arena)
{
    struct routes *routes = arena_new_array(arena, struct routes, 1);
    find_core(topology, routes, arena);
    list_core_ends(topology, routes, arena);
    size_t core = (size_t)routes->core_count;
    routes->cost = arena_new_array(arena, struct cost, core * core);
    routes->next = arena_new_array(arena, int, core *core);
    struct heap heap = {.entries = arena_new_array(arena, struct waiting, (size_t)routes->first_end[core] + core + 1)};
    for (int target = 0; target < routes->core_count; target++)
        compute_target(topology, routes, &heap, target);
    for (int place = 0; place < topology->place_count; place++)
        if (routes->leaf_end[place] >= 0 && routes->degree[far_place(topology, routes->leaf_end[place])] > 1)
            routes->transit[far_place(topology, routes->leaf_end[place])] = true;
    return routes;
}

int routes_degree(const struct topology *topology, int place)
{
    return topology->routes->degree[place];
}

int routes_anchor(const struct topology *topology, int to)
{
    int end = topology->routes->leaf_end[to];
    return end < 0 ? to : far_place(topology, end);
}

bool routes_transit(const struct topology *topology, int place)
{
    return topology->routes->transit[place];
}

int route_next(struct route *route)
{
    const struct topology *topology = route->topology;
    const struct routes *routes = topology->routes;
    if (route->at == route->to)
        return -1;
    int end = routes->leaf_end[route->at], anchor = routes_anchor(topology, route->to);
    if (end < 0 && route->at == anchor)
        end = routes->leaf_end[route->to] ^ 1;
    else if (end < 0)
        end = routes->next[(size_t)routes->core_index[anchor] * (size_t)routes->core_count + (size_t)routes->core_index[route->at]];
    if (end >= 0)
        route->at = far_place(topology, end);
    return end;
}

int routes_first_ends(const struct topology *topology, int from, int to, int *ends, int most)
{
    const struct routes *routes = topology->routes;
    int anchor = routes_anchor(topology, to), start = routes_anchor(topology, from), count = 0;
    const struct cost *cost = &routes->cost[(size_t)routes->core_index[anchor] * (size_t)routes->core_count];
    int source = routes->core_index[start];
    if (from == to || most < 1 || cost[source].first == INT64_MAX)
        return 0;
    if (from != start || from == anchor) { /* one way begins at a leaf, one leads to each leaf */
        struct route route = topology_route(topology, from, to);
        ends[count++] = route_next(&route);
        return count;
    }
    for (int i = routes->first_end[source]; i < routes->first_end[source + 1] && count < most; i++)
        if (is_first_end(topology, routes, cost, source, routes->ends[i]))
            ends[count++] = routes->ends[i];
    return count;
}

/* What hosts hang on each core place, itself included: the longest way up from one and down to one. */
struct fringe {
    int64_t up_ns, down_ns;
    int links, hosts;
};

static void measure_fringe(const struct topology *topology, struct fringe *fringes)
{
    const struct routes *routes = topology->routes;
    for (int host = 0; host < topology->host_count; host++) {
        struct fringe *fringe = &fringes[routes->core_index[routes_anchor(topology, host)]];
        int end = routes->leaf_end[host];
        fringe->hosts++;
        if (end < 0)
            continue;
        int64_t up_ns = topology->links[end / 2].direction[end % 2].delay_ns;
        int64_t down_ns = topology->links[end / 2].direction[(end % 2) ^ 1].delay_ns;
        fringe->up_ns = up_ns > fringe->up_ns ? up_ns : fringe->up_ns;
        fringe->down_ns = down_ns > fringe->down_ns ? down_ns : fringe->down_ns;
        fringe->links = 1;
    }
}

bool routes_longest(const struct topology *topology, struct routes_longest *longest)
{
    const struct routes *routes = topology->routes;
    struct arena *arena = arena_new();
    struct fringe *fringes = arena_new_array(arena, struct fringe, (size_t)routes->core_count);
    bool all = true;
    *longest = (struct routes_longest){0};
    measure_fringe(topology, fringes);
    for (int to = 0; to < routes->core_count; to++)
        for (int from = 0; from < routes->core_count; from++) {
            const struct fringe *up = &fringes[from], *down = &fringes[to];
            struct cost cost = routes->cost[(size_t)to * (size_t)routes->core_count + (size_t)from];
            if (up->hosts == 0 || down->hosts == 0)
                continue;
            if (cost.first == INT64_MAX) {
                all = false;
                continue;
            }
            int64_t delay_ns = up->up_ns + down->down_ns + (topology->fewest_links ? cost.second : cost.first);
            int64_t links = up->links + down->links + (topology->fewest_links ? cost.first : cost.second);
            longest->delay_ns = delay_ns > longest->delay_ns ? delay_ns : longest->delay_ns;
            longest->links = links > longest->links ? (int)links : longest->links;
        }
    arena_free(arena);
    return all;
}
