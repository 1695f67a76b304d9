/* agents/collectives/direct_allreduce.c: all-to-all: each rank sums one chunk of everyone's vector and gives it to everyone.
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 19 (2005),
 * section 4.5.1 (pairwise exchange).
 *
 * Rank r sends chunk c of its vector to rank c, for every c; rank r adds the N-1 chunks r that come to its own, and sends the sum
 * to everyone. Each rank sends 2(N-1)/N S, in two steps of latency, with N-1 messages at once in each. */
#include "agents/collectives/schedule.h"

static void plan(const struct allreduce_shape *shape, int rank, struct schedule *schedule)
{
    const int size = shape->size;
    const struct allreduce_range own = allreduce_cut(0, shape->count, (size_t)size, (size_t)rank);
    for (int step = 1; step < size; step++) { /* not all to the same rank at once */
        const int peer = (rank + step) % size;
        struct allreduce_range range = allreduce_cut(0, shape->count, (size_t)size, (size_t)peer);
        schedule_put(schedule, SCHEDULE_SEND_OWN, peer, range.first, range.count);
    }
    for (int step = 1; step < size; step++)
        schedule_put(schedule, SCHEDULE_ADD, (rank + size - step) % size, own.first, own.count);
    for (int step = 1; step < size; step++)
        schedule_put(schedule, SCHEDULE_SEND, (rank + step) % size, own.first, own.count);
    for (int step = 1; step < size; step++) {
        const int peer = (rank + size - step) % size;
        struct allreduce_range range = allreduce_cut(0, shape->count, (size_t)size, (size_t)peer);
        schedule_put(schedule, SCHEDULE_PLACE, peer, range.first, range.count);
    }
}

const struct allreduce_algorithm allreduce_direct = {.name = "direct", SCHEDULED(plan)};
