#!/bin/sh
# sizes.t: TAP. workload.sizes: message sizes swept within one trial, on the same network, agents and connections; each with rows, bytes,
# checks, bandwidths and predictions of its own, as if it had a trial to itself; and nothing by halves where a trial does not end well.
. "$(dirname "$0")/lib.sh"
"$LAGGARD" doctor 2>&1 | grep -q "^yes  tbf" || skip_all "this host cannot shape links"
before=$(leftovers)

# 1. Three sizes, not in order, under schemes of both families, one of which chooses another algorithm for each size.
cat > "$SCRATCH/sizes.yaml" <<'Y'
name: sizes
topology: {shape: star, link: {rate: 1gbit}}
workload: {model: synthetic, sizes: [64KiB, 4KiB, 300000B], rounds: 6}
warmup_rounds: 2
repeats: 2
matrix: {scheme: [ring, ps-sync, allreduce-auto], workers: [2, 3]}
Y
sed 's/sizes: \[64KiB, 4KiB, 300000B\], //; s/^matrix: {/matrix: {workload.size: [64KiB, 4KiB, 300000B], /' "$SCRATCH/sizes.yaml" > "$SCRATCH/single.yaml"
db=$SCRATCH/sizes.db
"$LAGGARD" run "$SCRATCH/sizes.yaml" --db "$db" --quiet >"$SCRATCH/table" 2>"$SCRATCH/stderr"
is "$?$(cat "$SCRATCH/stderr")" 0 "six cells of three sizes run"
is "$(settles_to "$before")" "$before" "nothing is left"
is "$(query "$db" "SELECT count(*), sum(status = 'finished'), min(size_count), max(size_count), min(round_count), max(round_count) FROM trials")" "12 12 3 3 24 24" \
    "one trial has all sizes, and the rounds of all"
is "$(query "$db" "SELECT DISTINCT payload_bytes IS NULL, round_time_mean_ns IS NULL, predicted_round_ns IS NULL, round_time_reason, prediction_reason FROM trials")" \
    "1 1 1 it sweeps message sizes: the view message_sizes has each it sweeps message sizes: the view message_sizes has each" "what would mix sizes is NULL, with the reason"
is "$(query "$db" "SELECT size_position, payload_bytes, first_round, min(round_count), max(round_count), count(*) FROM message_sizes GROUP BY 1, 2, 3")" \
    "0 65536 0 8 8 12
1 4096 8 8 8 12
2 300000 16 8 8 12" "a row a trial and size, in the order of the list"
is "$(query "$db" "SELECT payload_bytes, sum(warmup), sum(NOT warmup) FROM rounds GROUP BY 1 ORDER BY 1")" "4096 24 72
65536 24 72
300000 24 72" "each size has its warm-up rounds and its rounds"
is "$(query "$db" "SELECT count(*) FROM message_sizes a JOIN message_sizes b ON a.trial = b.trial AND b.size_position = a.size_position + 1 WHERE b.begin_ns <= a.end_ns OR a.end_ns <= a.begin_ns")" 0 \
    "sizes follow each other, with a pause that is in no round"
is "$(query "$db" "SELECT count(*) FROM message_sizes m WHERE abs(round_time_mean_ns - (SELECT avg(round_time_ns) FROM rounds r WHERE r.trial = m.trial AND r.payload_bytes = m.payload_bytes AND NOT warmup)) > 1 OR round_time_maximum_ns <> (SELECT max(round_time_ns) FROM rounds r WHERE r.trial = m.trial AND r.payload_bytes = m.payload_bytes AND NOT warmup)")" 0 \
    "stored numbers are those of the size's own measured rounds"

# 2. Bytes by formula: of a ring, each size's 2 (P - 1) S a round; of one server, P S up and P S down; what was sent has been received.
is "$(query "$db" "SELECT count(*), sum(sent = 8 * payload_bytes * CASE scheme WHEN 'ring' THEN 2 * (workers - 1) ELSE 2 * workers END) FROM (SELECT trial, scheme, workers, payload_bytes, sum(moved_bytes) AS sent FROM spans WHERE kind = 'send' AND scheme IN ('ring', 'ps-sync') GROUP BY 1, 2, 3, 4)")" "24 24" \
    "bytes on the wire by the formula, size by size"
