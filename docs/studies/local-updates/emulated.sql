WITH newest AS (SELECT max(campaign_id) FROM campaign WHERE name = 'local-updates-emulated')
SELECT settings ->> '$.scheme' AS scheme, settings ->> '$.world' AS world, round(avg(round_time_mean_ns) / 1e6, 1) AS round_ms, round(avg(predicted_round_ns) / 1e6, 1) AS predicted_ms
FROM cells WHERE campaign_id IN newest GROUP BY 1, 2
