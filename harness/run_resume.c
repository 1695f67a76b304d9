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

enum { LINE_BYTES_SHOWN = 160, BYTES_BEFORE_DIFFERENCE = 40 };

/* A line, or of a long one what is around its byte `at`. */
static void say_line(const char *line, int at, struct text *out)
{
    const int length = line_length(line);
    int from = length > LINE_BYTES_SHOWN && at > BYTES_BEFORE_DIFFERENCE ? at - BYTES_BEFORE_DIFFERENCE : 0;
    int to = length - from > LINE_BYTES_SHOWN ? from + LINE_BYTES_SHOWN : length;
    while (from > 0 && ((unsigned char)line[from] & 0xc0) == 0x80) /* do not cut a code point in two */
        from--;
    while (to < length && ((unsigned char)line[to] & 0xc0) == 0x80)
        to++;
    text_printf(out, "'%s%.*s%s'%s", from > 0 ? "..." : "", to - from, line + from, to < length ? "..." : "",
                line[length] ? "" : " (the end)");
}

/* The first line in which two texts differ: "line 7 was 'a', and is 'b'". */
static void say_difference(const char *was, const char *is, struct text *out)
{
    int line = 1, at = 0;
    while (was[at] && was[at] == is[at]) {
        if (was[at++] != '\n')
            continue;
        was += at;
        is += at;
        at = 0;
        line++;
    }
    text_printf(out, "line %d was ", line);
    say_line(was, at, out);
    text_add(out, ", and is ");
    say_line(is, at, out);
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
        if (strcmp(facts[i].name, name) == 0)
            return &facts[i];
    return NULL;
}

static void say_fact(const char *name, const struct environment_fact *was, const struct environment_fact *is, struct text *out)
{
    const char *before = was && was->value ? was->value : "not known", *now = is && is->value ? is->value : "not known";
    if (strcmp(before, now) != 0)
        text_printf(out, "%s%s was '%s', and is '%s'", out->length > 0 ? "; " : "", name, before, now);
}

/* Two revisions are compared by gates, but do not make one campaign. */
static bool counts(const struct environment_fact *fact)
{
    return fact->affects_performance || strcmp(fact->name, "laggard_revision") == 0;
}

/* Files come one by one, when they have been looked for. */
static bool is_file(const struct environment_fact *fact)
{
    return strncmp(fact->name, RUN_FILE_FACT, strlen(RUN_FILE_FACT)) == 0 ||
           strncmp(fact->name, RUN_PROGRAM_FACT, strlen(RUN_PROGRAM_FACT)) == 0;
}

/* Facts that are not what they were, one after the other; empty: none. */
static void compare_environments(const struct run *run, const struct stored_campaign *stored, struct text *out)
{
    const struct environment_fact *facts;
    int count;
    environment_collect(run->arena, 0, 0, NULL, &facts, &count);
    for (int i = 0; i < stored->fact_count; i++)
        if (counts(&stored->facts[i]) && !is_file(&stored->facts[i]))
            say_fact(stored->facts[i].name, &stored->facts[i], fact_named(facts, count, stored->facts[i].name), out);
    for (int i = 0; i < count; i++)
        if (counts(&facts[i]) && !fact_named(stored->facts, stored->fact_count, facts[i].name))
            say_fact(facts[i].name, NULL, &facts[i], out);
}

static void compare_files(const struct run *run, const struct stored_campaign *stored, const char *kind, struct text *out)
{
    const struct environment_fact *facts;
    int count;
    run_files(run, &facts, &count);
    for (int i = 0; i < count; i++) {
        const struct environment_fact *was = fact_named(stored->facts, stored->fact_count, facts[i].name);
        if (was && strncmp(facts[i].name, kind, strlen(kind)) == 0)
            say_fact(facts[i].name, was, &facts[i], out);
    }
}

/* 0: nothing has changed, or that is accepted. */
static int judge_changes(struct run *run, const struct stored_campaign *stored, const struct text *changes, struct err *err)
{
    if (changes->length == 0)
        return 0;
    if (!run->options.accept_environment)
        return err_set(err, ERR_USAGE,
                       "--resume: this is not what campaign %" PRId64
                       " of %s ran on: %s; --accept-environment goes on all the same "
                       "(trials before and after may then differ for that alone)",
                       stored->campaign_id, run->db_path, changes->bytes);
    run->environment_changes = run->environment_changes
                                   ? arena_printf(run->arena, "%s; %s", run->environment_changes, changes->bytes)
                                   : arena_strdup(run->arena, changes->bytes);
    log_warning("this is not what campaign %" PRId64 " of %s ran on: %s", stored->campaign_id, run->db_path, changes->bytes);
    return 0;
}

