/* Which K AdaSync had: the mean over trials, 250 updates a row. */
WITH newest AS (SELECT max(campaign_id) FROM campaign WHERE name = 'slow-and-stale-training'),
k AS (SELECT g.round, count(*) AS k FROM gradient g JOIN trials t ON t.trial = g.trial_id WHERE t.label LIKE '%adasync%' AND g.fate = 'used' AND t.campaign_id IN newest GROUP BY g.trial_id, g.round)
SELECT round / 250 * 250 AS from_update, round(avg(k), 2) AS k FROM k GROUP BY 1
