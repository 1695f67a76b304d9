/* agents/touched_memory.h: memory whose pages are there before the clock starts. */
#ifndef LAGGARD_AGENTS_TOUCHED_MEMORY_H
#define LAGGARD_AGENTS_TOUCHED_MEMORY_H

#include <stddef.h>

#include "base/arena.h"

/* Zeroed; like arena_alloc(), but every page is written once, so that no page fault falls into a measured round. */
static inline void *touched_alloc(struct arena *arena, size_t bytes)
{
    enum { PAGE = 4096 };
    volatile unsigned char *memory = arena_alloc(arena, bytes);
    for (size_t i = 0; i < bytes; i += PAGE)
        memory[i] = 0;
    if (bytes > 0)
        memory[bytes - 1] = 0;
    return (void *)memory;
}

#endif
