/* How old the gradients of async are, exponential times: geometric, P(s) = (1/8)(7/8)^s, for no worker knows how often others were faster. */
WITH newest AS (SELECT max(campaign_id) FROM campaign WHERE name = 'slow-and-stale'),
g AS (SELECT staleness_count AS s FROM gradient g JOIN trials t ON t.trial = g.trial_id WHERE t.scheme = 'async' AND t.label LIKE '%=exponential%' AND g.round >= 40 AND g.fate = 'used' AND t.campaign_id IN newest)
SELECT s AS staleness, round(100 * power(0.875, s) / 8, 2) AS expected_percent, round(100.0 * count(*) / (SELECT count(*) FROM g), 2) AS found_percent,
    printf('%.*c', 400 * count(*) / (SELECT count(*) FROM g), '#') AS "a # for each quarter of a percent" FROM g WHERE s <= 20 GROUP BY s
