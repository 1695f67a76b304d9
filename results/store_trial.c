/* results/store_trial.c: a trial's row at its start and at its end. Both are one transaction; the end brings everything else with
 * it. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "results/digest.h"
#include "results/store_internal.h"

enum { UUID_BYTES = 37 };

/* RFC 9562, version 4: random. */
static int make_uuid(char text[static UUID_BYTES], struct err *err)
{
    uint8_t b[16];
    if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b))
        return err_set_errno(err, ERR_HOST, errno, "cannot draw the random identity of a trial");
    b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
    b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
    snprintf(text, UUID_BYTES, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2], b[3], b[4],
             b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
    return 0;
}

static int find_cell(struct store *store, int64_t campaign_id, int cell, int64_t *cell_id, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *query = NULL;
    if (sql_prepare(store->sql, "SELECT cell_id FROM cell WHERE campaign_id = ? AND number = ?", &query, err) < 0)
        return -ERR_HOST;
    sql_start(query);
    sql_put_integer(query, campaign_id);
    sql_put_integer(query, cell);
    int found = sql_next(query, err);
    if (found == 0)
        return err_set(err, ERR_HOST, "cannot store a trial in '%s': campaign %lld has no cell %d", sql_path(store->sql),
                       (long long)campaign_id, cell);
    if (found > 0)
        *cell_id = sql_integer(query, 0);
    return found < 0 ? found : 0;
}

static int store_nodes(struct store *store, int64_t trial_id, const struct trial_begin *begin, struct err *err)
{
    const struct topology *topology = begin->topology;
    for (int i = 0; i < topology->place_count; i++) {
        const struct place *place = &topology->places[i];
        char address[16];
        snprintf(address, sizeof(address), "%u.%u.%u.%u", place->address >> 24, place->address >> 16 & 255,
                 place->address >> 8 & 255, place->address & 255);
        struct sql_statement *row = store_row(store, ROW_NODE, err);
        if (!row)
            return -ERR_HOST;
        sql_put_integer(row, trial_id);
        sql_put_integer(row, i);
        sql_put_text(row, place->name);
        sql_put_text(row, place->kind == PLACE_ROUTER ? "router" : role_names[i < begin->workers ? ROLE_WORKER : ROLE_SERVER]);
        sql_put_text(row, place->address ? address : NULL);
        if (sql_run(row, err) < 0)
            return -ERR_HOST;
    }
    return 0;
}

static int store_prediction(struct store *store, int64_t trial_id, const char *basis, int size_position,
                            const struct prediction *prediction, struct err *err)
{
    bool defined = prediction->available && prediction->round_ns > 0 && prediction->round_ns < 9e18;
    const char *reason = prediction->available   ? "the formula gave no finite time"
                         : prediction->reason[0] ? prediction->reason
                                                 : "this scheme has no prediction";
    struct sql_statement *row = store_row(store, ROW_PREDICTION, err);
    if (!row)
        return -ERR_HOST;
    sql_put_integer(row, trial_id);
    sql_put_text(row, basis);
    sql_put_integer(row, size_position);
    sql_put_text(row, prediction->method);
    const double parts[] = {prediction->round_ns, prediction->compute_ns, prediction->latency_ns, prediction->bandwidth_ns,
                            prediction->reduce_ns};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (defined)
            sql_put_ns(row, parts[i]);
        else
            sql_put_null(row);
    }
    sql_put_text(row, defined ? NULL : reason);
    return sql_run(row, err);
}

/* One, or one a message size. */
static int store_predictions(struct store *store, int64_t trial_id, const char *basis, const struct prediction *predictions,
                             int size_count, struct err *err)
{
    int result = 0;
    for (int i = 0; predictions && result == 0 && i < (size_count > 0 ? size_count : 1); i++)
        result = store_prediction(store, trial_id, basis, i, &predictions[i], err);
    return result;
}

static int store_sizes(struct store *store, int64_t trial_id, const struct trial_begin *begin, struct err *err)
{
    for (int i = 0; i < begin->size_count; i++) {
        struct sql_statement *row = store_row(store, ROW_MESSAGE_SIZE, err);
        if (!row)
            return -ERR_HOST;
        sql_put_integer(row, trial_id);
        sql_put_integer(row, i);
        sql_put_integer(row, (int64_t)begin->sizes[i].payload_bytes);
        sql_put_integer(row, begin->sizes[i].first_round);
        sql_put_integer(row, begin->sizes[i].round_count);
        if (sql_run(row, err) < 0)
            return -ERR_HOST;
    }
    return 0;
}

