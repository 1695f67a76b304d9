#!/bin/sh
# schemes.t: TAP. Every scheme with 2, 3, 5 and 8 workers: sums are right, gradients have the fates that the scheme promises, models learn.
. "$(dirname "$0")/lib.sh"
"$LAGGARD" doctor 2>&1 | grep -q "^yes  tbf" || skip_all "this host cannot shape links"

servers="backup, ps-drop, {name: backup, cancel: true}, {name: k-sync, k: 2}, {name: k-batch-sync, k: 2}, {name: k-async, k: 2}, {name: k-batch-async, k: 2}, async, ssp, {name: ssp, staleness: 0}, {name: easgd, period: 2}"
reductions="ring, halving-doubling, recursive-doubling, binomial-tree, double-binary-tree, {name: hierarchical, group: 1}, direct, naive, allreduce-auto"
cat > "$SCRATCH/all.yaml" <<Y
name: all
topology: {link: {rate: 1gbit}}
workload: {model: synthetic, size: 100KB, rounds: 12}
compute: {time: {distribution: exponential, mean: 2ms}}
matrix: {workers: [2, 3, 5, 8], scheme: [ps-sync, {name: ps-sync, servers: 2}, {name: ps-sync, servers: 2, placement: colocated}, $servers, $reductions]}
Y
db=$SCRATCH/all.db
before=$(leftovers)
"$LAGGARD" run "$SCRATCH/all.yaml" --db "$db" --quiet >"$SCRATCH/table" 2>"$SCRATCH/stderr"
is "$?$(cat "$SCRATCH/stderr")" 0 "92 cells run"
is "$(settles_to "$before")" "$before" "nothing is left"
is "$(query "$db" "SELECT count(*), sum(status = 'finished') FROM trials")" "92 92" "every trial is finished"
is "$(query "$db" "SELECT sum(check_count = 0), sum(check_failure_count) FROM node_counter JOIN trial USING (trial_id) WHERE node = worker_count + server_count - 1")" "0 0" "servers, and workers where there is none, checked the sums"
is "$(query "$db" "SELECT sum(lost_span_count) FROM node_counter")" 0 "there was memory for every span and every gradient's fate"
is "$(query "$db" "SELECT DISTINCT count(*) FROM round GROUP BY trial_id")" 12 "every trial has all its rounds"

# Quotas: P for ps-sync, P - 1 for backup and ps-drop, 2 for the k family, 1 otherwise; all gradients that the server used.
is "$(query "$db" "SELECT count(*) FROM (SELECT scheme, workers, sum(fate = 'used') AS used FROM gradient JOIN trial USING (trial_id) JOIN cell USING (cell_id) GROUP BY trial_id)
    WHERE used <> 12 * CASE WHEN scheme IN ('backup', 'ps-drop') THEN workers - 1 WHEN scheme = 'ps-sync' THEN workers WHEN scheme LIKE 'k-%' THEN 2 ELSE 1 END")" 0 "every update has its quota of gradients"
is "$(query "$db" "SELECT max(staleness_count) FROM gradient JOIN trial USING (trial_id) JOIN cell USING (cell_id)
    WHERE fate = 'used' AND scheme IN ('backup', 'ps-drop', 'k-sync', 'k-batch-sync')")" 0 "synchronous servers use fresh gradients only"
is "$(query "$db" "SELECT count(*) FROM (SELECT count(*) AS times FROM gradient JOIN trial USING (trial_id) JOIN cell USING (cell_id)
    WHERE fate = 'used' AND scheme IN ('backup', 'ps-drop', 'k-sync', 'k-async') GROUP BY trial_id, round, worker) WHERE times > 1")" 0 "a worker counts once an update where it should"
like "$(query "$db" "SELECT max(staleness_count) FROM gradient JOIN trial USING (trial_id) JOIN cell USING (cell_id) WHERE fate = 'used' AND scheme = 'async' AND workers = 8")" "^[1-9]" "async uses stale gradients"
is "$(query "$db" "SELECT count(*), sum(workers_seen = workers AND orders = workers AND last = workers - 1) FROM
    (SELECT workers, count(DISTINCT worker) AS workers_seen, count(DISTINCT arrival_order) AS orders, max(arrival_order) AS last
     FROM gradient JOIN trial USING (trial_id) JOIN cell USING (cell_id) WHERE scheme = 'ps-sync' GROUP BY trial_id, round)")" "144 144" \
    "ps-sync: in each of 12 rounds, every worker's gradient has its place in the order of arrival"
