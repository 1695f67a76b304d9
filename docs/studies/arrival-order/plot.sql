/* What share of the gradients is there by then, waiting for all of Lognormal(3, 0.1): a # for each two percent. */
WITH newest AS (SELECT max(campaign_id) FROM campaign WHERE name = 'arrival-order'),
times AS (SELECT (g.arrived_ns - r.begin_ns) / 1e6 AS ms FROM gradient g JOIN rounds r ON r.trial = g.trial_id AND r.round = g.round
    WHERE r.scheme = 'ps-sync' AND r.label LIKE '%lognormal%' AND r.campaign_id IN newest),
bounds(what, ms, expected) AS (VALUES ('15 ms', 15, 0.18), ('16 ms', 16, 1.15), ('17 ms', 17, 4.77), ('18 ms', 18, 13.65), ('19 ms', 19, 28.92),
    ('the median', exp(3), 50.00), ('1.05 medians', 1.05 * exp(3), 68.719), ('22 ms', 22, 81.87), ('23 ms', 23, 91.23), ('24 ms', 24, 96.25),
    ('25 ms', 25, 98.57), ('26 ms', 26, 99.51), ('27 ms', 27, 99.85), ('28 ms', 28, 99.96))
SELECT what AS "by", round(expected, 2) AS expected_percent, round(100.0 * sum(t.ms <= b.ms) / count(*), 2) AS found_percent, printf('%.*c', 50 * sum(t.ms <= b.ms) / count(*), '#') AS there
FROM bounds b CROSS JOIN times t GROUP BY what ORDER BY b.ms
