/* r = D / Y: what period 1 takes beyond a gradient, in gradients; Y = 10 ms. Exponential: the slowest of 8 of one draw and an all-reduce, then what the prediction says. */
WITH newest AS (SELECT max(campaign_id) FROM campaign WHERE name = 'local-updates-times'),
c AS (SELECT compute_time AS time, scheme_name, period, found_ns, predicted_ns,
    1.0 * max(CASE WHEN scheme_name = 'local-sgd' AND period = 1 THEN found_ns END) OVER (PARTITION BY compute_time) AS every_ns FROM
    (SELECT settings ->> '$."compute.time"' AS compute_time, scheme AS scheme_name, CAST(substr(settings ->> '$.scheme', instr(settings ->> '$.scheme', '=') + 1) AS INTEGER) AS period,
        1.0 * round_time_mean_ns AS found_ns, predicted_round_ns AS predicted_ns FROM cells WHERE campaign_id IN newest))
SELECT substr(time, 1, instr(time, '(') - 1) AS time, scheme_name AS scheme, period, round(found_ns / 1e6, 2) AS found_ms, round(predicted_ns / 1e6, 2) AS predicted_ms,
    round(every_ns / found_ns, 2) AS "times as fast", CASE WHEN time LIKE 'constant%' AND scheme_name = 'local-sgd' THEN round(every_ns / 10e6 / (1 + (every_ns / 10e6 - 1) / period), 2) END AS formula
    FROM c ORDER BY time, scheme_name, period
