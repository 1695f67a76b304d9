/* When the k-th of 100 gradients comes, after the beginning of its round. Exponential: H_100 - H_(100-k) times 10 ms; Lognormal(3, 0.1): integrals. */
WITH RECURSIVE newest AS (SELECT max(campaign_id) FROM campaign WHERE name = 'arrival-order'),
n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100),
exact(time, k, mean, sd) AS (
    SELECT 'exponential', k.i, 10 * sum(1.0 / (101 - j.i)), 10 * sqrt(sum(1.0 / (101 - j.i) / (101 - j.i))) FROM n k JOIN n j ON j.i <= k.i GROUP BY k.i
    UNION ALL VALUES ('lognormal', 1, 15.645043, 0.66288619), ('lognormal', 10, 17.628792, 0.30377909), ('lognormal', 25, 18.75068, 0.25574554),
    ('lognormal', 50, 20.062002, 0.25091463), ('lognormal', 75, 21.451978, 0.29048196), ('lognormal', 90, 22.761967, 0.38213319),
    ('lognormal', 96, 23.782544, 0.51557055), ('lognormal', 99, 24.910645, 0.77609423), ('lognormal', 100, 25.833966, 1.1258681)),
times AS (SELECT CASE WHEN label LIKE '%lognormal%' THEN 'lognormal' ELSE 'exponential' END AS time, g.arrival_order + 1 AS k,
    (g.arrived_ns - r.begin_ns) / 1e6 AS ms
    FROM gradient g JOIN rounds r ON r.trial = g.trial_id AND r.round = g.round WHERE r.scheme = 'ps-sync' AND r.campaign_id IN newest),
found AS (SELECT time, k, count(*) AS rounds, avg(ms) AS mean FROM times GROUP BY 1, 2)
SELECT time, k, rounds, round(e.mean, 3) AS expected_ms, round(f.mean, 3) AS found_ms, round((f.mean - e.mean) / e.sd * sqrt(rounds), 1) AS standard_errors
FROM found f JOIN exact e USING (time, k) WHERE k IN (1, 10, 25, 50, 75, 90, 96, 99, 100)
