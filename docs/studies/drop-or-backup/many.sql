/* Rounds and seconds to an accuracy of 0.74 in the mean of five evaluations, one every ten rounds, against the gradients of an update. */
WITH newest AS (SELECT max(campaign_id) FROM campaign WHERE name = 'many'),
smooth AS (SELECT campaign_id, cell, trial, round, at_ns, avg(accuracy) OVER w AS accuracy, count(*) OVER w AS looks FROM learning_curves WHERE campaign_id IN newest
    WINDOW w AS (PARTITION BY trial ORDER BY round ROWS 4 PRECEDING)),
reached AS (SELECT campaign_id, cell, trial, min(round) AS rounds, min(at_ns) / 1e9 AS seconds FROM smooth WHERE looks = 5 AND accuracy >= 0.74 GROUP BY trial),
c AS (SELECT *, CAST(substr(settings ->> '$.scheme', instr(settings ->> '$.scheme', '=') + 1) AS INTEGER) AS backups FROM cells),
t AS (SELECT workers, backups, workers - backups AS gradients, c.round_time_mean_ns / 1e6 AS round_ms, c.predicted_round_ns / 1e6 AS predicted_ms, count(*) AS trials,
    round(avg(rounds)) AS rounds, avg(seconds) AS seconds FROM c JOIN reached USING (campaign_id, cell) GROUP BY cell)
SELECT workers, backups, gradients, trials, round(predicted_ms) AS expected_ms, round(round_ms) AS found_ms, rounds, round(seconds, 1) AS seconds,
    printf('%.*c', CAST(seconds / 5 + 1 AS INTEGER), '#') AS "seconds, a # for each started five" FROM t ORDER BY workers, backups
