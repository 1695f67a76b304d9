/* agents/collectives/recursive_doubling.c: in log2 N steps, everyone exchanges the whole sum so far with a partner.
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 19 (2005),
 * section 4.5.
 *
 * With p the largest power of two that is not above N: rank p + i first gives its vector to rank i and in the end gets the sum from
 * it. Among the p, step m = 1, 2, 4 .. < p exchanges with rank XOR m. Both partners add the same two terms, so all have the same
 * bits. Example, N = 6: 4 -> 0, 5 -> 1; 0-1 and 2-3; 0-2 and 1-3; 0 -> 4, 1 -> 5. */
#include "agents/collectives/schedule.h"

static void plan(const struct allreduce_shape *shape, int rank, struct schedule *schedule)
{
    const size_t count = shape->count;
    int power = 1;
    while (2 * power <= shape->size)
        power *= 2;
    if (rank >= power) {
        schedule_put(schedule, SCHEDULE_SEND_OWN, rank - power, 0, count);
        schedule_put(schedule, SCHEDULE_PLACE, rank - power, 0, count);
        return;
    }
    const bool extra = rank + power < shape->size;
    if (extra)
        schedule_put(schedule, SCHEDULE_ADD, rank + power, 0, count);
    for (int mask = 1; mask < power; mask *= 2) {
        schedule_put(schedule, SCHEDULE_SEND, rank ^ mask, 0, count);
        schedule_put(schedule, SCHEDULE_ADD, rank ^ mask, 0, count);
    }
    if (extra)
        schedule_put(schedule, SCHEDULE_SEND, rank + power, 0, count);
}

const struct allreduce_algorithm allreduce_recursive_doubling = {.name = "recursive-doubling", SCHEDULED(plan)};
