#!/bin/sh
# polydot.t: TAP. Coded products in both worlds with 2, 3, 5 and 8 workers: models, fates of products, bytes, predictions, and what is refused.
. "$(dirname "$0")/lib.sh"
"$LAGGARD" doctor 2>&1 | grep -q "^yes  tbf" || skip_all "this host cannot shape links"

# K = 1 decodes nothing: every worker's block is the product, so that bits show whether the right one came. K = 2, 2, 3 and 5.
cat > "$SCRATCH/coded.yaml" <<Y
name: coded
topology: {link: {rate: 1gbit}}
workload: {model: mlp, layers: [16], batch: 8, rounds: 12, learning_rate: 0.05, evaluate_every: 12}
compute: {time: {distribution: exponential, mean: 1ms}}
matrix: {workers: [2, 3, 5, 8], scheme: [{name: polydot, m: 1}, {name: polydot, m: 2}, {name: polydot, m: 1, n: 2}]}
Y
sed 's/workers: \[2, 3, 5, 8\]/workers: [5, 8]/; s/scheme: \[.*\]/scheme: [{name: polydot, m: 1, p: 2}, {name: polydot, m: 2, p: 2}]/; s/name: coded/name: more/' "$SCRATCH/coded.yaml" > "$SCRATCH/more.yaml"
"$LAGGARD" plan "$SCRATCH/coded.yaml" >/dev/null 2>"$SCRATCH/stderr" || skip_all "the data set is not there"
sed 's/matrix: .*/workers: 1\nscheme: ps-sync/; s/name: coded/name: plain/' "$SCRATCH/coded.yaml" > "$SCRATCH/plain.yaml"
"$LAGGARD" run "$SCRATCH/plain.yaml" --world virtual --db "$SCRATCH/plain.db" --quiet >/dev/null 2>&1
loss=$(query "$SCRATCH/plain.db" "SELECT max(loss) FROM evaluation WHERE round = 12")
before=$(leftovers)
for world in emulated virtual; do
    db=$SCRATCH/$world.db
    # Which workers came first is chance in world emulated, and so is the last digit that decides about a unit at the edge of its ReLU.
    case $world in emulated) off=5e-3 ;; virtual) off=1e-4 ;; esac
    for file in coded more; do
        "$LAGGARD" run "$SCRATCH/$file.yaml" --world $world --db "$db" --quiet >"$SCRATCH/table" 2>"$SCRATCH/stderr"
        is "$?$(cat "$SCRATCH/stderr")" 0 "$world: the cells of $file run"
    done
    is "$(query "$db" "SELECT count(*), sum(status = 'finished') FROM trials")" "16 16" "$world: every trial is finished"
    is "$(query "$db" "SELECT sum(lost_span_count) FROM node_counter")" 0 "$world: there was memory for every span and every product's fate"
    is "$(query "$db" "SELECT DISTINCT count(*) FROM round GROUP BY trial_id")" 12 "$world: every trial has all its rounds"
    # Five products a step.
    is "$(query "$db" "SELECT group_concat(DISTINCT used) FROM (SELECT sum(fate = 'used') AS used FROM gradient JOIN trial USING (trial_id) GROUP BY trial_id ORDER BY used)")" "60,120,180,300" "$world: each product has K blocks"
    is "$(query "$db" "SELECT count(*) FROM prediction WHERE basis = 'asked' AND round_ns IS NULL")" 0 "$world: every cell has a prediction"
    is "$(query "$db" "SELECT count(*) FROM evaluation WHERE round = 12 AND abs(loss - $loss) > $off")" 0 "$world: each model loses what one process's does"
    is "$(query "$db" "SELECT count(DISTINCT model_sha256), count(DISTINCT trial_id) FROM node_counter JOIN trial USING (trial_id) JOIN cell USING (cell_id)
        WHERE label LIKE '%m=1)%' AND model_sha256 IS NOT NULL")" "1 4" "$world: where nothing is coded, models are the same bits with 2, 3, 5 and 8 workers"
    # (8 x 784)(784 x 16), (8 x 16)(16 x 10), (10 x 8)(8 x 16), (8 x 10)(10 x 16), (16 x 8)(8 x 784); K = P = 5, m = p = 2.
    is "$(query "$db" "SELECT sum(sent_payload_bytes) FROM node_counter JOIN trial USING (trial_id) JOIN cell USING (cell_id) WHERE label LIKE '%m=2,p=2)%' AND workers = 5 AND node = workers")" \
        $((12 * 5 * 4 * (392 * (4 + 16) + 8 * (4 + 10) + 4 * (5 + 16) + 5 * (4 + 16) + 4 * (8 + 784)))) "$world: the master's bytes are as the formula says"
done
is "$(settles_to "$before")" "$before" "nothing is left"

sed 's/workers: \[.*scheme/workers: [2, 3], scheme/; s/m: 1}/m: 3}/' "$SCRATCH/coded.yaml" > "$SCRATCH/bad.yaml"
"$LAGGARD" run "$SCRATCH/bad.yaml" --db "$SCRATCH/bad.db" --quiet >/dev/null 2>"$SCRATCH/stderr"
is "$?" 2 "more blocks than workers are refused"
like "$(cat "$SCRATCH/stderr")" "3 workers' blocks, there are 2; allowed are 1 to 2" "with what is allowed"
finish
