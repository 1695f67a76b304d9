#!/bin/sh
# gossip.t: TAP. Decentralised schemes with 2, 3, 5 and 8 workers in both worlds: sums are right, bytes are those of the graph, the same models in both, and a
# lost neighbour fails the trial.
. "$(dirname "$0")/lib.sh"
"$LAGGARD" doctor 2>&1 | grep -q "^yes  tbf" || skip_all "this host cannot shape links"

printf '# two workers and their edge\n0 1\n' > "$SCRATCH/pair.txt"
cat > "$SCRATCH/gossip.yaml" <<Y
name: gossip
topology: {link: {rate: 1gbit}}
workload: {model: synthetic, size: 100KB, rounds: 12}
compute: {time: {distribution: exponential, mean: 2ms}}
matrix: {workers: [2, 3, 5, 8], scheme: [d-psgd, {name: d-psgd, graph: torus, overlap: false}, {name: d-psgd, graph: complete}, matcha, {name: matcha, graph: complete, budget: 1}]}
Y
db=$SCRATCH/gossip.db
before=$(leftovers)
"$LAGGARD" run "$SCRATCH/gossip.yaml" --db "$db" --world both --quiet >"$SCRATCH/table" 2>"$SCRATCH/stderr"
is "$?$(cat "$SCRATCH/stderr")" 0 "40 cells run, half of them in the virtual world"
is "$(settles_to "$before")" "$before" "nothing is left"
is "$(query "$db" "SELECT count(*), sum(status = 'finished') FROM trials")" "40 40" "every trial is finished"
is "$(query "$db" "SELECT sum(check_count = 0), sum(check_failure_count), sum(lost_span_count) FROM node_counter")" "0 0 0" "every worker checked its sums; there was memory for every span"
# Copies of 100 KB in 12 rounds.
is "$(query "$db" "SELECT count(*) FROM node_counter JOIN trial USING (trial_id) JOIN cell USING (cell_id) WHERE scheme = 'd-psgd' AND sent_payload_bytes <> 12 * 100000 * CASE
    WHEN label LIKE '%complete%' THEN workers - 1 WHEN workers = 2 THEN 1 WHEN label LIKE '%torus%' AND workers = 8 THEN 3 ELSE 2 END")" 0 "d-psgd sends a copy to each neighbour"
is "$(query "$db" "SELECT count(*) FROM node_counter JOIN trial USING (trial_id) JOIN cell USING (cell_id) WHERE label LIKE '%budget=1%' AND sent_payload_bytes <> 12 * 100000 * (workers - 1)")" 0 \
    "matcha with all of its budget does, too"
is "$(query "$db" "SELECT sum(sent_payload_bytes % 100000), sum(sent_payload_bytes) BETWEEN 0.3 * 12 * 100000 * 34 * 2 AND 0.7 * 12 * 100000 * 34 * 2 FROM node_counter JOIN trial USING (trial_id) JOIN cell USING (cell_id)
    WHERE scheme = 'matcha' AND label NOT LIKE '%budget=1%'")" "0 1" "with half of it, about half of a ring's 34 copies a round"
is "$(query "$db" "SELECT count(*) FROM prediction WHERE basis = 'asked' AND round_ns IS NULL")" 0 "every one has a prediction"

# Models: with all of the budget matcha is d-psgd, to the bit.
cat > "$SCRATCH/models.yaml" <<Y
name: models
world: virtual
workers: 5
workload: {model: softmax, rounds: 20, batch: 8, evaluate_every: 20}
compute: {time: {distribution: exponential, mean: 2ms}}
matrix: {scheme: [{name: d-psgd, graph: ring, overlap: false}, {name: matcha, graph: ring, budget: 1}]}
Y
"$LAGGARD" run "$SCRATCH/models.yaml" --db "$SCRATCH/models.db" --quiet >"$SCRATCH/table" 2>"$SCRATCH/stderr"
is "$?$(cat "$SCRATCH/stderr")" 0 "models are trained"
is "$(query "$SCRATCH/models.db" "SELECT count(DISTINCT printf('%.17g', loss)), count(*) FROM learning_curves WHERE round = 20")" "1 2" "matcha with all of its budget is d-psgd"

# A graph from a file; a neighbour that ends.
cat > "$SCRATCH/lost.yaml" <<Y
name: lost
workers: 2
workload: {model: synthetic, size: 4KB, rounds: 200}
compute: {time: {distribution: constant, value: 2ms}}
worker_graph: pair.txt
matrix: {scheme: [{name: d-psgd, graph: file}], events: [[], [{round: 20, do: crash, node: w1}]]}
Y
"$LAGGARD" run "$SCRATCH/lost.yaml" --db "$SCRATCH/lost.db" --quiet >"$SCRATCH/table" 2>"$SCRATCH/stderr"
is "$?" 4 "a trial fails"
is "$(query "$SCRATCH/lost.db" "SELECT group_concat(status) FROM (SELECT status FROM trials ORDER BY cell)")" "finished,failed" "the one whose neighbour ended"
like "$(query "$SCRATCH/lost.db" "SELECT reason FROM trials WHERE status = 'failed'")" "w1" "it says who"
finish
