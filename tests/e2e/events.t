#!/bin/sh
# events.t: TAP. What a campaign lets happen while its trials run: it happens, when it was asked for, to whom it was asked for; it shows in the
# rounds by construction, whatever the host's speed; and it is in the database, row by row.
. "$(dirname "$0")/lib.sh"
"$LAGGARD" doctor 2>&1 | grep -q "^yes  tbf" || skip_all "this host cannot shape links"
[ -w /dev/net/tun ] || skip_all "/dev/net/tun is missing or not writable"

before=$(leftovers)
head='workload: {model: synthetic, size: 200KB, rounds: 20}
scheme: ring
workers: 2
rto_min: 20ms
trial_deadline: 60s'
try() { # try NAME TEXT: runs the campaign from elsewhere than where its file is; leaves $db and $status
    printf 'name: %s\n%s\n' "$1" "$2" > "$SCRATCH/$1.yaml"
    db=$SCRATCH/$1.db
    "$LAGGARD" run "$SCRATCH/$1.yaml" --db "$db" --quiet >"$SCRATCH/table" 2>"$SCRATCH/stderr"
    status=$?
}
finished() { # finished WHAT
    is "$status$(cat "$SCRATCH/stderr")" 0 "$1: the campaign runs"
    is "$(query "$db" "SELECT group_concat(DISTINCT status), sum(check_failure_count) FROM trials JOIN node_counter ON trial_id = trial")" \
        "finished 0" "$1: every trial is finished, every sum exact"
}

# 1. A rate that falls to a tenth in the middle: rounds take ten times as long from there on. 200 KB are 16 ms at 100 Mbit/s. On a busy host the
# controller hears of round 10 some rounds late: what counts is the round in which the rate fell.
rates='topology: {link: {rate: 100mbit}}
warmup_rounds: 2
events: [{round: 10, do: set, link: w0-router, to: {rate: 10mbit}}]'
try rates "$(echo "$head" | sed 's/rounds: 20/rounds: 40/')
$rates"
finished "a rate that falls"
is "$(query "$db" "SELECT DISTINCT engine FROM links")" none "a rate alone needs no engine"
is "$(query "$db" "SELECT kind, event, link_name, coalesce(direction, 'both'), rate_bps, down, asked_ns > 0, late_ns > 0, round >= 11 FROM events")" \
    "set 0 w0-router both 10000000 0 1 1 1" "one row says what changed, and when"
is "$(query "$db" "SELECT (SELECT min(round_time_ns) FROM rounds r WHERE r.round > e.round + 1) > 4 * (SELECT min(round_time_ns) FROM rounds r WHERE r.round BETWEEN 3 AND e.round - 1) FROM events e")" 1 \
    "rounds take several times as long from there on" "$(query "$db" "SELECT round, round_time_ns FROM rounds; SELECT round FROM events")"
is "$(query "$db" "SELECT abs(e.asked_ns - h.held_ns) < 1000000 FROM event e, round_held h WHERE h.node = 0 AND h.round = 11")" 1 \
    "it was due when node 0 held the model of the round in front of it"
like "$(query "$db" "SELECT text FROM event")" "^event 0, before round 10: link w0-router becomes {rate: 10mbit}; .* late$" "in a sentence"
like "$(query "$db" "SELECT DISTINCT prediction_reason FROM trials")" "events change links" "no formula holds"
like "$("$LAGGARD" plan "$SCRATCH/rates.yaml")" "0 +before round 10 +link w0-router becomes" "plan tells it in advance"

