#!/bin/sh
# losses.t: TAP. Workers that are lost: where the scheme survives it, the trial goes on, is finished, and tells; elsewhere it fails with a sentence
# that names the node, the round and what was awaited.
. "$(dirname "$0")/lib.sh"
"$LAGGARD" doctor 2>&1 | grep -q "^yes  tbf" || skip_all "this host cannot shape links"

before=$(leftovers)
campaign() { # campaign NAME ROUNDS SCHEMES [MORE]
    cat > "$SCRATCH/$1.yaml" <<Y
name: $1
topology: {link: {rate: 100mbit}}
workload: {model: synthetic, size: 20KB, rounds: $2}
compute: {time: {distribution: constant, value: 10ms}}
workers: 4
matrix: {scheme: [$3]}
$4
Y
    db=$SCRATCH/$1.db
}
run() { # run NAME: in the background; leaves $controller
    "$LAGGARD" run "$SCRATCH/$1.yaml" --db "$db" --quiet >/dev/null 2>"$SCRATCH/stderr" &
    controller=$!
}
running_agent() { # running_agent NODE: once rounds run, its process
    process=$(agent_in_trial "$1")
    tries=0
    while [ -n "$process" ] && [ -d "/proc/$process" ] && [ $tries -lt 1500 ] &&
        [ "$(awk '/:/ {sum += $2} END {print (sum > 200000)}' "/proc/$process/net/dev" 2>/dev/null)" = 0 ]; do # ten rounds
        sleep 0.02
        tries=$((tries + 1))
    done
    echo "$process"
}
# Some hosts are so busy that a trial is over before this script has found its agent: then once more, with more rounds.
strike() { # strike SIGNAL NODE NAME SCHEMES [MORE]: a trial that a node is taken from while its rounds run; leaves $status and $rounds
    for rounds in 150 600 2400 9600; do
        campaign "$3" $rounds "$4" "$5"
        rm -f "$db"
        run "$3"
        kill "-$1" "$(running_agent "$2")" 2>/dev/null
        wait $controller
        status=$?
        [ "$(query "$db" "SELECT count(*) FROM trial WHERE status = 'failed' OR EXISTS (SELECT 1 FROM event WHERE kind = 'node-lost')")" = 0 ] || break
    done
}
without() { # without NODE ROUNDS WHAT: every trial is finished, all rounds made, with all the results but that node's
    is "$(query "$db" "SELECT group_concat(DISTINCT status), min(round_count), max(round_count) FROM trials")" "finished $2 $2" "$3: finished, with every round"
    is "$(query "$db" "SELECT count(*) FROM trial t WHERE (SELECT group_concat(n.name) FROM node n WHERE n.trial_id = t.trial_id AND role <> 'router' AND NOT EXISTS (SELECT 1 FROM node_counter c WHERE c.trial_id = n.trial_id AND c.node = n.node)) IS NOT '$1'")" 0 \
        "$3: every node but the lost one has counters"
    is "$(query "$db" "SELECT count(*) FROM span JOIN node USING (trial_id, node) WHERE name = '$1'")" 0 "$3: it has no spans"
    is "$(query "$db" "SELECT sum(check_failure_count) FROM node_counter")" 0 "$3: every sum is exact"
}

# 1. A crash that the campaign asks for, of the very node that round events once counted on.
campaign crash 40 '{name: backup, backups: 1}, {name: k-async, k: 2}, async' 'events: [{round: 10, do: crash, node: w0}, {round: 20, do: crash, node: w0}]'
run crash
wait $controller
is "$?$(cat "$SCRATCH/stderr")" 0 "a crash: the campaign runs"
without w0 40 "a crash"
is "$(query "$db" "SELECT DISTINCT kind, node_name, at_ns IS NOT NULL, text LIKE '%its agent ended (killed by SIGKILL) after round%; the others go on' FROM events WHERE event IS NOT 1 ORDER BY kind")" \
    "crash w0 1 0
node-lost w0 1 1" "a crash: one row for what was asked, one for the loss"
is "$(query "$db" "SELECT count(*), count(at_ns) FROM events WHERE event = 1")" "3 0" "who is dead does not crash again"
is "$(query "$db" "SELECT count(*) FROM gradient g WHERE worker = 0 AND round > 12 AND fate = 'used'")" 0 "a crash: its gradients end"
is "$(query "$db" "SELECT count(*) FROM trials WHERE fidelity_reason LIKE '%was lost, which nobody asked for%'")" 0 "a crash that was asked for is no doubt"