is "$(query "$db" "SELECT count(*) FROM gradient WHERE arrived_ns <= 0")" 0 "arrivals have their times"
is "$(query "$db" "SELECT count(*) FROM prediction WHERE basis = 'asked' AND round_ns IS NULL")" 0 "every scheme has a prediction"
# 100 KB / 5 workers / 4 bytes is whole: exact shares.
is "$(query "$db" "SELECT scheme, max(sent_payload_bytes) FROM node_counter JOIN trial USING (trial_id) JOIN cell USING (cell_id)
    WHERE workers = 5 AND scheme IN ('ring', 'direct', 'naive') GROUP BY scheme" | tr '\n' ' ')" "direct $((12 * 2 * 4 * 20000)) naive $((12 * 4 * 100000)) ring $((12 * 2 * 4 * 20000)) " "bytes on the wire by the formulas"

# Compressed gradients: nothing is counted as checked that was not, all nodes hold the same bits, and bytes are as the formulas say.
cat > "$SCRATCH/compress.yaml" <<Y
name: compress
topology: {link: {rate: 1gbit}}
workload: {model: synthetic, size: 100KB, rounds: 8}
compute: {time: {distribution: exponential, mean: 2ms}}
matrix: {workers: [2, 3, 5, 8], scheme: [{name: naive, compress: top-k}, {name: naive, compress: 1-bit, bucket: 30KB, overlap: true}, {name: allreduce-auto, compress: qsgd}, {name: ring, compress: powersgd}, {name: halving-doubling, compress: powersgd, compress_rank: 4}]}
Y
db=$SCRATCH/compress.db
"$LAGGARD" run "$SCRATCH/compress.yaml" --db "$db" --quiet >"$SCRATCH/table" 2>"$SCRATCH/stderr"
is "$?$(cat "$SCRATCH/stderr")" 0 "20 cells of compressed gradients run"
is "$(query "$db" "SELECT count(*), sum(status = 'finished') FROM trials")" "20 20" "every one is finished"
is "$(query "$db" "SELECT sum(check_count), sum(check_failure_count), sum(lost_span_count) FROM node_counter")" "0 0 0" "approximate sums do not count as checked; there was memory for every span"
is "$(query "$db" "SELECT count(*) FROM (SELECT count(DISTINCT model_sha256) AS vectors, count(model_sha256) AS nodes, workers FROM node_counter JOIN trial USING (trial_id) JOIN cell USING (cell_id)
    GROUP BY trial_id HAVING vectors = 1 AND nodes = workers)")" 20 "all nodes of each end with the same bits"
is "$(query "$db" "SELECT count(*) FROM prediction WHERE basis = 'asked' AND round_ns IS NULL")" 0 "each has a prediction"
# 25,000 floats: 250 entries of 8 bytes; 1-bit in 4 buckets of 6,250, 13 blocks each; 49 blocks of 512, 4 bits a value; factors of 158 x 159 floats, 2 of each
# (632 and 636 floats around the ring).
is "$(query "$db" "SELECT label, sum(sent_payload_bytes) / 8 FROM node_counter JOIN trial USING (trial_id) JOIN cell USING (cell_id) WHERE workers = 5 AND scheme <> 'halving-doubling'
    GROUP BY label" | sed 's/scheme=\([a-z-]*\).*workers=5/\1/; s/workers=5 scheme=\([a-z-]*\)[^ ]*/\1/' | sort | tr '\n' ' ')" \
    "allreduce-auto $((20 * (49 * 4 + 12500))) naive $((20 * 250 * 8)) naive $((20 * 4 * (13 * 8 + 782))) ring $((2 * 4 * 4 * 2 * (158 + 159))) " "compressed bytes by the formulas"

