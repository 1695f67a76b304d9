/* plan_order.c: in which order trials run, and from which seed each draws.
 *
 * A repeat is a block: it holds one trial of every cell, in a random order of its own (Fisher-Yates over the stream (seed, block,
 * 0, ORDER)). A drift of the host - heat, a neighbour, a full disk - then falls on all cells alike and does not pose as a
 * difference between them (Fisher, The Design of Experiments, 1935: blocking and randomisation). The seed of a trial depends on the
 * campaign's seed and the repeat only: all cells of a block draw the same compute times, so that differences between cells within a
 * block are paired differences. */
#include <assert.h>

#include "base/arena.h"
#include "base/rng.h"
#include "campaign_internal.h"

const struct trial_plan *plan_order(struct arena *arena, uint64_t seed, int cell_count, int repeats, int *trial_count)
{
    assert(cell_count >= 1 && repeats >= 1 && (int64_t)cell_count * repeats <= TRIALS_MAX);
    struct trial_plan *trials = arena_new_array(arena, struct trial_plan, (size_t)cell_count * (size_t)repeats);
    for (int repeat = 0; repeat < repeats; repeat++) {
        struct trial_plan *block = trials + (size_t)repeat * (size_t)cell_count;
        struct rng common = rng_stream(seed, (uint32_t)repeat, RNG_ALL_NODES, RNG_COMMON);
        struct rng order = rng_stream(seed, (uint32_t)repeat, 0, RNG_ORDER);
        uint64_t trial_seed = rng_u64(&common);
        for (int i = 0; i < cell_count; i++)
            block[i] = (struct trial_plan){.cell = i, .repeat = repeat, .order = repeat * cell_count + i, .seed = trial_seed};
        for (int i = cell_count - 1; i > 0; i--) {
            int other = (int)rng_below(&order, (uint32_t)i + 1);
            int cell = block[i].cell;
            block[i].cell = block[other].cell;
            block[other].cell = cell;
        }
    }
    *trial_count = cell_count * repeats;
    return trials;
}
