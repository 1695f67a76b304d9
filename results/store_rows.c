/* results/store_rows.c: the tables that the program writes, with their columns in the order in which values are put. */
#include <assert.h>
#include <stddef.h>

#include "base/err.h"
#include "results/store_internal.h"

static const struct {
    const char *table, *columns;
} row_tables[] = {
    [ROW_ENVIRONMENT] = {"environment", "fingerprint"},
    [ROW_ENVIRONMENT_FACT] = {"environment_fact", "environment_id, name, value, affects_performance"},
    [ROW_CAMPAIGN] = {"campaign",
                      "name, file_path, file_text, file_sha256, seed, planned_trial_count, started_unix_ns, environment_id"},
    [ROW_CELL] = {"cell", "campaign_id, number, label, scheme, workers, settings, settings_text"},
    [ROW_CELL_SETTING] = {"cell_setting", "cell_id, position, path, value"},
    [ROW_TRIAL] = {"trial", "uuid, campaign_id, cell_id, arm, block, run_order, seed, world, engine, status, started_unix_ns, "
                            "worker_count, server_count, payload_bytes, warmup_round_count, mtu_bytes, congestion_control"},
    [ROW_NODE] = {"node", "trial_id, node, name, role, address"},
    [ROW_LINK] = {"link", "trial_id, link, direction, name, from_node, to_node, rate_bps, delay_ns, queue_bytes, queue_packets, "
                          "framing, jitter_ns, jitter_distribution, loss_ratio, duplicate_ratio, corrupt_ratio, reorder_ratio"},
    [ROW_LINK_READBACK] =
        {"link_readback", "trial_id, link, direction, engine, rate_bps, burst_bytes, limit_bytes, gso_max_bytes, delay_ns, seeded"},
    [ROW_LINK_CHECK] =
        {"link_check",
         "trial_id, link, direction, goodput_bps, delay_mean_ns, delay_minimum_ns, delay_maximum_ns, "
         "delay_sd_ns, probes_sent_count, probes_received_count, packets_sent_count, packets_lost_count, loss_run_count, "
         "packets_duplicated_count, packets_corrupted_count, packets_reordered_count, within_tolerance, reason"},
    [ROW_LINK_COUNTER] = {"link_counter", "trial_id, link, direction, packet_count, carried_bytes, queue_drop_count, "
                                          "unasked_drop_count, lost_count, duplicated_count, corrupted_count, reordered_count, "
                                          "lateness_p50_ns, lateness_p99_ns, lateness_maximum_ns, backlog_bytes"},
    [ROW_PACKET_SUMMARY] = {"packet_summary",
                            "trial_id, link, direction, path, snap_bytes, captured_count, packet_count, wire_bytes, payload_bytes, "
                            "retransmitted_segment_count, retransmitted_bytes, round_trip_count, round_trip_minimum_ns, "
                            "round_trip_p50_ns, round_trip_p99_ns, round_trip_maximum_ns, dropped_count, return_dropped_count, "
                            "written_count, written_bytes, truncated, reason"},
    [ROW_ROUND] = {"round", "trial_id, round, warmup, begin_ns, end_ns, slowest_node"},
    [ROW_ROUND_HELD] = {"round_held", "trial_id, node, round, held_ns"},
    [ROW_SPAN] = {"span", "trial_id, node, round, kind, peer, flags, begin_ns, end_ns, moved_bytes"},
    [ROW_SPAN_TOTAL] = {"span_total", "trial_id, size_position, node, kind, span_count, duration_ns, longest_ns, moved_bytes"},
    [ROW_STRAGGLING] = {"straggling", "trial_id, node, round_count, compute_mean_ns, straggling_mean_ns, straggling_p50_ns, "
                                      "straggling_p99_ns, straggling_maximum_ns"},
    [ROW_GRADIENT] = {"gradient",
                      "trial_id, node, position, round, worker, step, staleness_count, arrival_order, fate, arrived_ns"},
    [ROW_EVALUATION] = {"evaluation", "trial_id, node, round, at_ns, loss, accuracy_ratio, sample_count, reason"},
    [ROW_NODE_COUNTER] =
        {"node_counter",
         "trial_id, node, overrun_count, compute_task_count, gradient_mean_ns, idle_gradient_ns, "
         "sent_payload_bytes, received_payload_bytes, sent_message_count, received_message_count, "
         "discarded_message_count, tcp_retransmit_count, tcp_timeout_count, timer_late_count, timer_late_maximum_ns, "
         "lost_span_count, lost_sample_count, check_count, check_failure_count, peak_rss_bytes, private_bytes, "
         "loop_busy_ns, loop_wait_ns, compute_busy_ns, compute_wait_ns, blas, model_sha256"},
    [ROW_COUNTER_SAMPLE] = {"counter_sample",
                            "trial_id, at_ns, link, direction, node, carried_bytes, backlog_bytes, queue_drop_count, "
                            "unasked_drop_count, lost_count, connection_count, window_minimum_segments, window_maximum_segments, "
                            "unacknowledged_segments, round_trip_maximum_ns, tcp_retransmit_count, stolen_ratio, "
                            "pressure_some_ratio, pressure_full_ratio"},
    [ROW_PROCESS] = {"process", "trial_id, node, command, begin_ns, end_ns, exit_status, signal, stdout, stdout_bytes, "
                                "stdout_truncated, stderr, stderr_bytes, stderr_truncated"},
    [ROW_PREDICTION] =
        {"prediction", "trial_id, basis, size_position, method, round_ns, compute_ns, latency_ns, bandwidth_ns, reduce_ns, reason"},
    [ROW_MESSAGE_SIZE] = {"message_size", "trial_id, size_position, payload_bytes, first_round, round_count"},
    [ROW_TRAFFIC_FLOW] =
        {"traffic_flow",
         "trial_id, flow, from_node, to_node, transport, asked_bps, packet_bytes, on_ns, off_ns, spread, start_ns, stop_ns, "
         "active_ns, asked_bytes, sent_bytes, received_bytes, asked_packet_count, sent_packet_count, refused_packet_count, "
         "late_packet_count, received_packet_count, measured_bps"},
    [ROW_CPU_LIMIT] = {"cpu_limit", "trial_id, node, processors, period_ns, period_count, throttled_count, throttled_ns"},
    [ROW_EVENT] = {"event",
                   "campaign_id, trial_id, at_unix_ns, kind, text, number, step, link, direction, node, asked_ns, at_ns, down, "
                   "rate_bps, delay_ns, loss_ratio"},
    [ROW_ARM] = {"arm", "campaign_id, position, name, changes"},
    [ROW_ARM_CELL] = {"arm_cell", "cell_id, arm, settings_text"},
    [ROW_CONFIRMATION] = {"confirmation", "campaign_id, confirmed_campaign_id"},
};
static_assert(sizeof(row_tables) / sizeof(row_tables[0]) == ROW_KIND_COUNT, "every row kind has a table");