is "$(query "$db" "SELECT sum(sent_payload_bytes) = sum(received_payload_bytes), sum(lost_span_count), sum(check_failure_count) FROM node_counter")" "1 0 0" "what was sent was received; nothing was lost, every sum is exact"
# A check looks at the whole last sum of each size: 16,384, 1,024 and 75,000 floats, and more in rounds.
is "$(query "$db" "SELECT min(check_count >= 92408) FROM node_counter JOIN node USING (trial_id, node) JOIN trials ON trial = trial_id WHERE scheme = 'ring' AND role = 'worker'")" 1 \
    "the last sum of every size is checked whole"

# 3. Bandwidths from the rows.
is "$(query "$db" "SELECT count(*), sum(trials + void = 2), count(DISTINCT size_position) FROM cells")" "18 18 3" "cells has a row a size"
is "$(query "$db" "SELECT count(*) FROM cells c WHERE abs(algbw_bytes_per_second / (payload_bytes * 1e9 / (SELECT avg(round_time_mean_ns) FROM message_sizes m WHERE m.cell = c.cell AND m.size_position = c.size_position AND fidelity <> 'void')) - 1) > 1e-4")" 0 "algbw is size over mean round time"
is "$(query "$db" "SELECT count(*), sum(abs(busbw_bytes_per_second / (algbw_bytes_per_second * 2 * (workers - 1) / workers) - 1) < 1e-9), sum(abs(algbw_bytes_per_second / (payload_bytes * 1e9 / round_time_mean_ns) - 1) < 1e-4) FROM message_sizes WHERE scheme <> 'ps-sync'")" "24 24 24" "busbw is algbw x 2 (P - 1) / P"
is "$(query "$db" "SELECT DISTINCT busbw_bytes_per_second IS NULL, algbw_bytes_per_second > 0, bandwidth_reason FROM message_sizes WHERE scheme = 'ps-sync'")" "1 1 a bus bandwidth is defined for all-reduce schemes" "of a server's scheme it is undefined, with the reason"
is "$(grep -c ' 64KiB  ' "$SCRATCH/table") $(grep -c ' 300KB  ' "$SCRATCH/table") $(head -1 "$SCRATCH/table" | tr -s ' ' | cut -d ' ' -f 1-4)" "6 6 scheme workers size trials" "the closing table has a line a size"

# 4. The same sizes in trials of their own: the same predictions, the same choice of algorithm, the same kind of rows.
"$LAGGARD" run "$SCRATCH/single.yaml" --db "$SCRATCH/single.db" --quiet >"$SCRATCH/out" 2>&1
ok $? "each size in a trial of its own" "$(cat "$SCRATCH/out")"
is "$(query "$SCRATCH/single.db" "SELECT sum(size_count), count(size_position), count(*) FROM trials LEFT JOIN message_sizes USING (trial)")" "0 0 36" "trials of one size have no position in a list"
predicted() { # predicted FILE: as planned, since a run measures first what a message costs
    "$LAGGARD" plan "$1" --json | grep -o '"predicted_round_ns":[0-9.]*' | sort
}
is "$(predicted "$SCRATCH/sizes.yaml" | wc -l) $(predicted "$SCRATCH/sizes.yaml")" "18 $(predicted "$SCRATCH/single.yaml")" "a size swept is predicted as one by itself"
is "$(query "$db" "SELECT count(*), count(predicted_round_ns), count(predicted_measured_round_ns) FROM message_sizes")" "36 36 36" "and every size has predictions in the database"
is "$(query "$db" "ATTACH '$SCRATCH/single.db' AS single; SELECT count(*), sum(a.sent = b.sent) FROM (SELECT scheme, workers, payload_bytes, sum(moved_bytes) AS sent FROM spans WHERE kind = 'send' GROUP BY 1, 2, 3) a JOIN (SELECT scheme, workers, payload_bytes, sum(moved_bytes) AS sent FROM single.spans WHERE kind = 'send' GROUP BY 1, 2, 3) b USING (scheme, workers, payload_bytes) WHERE scheme <> 'allreduce-auto'")" "12 12" \
    "and sends the same bytes, where a measured cost of a message does not choose the algorithm"

