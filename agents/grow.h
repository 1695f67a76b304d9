/* agents/grow.h: arrays that double, for worlds whose number of messages nobody knows before. */
#ifndef LAGGARD_AGENTS_GROW_H
#define LAGGARD_AGENTS_GROW_H

#include <stddef.h>

/* The array with twice the room (at least 64 elements), what is new zeroed; *capacity follows. Out of memory ends the process with
 * a sentence. */
void *grow(void *array, size_t *capacity, size_t bytes_each);
void grow_free(void *array);

#endif
