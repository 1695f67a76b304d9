#!/bin/sh
# faults.t: TAP. Whoever dies: nothing is left but the database, finished trials stay in it, and the reason is clear. Kills at random moments
# are in kills.t.
. "$(dirname "$0")/lib.sh"
can_emulate || skip_all "this host cannot emulate"

cat > "$SCRATCH/campaign.yaml" <<'Y'
name: faults
topology: {shape: star, link: {rate: 100mbit, delay: 1ms}}
workload: {model: synthetic, size: 100KB, rounds: 40}
compute: {time: {distribution: constant, value: 10ms}}
matrix: {scheme: [ring, ps-sync], workers: [3]}
repeats: 3
trial_deadline: 60s
Y
before=$(leftovers)
db=$SCRATCH/faults.db

wait_for() { # wait_for SQL VALUE: until the database answers so, a minute at most
    tries=0
    until [ "$(query "$db" "$1" 2>/dev/null)" = "$2" ] || [ $tries -ge 1200 ]; do
        sleep 0.05
        tries=$((tries + 1))
    done
}

# 1. The controller, in the middle of its second trial.
"$LAGGARD" run "$SCRATCH/campaign.yaml" --db "$db" --quiet >/dev/null 2>&1 &
controller=$!
wait_for "SELECT count(*) FROM trial WHERE status = 'finished'" 1
wait_for "SELECT count(*) FROM trial WHERE status = 'running'" 1
kill -9 $controller
wait $controller 2>/dev/null
is "$(settles_to "$before")" "$before" "kill -9 of the controller leaves no process, namespace or link"
others=$(ls "$SCRATCH" | grep -vE '^(campaign\.yaml|faults\.db(-wal|-shm)?)$')
is "$others" "" "and no file but the database with its -wal and -shm"
is "$(query "$db" "SELECT count(*) >= 1 FROM trial WHERE status = 'finished'")" 1 "finished trials stay"
output=$("$LAGGARD" run "$SCRATCH/campaign.yaml" --db "$db" --only 0 --quiet 2>&1 >/dev/null)
like "$output" "interrupted" "the next open says what it found"
is "$(query "$db" "SELECT count(*) FROM trials WHERE status = 'interrupted'; SELECT count(*) FROM trials WHERE status = 'running'")" "1
0" "and marks it"
is "$(query "$db" "SELECT count(*) FROM rounds JOIN trials USING (trial) WHERE status = 'interrupted'")" 0 "the unfinished trial has no rows"

# 2. An agent: its trial fails with the reason, the campaign goes on.
rm -f "$db"
"$LAGGARD" run "$SCRATCH/campaign.yaml" --db "$db" --quiet >/dev/null 2>"$SCRATCH/stderr" &
controller=$!
kill -9 "$(agent_in_trial w1)"
wait $controller
is $? 4 "a failed trial: exit code 4"
is "$(query "$db" "SELECT sum(status = 'failed'), sum(status = 'finished') FROM trials")" "1 5" "one trial failed, the others finished"
like "$(query "$db" "SELECT reason FROM trials WHERE status = 'failed'")" "w1.*SIGKILL" "the reason names the node and the signal"
like "$(tail -n 1 "$SCRATCH/stderr")" "error: 1 of 6 trials failed; .laggard sql $db problems. says why$" "and the last sentence says where it stands"
like "$("$LAGGARD" sql "$db" problems)" "failed .*w1.*SIGKILL" "as it does"
is "$(settles_to "$before")" "$before" "nothing is left"

# 2b. An agent of the measurement before the first trial: the campaign runs, with the usual cost of a message. The first agent of all ends at once.
rm -f "$db"
cat > "$SCRATCH/agent" <<S
#!/bin/sh
[ "\$1" != --fork-server ] || exit 2 # each is started by itself, so that one can end
mkdir "$SCRATCH/begun" 2>/dev/null && exit 7
exec "${LAGGARD}-agent" "\$@"
S
chmod 755 "$SCRATCH/agent"
output=$(LAGGARD_AGENT=$SCRATCH/agent "$LAGGARD" run "$SCRATCH/campaign.yaml" --db "$db" --only 0 --quiet 2>&1 >/dev/null)
is $? 0 "an agent that ends while messages are measured: the campaign runs"
like "$output" "measuring what a message costs: .*node w[01] ended \(exit status 7\).*; predictions take 30 us" "and it is said"
is "$(query "$db" "SELECT value FROM environment_fact WHERE name = 'message_ns'; SELECT count(*) FROM trials WHERE status <> 'finished'")" "unknown
0" "it costs no trial"
is "$(settles_to "$before")" "$before" "nothing is left"

