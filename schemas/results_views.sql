-- results_views.sql: the public interface of a laggard database. Every view is documented in the table column_doc
-- (SELECT column_name, unit, text FROM column_doc WHERE table_name = 'cells'). `trial` in a view is `trial_id` in a table.
--
-- A quantile q of n sorted values is the sum of value(rank) x max(0, 1 - |rank - 1 - (n - 1) q|): linear interpolation between the two
-- order statistics around it, type 7 of Hyndman and Fan, as in the program, in R and in NumPy.

CREATE VIEW trials AS
WITH measured AS (
    SELECT tm.trial_id,
           max(tm.value) FILTER (WHERE m.name = 'round_time_ns.mean') AS mean,
           max(tm.value) FILTER (WHERE m.name = 'round_time_ns.p50') AS p50,
           max(tm.value) FILTER (WHERE m.name = 'round_time_ns.p90') AS p90,
           max(tm.value) FILTER (WHERE m.name = 'round_time_ns.p99') AS p99,
           max(tm.value) FILTER (WHERE m.name = 'round_time_ns.max') AS longest,
           max(tm.reason) FILTER (WHERE m.name = 'round_time_ns.mean') AS round_time_reason,
           max(tm.value) FILTER (WHERE m.name = 'accuracy') AS accuracy,
           max(tm.value) FILTER (WHERE m.name = 'loss') AS loss,
           max(tm.reason) FILTER (WHERE m.name = 'loss') AS loss_reason
    FROM trial_metric tm JOIN metric m USING (metric_id) GROUP BY tm.trial_id
)
SELECT ca.name AS campaign, ca.campaign_id, t.trial_id AS trial, t.uuid, ce.cell_id, ce.number AS cell, ce.label, ce.scheme, ce.workers,
       t.server_count AS servers, ce.settings, t.arm, t.block, t.run_order, t.seed, t.world, t.engine, t.status,
       t.reason, t.fidelity, t.fidelity_reason, t.started_unix_ns, t.duration_ns, t.setup_ns, t.fabric_ns, t.payload_bytes, t.parameter_count, t.warmup_round_count,
       (SELECT count(*) FROM round r WHERE r.trial_id = t.trial_id) AS round_count,
       CAST(round(m.mean) AS INTEGER) AS round_time_mean_ns, CAST(round(m.p50) AS INTEGER) AS round_time_p50_ns,
       CAST(round(m.p90) AS INTEGER) AS round_time_p90_ns, CAST(round(m.p99) AS INTEGER) AS round_time_p99_ns,
       CAST(round(m.longest) AS INTEGER) AS round_time_maximum_ns, m.round_time_reason,
       pa.round_ns AS predicted_round_ns, pa.reason AS prediction_reason, pm.round_ns AS predicted_measured_round_ns,
       m.mean / pa.round_ns AS prediction_ratio, m.mean / pm.round_ns AS prediction_measured_ratio,
       m.accuracy, m.loss, m.loss_reason, t.digest
FROM trial t
JOIN cell ce USING (cell_id)
JOIN campaign ca ON ca.campaign_id = t.campaign_id
LEFT JOIN measured m ON m.trial_id = t.trial_id
LEFT JOIN prediction pa ON pa.trial_id = t.trial_id AND pa.basis = 'asked'
LEFT JOIN prediction pm ON pm.trial_id = t.trial_id AND pm.basis = 'measured';

CREATE VIEW cell_metrics AS
WITH ranked AS (
    SELECT t.cell_id, t.arm, tm.metric_id, tm.value,
           row_number() OVER (PARTITION BY t.cell_id, t.arm, tm.metric_id ORDER BY tm.value) AS rank,
           count(*) OVER (PARTITION BY t.cell_id, t.arm, tm.metric_id) AS value_count
    FROM trial t JOIN trial_metric tm USING (trial_id)
    WHERE t.status = 'finished' AND t.fidelity <> 'void' AND tm.value IS NOT NULL
)
SELECT ce.campaign_id, ce.cell_id, ce.number AS cell, ce.label, ce.scheme, ce.workers, r.arm, m.name AS metric, m.unit, m.better,
       r.value_count AS trials, avg(r.value) AS mean,
       avg(r.value) FILTER (WHERE r.rank IN ((r.value_count + 1) / 2, (r.value_count + 2) / 2)) AS median,
       max(r.value) FILTER (WHERE r.rank = k.low_rank) AS median_low,
       max(r.value) FILTER (WHERE r.rank = r.value_count + 1 - k.low_rank) AS median_high,
       k.coverage_ratio,
       CASE WHEN k.low_rank IS NOT NULL THEN NULL
            WHEN r.value_count < 6 THEN 'too few trials: ' || r.value_count || ', 6 are needed'
            ELSE 'more trials than median_rank has rows for' END AS interval_reason
