#!/bin/sh
# programs.t: TAP. Campaigns whose workload is an outside program: exits, output, reports, hanging, daemons, and an ordinary user.
. "$(dirname "$0")/lib.sh"
can_emulate || skip_all "this host cannot emulate"

before=$(leftovers)
campaign() { # campaign NAME WORKERS COMMAND [MORE]: writes NAME.yaml; COMMAND is a YAML list
    cat > "$SCRATCH/$1.yaml" <<Y
name: $1
workers: $2
workload: {exec: $3}
topology: {link: {rate: 100mbit}}
${4:-}
Y
}
run() { # run NAME: into NAME.db; its standard error is in NAME.log; leaves the exit code in $code
    rm -f "$SCRATCH/$1.db"
    "$LAGGARD" run "$SCRATCH/$1.yaml" --db "$SCRATCH/$1.db" --quiet > "$SCRATCH/$1.out" 2> "$SCRATCH/$1.log"
    code=$?
}
ask() { # ask NAME SQL
    query "$SCRATCH/$1.db" "$2"
}
script() { # script NAME: an executable file from standard input
    { echo '#!/bin/sh'; cat; } > "$SCRATCH/$1"
    chmod 755 "$SCRATCH/$1"
}

# 1. Where it runs, what it is told, what is stored. The program is named relative to the campaign file.
script where <<'S'
hostname
echo "$LAGGARD_RANK $LAGGARD_SIZE $LAGGARD_NODE $LAGGARD_ADDRESS $LAGGARD_PEERS $LAGGARD_REPORT $*"
grep -E 'CapPrm|CapBnd|NoNewPrivs' /proc/self/status >&2
read -r line || echo "no input"
S
campaign where 2 '[./where, one, "two words", 3]' 'repeats: 2'
run where
is $code 0 "a program runs on every node"
is "$(ask where "SELECT count(*), sum(status = 'finished'), min(scheme), min(payload_bytes) IS NULL, min(prediction_reason) FROM trials")" \
    "2 2 exec 1 an outside program runs: what it sends is not known" "its trials are finished and say that no scheme ran"
is "$(ask where "SELECT stdout FROM processes WHERE trial = 1 ORDER BY node")" "w0
0 2 w0 10.64.0.1 10.64.0.1,10.64.0.2 3 one two words 3
no input

w1
1 2 w1 10.64.0.2 10.64.0.1,10.64.0.2 3 one two words 3
no input" "host name, variables and arguments are as documented, and there is no input"
is "$(ask where "SELECT DISTINCT replace(stderr, char(9), ' ') FROM processes")" "CapPrm: 0000000000000000
CapBnd: 0000000000000000
NoNewPrivs: 1" "it has no capability and no way to one"
is "$(ask where "SELECT count(*), sum(begin_ns = 0 AND end_ns > 0 AND exit_status = 0 AND signal IS NULL AND NOT stdout_truncated) FROM processes")" \
    "4 4" "every process has its row"
is "$(ask where "SELECT json_extract(command, '\$[2]') FROM processes LIMIT 1")" "two words" "the command is stored word by word"
is "$(ask where "SELECT count(*), sum(round = 0 AND begin_ns = 0 AND NOT warmup) FROM rounds")" "2 2" "a silent run is one round"
is "$(ask where "SELECT count(*) FROM rounds r JOIN processes p USING (trial) WHERE p.node = r.slowest_node AND p.end_ns = r.end_ns")" 2 \
    "which lasts until the last exit"
is "$(ask where "SELECT count(*) FROM links WHERE carried_bytes IS NULL; SELECT count(*) FROM node_counter")" "0
0" "links are counted, agents are not"
like "$(cat "$SCRATCH/where.out")" "^exec +2 +2 .* – .*(faithful|degraded)" "the closing table has the cell"
"$LAGGARD" plan "$SCRATCH/where.yaml" > "$SCRATCH/plan"
like "$(cat "$SCRATCH/plan")" "no prediction: an outside program runs" "plan says why there is no prediction"

# 2. Reports: rounds, spans and warm-up, and what our agents measure in the same campaign.
script report <<'S'
for round in 0 1 2 3; do
    sleep 0.02
    echo "round $round" >&3
done
now=$(perl -MTime::HiRes=clock_gettime,CLOCK_MONOTONIC -e 'printf "%d", 1e9 * clock_gettime(CLOCK_MONOTONIC)')
[ "$LAGGARD_RANK" != 1 ] || echo "span compute 3 $((now - 20000000)) $now 4096" >&3
S
cat > "$SCRATCH/report.yaml" <<'Y'
name: report
workload: {exec: [./report], model: synthetic, size: 40KB, rounds: 3}
warmup_rounds: 1
topology: {link: {rate: 100mbit}}
matrix: {scheme: [ring, exec], workers: [3]}
Y
run report
is $code 0 "a scheme and a program in one campaign"
is "$(ask report "SELECT scheme, round_count, warmup_round_count, round_time_p50_ns > 0 FROM trials ORDER BY scheme")" \
    "exec 4 1 1