sent="SELECT label, node, sent_payload_bytes, count(*) OVER (PARTITION BY trial_id, model_sha256) = workers FROM node_counter JOIN trial USING (trial_id) JOIN cell USING (cell_id) ORDER BY 1, 2"
"$LAGGARD" run "$SCRATCH/compress.yaml" --world virtual --db "$SCRATCH/virtual.db" --quiet >"$SCRATCH/table" 2>"$SCRATCH/stderr"
is "$?$(cat "$SCRATCH/stderr")" 0 "they run in the virtual world"
is "$(query "$SCRATCH/virtual.db" "$sent" | md5sum)" "$(query "$db" "$sent" | md5sum)" "where nodes send as many bytes, and end with the same bits"

# Local steps: 4 averages in 12 steps with a period of 3, three in the background; adacomm's own by its clock.
cat > "$SCRATCH/local.yaml" <<Y
name: local
topology: {link: {rate: 1gbit}}
workload: {model: synthetic, size: 100KB, rounds: 12}
compute: {time: {distribution: exponential, mean: 2ms}}
matrix: {workers: [2, 3, 5, 8], scheme: [{name: local-sgd, period: 3, algorithm: ring}, {name: adacomm, period: 4, interval: 5ms}, {name: slowmo, period: 3}, {name: local-adaalter, period: 3, algorithm: direct}, {name: overlap-local-sgd, period: 3, algorithm: ring}]}
Y
db=$SCRATCH/local.db
"$LAGGARD" run "$SCRATCH/local.yaml" --db "$db" --quiet >"$SCRATCH/table" 2>"$SCRATCH/stderr"
is "$?$(cat "$SCRATCH/stderr")" 0 "20 cells of local steps run"
is "$(query "$db" "SELECT count(*), sum(status = 'finished') FROM trials")" "20 20" "every one is finished"
is "$(query "$db" "SELECT sum(check_count = 0), sum(check_failure_count), sum(lost_span_count) FROM node_counter")" "0 0 0" "all workers checked averages; there was memory for every span"
is "$(query "$db" "SELECT DISTINCT scheme FROM prediction JOIN trial USING (trial_id) JOIN cell USING (cell_id) WHERE basis = 'asked' AND round_ns IS NULL")" adacomm "all but adacomm have a prediction"
is "$(query "$db" "SELECT scheme, max(sent_payload_bytes), min(sent_payload_bytes) FROM node_counter JOIN trial USING (trial_id) JOIN cell USING (cell_id)
    WHERE workers = 5 AND scheme IN ('local-sgd', 'local-adaalter', 'overlap-local-sgd') GROUP BY scheme" | tr '\n' ' ')" \
    "local-adaalter $((4 * 2 * 4 * 40000)) $((4 * 2 * 4 * 40000)) local-sgd $((4 * 2 * 4 * 20000)) $((4 * 2 * 4 * 20000)) overlap-local-sgd $((3 * 2 * 4 * 20000)) $((3 * 2 * 4 * 20000)) " "bytes on the wire by the formulas"
sent="SELECT label, node, sent_payload_bytes, CASE WHEN scheme <> 'local-adaalter' THEN model_sha256 END FROM node_counter JOIN trial USING (trial_id) JOIN cell USING (cell_id) WHERE scheme <> 'adacomm' AND scheme <> 'slowmo' ORDER BY 1, 2"
"$LAGGARD" run "$SCRATCH/local.yaml" --world virtual --db "$SCRATCH/virtual-local.db" --quiet >"$SCRATCH/table" 2>"$SCRATCH/stderr"
is "$?$(cat "$SCRATCH/stderr")" 0 "they run in the virtual world"
query "$SCRATCH/virtual-local.db" "$sent" > "$SCRATCH/virtual.rows"
is "$(query "$db" "$sent" | diff "$SCRATCH/virtual.rows" -)" "" "where nodes send as many bytes, and end with the same bits (of two vectors, the last to be checked is not always the same)"

