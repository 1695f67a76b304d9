/* agents/collectives/schedule_fold.c: any number of ranks for algorithms that need a power of two.
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 19 (2005),
 * section 4.5.
 *
 * With p the largest power of two that is not above N: rank p + i first gives its vector to rank i and in the end gets the sum from
 * it. The p ranks do the rest. It takes 2 (alpha + S/B) + S gamma more. Example, N = 6: 4 -> 0, 5 -> 1; ...; 0 -> 4, 1 -> 5. */
#include "agents/collectives/schedule.h"

int schedule_fold(const struct allreduce_shape *shape, int rank, struct schedule *schedule)
{
    int power = 1;
    while (2 * power <= shape->size)
        power *= 2;
    if (rank >= power) {
        schedule_put(schedule, SCHEDULE_SEND_OWN, rank - power, 0, shape->count);
        schedule_put(schedule, SCHEDULE_PLACE, rank - power, 0, shape->count);
        return 0;
    }
    if (rank + power < shape->size)
        schedule_put(schedule, SCHEDULE_ADD, rank + power, 0, shape->count);
    return power;
}

void schedule_unfold(const struct allreduce_shape *shape, int rank, int power, struct schedule *schedule)
{
    if (power > 0 && rank + power < shape->size)
        schedule_put(schedule, SCHEDULE_SEND, rank + power, 0, shape->count);
}
