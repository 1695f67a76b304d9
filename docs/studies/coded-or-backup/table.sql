/* Mean rounds; gradients that count in a second; gradients computed for one that counts (of backup at most: its late workers give up). */
WITH newest AS (SELECT max(campaign_id) FROM campaign WHERE name = 'coded-or-backup'),
t AS (SELECT cell, settings ->> '$."compute.time"' AS time, settings ->> '$.scheme' AS scheme, workers AS p, round_time_mean_ns / 1e6 AS ms, prediction_ratio FROM cells WHERE campaign_id IN newest),
u AS (SELECT *, CAST(substr(scheme, instr(scheme, 'stragglers=') + 11) AS INTEGER) AS s, CAST(substr(scheme, instr(scheme, 'backups=') + 8) AS INTEGER) AS b FROM t),
v AS (SELECT *, CASE WHEN scheme LIKE 'backup%' THEN p - b ELSE p END AS counted, CASE WHEN scheme LIKE 'gradient%' THEN p * (s + 1) ELSE p END AS computed FROM u)
SELECT substr(time, 1, instr(time, '(') - 1) AS time, replace(scheme, ',cancel=true', '') AS scheme, printf('%.1f', computed * 1.0 / counted) AS computed, printf('%.1f', ms) AS round_ms,
    printf('%.2f', prediction_ratio) AS "mean/predicted", CAST(round(counted / ms * 1000) AS INTEGER) AS gradients_per_s FROM v ORDER BY cell