# 2. A link that flaps, with its beat; a cut drops what nobody may call unasked.
try flap "$head
topology: {link: {rate: 100mbit, delay: 1ms}}
events: [{at: 100ms, do: flap, link: 1, down: 30ms, up: 70ms, times: 3}, {at: 10h, do: down, link: 0}]
trial_deadline: auto"
[ $status = 2 ] # the last line is there twice
ok $? "a key that is there twice is refused"
try flap "$(echo "$head" | grep -v deadline)
topology: {link: {rate: 100mbit, delay: 1ms}}
events: [{at: 100ms, do: flap, link: 1, down: 30ms, up: 70ms, times: 3}, {at: 10h, do: down, link: 0}]"
hardly='^laggard: warning: cell 0 \(scheme=ring workers=2\): the rounds are expected to be over after [0-9.]+ m?s; what comes so far behind that will hardly happen: event 1, at 10h$'
like "$(cat "$SCRATCH/stderr")" "$hardly" "an event far behind the end is warned of"
like "$("$LAGGARD" plan "$SCRATCH/flap.yaml" 2>&1 >/dev/null)" "$hardly" "by plan, too"
sed -i '/will hardly happen/d' "$SCRATCH/stderr"
finished "a flap"
is "$(query "$db" "SELECT group_concat(step || ' ' || down || ' ' || (asked_ns / 1000000), ', ') FROM events WHERE kind = 'flap' AND at_ns >= asked_ns")" \
    "0 1 100, 1 0 130, 2 1 200, 3 0 230, 4 1 300, 5 0 330" "a row a step, none of them early"
is "$(query "$db" "SELECT sum(lost_count) > 0, sum(unasked_drop_count) FROM links WHERE link = 1")" "1 0" "what a cut drops was asked for"
is "$(query "$db" "SELECT kind, at_ns IS NULL, asked_ns FROM events WHERE event = 1")" "down 1 36000000000000" "what did not come to pass is said too"

# 3. A partition that heals: nothing gets across meanwhile. One round may end on what had got across before, however late a busy host does that; the
# next one has to wait. So one of the two takes half of the partition's time or more.
try parted "$head
topology: {link: {rate: 100mbit}}
events: [{at: 100ms, do: partition, nodes: [w0]}, {at: 400ms, do: heal}]"
finished "a partition that heals"
is "$(query "$db" "SELECT count(*) <= 1 FROM rounds, (SELECT max(at_ns) FILTER (WHERE kind = 'partition') AS cut, max(asked_ns) FILTER (WHERE kind = 'heal') AS healed FROM event) WHERE end_ns BETWEEN cut AND healed")" 1 \
    "at most one round ends while the two are apart"
is "$(query "$db" "SELECT (SELECT max(round_time_ns) FROM rounds) >= (max(asked_ns) FILTER (WHERE kind = 'heal') - max(at_ns) FILTER (WHERE kind = 'partition')) / 2 FROM event")" 1 \
    "one round waits for the heal"

# 4. A pause in the middle of a compute time of a second: this node's takes as long as the pause, at least, and nobody else's.
pause='topology: {link: {rate: 100mbit}}
compute: {time: {distribution: constant, value: 1s}}
events: [{at: 500ms, do: pause, node: w1, for: 2s}]'
try pause "$(echo "$head" | sed 's/rounds: 20/rounds: 2/; s/200KB/4KB/')
$pause"
finished "a pause"
is "$(query "$db" "SELECT node_name, count(*), min(duration_ns) >= 2000000000 FROM spans WHERE kind = 'compute' AND duration_ns > 1900000000 GROUP BY node_name")" \
    "w1 1 1" "the paused node's compute takes as long as the pause, nobody else's"
is "$(query "$db" "SELECT group_concat(step || ' ' || node_name, ', '), max(at_ns) - min(at_ns) >= 2000000000 FROM events")" "0 w1, 1 w1 1" "its end comes when it has lasted so long"
is "$(query "$db" "SELECT coalesce(fidelity_reason, '') LIKE '%took longer than the drawn%' FROM trials")" 0 "it is no doubt about the host"

# 5. A crash fails its trial with a reason that names the event; the campaign goes on.
try crash "$head
topology: {link: {rate: 100mbit}}
matrix: {events: [[{at: 1h, do: heal}]]}"
is $status 2 "a heal of nothing is refused"
try crash "$(echo "$head" | sed 's/workers: 2/workers: 3/')
topology: {link: {rate: 100mbit}}
matrix: {events: [[{at: 50s, do: down, link: 0}, {round: 4, do: crash, node: w2}], []]}"
is $status 4 "a crash: exit code 4"
like "$(query "$db" "SELECT reason FROM trials WHERE status = 'failed'")" "^node w2 crashed as event 1 of the campaign asked" "the reason names node and event"
is "$(query "$db" "SELECT group_concat(status) FROM (SELECT status FROM trials ORDER BY cell)")" "failed,finished" "the other cell is finished"
is "$(query "$db" "SELECT node_name, at_ns IS NOT NULL FROM events WHERE kind = 'crash'")" "w2 1" "a failed trial has its rows"

