-- results.sql: the tables of a laggard database, schema version 2. It is built into the program, which runs it when it makes a new
-- database; results_views.sql and results_columns.sql follow in the same transaction.
--
-- Units are in the names: _ns nanoseconds, _unix_ns nanoseconds since 1970, _bytes, _bps bits a second, _count, _ratio. Times without
-- "unix" count from the start of their trial. A value that is undefined is NULL, and a reason stands beside it; it is never 0.
-- The views are the public interface; the tables may change with the schema version (PRAGMA user_version).

PRAGMA application_id = 0x4c616767; -- "Lagg"
PRAGMA user_version = 2;

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
    teardown_ns INTEGER,
    worker_count INTEGER NOT NULL,
    server_count INTEGER NOT NULL,
    payload_bytes INTEGER,
    parameter_count INTEGER,
    warmup_round_count INTEGER NOT NULL,
    mtu_bytes INTEGER NOT NULL,
    congestion_control TEXT,
    stolen_ratio REAL,
    pressure_some_ratio REAL,
    pressure_full_ratio REAL,
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
    packets_sent_count INTEGER,
    packets_lost_count INTEGER,
    loss_run_count INTEGER,
    packets_duplicated_count INTEGER,
    packets_corrupted_count INTEGER,
    packets_reordered_count INTEGER,
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

