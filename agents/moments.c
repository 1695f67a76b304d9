/* moments.c: the memory of moments.h. */
#include "agents/moments.h"

#include "agents/grow.h"

void moments_grow(struct moments *moments)
{
    moments->heap = grow(moments->heap, &moments->capacity, sizeof(*moments->heap));
}

void moments_free(struct moments *moments)
{
    grow_free(moments->heap);
    *moments = (struct moments){0};
}
