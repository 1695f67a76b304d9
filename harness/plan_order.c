/* plan_order.c: in which order trials run, and from which seed each draws.
 *
 * A repeat is a block: it holds one trial of every cell, in a random order of its own (Fisher-Yates over the stream (seed, block,
 * 0, ORDER)). A drift of the host - heat, a neighbour, a full disk - then falls on all cells alike and does not pose as a
 * difference between them (Fisher, The Design of Experiments, 1935: blocking and randomisation). Arms of a cell follow each other
 * at once, in a random order drawn from the same stream: what is compared is as close in time as can be. The seed of a trial
 * depends on the campaign's seed and the repeat only: all cells of a block draw the same compute times, so that differences between
 * cells within a block are paired differences. */
#include <assert.h>

#include "base/arena.h"
#include "base/rng.h"
#include "campaign_internal.h"

static void shuffle(struct rng *order, int *list, int count)
{
    for (int i = 0; i < count; i++)
        list[i] = i;
    for (int i = count - 1; i > 0; i--) {
        int other = (int)rng_below(order, (uint32_t)i + 1);
        int kept = list[i];
        list[i] = list[other];
        list[other] = kept;
    }
}

const struct trial_plan *plan_order(struct arena *arena, uint64_t seed, int cell_count, int arm_count, int repeats,
                                    int *trial_count)
{
    int block_size = cell_count * arm_count;
    assert(cell_count >= 1 && arm_count >= 1 && repeats >= 1 && (int64_t)block_size * repeats <= TRIALS_MAX);
    struct trial_plan *trials = arena_new_array(arena, struct trial_plan, (size_t)block_size * (size_t)repeats);
    int *cells = arena_new_array(arena, int, (size_t)cell_count), *arms = arena_new_array(arena, int, (size_t)arm_count);
    for (int repeat = 0; repeat < repeats; repeat++) {
        struct trial_plan *next = trials + (size_t)repeat * (size_t)block_size;
        struct rng common = rng_stream(seed, (uint32_t)repeat, RNG_ALL_NODES, RNG_COMMON);
        struct rng order = rng_stream(seed, (uint32_t)repeat, 0, RNG_ORDER);
        uint64_t trial_seed = rng_u64(&common);
        shuffle(&order, cells, cell_count);
        for (int c = 0; c < cell_count; c++) {
            shuffle(&order, arms, arm_count);
            for (int a = 0; a < arm_count; a++, next++)
                *next = (struct trial_plan){
                    .cell = cells[c] * arm_count + arms[a], .repeat = repeat, .order = (int)(next - trials), .seed = trial_seed};
        }
    }
    *trial_count = block_size * repeats;
    return trials;
}
