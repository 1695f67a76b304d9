#!/bin/sh
# coded.t: TAP. Gradient coding from file to rows: sums and models in both worlds, lost workers, what is refused.
. "$(dirname "$0")/lib.sh"
before=$(leftovers)

campaign() { # campaign NAME WORKERS SCHEMES [MORE]
    cat > "$SCRATCH/$1.yaml" <<Y
name: $1
workload: {model: synthetic, size: 20KB, rounds: 10}
compute: {time: {distribution: exponential, mean: 5ms}}
workers: $2
matrix: {scheme: [$3]}
$4
Y
}
all='{name: gradient-coding, stragglers: 0}, {name: gradient-coding, stragglers: 1}, {name: gradient-coding, stragglers: 1, cancel: true}'
campaign two 2 "$all, {name: gradient-coding, code: fractional}"
campaign three 3 "$all, {name: gradient-coding, stragglers: 2, code: fractional}"
campaign five 5 "$all, {name: gradient-coding, stragglers: 3}, {name: gradient-coding, stragglers: 4}"
campaign eight 8 "$all, {name: gradient-coding, stragglers: 5}, {name: gradient-coding, stragglers: 3, code: fractional}"
worlds=virtual
can_emulate && worlds="virtual emulated" || note "this host cannot emulate: world virtual alone"
for world in $worlds; do
    for name in two three five eight; do
        db=$SCRATCH/$name-$world.db
        "$LAGGARD" run "$SCRATCH/$name.yaml" --world "$world" --db "$db" --quiet >/dev/null 2>"$SCRATCH/stderr"
        is "$?$(cat "$SCRATCH/stderr")" 0 "$name workers, world $world"
        is "$(query "$db" "SELECT count(*) FROM trials t WHERE status = 'finished' AND round_count = 10 AND
            (SELECT sum(check_count) > 0 AND sum(check_failure_count) = 0 FROM node_counter WHERE trial_id = trial)")" \
            "$(query "$db" "SELECT count(*) FROM trials")" "  every sum was compared and is right"
        is "$(query "$db" "SELECT count(*) FROM (SELECT round, count(*) AS used, workers FROM gradient JOIN trials ON trial = trial_id
            WHERE fate = 'used' AND label LIKE '%stragglers=1%' AND label NOT LIKE '%fractional%' GROUP BY trial, round) WHERE used <> workers - 1")" 0 "  updates of the first P - s"
    done
done

# Real gradients: no stragglers, the bits of ps-sync; whole sums of groups, one model whoever was late; a cyclic code ends where these do, to rounding.
cat > "$SCRATCH/real.yaml" <<Y
name: real
world: virtual
workload: {model: softmax, batch: 8, rounds: 60, learning_rate: 0.01}
compute: {time: {distribution: exponential, mean: 5ms}}
workers: 4
matrix: {scheme: [ps-sync, {name: gradient-coding, stragglers: 0}, {name: gradient-coding, stragglers: 1, code: fractional}, {name: gradient-coding, stragglers: 1, code: fractional, cancel: true},
    {name: gradient-coding, stragglers: 1}, {name: gradient-coding, stragglers: 2}, {name: gradient-coding, stragglers: 3}]}
Y
if "$LAGGARD" plan "$SCRATCH/real.yaml" >/dev/null 2>&1; then
    db=$SCRATCH/real.db
    "$LAGGARD" run "$SCRATCH/real.yaml" --db "$db" --quiet >/dev/null 2>"$SCRATCH/stderr"
    is "$?$(cat "$SCRATCH/stderr")" 0 "real gradients"
    is "$(query "$db" "SELECT max(abs(loss - (SELECT loss FROM trials WHERE cell = 0))) < 1e-5 FROM trials")" 1 \
        "every code ends with the loss of ps-sync, to rounding"
    is "$(query "$db" "SELECT count(DISTINCT loss) FROM trials WHERE cell IN (0, 1)") $(query "$db" "SELECT count(DISTINCT loss) FROM trials WHERE cell IN (2, 3)")" "1 1" \
        "without stragglers to the bit; a fractional code's is the same whoever was late"
    cp "$SCRATCH/real.yaml" "$SCRATCH/again.yaml"
    "$LAGGARD" run "$SCRATCH/again.yaml" --db "$SCRATCH/again.db" --quiet >/dev/null 2>&1
    is "$(query "$SCRATCH/again.db" "SELECT group_concat(digest) FROM (SELECT digest FROM trials ORDER BY cell)")" \
        "$(query "$db" "SELECT group_concat(digest) FROM (SELECT digest FROM trials ORDER BY cell)")" "the same digests again"
fi

# Lost workers: as many as there are stragglers, and one too many.
if [ "$worlds" != virtual ]; then
    campaign lost 4 '{name: gradient-coding, stragglers: 1}, {name: gradient-coding, stragglers: 1, code: fractional}' 'events: [{round: 3, do: crash, node: w1}]'
    db=$SCRATCH/lost.db
    "$LAGGARD" run "$SCRATCH/lost.yaml" --db "$db" --quiet >/dev/null 2>"$SCRATCH/stderr"
    is "$?$(query "$db" "SELECT count(*) FROM trials WHERE status = 'finished' AND round_count = 10")" 02 "both codes go on without a worker"
    is "$(query "$db" "SELECT sum(check_failure_count) FROM node_counter")" 0 "every sum is whole"
    campaign over 4 '{name: gradient-coding, stragglers: 1}, {name: gradient-coding, stragglers: 1, code: fractional}' 'events: [{round: 3, do: crash, node: w2}, {round: 5, do: crash, node: w3}]'
    db=$SCRATCH/over.db
    "$LAGGARD" run "$SCRATCH/over.yaml" --db "$db" --quiet >/dev/null 2>&1
    is "$?" 4 "two lost of four, stragglers: 1: the trials fail"
    like "$(query "$db" "SELECT group_concat(reason) FROM trials")" "worker 3 is lost: 2 are left, and an update needs 3" "a cyclic code says why"
    like "$(query "$db" "SELECT group_concat(reason) FROM trials")" "nobody is left who computes the partitions of workers 2 to 3" "so does a fractional one"
fi
is "$(settles_to "$before")" "$before" "nothing is left"
finish
