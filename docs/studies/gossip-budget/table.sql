/* Round times beside their predictions, copies that a worker sends a round, worker 0's loss on the test set after so many rounds and so much time (mean
   over trials and over evaluations near by), and its accuracy at the end. */
WITH newest AS (SELECT max(campaign_id) FROM campaign WHERE name = 'gossip-budget'),
e AS (SELECT campaign_id, cell, round, at_ns / 1e9 AS s, loss, accuracy FROM learning_curves WHERE round > 0 AND campaign_id IN newest),
near AS (SELECT campaign_id, cell, avg(loss) FILTER (WHERE round BETWEEN 110 AND 190) AS r150, avg(loss) FILTER (WHERE round >= 470) AS r540,
    avg(accuracy) FILTER (WHERE round >= 470) AS right, avg(loss) FILTER (WHERE s BETWEEN 4 AND 6) AS t5, avg(loss) FILTER (WHERE s BETWEEN 9 AND 13) AS t11 FROM e GROUP BY 1, 2),
sent AS (SELECT t.campaign_id, t.cell, avg(c.sent_message_count * 1.0 / t.round_count) AS copies FROM trials t JOIN node_counter c ON c.trial_id = t.trial GROUP BY 1, 2)
SELECT settings ->> '$.scheme' AS variant, round(copies, 2) AS copies, round(predicted_round_ns / 1e6, 1) AS expected_ms, round(round_time_mean_ns / 1e6, 1) AS found_ms,
    round(r150, 3) AS "150 rounds", round(r540, 3) AS "540 rounds", round(t5, 3) AS "5 s", round(t11, 3) AS "11 s", round(right, 3) AS accuracy
FROM near JOIN sent USING (campaign_id, cell) JOIN cells USING (campaign_id, cell) ORDER BY cell
