/* results/store_spans.c: what the spans of a trial come to, stored when it ends, so that the first questions to a large database
 * read no spans: of each node and kind how many and how long (span_total), and how far each worker's compute is behind
 * (straggling).
 *
 * Only measured rounds count: of each message size all but its first ones, which warm up. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "results/statistics.h"
#include "results/store_internal.h"

struct measure { /* which rounds count */
    const struct trial_end *end;
    int64_t warmup_rounds;
    int workers;
};

/* The size's position, 0 where none is swept; -1: a round of warming up. */
static int size_of(const struct measure *measure, int64_t round)
{
    const struct trial_end *end = measure->end;
    int64_t first = 0;
    int position = 0;
    for (int i = 0; i < end->size_count; i++)
        if (round >= end->sizes[i].first_round && round - end->sizes[i].first_round < end->sizes[i].round_count) {
            first = end->sizes[i].first_round;
            position = i;
        }
    return round - first < measure->warmup_rounds ? -1 : position;
}

/* ---- how many, how long ---- */

struct total {
    int64_t count, duration_ns, longest_ns;
    uint64_t moved_bytes;
};

static int store_totals(struct store *store, int64_t trial_id, int node, int size_position,
                        const struct total totals[static SPAN_COUNT], struct err *err)
{
    for (int kind = 0; kind < SPAN_COUNT; kind++) {
        if (totals[kind].count == 0)
            continue;
        struct sql_statement *row = store_row(store, ROW_SPAN_TOTAL, err);
        if (!row)
            return -ERR_HOST;
        sql_put_integer(row, trial_id);
        sql_put_integer(row, size_position);
        sql_put_integer(row, node);
        sql_put_integer(row, kind);
        sql_put_integer(row, totals[kind].count);
        sql_put_integer(row, totals[kind].duration_ns);
        sql_put_integer(row, totals[kind].longest_ns);
        sql_put_unsigned(row, totals[kind].moved_bytes);
        if (sql_run(row, err) < 0)
            return err_wrap(err, "what the spans of node %d come to", node);
    }
    return 0;
}

static int sum_up(struct store *store, int64_t trial_id, const struct measure *measure, struct err *err)
{
    const struct trial_end *end = measure->end;
    const int sizes = end->size_count > 0 ? end->size_count : 1;
    cleanup(free_pointer) struct total *totals = calloc((size_t)sizes * SPAN_COUNT, sizeof(*totals));
    if (!totals)
        return err_set(err, ERR_HOST, "cannot sum up the spans of trial %lld: out of memory", (long long)trial_id);
    for (int node = 0; node < end->node_count; node++) {
        const struct node_result *result = &end->nodes[node];
        memset(totals, 0, (size_t)sizes * SPAN_COUNT * sizeof(*totals));
        for (uint32_t i = 0; i < result->span_count; i++) {
            const struct span_record *span = &result->spans[i];
            const int size = size_of(measure, span->round);
            if (size < 0 || span->kind >= SPAN_COUNT)
                continue;
            struct total *total = &totals[size * SPAN_COUNT + (int)span->kind];
            const int64_t duration_ns = span->end_ns - span->begin_ns;
            total->longest_ns = total->count == 0 || duration_ns > total->longest_ns ? duration_ns : total->longest_ns;
            total->count++;
            total->duration_ns += duration_ns;
            total->moved_bytes += span->bytes;
        }
        for (int size = 0; size < sizes; size++)
            if (store_totals(store, trial_id, node, size, totals + (size_t)size * SPAN_COUNT, err) < 0)
                return -ERR_HOST;
    }
    return 0;
}

/* ---- how far behind ---- */

struct latency { /* a worker's compute in a round: its spans together */
    uint32_t round;
    int node;
    bool cancelled;
    int64_t compute_ns, behind_ns;
};

static int by_round(const void *a, const void *b)
{
    const struct latency *left = a, *right = b;
    if (left->round != right->round)
        return left->round < right->round ? -1 : 1;
    return left->node - right->node;
}

static int by_node(const void *a, const void *b)
{
    const struct latency *left = a, *right = b;
    return left->node != right->node ? left->node - right->node : by_round(a, b);
}

