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
    const void *read_later;      /* what buffer_pool_keep() named */
    struct buffer *kept;         /* the buffer around it, once nobody else holds it; or NULL */
};

struct buffer *buffer_pool_get(struct buffer_pool *pool, size_t bytes); /* one reference */
struct buffer *buffer_pool_wrap(struct buffer_pool *pool, void *memory, size_t bytes, intptr_t tag);
static inline void buffer_hold(struct buffer *buffer)
{
    buffer->references++;
}
void buffer_pool_release(struct buffer_pool *pool, struct buffer *buffer);
/* The buffer that `memory` lies in, if it lies in one, is not used anew before another is named or NULL: it will be read again. */
void buffer_pool_keep(struct buffer_pool *pool, const void *memory);

#endif
