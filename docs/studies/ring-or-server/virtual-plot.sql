/* Mean rounds, on a logarithmic scale from 16 ms on: eight characters are a factor of two. */
WITH newest AS (SELECT max(campaign_id) FROM campaign WHERE name IN ('ring-or-server-virtual', 'ring-or-server-large') GROUP BY name)
SELECT scheme, workers, round(round_time_mean_ns / 1e6, 1) AS ms, printf('%.*c', CAST(8 * log2(round_time_mean_ns / 16e6) AS INTEGER), '#') AS round
FROM cells WHERE campaign_id IN newest ORDER BY scheme = 'ps-sync' DESC, scheme DESC, workers
