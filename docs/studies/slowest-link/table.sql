/* Mean rounds in ms against what the formulas of README.md say: P = 16, S = 4 MB, X = 20 ms, B = 119.6 MB/s of payload, 0.25 ms a link, two segments. */
WITH newest AS (SELECT max(campaign_id) FROM campaign WHERE name IN ('slowest-link', 'longest-link', 'servers-link') GROUP BY name),
c AS (SELECT cell, campaign_id, name, scheme, round_time_mean_ns / 1e6 AS found,
    coalesce(settings ->> '$."topology.overrides.0.rate"', '1gbit') AS rate, coalesce(settings ->> '$."topology.overrides.0.delay"', '250us') AS delay
    FROM cells JOIN campaign USING (campaign_id) WHERE campaign_id IN newest),
n AS (SELECT *, CAST(rate AS REAL) * CASE WHEN rate LIKE '%gbit' THEN 1000 ELSE 1 END * 1e6 / 8 * 1448 / 1514 / 1000 AS b,
    CAST(delay AS REAL) / CASE WHEN delay LIKE '%us' THEN 1000 ELSE 1 END AS d, 1e9 / 8 * 1448 / 1514 / 1000 AS whole, 4e6 AS s, 20.0 AS x, 0.25 AS a FROM c),
e AS (SELECT *, CASE
    WHEN scheme = 'ring' THEN max(x + 2 * 15 * max(s / 16 / whole, 2 * a + 2 * (d - a) / 16 + s / 16 / whole / 2) + 2 * a, 2 * 15 * s / 16 / b)
    WHEN name = 'servers-link' THEN x + 2 * 16 * s / b + 4 * a
    ELSE x + 2 * max(16 * s / whole, s / b) + 4 * a END AS expected FROM n)
SELECT name AS campaign, scheme, rate, delay, round(expected, 1) AS expected_ms, round(found, 1) AS found_ms, round(found / expected, 3) AS ratio,
    round(found / first_value(found) OVER (PARTITION BY campaign_id, scheme ORDER BY cell), 2) AS times_as_long FROM e ORDER BY campaign_id, scheme DESC, cell
