#!/bin/sh
# campaign.t: TAP. A small campaign from file to rows: both schemes, real gradients, shaped and delayed links.
. "$(dirname "$0")/lib.sh"
can_emulate || skip_all "this host cannot emulate: $("$LAGGARD" doctor 2>&1 | grep '^no' | tr '\n' ';')"

cat > "$SCRATCH/campaign.yaml" <<'Y'
name: small
seed: 7
topology: {shape: star, link: {rate: 200mbit, delay: 1ms}}
workload: {model: mlp, layers: [16], dataset: fashion-mnist, batch: 16, learning_rate: 0.1, rounds: 12, evaluate_every: 4}
compute: {time: {distribution: constant, value: 8ms}, slow: [{workers: [1], factor: 2}]}
matrix: {scheme: [ps-sync, ring], workers: [2, 3]}
repeats: 2
warmup_rounds: 1
Y
before=$(leftovers)
db=$SCRATCH/small.db
json=$("$LAGGARD" run "$SCRATCH/campaign.yaml" --db "$db" --json 2>"$SCRATCH/stderr")
is $? 0 "the campaign runs"
is "$(settles_to "$before")" "$before" "nothing is left but the database"
is "$(ls "$SCRATCH" | tr '\n' ' ')" "campaign.yaml small.db stderr " "one file to copy: no -wal, no -shm"
is "$(grep -c '^trial ' "$SCRATCH/stderr")" 8 "a line a trial where there is no terminal"
is "$(echo "$json" | jq -r '[.campaign, .trials, .failed, .void] | map(tostring) | join(" ")')" "small 8 0 $(query "$db" "SELECT count(*) FROM trials WHERE fidelity = 'void'")" \
    "JSON counts the trials, those that a busy host made void, too"
is "$(echo "$json" | jq -r '.cells | map(.scheme + " " + (.workers | tostring)) | sort | join(", ")')" "ps-sync 2, ps-sync 3, ring 2, ring 3" "JSON has every cell"
is "$(echo "$json" | jq '[.cells[] | .round_time_p50_ns, .round_time_mean_ns, .round_time_p99_ns, .predicted_round_ns, .predicted_measured_round_ns, .accuracy | numbers] | length')" 24 "JSON has every figure"

is "$(query "$db" "SELECT count(*), sum(status = 'finished') FROM trials")" "8 8" "every trial is finished"
is "$(query "$db" "SELECT count(*), sum(warmup) FROM rounds")" "104 8" "13 rounds a trial, one of them warm-up"
is "$(query "$db" "PRAGMA foreign_key_check; PRAGMA integrity_check")" "ok" "the file is sound"
is "$(query "$db" "SELECT count(*) FROM cells WHERE round_time_p50_ns < 16000000")" 0 "no round is shorter than the slow worker's compute time"
is "$(query "$db" "SELECT count(*) FROM rounds r1 JOIN rounds r2 ON r2.trial = r1.trial AND r2.round = r1.round + 1 WHERE r2.begin_ns <> r1.end_ns")" 0 "a round begins where the one before ended"
is "$(query "$db" "SELECT count(DISTINCT kind) FROM spans WHERE kind IN ('compute', 'send', 'receive', 'reduce', 'apply')")" 5 "spans of every kind"
is "$(query "$db" "SELECT count(*) FROM spans WHERE end_ns < begin_ns")" 0 "no span ends before it begins"
is "$(query "$db" "SELECT count(*) FROM (SELECT trial, node, round FROM spans WHERE kind = 'compute' GROUP BY 1, 2, 3)")" "$((13 * 2 * (2 + 2 + 3 + 3)))" "every worker computes in every round"

# One trial's random draws do not depend on the scheme: the same data in the same order, so the same model up to float rounding.
losses=$(query "$db" "SELECT max(c.loss) - min(c.loss) < 0.002 FROM learning_curves c JOIN trials t USING (trial) GROUP BY t.workers, t.block, c.round")
is "$(echo "$losses" | sort -u)" 1 "ring and server train the same model, to float rounding"
is "$(query "$db" "SELECT group_concat(DISTINCT round) FROM (SELECT round FROM learning_curves ORDER BY round)")" "0,4,8,12,13" "evaluated initially, every four rounds and at the end"
is "$(query "$db" "SELECT count(*) FROM learning_curves WHERE loss IS NULL OR accuracy NOT BETWEEN 0 AND 1")" 0 "losses and accuracies are numbers"
is "$(query "$db" "SELECT min(a.loss < b.loss) FROM learning_curves a JOIN learning_curves b ON a.trial = b.trial AND a.round = 13 AND b.round = 0")" 1 "training lowers the loss"

