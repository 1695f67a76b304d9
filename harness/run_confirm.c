/* run_confirm.c: `laggard run --confirm`: which cells of the last campaign a gate has flagged, to be run again with other random
 * draws. The rerun is a campaign of its own in the same database, tied to the first by a row of the table confirmation. */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "harness/campaign.h"
#include "harness/gate_run.h"
#include "harness/run_internal.h"

static int check_same_campaign(const struct run *run, const struct gate_data *data, struct err *err)
{
    if (strcmp(data->name, run->plan.name) == 0 && strcmp(data->file_text, run->plan.file_text) == 0)
        return 0;
    return err_set(
        err, ERR_USAGE,
        "--confirm: the last campaign in %s is not of %s as it is now, but of %s (campaign %s); run it without --confirm first",
        run->db_path, run->plan.file_path, data->file_path, data->name);
}

/* Other draws than the first time's: the same ones would repeat what they brought. */
static uint64_t other_seed(uint64_t seed, int64_t campaign_id)
{
    return (seed ^ (UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)campaign_id)) >> 1;
}

int run_confirm(struct run *run, struct err *err)
{
    struct gate_result result;
    const struct gate_asked asked = {
        .db = run->db_path, .baseline_db = run->options.baseline, .thresholds = run->options.thresholds};
    int status =
        run->options.only ? err_set(err, ERR_USAGE, "--confirm runs the cells that a gate has flagged: leave --only out") : 0;
    if (status == 0)
        status = gate_run(&asked, run->arena, &result, err);
    if (status == 0)
        status = check_same_campaign(run, result.question->campaign, err);
    if (status != 0)
        return status;
    run->confirmed_id = result.question->campaign->campaign_id;
    uint64_t seed = other_seed(run->plan.seed, run->confirmed_id);
    const struct campaign_overrides overrides = {
        .seed = &seed, .world = run->options.world != NOT_GIVEN ? campaign_world_choices[run->options.world] : NULL};
    status = campaign_load(run->plan.file_path, &overrides, run->arena, &run->plan, err);
    if (status < 0)
        return status;
    bool *flagged = arena_new_array(run->arena, bool, (size_t)run->plan.cell_count);
    run->flagged_count = 0;
    for (int c = 0; c < run->plan.cell_count; c++) {
        for (int i = 0; i < result.row_count; i++)
            if (result.rows[i].verdict == GATE_UNCONFIRMED && strcmp(result.rows[i].label, run->plan.cells[c].label) == 0)
                flagged[c] = true;
        run->flagged_count += flagged[c];
    }
    run->flagged = flagged;
    return 0;
}
