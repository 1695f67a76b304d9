/* agents/collectives/halving_doubling.c: reduce-scatter by recursive halving, then all-gather by recursive doubling.
 *
 * Source: R. Rabenseifner, "Optimization of collective reduction operations", ICCS 2004.
 *
 * Among a power of two of ranks, p (schedule_fold.c), the vector is cut into p chunks. Step m = p/2 .. 1: a rank owns the chunks of
 * a block of 2m; it sends the half that its partner, rank XOR m, will own, and adds what comes to its own half. Then each owns one
 * chunk of the sum, and the steps run backwards: m = 1 .. p/2 exchange the halves again, in their places. Each of the p sends
 * 2(p-1)/p S. A chunk's sum is made once and copied: all have the same bits.
 *
 * Example, N = 4, rank 1: sends chunks 2, 3 to rank 3, adds its 0, 1; sends chunk 0 to rank 0, adds its 1: chunk 1 is done; then
 * gives 1 for 0 to rank 0, and 0, 1 for 2, 3 to rank 3. */
#include "agents/collectives/schedule.h"

/* Chunks [first, first + chunks) of p. */
static struct allreduce_range block(size_t count, int power, int first, int chunks)
{
    struct allreduce_range begin = allreduce_cut(0, count, (size_t)power, (size_t)first);
    struct allreduce_range end = allreduce_cut(0, count, (size_t)power, (size_t)(first + chunks - 1));
    return (struct allreduce_range){.first = begin.first, .count = end.first + end.count - begin.first};
}

static void plan(const struct allreduce_shape *shape, int rank, struct schedule *schedule)
{
    const size_t count = shape->count;
    const int power = schedule_fold(shape, rank, schedule);
    for (int mask = power / 2; mask > 0; mask /= 2) {
        const int begin = rank / (2 * mask) * (2 * mask); /* of the block owned so far */
        struct allreduce_range lower = block(count, power, begin, mask), upper = block(count, power, begin + mask, mask);
        struct allreduce_range keep = rank & mask ? upper : lower, give = rank & mask ? lower : upper;
        schedule_put(schedule, SCHEDULE_SEND, rank ^ mask, give.first, give.count);
        schedule_put(schedule, SCHEDULE_ADD, rank ^ mask, keep.first, keep.count);
    }
    for (int mask = 1; mask < power; mask *= 2) {
        const int begin = rank / (2 * mask) * (2 * mask);
        struct allreduce_range lower = block(count, power, begin, mask), upper = block(count, power, begin + mask, mask);
        struct allreduce_range have = rank & mask ? upper : lower, want = rank & mask ? lower : upper;
        schedule_put(schedule, SCHEDULE_SEND, rank ^ mask, have.first, have.count);
        schedule_put(schedule, SCHEDULE_PLACE, rank ^ mask, want.first, want.count);
    }
    schedule_unfold(shape, rank, power, schedule);
}

const struct allreduce_algorithm allreduce_halving_doubling = {.name = "halving-doubling", SCHEDULED(plan)};
