/* agents/moments.h: the moments of a virtual clock that are still to come, as a heap: the earliest first, and of equal ones the one
 * that was added first. So the order never depends on the heap's inside, the machine or the build.
 *
 * A heap of four children a node: half as deep as a binary one, and the four lie side by side. */
#ifndef LAGGARD_AGENTS_MOMENTS_H
#define LAGGARD_AGENTS_MOMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MOMENT_KIND_BITS = 4 };
struct moment {
    int64_t at_ns;
    uint64_t order; /* the number of its addition, then its kind in the lowest bits */
    uint32_t subject, detail;
};
struct moments {
    struct moment *heap;
    size_t count, capacity;
    uint64_t added;
};
void moments_grow(struct moments *moments); /* doubles the room; out of memory ends the process, as for arenas */
void moments_free(struct moments *moments);

static inline unsigned moment_kind(const struct moment *moment)
{
    return moment->order & ((1U << MOMENT_KIND_BITS) - 1);
}

/* As one number, so that comparing does not branch: which way a heap goes no processor foresees. Times are not negative. */
static inline unsigned __int128 moment_key(const struct moment *moment)
{
    return (unsigned __int128)(uint64_t)moment->at_ns << 64 | moment->order;
}

static inline bool moment_before(const struct moment *a, const struct moment *b)
{
    return moment_key(a) < moment_key(b);
}

static inline void moments_add(struct moments *moments, int64_t at_ns, unsigned kind, uint32_t subject, uint32_t detail)
{
    if (moments->count == moments->capacity)
        moments_grow(moments);
    const struct moment added = {at_ns, moments->added++ << MOMENT_KIND_BITS | kind, subject, detail};
    struct moment *heap = moments->heap;
    size_t at = moments->count++;
    while (at > 0) {
        const size_t above = (at - 1) / 4;
        if (!moment_before(&added, &heap[above]))
            break;
        heap[at] = heap[above];
        at = above;
    }
    heap[at] = added;
}

/* There is one. */
static inline struct moment moments_take(struct moments *moments)
{
    struct moment *heap = moments->heap;
    const struct moment taken = heap[0];
    const size_t count = --moments->count;
    if (count == 0)
        return taken;
    const struct moment moved = heap[count];
    size_t at = 0;
    for (;;) {
        const size_t first = 4 * at + 1;
        if (first >= count)
            break;
        size_t least = first;
        if (first + 4 <= count) {
            const size_t left = first + moment_before(&heap[first + 1], &heap[first]);
            const size_t right = first + 2 + moment_before(&heap[first + 3], &heap[first + 2]);
            least = moment_before(&heap[right], &heap[left]) ? right : left;
        } else {
            for (size_t child = first + 1; child < count; child++)
                least = moment_before(&heap[child], &heap[least]) ? child : least;
        }
        if (!moment_before(&heap[least], &moved))
            break;
        heap[at] = heap[least];
        at = least;
    }
    heap[at] = moved;
    return taken;
}

#endif