FROM ranked r
JOIN cell ce USING (cell_id)
JOIN metric m USING (metric_id)
LEFT JOIN median_rank k ON k.value_count = r.value_count
GROUP BY r.cell_id, r.arm, r.metric_id;

CREATE VIEW cells AS
WITH tried AS (
    SELECT campaign, campaign_id, cell_id, cell, label, scheme, workers, servers, settings, arm, min(world) AS world,
           CASE WHEN min(engine) = max(engine) THEN min(engine) ELSE 'mixed' END AS engine,
           sum(status = 'finished' AND fidelity <> 'void') AS trials,
           sum(status = 'failed') AS failed,
           sum(status = 'interrupted') AS interrupted,
           sum(status = 'finished' AND fidelity = 'void') AS void,
           sum(status = 'finished' AND fidelity = 'degraded') AS degraded,
           avg(predicted_round_ns) FILTER (WHERE status = 'finished' AND fidelity <> 'void') AS predicted,
           avg(predicted_measured_round_ns) FILTER (WHERE status = 'finished' AND fidelity <> 'void') AS predicted_measured,
           max(prediction_reason) AS prediction_reason,
           max(payload_bytes) AS payload_bytes
    FROM trials GROUP BY cell_id, arm
),
summed AS (
    SELECT cell_id, arm,
           max(median) FILTER (WHERE metric = 'round_time_ns.p50') AS p50,
           max(median_low) FILTER (WHERE metric = 'round_time_ns.p50') AS low,
           max(median_high) FILTER (WHERE metric = 'round_time_ns.p50') AS high,
           max(interval_reason) FILTER (WHERE metric = 'round_time_ns.p50') AS interval_reason,
           max(mean) FILTER (WHERE metric = 'round_time_ns.mean') AS mean,
           max(median) FILTER (WHERE metric = 'round_time_ns.p90') AS p90,
           max(median) FILTER (WHERE metric = 'round_time_ns.p99') AS p99,
           max(median) FILTER (WHERE metric = 'accuracy') AS accuracy,
           max(median) FILTER (WHERE metric = 'loss') AS loss
    FROM cell_metrics GROUP BY cell_id, arm
)
SELECT t.campaign, t.campaign_id, t.cell_id, t.cell, t.label, t.scheme, t.workers, t.servers, t.settings, t.arm, t.world, t.engine,
       t.trials, t.failed, t.interrupted, t.void, t.degraded,
       CAST(round(s.p50) AS INTEGER) AS round_time_p50_ns,
       CAST(round(s.low) AS INTEGER) AS round_time_low_ns, CAST(round(s.high) AS INTEGER) AS round_time_high_ns,
       coalesce(s.interval_reason, CASE WHEN s.p50 IS NULL THEN 'no trial has a round time' END) AS round_time_interval_reason,
       CAST(round(s.mean) AS INTEGER) AS round_time_mean_ns,
       CAST(round(s.p90) AS INTEGER) AS round_time_p90_ns, CAST(round(s.p99) AS INTEGER) AS round_time_p99_ns,
       CAST(round(t.predicted) AS INTEGER) AS predicted_round_ns,
       CAST(round(t.predicted_measured) AS INTEGER) AS predicted_measured_round_ns,
       CASE WHEN t.predicted IS NULL THEN coalesce(t.prediction_reason, 'no finished trial') END AS prediction_reason,
       s.mean / t.predicted AS prediction_ratio, s.mean / t.predicted_measured AS prediction_measured_ratio,
       t.payload_bytes,
       t.payload_bytes * 1e9 / nullif(s.mean, 0) AS algbw_bytes_per_second,
       CASE WHEN t.scheme IN (SELECT scheme FROM allreduce_scheme)
            THEN t.payload_bytes * 1e9 / nullif(s.mean, 0) * 2 * (t.workers - 1) / t.workers END AS busbw_bytes_per_second,
       s.accuracy, s.loss,
       CASE WHEN t.trials + t.void = 0 THEN NULL
            WHEN t.degraded + t.void = 0 THEN 'faithful'
            ELSE rtrim(CASE WHEN t.void > 0 THEN 'void ' || t.void || '/' || (t.trials + t.void) || ', ' ELSE '' END ||
                       CASE WHEN t.degraded > 0 THEN 'degraded ' || t.degraded || '/' || (t.trials + t.void) ELSE '' END, ', ')
       END AS fidelity
