/* agents/collectives/binomial_tree.c: a reduction to rank 0 along a binomial tree, then a broadcast along the same tree.
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 19 (2005),
 * section 4.2.
 *
 * The parent of rank r > 0 is r without its lowest set bit b; the children of r are r + 1, r + 2, r + 4 .. below r + b (for rank 0:
 * below N). Whole vectors travel: 2 log2 N steps of S. Example, N = 6: 1 -> 0, 3 -> 2, 5 -> 4; 2 -> 0; 4 -> 0; and back. */
#include "agents/collectives/schedule.h"

static void plan(const struct allreduce_shape *shape, int rank, struct schedule *schedule)
{
    const int lowest = rank > 0 ? rank & -rank : shape->size;
    int child = 1;
    for (; child < lowest && rank + child < shape->size; child *= 2)
        schedule_put(schedule, SCHEDULE_ADD, rank + child, 0, shape->count);
    if (rank > 0) {
        schedule_put(schedule, SCHEDULE_SEND, rank - lowest, 0, shape->count);
        schedule_put(schedule, SCHEDULE_PLACE, rank - lowest, 0, shape->count);
    }
    for (child /= 2; child > 0; child /= 2) /* the largest subtree first */
        schedule_put(schedule, SCHEDULE_SEND, rank + child, 0, shape->count);
}

const struct allreduce_algorithm allreduce_binomial_tree = {.name = "binomial-tree", SCHEDULED(plan)};
