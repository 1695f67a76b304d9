/* results/canned.c: the questions that people ask of every campaign, by name: `laggard sql DB NAME`. Each reads views only. */
#include <stddef.h>
#include <string.h>

#include "results/query.h"

const struct canned_query canned_queries[] = {
    {"cells", "the result: medians with intervals, means against predictions",
     "SELECT campaign_id, cell, label, arm, trials, round_time_p50_ns / 1e6 AS median_ms, round_time_low_ns / 1e6 AS low_ms, "
     "round_time_high_ns / 1e6 AS high_ms, round_time_mean_ns / 1e6 AS mean_ms, predicted_round_ns / 1e6 AS predicted_ms, "
     "round(prediction_ratio, 3) AS ratio, accuracy, fidelity FROM cells"},
    {"trials", "every trial: what became of it, and its round times",
     "SELECT trial, campaign_id, cell, label, arm, block, run_order, status, fidelity, round_time_p50_ns / 1e6 AS median_ms, "
     "round_time_p99_ns / 1e6 AS p99_ms, accuracy, coalesce(reason, fidelity_reason) AS why FROM trials ORDER BY trial"},
    {"problems", "trials that failed, were interrupted, are void or degraded, and why",
     "SELECT trial, campaign_id, label, arm, block, status, fidelity, coalesce(reason, fidelity_reason) AS why FROM trials "
     "WHERE status <> 'finished' OR fidelity <> 'faithful' ORDER BY trial"},
    {"predictions", "where theory says that the time goes, in ms",
     "SELECT campaign_id, label, basis, round(avg(predicted_round_ns) / 1e6, 3) AS round_ms, round(avg(predicted_compute_ns) / "
     "1e6, 3) "
     "AS compute_ms, round(avg(predicted_latency_ns) / 1e6, 3) AS latency_ms, round(avg(predicted_bandwidth_ns) / 1e6, 3) AS "
     "bandwidth_ms, round(avg(predicted_reduce_ns) / 1e6, 3) AS reduce_ms, round(avg(prediction_ratio), 3) AS "
     "measured_over_predicted, "
     "max(prediction_reason) AS why_not FROM predictions GROUP BY campaign_id, cell, basis"},
    {"where-time-went", "spans by kind and role: how many, and how long on average, in ms",
     "SELECT campaign_id, label, arm, role, kind, sum(span_count) AS spans, round(total(duration_ns) / sum(span_count) / 1e6, 4) "
     "AS "
     "mean_ms, sum(moved_bytes) AS moved_bytes FROM span_totals GROUP BY campaign_id, cell, arm, role, kind"},
    {"stragglers", "how far each worker is behind the fastest, in ms",
     "SELECT campaign_id, label, arm, node_name, count(*) AS trials, round(avg(straggling_mean_ns) / 1e6, 3) AS mean_ms, "
     "round(avg(straggling_p99_ns) / 1e6, 3) AS p99_ms FROM workers GROUP BY campaign_id, cell, arm, node ORDER BY campaign_id, "
     "cell, "
     "arm, mean_ms DESC"},
    {"slowest", "how often each node was the last to hold a round's model",
     "SELECT campaign_id, label, arm, slowest_node_name AS node, count(*) AS rounds FROM rounds WHERE warmup = 0 "
     "GROUP BY campaign_id, cell, arm, slowest_node_name ORDER BY campaign_id, cell, arm, rounds DESC"},
    {"learning", "loss and accuracy against rounds and time, mean over trials",
     "SELECT campaign_id, label, arm, round, round(avg(at_ns) / 1e9, 4) AS seconds, round(avg(loss), 5) AS loss, "
     "round(avg(accuracy), 5) AS accuracy, count(*) AS trials FROM learning_curves GROUP BY campaign_id, cell, arm, round"},
    {"links", "links as asked and as measured",
     "SELECT trial, link_name, direction, asked_rate_bps / 1e6 AS asked_mbit, round(measured_goodput_bps / 1e6, 2) AS "
     "goodput_mbit, "
     "asked_delay_ns / 1e3 AS asked_us, measured_delay_mean_ns / 1e3 AS measured_us, asked_loss_ratio AS asked_loss, "
     "measured_loss_ratio AS measured_loss, queue_drop_count AS queue_drops, unasked_drop_count AS unasked_drops, "
     "measurement_reason "
     "FROM links ORDER BY trial, link, direction DESC"},
    {"events", "what happened while trials ran",
     "SELECT trial, event, step, kind, link_name, node_name, at_ns / 1e6 AS at_ms, late_ns / 1e3 AS late_us, round, text FROM "
     "events"},
    {"arms", "the arms of each campaign, and what they change", "SELECT * FROM arms ORDER BY campaign_id, position"},
    {"environment", "the hosts and builds that campaigns ran on",
     "SELECT c.campaign_id, c.name AS campaign, f.name AS fact, f.value, f.affects_performance FROM campaign c "
     "JOIN environment_fact f USING (environment_id) ORDER BY c.campaign_id, f.affects_performance DESC, f.name"},
    {"columns", "what every table, view and column means",
     "SELECT table_name, column_name, unit, text FROM column_doc ORDER BY table_name, column_name"},
    {NULL, NULL, NULL},
};

const struct canned_query *canned_query_find(const char *name)
{
    for (const struct canned_query *query = canned_queries; query->name; query++)
        if (strcmp(query->name, name) == 0)
            return query;
    return NULL;
}
