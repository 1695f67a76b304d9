/* SAFA's measures, of every cell (docs/schemes-federated.md), and how often slow clients count: their share of what was used (5 of 20 are slow). */
WITH newest AS (SELECT max(campaign_id) FROM campaign WHERE name = 'federated-staleness'),
told AS (
    SELECT trial_id, round, avg(staleness_count * staleness_count) - avg(staleness_count) * avg(staleness_count) AS variance
    FROM gradient WHERE fate <> 'cancelled' GROUP BY trial_id, round),
counted AS (
    SELECT trial_id, sum(fate = 'used') AS used, count(*) AS assignments, sum(fate IN ('cancelled', 'late')) AS futile,
        sum(fate = 'used' AND worker % 4 = 3) AS slow, avg(CASE WHEN fate = 'used' THEN staleness_count END) AS staleness,
        max(CASE WHEN fate = 'used' THEN staleness_count END) AS oldest
    FROM gradient GROUP BY trial_id),
down AS (
    SELECT trial_id, sum(sent_payload_bytes) / payload_bytes AS models
    FROM node_counter JOIN node USING (trial_id, node) JOIN trials ON trial = trial_id WHERE role = 'server' GROUP BY trial_id)
SELECT CASE WHEN label LIKE '%split=iid%' THEN 'iid' ELSE 'dirichlet' END AS split,
    scheme || CASE WHEN label LIKE '%fraction=0.5%' AND scheme = 'fedavg' THEN ' half' ELSE '' END
        || CASE WHEN label LIKE '%threshold%' THEN ' threshold' ELSE '' END AS clients,
    CASE WHEN label LIKE '%dropout%' THEN 0.3 ELSE 0 END AS dropout,
    round(avg(used * 1.0 / (workers * round_count)), 3) AS effective, round(avg(models * 1.0 / (workers * round_count)), 3) AS sync,
    round(avg((SELECT avg(variance) FROM told WHERE told.trial_id = trial)), 2) AS version_variance, round(avg(futile * 1.0 / assignments), 3) AS futile,
    round(avg(staleness), 2) AS staleness, max(oldest) AS oldest, round(avg(slow * 1.0 / used), 3) AS slow_share
FROM trials JOIN counted ON counted.trial_id = trial JOIN down ON down.trial_id = trial
WHERE campaign_id IN newest AND status = 'finished' AND label NOT LIKE '%split=iid%' GROUP BY cell ORDER BY cell
