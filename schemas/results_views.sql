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
    FROM trial_metric tm JOIN metric m USING (metric_id)
    WHERE m.name IN ('accuracy', 'loss') OR tm.trial_id NOT IN (SELECT trial_id FROM message_size)
    GROUP BY tm.trial_id
),
swept AS (
    SELECT trial_id, count(*) AS size_count FROM message_size GROUP BY trial_id
)
SELECT ca.name AS campaign, ca.campaign_id, t.trial_id AS trial, t.uuid, ce.cell_id, ce.number AS cell, ce.label, ce.scheme, ce.workers,
       t.server_count AS servers, ce.settings, t.arm, t.block, t.run_order, t.seed, t.world, t.engine, t.status,
       t.reason, t.fidelity, t.fidelity_reason, t.stolen_ratio, t.pressure_some_ratio, t.pressure_full_ratio, t.started_unix_ns, t.duration_ns, t.setup_ns, t.fabric_ns, t.teardown_ns, t.payload_bytes, t.parameter_count, t.warmup_round_count,
       (SELECT count(*) FROM round r WHERE r.trial_id = t.trial_id) AS round_count,
       CAST(round(m.mean) AS INTEGER) AS round_time_mean_ns, CAST(round(m.p50) AS INTEGER) AS round_time_p50_ns,
       CAST(round(m.p90) AS INTEGER) AS round_time_p90_ns, CAST(round(m.p99) AS INTEGER) AS round_time_p99_ns,
       CAST(round(m.longest) AS INTEGER) AS round_time_maximum_ns,
       CASE WHEN z.size_count IS NULL THEN m.round_time_reason
            WHEN t.status = 'finished' THEN 'it sweeps message sizes: the view message_sizes has each' END AS round_time_reason,
       pa.round_ns AS predicted_round_ns,
       CASE WHEN z.size_count IS NULL THEN pa.reason ELSE 'it sweeps message sizes: the view message_sizes has each' END AS prediction_reason,
       pm.round_ns AS predicted_measured_round_ns,
       m.mean / pa.round_ns AS prediction_ratio, m.mean / pm.round_ns AS prediction_measured_ratio,
       m.accuracy, m.loss, m.loss_reason, t.digest, coalesce(z.size_count, 0) AS size_count
FROM trial t
JOIN cell ce USING (cell_id)
JOIN campaign ca ON ca.campaign_id = t.campaign_id
LEFT JOIN measured m ON m.trial_id = t.trial_id
LEFT JOIN swept z ON z.trial_id = t.trial_id
LEFT JOIN prediction pa ON pa.trial_id = t.trial_id AND pa.basis = 'asked' AND z.size_count IS NULL
LEFT JOIN prediction pm ON pm.trial_id = t.trial_id AND pm.basis = 'measured' AND z.size_count IS NULL;

