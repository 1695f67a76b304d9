/* run_select.c: which of the campaign's trials a `laggard run` does: of the cells that --only and --confirm name, those of its
 * shard that have not finished before. */
#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"
#include "harness/plan_cell.h"
#include "harness/plan_shard.h"
#include "harness/run_internal.h"

static bool cell_is_asked_for(const struct run *run, int cell)
{
    return (run->only_cell == NOT_GIVEN || plan_same_cell(&run->plan, run->only_cell, cell)) &&
           (!run->flagged || run->flagged[cell]);
}

int run_select(struct run *run, struct err *err)
{
    struct plan_shard shard;
    run->only_cell = NOT_GIVEN;
    int result = run->options.only ? plan_cell_find(&run->plan, "only", run->options.only, &run->only_cell, err) : 0;
    if (result == 0)
        result = plan_shard_parse(run->options.shard, &run->plan, &shard, err);
    if (result < 0)
        return result;
    run->trial_wanted = arena_new_array(run->arena, bool, (size_t)run->plan.trial_count);
    run->cell_wanted = arena_new_array(run->arena, bool, (size_t)run->plan.cell_count);
    run->wanted_count = 0;
    int asked_for = 0;
    for (int t = 0; t < run->plan.trial_count; t++) {
        const struct trial_plan *trial = &run->plan.trials[t];
        if (!cell_is_asked_for(run, trial->cell) || !plan_shard_holds(&shard, trial))
            continue;
        asked_for++;
        if (run->finished_before && run->finished_before[t])
            continue;
        run->trial_wanted[t] = run->cell_wanted[trial->cell] = true;
        run->wanted_count++;
    }
    return asked_for > 0 ? 0
                         : err_set(err, ERR_USAGE, "--shard %s holds no trial of the cell that --only names: leave one of them out",
                                   run->options.shard);
}
