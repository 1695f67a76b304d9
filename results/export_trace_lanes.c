/* results/export_trace_lanes.c: tracks on which spans do not overlap; see export_trace_internal.h. The tracks of a kind of spans of
 * a node are a heap with the one that is free first on top: a span takes it if it is free by then, and a new one otherwise, which
 * gives the fewest tracks. */
#include <string.h>

#include "base/arena.h"
#include "results/export_trace_internal.h"

struct lane {
    int64_t free_ns, track;
};

struct heap {
    struct lane *lanes;
    size_t count, room;
};

struct trace_lanes {
    struct arena *arena;
    struct heap *heaps; /* one a kind of a process */
    int64_t kinds, next_track;
};

struct trace_lanes *trace_lanes_new(struct arena *arena, int64_t processes, int64_t kinds, int64_t first_track)
{
    struct trace_lanes *lanes = arena_new_object(arena, struct trace_lanes);
    *lanes = (struct trace_lanes){.arena = arena, .kinds = kinds, .next_track = first_track};
    lanes->heaps = arena_new_array(arena, struct heap, (size_t)(processes * kinds));
    return lanes;
}

int64_t trace_lanes_new_track(struct trace_lanes *lanes)
{
    return lanes->next_track++;
}

/* The lane on top is free later than it was: down to where it belongs. */
static void sink(struct heap *heap)
{
    struct lane lane = heap->lanes[0];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < heap->count; at = child) {
        if (child + 1 < heap->count && heap->lanes[child + 1].free_ns < heap->lanes[child].free_ns)
            child++;
        if (heap->lanes[child].free_ns >= lane.free_ns)
            break;
        heap->lanes[at] = heap->lanes[child];
    }
    heap->lanes[at] = lane;
}

static void add(struct trace_lanes *lanes, struct heap *heap, struct lane lane)
{
    if (heap->count == heap->room) {
        struct lane *more = arena_new_array(lanes->arena, struct lane, heap->room ? 2 * heap->room : 2);
        if (heap->count)
            memcpy(more, heap->lanes, heap->count * sizeof(*more));
        heap->room = heap->room ? 2 * heap->room : 2;
        heap->lanes = more;
    }
    size_t at = heap->count++;
    for (; at > 0 && heap->lanes[(at - 1) / 2].free_ns > lane.free_ns; at = (at - 1) / 2)
        heap->lanes[at] = heap->lanes[(at - 1) / 2];
    heap->lanes[at] = lane;
}

int64_t trace_lanes_take(struct trace_lanes *lanes, int64_t process, int64_t kind, int64_t begin_ns, int64_t end_ns, bool *is_new)
{
    struct heap *heap = &lanes->heaps[process * lanes->kinds + kind];
    *is_new = heap->count == 0 || heap->lanes[0].free_ns > begin_ns;
    if (*is_new) {
        int64_t track = lanes->next_track++;
        add(lanes, heap, (struct lane){.free_ns = end_ns, .track = track});
        return track;
    }
    int64_t track = heap->lanes[0].track;
    heap->lanes[0].free_ns = end_ns;
    sink(heap);
    return track;
}
