/* What each cell is, how long its rounds take, and when the mean of five evaluations is first at 0.7: means over the trials that reach it. */
WITH newest AS (SELECT max(campaign_id) FROM campaign WHERE name = 'federated-staleness'),
smooth AS (
    SELECT trial, round, at_ns, avg(accuracy) OVER w AS accuracy, count(*) OVER w AS looks FROM learning_curves
    WINDOW w AS (PARTITION BY trial ORDER BY round ROWS 4 PRECEDING)),
reached AS (SELECT trial, min(round) AS rounds, min(at_ns) / 1e9 AS seconds FROM smooth WHERE looks = 5 AND accuracy >= 0.7 GROUP BY trial),
sent AS (SELECT trial_id, sum(fate <> 'cancelled') AS updates, max(round) + 1 AS rounds FROM gradient GROUP BY trial_id),
ends AS (SELECT trial, accuracy FROM (SELECT trial, accuracy, row_number() OVER (PARTITION BY trial ORDER BY round DESC) AS n FROM smooth) WHERE n = 1)
SELECT CASE WHEN label LIKE '%split=iid%' THEN 'iid' ELSE 'dirichlet' END AS split,
    scheme || CASE WHEN label LIKE '%fraction=0.5%' AND scheme = 'fedavg' THEN ' half' ELSE '' END
        || CASE WHEN label LIKE '%threshold%' THEN ' threshold' ELSE '' END AS clients,
    CASE WHEN label LIKE '%dropout%' THEN 0.3 ELSE 0 END AS dropout,
    count(*) AS trials, round(avg(round_time_mean_ns) / 1e6, 1) AS mean_round_ms, count(reached.trial) AS reached, round(avg(reached.rounds)) AS rounds,
    round(avg(reached.seconds), 1) AS seconds, round(avg(reached.rounds * sent.updates / sent.rounds)) AS updates, round(avg(ends.accuracy), 3) AS accuracy
FROM trials LEFT JOIN reached USING (trial) JOIN ends USING (trial) JOIN sent ON trial_id = trial
WHERE campaign_id IN newest AND status = 'finished' GROUP BY cell ORDER BY cell
