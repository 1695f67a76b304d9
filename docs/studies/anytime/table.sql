/* Mean round, and seconds and rounds to a test loss of 0.7, mean over trials; times of ps-sync / times of the scheme. */
WITH newest AS (SELECT max(campaign_id) FROM campaign WHERE name = 'anytime'),
c AS (SELECT campaign_id, cell, settings ->> '$.scheme' AS scheme, settings ->> '$."compute.time"' AS compute, round_time_mean_ns / 1e6 AS round_ms, predicted_round_ns / 1e6 AS predicted_ms FROM cells WHERE campaign_id IN newest),
reached AS (SELECT campaign_id, cell, trial, min(at_ns) / 1e9 AS seconds, min(round) AS rounds FROM learning_curves WHERE loss <= 0.7 GROUP BY trial),
t AS (SELECT cell, scheme, compute, predicted_ms, round_ms, avg(rounds) AS rounds, avg(seconds) AS seconds FROM reached JOIN c USING (campaign_id, cell) GROUP BY cell),
base AS (SELECT compute, seconds FROM t WHERE scheme = 'ps-sync')
SELECT replace(replace(t.compute, 'shifted-exponential(shift=', ''), ',mean=', ' + ') AS compute, t.scheme, round(predicted_ms, 1) AS expected_ms, round(round_ms, 1) AS found_ms,
    round(rounds) AS rounds, round(t.seconds, 2) AS seconds, round(base.seconds / t.seconds, 2) AS gain FROM t JOIN base USING (compute) ORDER BY cell
