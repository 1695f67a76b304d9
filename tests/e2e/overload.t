#!/bin/sh
# overload.t: TAP. The same campaign on one processor, alone and among twenty programs that never sleep: the verdict is not faithful then,
# and says why. What the host does besides can only add to both.
. "$(dirname "$0")/lib.sh"
"$LAGGARD" doctor 2>&1 | grep -q "^yes  tbf" || skip_all "this host cannot shape links"
command -v taskset >/dev/null || skip_all "taskset is not installed"
[ -r /proc/self/schedstat ] || skip_all "this kernel does not tell how long threads wait for a processor"
processor=$(taskset -cp $$ | sed 's/.*: *//; s/[,-].*//')

cat > "$SCRATCH/campaign.yaml" <<'Y'
name: overload
topology: {shape: star, link: {rate: 100mbit}}
workload: {model: synthetic, size: 20KB, rounds: 60}
compute: {time: {distribution: constant, value: 5ms}}
message_cost: 30us
scheme: ring
workers: 3
Y
run() { # run NAME
    taskset -c "$processor" "$LAGGARD" run "$SCRATCH/campaign.yaml" --db "$SCRATCH/$1.db" --quiet >/dev/null 2>"$SCRATCH/stderr"
    is "$?$(cat "$SCRATCH/stderr")" 0 "$1: it runs"
}
share() { # share NAME: of the rounds' time for which the median node waited, in percent
    query "$SCRATCH/$1.db" "SELECT CAST(100.0 * loop_wait_ns / duration_ns AS INTEGER) FROM node_counter JOIN trials ON trial = trial_id ORDER BY loop_wait_ns LIMIT 1 OFFSET 1"
}
burners=""
end_burners() {
    [ -z "$burners" ] || kill $burners 2>/dev/null
    wait 2>/dev/null
}
trap 'end_burners; rm -rf "$SCRATCH"' EXIT

before=$(leftovers)
run alone
like "$(query "$SCRATCH/alone.db" "SELECT fidelity FROM trials")" '^(faithful|degraded|void)$' "alone: it is judged"
# Each in a session of its own: the scheduler may share out processors by sessions first.
for burner in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    setsid timeout 60 taskset -c "$processor" sh -c 'while :; do :; done' &
    burners="$burners $!"
done
run crowded
end_burners
like "$(query "$SCRATCH/crowded.db" "SELECT fidelity FROM trials")" '^(degraded|void)$' "crowded: it is not faithful"
like "$(query "$SCRATCH/crowded.db" "SELECT fidelity_reason FROM trials")" 'the median node waited for a processor for [0-9]+ % of the rounds. time' "because nodes waited for a processor"
# Not more than alone: the host may have been as busy then.
ok "$([ "$(share crowded)" -gt 10 ]; echo $?)" "more than is allowed" "alone: $(share alone) %, crowded: $(share crowded) %"
is "$(query "$SCRATCH/crowded.db" "SELECT coalesce(pressure_some_ratio, 1) > 0.5 FROM trials")" 1 "the pressure on processors is stored, where the kernel knows it"
is "$(query "$SCRATCH/crowded.db" "SELECT coalesce(substr(fidelity, 1, 4), 'none') FROM cells")" \
    "$(query "$SCRATCH/crowded.db" "SELECT CASE fidelity WHEN 'void' THEN 'void' ELSE 'degr' END FROM trials")" "the cell says so, too"
is "$(settles_to "$before")" "$before" "nothing is left"
finish
