/* Steps from one average to the next, by the time in seconds: rounds of adacomm that took longer than 45 ms are those that end with one. */
WITH newest AS (SELECT max(campaign_id) FROM campaign WHERE name = 'local-updates')
SELECT CAST(end_ns / 5e9 AS INTEGER) * 5 AS from_s, round(1.0 * count(*) / sum(end_ns - begin_ns > 45e6), 1) AS period FROM round JOIN trials ON trial = trial_id
WHERE scheme = 'adacomm' AND campaign_id IN newest GROUP BY from_s
