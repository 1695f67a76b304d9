/* Loss on the test set of what all workers have in common, mean over trials and over evaluations near that time; then over the last fifth of the rounds, when that was over, and how
   long it took until the loss was below 0.55 for the first time, and 0.5. */
WITH newest AS (SELECT max(campaign_id) FROM campaign WHERE name = 'local-updates'),
e AS (SELECT campaign_id, cell, trial, round, at_ns / 1e9 AS s, loss FROM learning_curves WHERE round > 0 AND campaign_id IN newest),
first AS (SELECT campaign_id, cell, trial, min(s) FILTER (WHERE loss < 0.55) AS s55, min(s) FILTER (WHERE loss < 0.5) AS s50 FROM e GROUP BY 1, 2, 3),
reached AS (SELECT campaign_id, cell, CASE WHEN count(s55) = count(*) THEN avg(s55) END AS s55, CASE WHEN count(s50) = count(*) THEN avg(s50) END AS s50 FROM first GROUP BY 1, 2),
near AS (SELECT campaign_id, cell, avg(loss) FILTER (WHERE s BETWEEN 2 AND 4) AS t3, avg(loss) FILTER (WHERE s BETWEEN 8 AND 12) AS t10, avg(loss) FILTER (WHERE s BETWEEN 24 AND 36) AS t30,
    avg(loss) FILTER (WHERE s BETWEEN 50 AND 70) AS t60, avg(loss) FILTER (WHERE round > 4800) AS floor, max(s) AS end FROM e GROUP BY 1, 2)
SELECT settings ->> '$.scheme' AS scheme, round(round_time_mean_ns / 1e6, 2) AS round_ms, round(predicted_round_ns / 1e6, 2) AS predicted_ms, round(t3, 3) AS "3 s", round(t10, 3) AS "10 s",
    round(t30, 3) AS "30 s", round(t60, 3) AS "60 s", round(floor, 3) AS "last fifth", round(end) AS "until s", round(s55, 1) AS "0.55 after s", round(s50, 1) AS "0.5 after s"
    FROM near JOIN reached USING (campaign_id, cell) JOIN cells USING (campaign_id, cell) ORDER BY cell