-- One row a trial and message size; of a trial that sweeps none its one, with size_position NULL.
CREATE VIEW message_sizes AS
WITH measured AS (
    SELECT tm.trial_id, tm.size_position,
           max(tm.value) FILTER (WHERE m.name = 'round_time_ns.mean') AS mean,
           max(tm.value) FILTER (WHERE m.name = 'round_time_ns.p50') AS p50,
           max(tm.value) FILTER (WHERE m.name = 'round_time_ns.p90') AS p90,
           max(tm.value) FILTER (WHERE m.name = 'round_time_ns.p99') AS p99,
           max(tm.value) FILTER (WHERE m.name = 'round_time_ns.max') AS longest,
           max(tm.reason) FILTER (WHERE m.name = 'round_time_ns.mean') AS reason
    FROM trial_metric tm JOIN metric m USING (metric_id) GROUP BY tm.trial_id, tm.size_position
)
SELECT ca.name AS campaign, t.campaign_id, t.trial_id AS trial, t.cell_id, ce.number AS cell, ce.label, ce.scheme, ce.workers,
       t.server_count AS servers, ce.settings, t.arm, t.block, t.world, t.engine, t.status, t.fidelity,
       z.size_position, coalesce(z.payload_bytes, t.payload_bytes) AS payload_bytes, coalesce(z.first_round, 0) AS first_round,
       (SELECT count(*) FROM round r WHERE r.trial_id = t.trial_id
            AND (z.trial_id IS NULL OR r.round BETWEEN z.first_round AND z.first_round + z.round_count - 1)) AS round_count,
       t.warmup_round_count,
       (SELECT r.begin_ns FROM round r WHERE r.trial_id = t.trial_id AND r.round = coalesce(z.first_round, 0)) AS begin_ns,
       (SELECT max(r.end_ns) FROM round r WHERE r.trial_id = t.trial_id
            AND (z.trial_id IS NULL OR r.round BETWEEN z.first_round AND z.first_round + z.round_count - 1)) AS end_ns,
       CAST(round(m.mean) AS INTEGER) AS round_time_mean_ns, CAST(round(m.p50) AS INTEGER) AS round_time_p50_ns,
       CAST(round(m.p90) AS INTEGER) AS round_time_p90_ns, CAST(round(m.p99) AS INTEGER) AS round_time_p99_ns,
       CAST(round(m.longest) AS INTEGER) AS round_time_maximum_ns,
       CASE WHEN m.mean IS NULL THEN coalesce(m.reason, 'the trial did not finish') END AS round_time_reason,
       pa.round_ns AS predicted_round_ns, pa.reason AS prediction_reason, pm.round_ns AS predicted_measured_round_ns,
       m.mean / pa.round_ns AS prediction_ratio, m.mean / pm.round_ns AS prediction_measured_ratio,
       coalesce(z.payload_bytes, t.payload_bytes) * 1e9 / nullif(m.mean, 0) AS algbw_bytes_per_second,
       CASE WHEN ce.scheme IN (SELECT scheme FROM allreduce_scheme)
            THEN coalesce(z.payload_bytes, t.payload_bytes) * 1e9 / nullif(m.mean, 0) * 2 * (ce.workers - 1) / ce.workers
       END AS busbw_bytes_per_second,
       CASE WHEN m.mean IS NULL THEN coalesce(m.reason, 'the trial did not finish')
            WHEN coalesce(z.payload_bytes, t.payload_bytes) IS NULL THEN 'what an outside program sends is not known'
            WHEN ce.scheme NOT IN (SELECT scheme FROM allreduce_scheme) THEN 'a bus bandwidth is defined for all-reduce schemes'
       END AS bandwidth_reason
FROM trial t
JOIN cell ce USING (cell_id)
JOIN campaign ca ON ca.campaign_id = t.campaign_id
LEFT JOIN message_size z ON z.trial_id = t.trial_id
LEFT JOIN measured m ON m.trial_id = t.trial_id AND m.size_position = coalesce(z.size_position, 0)
LEFT JOIN prediction pa ON pa.trial_id = t.trial_id AND pa.basis = 'asked' AND pa.size_position = coalesce(z.size_position, 0)
LEFT JOIN prediction pm ON pm.trial_id = t.trial_id AND pm.basis = 'measured' AND pm.size_position = coalesce(z.size_position, 0);

