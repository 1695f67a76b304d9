/* Mean rounds in ms: as predicted and as found, and those of the emulated world (campaign.yaml) where it went. */
WITH newest AS (SELECT max(campaign_id) FROM campaign WHERE name IN ('ring-or-server-virtual', 'ring-or-server-large') GROUP BY name),
emulated(workers, scheme, ms) AS (VALUES (2, 'ps-sync', 33.7), (4, 'ps-sync', 45.3), (8, 'ps-sync', 72), (2, 'ring', 25.5), (4, 'ring', 29.6), (8, 'ring', 37)),
c AS (SELECT workers, scheme, predicted_round_ns / 1e6 AS predicted, round_time_mean_ns / 1e6 AS found, ms AS emulated
    FROM cells LEFT JOIN emulated USING (workers, scheme) WHERE campaign_id IN newest),
h AS (SELECT * FROM c WHERE scheme = 'halving-doubling'),
s AS (SELECT * FROM c WHERE scheme = 'ps-sync'),
r AS (SELECT * FROM c WHERE scheme = 'ring')
SELECT workers, s.emulated AS server_emulated, round(s.predicted, 1) AS server_expected, round(s.found, 1) AS server_found,
    r.emulated AS ring_emulated, round(r.predicted, 1) AS ring_expected, round(r.found, 1) AS ring_found, round(s.found / r.found, 2) AS server_over_ring,
    round(h.predicted, 1) AS halving_expected, round(h.found, 1) AS halving_found
FROM s JOIN r USING (workers) JOIN h USING (workers) ORDER BY workers
