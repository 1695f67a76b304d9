-- results_indexes.sql: indexes that only reading needs; built when the program closes a database.
CREATE INDEX IF NOT EXISTS span_by_round ON span (trial_id, round, node);
CREATE INDEX IF NOT EXISTS trial_by_cell ON trial (cell_id, arm);
CREATE INDEX IF NOT EXISTS event_by_trial ON event (trial_id) WHERE trial_id IS NOT NULL;
