-- results.sql: the tables of a laggard database, schema version 1. It is built into the program, which runs it when it makes a new
-- database; results_views.sql and results_columns.sql follow in the same transaction.
--
-- Units are in the names: _ns nanoseconds, _unix_ns nanoseconds since 1970, _bytes, _bps bits a second, _count, _ratio. Times without
-- "unix" count from the start of their trial. A value that is undefined is NULL, and a reason stands beside it; it is never 0.
-- The views are the public interface; the tables may change with the schema version (PRAGMA user_version).

PRAGMA application_id = 0x4c616767; -- "Lagg"
PRAGMA user_version = 1;

CREATE TABLE schema_migration (
    version INTEGER PRIMARY KEY,
    applied_unix_ns INTEGER NOT NULL,
    sqlite_version TEXT NOT NULL
) STRICT;

-- What ran, and where ---------------------------------------------------------------------------------------------------------------

CREATE TABLE environment (
    environment_id INTEGER PRIMARY KEY,
    fingerprint TEXT NOT NULL
) STRICT;

CREATE TABLE environment_fact (
    environment_id INTEGER NOT NULL REFERENCES environment,
    name TEXT NOT NULL,
    value TEXT, -- NULL: could not be found out
    affects_performance INTEGER NOT NULL CHECK (affects_performance IN (0, 1)),
    PRIMARY KEY (environment_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE campaign (
    campaign_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    file_path TEXT NOT NULL,
    file_text TEXT NOT NULL,
    file_sha256 TEXT NOT NULL,
    seed TEXT NOT NULL,
    planned_trial_count INTEGER NOT NULL,
    started_unix_ns INTEGER NOT NULL,
    environment_id INTEGER NOT NULL REFERENCES environment
) STRICT;

CREATE TABLE cell (
    cell_id INTEGER PRIMARY KEY,
    campaign_id INTEGER NOT NULL REFERENCES campaign,
    number INTEGER NOT NULL,
    label TEXT NOT NULL,
    scheme TEXT NOT NULL,
    workers INTEGER NOT NULL,
    settings TEXT NOT NULL,
    settings_text TEXT NOT NULL,
    UNIQUE (campaign_id, number)
) STRICT;

CREATE TABLE cell_setting (
    cell_id INTEGER NOT NULL REFERENCES cell,
    position INTEGER NOT NULL,
    path TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (cell_id, position),
    UNIQUE (cell_id, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE trial (
    trial_id INTEGER PRIMARY KEY,
    uuid TEXT NOT NULL UNIQUE,
    campaign_id INTEGER NOT NULL REFERENCES campaign,
    cell_id INTEGER NOT NULL REFERENCES cell,
    arm TEXT NOT NULL,
    block INTEGER NOT NULL,
    run_order INTEGER NOT NULL,
    seed TEXT NOT NULL,
    world TEXT NOT NULL,
    engine TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('planned', 'running', 'finished', 'failed', 'interrupted')),
    reason TEXT,
    fidelity TEXT CHECK (fidelity IN ('faithful', 'degraded', 'void')),
    fidelity_reason TEXT,
    started_unix_ns INTEGER NOT NULL,
    duration_ns INTEGER,
    setup_ns INTEGER,
    fabric_ns INTEGER,
    worker_count INTEGER NOT NULL,
    server_count INTEGER NOT NULL,
    payload_bytes INTEGER NOT NULL,
    parameter_count INTEGER,
    warmup_round_count INTEGER NOT NULL,
    mtu_bytes INTEGER NOT NULL,
    congestion_control TEXT,
    digest TEXT,
    CHECK ((status = 'finished') = (fidelity IS NOT NULL))
) STRICT;

-- The network of a trial: as asked, as read back, as measured, as it behaved --------------------------------------------------------

CREATE TABLE node (
    trial_id INTEGER NOT NULL REFERENCES trial,
    node INTEGER NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('worker', 'server', 'router')),
    address TEXT,
    PRIMARY KEY (trial_id, node)
) STRICT, WITHOUT ROWID;

CREATE TABLE link (
    trial_id INTEGER NOT NULL REFERENCES trial,
    link INTEGER NOT NULL,
    direction TEXT NOT NULL CHECK (direction IN ('forward', 'backward')),
    name TEXT NOT NULL,
    from_node INTEGER NOT NULL,
    to_node INTEGER NOT NULL,
    rate_bps INTEGER,
    delay_ns INTEGER NOT NULL,
    queue_bytes INTEGER,
    queue_packets INTEGER,
    framing TEXT NOT NULL CHECK (framing IN ('l2', 'l1')),
    jitter_ns INTEGER NOT NULL,
    jitter_distribution TEXT CHECK (jitter_distribution IN ('uniform', 'normal', 'pareto', 'lognormal', 'table')),
    loss_ratio REAL NOT NULL,
    duplicate_ratio REAL NOT NULL,
    corrupt_ratio REAL NOT NULL,
    reorder_ratio REAL NOT NULL,
    PRIMARY KEY (trial_id, link, direction),
    FOREIGN KEY (trial_id, from_node) REFERENCES node (trial_id, node),
    FOREIGN KEY (trial_id, to_node) REFERENCES node (trial_id, node)
) STRICT, WITHOUT ROWID;

CREATE TABLE link_readback (
    trial_id INTEGER NOT NULL,
    link INTEGER NOT NULL,
    direction TEXT NOT NULL,
    engine TEXT NOT NULL,
    rate_bps INTEGER,
    burst_bytes INTEGER,
    limit_bytes INTEGER,
    gso_max_bytes INTEGER NOT NULL,
    delay_ns INTEGER NOT NULL,
    seeded INTEGER CHECK (seeded IN (0, 1)),
    PRIMARY KEY (trial_id, link, direction),
    FOREIGN KEY (trial_id, link, direction) REFERENCES link
) STRICT, WITHOUT ROWID;

CREATE TABLE link_check (
    trial_id INTEGER NOT NULL,
    link INTEGER NOT NULL,
    direction TEXT NOT NULL,
    goodput_bps REAL,
    delay_mean_ns INTEGER,
    delay_minimum_ns INTEGER,
    delay_maximum_ns INTEGER,
    delay_sd_ns INTEGER,
    probes_sent_count INTEGER NOT NULL,
    probes_received_count INTEGER NOT NULL,
    within_tolerance INTEGER NOT NULL CHECK (within_tolerance IN (0, 1)),
    reason TEXT,
    PRIMARY KEY (trial_id, link, direction),
    FOREIGN KEY (trial_id, link, direction) REFERENCES link
) STRICT, WITHOUT ROWID;

CREATE TABLE link_counter (
    trial_id INTEGER NOT NULL,
    link INTEGER NOT NULL,
    direction TEXT NOT NULL,
    packet_count INTEGER NOT NULL,
    carried_bytes INTEGER NOT NULL,
    queue_drop_count INTEGER NOT NULL,
    unasked_drop_count INTEGER NOT NULL,
    lost_count INTEGER NOT NULL,
    duplicated_count INTEGER NOT NULL,
    corrupted_count INTEGER NOT NULL,
    reordered_count INTEGER NOT NULL,
    lateness_p50_ns INTEGER,
    lateness_p99_ns INTEGER,
    lateness_maximum_ns INTEGER,
    backlog_bytes INTEGER,
    PRIMARY KEY (trial_id, link, direction),
    FOREIGN KEY (trial_id, link, direction) REFERENCES link
) STRICT, WITHOUT ROWID;

-- What happened in a trial ----------------------------------------------------------------------------------------------------------

CREATE TABLE round (
    trial_id INTEGER NOT NULL REFERENCES trial,
    round INTEGER NOT NULL,
    warmup INTEGER NOT NULL CHECK (warmup IN (0, 1)),
    begin_ns INTEGER NOT NULL,
    end_ns INTEGER NOT NULL,
    slowest_node INTEGER NOT NULL,
    PRIMARY KEY (trial_id, round),
    FOREIGN KEY (trial_id, slowest_node) REFERENCES node (trial_id, node)
) STRICT, WITHOUT ROWID;

CREATE TABLE round_held (
    trial_id INTEGER NOT NULL REFERENCES trial,
    node INTEGER NOT NULL,
    round INTEGER NOT NULL,
    held_ns INTEGER NOT NULL,
    PRIMARY KEY (trial_id, node, round)
) STRICT, WITHOUT ROWID;

CREATE TABLE span_kind (
    kind INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

-- The one large table: no key but the row id while a campaign runs; its index is built when the database is closed.
CREATE TABLE span (
    span_id INTEGER PRIMARY KEY,
    trial_id INTEGER NOT NULL REFERENCES trial,
    node INTEGER NOT NULL,
    round INTEGER NOT NULL,
    kind INTEGER NOT NULL REFERENCES span_kind,
    peer INTEGER,
    flags INTEGER NOT NULL,
    begin_ns INTEGER NOT NULL,
    end_ns INTEGER NOT NULL,
    moved_bytes INTEGER NOT NULL
) STRICT;

CREATE TABLE evaluation (
    trial_id INTEGER NOT NULL REFERENCES trial,
    node INTEGER NOT NULL,
    round INTEGER NOT NULL,
    at_ns INTEGER NOT NULL,
    loss REAL,
    accuracy_ratio REAL,
    sample_count INTEGER NOT NULL,
    reason TEXT,
    PRIMARY KEY (trial_id, node, round),
    FOREIGN KEY (trial_id, node) REFERENCES node (trial_id, node)
) STRICT, WITHOUT ROWID;

CREATE TABLE node_counter (
    trial_id INTEGER NOT NULL,
    node INTEGER NOT NULL,
    overrun_count INTEGER NOT NULL,
    compute_task_count INTEGER NOT NULL,
    gradient_mean_ns INTEGER,
    idle_gradient_ns INTEGER,
    sent_payload_bytes INTEGER NOT NULL,
    received_payload_bytes INTEGER NOT NULL,
    sent_message_count INTEGER NOT NULL,
    received_message_count INTEGER NOT NULL,
    discarded_message_count INTEGER NOT NULL,
    tcp_retransmit_count INTEGER NOT NULL,
    tcp_timeout_count INTEGER NOT NULL,
    timer_late_count INTEGER NOT NULL,
    timer_late_maximum_ns INTEGER NOT NULL,
    lost_span_count INTEGER NOT NULL,
    check_count INTEGER NOT NULL,
    check_failure_count INTEGER NOT NULL,
    peak_rss_bytes INTEGER,
    private_bytes INTEGER,
    blas TEXT,
    model_sha256 TEXT,
    PRIMARY KEY (trial_id, node),
    FOREIGN KEY (trial_id, node) REFERENCES node
) STRICT, WITHOUT ROWID;

CREATE TABLE prediction (
    trial_id INTEGER NOT NULL REFERENCES trial,
    basis TEXT NOT NULL CHECK (basis IN ('asked', 'measured')),
    method TEXT,
    round_ns INTEGER,
    compute_ns INTEGER,
    latency_ns INTEGER,
    bandwidth_ns INTEGER,
    reduce_ns INTEGER,
    reason TEXT,
    PRIMARY KEY (trial_id, basis),
    CHECK ((round_ns IS NULL) = (reason IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
    event_id INTEGER PRIMARY KEY,
    campaign_id INTEGER NOT NULL REFERENCES campaign,
    trial_id INTEGER REFERENCES trial,
    at_unix_ns INTEGER NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;

-- Numbers of a whole trial, stored when it ends -------------------------------------------------------------------------------------

CREATE TABLE metric (
    metric_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    unit TEXT NOT NULL,
    better TEXT NOT NULL CHECK (better IN ('lower', 'higher')),
    text TEXT NOT NULL
) STRICT;

INSERT INTO metric (name, unit, better, text) VALUES
    ('round_time_ns.mean', 'ns', 'lower', 'mean of the round times of the measured rounds'),
    ('round_time_ns.p50', 'ns', 'lower', 'their median'),
    ('round_time_ns.p90', 'ns', 'lower', 'their 90th percentile, by linear interpolation (type 7)'),
    ('round_time_ns.p99', 'ns', 'lower', 'their 99th percentile, by linear interpolation (type 7)'),
    ('round_time_ns.max', 'ns', 'lower', 'the longest of them'),
    ('accuracy', 'ratio', 'higher', 'accuracy after the last evaluated round, mean over the nodes that evaluated'),
    ('loss', '', 'lower', 'loss after the last evaluated round, mean over the nodes that evaluated');

CREATE TABLE trial_metric (
    trial_id INTEGER NOT NULL REFERENCES trial,
    metric_id INTEGER NOT NULL REFERENCES metric,
    value REAL,
    reason TEXT,
    PRIMARY KEY (trial_id, metric_id),
    CHECK ((value IS NULL) = (reason IS NOT NULL))
) STRICT, WITHOUT ROWID;

-- Fixed tables that the views read --------------------------------------------------------------------------------------------------

-- Ranks of the order statistics that bound the median with 95 % confidence; filled by the program (statistics.h), 6 to 1000 values.
CREATE TABLE median_rank (
    value_count INTEGER PRIMARY KEY,
    low_rank INTEGER NOT NULL,
    coverage_ratio REAL NOT NULL
) STRICT;

-- Schemes that leave the same sum on every worker: there the bus bandwidth of NCCL's tests is defined, 2 (n - 1) / n times payload
-- over time, whatever the algorithm.
CREATE TABLE allreduce_scheme (
    scheme TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

INSERT INTO allreduce_scheme (scheme) VALUES
    ('ring'), ('halving-doubling'), ('recursive-doubling'), ('binomial-tree'), ('double-binary-tree'), ('hierarchical'), ('direct'),
    ('naive');

CREATE TABLE column_doc (
    table_name TEXT NOT NULL,
    column_name TEXT NOT NULL, -- '' describes the whole table or view
    unit TEXT NOT NULL,        -- '' where there is none
    text TEXT NOT NULL,
    PRIMARY KEY (table_name, column_name)
) STRICT, WITHOUT ROWID;
