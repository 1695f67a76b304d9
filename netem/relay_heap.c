/* netem/relay_heap.c: which direction's oldest packet is due next: a binary heap with the place of each direction kept beside
 * it. */
#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "netem/relay_internal.h"

int relay_heap_open(struct relay_heap *heap, int direction_count, struct err *err)
{
    size_t count = (size_t)direction_count;
    struct relay_heap made = {
        .direction = calloc(count, sizeof(*made.direction)),
        .position = calloc(count, sizeof(*made.position)),
        .deadline_ns = calloc(count, sizeof(*made.deadline_ns)),
    };
    if (!made.direction || !made.position || !made.deadline_ns) {
        relay_heap_close(&made);
        return err_set_errno(err, ERR_HOST, ENOMEM, "relay: the deadlines of %d link directions", direction_count);
    }
    for (size_t i = 0; i < count; i++)
        made.position[i] = -1;
    *heap = made;
    return 0;
}

void relay_heap_close(struct relay_heap *heap)
{
    free(heap->direction);
    free(heap->position);
    free(heap->deadline_ns);
    *heap = (struct relay_heap){0};
}

static void place(struct relay_heap *heap, int slot, int direction)
{
    heap->direction[slot] = direction;
    heap->position[direction] = slot;
}

/* Puts the direction where it belongs, given that the slot is free and everything else is in order. */
static void settle(struct relay_heap *heap, int slot, int direction)
{
    int64_t deadline_ns = heap->deadline_ns[direction];
    while (slot > 0) {
        int parent = (slot - 1) / 2;
        if (heap->deadline_ns[heap->direction[parent]] <= deadline_ns)
            break;
        place(heap, slot, heap->direction[parent]);
        slot = parent;
    }
    for (;;) {
        int child = 2 * slot + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && heap->deadline_ns[heap->direction[child + 1]] < heap->deadline_ns[heap->direction[child]])
            child++;
        if (heap->deadline_ns[heap->direction[child]] >= deadline_ns)
            break;
        place(heap, slot, heap->direction[child]);
        slot = child;
    }
    place(heap, slot, direction);
}

void relay_heap_set(struct relay_heap *heap, int direction, int64_t deadline_ns)
{
    heap->deadline_ns[direction] = deadline_ns;
    int slot = heap->position[direction];
    if (slot < 0)
        slot = heap->count++;
    heap->direction[slot] = direction;
    settle(heap, slot, direction);
}

void relay_heap_remove(struct relay_heap *heap, int direction)
{
    int slot = heap->position[direction];
    if (slot < 0)
        return;
    heap->position[direction] = -1;
    int last = heap->direction[--heap->count];
    if (last != direction) {
        heap->direction[slot] = last;
        settle(heap, slot, last);
    }
}