is "$(query "$db" "SELECT DISTINCT asked_rate_bps, asked_delay_ns, read_back_rate_bps FROM links")" "200000000 1000000 200000000" "links as asked are what the kernel reads back"
is "$(query "$db" "SELECT count(*) FROM links WHERE measured_delay_mean_ns IS NULL OR measured_goodput_bps IS NULL")" 0 "every link is measured before the first trial"
is "$(query "$db" "SELECT count(prediction_ratio), sum(prediction_ratio < 0.8 OR (prediction_ratio > 1.6 AND fidelity = 'faithful')) FROM cells")" "4 0" \
    "predictions are of the right size; more time than that only a busy host may take" "$(query "$db" "SELECT label, prediction_ratio, fidelity FROM cells")"
is "$(query "$db" "SELECT count(*) = 0 FROM pragma_table_list l JOIN pragma_table_info(l.name) c LEFT JOIN column_doc d ON d.table_name = l.name AND d.column_name = c.name WHERE l.type IN ('table', 'view') AND l.schema = 'main' AND l.name NOT LIKE 'sqlite_%' AND d.text IS NULL")" 1 "column_doc explains every column"

# Ring: each rank sends exactly 2 (N-1) chunks a round; at N = 2 and 3 workers of 12,730 floats the sum over ranks is 2 (N-1) S.
parameters=$((784 * 16 + 16 + 16 * 10 + 10))
is "$(query "$db" "SELECT sum(moved_bytes) = 2 * (t.workers - 1) * 4 * $parameters * 13 FROM spans s JOIN trials t USING (trial) WHERE kind = 'send' AND t.scheme = 'ring' GROUP BY s.trial" | sort -u)" 1 "a ring of N sends 2 (N-1) S bytes a round"
is "$(query "$db" "SELECT sum(moved_bytes) = 2 * t.workers * 4 * $parameters * 13 FROM spans s JOIN trials t USING (trial) WHERE kind = 'send' AND t.scheme = 'ps-sync' GROUP BY s.trial" | sort -u)" 1 "a server round moves P gradients and P models"

# The same file and seed give the same plan.
"$LAGGARD" plan "$SCRATCH/campaign.yaml" > "$SCRATCH/plan1" && "$LAGGARD" plan "$SCRATCH/campaign.yaml" > "$SCRATCH/plan2"
cmp -s "$SCRATCH/plan1" "$SCRATCH/plan2"
ok $? "a plan is repeatable"
"$LAGGARD" plan "$SCRATCH/campaign.yaml" --seed 8 > "$SCRATCH/plan3"
! cmp -s "$SCRATCH/plan1" "$SCRATCH/plan3"
ok $? "another seed is another order"
is "$("$LAGGARD" plan --json "$SCRATCH/campaign.yaml" --seed 18446744073709551615 | jq -r .seed)" 18446744073709551615 "the command line takes every seed that a file takes"
is "$("$LAGGARD" plan --json "$SCRATCH/campaign.yaml" | jq -c '[(.cells | length), (.trials | length)]')" "[4,8]" "the plan has 4 cells and 8 trials"

# A second campaign goes into the same file.
"$LAGGARD" run "$SCRATCH/campaign.yaml" --db "$db" --only "scheme=ring workers=2" --quiet > "$SCRATCH/table" 2>"$SCRATCH/stderr"
is "$?$(cat "$SCRATCH/stderr")" 0 "a second campaign into the same file, quietly"
is "$(query "$db" "SELECT count(*) FROM campaign; SELECT count(*) FROM trials")" "2
10" "both campaigns are in the file"
like "$(cat "$SCRATCH/table")" "ring +2" "the table has the cell"
finish
