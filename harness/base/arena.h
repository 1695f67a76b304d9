/* arena.h: memory with one lifetime. Everything allocated from an arena is zeroed, aligned to 64 bytes for blocks of at least
 * 64 bytes (16 otherwise), and freed together. Allocation never fails: out of memory ends the process with a sentence. */
#ifndef LAGGARD_BASE_ARENA_H
#define LAGGARD_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

struct arena;

struct arena *arena_new(void);
void arena_free(struct arena *arena);     /* NULL is allowed */
void arena_cleanup(struct arena **arena); /* for cleanup() */
void *arena_alloc(struct arena *arena, size_t bytes);
void *arena_calloc(struct arena *arena, size_t count, size_t bytes_each); /* overflow-checked */
void *arena_copy(struct arena *arena, const void *source, size_t bytes);
char *arena_strdup(struct arena *arena, const char *text);
char *arena_strndup(struct arena *arena, const char *text, size_t bytes);
char *arena_printf(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
size_t arena_bytes(const struct arena *arena); /* handed out so far */

#define arena_new_object(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define arena_new_array(arena, type, count) ((type *)arena_calloc((arena), (count), sizeof(type)))

#endif