ring 4 1 1" "both have their rounds"
is "$(ask report "SELECT round, warmup, end_ns = (SELECT max(held_ns) FROM round_held h WHERE h.trial_id = trial AND h.round = r.round) FROM rounds r WHERE scheme = 'exec'")" \
    "0 1 1
1 0 1
2 0 1
3 0 1" "a round ends when the last node says so, and the first is warm-up"
is "$(ask report "SELECT node_name, kind, round, moved_bytes, duration_ns FROM spans WHERE scheme = 'exec'")" "w1 compute 3 4096 20000000" \
    "spans are stored"
script leader <<'S'
[ "$LAGGARD_RANK" = 1 ] || { touch "$0.started" && exit 0; }
until [ -e "$0.started" ]; do sleep 0.01; done
sleep 1 # what was over before the controller knew all programs to be started counts as then
now=$(perl -MTime::HiRes=clock_gettime,CLOCK_MONOTONIC -e 'printf "%d", 1e9 * clock_gettime(CLOCK_MONOTONIC)')
for round in 0 1 2; do
    echo "round $round $((now - 2000000 + 1000000 * round))" >&$LAGGARD_REPORT
done
S
campaign leader 2 '[./leader]'
run leader
is "$code $(ask leader "SELECT count(*), min(round_time_ns), max(round_time_ns), max(slowest_node_name) FROM rounds WHERE round > 0")" \
    "0 2 1000000 1000000 w1" "one node may report for all, and say when rounds ended"

# 3. Exits.
script exits <<'S'
echo "to standard output"
[ "$LAGGARD_RANK" = 1 ] || { touch "$0.written" && exec sleep 30; }
until [ -e "$0.written" ]; do sleep 0.01; done
printf 'one\nwhat went wrong\n\n' >&2
exit 3
S
campaign exits 2 '[./exits]'
begun=$(date +%s)
run exits
is $code 4 "a program that fails: exit code 4"
like "$(($(date +%s) - begun))" '^1?[0-9]$' "and the others end too, at once"
is "$(ask exits "SELECT status, reason FROM trials")" \
    "failed node w1: ./exits ended (exit status 3); the last line of its standard error: what went wrong" "the reason"
is "$(ask exits "SELECT node, exit_status, signal, end_ns IS NULL, stdout FROM processes ORDER BY node")" "0   1 to standard output

1 3  0 to standard output" "what both wrote and how they ended is stored"
campaign killed 2 '[sh, -c, "kill -SEGV $$"]'
run killed
like "$code $(ask killed "SELECT reason FROM trials")" "^4 node w[01]: sh ended \(killed by SIGSEGV\).*: there is none$" "a program that a signal ends"
is "$(ask killed "SELECT count(*) > 0 FROM processes WHERE signal = 11 AND exit_status IS NULL")" 1 "and its row"
script broken <<'S'
S
printf '#!/no/such/interpreter\n' > "$SCRATCH/broken"
campaign broken 2 '[./broken]'
run broken
like "$code $(ask broken "SELECT status || reason FROM trials")" "^4 failed.*broken.*No such file" "a program whose interpreter is missing"

# 4. What is refused before anything is built.
campaign nowhere 2 '[./nowhere]'
run nowhere
like "$code $(cat "$SCRATCH/nowhere.log")" "^2 .*nowhere.yaml:3:19: workload.exec: .*cannot run .*/./nowhere: No such file" "a program that is not there"
touch "$SCRATCH/plain"
campaign plain 2 '[./plain]'
run plain
like "$code $(cat "$SCRATCH/plain.log")" "^2 .*chmod \+x" "a file that is not executable"
campaign unknown 2 '[no-such-program-anywhere]'
run unknown
like "$code $(cat "$SCRATCH/unknown.log")" "^2 .*cannot run .no-such-program-anywhere.: no folder of PATH has a program of that name" "a name that PATH does not know"
is "$(ls "$SCRATCH" | grep -cE '^(nowhere|plain|unknown)\.db')" 0 "leaves no database"

# 5. Output: much of it, and anything.
script much <<'S'
[ "$LAGGARD_RANK" = 0 ] || exit 0
yes 0123456789abcde | head -c 1048576
printf 'a\0b\377c\303\244\n' >&2
head -c 100000 /dev/urandom >&2
S
campaign much 2 '[./much]'
run much
is $code 0 "a megabyte of output and binary junk"
is "$(ask much "SELECT stdout_bytes, stdout_truncated, length(CAST(stdout AS BLOB)), stderr_bytes, stderr_truncated FROM processes WHERE node = 0")" \
    "1048576 1 65536 100008 1" "is counted, and the beginning kept"
