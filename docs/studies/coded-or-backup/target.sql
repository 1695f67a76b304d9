/* Rounds and seconds to a loss of 0.66 in the mean of five evaluations, one every ten rounds; loss and accuracy of the last evaluation. */
WITH newest AS (SELECT max(campaign_id) FROM campaign WHERE name IN ('coded-training', 'coded-slow') GROUP BY name),
smooth AS (SELECT campaign_id, cell, trial, round, at_ns, loss, accuracy, avg(loss) OVER w AS mean_loss, count(*) OVER w AS looks FROM learning_curves WHERE campaign_id IN newest
    WINDOW w AS (PARTITION BY trial ORDER BY round ROWS 4 PRECEDING)),
reached AS (SELECT trial, min(round) AS rounds, min(at_ns) / 1e9 AS seconds FROM smooth WHERE looks = 5 AND mean_loss <= 0.66 GROUP BY trial),
ended AS (SELECT campaign_id, cell, trial, loss, accuracy, max(round) FROM smooth GROUP BY trial)
SELECT replace(replace(label, ',cancel=true', ''), 'compute.time=', '') AS cell, count(rounds) || ' of ' || count(*) AS reached, round(avg(rounds)) AS rounds, round(avg(seconds), 2) AS seconds,
    printf('%.3f', avg(e.loss)) AS loss, printf('%.3f', avg(e.accuracy)) AS accuracy
FROM ended e JOIN cells USING (campaign_id, cell) LEFT JOIN reached USING (trial) GROUP BY campaign_id, e.cell
