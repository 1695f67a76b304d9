-- results_gate.sql: what comparisons keep: arms, confirming reruns, noise floors, baselines, verdicts.

CREATE TABLE arm (
    campaign_id INTEGER NOT NULL REFERENCES campaign,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    changes TEXT NOT NULL,
    PRIMARY KEY (campaign_id, position),
    UNIQUE (campaign_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE arm_cell (
    cell_id INTEGER NOT NULL REFERENCES cell,
    arm TEXT NOT NULL,
    settings_text TEXT NOT NULL,
    PRIMARY KEY (cell_id, arm)
) STRICT, WITHOUT ROWID;

CREATE TABLE confirmation (
    campaign_id INTEGER PRIMARY KEY REFERENCES campaign,
    confirmed_campaign_id INTEGER NOT NULL REFERENCES campaign,
    CHECK (campaign_id <> confirmed_campaign_id)
) STRICT;

CREATE TABLE noise_floor (
    cell_id INTEGER NOT NULL REFERENCES cell,
    metric_id INTEGER NOT NULL REFERENCES metric,
    arm_trial_count INTEGER NOT NULL,
    floor_ratio REAL,
    floor_difference REAL NOT NULL,
    confidence_ratio REAL NOT NULL,
    calibrated_unix_ns INTEGER NOT NULL,
    PRIMARY KEY (cell_id, metric_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE baseline (
    baseline_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    campaign_id INTEGER NOT NULL REFERENCES campaign,
    revision TEXT,
    set_unix_ns INTEGER NOT NULL
) STRICT;

-- The verdicts of `laggard gate --store`, of its last call for a campaign.
CREATE TABLE verdict (
    campaign_id INTEGER NOT NULL REFERENCES campaign,
    position INTEGER NOT NULL,
    judged_unix_ns INTEGER NOT NULL,
    cell_id INTEGER REFERENCES cell, -- NULL: the baseline alone has this cell
    label TEXT NOT NULL,
    arm TEXT NOT NULL,
    baseline_arm TEXT,
    baseline_campaign TEXT,
    baseline_started_unix_ns INTEGER,
    metric TEXT NOT NULL,
    unit TEXT NOT NULL,
    threshold TEXT NOT NULL,
    alpha REAL NOT NULL,
    verdict TEXT NOT NULL,
    reason TEXT,
    remark TEXT,
    waiver_owner TEXT,
    baseline_median REAL,
    median REAL,
    limit_value REAL,
    ratio REAL,
    ratio_low REAL,
    ratio_high REAL,
    difference REAL,
    difference_low REAL,
    difference_high REAL,
    p_holm REAL,
    baseline_trial_count INTEGER NOT NULL,
    trial_count INTEGER NOT NULL,
    PRIMARY KEY (campaign_id, position)
) STRICT, WITHOUT ROWID;

CREATE VIEW arms AS
SELECT c.name AS campaign, a.campaign_id, a.position, a.name AS arm, a.changes,
       (SELECT count(*) FROM trial t WHERE t.campaign_id = a.campaign_id AND t.arm = a.name) AS trials
FROM arm a JOIN campaign c USING (campaign_id);

CREATE VIEW noise_floors AS
SELECT c.name AS campaign, ce.campaign_id, ce.cell_id, ce.number AS cell, ce.label, m.name AS metric, m.unit, n.arm_trial_count,
       n.floor_ratio, n.floor_difference, n.confidence_ratio, n.calibrated_unix_ns, e.fingerprint
FROM noise_floor n
JOIN cell ce USING (cell_id)
JOIN campaign c ON c.campaign_id = ce.campaign_id
JOIN environment e USING (environment_id)
JOIN metric m USING (metric_id);

CREATE VIEW baselines AS
SELECT b.baseline_id, b.name AS baseline, b.revision, b.set_unix_ns, b.campaign_id, c.name AS campaign, c.started_unix_ns, e.fingerprint,
       (SELECT count(*) FROM trial t WHERE t.campaign_id = b.campaign_id AND t.status = 'finished' AND t.fidelity <> 'void') AS trials
FROM baseline b
JOIN campaign c USING (campaign_id)
JOIN environment e USING (environment_id);

CREATE VIEW verdicts AS
SELECT c.name AS campaign, v.campaign_id, v.judged_unix_ns, v.cell_id, ce.number AS cell, v.label, v.arm, v.metric, v.unit, v.threshold,
       v.alpha, v.verdict, v.reason, v.remark, v.waiver_owner, v.baseline_arm, v.baseline_campaign, v.baseline_started_unix_ns,
       v.baseline_median, v.median, v.limit_value, v.ratio, v.ratio_low, v.ratio_high, v.difference, v.difference_low, v.difference_high,
       v.p_holm, v.baseline_trial_count, v.trial_count
FROM verdict v
JOIN campaign c USING (campaign_id)
LEFT JOIN cell ce USING (cell_id)
ORDER BY v.campaign_id, v.position;

INSERT OR IGNORE INTO column_doc (table_name, column_name, unit, text) VALUES
('arm', '', '', 'one row an arm of a campaign: a build or settings under comparison'),
('arm', 'campaign_id', '', 'the campaign'),
('arm', 'position', '', 'in the campaign file, from 0'),
('arm', 'name', '', 'its name, as in the column arm of trials'),
('arm', 'changes', 'JSON', 'what it sets: agent, environment, settings, exec'),
('arm_cell', '', '', 'one row a cell and arm of campaigns with arms'),
('arm_cell', 'cell_id', '', 'row of cell'),
('arm_cell', 'arm', '', 'name of the arm'),
('arm_cell', 'settings_text', '', 'every setting of the cell under this arm, with defaults, as a campaign file'),
('confirmation', '', '', 'one row a campaign that ran the flagged cells of another one again (run --confirm)'),
('confirmation', 'campaign_id', '', 'the second campaign'),
('confirmation', 'confirmed_campaign_id', '', 'the campaign whose cells were flagged'),
('noise_floor', '', '', 'one row a calibrated cell and metric: how far two arms of the same thing are apart by chance'),
('noise_floor', 'cell_id', '', 'row of cell'),
('noise_floor', 'metric_id', '', 'row of metric'),
('noise_floor', 'arm_trial_count', 'trials', 'in each of the two halves that were compared'),
('noise_floor', 'floor_ratio', 'ratio', 'that share of random splits has medians no further apart than this, as ratio - 1; NULL: not all above 0'),
('noise_floor', 'floor_difference', '', 'the same as a difference, in the unit of the metric'),
('noise_floor', 'confidence_ratio', 'ratio', 'that share'),
('noise_floor', 'calibrated_unix_ns', 'ns since 1970', 'when'),
('baseline', '', '', 'one row a baseline that was set: a campaign of this file that others are compared with'),
('baseline', 'baseline_id', '', 'a later one has a greater number'),
('baseline', 'name', '', 'its name'),
('baseline', 'campaign_id', '', 'the campaign'),
('baseline', 'revision', '', 'of the source code that ran; NULL: not told'),
('baseline', 'set_unix_ns', 'ns since 1970', 'when it was set'),
('arms', '', '', 'one row an arm of a campaign'),
('arms', 'campaign', '', 'name of the campaign'),
('arms', 'campaign_id', '', 'its number'),
('arms', 'position', '', 'in the campaign file, from 0; the first one is what the others are compared with unless the gate says otherwise'),
('arms', 'arm', '', 'its name'),
('arms', 'changes', 'JSON', 'what it sets: agent, environment, settings, exec'),
('arms', 'trials', 'trials', 'stored, whatever became of them'),
('noise_floors', '', '', 'one row a calibrated cell and metric (gate --calibrate)'),
('noise_floors', 'campaign', '', 'name of the campaign'),
('noise_floors', 'campaign_id', '', 'its number'),
('noise_floors', 'cell_id', '', 'row of cell'),
('noise_floors', 'cell', '', 'its number in the plan'),
('noise_floors', 'label', '', 'its swept settings'),
('noise_floors', 'metric', '', 'name of the metric'),
('noise_floors', 'unit', '', 'unit of the metric'),
('noise_floors', 'arm_trial_count', 'trials', 'in each of the two halves that were compared'),
('noise_floors', 'floor_ratio', 'ratio', 'how far medians are apart by chance, as ratio - 1; NULL: not all above 0'),
('noise_floors', 'floor_difference', '', 'the same as a difference, in the unit of the metric'),
('noise_floors', 'confidence_ratio', 'ratio', 'the share of random splits that is no further apart'),
('noise_floors', 'calibrated_unix_ns', 'ns since 1970', 'when'),
('noise_floors', 'fingerprint', '', 'of the host and build that it holds for'),
('baselines', '', '', 'one row a baseline that was set; the last of a name counts'),
('baselines', 'baseline_id', '', 'a later one has a greater number'),
('baselines', 'baseline', '', 'its name'),
('baselines', 'revision', '', 'of the source code that ran; NULL: not told'),
('baselines', 'set_unix_ns', 'ns since 1970', 'when it was set'),
('baselines', 'campaign_id', '', 'the campaign that it is'),
('baselines', 'campaign', '', 'its name'),
('baselines', 'started_unix_ns', 'ns since 1970', 'when it began'),
('baselines', 'fingerprint', '', 'of the host and build'),
('baselines', 'trials', 'trials', 'finished and not void'),
('verdict', '', '', 'one row a cell, arm and threshold of the last gate of a campaign that stored them (gate --store)'),
('verdict', 'campaign_id', '', 'the campaign that was judged'),
('verdict', 'position', '', 'in the table of the gate, from 0'),
('verdict', 'judged_unix_ns', 'ns since 1970', 'when'),
('verdict', 'cell_id', '', 'row of cell; NULL: the baseline alone has this cell'),
('verdict', 'label', '', 'swept settings of the cell'),
('verdict', 'arm', '', 'the arm that was judged; empty where there are none'),
('verdict', 'baseline_arm', '', 'the arm that it was compared with; NULL: another campaign, or none'),
('verdict', 'baseline_campaign', '', 'name of the campaign that it was compared with; NULL: an arm, or none'),
('verdict', 'baseline_started_unix_ns', 'ns since 1970', 'when that campaign began'),
('verdict', 'metric', '', 'name of the metric'),
('verdict', 'unit', '', 'unit of the metric, and of the medians, the limit and the differences'),
('verdict', 'threshold', '', 'as written'),
('verdict', 'alpha', '', 'of the test; intervals have the confidence 1 - alpha'),
('verdict', 'verdict', '', 'pass, improved, new, inconclusive, unconfirmed, incomparable, error, missing or regressed'),
('verdict', 'reason', '', 'why; NULL: the numbers say it'),
('verdict', 'remark', '', 'trials that failed, were interrupted, are void or degraded; waivers that expired'),
('verdict', 'waiver_owner', '', 'who answers for the waiver that lets the verdict through; NULL: none does'),
('verdict', 'baseline_median', '', 'over the trials of what it was compared with; NULL: there are none'),
('verdict', 'median', '', 'over the trials of the arm; NULL: there are none'),
('verdict', 'limit_value', '', 'what the median may be; NULL: there is no baseline'),
('verdict', 'ratio', 'ratio', 'median to baseline_median; NULL: that is not above 0'),
('verdict', 'ratio_low', 'ratio', 'lower end of its bootstrap interval; NULL: too few trials'),
('verdict', 'ratio_high', 'ratio', 'upper end'),
('verdict', 'difference', '', 'median less baseline_median'),
('verdict', 'difference_low', '', 'lower end of its bootstrap interval; NULL: too few trials'),
('verdict', 'difference_high', '', 'upper end'),
('verdict', 'p_holm', '', 'of the Mann-Whitney test after the correction of Holm; NULL: an absolute limit, or nothing to compare'),
('verdict', 'baseline_trial_count', 'trials', 'with a value, of what it was compared with'),
('verdict', 'trial_count', 'trials', 'with a value, of the arm'),
('verdicts', '', '', 'one row a cell, arm and threshold of the last gate of a campaign that stored them (gate --store)'),
('verdicts', 'campaign', '', 'name of the campaign that was judged'),
('verdicts', 'campaign_id', '', 'its number'),
('verdicts', 'cell', '', 'its number in the plan'),
('verdicts', 'judged_unix_ns', 'ns since 1970', 'when'),
('verdicts', 'cell_id', '', 'row of cell; NULL: the baseline alone has this cell'),
('verdicts', 'label', '', 'swept settings of the cell'),
('verdicts', 'arm', '', 'the arm that was judged; empty where there are none'),
('verdicts', 'baseline_arm', '', 'the arm that it was compared with; NULL: another campaign, or none'),
('verdicts', 'baseline_campaign', '', 'name of the campaign that it was compared with; NULL: an arm, or none'),
('verdicts', 'baseline_started_unix_ns', 'ns since 1970', 'when that campaign began'),
('verdicts', 'metric', '', 'name of the metric'),
('verdicts', 'unit', '', 'unit of the metric, and of the medians, the limit and the differences'),
('verdicts', 'threshold', '', 'as written'),
('verdicts', 'alpha', '', 'of the test; intervals have the confidence 1 - alpha'),
('verdicts', 'verdict', '', 'pass, improved, new, inconclusive, unconfirmed, incomparable, error, missing or regressed'),
('verdicts', 'reason', '', 'why; NULL: the numbers say it'),
('verdicts', 'remark', '', 'trials that failed, were interrupted, are void or degraded; waivers that expired'),
('verdicts', 'waiver_owner', '', 'who answers for the waiver that lets the verdict through; NULL: none does'),
('verdicts', 'baseline_median', '', 'over the trials of what it was compared with; NULL: there are none'),
('verdicts', 'median', '', 'over the trials of the arm; NULL: there are none'),
('verdicts', 'limit_value', '', 'what the median may be; NULL: there is no baseline'),
('verdicts', 'ratio', 'ratio', 'median to baseline_median; NULL: that is not above 0'),
('verdicts', 'ratio_low', 'ratio', 'lower end of its bootstrap interval; NULL: too few trials'),
('verdicts', 'ratio_high', 'ratio', 'upper end'),
('verdicts', 'difference', '', 'median less baseline_median'),
('verdicts', 'difference_low', '', 'lower end of its bootstrap interval; NULL: too few trials'),
('verdicts', 'difference_high', '', 'upper end'),
('verdicts', 'p_holm', '', 'of the Mann-Whitney test after the correction of Holm; NULL: an absolute limit, or nothing to compare'),
('verdicts', 'baseline_trial_count', 'trials', 'with a value, of what it was compared with'),
('verdicts', 'trial_count', 'trials', 'with a value, of the arm');
