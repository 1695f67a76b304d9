/* Accuracy at the last evaluation within three seconds of training, a row a server, a column an attack: two of ten workers, and six. NULL: the trial failed. */
WITH newest AS (SELECT max(campaign_id) FROM campaign WHERE name IN ('byzantine', 'byzantine-asynchronous') GROUP BY name),
at AS (
    SELECT t.cell_id, t.trial, t.campaign, replace(substr(t.label, 1, instr(t.label, ' byzantine=') - 1), 'scheme=', '') AS server,
           CASE WHEN t.label LIKE '%[8,9]%' THEN 'two ' WHEN t.label LIKE '%[4,5,6,7,8,9]%' THEN 'six ' ELSE '' END ||
           CASE WHEN t.label LIKE '%sign-flip%' THEN 'sign-flip' WHEN t.label LIKE '%random%' THEN 'random' WHEN t.label LIKE '%label-flip%' THEN 'label-flip' ELSE 'none' END AS attack,
           (SELECT accuracy_ratio FROM evaluation e WHERE e.trial_id = t.trial AND e.at_ns <= 3e9 ORDER BY e.at_ns DESC LIMIT 1) AS accuracy
    FROM trials t WHERE t.campaign_id IN newest)
SELECT server, round(avg(accuracy) FILTER (WHERE attack = 'none'), 2) AS none,
       round(avg(accuracy) FILTER (WHERE attack = 'two sign-flip'), 2) AS sign_flip_2,
       round(avg(accuracy) FILTER (WHERE attack = 'two random'), 2) AS random_2,
       round(avg(accuracy) FILTER (WHERE attack = 'two label-flip'), 2) AS label_flip_2,
       round(avg(accuracy) FILTER (WHERE attack = 'six sign-flip'), 2) AS sign_flip_6,
       round(avg(accuracy) FILTER (WHERE attack = 'six random'), 2) AS random_6,
       round(avg(accuracy) FILTER (WHERE attack = 'six label-flip'), 2) AS label_flip_6
FROM at GROUP BY server ORDER BY min(campaign), min(cell_id)