CREATE TABLE packet_summary (
    trial_id INTEGER NOT NULL,
    link INTEGER NOT NULL,
    direction TEXT NOT NULL,
    path TEXT NOT NULL,
    snap_bytes INTEGER NOT NULL,
    captured_count INTEGER,
    packet_count INTEGER,
    wire_bytes INTEGER,
    payload_bytes INTEGER,
    retransmitted_segment_count INTEGER,
    retransmitted_bytes INTEGER,
    round_trip_count INTEGER,
    round_trip_minimum_ns INTEGER,
    round_trip_p50_ns INTEGER,
    round_trip_p99_ns INTEGER,
    round_trip_maximum_ns INTEGER,
    dropped_count INTEGER,
    return_dropped_count INTEGER,
    written_count INTEGER,
    written_bytes INTEGER,
    truncated INTEGER CHECK (truncated IN (0, 1)),
    reason TEXT,
    PRIMARY KEY (trial_id, link, direction),
    FOREIGN KEY (trial_id, link, direction) REFERENCES link,
    CHECK ((packet_count IS NULL OR truncated = 1) = (reason IS NOT NULL)),
    CHECK ((ifnull(round_trip_count, 0) = 0) = (round_trip_p50_ns IS NULL))
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

-- What the spans come to, stored when a trial ends: measured rounds only.
CREATE TABLE span_total (
    trial_id INTEGER NOT NULL REFERENCES trial,
    size_position INTEGER NOT NULL,
    node INTEGER NOT NULL,
    kind INTEGER NOT NULL REFERENCES span_kind,
    span_count INTEGER NOT NULL,
    duration_ns INTEGER NOT NULL,
    longest_ns INTEGER NOT NULL,
    moved_bytes INTEGER NOT NULL,
    PRIMARY KEY (trial_id, size_position, node, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE straggling (
    trial_id INTEGER NOT NULL REFERENCES trial,
    node INTEGER NOT NULL,
    round_count INTEGER NOT NULL,
    compute_mean_ns INTEGER NOT NULL,
    straggling_mean_ns INTEGER NOT NULL,
    straggling_p50_ns INTEGER NOT NULL,
    straggling_p99_ns INTEGER NOT NULL,
    straggling_maximum_ns INTEGER NOT NULL,
    PRIMARY KEY (trial_id, node)
) STRICT, WITHOUT ROWID;

-- The fate of every gradient, for schemes in which it may differ: as the server saw it, of a cancelled one as its worker did.
CREATE TABLE gradient (
    trial_id INTEGER NOT NULL REFERENCES trial,
    node INTEGER NOT NULL,
    position INTEGER NOT NULL,
    round INTEGER NOT NULL,
    worker INTEGER NOT NULL,
    step INTEGER NOT NULL,
    staleness_count INTEGER NOT NULL,
    arrival_order INTEGER NOT NULL,
    fate TEXT NOT NULL CHECK (fate IN ('used', 'late', 'dropped', 'cancelled')),
    arrived_ns INTEGER NOT NULL,
    PRIMARY KEY (trial_id, node, position),
    FOREIGN KEY (trial_id, node) REFERENCES node (trial_id, node),
    FOREIGN KEY (trial_id, worker) REFERENCES node (trial_id, node)
) STRICT, WITHOUT ROWID;

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
    lost_sample_count INTEGER NOT NULL,
    check_count INTEGER NOT NULL,
    check_failure_count INTEGER NOT NULL,
    peak_rss_bytes INTEGER,
    private_bytes INTEGER,
    loop_busy_ns INTEGER,
    loop_wait_ns INTEGER,
    compute_busy_ns INTEGER,
    compute_wait_ns INTEGER,
    blas TEXT,
    model_sha256 TEXT,
    PRIMARY KEY (trial_id, node),
    FOREIGN KEY (trial_id, node) REFERENCES node
) STRICT, WITHOUT ROWID;

-- Outside programs (workload.exec), one a node; a trial has these or node_counter.
CREATE TABLE process (
    trial_id INTEGER NOT NULL,
    node INTEGER NOT NULL,
    command TEXT NOT NULL,
    begin_ns INTEGER NOT NULL,
    end_ns INTEGER,
    exit_status INTEGER,
    signal INTEGER,
    stdout TEXT NOT NULL,
    stdout_bytes INTEGER NOT NULL,
    stdout_truncated INTEGER NOT NULL CHECK (stdout_truncated IN (0, 1)),
    stderr TEXT NOT NULL,
    stderr_bytes INTEGER NOT NULL,
    stderr_truncated INTEGER NOT NULL CHECK (stderr_truncated IN (0, 1)),
    PRIMARY KEY (trial_id, node),
    FOREIGN KEY (trial_id, node) REFERENCES node,
    CHECK ((end_ns IS NULL) = (exit_status IS NULL AND signal IS NULL))
) STRICT, WITHOUT ROWID;

-- What counters said while rounds ran, where the campaign asks for it (sample_every): of a link's direction, of a node, or of the host.
CREATE TABLE counter_sample (
    sample_id INTEGER PRIMARY KEY,
    trial_id INTEGER NOT NULL REFERENCES trial,
    at_ns INTEGER NOT NULL,
    link INTEGER,
    direction TEXT CHECK (direction IN ('forward', 'backward')),
    node INTEGER,
    carried_bytes INTEGER,
    backlog_bytes INTEGER,
    queue_drop_count INTEGER,
    unasked_drop_count INTEGER,
    lost_count INTEGER,
    connection_count INTEGER,
    window_minimum_segments INTEGER,
    window_maximum_segments INTEGER,
    unacknowledged_segments INTEGER,
    round_trip_maximum_ns INTEGER,
    tcp_retransmit_count INTEGER,
    stolen_ratio REAL,
    pressure_some_ratio REAL,
    pressure_full_ratio REAL,
    CHECK ((link IS NULL) = (direction IS NULL)),
    CHECK (link IS NULL OR node IS NULL)
) STRICT;

-- The sizes that a trial sweeps (workload.sizes), in their order; a trial of one size, not swept, has no row. In prediction and
-- trial_metric such a trial has size_position 0.
CREATE TABLE message_size (
    trial_id INTEGER NOT NULL REFERENCES trial,
    size_position INTEGER NOT NULL,
    payload_bytes INTEGER NOT NULL,
    first_round INTEGER NOT NULL,
    round_count INTEGER NOT NULL,
    PRIMARY KEY (trial_id, size_position)
) STRICT, WITHOUT ROWID;

CREATE TABLE prediction (
    trial_id INTEGER NOT NULL REFERENCES trial,
    basis TEXT NOT NULL CHECK (basis IN ('asked', 'measured')),
    size_position INTEGER NOT NULL,
    method TEXT,
    round_ns INTEGER,
    compute_ns INTEGER,
    latency_ns INTEGER,
    bandwidth_ns INTEGER,
    reduce_ns INTEGER,
    reason TEXT,
    PRIMARY KEY (trial_id, basis, size_position),
    CHECK ((round_ns IS NULL) = (reason IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE cpu_limit (
    trial_id INTEGER NOT NULL REFERENCES trial,
    node INTEGER NOT NULL,
    processors REAL NOT NULL,
    period_ns INTEGER NOT NULL,
    period_count INTEGER,
    throttled_count INTEGER,
    throttled_ns INTEGER,
    PRIMARY KEY (trial_id, node),
    FOREIGN KEY (trial_id, node) REFERENCES node (trial_id, node)
) STRICT, WITHOUT ROWID;

CREATE TABLE traffic_flow (
    trial_id INTEGER NOT NULL REFERENCES trial,
    flow INTEGER NOT NULL,
    from_node INTEGER NOT NULL,
    to_node INTEGER NOT NULL,
    transport TEXT NOT NULL CHECK (transport IN ('udp', 'tcp')),
    asked_bps INTEGER NOT NULL,
    packet_bytes INTEGER,
    on_ns INTEGER,
    off_ns INTEGER,
    spread TEXT CHECK (spread IN ('constant', 'exponential')),
    start_ns INTEGER NOT NULL,
    stop_ns INTEGER,
    active_ns INTEGER NOT NULL,
    asked_bytes INTEGER NOT NULL,
    sent_bytes INTEGER NOT NULL,
    received_bytes INTEGER NOT NULL,
    asked_packet_count INTEGER,
    sent_packet_count INTEGER,
    refused_packet_count INTEGER,
    late_packet_count INTEGER,
    received_packet_count INTEGER,
    measured_bps REAL,
    PRIMARY KEY (trial_id, flow),
    FOREIGN KEY (trial_id, from_node) REFERENCES node (trial_id, node),
    FOREIGN KEY (trial_id, to_node) REFERENCES node (trial_id, node)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
    event_id INTEGER PRIMARY KEY,
    campaign_id INTEGER NOT NULL REFERENCES campaign,
    trial_id INTEGER REFERENCES trial,
    at_unix_ns INTEGER NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    number INTEGER,
    step INTEGER,
    link INTEGER,
    direction TEXT CHECK (direction IN ('forward', 'backward')),
    node INTEGER,
    asked_ns INTEGER,
    at_ns INTEGER,
    down INTEGER CHECK (down IN (0, 1)),
    rate_bps INTEGER,
    delay_ns INTEGER,
    loss_ratio REAL,
    CHECK (trial_id IS NOT NULL OR number IS NULL),
    FOREIGN KEY (trial_id, link, direction) REFERENCES link,
    FOREIGN KEY (trial_id, node) REFERENCES node
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
    size_position INTEGER NOT NULL,
    value REAL,
    reason TEXT,
    PRIMARY KEY (trial_id, metric_id, size_position),
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
    ('naive'), ('allreduce-auto');

CREATE TABLE column_doc (
    table_name TEXT NOT NULL,
    column_name TEXT NOT NULL, -- '' describes the whole table or view
    unit TEXT NOT NULL,        -- '' where there is none
    text TEXT NOT NULL,
    PRIMARY KEY (table_name, column_name)
) STRICT, WITHOUT ROWID;
