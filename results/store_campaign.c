/* results/store_campaign.c: what a campaign writes before its first trial: the host, the file, the cells. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "results/digest.h"
#include "results/store_internal.h"

static int compare_facts(const void *a, const void *b)
{
    const struct environment_fact *const *left = a, *const *right = b;
    return strcmp((*left)->name, (*right)->name);
}

/* Over the facts that affect performance, by name, so that the order in which they were collected does not matter. */
static int fingerprint(const struct environment_fact *facts, int count, char hex[static DIGEST_HEX_BYTES], struct err *err)
{
    cleanup(free_pointer) const struct environment_fact **sorted = calloc((size_t)count + 1, sizeof(struct environment_fact *));
    if (!sorted)
        return err_set(err, ERR_HOST, "cannot store the campaign: out of memory");
    for (int i = 0; i < count; i++)
        sorted[i] = &facts[i];
    qsort(sorted, (size_t)count, sizeof(struct environment_fact *), compare_facts);
    cleanup(digest_cleanup) struct digest *digest = digest_new();
    for (int i = 0; i < count; i++) {
        if (!sorted[i]->affects_performance)
            continue;
        digest_add_text(digest, sorted[i]->name);
        digest_add_integer(digest, sorted[i]->value != NULL);
        digest_add_text(digest, sorted[i]->value ? sorted[i]->value : "");
    }
    digest_hex(digest, hex);
    return 0;
}

static int store_environment(struct store *store, const struct environment_fact *facts, int count, int64_t *id, struct err *err)
{
    char hex[DIGEST_HEX_BYTES];
    if (fingerprint(facts, count, hex, err) < 0)
        return -ERR_HOST;
    struct sql_statement *row = store_row(store, ROW_ENVIRONMENT, err);
    if (!row)
        return -ERR_HOST;
    sql_put_text(row, hex);
    if (sql_run(row, err) < 0)
        return -ERR_HOST;
    *id = sql_last_row_id(store->sql);
    for (int i = 0; i < count; i++) {
        if (!(row = store_row(store, ROW_ENVIRONMENT_FACT, err)))
            return -ERR_HOST;
        sql_put_integer(row, *id);
        sql_put_text(row, facts[i].name);
        sql_put_text(row, facts[i].value);
        sql_put_integer(row, facts[i].affects_performance);
        if (sql_run(row, err) < 0)
            return err_wrap(err, "the fact '%s' of this host", facts[i].name);
    }
    return 0;
}

/* The JSON object that the views show as `settings`. */
static void spell_settings(const struct cell *cell, struct text *out)
{
    struct json json = {.out = out};
    json_begin_object(&json, NULL);
    for (int i = 0; i < cell->swept_count; i++)
        json_string(&json, cell->swept[i].path, cell->swept[i].text);
    json_end_object(&json);
}

static int store_cell(struct store *store, int64_t campaign_id, const struct cell *cell, const char *settings_text, int64_t *id,
                      struct err *err)
{
    cleanup(text_free) struct text settings = {0};
    spell_settings(cell, &settings);
    struct sql_statement *row = store_row(store, ROW_CELL, err);
    if (!row)
        return -ERR_HOST;
    sql_put_integer(row, campaign_id);
    sql_put_integer(row, cell->index);
    sql_put_text(row, cell->label);
    sql_put_text(row, cell->settings.scheme.name);
    sql_put_integer(row, cell->settings.workers);
    sql_put_text(row, settings.bytes);
    sql_put_text(row, settings_text);
    if (sql_run(row, err) < 0)
        return -ERR_HOST;
    int64_t cell_id = *id = sql_last_row_id(store->sql);
    for (int i = 0; i < cell->swept_count; i++) {
        if (!(row = store_row(store, ROW_CELL_SETTING, err)))
            return -ERR_HOST;
        sql_put_integer(row, cell_id);
        sql_put_integer(row, i);
        sql_put_text(row, cell->swept[i].path);
        sql_put_text(row, cell->swept[i].text);
        if (sql_run(row, err) < 0)
            return err_wrap(err, "the cell '%s'", cell->label);
    }
    return 0;
}

static int store_arms(struct store *store, int64_t campaign_id, const struct plan *plan, struct err *err)
{
    for (int i = 0; i < plan->arm_count; i++) {
        struct sql_statement *row = store_row(store, ROW_ARM, err);
        if (!row)
            return -ERR_HOST;
        sql_put_integer(row, campaign_id);
        sql_put_integer(row, i);
        sql_put_text(row, plan->arms[i].name);
        sql_put_text(row, plan->arms[i].text);
        if (sql_run(row, err) < 0)
            return err_wrap(err, "the arm '%s'", plan->arms[i].name);
    }
    return 0;
}

/* A cell is one row; what it is under each of its arms stands in arm_cell. */
static int store_cells(struct store *store, int64_t campaign_id, const struct plan *plan, const char *const *settings_text,
                       struct err *err)
{
    int64_t cell_id = 0;
    for (int i = 0; i < plan->cell_count; i++) {
        int arm = i % plan_variants(plan);
        if (arm == 0 && store_cell(store, campaign_id, &plan->cells[i], settings_text[i], &cell_id, err) < 0)
            return -ERR_HOST;
        if (plan->arm_count == 0)
            continue;
        struct sql_statement *row = store_row(store, ROW_ARM_CELL, err);
        if (!row)
            return -ERR_HOST;
        sql_put_integer(row, cell_id);
        sql_put_text(row, plan->arms[arm].name);
        sql_put_text(row, settings_text[i]);
        if (sql_run(row, err) < 0)
            return err_wrap(err, "the cell '%s', arm '%s'", plan->cells[i].label, plan->arms[arm].name);
    }
    return 0;
}

int store_campaign(struct store *store, const struct plan *plan, const char *const *cell_settings_text,
                   const struct environment_fact *facts, int fact_count, int64_t *campaign_id, struct err *err)
{
    cleanup(sql_rollback) struct sql_transaction transaction = {0};
    int64_t environment_id = 0;
    if (sql_begin(store->sql, &transaction, err) < 0 || store_environment(store, facts, fact_count, &environment_id, err) < 0)
        return -ERR_HOST;
    char sha256[DIGEST_HEX_BYTES], seed[24];
    digest_of_text(plan->file_text, sha256);
    snprintf(seed, sizeof(seed), "%" PRIu64, plan->seed);
    struct sql_statement *row = store_row(store, ROW_CAMPAIGN, err);
    if (!row)
        return -ERR_HOST;
    sql_put_text(row, plan->name);
    sql_put_text(row, plan->file_path);
    sql_put_text(row, plan->file_text);
    sql_put_text(row, sha256);
    sql_put_text(row, seed);
    sql_put_integer(row, plan->trial_count);
    sql_put_integer(row, clock_wall_ns());
    sql_put_integer(row, environment_id);
    if (sql_run(row, err) < 0)
        return -ERR_HOST;
    int64_t id = sql_last_row_id(store->sql);
    if (store_arms(store, id, plan, err) < 0 || store_cells(store, id, plan, cell_settings_text, err) < 0)
        return -ERR_HOST;
    if (sql_commit(&transaction, err) < 0)
        return -ERR_HOST;
    *campaign_id = id;
    return 0;
}

int store_confirms(struct store *store, int64_t campaign_id, int64_t confirmed_id, struct err *err)
{
    struct sql_statement *row = store_row(store, ROW_CONFIRMATION, err);
    if (!row)
        return -ERR_HOST;
    sql_put_integer(row, campaign_id);
    sql_put_integer(row, confirmed_id);
    return sql_run(row, err);
}
