#!/bin/sh
# federated.t: TAP. Federated schemes with 2, 3, 5 and 8 clients in both worlds: sums are right, bytes are by the formulas, failures are told once;
# skewed shards: the same model in both worlds; what is refused.
. "$(dirname "$0")/lib.sh"
"$LAGGARD" doctor 2>&1 | grep -q "^yes  tbf" || skip_all "this host cannot shape links"

# Federated: half of the clients a round, the next two updates, the first half of all; then clients that fail.
cat > "$SCRATCH/federated.yaml" <<Y
name: federated
topology: {link: {rate: 1gbit}}
workload: {model: synthetic, size: 40KB, rounds: 10}
compute: {time: {distribution: exponential, mean: 2ms}}
matrix: {workers: [2, 3, 5, 8], scheme: [{name: fedavg, period: 2, fraction: 0.5}, {name: fedbuff, period: 2, k: 2}, {name: safa, period: 2}, {name: fedavg, period: 2, dropout: 0.3, deadline: 60ms}, {name: fedbuff, period: 2, k: 2, dropout: 0.3, deadline: 60ms}, {name: safa, period: 2, dropout: 0.3, deadline: 60ms}]}
Y
# Each update that was sent is told of once, but for what was under way at the end.
fates="SELECT sum(sent - told BETWEEN 0 AND worker_count) FROM (SELECT trial_id, sum(sent_payload_bytes) / 40000 AS sent FROM node_counter JOIN node USING (trial_id, node) WHERE role = 'worker' GROUP BY trial_id)
    JOIN (SELECT trial_id, sum(fate <> 'cancelled') AS told FROM gradient GROUP BY trial_id) USING (trial_id) JOIN trial USING (trial_id)"
for world in emulated virtual; do
    db=$SCRATCH/federated-$world.db
    "$LAGGARD" run "$SCRATCH/federated.yaml" --world $world --db "$db" --quiet >"$SCRATCH/table" 2>"$SCRATCH/stderr"
    is "$?$(cat "$SCRATCH/stderr")" 0 "24 cells of federated schemes run in world $world"
    is "$(query "$db" "SELECT count(*), sum(status = 'finished') FROM trials")" "24 24" "every one is finished"
    is "$(query "$db" "SELECT sum(check_failure_count), sum(lost_span_count) FROM node_counter")" "0 0" "sums were right; there was memory for every span"
    is "$(query "$db" "SELECT count(*), sum(checks > 0) FROM (SELECT sum(check_count) AS checks FROM node_counter GROUP BY trial_id)")" "24 24" "and were looked at"
    is "$(query "$db" "SELECT DISTINCT fate FROM gradient JOIN trials ON trial = trial_id WHERE label LIKE '%fedavg(period=2,fraction=0.5)%'")" used "where nobody fails, what fedavg waits for it uses"
    is "$(query "$db" "SELECT count(*) FROM gradient JOIN trials ON trial = trial_id WHERE fate = 'cancelled' AND label LIKE '%fedavg%dropout%'" | awk '{ print ($1 > 20 && $1 < 90) }')" 1 "three in ten of 180 assignments failed"
    is "$(query "$db" "SELECT workers, sum(sent_payload_bytes) FROM node_counter JOIN node USING (trial_id, node) JOIN trials ON trial = trial_id
        WHERE role = 'server' AND label LIKE '%fedavg(period=2,fraction=0.5)%' GROUP BY workers" | tr '\n' ' ')" \
        "2 400000 3 800000 5 1200000 8 1600000 " "models to half of the clients a round, rounded up"
done
is "$(query "$SCRATCH/federated-virtual.db" "$fates")" 24 "each update is told of once"

# Shards are the same in both worlds: fedavg of all comes to the same loss, but for the last digits of another kernel.
cat > "$SCRATCH/shards.yaml" <<Y
name: shards
workload: {model: softmax, batch: 8, rounds: 8, learning_rate: 0.01, shards: {alpha: 0.1, size_alpha: 1}}
workers: 3
compute: {time: {distribution: constant, value: 2ms}}
matrix: {scheme: [{name: fedavg, period: 3}, {name: safa, period: 3, fraction: 1}, {name: fedbuff, period: 3, k: 3, wait: true}], workload.shards.split: [iid, dirichlet]}
Y
if "$LAGGARD" plan "$SCRATCH/shards.yaml" >/dev/null 2>&1; then
    for world in emulated virtual; do
        "$LAGGARD" run "$SCRATCH/shards.yaml" --world $world --db "$SCRATCH/shards-$world.db" --quiet >"$SCRATCH/table" 2>"$SCRATCH/stderr"
        is "$?$(cat "$SCRATCH/stderr")" 0 "federated schemes train on skewed shards in world $world"
    done
    losses="SELECT cell, round(loss, 3) FROM trials ORDER BY cell"
    is "$(query "$SCRATCH/shards-emulated.db" "$losses")" "$(query "$SCRATCH/shards-virtual.db" "$losses")" "both worlds come to the same losses"
    is "$(query "$SCRATCH/shards-virtual.db" "SELECT count(DISTINCT round(loss, 4)) FROM trials WHERE scheme <> 'fedbuff' AND label LIKE '%dirichlet%'")" 1 "safa with everyone is fedavg"
    is "$(query "$SCRATCH/shards-virtual.db" "SELECT count(DISTINCT round(loss, 3)) FROM trials WHERE scheme = 'fedavg'")" 2 "other labels make another model"
fi

for bad in bad-federated-fraction bad-federated-dropout bad-shards-alpha-zero bad-shards-alpha-negative; do
    "$LAGGARD" plan "tests/golden/$bad.yaml" >/dev/null 2>"$SCRATCH/stderr"
    is "$?" 2 "$bad.yaml: exit code 2"
done
finish
