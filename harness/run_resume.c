/* run_resume.c: `laggard run --resume`: goes on with the database's last campaign of this name. Trials that finished stay; all
 * others run, in the order of the plan. What has changed since then is refused, with a sentence that says what. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "harness/campaign.h"
#include "harness/environment.h"
#include "harness/run_internal.h"
#include "results/store.h"
#include "results/stored_campaign.h"

/* ---- what has changed ---- */

static int line_length(const char *text)
{
    return (int)strcspn(text, "\n");
}

/* The first line in which two texts differ: "line 7 was 'a', and is 'b'". */
static void say_difference(const char *was, const char *is, struct text *out)
{
    int line = 1;
    while (*was && *is && line_length(was) == line_length(is) && strncmp(was, is, (size_t)line_length(was)) == 0) {
        const int length = line_length(was);
        was += length + (was[length] == '\n');
        is += length + (is[length] == '\n');
        line++;
    }
    text_printf(out, "line %d was '%.*s', and is '%.*s'", line, line_length(was), was, line_length(is), is);
}

static const char START_ANEW[] = "run without --resume, or into another database, to begin a new campaign";

static int check_file(const struct run *run, const struct stored_campaign *stored, struct err *err)
{
    char seed[24];
    snprintf(seed, sizeof(seed), "%" PRIu64, run->plan.seed);
    if (strcmp(stored->file_text, run->plan.file_text) != 0) {
        cleanup(text_free) struct text difference = {0};
        say_difference(stored->file_text, run->plan.file_text, &difference);
        return err_set(err, ERR_USAGE, "--resume: %s has changed since campaign %" PRId64 " of %s began: %s; %s",
                       run->plan.file_path, stored->campaign_id, run->db_path, difference.bytes, START_ANEW);
    }
    if (strcmp(stored->seed, seed) != 0)
        return err_set(err, ERR_USAGE, "--resume: campaign %" PRId64 " of %s began with --seed %s, and this is %s; %s",
                       stored->campaign_id, run->db_path, stored->seed, seed, START_ANEW);
    return 0;
}

/* The file is the same, but options and this program's defaults make cells, too. */
static int check_cells(const struct run *run, const struct stored_campaign *stored, struct err *err)
{
    if (stored->variant_count != run->plan.cell_count)
        return err_set(err, ERR_USAGE, "--resume: campaign %" PRId64 " of %s has %d cells, and now there would be %d (--world); %s",
                       stored->campaign_id, run->db_path, stored->variant_count, run->plan.cell_count, START_ANEW);
    for (int c = 0; c < run->plan.cell_count; c++) {
        cleanup(text_free) struct text now = {0}, difference = {0};
        campaign_dump(&run->plan.cells[c].settings, &now);
        if (strcmp(stored->variants[c].settings_text, now.bytes ? now.bytes : "") == 0)
            continue;
        say_difference(stored->variants[c].settings_text, now.bytes ? now.bytes : "", &difference);
        return err_set(err, ERR_USAGE,
                       "--resume: cell %d (%s) of campaign %" PRId64
                       " of %s has other settings now, by an option or by another version of "
                       "laggard: %s; %s",
                       run->plan.cells[c].index, cell_title(&run->plan.cells[c]), stored->campaign_id, run->db_path,
                       difference.bytes, START_ANEW);
    }
    return 0;
}

static const struct environment_fact *fact_named(const struct environment_fact *facts, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (facts[i].affects_performance && strcmp(facts[i].name, name) == 0)
            return &facts[i];
    return NULL;
}

static void say_fact(const char *name, const struct environment_fact *was, const struct environment_fact *is, struct text *out)
{
    const char *before = was && was->value ? was->value : "not known", *now = is && is->value ? is->value : "not known";
    if (strcmp(before, now) != 0)
        text_printf(out, "%s%s was '%s', and is '%s'", out->length > 0 ? "; " : "", name, before, now);
}

/* Facts that affect performance and are not what they were, one after the other; empty: none. */
static void compare_environments(struct run *run, const struct stored_campaign *stored, struct text *out)
{
    const struct environment_fact *facts;
    int count;
    environment_collect(run->arena, 0, 0, NULL, &facts, &count);
    for (int i = 0; i < stored->fact_count; i++)
        say_fact(stored->facts[i].name, &stored->facts[i], fact_named(facts, count, stored->facts[i].name), out);
    for (int i = 0; i < count; i++)
        if (facts[i].affects_performance && !fact_named(stored->facts, stored->fact_count, facts[i].name))
            say_fact(facts[i].name, NULL, &facts[i], out);
}