# Deadlines: a window of 3 ms, in which some workers do no sample.
cat > "$SCRATCH/windows.yaml" <<Y
name: windows
topology: {link: {rate: 1gbit}}
workload: {model: synthetic, size: 40KB, batch: 4, rounds: 12}
compute: {time: {distribution: exponential, mean: 10ms}}
matrix: {workers: [2, 3, 5, 8], scheme: [{name: anytime, window: 3ms}, {name: anytime, window: 3ms, servers: 2, placement: colocated}, {name: anytime-consensus, window: 3ms}, {name: anytime-consensus, window: 3ms, graph: complete, consensus_rounds: 2}, {name: quantimed-dsgd, window: 3ms, bits: 4}]}
Y
for world in emulated virtual; do
    "$LAGGARD" run "$SCRATCH/windows.yaml" --world $world --db "$SCRATCH/windows-$world.db" --quiet >"$SCRATCH/table" 2>"$SCRATCH/stderr"
    is "$?$(cat "$SCRATCH/stderr")" 0 "20 cells with a deadline run, $world"
    db=$SCRATCH/windows-$world.db
    is "$(query "$db" "SELECT count(*), sum(status = 'finished') FROM trials")" "20 20" "every one is finished, $world"
    is "$(query "$db" "SELECT sum(check_failure_count), sum(lost_span_count) FROM node_counter")" "0 0" "sums are right and there was memory for every span, $world"
    ok "$([ "$(query "$db" "SELECT count(*) FILTER (WHERE fate = 'dropped') > 20 AND count(*) FILTER (WHERE fate = 'used') > 200 AND count(*) = 12 * 36 FROM gradient")" = 1 ]; echo $?)" \
        "workers without a sample are counted, $world" "$(query "$db" "SELECT fate, count(*) FROM gradient GROUP BY fate")"
    is "$(query "$db" "SELECT DISTINCT sent_payload_bytes FROM node_counter JOIN trial USING (trial_id) JOIN cell USING (cell_id) WHERE scheme = 'quantimed-dsgd' AND workers > 2")" \
        "$((12 * 2 * 5004))" "quantised models have the bytes of the formula, $world"
done

# Real gradients: the synchronous ones end with the model that one process gets, to rounding; the others learn.
cat > "$SCRATCH/real.yaml" <<Y
name: real
workload: {model: softmax, batch: 8, rounds: 60, learning_rate: 0.01}
workers: 3
matrix: {scheme: [ps-sync, {name: ps-sync, servers: 3, placement: colocated}, ring, halving-doubling, recursive-doubling, binomial-tree, double-binary-tree, {name: hierarchical, group: 3}, direct, naive, {name: k-sync, k: 3}, {name: backup, backups: 0}, async, ssp, {name: easgd, period: 2}, {name: k-async, k: 2}, {name: k-batch-async, k: 2}, {name: k-batch-sync, k: 2}]}
Y
if [ -d /usr/share/dataset/fashion-mnist ] || "$LAGGARD" plan "$SCRATCH/real.yaml" >/dev/null 2>&1; then
    db=$SCRATCH/real.db
    "$LAGGARD" run "$SCRATCH/real.yaml" --db "$db" --quiet >"$SCRATCH/table" 2>"$SCRATCH/stderr"
    is "$?$(cat "$SCRATCH/stderr")" 0 "18 schemes train"
    is "$(query "$db" "SELECT count(DISTINCT round(loss, 4)) FROM evaluation JOIN trial USING (trial_id) JOIN cell USING (cell_id)
        WHERE round = 60 AND scheme NOT IN ('async', 'ssp', 'easgd', 'k-async', 'k-batch-async', 'k-batch-sync')")" 1 "twelve synchronous schemes end at the same loss"
    is "$(query "$db" "SELECT count(*) FROM evaluation a JOIN evaluation b USING (trial_id) WHERE a.round = 0 AND b.round = 60 AND b.loss < a.loss")" 18 "all of them have learnt"

    # Local steps: with a period of 1 as all the others; all learn.
    cat > "$SCRATCH/steps.yaml" <<Y