is "$(ask much "SELECT hex(substr(stderr, 1, 6)) FROM processes WHERE node = 0")" "61EFBFBD62EFBFBD63C3A4" "what is no text is marked"
is "$(ask much "PRAGMA integrity_check")" ok "the database is sound"

# 6. Bad reports name the node and the line.
campaign bad 2 '[sh, -c, "echo round 0 >&3; echo round 7 >&3; sleep 30"]'
run bad
like "$code $(ask bad "SELECT reason FROM trials")" "^4 node w[01], LAGGARD_REPORT: line 2: found round 7, round 1 was due$" "a round that was not due"
campaign future 2 '[sh, -c, "echo round 0 9000000000000000000 >&3; sleep 30"]'
run future
like "$code $(ask future "SELECT reason FROM trials")" "^4 node w[01], LAGGARD_REPORT: line 1: .*CLOCK_MONOTONIC" "a time that cannot be"
campaign half 2 '[sh, -c, "printf round >&3"]'
run half
like "$code $(ask half "SELECT reason FROM trials")" "^4 node w[01], LAGGARD_REPORT: line 1: it does not end with a newline" "half a line"
campaign unequal 2 '[sh, -c, "echo round 0 >&3; [ $LAGGARD_RANK = 0 ] || echo round 1 >&3"]'
run unequal
like "$code $(ask unequal "SELECT reason FROM trials")" "^4 node w0 reported 1 round and node w1 2" "nodes that disagree about the rounds"
campaign flood 2 '[sh, -c, "exec yes >&3"]'
run flood
like "$code $(ask flood "SELECT reason FROM trials")" "^4 node w[01], LAGGARD_REPORT: line 1: found 'y'" "a flood of nonsense"

# 7. Hanging, and what a program leaves behind.
campaign hangs 2 '[sh, -c, "[ $LAGGARD_RANK = 0 ] || sleep 60"]' 'trial_deadline: 2s'
run hangs
like "$code $(ask hangs "SELECT reason FROM trials")" \
    '^4 2 s after the start the programs of these nodes still ran: (w0, )?w1 \(trial_deadline in the campaign file sets the limit\)$' "the deadline ends what hangs"
script daemon <<'S'
setsid sh -c 'trap "" TERM HUP; while :; do sleep 1; echo still here; done' "$0" &
echo "round 0" >&3
S
campaign daemon 2 '[./daemon]'
run daemon
is "$code $(ask daemon "SELECT status FROM trials")" "0 finished" "a program that leaves a daemon behind comes to its end"
is "$(pgrep -f "$SCRATCH" | wc -l)" 0 "and the daemon to its own"
campaign stop 2 "[sh, -c, 'sleep 60; : $SCRATCH']"
programs_running() { # how many programs of stop.yaml there are; "$SCRATCH" is in their command line
    pgrep -f "^sh -c sleep 60; : $SCRATCH" | wc -l
}
start_and_wait() { # starts stop.yaml as $controller and waits until its programs run, a minute at most
    "$LAGGARD" run "$SCRATCH/stop.yaml" --db "$SCRATCH/stop.db" --quiet > /dev/null 2>&1 &
    controller=$!
    tries=0
    until [ "$(programs_running)" = 2 ] || [ $tries -ge 1200 ]; do
        sleep 0.05
        tries=$((tries + 1))
    done
}
start_and_wait
is "$(programs_running)" 2 "two programs run"
kill -TERM $controller
wait $controller
is $? 143 "an interruption ends programs too"
is "$(ask stop "SELECT status FROM trials") $(programs_running)" "interrupted 0" "and is stored"
start_and_wait
kill -9 $controller
wait $controller 2>/dev/null
is "$(settles_to "$before")" "$before" "a killed controller leaves no process of ours"
is "$(programs_running)" 0 "and no program"
is "$(settles_to "$before")" "$before" "nothing is left"

# 8. As an ordinary user.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && setpriv --reuid=65534 --regid=65534 --clear-groups unshare --user --map-root-user true 2>/dev/null; then
    cp "$LAGGARD" "$LAGGARD-agent" "$SCRATCH/"
    chmod 755 "$SCRATCH"/laggard*
    mkdir "$SCRATCH/home"
    chown 65534:65534 "$SCRATCH/home"
    setpriv --reuid=65534 --regid=65534 --clear-groups "$SCRATCH/laggard" run "$SCRATCH/where.yaml" --db "$SCRATCH/home/user.db" --quiet > /dev/null 2> "$SCRATCH/user.log"
    is $? 0 "an ordinary user's program runs"
    is "$(query "$SCRATCH/home/user.db" "SELECT count(DISTINCT stdout) FROM processes; SELECT DISTINCT replace(stderr, char(9), ' ') FROM processes")" "2
CapPrm: 0000000000000000
CapBnd: 0000000000000000
NoNewPrivs: 1" "with the same rights: none"
    is "$(settles_to "$before")" "$before" "nothing is left"
fi
finish
