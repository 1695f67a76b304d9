#!/bin/sh
# synthetic.t: TAP. Payloads whose exact mean is known, checked on every node, in every scheme and at sizes that do not divide.
. "$(dirname "$0")/lib.sh"
"$LAGGARD" doctor 2>&1 | grep -q "^yes  tbf" || skip_all "this host cannot shape links"

cat > "$SCRATCH/campaign.yaml" <<'Y'
name: synthetic
topology: {shape: star, link: {rate: 1gbit}}
workload: {model: synthetic, rounds: 5}
matrix: {scheme: [ps-sync, ring, {name: ring, segment: 1KiB}], workers: [1, 2, 5], workload.size: [4B, 1000B, 300KB]}
Y
db=$SCRATCH/synthetic.db
before=$(leftovers)
"$LAGGARD" run "$SCRATCH/campaign.yaml" --db "$db" --quiet >"$SCRATCH/table" 2>"$SCRATCH/stderr"
is "$?$(cat "$SCRATCH/stderr")" 0 "27 cells run"
is "$(settles_to "$before")" "$before" "nothing is left"
is "$(query "$db" "SELECT count(*), sum(status = 'finished') FROM trials")" "27 27" "every trial is finished"
is "$(query "$db" "SELECT min(check_count > 0), sum(check_failure_count) FROM node_counter JOIN node USING (trial_id, node) WHERE role = 'worker'")" "1 0" "every worker checked the mean and found it exact"
is "$(query "$db" "SELECT sum(lost_span_count) FROM node_counter")" 0 "there was memory for every span, also of short segments"
is "$(query "$db" "SELECT sum(moved_bytes) FROM spans s JOIN trials t USING (trial) WHERE kind = 'send' AND t.scheme = 'ring' AND t.workers = 5 AND t.payload_bytes = 300000 GROUP BY s.trial" | sort -u)" "$((2 * 4 * 300000 * 5))" "bytes on the wire by the formula"
is "$(query "$db" "SELECT count(*) FROM spans s JOIN trials t USING (trial) WHERE kind = 'send' AND t.scheme = 'ring' AND t.workers = 1")" 0 "a ring of one says nothing"

# busy_wait: an agent that waits for its compute time is ready to run meanwhile, whether it has a processor or not; else it sleeps. So it is no reason.
cat > "$SCRATCH/busy.yaml" <<'Y'
name: busy
topology: {link: {rate: 1gbit}}
workload: {model: synthetic, size: 4KiB, rounds: 40}
compute: {time: {distribution: constant, value: 8ms}}
scheme: ring
workers: 2
busy_wait: 10ms
Y
"$LAGGARD" run "$SCRATCH/busy.yaml" --db "$SCRATCH/busy.db" --quiet >/dev/null 2>"$SCRATCH/stderr"
is "$?$(cat "$SCRATCH/stderr")" 0 "agents that look for messages all the time run"
is "$(query "$SCRATCH/busy.db" "SELECT min(loop_busy_ns + loop_wait_ns > 0.5 * duration_ns), ifnull(fidelity_reason, '') LIKE '%waited for a processor%' FROM node_counter JOIN trials ON trial = trial_id")" \
    "1 0" "they are ready to run all the time, and the verdict does not count that"
finish