name: steps
workload: {model: softmax, batch: 8, rounds: 60, learning_rate: 0.01}
workers: 3
matrix: {scheme: [ring, {name: local-sgd, period: 1}, {name: local-sgd, period: 5}, {name: adacomm, period: 6, interval: 10ms}, {name: slowmo, period: 5}, {name: local-adaalter, period: 5}, {name: overlap-local-sgd, period: 5}]}
Y
    db=$SCRATCH/steps.db
    "$LAGGARD" run "$SCRATCH/steps.yaml" --db "$db" --quiet >"$SCRATCH/table" 2>"$SCRATCH/stderr"
    is "$?$(cat "$SCRATCH/stderr")" 0 "schemes with local steps train"
    is "$(query "$db" "SELECT count(DISTINCT round(loss, 4)) FROM evaluation JOIN trial USING (trial_id) JOIN cell USING (cell_id) WHERE round = 60 AND number < 2")" 1 "local-sgd with a period of 1 ends where a ring does"
    is "$(query "$db" "SELECT count(*) FROM evaluation a JOIN evaluation b USING (trial_id) WHERE a.round = 0 AND b.round = 60 AND b.loss < a.loss")" 7 "all of them have learnt"
    is "$(query "$db" "SELECT count(*) FROM (SELECT 1 FROM node_counter JOIN trial USING (trial_id) JOIN cell USING (cell_id) WHERE scheme IN ('local-sgd', 'slowmo', 'local-adaalter') GROUP BY trial_id HAVING count(DISTINCT model_sha256) = 1)")" 4 "after an average all hold the same bits"

    # Compressed, they learn as well, or nearly so.
    cat > "$SCRATCH/trained.yaml" <<Y
name: trained
workload: {model: mlp, layers: [32], batch: 16, rounds: 300, learning_rate: 0.03}
workers: 3
matrix: {scheme: [naive, {name: naive, compress: top-k, compress_share: 0.02}, {name: naive, compress: 1-bit}, {name: naive, compress: qsgd}, {name: ring, compress: powersgd}]}
Y
    db=$SCRATCH/trained.db
    "$LAGGARD" run "$SCRATCH/trained.yaml" --db "$db" --quiet >"$SCRATCH/table" 2>"$SCRATCH/stderr"
    is "$?$(cat "$SCRATCH/stderr")" 0 "compressed gradients train"
    is "$(query "$db" "SELECT count(*) FROM (SELECT count(DISTINCT model_sha256) AS models, count(model_sha256) AS nodes FROM node_counter GROUP BY trial_id HAVING models = 1 AND nodes = 3)")" 5 "all workers end with the same model"
    is "$(query "$db" "SELECT sum(compressed.accuracy > plain.accuracy - 0.03), plain.accuracy > 0.65, count(DISTINCT compressed.loss) FROM trials compressed, trials plain
        WHERE plain.cell = 0 AND compressed.cell > 0")" "4 1 4" "which is nearly as good as without compression, each its own way"
    query "$db" "SELECT label, accuracy_ratio, loss FROM evaluation JOIN trial USING (trial_id) JOIN cell USING (cell_id) WHERE round = 300" | sed 's/^/# /'

    # Servers that follow the training. The loss falls to less than two fifths, so 2 x sqrt(F0 / F) is 3 or 4 in the end, however long it takes.
    cat > "$SCRATCH/follow.yaml" <<Y
name: follow
workload: {model: softmax, batch: 16, rounds: 400, learning_rate: 0.02}
compute: {time: {distribution: constant, value: 5ms}}
workers: 4
matrix: {scheme: [{name: k-async, k: 2, adasync: 100ms}, {name: k-sync, k: 2, adasync: 100ms}, {name: async, compensate: 0.01}, {name: ssp, compensate: 0.01}]}
Y
    db=$SCRATCH/follow.db
    "$LAGGARD" run "$SCRATCH/follow.yaml" --db "$db" --quiet >"$SCRATCH/table" 2>"$SCRATCH/stderr"
    is "$?$(cat "$SCRATCH/stderr")" 0 "servers that follow the training run"
    is "$(query "$db" "SELECT min(k) FILTER (WHERE round = 0), max(k) FILTER (WHERE round = 0), min(k) FILTER (WHERE round = 399) >= 3, max(k) <= 4 FROM
        (SELECT trial_id, round, count(*) AS k FROM gradient JOIN trial USING (trial_id) JOIN cell USING (cell_id) WHERE fate = 'used' AND scheme LIKE 'k-%' GROUP BY trial_id, round)")" \
        "2 2 1 1" "with adasync an update takes more gradients in the end, and at most one of each worker"
    is "$(query "$db" "SELECT count(*) FROM evaluation a JOIN evaluation b USING (trial_id) WHERE a.round = 0 AND b.round = 400 AND b.loss < 0.75 * a.loss")" 4 "and they learn"
fi
finish
