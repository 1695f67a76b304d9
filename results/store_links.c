/* results/store_links.c: the links of a trial, one row a direction: as asked, read back, measured, and counted while it ran. */
#include <math.h>

#include "base/err.h"
#include "results/store_internal.h"

static const char *const direction_names[DIRECTIONS] = DIRECTION_NAMES;

/* Starts a row with the key that all four tables share. */
static struct sql_statement *direction_row(struct store *store, enum row_kind kind, int64_t trial_id, int link, int direction,
                                           struct err *err)
{
    struct sql_statement *row = store_row(store, kind, err);
    if (!row)
        return NULL;
    sql_put_integer(row, trial_id);
    sql_put_integer(row, link);
    sql_put_text(row, direction_names[direction]);
    return row;
}

/* What Gilbert-Elliott's chain loses in the long run: each state's loss by its share of the time. */
double store_long_run_loss(const struct impairments *asked)
{
    const struct gilbert_elliott *bursts = &asked->gilbert_elliott;
    if (bursts->p <= 0)
        return asked->loss;
    return (bursts->p * bursts->loss_bad + bursts->r * bursts->loss_good) / (bursts->p + bursts->r);
}

static void put_impairments(struct sql_statement *row, const struct impairments *asked)
{
    sql_put_integer(row, asked->jitter_ns);
    sql_put_text(row, asked->jitter_ns > 0 ? jitter_names[asked->jitter_distribution] : NULL);
    sql_put_real(row, store_long_run_loss(asked));
    sql_put_real(row, asked->duplicate);
    sql_put_real(row, asked->corrupt);
    sql_put_real(row, asked->reorder);
}

int store_links_asked(struct store *store, int64_t trial_id, const struct topology *topology, struct err *err)
{
    for (int i = 0; i < topology->link_count; i++)
        for (int d = 0; d < DIRECTIONS; d++) {
            const struct link *link = &topology->links[i];
            const struct direction *asked = &link->direction[d];
            struct sql_statement *row = direction_row(store, ROW_LINK, trial_id, i, d, err);
            if (!row)
                return -ERR_HOST;
            sql_put_text(row, link->name);
            sql_put_integer(row, d == DIRECTION_FORWARD ? link->from : link->to);
            sql_put_integer(row, d == DIRECTION_FORWARD ? link->to : link->from);
            sql_put_unsigned_or_null(row, asked->rate_bps, asked->rate_bps > 0);
            sql_put_integer(row, asked->delay_ns);
            sql_put_unsigned_or_null(row, asked->queue_bytes, asked->queue_bytes > 0);
            sql_put_unsigned_or_null(row, asked->queue_packets, asked->queue_packets > 0);
            sql_put_text(row, framing_names[asked->framing]);
            put_impairments(row, &asked->impairments);
            if (sql_run(row, err) < 0)
                return -ERR_HOST;
        }
    return 0;
}

static int store_readback(struct store *store, int64_t trial_id, int link, int d, const struct link_readback *readback,
                          struct err *err)
{
    const struct direction_readback *set = &readback->direction[d];
    struct sql_statement *row = direction_row(store, ROW_LINK_READBACK, trial_id, link, d, err);
    if (!row)
        return -ERR_HOST;
    sql_put_text(row, engine_names[readback->engine]);
    sql_put_unsigned_or_null(row, set->rate_bps, set->rate_bps > 0);
    sql_put_unsigned_or_null(row, set->burst_bytes, set->rate_bps > 0);
    sql_put_unsigned_or_null(row, set->limit_bytes, set->rate_bps > 0);
    sql_put_unsigned(row, set->gso_max_bytes);
    sql_put_integer(row, set->delay_ns);
    sql_put_unsigned_or_null(row, set->seeded, readback->engine != ENGINE_NONE);
    return sql_run(row, err);
}