static int check_environment(struct run *run, const struct stored_campaign *stored, struct err *err)
{
    cleanup(text_free) struct text changes = {0};
    compare_environments(run, stored, &changes);
    if (changes.length == 0)
        return 0;
    if (!run->options.accept_environment)
        return err_set(err, ERR_USAGE,
                       "--resume: this is not what campaign %" PRId64
                       " of %s ran on: %s; --accept-environment goes on all the same "
                       "(trials before and after may then differ for that alone)",
                       stored->campaign_id, run->db_path, changes.bytes);
    run->environment_changes = arena_strdup(run->arena, changes.bytes);
    log_warning("this is not what campaign %" PRId64 " of %s ran on: %s", stored->campaign_id, run->db_path, changes.bytes);
    return 0;
}

/* ---- how far it came ---- */

static bool is_trial(const struct run *run, const struct trial_plan *planned, const struct stored_trial *stored)
{
    const struct cell *cell = &run->plan.cells[planned->cell];
    return stored->cell == cell->index && stored->block == planned->repeat &&
           strcmp(stored->arm, cell->arm ? cell->arm->name : "") == 0;
}

/* Trials by their place in the plan: cell and arm, and repeat. */
static void take_over_trials(struct run *run, const struct stored_campaign *stored)
{
    const int cells = run->plan.cell_count, repeats = cells > 0 ? run->plan.trial_count / cells : 0;
    bool *finished = arena_new_array(run->arena, bool, (size_t)run->plan.trial_count);
    run->replaced = arena_new_array(run->arena, int64_t, (size_t)run->plan.trial_count);
    int *place = arena_new_array(run->arena, int, (size_t)run->plan.trial_count + 1); /* index of the trial + 1 */
    for (int t = 0; t < run->plan.trial_count; t++)
        place[run->plan.trials[t].cell * repeats + run->plan.trials[t].repeat] = t + 1;
    for (int i = 0; i < stored->trial_count; i++) {
        const struct stored_trial *trial = &stored->trials[i];
        const int variants = plan_variants(&run->plan);
        if (trial->cell < 0 || trial->cell >= cells / variants || trial->block < 0 || trial->block >= repeats)
            continue;
        for (int v = 0; v < variants; v++) {
            const int t = place[(trial->cell * variants + v) * repeats + trial->block] - 1;
            if (t < 0 || !is_trial(run, &run->plan.trials[t], trial))
                continue;
            finished[t] = finished[t] || trial->finished;
            run->finished_count += trial->finished;
            if (!trial->finished)
                run->replaced[t] = trial->trial_id;
        }
    }
    run->finished_before = finished;
}

int run_resume(struct run *run, struct err *err)
{
    struct stored_campaign stored = {0};
    int result = 0;
    if (access(run->db_path, F_OK) == 0) {
        result = store_check(run->db_path, err);
        if (result == 0)
            result = run_open_store(run, err);
        if (result == 0)
            result = stored_campaign_read(run->store, run->plan.name, run->arena, &stored, err);
    }
    if (result < 0)
        return result;
    if (stored.campaign_id == 0) {
        log_warning("%s holds no campaign '%s' to go on with: this begins one", run->db_path, run->plan.name);
        return 0;
    }
    result = check_file(run, &stored, err);
    if (result == 0)
        result = check_cells(run, &stored, err);
    if (result == 0)
        result = check_environment(run, &stored, err);
    if (result < 0)
        return result;
    take_over_trials(run, &stored);
    run->resumed_id = stored.campaign_id;
    return 0;
}

int run_resume_store(const struct run *run, struct err *err)
{
    cleanup(text_free) struct text text = {0};
    text_printf(&text, "resumed: %d of %d trials had finished, %d are to run", run->finished_count, run->plan.trial_count,
                run->wanted_count);
    int result = store_event(run->store, run->campaign_id, 0, "resumed", text.bytes, err);
    return result == 0 && run->environment_changes
               ? store_event(run->store, run->campaign_id, 0, "environment", run->environment_changes, err)
               : result;
}
