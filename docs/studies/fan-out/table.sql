/* Rounds of each number of workers against the exact mean and standard deviation of the greatest of n draws of Lognormal(3, 0.1). */
WITH newest AS (SELECT max(campaign_id) FROM campaign WHERE name = 'fan-out'),
exact(workers, mean, sd) AS (VALUES (1, exp(3.005), exp(3.005) * sqrt(exp(0.01) - 1)),
    (10, 23.46737, 1.39524), (100, 25.83397, 1.12587), (1000, 27.79251, 0.99063)),
times AS (SELECT workers, round_time_ns / 1e6 AS ms FROM rounds WHERE campaign_id IN newest),
found AS (SELECT workers, count(*) AS rounds, avg(ms) AS mean, sqrt((avg(ms * ms) - avg(ms) * avg(ms)) * count(*) / (count(*) - 1)) AS sd
    FROM times GROUP BY workers)
SELECT workers, rounds, round(e.mean, 3) AS expected_ms, round(f.mean, 3) AS found_ms,
    round((f.mean - e.mean) / e.sd * sqrt(rounds), 1) AS standard_errors, round(e.sd, 3) AS expected_sd_ms, round(f.sd, 3) AS found_sd_ms
FROM found f JOIN exact e USING (workers)
