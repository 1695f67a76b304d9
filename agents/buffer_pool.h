/* agents/buffer_pool.h: the buffers of node.h. Sizes are rounded up to classes; a class takes memory from the arena when all of its
 * buffers are in use, and never gives it back: after the first round nothing is allocated any more. */
#ifndef LAGGARD_AGENTS_BUFFER_POOL_H
#define LAGGARD_AGENTS_BUFFER_POOL_H

#include "agents/node.h"

struct arena;

enum { BUFFER_CLASSES = 4 * 64 };
struct buffer_pool {
    struct arena *arena;
    struct buffer *free[BUFFER_CLASSES];
    struct buffer *free_wrapped; /* without memory of their own */
};

struct buffer *buffer_pool_get(struct buffer_pool *pool, size_t bytes); /* one reference */
struct buffer *buffer_pool_wrap(struct buffer_pool *pool, void *memory, size_t bytes, intptr_t tag);
static inline void buffer_hold(struct buffer *buffer)
{
    buffer->references++;
}
void buffer_pool_release(struct buffer_pool *pool, struct buffer *buffer);

#endif
