#!/bin/sh
# robust.t: TAP. Median, trimmed mean and zeno++ with 2, 3, 5 and 8 workers in both worlds, and training while some workers are Byzantine: who
# withstands them, who does not, and what is said of it.
. "$(dirname "$0")/lib.sh"

cat > "$SCRATCH/all.yaml" <<Y
name: all
topology: {link: {rate: 1gbit}}
workload: {model: synthetic, size: 40KB, rounds: 10}
compute: {time: {distribution: exponential, mean: 2ms}}
matrix: {workers: [2, 3, 5, 8], scheme: [{name: ps-sync, aggregate: median}, {name: ps-sync, servers: 2, placement: colocated, aggregate: median},
  {name: backup, aggregate: median}, {name: k-sync, k: 2, aggregate: median}, {name: k-batch-sync, k: 2, aggregate: median},
  {name: k-async, k: 2, aggregate: median}, {name: k-batch-async, k: 2, aggregate: median}, {name: ps-drop, aggregate: trimmed-mean, trim: 0}, zeno++]}
Y
cat > "$SCRATCH/trimmed.yaml" <<Y
name: trimmed
topology: {link: {rate: 1gbit}}
workload: {model: synthetic, size: 40KB, rounds: 10}
compute: {time: {distribution: exponential, mean: 2ms}}
matrix: {workers: [3, 5, 8], scheme: [{name: ps-sync, aggregate: trimmed-mean}, {name: ps-sync, servers: 2, aggregate: trimmed-mean}, {name: k-async, k: 3, aggregate: trimmed-mean}, {name: k-sync, k: 3, aggregate: trimmed-mean}]}
Y
worlds=virtual
if "$LAGGARD" doctor 2>&1 | grep -q "^yes  tbf"; then worlds="virtual emulated"; fi
for world in $worlds; do
    for campaign in "all 36" "trimmed 12"; do
        set -- $campaign
        db=$SCRATCH/$1-$world.db
        "$LAGGARD" run "$SCRATCH/$1.yaml" --world "$world" --db "$db" --quiet >"$SCRATCH/table" 2>"$SCRATCH/stderr"
        is "$?$(cat "$SCRATCH/stderr")" 0 "world $world: $2 cells run ($1)"
        is "$(query "$db" "SELECT sum(status = 'finished'), sum(status <> 'finished') FROM trials")" "$2 0" "world $world: every trial is finished"
        is "$(query "$db" "SELECT sum(check_count = 0), sum(check_failure_count) FROM node_counter JOIN trial USING (trial_id) WHERE node = worker_count + server_count - 1")" "0 0" \
            "world $world: servers, and workers beside them, checked the sums"
        is "$(query "$db" "SELECT sum(lost_span_count) FROM node_counter")" 0 "world $world: there was memory for every span and fate"
        is "$(query "$db" "SELECT count(*) FROM prediction WHERE basis = 'asked' AND round_ns IS NULL")" 0 "world $world: each has a prediction"
    done
done

# Two of five workers turn their gradients around, ten times as long.
cat > "$SCRATCH/attack.yaml" <<Y
name: attack
workload: {model: softmax, batch: 64, rounds: 60, learning_rate: 0.02}
compute: {time: {distribution: exponential, mean: 2ms}}
workers: 5
byzantine: {workers: [1, 3], attack: sign-flip}
matrix: {scheme: [ps-sync, ring, {name: ps-sync, aggregate: median}, {name: ps-sync, aggregate: trimmed-mean, trim: 2}, {name: k-async, k: 5, aggregate: median}]}
Y
# zeno++ makes more and smaller steps: its validation gradient is a little older than the model.
cat > "$SCRATCH/zeno.yaml" <<Y
name: zeno
workload: {model: softmax, batch: 128, rounds: 400, learning_rate: 0.002}
compute: {time: {distribution: exponential, mean: 2ms}}
workers: 5
scheme: zeno++
matrix: {byzantine: [none, {workers: [1, 3], attack: sign-flip}]}
Y
if [ -d /usr/share/dataset/fashion-mnist ] || "$LAGGARD" plan "$SCRATCH/attack.yaml" --world virtual >/dev/null 2>&1; then
    for world in $worlds; do
        db=$SCRATCH/attack-$world.db
        "$LAGGARD" run "$SCRATCH/attack.yaml" --world "$world" --db "$db" --quiet >"$SCRATCH/table" 2>"$SCRATCH/stderr"
        is "$?" 0 "world $world: five schemes train with Byzantine workers among them"
        is "$(grep -c "warning: cell [01] .*: 2 of 5 workers are Byzantine, .* withstands none" "$SCRATCH/stderr") $(grep -c Byzantine "$SCRATCH/stderr")" "2 2" "world $world: of two is said that they do not withstand them"
        is "$(query "$db" "SELECT group_concat(cell) FROM (SELECT trials.cell FROM events JOIN trials USING (trial) WHERE events.kind = 'byzantine' ORDER BY 1)")" "0,1" "world $world: and so do their trials"
        query "$db" "SELECT label, accuracy, loss FROM trials ORDER BY cell" | sed 's/^/# /'
        is "$(query "$db" "SELECT sum(accuracy < 0.3) FROM trials WHERE cell < 2")" 2 "world $world: means are led astray"
        is "$(query "$db" "SELECT sum(accuracy > 0.5) FROM trials WHERE cell >= 2")" 3 "world $world: median and trimmed mean learn"
        db=$SCRATCH/zeno-$world.db
        "$LAGGARD" run "$SCRATCH/zeno.yaml" --world "$world" --db "$db" --quiet >"$SCRATCH/table" 2>"$SCRATCH/stderr"
        is "$?$(cat "$SCRATCH/stderr")" 0 "world $world: zeno++ trains without and with Byzantine workers"
        query "$db" "SELECT label, accuracy, loss FROM trials ORDER BY cell" | sed 's/^/# /'
        is "$(query "$db" "SELECT sum(accuracy > 0.5) FROM trials")" 2 "world $world: it learns"
        is "$(query "$db" "SELECT sum(fate = 'used' AND worker IN (1, 3)) * 10 < sum(fate = 'dropped' AND worker IN (1, 3)) FROM gradient JOIN trials ON trial = trial_id WHERE trials.cell = 1")" 1 \
            "world $world: zeno++ drops what Byzantine workers send"
    done

    # The study, shortened: nobody, two, six of ten turn their gradients around.
    study=docs/studies/byzantine
    sed -e 's/rounds: 110/rounds: 40/' -e '/attack: random/d' -e '/attack: label-flip/d' $study/campaign.yaml > "$SCRATCH/study.yaml"
    "$LAGGARD" run "$SCRATCH/study.yaml" --db "$SCRATCH/study.db" --quiet >"$SCRATCH/table" 2>"$SCRATCH/stderr"
    is "$? $(query "$SCRATCH/study.db" "SELECT sum(accuracy > 0.5), sum(accuracy < 0.3) FROM trials")" "0 5 4" "study: two ruin the mean alone, six every aggregate"
    is "$("$LAGGARD" sql "$SCRATCH/study.db" "$(cat $study/table.sql)" | wc -l) $("$LAGGARD" sql "$SCRATCH/study.db" "$(cat $study/fates.sql)" >/dev/null 2>&1; echo $?)" "4 0" "study: its queries run"
    "$LAGGARD" plan $study/asynchronous.yaml >/dev/null 2>&1
    is $? 0 "study: its other campaign is one"
fi
finish
