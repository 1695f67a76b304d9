/* What zeno++ did with the gradients of honest and of Byzantine workers, and how long an update took. */
WITH newest AS (SELECT max(campaign_id) FROM campaign WHERE name = 'byzantine-asynchronous')
SELECT replace(t.label, 'scheme=', '') AS cell, CASE WHEN t.label LIKE '%none%' THEN NULL WHEN t.label LIKE '%[8,9]%' THEN g.worker >= 8 ELSE g.worker >= 4 END AS byzantine,
       sum(g.fate = 'used') AS used, sum(g.fate = 'dropped') AS dropped, round(100.0 * sum(g.fate = 'used') / sum(g.fate IN ('used', 'dropped')), 1) AS accepted_percent
FROM gradient g JOIN trials t ON t.trial = g.trial_id WHERE t.scheme = 'zeno++' AND t.campaign_id IN newest GROUP BY t.cell, 2 ORDER BY t.cell, 2