static int check_environment(struct run *run, const struct stored_campaign *stored, struct err *err)
{
    cleanup(text_free) struct text changes = {0};
    compare_environments(run, stored, &changes);
    compare_files(run, stored, RUN_FILE_FACT, &changes);
    return judge_changes(run, stored, &changes, err);
}

/* ---- how far it came ---- */

/* The entry of plan.cells that a trial is of; -1: of none. */
static int cell_of(const struct run *run, const struct stored_trial *stored)
{
    const int variants = plan_variants(&run->plan), cells = run->plan.cell_count / variants;
    for (int v = 0; stored->cell >= 0 && stored->cell < cells && v < variants; v++) {
        const int c = (int)stored->cell * variants + v;
        if (strcmp(stored->arm, run->plan.cells[c].arm ? run->plan.cells[c].arm->name : "") == 0)
            return c;
    }
    return -1;
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
        const int c = cell_of(run, trial);
        if (c < 0 || trial->block < 0 || trial->block >= repeats)
            continue;
        const int t = place[c * repeats + trial->block] - 1;
        finished[t] = finished[t] || trial->finished;
        run->finished_count += trial->finished;
        if (!trial->finished)
            run->replaced[t] = trial->trial_id;
    }
    run->finished_before = finished;
}

/* An option, or another state of the host, may choose another engine for what is left. */
static void compare_engines(const struct run *run, struct text *out)
{
    for (int i = 0; i < run->resumed->trial_count && out->length == 0; i++) {
        const struct stored_trial *trial = &run->resumed->trials[i];
        const int c = cell_of(run, trial);
        if (!trial->finished || c < 0 || !run_wants(run, c) || run->plan.cells[c].settings.world == WORLD_VIRTUAL)
            continue;
        const char *now = engine_names[link_survey_of(&run->survey, c)->engine];
        if (strcmp(trial->engine, now) != 0)
            text_printf(out, "the engine of cell %d (%s) was '%s', and is '%s' (--engine)", run->plan.cells[c].index,
                        cell_title(&run->plan.cells[c]), trial->engine, now);
    }
}

int run_resume_check(struct run *run, struct err *err)
{
    cleanup(text_free) struct text changes = {0};
    if (!run->resumed)
        return 0;
    compare_files(run, run->resumed, RUN_PROGRAM_FACT, &changes);
    if (changes.length == 0)
        compare_engines(run, &changes);
    return judge_changes(run, run->resumed, &changes, err);
}

int run_resume(struct run *run, struct err *err)
{
    struct stored_campaign stored = {0};
    int result = store_check(run->db_path, err);
    if (result == 0 && access(run->db_path, F_OK) == 0) {
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
    run->resumed = arena_copy(run->arena, &stored, sizeof(stored));
    return 0;
}

int run_resume_hint(const struct run *run, struct err *err)
{
    struct stored_campaign stored = {0};
    char seed[24];
    int finished = 0;
    int result = stored_campaign_read(run->store, run->plan.name, run->arena, &stored, err);
    if (result < 0 || stored.campaign_id == 0)
        return result;
    snprintf(seed, sizeof(seed), "%" PRIu64, run->plan.seed);
    for (int i = 0; i < stored.trial_count; i++)
        finished += stored.trials[i].finished;
    if (finished < stored.planned_trial_count && strcmp(stored.file_text, run->plan.file_text) == 0 &&
        strcmp(stored.seed, seed) == 0)
        log_warning("campaign %" PRId64 " of %s is of this file, too, and %d of its %" PRId64 " trials finished; this begins "
                    "another one, --resume would go on with that one",
                    stored.campaign_id, run->db_path, finished, stored.planned_trial_count);
    return 0;
}

void run_resume_say(const struct run *run)
{
    if (run->resumed_id == 0 || run->options.quiet)
        return;
    fprintf(stderr, "going on with campaign %" PRId64 " of %s: %d of %d trials %s finished, %d %s to run\n", run->resumed_id,
            run->db_path, run->finished_count, run->plan.trial_count, run->finished_count == 1 ? "has" : "have", run->wanted_count,
            run->wanted_count == 1 ? "is" : "are");
}

int run_resume_store(const struct run *run, struct err *err)
{
    cleanup(text_free) struct text text = {0};
    text_printf(&text, "resumed: %d of %d trials had finished, %d %s to run", run->finished_count, run->plan.trial_count,
                run->wanted_count, run->wanted_count == 1 ? "is" : "are");
    int result = store_event(run->store, run->campaign_id, 0, "resumed", text.bytes, err);
    return result == 0 && run->environment_changes
               ? store_event(run->store, run->campaign_id, 0, "environment", run->environment_changes, err)
               : result;
}
