/* How many of the rounds took how long: a # for each started percent. */
WITH newest AS (SELECT max(campaign_id) FROM campaign WHERE name = 'fan-out'),
times AS (SELECT workers, CAST(round_time_ns / 1e6 AS INTEGER) AS ms, count(*) AS n FROM rounds WHERE campaign_id IN newest GROUP BY 1, 2),
totals AS (SELECT workers, sum(n) AS total FROM times GROUP BY 1)
SELECT ms || '-' || (ms + 1) AS ms,
    max(CASE workers WHEN 1 THEN printf('%.*c', 1 + 99 * n / total, '#') END) AS "1 leaf",
    max(CASE workers WHEN 10 THEN printf('%.*c', 1 + 99 * n / total, '#') END) AS "10 leaves",
    max(CASE workers WHEN 100 THEN printf('%.*c', 1 + 99 * n / total, '#') END) AS "100 leaves",
    max(CASE workers WHEN 1000 THEN printf('%.*c', 1 + 99 * n / total, '#') END) AS "1,000 leaves"
FROM times JOIN totals USING (workers) GROUP BY times.ms
