/* results/store_nodes.c: what the nodes reported: rounds, spans, evaluations, counters. Spans are the bulk of every database. */
#include <math.h>

#include "base/err.h"
#include "results/digest.h"
#include "results/store_internal.h"

static void put_round(struct sql_statement *row, const struct store_bulk *bulk, uint32_t i)
{
    const struct round_summary *round = (const struct round_summary *)bulk->records + i;
    sql_put_integer(row, bulk->trial_id);
    sql_put_integer(row, round->round);
    sql_put_integer(row, round->warmup);
    sql_put_integer(row, round->begin_ns);
    sql_put_integer(row, round->end_ns);
    sql_put_integer(row, round->last_node);
}

static void put_held(struct sql_statement *row, const struct store_bulk *bulk, uint32_t i)
{
    const struct round_record *round = (const struct round_record *)bulk->records + i;
    sql_put_integer(row, bulk->trial_id);
    sql_put_integer(row, bulk->node);
    sql_put_integer(row, round->round);
    sql_put_integer(row, round->held_ns);
}

static void put_span(struct sql_statement *row, const struct store_bulk *bulk, uint32_t i)
{
    const struct span_record *span = (const struct span_record *)bulk->records + i;
    sql_put_integer(row, bulk->trial_id);
    sql_put_integer(row, bulk->node);
    sql_put_integer(row, span->round);
    sql_put_integer(row, span->kind);
    if (span->peer == NO_PEER)
        sql_put_null(row);
    else
        sql_put_integer(row, span->peer);
    sql_put_integer(row, span->flags);
    sql_put_integer(row, span->begin_ns);
    sql_put_integer(row, span->end_ns);
    sql_put_unsigned(row, span->bytes);
}

static void put_gradient(struct sql_statement *row, const struct store_bulk *bulk, uint32_t i)
{
    const struct gradient_record *gradient = (const struct gradient_record *)bulk->records + i;
    sql_put_integer(row, bulk->trial_id);
    sql_put_integer(row, bulk->node);
    sql_put_integer(row, i);
    sql_put_integer(row, gradient->round);
    sql_put_integer(row, gradient->worker);
    sql_put_unsigned(row, gradient->step);
    sql_put_integer(row, gradient->staleness);
    sql_put_integer(row, gradient->order);
    sql_put_text(row, gradient_fate_names[gradient->fate]);
    sql_put_integer(row, gradient->arrived_ns);
}

static int store_rounds(struct store *store, int64_t trial_id, const struct trial_end *end, struct err *err)
{
    const struct store_bulk bulk = {.trial_id = trial_id,
                                    .node = -1,
                                    .records = end->rounds,
                                    .count = (uint32_t)end->round_count,
                                    .put = put_round,
                                    .name = "round"};
    return store_bulk(store, ROW_ROUND, &bulk, err);
}

static int store_records(struct store *store, int64_t trial_id, int node, const struct node_result *result, bool without_held,
                         struct err *err)
{
    struct store_bulk bulk = {.trial_id = trial_id, .node = node};
    if (!without_held) {
        bulk.records = result->rounds, bulk.count = result->round_count, bulk.put = put_held, bulk.name = "held round";
        if (store_bulk(store, ROW_ROUND_HELD, &bulk, err) < 0)
            return -ERR_HOST;
        bulk.records = result->gradients, bulk.count = result->gradient_count, bulk.put = put_gradient, bulk.name = "gradient";
        if (store_bulk(store, ROW_GRADIENT, &bulk, err) < 0)
            return -ERR_HOST;
    }
    bulk.records = result->spans, bulk.count = result->span_count, bulk.put = put_span, bulk.name = "span";
    return store_bulk(store, ROW_SPAN, &bulk, err);
}

static const char *why_undefined(double loss, double accuracy)
{
    if (isfinite(loss) && isfinite(accuracy))
        return NULL;
    return isfinite(loss) ? "the accuracy is not a number" : "the loss is not a finite number: training diverged";
}

