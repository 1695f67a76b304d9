#!/bin/sh
# impairments.t: TAP. A campaign over links that lose, duplicate, corrupt, reorder and jitter: it finishes with exact sums, and the packets
# are counted as asked for.
. "$(dirname "$0")/lib.sh"
"$LAGGARD" doctor 2>&1 | grep -q "^yes  tbf" || skip_all "this host cannot shape links"
[ -w /dev/net/tun ] || skip_all "/dev/net/tun is missing or not writable"

cat > "$SCRATCH/campaign.yaml" <<'Y'
name: impairments
engine: relay
topology:
  link: {rate: 50mbit, delay: 1ms, framing: l1, queue_packets: 200, jitter: 200us, jitter_distribution: pareto, duplicate: 2%, corrupt: 0.2%, reorder: 1%}
workload: {model: synthetic, size: 200KB, rounds: 5}
scheme: ring
workers: 2
rto_min: 20ms
matrix: {topology.link.loss: [0, 1%]}
Y
db=$SCRATCH/impairments.db
before=$(leftovers)
"$LAGGARD" run "$SCRATCH/campaign.yaml" --db "$db" --quiet >"$SCRATCH/table" 2>"$SCRATCH/stderr"
is "$?$(cat "$SCRATCH/stderr")" 0 "two cells run"
is "$(settles_to "$before")" "$before" "nothing is left"
is "$(query "$db" "SELECT group_concat(DISTINCT status) FROM trials")" finished "every trial is finished"
is "$(query "$db" "SELECT min(check_count > 0), sum(check_failure_count) FROM node_counter JOIN node USING (trial_id, node) WHERE role = 'worker'")" "1 0" "every sum is exact, whatever happened to its packets"
is "$(query "$db" "SELECT DISTINCT engine, asked_jitter_ns, asked_jitter_distribution, asked_duplicate_ratio, asked_corrupt_ratio, asked_reorder_ratio, asked_framing, asked_queue_packets, seeded FROM links")" "relay 200000 pareto 0.02 0.002 0.01 l1 200 1" "links as asked"
is "$(query "$db" "SELECT asked_loss_ratio, sum(lost_count) > 0, sum(duplicated_count) > 0, sum(reordered_count) > 0, sum(unasked_drop_count) FROM links GROUP BY cell ORDER BY cell")" "0.0 0 1 1 0
0.01 1 1 1 0" "what was asked is counted, and is no drop that nobody asked for"
is "$(query "$db" "SELECT min(packet_count > carried_bytes / 1514) FROM links")" 1 "packets are frames"
is "$(query "$db" "SELECT min(measured_packet_count >= 500), min(measured_duplicated_count > 0), sum(measured_reordered_count) > 0, min(measured_lost_count >= measured_loss_run) FROM links WHERE measured_lost_count > 0")" "1 1 1 1" \
    "what the idle links did to packets is stored beforehand"
"$LAGGARD" run "$SCRATCH/campaign.yaml" --db "$SCRATCH/none.db" --engine netem --quiet >/dev/null 2>"$SCRATCH/stderr"
status=$?
if [ $status = 3 ]; then
    like "$(cat "$SCRATCH/stderr")" "this host cannot emulate $SCRATCH/campaign.yaml \(.--world virtual. runs it without a network\): .*netem" "an engine that is not there is named, and what runs all the same"
    printf '%s\n' 'name: own' 'workers: 2' 'topology: {link: {rate: 10mbit, delay: 1ms}}' 'workload: {exec: [true]}' > "$SCRATCH/own.yaml"
    out=$("$LAGGARD" run "$SCRATCH/own.yaml" --db "$SCRATCH/none.db" --engine netem --quiet 2>&1)
    is "$?" 3 "nor has an outside program that engine"
    is "$(printf '%s' "$out" | grep -c -e '--world virtual')" 0 "and it is not told of a world that has no programs"
else
    is $status 0 "engine netem does all of it, too"
fi
sed 's/pareto,/pareto, jitter_correlation: 0.5,/' "$SCRATCH/campaign.yaml" > "$SCRATCH/correlated.yaml"
"$LAGGARD" run "$SCRATCH/correlated.yaml" --db "$SCRATCH/none.db" --engine netem --quiet >/dev/null 2>"$SCRATCH/stderr"
like "$?$(cat "$SCRATCH/stderr")" "^[23].*netem" "what an engine cannot is refused"
finish