int store_trial_begin(struct store *store, const struct trial_begin *begin, int64_t *trial_id, struct err *err)
{
    char uuid[UUID_BYTES], seed[24];
    int variants = begin->arm_count > 0 ? begin->arm_count : 1;
    int64_t cell_id = 0;
    cleanup(sql_rollback) struct sql_transaction transaction = {0};
    if (store_lock_verify(store->lock, sql_path(store->sql), err) < 0 || make_uuid(uuid, err) < 0 ||
        sql_begin(store->sql, &transaction, err) < 0 ||
        find_cell(store, begin->campaign_id, begin->plan->cell / variants, &cell_id, err) < 0 ||
        (begin->replaces > 0 && store_replace(store, begin->replaces, err) < 0))
        return -ERR_HOST;
    snprintf(seed, sizeof(seed), "%" PRIu64, begin->plan->seed);
    struct sql_statement *row = store_row(store, ROW_TRIAL, err);
    if (!row)
        return -ERR_HOST;
    sql_put_text(row, uuid);
    sql_put_integer(row, begin->campaign_id);
    sql_put_integer(row, cell_id);
    sql_put_text(row, begin->arm ? begin->arm : "");
    sql_put_integer(row, begin->plan->repeat);
    sql_put_integer(row, begin->plan->order);
    sql_put_text(row, seed);
    sql_put_text(row, world_names[begin->world]);
    sql_put_text(row, engine_names[begin->engine]);
    sql_put_text(row, trial_status_names[TRIAL_RUNNING]);
    sql_put_integer(row, begin->started_unix_ns);
    sql_put_integer(row, begin->workers);
    sql_put_integer(row, begin->servers);
    sql_put_unsigned_or_null(row, begin->payload_bytes, begin->payload_bytes > 0);
    sql_put_integer(row, begin->warmup_rounds);
    sql_put_integer(row, begin->topology->mtu);
    sql_put_text(row, begin->topology->tcp.congestion_control);
    if (sql_run(row, err) < 0)
        return -ERR_HOST;
    int64_t id = sql_last_row_id(store->sql);
    if (store_nodes(store, id, begin, err) < 0 || store_links_asked(store, id, begin->topology, err) < 0 ||
        store_sizes(store, id, begin, err) < 0 ||
        store_predictions(store, id, "asked", begin->predicted, begin->size_count, err) < 0 || sql_commit(&transaction, err) < 0)
        return -ERR_HOST;
    *trial_id = id;
    return 0;
}

/* SHA-256 over the content: what happened, without identities and wall times. The names of the columns are part of it, so that a
 * digest tells which definition it follows. */
static void content_digest(const struct trial_end *end, char hex[static DIGEST_HEX_BYTES])
{
    cleanup(digest_cleanup) struct digest *digest = digest_new();
    digest_add_text(digest, "round: round, warmup, begin_ns, end_ns, slowest_node");
    for (int i = 0; i < end->round_count; i++) {
        const struct round_summary *round = &end->rounds[i];
        const int64_t row[] = {round->round, round->warmup, round->begin_ns, round->end_ns, round->last_node};
        digest_add_integers(digest, row, sizeof(row) / sizeof(row[0]));
    }
    for (int i = 0; i < end->size_count; i++) {
        const struct message_size *size = &end->sizes[i];
        const int64_t row[] = {i, (int64_t)size->payload_bytes, size->first_round, size->round_count};
        digest_add_text(digest, "message_size: size_position, payload_bytes, first_round, round_count");
        digest_add_integers(digest, row, sizeof(row) / sizeof(row[0]));
    }
    digest_add_text(digest, "span: node, round, kind, peer, flags, begin_ns, end_ns, moved_bytes");
    for (int node = 0; end->nodes && node < end->node_count; node++)
        for (uint32_t i = 0; i < end->nodes[node].span_count; i++) {
            const struct span_record *span = &end->nodes[node].spans[i];
            const int64_t row[] = {node,        span->round,    span->kind,   span->peer == NO_PEER ? -1 : (int64_t)span->peer,
                                   span->flags, span->begin_ns, span->end_ns, (int64_t)span->bytes};
            digest_add_integers(digest, row, sizeof(row) / sizeof(row[0]));
        }
    digest_add_text(digest, "evaluation: node, round, at_ns, sample_count, loss, accuracy_ratio");
    for (int node = 0; end->nodes && node < end->node_count; node++)
        for (uint32_t i = 0; i < end->nodes[node].evaluation_count; i++) {
            const struct evaluation_record *evaluation = &end->nodes[node].evaluations[i];
            const int64_t row[] = {node, evaluation->round, evaluation->at_ns, (int64_t)evaluation->sample_count};
            digest_add_integers(digest, row, sizeof(row) / sizeof(row[0]));
            digest_add_real(digest, evaluation->loss);
            digest_add_real(digest, evaluation->accuracy);
        }
    digest_hex(digest, hex);
}