FROM tried t LEFT JOIN summed s ON s.cell_id = t.cell_id AND s.arm = t.arm
ORDER BY t.campaign_id, t.cell, t.arm;

CREATE VIEW rounds AS
SELECT t.campaign_id, r.trial_id AS trial, ce.number AS cell, ce.label, ce.scheme, ce.workers, t.arm, r.round, r.warmup, r.begin_ns, r.end_ns,
       r.end_ns - r.begin_ns AS round_time_ns, r.slowest_node, n.name AS slowest_node_name
FROM round r
JOIN trial t USING (trial_id)
JOIN cell ce USING (cell_id)
JOIN node n ON n.trial_id = r.trial_id AND n.node = r.slowest_node;

CREATE VIEW spans AS
SELECT t.campaign_id, s.trial_id AS trial, ce.number AS cell, ce.label, ce.scheme, ce.workers, t.arm, s.span_id, s.round,
       s.round < t.warmup_round_count AS warmup, s.node, n.name AS node_name, n.role, k.name AS kind, s.peer, p.name AS peer_name,
       s.begin_ns, s.end_ns, s.end_ns - s.begin_ns AS duration_ns, s.moved_bytes,
       (s.flags & 1) <> 0 AS overrun, (s.flags & 2) <> 0 AS cancelled, (s.flags & 4) <> 0 AS discarded
FROM span s
JOIN trial t USING (trial_id)
JOIN cell ce USING (cell_id)
JOIN span_kind k USING (kind)
JOIN node n ON n.trial_id = s.trial_id AND n.node = s.node
LEFT JOIN node p ON p.trial_id = s.trial_id AND p.node = s.peer;

CREATE VIEW workers AS
WITH latency AS (
    SELECT s.trial_id, s.node, s.round, sum(s.end_ns - s.begin_ns) AS compute_ns
    FROM span s
    JOIN trial t USING (trial_id)
    JOIN node n ON n.trial_id = s.trial_id AND n.node = s.node
    WHERE s.kind = (SELECT kind FROM span_kind WHERE name = 'compute') AND n.role = 'worker' AND s.round >= t.warmup_round_count
    GROUP BY s.trial_id, s.round, s.node
    HAVING max(s.flags & 2) = 0
),
straggling AS (
    SELECT trial_id, node, compute_ns, compute_ns - min(compute_ns) OVER (PARTITION BY trial_id, round) AS behind_ns FROM latency
),
ranked AS (
    SELECT trial_id, node, compute_ns, behind_ns,
           row_number() OVER (PARTITION BY trial_id, node ORDER BY behind_ns) AS rank,
           count(*) OVER (PARTITION BY trial_id, node) AS round_count
    FROM straggling
)
SELECT t.campaign_id, r.trial_id AS trial, ce.number AS cell, ce.label, ce.scheme, ce.workers, t.arm, r.node, n.name AS node_name,
       max(r.round_count) AS round_count,
       CAST(round(avg(r.compute_ns)) AS INTEGER) AS compute_mean_ns,
       CAST(round(avg(r.behind_ns)) AS INTEGER) AS straggling_mean_ns,
       CAST(round(sum(r.behind_ns * max(0, 1 - abs(r.rank - 1 - (r.round_count - 1) * 0.5)))) AS INTEGER) AS straggling_p50_ns,
       CAST(round(sum(r.behind_ns * max(0, 1 - abs(r.rank - 1 - (r.round_count - 1) * 0.99)))) AS INTEGER) AS straggling_p99_ns,
       max(r.behind_ns) AS straggling_maximum_ns
