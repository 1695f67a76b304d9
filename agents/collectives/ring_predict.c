/* agents/collectives/ring_predict.c: how long a ring all-reduce takes, by the exact recurrence over its segments.
 *
 * Rank r may send the segment at (hop h, segment k) once it has received it at hop h-1 and, in the scatter-reduce, added
 * to it:
 *
 *     begin(r,h,k)   = max(ready(r,h,k), begin(r, previous) + max(previous bytes/B_r, message))     ready(r,0,k) = c_r
 *     arrive         = begin(r,h,k) + bytes/B_r + alpha_r
 *     ready(r+1,h+1,k) = max(arrive, ready(r+1, previous)) + (bytes x gamma while h < N-1)
 *
 * and the all-reduce ends with the last of these at any rank; c_r is when rank r's own gradient is there, before which it adds
 * nothing. Maxima and sums only, hence exact for given alpha, B, gamma. With all c_r = 0 and one segment a chunk it is
 * 2(N-1)(alpha + s) + (N-1) s' with s = S/(N B), s' = S gamma/N; for m segments and no gamma, 2(N-1)s + alpha as long as
 * s >= alpha + s/m. */
#include "agents/collectives/ring_allreduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Ranks that all see the same are one: identical links and chunks. */
static bool is_symmetric(const struct allreduce_network *network)
{
    const int size = network->shape.size;
    if (network->compute_ns || network->shape.count % (size_t)size != 0)
        return false;
    struct allreduce_path first = network->path(network->context, 0, 1);
    for (int rank = 1; rank < size; rank++) {
        struct allreduce_path path = network->path(network->context, rank, (rank + 1) % size);
        if (path.latency_ns != first.latency_ns || path.bytes_per_second != first.bytes_per_second)
            return false;
    }
    return true;
}

/* When it is over for the last rank. clocks_ns, [2 x size], NULL: all begin at 0. In: when each rank's gradient is there; out: when
 * it has the sum. Then, in and out, when each rank's link is free. */
static double follow(const struct allreduce_network *network, double *clocks_ns)
{
    const int size = network->shape.size;
    const struct ring_allreduce_layout layout = ring_allreduce_layout(size, network->shape.count, network->shape.segment_bytes);
    const int ranks = is_symmetric(network) ? 1 : size;
    const size_t segments = layout.segments;
    /* [ranks x segments], of the hop at hand and the next; then, a rank: when its link and its processor are free */
    cleanup(free_pointer) double *memory = calloc(2 * (size_t)ranks * (segments + 1), sizeof(*memory));
    if (!memory)
        return NAN;
    double *ready = memory, *next = ready + (size_t)ranks * segments;
    double *link_free = next + (size_t)ranks * segments, *processor_free = link_free + ranks;
    cleanup(free_pointer) struct allreduce_path *paths = calloc((size_t)ranks, sizeof(*paths)); /* to the right */
    if (!paths)
        return NAN;
    for (int rank = 0; rank < ranks; rank++)
        paths[rank] = network->path(network->context, rank, (rank + 1) % size);
    double end = 0;
    for (int rank = 0; rank < ranks && clocks_ns; rank++) {
        processor_free[rank] = clocks_ns[rank];
        link_free[rank] = clocks_ns[size + rank];
        for (size_t segment = 0; segment < segments; segment++)
            ready[(size_t)rank * segments + segment] = clocks_ns[rank];
    }
    for (int hop = 0; hop < 2 * (size - 1); hop++) {
        for (int rank = 0; rank < ranks; rank++) {
            const struct allreduce_path path = paths[rank];
            const int right = (rank + 1) % ranks, chunk = (rank - hop + 2 * size) % size;
            for (size_t segment = 0; segment < segments; segment++) {
                double bytes = (double)ring_allreduce_segment(&layout, chunk, (uint32_t)segment).count * sizeof(float);
                if (bytes == 0)
                    continue;
                double sending = allreduce_transmission_ns(bytes, path.bytes_per_second);
                double begin = fmax(ready[(size_t)rank * segments + segment], link_free[rank]);
                link_free[rank] = begin + fmax(sending, network->message_ns);
                double adding = hop < size - 1 ? bytes * network->reduce_ns_per_byte : 0;
                double done = fmax(begin + sending + path.latency_ns, processor_free[right]) + adding;
                processor_free[right] = next[(size_t)right * segments + segment] = done;
                end = fmax(end, done);
            }
        }
        double *swap = ready;
        ready = next;
        next = swap;
    }
    if (clocks_ns) { /* a rank is done when the last segment that it awaits is there and added */
        memcpy(clocks_ns, processor_free, (size_t)ranks * sizeof(*processor_free));
        memcpy(clocks_ns + size, link_free, (size_t)ranks * sizeof(*link_free));
    }
    return end;
}

static double predict_ns(const struct allreduce_network *network)
{
    const size_t size = (size_t)network->shape.size;
    if (size == 1)
        return 0;
    if (!network->compute_ns && network->rounds <= 1)
        return follow(network, NULL);
    cleanup(free_pointer) double *clocks_ns = calloc(2 * size, sizeof(*clocks_ns));
    double end_ns = 0;
    if (!clocks_ns)
        return NAN;
    for (int round = 0; round < network->rounds && isfinite(end_ns); round++) {
        for (size_t rank = 0; rank < size && network->compute_ns; rank++)
            clocks_ns[rank] += network->compute_ns[(size_t)round * size + rank];
        end_ns = follow(network, clocks_ns);
    }
    return end_ns;
}

void ring_allreduce_predict_ns(const struct allreduce_algorithm *self, const struct allreduce_network *networks, int count,
                               double *times_ns)
{
    (void)self;
    for (int i = 0; i < count; i++)
        times_ns[i] = predict_ns(&networks[i]);
}