static int update_trial(struct store *store, int64_t trial_id, const struct trial_end *end, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *update = NULL;
    if (sql_prepare(store->sql,
                    "UPDATE trial SET status = ?, reason = ?, fidelity = ?, fidelity_reason = ?, duration_ns = ?, setup_ns = ?, "
                    "fabric_ns = ?, teardown_ns = ?, parameter_count = ?, stolen_ratio = ?, pressure_some_ratio = ?, "
                    "pressure_full_ratio = ?, digest = ? "
                    "WHERE trial_id = ? AND status = 'running'",
                    &update, err) < 0)
        return -ERR_HOST;
    bool finished = end->status == TRIAL_FINISHED, has_content = end->round_count > 0 || end->nodes;
    char digest[DIGEST_HEX_BYTES];
    if (has_content)
        content_digest(end, digest);
    sql_start(update);
    sql_put_text(update, trial_status_names[end->status]);
    sql_put_text(update, end->reason);
    sql_put_text(update, finished ? fidelity_names[end->fidelity] : NULL); /* a trial that did not finish has no verdict */
    sql_put_text(update, end->fidelity_reason);
    sql_put_unsigned_or_null(update, (uint64_t)end->duration_ns, finished);
    sql_put_unsigned_or_null(update, (uint64_t)end->setup_ns, finished);
    sql_put_unsigned_or_null(update, (uint64_t)end->fabric_ns, end->fabric_ns > 0);
    sql_put_unsigned_or_null(update, (uint64_t)end->teardown_ns, end->teardown_ns > 0);
    sql_put_unsigned_or_null(update, (uint64_t)end->parameter_count, end->parameter_count > 0);
    const struct processor_load unknown = {NAN, NAN, NAN}, *load = end->load ? end->load : &unknown;
    sql_put_real(update, load->stolen_share);
    sql_put_real(update, load->pressure_some_share);
    sql_put_real(update, load->pressure_full_share);
    sql_put_text(update, has_content ? digest : NULL);
    sql_put_integer(update, trial_id);
    if (sql_run(update, err) < 0)
        return -ERR_HOST;
    if (sql_changes(store->sql) != 1)
        return err_set(err, ERR_HOST, "cannot store the end of trial %lld in '%s': it is not running there", (long long)trial_id,
                       sql_path(store->sql));
    return 0;
}

/* Only now the real time of a gradient is known: the prediction of the trial's start gives way. */
static int replace_predictions(struct store *store, int64_t trial_id, const struct trial_end *end, struct err *err)
{
    if (!end->predicted)
        return 0;
    cleanup(sql_finish_cleanup) struct sql_statement *drop = NULL;
    if (sql_prepare(store->sql, "DELETE FROM prediction WHERE trial_id = ? AND basis = 'asked'", &drop, err) < 0)
        return -ERR_HOST;
    sql_start(drop);
    sql_put_integer(drop, trial_id);
    if (sql_run(drop, err) < 0)
        return -ERR_HOST;
    return store_predictions(store, trial_id, "asked", end->predicted, end->size_count, err);
}

int store_trial_end(struct store *store, int64_t trial_id, const struct trial_end *end, struct err *err)
{
    cleanup(sql_rollback) struct sql_transaction transaction = {0};
    if (sql_begin(store->sql, &transaction, err) < 0 || update_trial(store, trial_id, end, err) < 0 ||
        store_links_seen(store, trial_id, end, err) < 0 || store_nodes_seen(store, trial_id, end, err) < 0 ||
        store_span_summaries(store, trial_id, end, err) < 0 || store_processes(store, trial_id, end, err) < 0 ||
        store_samples(store, trial_id, end, err) < 0 || store_events_seen(store, trial_id, end, err) < 0 ||
        store_traffic(store, trial_id, end, err) < 0 || store_cpu_limits(store, trial_id, end, err) < 0 ||
        replace_predictions(store, trial_id, end, err) < 0 ||
        store_predictions(store, trial_id, "measured", end->predicted_measured, end->size_count, err) < 0 ||
        (end->status == TRIAL_FINISHED && store_metrics(store, trial_id, end, err) < 0) || sql_commit(&transaction, err) < 0)
        return -ERR_HOST;
    sql_forget_pages(store->sql); /* or a long campaign would hold as much of its database as the cache may take */
    return 0;
}
