/* buffer_pool.c: buffers by size class: four classes between two powers of two, so that at most a fifth of a large buffer is
 * unused. */
#include "agents/buffer_pool.h"

#include <assert.h>

#include "agents/touched_memory.h"

enum { SMALLEST = 256 };

struct pooled {
    struct buffer buffer; /* first */
    unsigned size_class;
};

static unsigned class_of(size_t bytes, size_t *capacity)
{
    if (bytes <= SMALLEST) {
        *capacity = SMALLEST;
        return 0;
    }
    unsigned power = 63 - (unsigned)__builtin_clzll(bytes - 1); /* 2^power < bytes <= 2^(power+1) */
    size_t step = (size_t)1 << (power - 2);
    size_t quarter = (bytes - ((size_t)1 << power) + step - 1) / step; /* 1..4 */
    *capacity = ((size_t)1 << power) + quarter * step;
    return 4 * power + (unsigned)quarter - 1;
}

struct buffer *buffer_pool_get(struct buffer_pool *pool, size_t bytes)
{
    size_t capacity;
    unsigned size_class = class_of(bytes, &capacity);
    struct buffer *buffer = pool->free[size_class];
    if (buffer) {
        pool->free[size_class] = buffer->next;
    } else {
        struct pooled *pooled = arena_new_object(pool->arena, struct pooled);
        pooled->size_class = size_class;
        pooled->buffer.bytes = touched_alloc(pool->arena, capacity);
        buffer = &pooled->buffer;
    }
    buffer->length = bytes;
    buffer->references = 1;
    buffer->tag = 0;
    buffer->next = NULL;
    return buffer;
}

struct buffer *buffer_pool_wrap(struct buffer_pool *pool, void *memory, size_t bytes, intptr_t tag)
{
    struct buffer *buffer = pool->free_wrapped;
    if (buffer)
        pool->free_wrapped = buffer->next;
    else
        buffer = arena_new_object(pool->arena, struct buffer);
    *buffer = (struct buffer){.bytes = memory, .length = bytes, .references = 1, .wrapped = true, .tag = tag};
    return buffer;
}

static void put_back(struct buffer_pool *pool, struct buffer *buffer)
{
    struct buffer **list = buffer->wrapped ? &pool->free_wrapped : &pool->free[((struct pooled *)buffer)->size_class];
    buffer->next = *list;
    *list = buffer;
}

void buffer_pool_release(struct buffer_pool *pool, struct buffer *buffer)
{
    assert(buffer->references > 0);
    if (--buffer->references > 0)
        return;
    const uint8_t *bytes = buffer->bytes, *kept = pool->read_later;
    if (!buffer->wrapped && kept >= bytes && kept < bytes + buffer->length)
        pool->kept = buffer;
    else
        put_back(pool, buffer);
}

void buffer_pool_keep(struct buffer_pool *pool, const void *memory)
{
    if (memory == pool->read_later)
        return;
    pool->read_later = memory;
    if (pool->kept)
        put_back(pool, pool->kept);
    pool->kept = NULL;
}
