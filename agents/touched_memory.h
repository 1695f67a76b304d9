/* agents/touched_memory.h: memory whose pages are there before the clock starts. */
#ifndef LAGGARD_AGENTS_TOUCHED_MEMORY_H
#define LAGGARD_AGENTS_TOUCHED_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/arena.h"

/* Zeroed; like arena_alloc(), but every page is written once, so that no page fault falls into a measured round. */
static inline void *touched_alloc(struct arena *arena, size_t bytes)
{
    enum { PAGE = 4096 };
    volatile unsigned char *memory = arena_alloc(arena, bytes);
    uintptr_t first = ((uintptr_t)memory + PAGE - 1) & ~(uintptr_t)(PAGE - 1), end = (uintptr_t)memory + bytes;
    if (end > first + PAGE) /* all at once in half the time; kernels before 5.14 cannot */
        (void)madvise((void *)first, end - first, MADV_POPULATE_WRITE);
    for (size_t i = 0; i < bytes; i += PAGE)
        memory[i] = 0;
    if (bytes > 0)
        memory[bytes - 1] = 0;
    return (void *)memory;
}

#endif