FROM ranked r
JOIN trial t USING (trial_id)
JOIN cell ce USING (cell_id)
JOIN node n ON n.trial_id = r.trial_id AND n.node = r.node
GROUP BY r.trial_id, r.node;

CREATE VIEW learning_curves AS
SELECT t.campaign_id, e.trial_id AS trial, ce.number AS cell, ce.label, ce.scheme, ce.workers, t.arm, e.round, max(e.at_ns) AS at_ns,
       CASE WHEN count(e.loss) = count(*) THEN avg(e.loss) END AS loss,
       CASE WHEN count(e.accuracy_ratio) = count(*) THEN avg(e.accuracy_ratio) END AS accuracy,
       count(*) AS node_count, max(e.reason) AS reason
FROM evaluation e
JOIN trial t USING (trial_id)
JOIN cell ce USING (cell_id)
GROUP BY e.trial_id, e.round;

CREATE VIEW links AS
SELECT t.campaign_id, l.trial_id AS trial, ce.number AS cell, ce.label, l.link, l.name AS link_name, l.direction, a.name AS from_name,
       b.name AS to_name, l.rate_bps AS asked_rate_bps, l.delay_ns AS asked_delay_ns, l.queue_bytes AS asked_queue_bytes,
       l.queue_packets AS asked_queue_packets, l.framing AS asked_framing, l.jitter_ns AS asked_jitter_ns,
       l.jitter_distribution AS asked_jitter_distribution, l.loss_ratio AS asked_loss_ratio, l.duplicate_ratio AS asked_duplicate_ratio,
       l.corrupt_ratio AS asked_corrupt_ratio, l.reorder_ratio AS asked_reorder_ratio,
       r.engine, r.rate_bps AS read_back_rate_bps, r.burst_bytes AS read_back_burst_bytes, r.limit_bytes AS read_back_limit_bytes,
       r.gso_max_bytes AS read_back_gso_max_bytes, r.delay_ns AS read_back_delay_ns, r.seeded,
       c.goodput_bps AS measured_goodput_bps, c.delay_mean_ns AS measured_delay_mean_ns,
       c.delay_minimum_ns AS measured_delay_minimum_ns, c.delay_maximum_ns AS measured_delay_maximum_ns,
       c.delay_sd_ns AS measured_delay_sd_ns, c.within_tolerance,
       CASE WHEN c.trial_id IS NULL THEN 'this link was not measured' ELSE c.reason END AS measurement_reason,
       k.packet_count, k.carried_bytes, k.queue_drop_count, k.unasked_drop_count, k.lost_count, k.duplicated_count,
       k.corrupted_count, k.reordered_count, k.lateness_p50_ns, k.lateness_p99_ns, k.lateness_maximum_ns, k.backlog_bytes
FROM link l
JOIN trial t USING (trial_id)
JOIN cell ce USING (cell_id)
JOIN node a ON a.trial_id = l.trial_id AND a.node = l.from_node
JOIN node b ON b.trial_id = l.trial_id AND b.node = l.to_node
LEFT JOIN link_readback r ON r.trial_id = l.trial_id AND r.link = l.link AND r.direction = l.direction
LEFT JOIN link_check c ON c.trial_id = l.trial_id AND c.link = l.link AND c.direction = l.direction
LEFT JOIN link_counter k ON k.trial_id = l.trial_id AND k.link = l.link AND k.direction = l.direction;

CREATE VIEW predictions AS
SELECT t.campaign_id, p.trial_id AS trial, ce.number AS cell, ce.label, ce.scheme, ce.workers, t.arm, t.status, t.fidelity, p.basis, p.method,
       p.round_ns AS predicted_round_ns, p.compute_ns AS predicted_compute_ns, p.latency_ns AS predicted_latency_ns,
       p.bandwidth_ns AS predicted_bandwidth_ns, p.reduce_ns AS predicted_reduce_ns, p.reason AS prediction_reason,
       CAST(round(v.value) AS INTEGER) AS round_time_mean_ns, v.value / p.round_ns AS prediction_ratio
FROM prediction p
JOIN trial t USING (trial_id)
JOIN cell ce USING (cell_id)
LEFT JOIN trial_metric v ON v.trial_id = p.trial_id
    AND v.metric_id = (SELECT metric_id FROM metric WHERE name = 'round_time_ns.mean');
