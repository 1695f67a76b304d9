/* results/stored_campaign.c: reads a campaign to go on with; see stored_campaign.h. */
#include "results/stored_campaign.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "results/store_internal.h"

static const char *keep(struct arena *arena, struct sql_statement *rows, int column)
{
    const char *text = sql_text(rows, column);
    return text ? arena_strdup(arena, text) : NULL;
}

static int find(struct sql *sql, const char *name, struct arena *arena, struct stored_campaign *campaign, int64_t *environment_id,
                struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    if (sql_prepare(
            sql,
            "SELECT campaign_id, file_path, file_text, seed, planned_trial_count, environment_id FROM campaign WHERE name = ? "
            "AND campaign_id NOT IN (SELECT campaign_id FROM confirmation) ORDER BY campaign_id DESC LIMIT 1",
            &rows, err) < 0)
        return -ERR_HOST;
    sql_start(rows);
    sql_put_text(rows, name);
    int found = sql_next(rows, err);
    if (found <= 0)
        return found;
    campaign->campaign_id = sql_integer(rows, 0);
    campaign->file_path = keep(arena, rows, 1);
    campaign->file_text = keep(arena, rows, 2);
    campaign->seed = keep(arena, rows, 3);
    campaign->planned_trial_count = sql_integer(rows, 4);
    *environment_id = sql_integer(rows, 5);
    return 0;
}

/* Rows of `query` about `id`, whose first column counts them all. */
static int rows_about(struct sql *sql, const char *query, int64_t id, struct sql_statement **rows, struct err *err)
{
    if (sql_prepare(sql, query, rows, err) < 0)
        return -ERR_HOST;
    sql_start(*rows);
    sql_put_integer(*rows, id);
    return 0;
}

static int read_variants(struct sql *sql, struct arena *arena, struct stored_campaign *campaign, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    if (rows_about(
            sql,
            "SELECT count(*) OVER (), c.label, coalesce(ac.arm, ''), coalesce(ac.settings_text, c.settings_text) FROM cell c "
            "LEFT JOIN arm_cell ac USING (cell_id) LEFT JOIN arm a ON a.campaign_id = c.campaign_id AND a.name = ac.arm "
            "WHERE c.campaign_id = ? ORDER BY c.number, a.position",
            campaign->campaign_id, &rows, err) < 0)
        return -ERR_HOST;
    struct stored_variant *variants = NULL;
    int found;
    while ((found = sql_next(rows, err)) > 0) {
        if (!variants)
            variants = arena_new_array(arena, struct stored_variant, (size_t)sql_integer(rows, 0));
        variants[campaign->variant_count++] =
            (struct stored_variant){keep(arena, rows, 1), keep(arena, rows, 2), keep(arena, rows, 3)};
    }
    campaign->variants = variants;
    return found;
}

static int read_trials(struct sql *sql, struct arena *arena, struct stored_campaign *campaign, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    if (rows_about(sql,
                   "SELECT count(*) OVER (), t.trial_id, c.number, t.block, t.arm, t.status = 'finished', t.engine FROM trial t "
                   "JOIN cell c "
                   "USING (cell_id) WHERE t.campaign_id = ? ORDER BY t.trial_id",
                   campaign->campaign_id, &rows, err) < 0)
        return -ERR_HOST;
    struct stored_trial *trials = NULL;
    int found;
    while ((found = sql_next(rows, err)) > 0) {
        if (!trials)
            trials = arena_new_array(arena, struct stored_trial, (size_t)sql_integer(rows, 0));
        trials[campaign->trial_count++] = (struct stored_trial){.trial_id = sql_integer(rows, 1),
                                                                .cell = sql_integer(rows, 2),
                                                                .block = sql_integer(rows, 3),
                                                                .arm = keep(arena, rows, 4),
                                                                .finished = sql_integer(rows, 5) != 0,
                                                                .engine = keep(arena, rows, 6)};
    }
    campaign->trials = trials;
    return found;
}

static int read_facts(struct sql *sql, int64_t environment_id, struct arena *arena, struct stored_campaign *campaign,
                      struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *rows = NULL;
    if (rows_about(sql,
                   "SELECT count(*) OVER (), name, value, affects_performance FROM environment_fact WHERE environment_id = ? ORDER "
                   "BY name",
                   environment_id, &rows, err) < 0)
        return -ERR_HOST;
    struct environment_fact *facts = NULL;
    int found;
    while ((found = sql_next(rows, err)) > 0) {
        if (!facts)
            facts = arena_new_array(arena, struct environment_fact, (size_t)sql_integer(rows, 0));
        facts[campaign->fact_count++] =
            (struct environment_fact){keep(arena, rows, 1), keep(arena, rows, 2), sql_integer(rows, 3) != 0};
    }
    campaign->facts = facts;
    return found;
}

int stored_campaign_read(struct store *store, const char *name, struct arena *arena, struct stored_campaign *campaign,
                         struct err *err)
{
    int64_t environment_id = 0;
    *campaign = (struct stored_campaign){0};
    int result = find(store->sql, name, arena, campaign, &environment_id, err);
    if (result < 0 || campaign->campaign_id == 0)
        return result;
    if (read_variants(store->sql, arena, campaign, err) < 0 || read_trials(store->sql, arena, campaign, err) < 0 ||
        read_facts(store->sql, environment_id, arena, campaign, err) < 0)
        return -ERR_HOST;
    return 0;
}
