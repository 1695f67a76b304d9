/* netem/bisection.c: maximum flow by shortest augmenting paths (Edmonds and Karp, 1972), from all hosts of one half to any of the
 * other. */
#include "netem/bisection.h"

#include <stdbool.h>

#include "base/arena.h"

struct flow {
    const struct topology *topology;
    uint64_t *left; /* one an end: what its direction can still carry */
    int *first;     /* one a place and one more: where its ends begin in `ends` */
    int *ends;
    int *came_by; /* one a place: the end by which the search reached it */
    int *queue;
};
enum { UNSEEN = -1, START = -2 };

static int end_place(const struct topology *topology, int end)
{
    const struct link *link = &topology->links[end / DIRECTIONS];
    return end % DIRECTIONS == DIRECTION_FORWARD ? link->from : link->to;
}

static bool is_source(const struct flow *flow, int place, bool back)
{
    int hosts = flow->topology->host_count, half = (hosts + 1) / 2;
    return place < hosts && (place >= half) == back;
}

static void list_ends(struct flow *flow, struct arena *arena)
{
    const struct topology *topology = flow->topology;
    int places = topology->place_count, ends = DIRECTIONS * topology->link_count;
    flow->first = arena_new_array(arena, int, (size_t)places + 2);
    flow->ends = arena_new_array(arena, int, (size_t)ends + 1);
    for (int end = 0; end < ends; end++)
        flow->first[end_place(topology, end) + 2]++;
    for (int place = 0; place < places; place++)
        flow->first[place + 2] += flow->first[place + 1];
    for (int end = 0; end < ends; end++) /* moves each start to the next one's place, which is where it belongs */
        flow->ends[flow->first[end_place(topology, end) + 1]++] = end;
}

/* The target reached, or UNSEEN. */
static int search(struct flow *flow, bool back)
{
    int head = 0, tail = 0;
    for (int place = 0; place < flow->topology->place_count; place++) {
        flow->came_by[place] = is_source(flow, place, back) ? START : UNSEEN;
        if (flow->came_by[place] == START)
            flow->queue[tail++] = place;
    }
    while (head < tail) {
        int place = flow->queue[head++];
        if (place < flow->topology->host_count && flow->came_by[place] != START)
            return place;
        for (int i = flow->first[place]; i < flow->first[place + 1]; i++) {
            int end = flow->ends[i], next = end_place(flow->topology, end ^ 1);
            if (flow->left[end] == 0 || flow->came_by[next] != UNSEEN)
                continue;
            flow->came_by[next] = end;
            flow->queue[tail++] = next;
        }
    }
    return UNSEEN;
}

uint64_t bisection_bps(const struct topology *topology, bool back)
{
    struct arena *arena = arena_new();
    struct flow flow = {.topology = topology};
    int ends = DIRECTIONS * topology->link_count;
    flow.left = arena_new_array(arena, uint64_t, (size_t)ends + 1);
    flow.came_by = arena_new_array(arena, int, (size_t)topology->place_count);
    flow.queue = arena_new_array(arena, int, (size_t)topology->place_count);
    list_ends(&flow, arena);
    for (int end = 0; end < ends; end++) {
        uint64_t rate_bps = topology->links[end / DIRECTIONS].direction[end % DIRECTIONS].rate_bps;
        flow.left[end] = rate_bps > 0 ? rate_bps : UINT64_MAX;
    }
    uint64_t total = 0;
    for (int target; total != UINT64_MAX && (target = search(&flow, back)) != UNSEEN;) {
        uint64_t least = UINT64_MAX;
        for (int at = target; flow.came_by[at] != START; at = end_place(topology, flow.came_by[at]))
            least = flow.left[flow.came_by[at]] < least ? flow.left[flow.came_by[at]] : least;
        for (int at = target; flow.came_by[at] != START; at = end_place(topology, flow.came_by[at])) {
            int end = flow.came_by[at];
            if (flow.left[end] != UINT64_MAX)
                flow.left[end] -= least;
            if (flow.left[end ^ 1] != UINT64_MAX)
                flow.left[end ^ 1] += least; /* what flows one way can be taken back */
        }
        total = least == UINT64_MAX ? UINT64_MAX : total + least;
    }
    arena_free(arena);
    return total;
}
