/* When worker 0's loss on the test set was first so low, seconds, mean over the trials in which it was. */
WITH newest AS (SELECT max(campaign_id) FROM campaign WHERE name = 'gossip-budget'),
e AS (SELECT campaign_id, trial, cell, at_ns / 1e9 AS s, loss FROM learning_curves WHERE round > 0 AND campaign_id IN newest),
first AS (SELECT campaign_id, trial, cell, min(s) FILTER (WHERE loss <= 1.0) AS s1, min(s) FILTER (WHERE loss <= 0.8) AS s08 FROM e GROUP BY trial, cell)
SELECT settings ->> '$.scheme' AS variant, round(avg(s1), 1) AS "loss 1.0", round(avg(s08), 1) AS "loss 0.8", count(s08) AS trials FROM first JOIN cells USING (campaign_id, cell) GROUP BY cell ORDER BY cell
