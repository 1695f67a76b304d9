#!/bin/sh
# traffic.t: TAP. A campaign with cross traffic: rounds on a shared bottleneck take much longer, the flows' rows are there, and whoever dies,
# nothing is left; as an ordinary user, too.
. "$(dirname "$0")/lib.sh"
"$LAGGARD" doctor 2>&1 | grep -q "^yes  tbf" || skip_all "this host cannot shape links"
db=$SCRATCH/traffic.db
before=$(leftovers)

# Two racks of one worker each, and between them 20 Mbit/s, of which UDP takes 18 in either direction while rounds run.
cat > "$SCRATCH/campaign.yaml" <<'Y'
name: traffic
topology: {shape: dumbbell, link: {rate: 100mbit}, bottleneck: {rate: 20mbit}}
workload: {model: synthetic, size: 100KB, rounds: 8}
scheme: ring
workers: 2
repeats: 2
matrix:
  traffic:
    - []
    - - {from: left, to: right, rate: 18mbit}
      - {from: right, to: left, rate: 18mbit, packet: 1000B}
      - {from: w1, to: 0, rate: 1mbit, transport: tcp, on: 20ms, off: 20ms, spread: exponential}
Y
"$LAGGARD" plan "$SCRATCH/campaign.yaml" > "$SCRATCH/plan"
is "$(grep -c 'no prediction: cross traffic' "$SCRATCH/plan")" 1 "plan says why the cell with traffic has no prediction"
"$LAGGARD" run "$SCRATCH/campaign.yaml" --db "$db" --quiet >"$SCRATCH/table" 2>"$SCRATCH/stderr"
is "$?$(cat "$SCRATCH/stderr")" 0 "both cells run"
is "$(settles_to "$before")" "$before" "nothing is left"
is "$(query "$db" "SELECT group_concat(DISTINCT status) FROM trials")" finished "every trial is finished"
is "$(query "$db" "SELECT sum(check_failure_count) FROM node_counter")" 0 "sums are exact"
is "$(query "$db" "SELECT (SELECT min(round_time_p50_ns) FROM trials WHERE cell = 1) > 2 * (SELECT max(round_time_p50_ns) FROM trials WHERE cell = 0)")" 1 \
    "rounds take more than twice as long beside the traffic" "$(query "$db" "SELECT cell, round_time_p50_ns FROM trials")"
is "$(query "$db" "SELECT cell, predicted_round_ns IS NOT NULL, prediction_reason FROM trials GROUP BY cell")" "0 1 
1 0 cross traffic takes its part of the links, and no formula knows how much" "predictions know that they do not know"
is "$(query "$db" "SELECT DISTINCT flow, from_name, to_name, transport, asked_bps, packet_bytes, on_ns, spread FROM traffic WHERE cell = 1 ORDER BY flow")" \
    "0 left right udp 18000000 1400  
1 right left udp 18000000 1000  
2 w1 w0 tcp 1000000  20000000 exponential" "flows as asked"
is "$(query "$db" "SELECT count(*) FROM traffic WHERE cell = 0")" 0 "none where none was asked for"
is "$(query "$db" "SELECT min(asked_packet_count = sent_packet_count + refused_packet_count + late_packet_count), min(received_packet_count <= sent_packet_count), min(received_bytes = received_packet_count * packet_bytes) FROM traffic WHERE transport = 'udp'")" \
    "1 1 1" "packets add up"
is "$(query "$db" "SELECT min(abs(active_ns - duration_ns) < duration_ns / 5) FROM traffic JOIN trials USING (trial) WHERE transport = 'udp'")" 1 \
    "flows are on from the start of the first round to the end of the last"
is "$(query "$db" "SELECT min(active_ns > 0 AND active_ns < duration_ns AND received_bytes > 0) FROM traffic JOIN trials USING (trial) WHERE transport = 'tcp'")" 1 "a flow that takes turns is on for a part of that"
is "$(query "$db" "SELECT count(*) FROM traffic JOIN trials USING (trial) WHERE late_packet_count > 0.01 * asked_packet_count AND fidelity = 'faithful'")" 0 \
    "a flow that this host was too late for makes no faithful trial"
is "$(query "$db" "SELECT count(*) FROM column_doc WHERE table_name IN ('traffic', 'traffic_flow')")" "$(query "$db" "SELECT 2 + (SELECT count(*) FROM pragma_table_info('traffic')) + (SELECT count(*) FROM pragma_table_info('traffic_flow'))")" "every column is described"

# The process that sends is killed: the trial fails with the reason, and the campaign goes on.
sed 's/rounds: 8/rounds: 400/; s/repeats: 2/trial_deadline: 60s/; s/    - \[\]/    - [{from: left, to: right, rate: 18mbit}]/; /^    - - /,$d' "$SCRATCH/campaign.yaml" > "$SCRATCH/long.yaml"
cat >> "$SCRATCH/long.yaml" <<'Y'
    - [{from: left, to: right, rate: 1mbit, stop: 10ms}]
Y
"$LAGGARD" run "$SCRATCH/long.yaml" --db "$SCRATCH/long.db" --only 0 --quiet >/dev/null 2>"$SCRATCH/stderr" &
controller=$!
kill -9 "$(await_named laggard-traffic)"
wait $controller
is $? 4 "the process that sends is killed: exit code 4"
like "$(query "$SCRATCH/long.db" "SELECT reason FROM trials")" "process of the cross traffic has ended" "and the reason says so"
is "$(settles_to "$before")" "$before" "nothing is left"
"$LAGGARD" run "$SCRATCH/long.yaml" --db "$SCRATCH/long.db" --only 1 --quiet >/dev/null 2>"$SCRATCH/stderr" &
controller=$!
await_named laggard-traffic >/dev/null
sleep 0.3
kill -9 $controller
wait $controller 2>/dev/null
is "$(settles_to "$before")" "$before" "kill -9 of the controller leaves nothing"

# As an ordinary user.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && setpriv --reuid=65534 --regid=65534 --clear-groups unshare --user --map-root-user true 2>/dev/null; then
    mkdir "$SCRATCH/home" && chown 65534:65534 "$SCRATCH/home"
    cp "$LAGGARD" "$LAGGARD-agent" "$SCRATCH/"
    chmod 755 "$SCRATCH"/laggard*
    chmod 644 "$SCRATCH/campaign.yaml"
    output=$(setpriv --reuid=65534 --regid=65534 --clear-groups "$SCRATCH/laggard" run "$SCRATCH/campaign.yaml" --only 1 --db "$SCRATCH/home/out.db" --quiet 2>&1)
    is $? 0 "an ordinary user has cross traffic, too" "$output"
    is "$(query "$SCRATCH/home/out.db" "SELECT count(*), min(received_bytes > 0) FROM traffic")" "6 1" "and its rows"
    is "$(settles_to "$before")" "$before" "nothing is left"
fi
finish