static int store_evaluations(struct store *store, int64_t trial_id, int node, const struct node_result *result, struct err *err)
{
    for (uint32_t i = 0; i < result->evaluation_count; i++) {
        const struct evaluation_record *evaluation = &result->evaluations[i];
        struct sql_statement *row = store_row(store, ROW_EVALUATION, err);
        if (!row)
            return -ERR_HOST;
        sql_put_integer(row, trial_id);
        sql_put_integer(row, node);
        sql_put_integer(row, evaluation->round);
        sql_put_integer(row, evaluation->at_ns);
        sql_put_real(row, evaluation->loss);
        sql_put_real(row, evaluation->accuracy);
        sql_put_unsigned(row, evaluation->sample_count);
        sql_put_text(row, why_undefined(evaluation->loss, evaluation->accuracy));
        if (sql_run(row, err) < 0)
            return err_wrap(err, "the evaluation of node %d after round %u", node, evaluation->round);
    }
    return 0;
}

static int store_node_counters(struct store *store, int64_t trial_id, int node, const struct node_result *result, struct err *err)
{
    const struct node_counters *counters = &result->counters;
    struct sql_statement *row = store_row(store, ROW_NODE_COUNTER, err);
    if (!row)
        return -ERR_HOST;
    char model[DIGEST_HEX_BYTES];
    if (result->model_sha256)
        digest_spell(result->model_sha256, model);
    sql_put_integer(row, trial_id);
    sql_put_integer(row, node);
    sql_put_unsigned(row, counters->overruns);
    sql_put_unsigned(row, counters->compute_tasks);
    sql_put_ns(row, counters->gradient_mean_ns > 0 ? counters->gradient_mean_ns : NAN);
    sql_put_ns(row, result->idle_gradient_ns > 0 ? result->idle_gradient_ns : NAN);
    sql_put_unsigned(row, counters->sent_payload_bytes);
    sql_put_unsigned(row, counters->received_payload_bytes);
    sql_put_unsigned(row, counters->sent_messages);
    sql_put_unsigned(row, counters->received_messages);
    sql_put_unsigned(row, counters->discarded_messages);
    sql_put_unsigned(row, counters->tcp_retransmits);
    sql_put_unsigned(row, counters->tcp_timeouts);
    sql_put_unsigned(row, counters->timer_late_count);
    sql_put_integer(row, counters->timer_late_max_ns);
    sql_put_unsigned(row, counters->spans_lost);
    sql_put_unsigned(row, counters->samples_lost);
    sql_put_unsigned(row, counters->checks);
    sql_put_unsigned(row, counters->check_failures);
    sql_put_unsigned_or_null(row, counters->peak_rss_bytes, counters->peak_rss_bytes > 0);
    sql_put_unsigned_or_null(row, counters->private_bytes, counters->private_bytes > 0);
    const int64_t processor[] = {counters->loop_busy_ns, counters->loop_wait_ns, counters->compute_busy_ns,
                                 counters->compute_wait_ns};
    for (size_t i = 0; i < sizeof(processor) / sizeof(processor[0]); i++)
        sql_put_unsigned_or_null(row, (uint64_t)processor[i], processor[i] >= 0);
    sql_put_text(row, result->blas && result->blas[0] ? result->blas : NULL);
    sql_put_text(row, result->model_sha256 ? model : NULL);
    return sql_run(row, err);
}

int store_nodes_seen(struct store *store, int64_t trial_id, const struct trial_end *end, struct err *err)
{
    if (store_rounds(store, trial_id, end, err) < 0)
        return -ERR_HOST;
    for (int node = 0; end->nodes && node < end->node_count; node++) {
        const struct node_result *result = &end->nodes[node];
        if (store_records(store, trial_id, node, result, end->without_node_rows, err) < 0 ||
            store_evaluations(store, trial_id, node, result, err) < 0 ||
            (!end->processes && !result->lost && store_node_counters(store, trial_id, node, result, err) < 0))
            return -ERR_HOST;
    }
    return 0;
}
