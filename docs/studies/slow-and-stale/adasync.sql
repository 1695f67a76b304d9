/* Which K AdaSync had: the mean over trials, 250 updates a row. */
WITH k AS (SELECT g.round, count(*) AS k FROM gradient g JOIN trials t ON t.trial = g.trial_id WHERE t.label LIKE '%adasync%' AND g.fate = 'used' GROUP BY g.trial_id, g.round)
SELECT round / 250 * 250 AS from_update, round(avg(k), 2) AS k FROM k GROUP BY 1