/* The compute spans of workers in measured rounds, into latencies, unless that is NULL; returns how many. */
static size_t take_compute(const struct measure *measure, struct latency *latencies)
{
    const struct trial_end *end = measure->end;
    size_t count = 0;
    for (int node = 0; node < end->node_count && node < measure->workers; node++)
        for (uint32_t i = 0; i < end->nodes[node].span_count; i++) {
            const struct span_record *span = &end->nodes[node].spans[i];
            if (span->kind != SPAN_COMPUTE || size_of(measure, span->round) < 0)
                continue;
            if (latencies)
                latencies[count] = (struct latency){.round = span->round,
                                                    .node = node,
                                                    .cancelled = (span->flags & SPAN_CANCELLED) != 0,
                                                    .compute_ns = span->end_ns - span->begin_ns};
            count++;
        }
    return count;
}

/* Spans of the same worker and round become one, and those with a cancelled one none; sorted by rounds before and after. */
static size_t fold(struct latency *latencies, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count;) {
        struct latency whole = latencies[i++];
        for (; i < count && by_round(&whole, &latencies[i]) == 0; i++) {
            whole.compute_ns += latencies[i].compute_ns;
            whole.cancelled = whole.cancelled || latencies[i].cancelled;
        }
        if (!whole.cancelled)
            latencies[kept++] = whole;
    }
    return kept;
}

static void compare_with_fastest(struct latency *latencies, size_t count)
{
    for (size_t first = 0, past = 0; first < count; first = past) {
        int64_t fastest_ns = latencies[first].compute_ns;
        for (past = first; past < count && latencies[past].round == latencies[first].round; past++)
            fastest_ns = latencies[past].compute_ns < fastest_ns ? latencies[past].compute_ns : fastest_ns;
        for (size_t i = first; i < past; i++)
            latencies[i].behind_ns = latencies[i].compute_ns - fastest_ns;
    }
}

static int store_worker(struct store *store, int64_t trial_id, const struct latency *latencies, size_t count, double *values,
                        struct err *err)
{
    struct sql_statement *row = store_row(store, ROW_STRAGGLING, err);
    if (!row)
        return -ERR_HOST;
    sql_put_integer(row, trial_id);
    sql_put_integer(row, latencies[0].node);
    sql_put_integer(row, (int64_t)count);
    for (size_t i = 0; i < count; i++)
        values[i] = (double)latencies[i].compute_ns;
    sql_put_ns(row, statistics_mean(values, count));
    for (size_t i = 0; i < count; i++)
        values[i] = (double)latencies[i].behind_ns;
    sql_put_ns(row, statistics_mean(values, count));
    sql_put_ns(row, statistics_quantile(values, count, 0.5));
    sql_put_ns(row, statistics_quantile(values, count, 0.99));
    sql_put_ns(row, statistics_quantile(values, count, 1));
    return sql_run(row, err) < 0 ? err_wrap(err, "how far node %d is behind", latencies[0].node) : 0;
}

static int find_stragglers(struct store *store, int64_t trial_id, const struct measure *measure, struct err *err)
{
    size_t count = take_compute(measure, NULL);
    cleanup(free_pointer) struct latency *latencies = calloc(count + 1, sizeof(*latencies));
    cleanup(free_pointer) double *values = calloc(count + 1, sizeof(*values));
    if (!latencies || !values)
        return err_set(err, ERR_HOST, "cannot compare the workers of trial %lld: out of memory", (long long)trial_id);
    take_compute(measure, latencies);
    qsort(latencies, count, sizeof(*latencies), by_round);
    count = fold(latencies, count);
    compare_with_fastest(latencies, count);
    qsort(latencies, count, sizeof(*latencies), by_node);
    for (size_t first = 0, past = 0; first < count; first = past) {
        for (past = first; past < count && latencies[past].node == latencies[first].node;)
            past++;
        if (store_worker(store, trial_id, latencies + first, past - first, values, err) < 0)
            return -ERR_HOST;
    }
    return 0;
}

int store_span_summaries(struct store *store, int64_t trial_id, const struct trial_end *end, struct err *err)
{
    cleanup(sql_finish_cleanup) struct sql_statement *trial = NULL;
    if (!end->nodes)
        return 0;
    if (sql_prepare(store->sql, "SELECT warmup_round_count, worker_count FROM trial WHERE trial_id = ?", &trial, err) < 0)
        return -ERR_HOST;
    sql_start(trial);
    sql_put_integer(trial, trial_id);
    if (sql_next(trial, err) < 0)
        return -ERR_HOST;
    const struct measure measure = {end, sql_integer(trial, 0), (int)sql_integer(trial, 1)};
    int result = sum_up(store, trial_id, &measure, err);
    return result < 0 ? result : find_stragglers(store, trial_id, &measure, err);
}