CREATE VIEW cell_metrics AS
WITH ranked AS (
    SELECT t.cell_id, t.arm, tm.metric_id, tm.size_position AS position, tm.value, z.size_position,
           coalesce(z.payload_bytes, t.payload_bytes) AS payload_bytes,
           row_number() OVER (PARTITION BY t.cell_id, t.arm, tm.metric_id, tm.size_position ORDER BY tm.value) AS rank,
           count(*) OVER (PARTITION BY t.cell_id, t.arm, tm.metric_id, tm.size_position) AS value_count
    FROM trial t JOIN trial_metric tm USING (trial_id)
    LEFT JOIN message_size z ON z.trial_id = t.trial_id AND z.size_position = tm.size_position
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
            ELSE 'more trials than median_rank has rows for' END AS interval_reason,
       max(r.size_position) AS size_position, max(r.payload_bytes) AS payload_bytes
FROM ranked r
JOIN cell ce USING (cell_id)
JOIN metric m USING (metric_id)
LEFT JOIN median_rank k ON k.value_count = r.value_count
GROUP BY r.cell_id, r.arm, r.metric_id, r.position;

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
           max(payload_bytes) AS payload_bytes, size_position
    FROM message_sizes GROUP BY cell_id, arm, size_position
),
summed AS (
    SELECT cell_id, arm, size_position,
           max(median) FILTER (WHERE metric = 'round_time_ns.p50') AS p50,
           max(median_low) FILTER (WHERE metric = 'round_time_ns.p50') AS low,
           max(median_high) FILTER (WHERE metric = 'round_time_ns.p50') AS high,
           max(interval_reason) FILTER (WHERE metric = 'round_time_ns.p50') AS interval_reason,
           max(mean) FILTER (WHERE metric = 'round_time_ns.mean') AS mean,
           max(median) FILTER (WHERE metric = 'round_time_ns.p90') AS p90,
           max(median) FILTER (WHERE metric = 'round_time_ns.p99') AS p99,
           max(median) FILTER (WHERE metric = 'accuracy') AS accuracy,
           max(median) FILTER (WHERE metric = 'loss') AS loss
    FROM cell_metrics GROUP BY cell_id, arm, size_position
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
       END AS fidelity,
       t.size_position,
       CASE WHEN s.mean IS NULL THEN 'no trial has a round time'
            WHEN t.payload_bytes IS NULL THEN 'what an outside program sends is not known'
            WHEN t.scheme NOT IN (SELECT scheme FROM allreduce_scheme) THEN 'a bus bandwidth is defined for all-reduce schemes'
       END AS bandwidth_reason
FROM tried t LEFT JOIN summed s ON s.cell_id = t.cell_id AND s.arm = t.arm AND s.size_position IS t.size_position
ORDER BY t.campaign_id, t.cell, t.arm, t.size_position;

-- Cells that differ in nothing but their world, as `laggard run --world both` makes them.
CREATE VIEW worlds AS
SELECT e.campaign, e.campaign_id, e.cell AS emulated_cell, v.cell AS virtual_cell, replace(replace(e.label, ' world=emulated', ''), 'world=emulated', '') AS label,
       e.scheme, e.workers, e.arm, e.round_time_mean_ns AS emulated_round_time_mean_ns, v.round_time_mean_ns AS virtual_round_time_mean_ns,
       e.predicted_round_ns, 1.0 * e.round_time_mean_ns / nullif(v.round_time_mean_ns, 0) AS world_ratio,
       e.prediction_ratio AS emulated_prediction_ratio, v.prediction_ratio AS virtual_prediction_ratio, e.fidelity AS emulated_fidelity
FROM cells e
JOIN cells v ON v.campaign_id = e.campaign_id AND v.arm = e.arm AND v.world = 'virtual'
    AND v.label = replace(e.label, 'world=emulated', 'world=virtual')
WHERE e.world = 'emulated';

CREATE VIEW rounds AS
SELECT t.campaign_id, r.trial_id AS trial, ce.number AS cell, ce.label, ce.scheme, ce.workers, t.arm, r.round, r.warmup, r.begin_ns, r.end_ns,
       r.end_ns - r.begin_ns AS round_time_ns, r.slowest_node, n.name AS slowest_node_name,
       coalesce(z.payload_bytes, t.payload_bytes) AS payload_bytes
FROM round r
JOIN trial t USING (trial_id)
JOIN cell ce USING (cell_id)
JOIN node n ON n.trial_id = r.trial_id AND n.node = r.slowest_node
LEFT JOIN message_size z ON z.trial_id = r.trial_id AND r.round BETWEEN z.first_round AND z.first_round + z.round_count - 1;

CREATE VIEW spans AS
SELECT t.campaign_id, s.trial_id AS trial, ce.number AS cell, ce.label, ce.scheme, ce.workers, t.arm, s.span_id, s.round,
       s.round - coalesce(z.first_round, 0) < t.warmup_round_count AS warmup, s.node, n.name AS node_name, n.role, k.name AS kind, s.peer, p.name AS peer_name,
       s.begin_ns, s.end_ns, s.end_ns - s.begin_ns AS duration_ns, s.moved_bytes,
       (s.flags & 1) <> 0 AS overrun, (s.flags & 2) <> 0 AS cancelled, (s.flags & 4) <> 0 AS discarded,
       coalesce(z.payload_bytes, t.payload_bytes) AS payload_bytes
FROM span s
JOIN trial t USING (trial_id)
JOIN cell ce USING (cell_id)
JOIN span_kind k USING (kind)
JOIN node n ON n.trial_id = s.trial_id AND n.node = s.node
LEFT JOIN node p ON p.trial_id = s.trial_id AND p.node = s.peer
LEFT JOIN message_size z ON z.trial_id = s.trial_id AND s.round BETWEEN z.first_round AND z.first_round + z.round_count - 1;

CREATE VIEW span_totals AS
SELECT t.campaign_id, s.trial_id AS trial, ce.number AS cell, ce.label, ce.scheme, ce.workers, t.arm, s.node, n.name AS node_name, n.role,
       k.name AS kind, s.span_count, s.duration_ns, s.longest_ns, s.moved_bytes, z.size_position,
       coalesce(z.payload_bytes, t.payload_bytes) AS payload_bytes
FROM span_total s
JOIN trial t USING (trial_id)
JOIN cell ce USING (cell_id)
JOIN span_kind k USING (kind)
JOIN node n ON n.trial_id = s.trial_id AND n.node = s.node
LEFT JOIN message_size z ON z.trial_id = s.trial_id AND z.size_position = s.size_position;

CREATE VIEW workers AS
SELECT t.campaign_id, s.trial_id AS trial, ce.number AS cell, ce.label, ce.scheme, ce.workers, t.arm, s.node, n.name AS node_name,
       s.round_count, s.compute_mean_ns, s.straggling_mean_ns, s.straggling_p50_ns, s.straggling_p99_ns, s.straggling_maximum_ns
FROM straggling s
JOIN trial t USING (trial_id)
JOIN cell ce USING (cell_id)
JOIN node n ON n.trial_id = s.trial_id AND n.node = s.node;

CREATE VIEW learning_curves AS
SELECT t.campaign_id, e.trial_id AS trial, ce.number AS cell, ce.label, ce.scheme, ce.workers, t.arm, e.round, max(e.at_ns) AS at_ns,
       CASE WHEN count(e.loss) = count(*) THEN avg(e.loss) END AS loss,
       CASE WHEN count(e.accuracy_ratio) = count(*) THEN avg(e.accuracy_ratio) END AS accuracy,
       count(*) AS node_count, max(e.reason) AS reason
FROM evaluation e
JOIN trial t USING (trial_id)
JOIN cell ce USING (cell_id)
GROUP BY e.trial_id, e.round;

-- A row of each trial that evaluated for every hundredth of accuracy, reached or not.
CREATE VIEW time_to_accuracy AS
WITH RECURSIVE target (percent) AS (SELECT 1 UNION ALL SELECT percent + 1 FROM target WHERE percent < 99)
SELECT l.campaign_id, l.trial, l.cell, l.label, l.scheme, l.workers, l.arm, t.percent / 100.0 AS target_ratio,
       min(l.round) FILTER (WHERE l.accuracy >= t.percent / 100.0) AS round, min(l.at_ns) FILTER (WHERE l.accuracy >= t.percent / 100.0) AS at_ns,
       CASE WHEN max(l.accuracy) >= t.percent / 100.0 THEN NULL
            ELSE 'no evaluated model of this trial was that accurate' END AS reason
FROM learning_curves l, target t
GROUP BY l.trial, t.percent;

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
       c.delay_sd_ns AS measured_delay_sd_ns, c.packets_sent_count AS measured_packet_count,
       c.packets_lost_count AS measured_lost_count, CAST(c.packets_lost_count AS REAL) / c.packets_sent_count AS measured_loss_ratio,
       CAST(c.packets_lost_count AS REAL) / nullif(c.loss_run_count, 0) AS measured_loss_run,
       c.packets_duplicated_count AS measured_duplicated_count, c.packets_corrupted_count AS measured_corrupted_count,
       c.packets_reordered_count AS measured_reordered_count, c.within_tolerance,
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

CREATE VIEW processes AS
SELECT t.campaign_id, p.trial_id AS trial, ce.number AS cell, ce.label, ce.scheme, ce.workers, t.arm, t.status, p.node, n.name AS node_name,
       p.command, p.begin_ns, p.end_ns, p.exit_status, p.signal, p.stdout, p.stdout_bytes, p.stdout_truncated, p.stderr,
       p.stderr_bytes, p.stderr_truncated
FROM process p
JOIN trial t USING (trial_id)
JOIN cell ce USING (cell_id)
JOIN node n ON n.trial_id = p.trial_id AND n.node = p.node;

CREATE VIEW captures AS
SELECT t.campaign_id, p.trial_id AS trial, ce.number AS cell, ce.label, ce.scheme, ce.workers, t.arm, p.link, l.name AS link_name,
       p.direction, a.name AS from_name, b.name AS to_name, p.packet_count, p.wire_bytes, p.payload_bytes,
       p.retransmitted_segment_count, p.retransmitted_bytes,
       CASE WHEN p.payload_bytes > 0 THEN 1.0 * p.retransmitted_bytes / p.payload_bytes END AS retransmitted_ratio,
       p.round_trip_count, p.round_trip_minimum_ns, p.round_trip_p50_ns, p.round_trip_p99_ns, p.round_trip_maximum_ns,
       CASE WHEN p.round_trip_count = 0 THEN 'no data with a timestamp was acknowledged over this link' END AS round_trip_reason,
       p.dropped_count, p.return_dropped_count, p.path, p.snap_bytes, p.captured_count, p.written_count, p.written_bytes, p.truncated,
       p.reason
FROM packet_summary p
JOIN trial t USING (trial_id)
JOIN cell ce USING (cell_id)
JOIN link l ON l.trial_id = p.trial_id AND l.link = p.link AND l.direction = p.direction
JOIN node a ON a.trial_id = l.trial_id AND a.node = l.from_node
JOIN node b ON b.trial_id = l.trial_id AND b.node = l.to_node;

CREATE VIEW samples AS
SELECT t.campaign_id, s.trial_id AS trial, ce.number AS cell, ce.label, s.at_ns, l.name AS link_name, s.direction, n.name AS node_name,
       s.carried_bytes, s.backlog_bytes, s.queue_drop_count, s.unasked_drop_count, s.lost_count, s.connection_count,
       s.window_minimum_segments, s.window_maximum_segments, s.unacknowledged_segments, s.round_trip_maximum_ns,
       s.tcp_retransmit_count, s.stolen_ratio, s.pressure_some_ratio, s.pressure_full_ratio
FROM counter_sample s
JOIN trial t USING (trial_id)
JOIN cell ce USING (cell_id)
LEFT JOIN link l ON l.trial_id = s.trial_id AND l.link = s.link AND l.direction = s.direction
LEFT JOIN node n ON n.trial_id = s.trial_id AND n.node = s.node;

CREATE VIEW cpu_limits AS
SELECT t.campaign_id, c.trial_id AS trial, ce.number AS cell, ce.label, ce.scheme, ce.workers, t.arm, t.status, c.node, n.name AS node_name,
       n.role, c.processors, c.period_ns, c.period_count, c.throttled_count, c.throttled_ns
FROM cpu_limit c
JOIN trial t USING (trial_id)
JOIN cell ce USING (cell_id)
JOIN node n ON n.trial_id = c.trial_id AND n.node = c.node;

CREATE VIEW traffic AS
SELECT t.campaign_id, f.trial_id AS trial, ce.number AS cell, ce.label, ce.scheme, ce.workers, t.arm, t.status, f.flow,
       a.name AS from_name, b.name AS to_name, f.transport, f.asked_bps, f.packet_bytes, f.on_ns, f.off_ns, f.spread, f.start_ns, f.stop_ns,
       f.active_ns, f.asked_bytes, f.sent_bytes, f.received_bytes, f.asked_packet_count, f.sent_packet_count, f.refused_packet_count,
       f.late_packet_count, f.received_packet_count, f.sent_packet_count - f.received_packet_count AS missing_packet_count, f.measured_bps,
       f.measured_bps / f.asked_bps AS carried_ratio
FROM traffic_flow f
JOIN trial t USING (trial_id)
JOIN cell ce USING (cell_id)
JOIN node a ON a.trial_id = f.trial_id AND a.node = f.from_node
JOIN node b ON b.trial_id = f.trial_id AND b.node = f.to_node;

CREATE VIEW predictions AS
SELECT t.campaign_id, p.trial_id AS trial, ce.number AS cell, ce.label, ce.scheme, ce.workers, t.arm, t.status, t.fidelity, p.basis, p.method,
       p.round_ns AS predicted_round_ns, p.compute_ns AS predicted_compute_ns, p.latency_ns AS predicted_latency_ns,
       p.bandwidth_ns AS predicted_bandwidth_ns, p.reduce_ns AS predicted_reduce_ns, p.reason AS prediction_reason,
       CAST(round(v.value) AS INTEGER) AS round_time_mean_ns, v.value / p.round_ns AS prediction_ratio, z.size_position,
       coalesce(z.payload_bytes, t.payload_bytes) AS payload_bytes
FROM prediction p
JOIN trial t USING (trial_id)
JOIN cell ce USING (cell_id)
LEFT JOIN message_size z ON z.trial_id = p.trial_id AND z.size_position = p.size_position
LEFT JOIN trial_metric v ON v.trial_id = p.trial_id AND v.size_position = p.size_position
    AND v.metric_id = (SELECT metric_id FROM metric WHERE name = 'round_time_ns.mean');

-- One row a thing that happened, in the order of the times. `direction` NULL with a link: both.
CREATE VIEW events AS
SELECT ca.name AS campaign, e.campaign_id, e.trial_id AS trial, ce.number AS cell, ce.label, ce.scheme, ce.workers, t.block, e.kind,
       e.number AS event, e.step, e.link,
       (SELECT l.name FROM link l WHERE l.trial_id = e.trial_id AND l.link = e.link AND l.direction = 'forward') AS link_name,
       e.direction, e.node, n.name AS node_name, e.asked_ns, e.at_ns, e.at_ns - e.asked_ns AS late_ns,
       (SELECT max(r.round) FROM round r WHERE r.trial_id = e.trial_id AND r.begin_ns <= e.at_ns) AS round,
       e.down, e.rate_bps, e.delay_ns, e.loss_ratio, e.text, e.at_unix_ns
FROM event e
JOIN campaign ca ON ca.campaign_id = e.campaign_id
LEFT JOIN trial t ON t.trial_id = e.trial_id
LEFT JOIN cell ce ON ce.cell_id = t.cell_id
LEFT JOIN node n ON n.trial_id = e.trial_id AND n.node = e.node
ORDER BY e.trial_id, e.at_ns IS NULL, e.at_ns, e.event_id;
