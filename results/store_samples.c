/* results/store_samples.c: what counters said while rounds ran: rows of directions, of the host, and of nodes. */
#include <math.h>

#include "base/err.h"
#include "results/store_internal.h"

static const char *const direction_names[DIRECTIONS] = DIRECTION_NAMES;

/* The columns that only rows of a direction, of a node, of the host have. */
enum { DIRECTION_COLUMNS = 5, NODE_COLUMNS = 6, HOST_COLUMNS = 3 };

static void put_nothing(struct sql_statement *row, int columns)
{
    for (int i = 0; i < columns; i++)
        sql_put_null(row);
}

/* link, node -1: not of one. */
static struct sql_statement *sample_row(struct store *store, int64_t trial_id, int64_t at_ns, int link, int direction, int node,
                                        struct err *err)
{
    struct sql_statement *row = store_row(store, ROW_COUNTER_SAMPLE, err);
    if (!row)
        return NULL;
    sql_put_integer(row, trial_id);
    sql_put_integer(row, at_ns);
    sql_put_unsigned_or_null(row, (uint64_t)link, link >= 0);
    sql_put_text(row, link >= 0 ? direction_names[direction] : NULL);
    sql_put_unsigned_or_null(row, (uint64_t)node, node >= 0);
    return row;
}

static int store_direction(struct store *store, int64_t trial_id, const struct counter_sample *sample, int end, struct err *err)
{
    const struct direction_sample *now = &sample->directions[end];
    struct sql_statement *row = sample_row(store, trial_id, sample->at_ns, end / DIRECTIONS, end % DIRECTIONS, -1, err);
    if (!row)
        return -ERR_HOST;
    sql_put_unsigned(row, now->carried_bytes);
    sql_put_unsigned(row, now->backlog_bytes);
    sql_put_unsigned(row, now->queue_drops);
    sql_put_unsigned(row, now->unasked_drops);
    sql_put_unsigned(row, now->lost);
    put_nothing(row, NODE_COLUMNS + HOST_COLUMNS);
    return sql_run(row, err);
}

static int store_host(struct store *store, int64_t trial_id, const struct counter_sample *sample, struct err *err)
{
    struct sql_statement *row = sample_row(store, trial_id, sample->at_ns, -1, 0, -1, err);
    if (!row)
        return -ERR_HOST;
    put_nothing(row, DIRECTION_COLUMNS + NODE_COLUMNS);
    sql_put_real(row, sample->load.stolen_share);
    sql_put_real(row, sample->load.pressure_some_share);
    sql_put_real(row, sample->load.pressure_full_share);
    return sql_run(row, err);
}

static int store_node(struct store *store, int64_t trial_id, int node, const struct sample_record *sample, struct err *err)
{
    struct sql_statement *row = sample_row(store, trial_id, sample->at_ns, -1, 0, node, err);
    if (!row)
        return -ERR_HOST;
    put_nothing(row, DIRECTION_COLUMNS);
    sql_put_integer(row, sample->connections);
    sql_put_integer(row, sample->window_least_segments);
    sql_put_integer(row, sample->window_most_segments);
    sql_put_integer(row, sample->unacknowledged_segments);
    sql_put_integer(row, sample->round_trip_most_ns);
    sql_put_unsigned(row, sample->retransmits);
    put_nothing(row, HOST_COLUMNS);
    return sql_run(row, err);
}

int store_samples(struct store *store, int64_t trial_id, const struct trial_end *end, struct err *err)
{
    for (int i = 0; i < end->sample_count; i++) {
        for (int d = 0; d < DIRECTIONS * end->link_count; d++)
            if (store_direction(store, trial_id, &end->samples[i], d, err) < 0)
                return -ERR_HOST;
        if (store_host(store, trial_id, &end->samples[i], err) < 0)
            return -ERR_HOST;
    }
    for (int node = 0; end->nodes && node < end->node_count; node++)
        for (uint32_t i = 0; i < end->nodes[node].sample_count; i++)
            if (store_node(store, trial_id, node, &end->nodes[node].samples[i], err) < 0)
                return -ERR_HOST;
    return 0;
}
