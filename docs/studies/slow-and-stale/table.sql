/* The time of an update in ms and the mean staleness, against their theorems for P = 8; standard errors are of the mean over trials. */
WITH RECURSIVE newest AS (SELECT max(campaign_id) FROM campaign WHERE name = 'slow-and-stale'),
n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8),
orders(k, exponential, pareto) AS (SELECT k.i, sum(1.0 / (9 - j.i)), exp(sum(ln((9 - j.i) / (9 - j.i - 0.4)))) FROM n k JOIN n j ON j.i <= k.i GROUP BY k.i),
waits AS (SELECT 'exponential' AS time, k, 10 * exponential AS kth, 10.0 AS mean FROM orders
    UNION ALL SELECT 'shifted', k, 5 + 5 * exponential, 10.0 FROM orders UNION ALL SELECT 'pareto', k, 5 * pareto, 5 * 2.5 / 1.5 FROM orders),
trial AS (SELECT trial, cell, scheme, round_time_mean_ns / 1e6 AS ms,
    CASE WHEN label LIKE '%shifted%' THEN 'shifted' WHEN label LIKE '%pareto%' THEN 'pareto' ELSE 'exponential' END AS time,
    CASE scheme WHEN 'ps-sync' THEN 8 WHEN 'async' THEN 1 ELSE CAST(substr(label, instr(label, '(k=') + 3) AS INTEGER) END AS k FROM trials WHERE campaign_id IN newest),
age AS (SELECT g.trial_id AS trial, avg(staleness_count) AS staleness FROM gradient g JOIN round r ON r.trial_id = g.trial_id AND r.round = g.round
    WHERE fate = 'used' AND warmup = 0 GROUP BY 1),
found AS (SELECT cell, time, scheme, k, count(*) AS trials, avg(ms) AS ms, avg(staleness) AS staleness, sqrt((avg(ms * ms) - avg(ms) * avg(ms)) / (count(*) - 1)) AS error,
    sqrt(max(0, avg(staleness * staleness) - avg(staleness) * avg(staleness)) / (count(*) - 1)) AS staleness_error FROM trial JOIN age USING (trial) GROUP BY cell),
exact AS (SELECT f.*, CASE WHEN scheme IN ('k-batch-async', 'async') OR (scheme = 'k-batch-sync' AND time = 'exponential') THEN k * mean / 8
        WHEN scheme IN ('ps-sync', 'k-sync') OR (scheme = 'k-async' AND (time = 'exponential' OR k = 8)) THEN kth END AS expected,
    CASE WHEN scheme IN ('k-batch-sync', 'k-async') THEN kth END AS bound,
    CASE scheme WHEN 'k-async' THEN 8.0 / k - 1 WHEN 'k-batch-async' THEN 7.0 / k WHEN 'async' THEN 7.0 ELSE 0 END AS age FROM found f JOIN waits USING (time, k))
SELECT time, scheme, k, coalesce('= ' || round(expected, 3), '<= ' || round(bound, 3)) AS expected_ms, round(ms, 3) AS found_ms,
    round((ms - coalesce(expected, bound)) / error, 1) AS standard_errors, round(age, 3) AS expected_staleness, round(staleness, 3) AS found_staleness,
    round(CASE WHEN staleness_error > 0 THEN (staleness - age) / staleness_error ELSE 0 END, 1) AS staleness_errors
FROM exact ORDER BY time, cell
