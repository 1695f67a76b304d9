/* agents/collectives/recursive_doubling.c: in log2 N steps, everyone exchanges the whole sum so far with a partner.
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 19 (2005),
 * section 4.5.
 *
 * Among a power of two of ranks, p (schedule_fold.c), step m = 1, 2, 4 .. < p exchanges with rank XOR m. Both partners add the same
 * two terms, so all have the same bits. Example, N = 6: 4 -> 0, 5 -> 1; 0-1 and 2-3; 0-2 and 1-3; 0 -> 4, 1 -> 5. */
#include "agents/collectives/schedule.h"

static void plan(const struct allreduce_shape *shape, int rank, struct schedule *schedule)
{
    const size_t count = shape->count;
    const int power = schedule_fold(shape, rank, schedule);
    for (int mask = 1; mask < power; mask *= 2) {
        schedule_put(schedule, SCHEDULE_SEND, rank ^ mask, 0, count);
        schedule_put(schedule, SCHEDULE_ADD, rank ^ mask, 0, count);
    }
    schedule_unfold(shape, rank, power, schedule);
}

const struct allreduce_algorithm allreduce_recursive_doubling = {.name = "recursive-doubling", SCHEDULED(plan)};
