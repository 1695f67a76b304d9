/* Loss on the test set, mean over trials and over evaluations near that number of updates or that time; the last column is where the noise of an update shows. */
WITH newest AS (SELECT max(campaign_id) FROM campaign WHERE name IN ('slow-and-stale-training', 'slow-and-stale-mlp') GROUP BY name),
e AS (SELECT campaign_id, cell, round, at_ns / 1e9 AS s, loss FROM learning_curves WHERE round > 0 AND campaign_id IN newest),
near AS (SELECT campaign_id, cell, avg(loss) FILTER (WHERE round BETWEEN 75 AND 125) AS u100, avg(loss) FILTER (WHERE round BETWEEN 450 AND 550) AS u500,
    avg(loss) FILTER (WHERE s BETWEEN 0.16 AND 0.24) AS t02, avg(loss) FILTER (WHERE s BETWEEN 0.8 AND 1.2) AS t1,
    avg(loss) FILTER (WHERE s BETWEEN 1.6 AND 2.4) AS t2, avg(loss) FILTER (WHERE s BETWEEN 6 AND 8) AS t7, avg(loss) FILTER (WHERE round > 1000) AS floor FROM e GROUP BY 1, 2)
SELECT settings ->> '$.scheme' AS variant, round(predicted_round_ns / 1e6, 2) AS expected_ms, round(round_time_mean_ns / 1e6, 2) AS found_ms,
    round(u100, 3) AS "100 updates", round(u500, 3) AS "500 updates", round(t02, 3) AS "0.2 s", round(t1, 3) AS "1 s", round(t2, 3) AS "2 s", round(t7, 3) AS "7 s",
    round(floor, 3) AS "1,000-1,500 updates" FROM near JOIN cells USING (campaign_id, cell) ORDER BY cell
