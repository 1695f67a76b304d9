/* arena.c: memory with one lifetime: a list of zeroed chunks, filled from the front, freed together. Memory is never reused within
 * an arena, so calloc() zeroes it once, and a large block costs no page before it is touched. */
#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

enum { SMALL_ALIGNMENT = 16, LARGE_ALIGNMENT = 64, FIRST_CHUNK = 8 << 10, LAST_CHUNK = 1 << 20 };

struct chunk {
    struct chunk *next;
    size_t used, capacity; /* bytes behind this header */
};

struct arena {
    struct chunk *chunks; /* the first is the one being filled */
    size_t next_capacity, handed_out;
};

static _Noreturn void out_of_memory(size_t bytes)
{
    fprintf(stderr, "laggard: out of memory (%zu bytes were needed)\n", bytes);
    _exit(err_exit_code(ERR_HOST));
}

struct arena *arena_new(void)
{
    struct arena *arena = calloc(1, sizeof(*arena));
    if (!arena)
        out_of_memory(sizeof(*arena));
    arena->next_capacity = FIRST_CHUNK;
    return arena;
}

void arena_free(struct arena *arena)
{
    if (!arena)
        return;
    for (struct chunk *chunk = arena->chunks; chunk;) {
        struct chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
    free(arena);
}

void arena_cleanup(struct arena **arena)
{
    arena_free(*arena);
    *arena = NULL;
}

/* The first aligned address in the chunk where `bytes` fit, or NULL. */
static unsigned char *fit(struct chunk *chunk, size_t bytes, size_t alignment)
{
    unsigned char *base = (unsigned char *)(chunk + 1);
    size_t skip = -((uintptr_t)base + chunk->used) & (alignment - 1);
    size_t left = chunk->capacity - chunk->used;
    if (skip > left || bytes > left - skip)
        return NULL;
    unsigned char *found = base + chunk->used + skip;
    chunk->used += skip + bytes;
    return found;
}

static struct chunk *new_chunk(size_t capacity)
{
    struct chunk *chunk = calloc(1, sizeof(*chunk) + capacity);
    if (!chunk)
        out_of_memory(capacity);
    chunk->capacity = capacity;
    return chunk;
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
    size_t alignment = bytes >= LARGE_ALIGNMENT ? LARGE_ALIGNMENT : SMALL_ALIGNMENT;
    if (bytes > PTRDIFF_MAX - sizeof(struct chunk) - LARGE_ALIGNMENT)
        out_of_memory(bytes);
    size_t room = bytes ? bytes : 1; /* so that two empty blocks differ */
    unsigned char *found = arena->chunks ? fit(arena->chunks, room, alignment) : NULL;
    if (!found && room > arena->next_capacity / 4) {
        /* A chunk of its own, behind the first one, which still has space for small blocks. */
        struct chunk *own = new_chunk(room + alignment);
        if (arena->chunks) {
            own->next = arena->chunks->next;
            arena->chunks->next = own;
        } else {
            arena->chunks = own;
        }
        found = fit(own, room, alignment);
    } else if (!found) {
        struct chunk *chunk = new_chunk(arena->next_capacity);
        chunk->next = arena->chunks;
        arena->chunks = chunk;
        if (arena->next_capacity < LAST_CHUNK)
            arena->next_capacity *= 2;
        found = fit(chunk, room, alignment);
    }
    arena->handed_out += bytes;
    return found;
}

void *arena_calloc(struct arena *arena, size_t count, size_t bytes_each)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, bytes_each, &bytes))
        out_of_memory(SIZE_MAX);
    return arena_alloc(arena, bytes);
}

void *arena_copy(struct arena *arena, const void *source, size_t bytes)
{
    void *copy = arena_alloc(arena, bytes);
    if (bytes)
        memcpy(copy, source, bytes);
    return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
    return arena_copy(arena, text, strlen(text) + 1);
}

char *arena_strndup(struct arena *arena, const char *text, size_t bytes)
{
    size_t length = strnlen(text, bytes);
    char *copy = arena_alloc(arena, length + 1);
    memcpy(copy, text, length);
    return copy;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = arena_alloc(arena, length < 0 ? 1 : (size_t)length + 1);
    if (length > 0)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

size_t arena_bytes(const struct arena *arena)
{
    return arena->handed_out;
}
