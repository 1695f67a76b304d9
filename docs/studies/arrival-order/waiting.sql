/* What waiting for 96 of 100 saves: the round is the 96th arrival, for all it is the 100th. */
WITH newest AS (SELECT max(campaign_id) FROM campaign WHERE name = 'arrival-order'),
exact(time, scheme, mean, sd) AS (VALUES ('exponential', 'k-sync', 31.04044, 4.59753), ('exponential', 'ps-sync', 51.87378, 12.787),
    ('lognormal', 'k-sync', 23.782544, 0.51557055), ('lognormal', 'ps-sync', 25.833966, 1.1258681)),
found AS (SELECT CASE WHEN label LIKE '%lognormal%' THEN 'lognormal' ELSE 'exponential' END AS time, scheme, count(*) AS rounds,
    avg(round_time_ns) / 1e6 AS mean FROM rounds WHERE campaign_id IN newest GROUP BY label)
SELECT time, CASE scheme WHEN 'k-sync' THEN 96 ELSE 100 END AS waits_for, rounds, round(e.mean, 3) AS expected_ms, round(f.mean, 3) AS found_ms,
    round((f.mean - e.mean) / e.sd * sqrt(rounds), 1) AS standard_errors
FROM found f JOIN exact e USING (time, scheme) ORDER BY 1, 2