# 2. A kill from outside.
strike KILL w1 killed '{name: backup, backups: 1}'
is $status 0 "kill -9: the campaign runs"
without w1 $rounds "kill -9"
is "$(query "$db" "SELECT kind, node_name, round > 0, text LIKE 'node w1 is lost: its agent ended (killed by SIGKILL)%' FROM events")" "node-lost w1 1 1" "kill -9: the row"
like "$(query "$db" "SELECT fidelity, fidelity_reason FROM trials")" "^(degraded|void) .*node w1 was lost, which nobody asked for" "kill -9: the verdict"
strike KILL w2 killed-async '{name: k-async, k: 2}'
is $status 0 "kill -9 under k-async: the campaign runs"
without w2 $rounds "kill -9 under k-async"

# 3. A worker that hangs: the rest makes all rounds, and does not wait for ever.
strike STOP w3 hung '{name: backup, backups: 1}' 'trial_deadline: 10m'
is $status 0 "a hung worker: the campaign runs"
without w3 $rounds "a hung worker"
is "$(query "$db" "SELECT kind, node_name, text LIKE 'node w3 is lost: when nothing was left but to finish all rounds, it did not answer%' FROM events")" \
    "node-lost w3 1" "a hung worker: the row"
is "$(query "$db" "SELECT t.duration_ns < e.at_ns FROM trial t JOIN event e USING (trial_id)")" 1 "a hung worker: the wait for it is no part of the rounds"
is "$(settles_to "$before")" "$before" "nothing is left"

# 4. More than an update can spare; the server; a worker paused over the end, which is not lost.
campaign many 4000 '{name: backup, backups: 1}' 'events: [{round: 3, do: crash, node: w0}, {round: 6, do: crash, node: w1}]'
run many
wait $controller
is $? 4 "two of one backup: exit code 4"
like "$(query "$db" "SELECT reason FROM trials")" "^node s0, round [0-9]+: worker 1 is lost: 2 are left, and an update needs 3" "two of one backup: the sentence"
is "$(query "$db" "SELECT count(*) FROM events WHERE kind = 'node-lost' AND node_name = 'w0'")" 1 "a failed trial has its rows"
campaign server 4000 '{name: k-async, k: 2}' 'events: [{round: 3, do: crash, node: s0}]'
run server
wait $controller
is $? 4 "the server: exit code 4"
like "$(query "$db" "SELECT reason FROM trials")" "^node s0 crashed as event 0 of the campaign asked, and scheme k-async does not go on without it" "the server: the sentence"
strike KILL s0 server-killed '{name: k-async, k: 2}'
is $status 4 "the server, killed: exit code 4"
like "$(query "$db" "SELECT reason FROM trials")" "^the agent of node s0 ended \(killed by SIGKILL\) after round" "the server, killed: its end is the reason, not what workers make of it"
campaign paused 10 'async' 'events: [{at: 20ms, do: pause, node: w1, for: 10m}]'
run paused
wait $controller
is "$(query "$db" "SELECT status, (SELECT count(*) FROM node_counter), (SELECT count(*) FROM event WHERE kind = 'node-lost') FROM trials")" "finished 5 0" \
    "a worker that an event stops over the end is let go and reports"

# 5. Schemes that do not survive it: by its end, at once; by its silence, at the deadline.
for scheme in ring ps-sync; do
    strike KILL w1 $scheme-dead $scheme
    is $status 4 "$scheme, a dead worker: exit code 4"
    like "$(query "$db" "SELECT reason FROM trials")" "^the agent of node w1 ended \(killed by SIGKILL\) after round [0-9]+, when it was to finish all rounds" "$scheme, a dead worker: the sentence"
    campaign $scheme-hung 4000 $scheme 'trial_deadline: 2s'
    rm -f "$db"
    run $scheme-hung
    kill -STOP "$(running_agent w1)"
    wait $controller
    is $? 4 "$scheme, a hung worker: exit code 4"
    like "$(query "$db" "SELECT reason FROM trials")" "^2 s after the start, and after round [0-9]+, these nodes had still to finish all rounds: w1 \(its process is stopped\)" "$scheme, a hung worker: the sentence"
done
is "$(settles_to "$before")" "$before" "nothing is left"
finish