# 5. Schemes that leave messages under way when their rounds are over.
cat > "$SCRATCH/servers.yaml" <<'Y'
name: servers
topology: {link: {rate: 200mbit}}
workload: {model: synthetic, sizes: [200KB, 4KiB, 100KB], rounds: 10}
compute: {time: {distribution: exponential, mean: 2ms}}
workers: 3
matrix: {scheme: [{name: backup, backups: 1}, {name: ps-drop, drop: 1}, {name: k-sync, k: 2}, {name: k-batch-sync, k: 2}, {name: k-async, k: 2}, {name: k-batch-async, k: 2}, async, ssp, easgd, {name: ps-sync, servers: 2}, {name: hierarchical, group: 1}, halving-doubling, recursive-doubling, binomial-tree, double-binary-tree, direct, naive]}
Y
"$LAGGARD" plan "$SCRATCH/servers.yaml" >/dev/null 2>"$SCRATCH/stderr"
is "$?$(cat "$SCRATCH/stderr")" 0 "every scheme can sweep sizes"
db=$SCRATCH/servers.db
"$LAGGARD" run "$SCRATCH/servers.yaml" --db "$db" --quiet >"$SCRATCH/table" 2>"$SCRATCH/stderr"
is "$?$(cat "$SCRATCH/stderr")" 0 "and does"
is "$(query "$db" "SELECT count(*), sum(status = 'finished'), min(round_count), max(round_count) FROM trials")" "17 17 30 30" "every trial is finished, with all rounds of all sizes"
is "$(query "$db" "SELECT sum(check_failure_count), sum(lost_span_count) FROM node_counter")" "0 0" "every sum is exact"
is "$(query "$db" "SELECT count(*), sum(sent = received) FROM (SELECT s.trial, s.payload_bytes, total(s.moved_bytes) FILTER (WHERE kind = 'send') AS sent, total(s.moved_bytes) FILTER (WHERE kind = 'receive') AS received FROM spans s WHERE s.payload_bytes <> 100000 GROUP BY 1, 2)")" "34 34" \
    "of what a size leaves under way nothing reaches the next: it is received, and dropped, before that begins"
is "$(query "$db" "SELECT count(*) FROM spans s JOIN message_sizes m ON m.trial = s.trial AND m.payload_bytes = s.payload_bytes WHERE s.kind IN ('send', 'receive') AND s.moved_bytes > s.payload_bytes")" 0 "no message of a size is longer than it"

# 6. A worker that is lost in the first size: the next ones go on without it.
cat > "$SCRATCH/lost.yaml" <<'Y'
name: lost
topology: {link: {rate: 100mbit}}
workload: {model: synthetic, sizes: [4KiB, 20KB, 8KiB], rounds: 20}
compute: {time: {distribution: constant, value: 5ms}}
workers: 3
matrix: {scheme: [{name: backup, backups: 1}, {name: k-async, k: 1}]}
events: [{round: 10, do: crash, node: w1}]
Y
db=$SCRATCH/lost.db
"$LAGGARD" run "$SCRATCH/lost.yaml" --db "$db" --quiet >"$SCRATCH/table" 2>"$SCRATCH/stderr"
is "$?$(cat "$SCRATCH/stderr")" 0 "a worker is lost in the first size: the campaign runs"
is "$(query "$db" "SELECT status, round_count FROM trials")" "finished 60
finished 60" "all rounds of all sizes are made"
is "$(query "$db" "SELECT count(*) FROM spans WHERE node_name = 'w1'")" 0 "by the others"
in_size() { # in_size DB: the sizes during which node 0 came to the round that the event waits for
    query "$1" "SELECT DISTINCT size_position FROM events e JOIN message_sizes m USING (trial) WHERE kind = 'crash' AND asked_ns BETWEEN m.begin_ns AND m.end_ns"
}
is "$(in_size "$db")" 0 "round 10 is of the first size"
sed 's/round: 10/round: 30/; s/name: lost/name: later/' "$SCRATCH/lost.yaml" > "$SCRATCH/later.yaml"
"$LAGGARD" run "$SCRATCH/later.yaml" --db "$SCRATCH/later.db" --quiet >/dev/null 2>"$SCRATCH/stderr"
is "$?$(in_size "$SCRATCH/later.db")" "01" "rounds of events count on over the sizes"

