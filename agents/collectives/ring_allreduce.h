/* agents/collectives/ring_allreduce.h: the ring all-reduce as a reusable sub-machine: a scheme embeds one on a channel of its
 * own, passes it that channel's headers, messages and sent buffers, and gets the sum of all members' vectors.
 *
 *     ring_allreduce_open(ring, round, output)     from now on neighbours' segments may land in `output`
 *     ring_allreduce_contribute(ring, input)       this member's vector is there: `input` is only read
 *     segment_ready(first, count) ...              these floats of `output` hold the sum of all members
 *     done()                                       all of `output` does, and `input` is needed no longer
 *
 * The members must run the same all-reduces in the same order. */
#ifndef LAGGARD_AGENTS_COLLECTIVES_RING_ALLREDUCE_H
#define LAGGARD_AGENTS_COLLECTIVES_RING_ALLREDUCE_H

#include <stddef.h>
#include <stdint.h>

#include "agents/node.h"

/* How a vector is cut: `size` chunks of floor(count / size) floats, the remainder spread over the first ones; each chunk into
 * `segments` segments by the same rule (some are empty when a chunk has fewer floats than segments; those never travel). */
struct ring_allreduce_layout {
    int size;
    size_t count;      /* floats */
    uint32_t segments; /* of each chunk */
};
struct ring_allreduce_range {
    size_t first, count; /* floats of the vector */
};
/* segment_bytes 0: automatic, two segments a chunk and more where they would exceed 1 MiB, fewer where they would fall under 4
 * KiB. */
struct ring_allreduce_layout ring_allreduce_layout(int size, size_t count, size_t segment_bytes);
struct ring_allreduce_range ring_allreduce_chunk(const struct ring_allreduce_layout *layout, int chunk);
struct ring_allreduce_range ring_allreduce_segment(const struct ring_allreduce_layout *layout, int chunk, uint32_t segment);
/* Payload bytes that this rank sends in one all-reduce: 2 (size-1)/size x 4 count where the chunks are equal. */
uint64_t ring_allreduce_sent_bytes(const struct ring_allreduce_layout *layout, int rank);

struct ring_allreduce_spec {
    uint16_t channel;
    int rank, size;  /* this member's place in the ring, and the number of members */
    int left, right; /* node indexes of the members at rank - 1 and rank + 1 (modulo size) */
    size_t count;    /* floats */
    size_t segment_bytes;
    void *context;
    void (*segment_ready)(struct node *node, void *context, size_t first, size_t count); /* may be NULL */
    void (*done)(struct node *node, void *context); /* may open and contribute to the next one */
};
struct ring_allreduce;

/* In prepare_node() only. Takes memory for one byte a segment. */
struct ring_allreduce *ring_allreduce_new(struct node *node, const struct ring_allreduce_spec *spec);
/* `round` marks the spans. `output` belongs to the ring until done(). */
void ring_allreduce_open(struct ring_allreduce *ring, uint64_t round, float *output);
/* Once after each open. May call segment_ready() and done() (always so where no other member has to be heard). */
void ring_allreduce_contribute(struct ring_allreduce *ring, const float *input);

/* For the scheme's callbacks of the same names, where message->header.channel is the spec's. */
struct landing ring_allreduce_on_header(struct ring_allreduce *ring, const struct message *message);
void ring_allreduce_on_message(struct ring_allreduce *ring, const struct message *message);
/* Buffers of this sub-machine carry the channel in the upper half of their tag. */
void ring_allreduce_on_sent(struct ring_allreduce *ring, const struct buffer *buffer);
static inline uint16_t ring_allreduce_tag_channel(const struct buffer *buffer)
{
    return (uint16_t)((uint64_t)buffer->tag >> 32);
}

#endif