# 6. Links that follow files, which lie beside the campaign file: 5 packets, then none, in bins of 100 ms; a table, again and again.
printf '10\n20\n30\n40\n50\n199\n' > "$SCRATCH/cell.trace"
printf 'time,rate_mbit,delay\n0s,50,1ms\n0.1s,20,2ms\n' > "$SCRATCH/link.csv"
try traces "$(echo "$head" | sed 's/200KB/20KB/')
topology: {link: {rate: 50mbit, delay: 1ms}}
events:
  - {at: 0s, do: trace, link: w0-router, file: cell.trace, format: mahimahi, direction: forward}
  - {at: 50ms, do: trace, link: w1-router, file: link.csv, format: csv}"
finished "traces"
is "$(query "$db" "SELECT step, asked_ns / 1000000, direction, rate_bps FROM events WHERE event = 0 AND step < 3")" "0 0 forward 605600
1 100 forward 122343
2 199 forward 605600" "a row a step of mahimahi's, with the rate of its bin, and anew at its end"
is "$(query "$db" "SELECT step, asked_ns / 1000000, direction IS NULL, rate_bps, delay_ns FROM events WHERE event = 1 AND step < 3")" "0 50 1 50000000 1000000
1 150 1 20000000 2000000
2 250 1 50000000 1000000" "a row a step of the table's, for both directions"

# 7. An event with very many steps has rows for a thousand of them and one that sums up the others. Nobody needs that link.
try many "workload: {model: synthetic, size: 4KB, rounds: 30}
compute: {time: {distribution: constant, value: 100ms}}
scheme: ring
workers: 2
topology: {shape: graph, routers: [core, attic], link: {rate: 100mbit}, links: [{from: w0, to: core}, {from: w1, to: core}, {from: core, to: attic}]}
events: [{at: 0s, do: flap, link: core-attic, down: 1ms, up: 1ms, times: 505}]"
finished "a thousand steps and ten"
is "$(query "$db" "SELECT count(*), count(step), max(step) FROM events")" "1001 1000 999" "rows for the first thousand, and one more"
like "$(query "$db" "SELECT text FROM events WHERE step IS NULL")" "^event 0, at 0: 1010 steps done, the first 1000 have rows" "which sums up"

# 8. What befalls the campaign itself.
"$LAGGARD" run "$SCRATCH/rates.yaml" --db "$SCRATCH/left.db" --max-time 1ns --quiet >/dev/null 2>&1
is "$(query "$SCRATCH/left.db" "SELECT kind, text, trial IS NULL, campaign FROM events")" "left-out --max-time left out 1 trial 1 rates" "trials that were left out"
is "$(settles_to "$before")" "$before" "nothing is left"

# 9. As an ordinary user.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && setpriv --reuid=65534 --regid=65534 --clear-groups unshare --user --map-root-user true 2>/dev/null; then
    cp "$LAGGARD" "$LAGGARD-agent" "$SCRATCH/"
    chmod 755 "$SCRATCH"/laggard*
    mkdir "$SCRATCH/home" && chown 65534:65534 "$SCRATCH/home"
    printf 'name: user\n%s\n%s, {at: 50ms, do: partition, nodes: [w1]}, {at: 150ms, do: heal}, {round: 12, do: pause, node: w0, for: 50ms}]\n' "$head" "${rates%]}" > "$SCRATCH/user.yaml"
    output=$(setpriv --reuid=65534 --regid=65534 --clear-groups "$SCRATCH/laggard" run "$SCRATCH/user.yaml" --db "$SCRATCH/home/out.db" --quiet 2>&1)
    is $? 0 "an ordinary user's events" "$output"
    is "$(query "$SCRATCH/home/out.db" "SELECT group_concat(kind || ' ' || (at_ns > 0), ', ') FROM (SELECT * FROM events ORDER BY event, step)")" \
        "set 1, partition 1, heal 1, pause 1, pause 1" "happen, too"
    is "$(settles_to "$before")" "$before" "nothing is left of them"
fi
finish