# 7. What does not end well leaves no half rows.
cat > "$SCRATCH/long.yaml" <<'Y'
name: long
topology: {link: {rate: 100mbit}}
workload: {model: synthetic, sizes: [4KiB, 8KiB, 16KiB], rounds: 200}
compute: {time: {distribution: constant, value: 10ms}}
workers: 2
scheme: ring
Y
in_the_second_size() { # waits, a minute at most, until w0 has received more than the 200 x 4 KiB of the first size and what TCP adds
    agent=$(agent_in_trial w0) tries=0
    while [ -d "/proc/$agent" ] && [ $tries -lt 1200 ] && [ "$(awk '/:/ {sum += $2} END {print (sum > 1400000)}' "/proc/$agent/net/dev" 2>/dev/null)" = 0 ]; do
        sleep 0.05
        tries=$((tries + 1))
    done
}
half_rows() { # half_rows DB: of trials that have not ended well
    query "$1" "SELECT (SELECT count(*) FROM rounds) + (SELECT count(*) FROM spans) + (SELECT count(*) FROM trial_metric) + (SELECT count(*) FROM node_counter), (SELECT count(round_time_mean_ns) + sum(round_count) FROM message_sizes), (SELECT count(*) FROM message_sizes)"
}
db=$SCRATCH/interrupted.db
"$LAGGARD" run "$SCRATCH/long.yaml" --db "$db" --quiet >/dev/null 2>&1 &
controller=$!
in_the_second_size
kill -INT $controller
wait $controller
is "$? $(query "$db" "SELECT status FROM trials") $(half_rows "$db")" "130 interrupted 0 0 3" "an interruption between the sizes leaves no half rows"
db=$SCRATCH/killed.db
"$LAGGARD" run "$SCRATCH/long.yaml" --db "$db" --quiet >/dev/null 2>&1 &
controller=$!
in_the_second_size
kill -KILL $controller
wait $controller 2>/dev/null
is "$(settles_to "$before")" "$before" "kill -9: no process, namespace or link is left"
is "$(query "$db" "SELECT status FROM trials") $(half_rows "$db")" "running 0 0 3" "kill -9: nor is a row of what was measured"
sed 's/^scheme/trial_deadline: 2s\nscheme/' "$SCRATCH/long.yaml" > "$SCRATCH/deadline.yaml"
"$LAGGARD" run "$SCRATCH/deadline.yaml" --db "$SCRATCH/deadline.db" --quiet >/dev/null 2>&1
is "$? $(half_rows "$SCRATCH/deadline.db")" "4 0 0 3" "trial_deadline is of all sizes together"
is "$(settles_to "$before")" "$before" "nothing is left"

# 8. The plan.
"$LAGGARD" plan "$SCRATCH/sizes.yaml" > "$SCRATCH/plan"
is "$(grep -c '^ *size 300KB  *[0-9]' "$SCRATCH/plan")" 6 "the plan has a line a size, with its prediction"
is "$("$LAGGARD" plan "$SCRATCH/sizes.yaml" --json | sed 's/.*"sizes":\[{"payload_bytes":65536,"predicted_round_ns":[0-9].*/sizes/')" sizes "and so has its JSON"
"$LAGGARD" run "$SCRATCH/sizes.yaml" --db "$SCRATCH/json.db" --quiet --json --only 0 > "$SCRATCH/json" 2>&1
is "$(grep -o '"payload_bytes":[0-9]*' "$SCRATCH/json" | tr '\n' ' ')" '"payload_bytes":65536 "payload_bytes":4096 "payload_bytes":300000 ' "run --json has an object a size"
finish