# With `message_cost` nothing is measured: the first agent of all is one of a trial.
rm -rf "$db" "$SCRATCH/begun"
sed 's/^repeats: .*/message_cost: 70us/' "$SCRATCH/campaign.yaml" > "$SCRATCH/said.yaml"
LAGGARD_AGENT=$SCRATCH/agent "$LAGGARD" run "$SCRATCH/said.yaml" --db "$db" --only 0 --quiet >/dev/null 2>&1
is "$? $(query "$db" "SELECT status FROM trials")" "4 failed" "a campaign that says what a message costs measures nothing before its first trial"

# 2c. An interruption of that measurement, whose agents take their time here: there is no database yet, and nothing to print.
rm -f "$db"
printf '#!/bin/sh\n[ "$1" != --fork-server ] || exit 2\necho > "%s/slow"\nsleep 20\n' "$SCRATCH" > "$SCRATCH/agent"
LAGGARD_AGENT=$SCRATCH/agent "$LAGGARD" run "$SCRATCH/campaign.yaml" --db "$db" --quiet >"$SCRATCH/out" 2>&1 &
controller=$!
tries=0
until [ -e "$SCRATCH/slow" ] || [ $tries -ge 100 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
kill -TERM $controller
wait $controller
is "$? $(ls "$db" 2>/dev/null)" "143 " "an interruption while messages are measured: exit code 143, no database" "$(cat "$SCRATCH/out")"
is "$(settles_to "$before")" "$before" "nothing is left"

# 3. An agent that hangs: the trial's deadline ends it. A host that is too busy for the other trials may end those, too.
rm -f "$db"
sed 's/^trial_deadline: .*/trial_deadline: 4s/' "$SCRATCH/campaign.yaml" > "$SCRATCH/hung.yaml"
"$LAGGARD" run "$SCRATCH/hung.yaml" --db "$db" --quiet >/dev/null 2>"$SCRATCH/stderr" &
controller=$!
kill -STOP "$(agent_in_trial w2)"
wait $controller
is $? 4 "a hung agent: exit code 4"
like "$(query "$db" "SELECT reason FROM trials WHERE status = 'failed'")" "w2" "the reason names the node that was awaited"
is "$(settles_to "$before")" "$before" "nothing is left"

# 4. Interruption: what is finished stays, and the exit code names the signal.
for interruption in TERM:143 HUP:129; do
    signal=${interruption%:*}
    rm -f "$db"
    env --default-signal=HUP,TERM "$LAGGARD" run "$SCRATCH/campaign.yaml" --db "$db" --quiet >/dev/null 2>"$SCRATCH/stderr" &
    controller=$!
    wait_for "SELECT count(*) FROM trial WHERE status = 'finished'" 1
    agent_in_trial w0 >/dev/null
    kill -"$signal" $controller
    wait $controller
    is $? "${interruption#*:}" "a campaign ended by SIG$signal: exit code ${interruption#*:}"
    is "$(query "$db" "SELECT count(*) FROM trials WHERE status IN ('running', 'failed')")" 0 "no trial is left running or failed"
    is "$(settles_to "$before")" "$before" "nothing is left"
done

# 4b. The measurement of the links: a relay that dies meanwhile is not taken for links that carry nothing; an interruption is heard at once.
rm -f "$db"
"$LAGGARD" run "$SCRATCH/campaign.yaml" --db "$db" --only 0 --quiet >/dev/null 2>"$SCRATCH/stderr" &
controller=$!
measure=$(await_named laggard-measure)
kill -STOP "$measure" # it must not be done before
kill -9 "$(await_named laggard-relay)"
kill -CONT "$measure" 2>/dev/null
wait $controller
is $? 0 "a relay that dies while links are measured: the campaign runs"
like "$(cat "$SCRATCH/stderr")" "relay has ended.*once more" "and it is said"
is "$(query "$db" "SELECT count(*) FROM links WHERE measured_delay_mean_ns IS NULL")" 0 "and the links are measured again"
sed 's/delay: 1ms/delay: 10s/' "$SCRATCH/campaign.yaml" > "$SCRATCH/slow.yaml"
"$LAGGARD" run "$SCRATCH/slow.yaml" --db "$SCRATCH/slow.db" --quiet >/dev/null 2>"$SCRATCH/stderr" &
controller=$!
await_named laggard-measure >/dev/null
begun=$(date +%s)
kill -TERM $controller
wait $controller
is $? 143 "interrupted while links are measured: exit code 143"
like "$(($(date +%s) - begun))" '^[0-9]$' "and at once: a packet takes 10 s"
is "$(settles_to "$before")" "$before" "nothing is left"

# 5. No room: what was stored stays, one sentence says so, and nothing is left. A limit of file size is the same.
if [ "$(id -u)" = 0 ]; then own_mounts="unshare --mount"; else own_mounts="unshare --user --map-root-user --mount"; fi
sed 's/^repeats: 3/repeats: 40/; s/10ms/0/' "$SCRATCH/campaign.yaml" > "$SCRATCH/long.yaml"
if $own_mounts true 2>/dev/null; then
    mkdir "$SCRATCH/small"
    output=$($own_mounts sh -c 'mount -t tmpfs -o size=1m none "$1/small" && "$2" run "$1/long.yaml" --db "$1/small/full.db" --quiet 2>&1
        code=$?; cp "$1"/small/full.db* "$1"; exit $code' sh "$SCRATCH" "$LAGGARD")
    is $? 3 "a full disk: exit code 3"
    is "$(printf "%s\n" "$output" | wc -l)" 1 "a full disk: one sentence"
    like "$output" "full\.db.* is full.*safe.*free space" "a full disk: what to do"
    is "$(query "$SCRATCH/full.db" "PRAGMA integrity_check; SELECT count(*) > 0 FROM trials WHERE status = 'finished'; SELECT count(*) FROM trials WHERE status = 'finished' AND trial NOT IN (SELECT trial FROM rounds)")" "ok
1
0" "a full disk: finished trials are there with their rounds"
    output=$($own_mounts sh -c 'mount -t tmpfs -o size=1m none "$1/small" && cp "$1/full.db" "$1/small/more.db" && "$2" run "$1/long.yaml" --seed 2 --db "$1/small/more.db" --quiet 2>&1
        code=$?; cp "$1"/small/more.db* "$1"; exit $code' sh "$SCRATCH" "$LAGGARD")
    is "$? $(echo "$output" | grep -c 'another program') $(ls "$SCRATCH" | grep -c '^more.db-wal')" "3 0 1" "a full disk: what is not in the file yet is in its journal, and nobody else is blamed"
    is "$(query "$SCRATCH/more.db" "PRAGMA integrity_check; SELECT count(*) FROM trials WHERE status = 'finished' AND trial NOT IN (SELECT trial FROM rounds)")" "ok
0" "and the two together are whole"
fi
rm -f "$db"
"$LAGGARD" run "$SCRATCH/long.yaml" --db "$db" >/dev/null 2>"$SCRATCH/stderr" &
controller=$!
wait_for "SELECT count(*) > 0 FROM trial WHERE status = 'finished'" 1
rm -f "$db"
wait $controller
is $? 3 "a database that somebody removes: exit code 3"
like "$(tail -n 1 "$SCRATCH/stderr")" "error: .*faults\.db.*removed" "a database that somebody removes: the sentence"
is "$(grep -c 'round n/a' "$SCRATCH/stderr")" 0 "a database that somebody removes: no trial is said to be done that never began"
output=$(ulimit -f 700; "$LAGGARD" run "$SCRATCH/long.yaml" --db "$SCRATCH/limited.db" --quiet 2>&1)
is $? 3 "a limit of file size: exit code 3"
is "$(printf '%s\n' "$output" | wc -l)" 1 "a limit of file size: one sentence"
is "$(settles_to "$before")" "$before" "nothing is left"
finish