static int store_check_row(struct store *store, int64_t trial_id, int link, int d, const struct direction_check *check,
                           struct err *err)
{
    if (!check->measured)
        return 0;
    struct sql_statement *row = direction_row(store, ROW_LINK_CHECK, trial_id, link, d, err);
    if (!row)
        return -ERR_HOST;
    bool delays = check->probes_received > 0;
    sql_put_real(row, check->goodput_bps > 0 ? check->goodput_bps : NAN);
    sql_put_ns(row, delays ? check->delay_mean_ns : NAN);
    sql_put_ns(row, delays ? check->delay_min_ns : NAN);
    sql_put_ns(row, delays ? check->delay_max_ns : NAN);
    sql_put_ns(row, delays ? check->delay_sd_ns : NAN);
    sql_put_unsigned(row, check->probes_sent);
    sql_put_unsigned(row, check->probes_received);
    const struct packet_fates *fates = &check->fates;
    const uint64_t counts[] = {fates->sent, fates->lost, fates->loss_runs, fates->duplicated, fates->corrupted, fates->reordered};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        sql_put_unsigned_or_null(row, counts[i], fates->sent > 0);
    sql_put_integer(row, check->within_tolerance);
    sql_put_text(row, check->within_tolerance ? NULL : check->reason);
    return sql_run(row, err);
}

static int store_counters(struct store *store, int64_t trial_id, int link, int d, const struct direction_counters *counters,
                          struct err *err)
{
    struct sql_statement *row = direction_row(store, ROW_LINK_COUNTER, trial_id, link, d, err);
    if (!row)
        return -ERR_HOST;
    sql_put_unsigned(row, counters->packets);
    sql_put_unsigned(row, counters->bytes);
    sql_put_unsigned(row, counters->queue_drops);
    sql_put_unsigned(row, counters->unasked_drops);
    sql_put_unsigned(row, counters->lost);
    sql_put_unsigned(row, counters->duplicated);
    sql_put_unsigned(row, counters->corrupted);
    sql_put_unsigned(row, counters->reordered);
    const int64_t lateness[] = {counters->lateness_p50_ns, counters->lateness_p99_ns, counters->lateness_max_ns};
    for (int i = 0; i < 3; i++)
        sql_put_unsigned_or_null(row, (uint64_t)lateness[i], lateness[i] >= 0);
    sql_put_unsigned_or_null(row, counters->backlog_bytes_max, counters->backlog_bytes_max > 0);
    return sql_run(row, err);
}

static int store_capture(struct store *store, int64_t trial_id, const struct capture_result *capture, struct err *err)
{
    const struct packet_summary *summary = &capture->summary;
    bool known = !capture->failure, timed = known && summary->round_trip_count > 0;
    struct sql_statement *row = direction_row(store, ROW_PACKET_SUMMARY, trial_id, capture->link, capture->direction, err);
    if (!row)
        return -ERR_HOST;
    sql_put_text(row, capture->path);
    sql_put_unsigned(row, capture->snap_bytes);
    const uint64_t sums[] = {summary->captured_count,
                             summary->packet_count,
                             summary->wire_bytes,
                             summary->payload_bytes,
                             summary->retransmitted_segment_count,
                             summary->retransmitted_bytes,
                             summary->round_trip_count};
    for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
        sql_put_unsigned_or_null(row, sums[i], known);
    const int64_t times_ns[] = {summary->round_trip_minimum_ns, summary->round_trip_p50_ns, summary->round_trip_p99_ns,
                                summary->round_trip_maximum_ns};
    for (size_t i = 0; i < sizeof(times_ns) / sizeof(times_ns[0]); i++)
        sql_put_unsigned_or_null(row, (uint64_t)times_ns[i], timed);
    const uint64_t file[] = {summary->dropped_count, summary->return_dropped_count, summary->written_count, summary->written_bytes,
                             summary->truncated};
    for (size_t i = 0; i < sizeof(file) / sizeof(file[0]); i++)
        sql_put_unsigned_or_null(row, file[i], known);
    sql_put_text(row, capture->failure ? capture->failure : summary->truncated ? summary->reason : NULL);
    return sql_run(row, err);
}

int store_links_seen(struct store *store, int64_t trial_id, const struct trial_end *end, struct err *err)
{
    for (int i = 0; i < end->link_count; i++)
        for (int d = 0; d < DIRECTIONS; d++)
            if ((end->readback && store_readback(store, trial_id, i, d, &end->readback[i], err) < 0) ||
                (end->checks && store_check_row(store, trial_id, i, d, &end->checks[i].direction[d], err) < 0) ||
                (end->counters && store_counters(store, trial_id, i, d, &end->counters[i].direction[d], err) < 0))
                return -ERR_HOST;
    for (int i = 0; i < end->capture_count; i++)
        if (store_capture(store, trial_id, &end->captures[i], err) < 0)
            return -ERR_HOST;
    return 0;
}
