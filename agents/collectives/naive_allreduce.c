/* agents/collectives/naive_allreduce.c: everyone sends everything to everyone.
 *
 * One step of latency, (N-1) S out of and into each rank. Every rank adds in the order of ranks, so that all have the same bits. */
#include "agents/collectives/schedule.h"

static void plan(const struct allreduce_shape *shape, int rank, struct schedule *schedule)
{
    const int size = shape->size;
    for (int step = 1; step < size; step++)
        schedule_put(schedule, SCHEDULE_SEND_OWN, (rank + step) % size, 0, shape->count);
    for (int peer = 0; peer < size && size > 1; peer++) {
        enum schedule_action from_peer = peer == 0 ? SCHEDULE_PLACE : SCHEDULE_ADD;
        schedule_put(schedule, peer == rank ? SCHEDULE_OWN : from_peer, peer, 0, shape->count);
    }
}

const struct allreduce_algorithm allreduce_naive = {.name = "naive", SCHEDULED(plan)};