static struct sql_statement *start(struct store *store, enum row_kind kind, int rows, struct err *err)
{
    struct sql_statement **kept = rows == 1 ? &store->rows[kind] : &store->many[kind];
    if (!*kept && sql_prepare_inserts(store->sql, row_tables[kind].table, row_tables[kind].columns, rows, kept, err) < 0)
        return NULL;
    sql_start(*kept);
    return *kept;
}

struct sql_statement *store_row(struct store *store, enum row_kind kind, struct err *err)
{
    return start(store, kind, 1, err);
}

int store_bulk(struct store *store, enum row_kind kind, const struct store_bulk *bulk, struct err *err)
{
    uint32_t rows;
    for (uint32_t first = 0; first < bulk->count; first += rows) {
        rows = bulk->count - first < STORE_ROWS_AT_ONCE ? 1 : STORE_ROWS_AT_ONCE;
        struct sql_statement *row = start(store, kind, (int)rows, err);
        if (!row)
            return -ERR_HOST;
        for (uint32_t i = 0; i < rows; i++)
            bulk->put(row, bulk, first + i);
        if (sql_run(row, err) < 0)
            return bulk->node < 0 ? err_wrap(err, "%s %u and those behind it", bulk->name, first)
                                  : err_wrap(err, "%s %u and those behind it, of node %d", bulk->name, first, bulk->node);
    }
    return 0;
}
