/* agents/collectives/ring_allreduce.h: how the ring all-reduce (allreduce.h, `allreduce_ring`) cuts a vector: known to its
 * predictions and tests. */
#ifndef LAGGARD_AGENTS_COLLECTIVES_RING_ALLREDUCE_H
#define LAGGARD_AGENTS_COLLECTIVES_RING_ALLREDUCE_H

#include <stddef.h>
#include <stdint.h>

#include "agents/collectives/allreduce.h"

/* How a vector is cut: `size` chunks of floor(count / size) floats, the remainder spread over the first ones; each chunk into
 * `segments` segments by the same rule (some are empty when a chunk has fewer floats than segments; those never travel). */
struct ring_allreduce_layout {
    int size;
    size_t count;      /* floats */
    uint32_t segments; /* of each chunk */
};
/* segment_bytes 0: automatic, two segments a chunk and more where they would exceed 1 MiB, fewer where they would fall under 4
 * KiB. */
struct ring_allreduce_layout ring_allreduce_layout(int size, size_t count, size_t segment_bytes);
struct allreduce_range ring_allreduce_chunk(const struct ring_allreduce_layout *layout, int chunk);
struct allreduce_range ring_allreduce_segment(const struct ring_allreduce_layout *layout, int chunk, uint32_t segment);
/* Payload bytes that this rank sends in one all-reduce: 2 (size-1)/size x 4 count where the chunks are equal. */
uint64_t ring_allreduce_sent_bytes(const struct ring_allreduce_layout *layout, int rank);

/* The exact max-plus recurrence over all segments (ring_predict.c). */
void ring_allreduce_predict_ns(const struct allreduce_algorithm *self, const struct allreduce_network *networks, int count,
                               double *times_ns);

#endif
