#!/bin/sh
# cpu_limit.t: TAP. Nodes that may use only a part of a processor use no more; whatever ends, no control group and no watcher is left.
. "$(dirname "$0")/lib.sh"
can_emulate || skip_all "this host cannot emulate"
before=$(leftovers)

skip() { # skip REASON: one assertion that this host cannot make
    tap_number=$((tap_number + 1))
    echo "ok $tap_number # SKIP $1"
}
as_user() {
    if [ "$(id -u)" = 0 ]; then setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; else "$@"; fi
}
cat > "$SCRATCH/gradients.yaml" <<'Y'
name: gradients
topology: {link: {rate: 1gbit}}
workload: {model: mlp, layers: [64], dataset: fashion-mnist, batch: 256, rounds: 60}
scheme: ring
workers: 2
cpu_limits: [{nodes: [1], processors: 0.25}]
Y
chmod 644 "$SCRATCH/gradients.yaml"

# Where nobody may make groups, that is said before anything is built.
cp "$LAGGARD" "$LAGGARD-agent" "$SCRATCH/" && chmod 755 "$SCRATCH"/laggard*
mkdir "$SCRATCH/home" && { [ "$(id -u)" != 0 ] || chown 65534:65534 "$SCRATCH/home"; }
if as_user "$SCRATCH/laggard" doctor 2>/dev/null | grep -q '^no   cpu limits'; then
    output=$(as_user "$SCRATCH/laggard" run "$SCRATCH/gradients.yaml" --db "$SCRATCH/home/none.db" --quiet 2>&1)
    is $? 3 "limits that cannot be set here: exit code 3"
    like "$output" "processors cannot be limited here.*run as root.*systemd-run --user --scope -p Delegate=yes" "and the remedy"
    is "$(ls "$SCRATCH/home")" "" "before there is a database"
fi
where=$("$LAGGARD" doctor 2>/dev/null | sed -n 's/^yes  cpu limits *cgroup v[12], //p')
if [ -z "$where" ]; then
    skip "what limits do: $("$LAGGARD" doctor 2>/dev/null | grep 'processors cannot be limited')"
    finish
fi
# Whoever limits processors in a group takes away what others left there: so this test is in a group of its own, where it may have one.
parent=$where
leave_group() {
    echo $$ > "$parent/cgroup.procs"
    tries=0
    until rmdir "$parent/test-$$" 2>/dev/null || [ ! -e "$parent/test-$$" ] || [ $tries -ge 50 ]; do # until those who were killed are gone
        sleep 0.1
        tries=$((tries + 1))
    done
}
if mkdir "$parent/test-$$" 2>/dev/null; then
    tap_at_end=leave_group
    { echo $$ > "$parent/test-$$/cgroup.procs"; } 2>/dev/null
    where=$("$LAGGARD" doctor 2>/dev/null | sed -n 's/^yes  cpu limits *cgroup v[12], //p')
    if [ "$where" != "$parent/test-$$" ]; then
        leave_group
        where=$parent
    fi
fi
groups_of() { # groups_of PID: folders of that controller
    ls "$where" | grep -cE "^laggard-$1(-[0-9]+)?\$"
}
groups_go() { # groups_go PID NAME: ten seconds at most
    tries=0
    while [ "$(groups_of "$1")" != 0 ] && [ $tries -lt 100 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    is "$(groups_of "$1")" 0 "$2"
}
watcher_of() { # watcher_of CONTROLLER
    for process in $(marked_named laggard-cgroups); do
        [ "$(awk '{ print $4 }' "/proc/$process/stat")" = "$1" ] && echo "$process"
    done
}

# A limit above that of a group above is refused, also before there is anything; version 2 takes it, and the lower one holds.
if [ -e "$where/cpu.cfs_quota_us" ] && mkdir "$where/above-$$" 2>/dev/null; then
    echo 50000 > "$where/above-$$/cpu.cfs_quota_us"
    output=$(sh -c 'echo $PPID > "$0/cgroup.procs"' "$where/above-$$" && sed 's/0.25/0.75/' "$SCRATCH/gradients.yaml" > "$SCRATCH/above.yaml" &&
        "$LAGGARD" run "$SCRATCH/above.yaml" --db "$SCRATCH/above.db" --quiet 2>&1)
    is $? 3 "a limit above that of a group above: exit code 3"
    like "$output" "cell 0 .*the kernel refused a limit of 0.75 processors.*is there a lower one on a control group above" "and why"
    is "$(ls "$SCRATCH" | grep -c above.db) $(ls "$where/above-$$" | grep -c laggard)" "0 0" "before there is a database, and with nothing left"
    rmdir "$where/above-$$"
fi

# Two programs that take all they get, for two seconds, or for as long as a busy host takes to end them: processor time is exact all the same.
cat > "$SCRATCH/spin.yaml" <<'Y'
name: spin
workers: 3
workload: {exec: [sh, -c, "timeout 2 sh -c 'while :; do :; done'; times"]}
cpu_limits: [{nodes: [w1], processors: 0.1}, {nodes: [2], processors: 0.1, period: 100ms}]
Y
db=$SCRATCH/spin.db
"$LAGGARD" run "$SCRATCH/spin.yaml" --db "$db" --quiet >"$SCRATCH/table" 2>"$SCRATCH/stderr" &
controller=$!
wait $controller
is "$?$(cat "$SCRATCH/stderr")" 0 "a campaign with limits runs"
groups_go $controller "no control group is left"
seconds() { # seconds NODE: of processor time
    query "$db" "SELECT stdout FROM processes WHERE node_name = '$1'" | sed -n 's/^[0-9]*m\([0-9.]*\)s [0-9]*m\([0-9.]*\)s$/\1 \2/p' |
        awk '{ sum += $1 + $2 } END { print sum }'
}
lasted() { # lasted NODE: seconds
    query "$db" "SELECT (end_ns - begin_ns) / 1e9 FROM processes WHERE node_name = '$1'"
}
for node in w1 w2; do
    ok "$(awk -v used="$(seconds $node)" -v lasted="$(lasted $node)" 'BEGIN { print !(used > 0 && used < 0.1 * lasted * 1.3) }')" \
        "$node used no more than a tenth of a processor" "$(seconds $node) s of $(lasted $node) s"
done
is "$(query "$db" "SELECT group_concat(node_name || ' ' || processors || ' ' || period_ns || ' ' || (throttled_count <= period_count) || ' ' || ((throttled_count > 0) = (throttled_ns > 0)), ', ') FROM cpu_limits")" \
    "w1 0.1 10000000 1 1, w2 0.1 100000000 1 1" "what was throttled is stored"
for node in w1 w2; do # where the host is so busy that a node gets less than it may have, nothing need be throttled
    if awk -v used="$(seconds $node)" -v lasted="$(lasted $node)" 'BEGIN { exit !(used > 0.1 * lasted * 0.85) }'; then
        is "$(query "$db" "SELECT throttled_count > 0 FROM cpu_limits WHERE node_name = '$node'")" 1 "$node was throttled"
    else
        skip "$node was throttled: this host had only $(seconds $node) s for it in $(lasted $node) s, of which it may use a tenth"
    fi
done
if awk -v free="$(seconds w0)" -v lasted="$(lasted w1)" 'BEGIN { exit !(free > 0.6 * lasted) }'; then
    ok "$(awk -v free="$(seconds w0)" -v limited="$(seconds w1)" 'BEGIN { print !(free / limited > 4) }')" "a node without a limit used several times that"
else
    skip "a node without a limit: this host had only $(seconds w0) s of $(lasted w1) s for it"
fi

# Gradients. In lock step the limited worker holds the others up.
db=$SCRATCH/gradients.db
"$LAGGARD" run "$SCRATCH/gradients.yaml" --db "$db" --quiet >"$SCRATCH/table" 2>"$SCRATCH/stderr"
is "$?$(cat "$SCRATCH/stderr")" 0 "agents run with limits"
is "$(query "$db" "SELECT predicted_round_ns IS NULL, prediction_reason FROM trials")" "1 nodes may not use all of their processors, and no formula knows what that does to their work" "and without a prediction"
free="SELECT min(duration_ns) FROM spans WHERE kind = 'compute' AND node_name = 'w0'"
is "$(query "$db" "SELECT duration_ns > 3 * 60 * ($free) FROM trials")" 1 "rounds take as long as a quarter of a processor needs for their gradients" \
    "$(query "$db" "SELECT duration_ns, ($free) FROM trials")"

# Gradients so large that all else is little beside them: of the time that they take on the limited node it has the processor for a quarter.
sed 's/batch: 256, rounds: 60/batch: 4096, rounds: 10/' "$SCRATCH/gradients.yaml" > "$SCRATCH/large.yaml"
"$LAGGARD" run "$SCRATCH/large.yaml" --db "$SCRATCH/large.db" --quiet >/dev/null 2>"$SCRATCH/stderr"
is "$?$(cat "$SCRATCH/stderr")" 0 "large gradients"
share=$(query "$SCRATCH/large.db" "SELECT compute_busy_ns * 1.0 / (SELECT sum(duration_ns) FROM spans s WHERE s.kind = 'compute' AND s.node = c.node) FROM node_counter c WHERE node = 1")
ok "$(awk -v share="$share" 'BEGIN { print !(share > 0 && share < 0.25 * 1.2) }')" "a gradient has the processor for no more than a quarter of its time" "for $share of it"

# Whoever dies. The trial's nodes first, then the controller, then the watcher too.
sed 's/rounds: 60/rounds: 100000/; s/^cpu_limits.*/trial_deadline: 60s/' "$SCRATCH/gradients.yaml" > "$SCRATCH/long.yaml"
echo "cpu_limits: [{nodes: all, processors: 0.2}]" >> "$SCRATCH/long.yaml"
db=$SCRATCH/long.db
"$LAGGARD" run "$SCRATCH/long.yaml" --db "$db" --quiet >/dev/null 2>"$SCRATCH/stderr" &
controller=$!
agent=$(agent_in_trial w1)
is "$(groups_of $controller)" 1 "a group stands while the trial runs"
is "$(grep -c "laggard-$controller/node-1\$" "/proc/$agent/cgroup")" 1 "and the node is in it"
kill -9 "$agent"
wait $controller
is $? 4 "a limited node that dies: exit code 4"
groups_go $controller "a failed trial leaves no group"

"$LAGGARD" run "$SCRATCH/long.yaml" --db "$db" --quiet >/dev/null 2>&1 &
controller=$!
agent_in_trial w1 >/dev/null
kill -9 $controller
wait $controller 2>/dev/null
groups_go $controller "kill -9 of the controller leaves no group"
is "$(settles_to "$before")" "$before" "and no watcher"

"$LAGGARD" run "$SCRATCH/long.yaml" --db "$db" --quiet >/dev/null 2>&1 &
controller=$!
agent_in_trial w1 >/dev/null
watcher=$(watcher_of $controller)
like "$watcher" '^[0-9]+$' "a watcher stands by"
is "$(ls -l "/proc/$watcher/fd" | grep -c -- '->')" 6 "which holds its pipe, two folders, and nothing of the controller's" "$(ls -l "/proc/$watcher/fd")"
kill -9 "$watcher" $controller
wait $controller 2>/dev/null
is "$(settles_to "$before")" "$before" "kill -9 of both leaves no process"
is "$(groups_of $controller)" 1 "but the group"
"$LAGGARD" doctor >/dev/null 2>&1
is "$(groups_of $controller)" 0 "which goes with the next who needs one"

# Ctrl-C goes to the whole foreground process group: not to the watcher, which then has nothing left to do.
setsid sh -c 'echo $$ > "$0"; exec "$@"' "$SCRATCH/pid" "$LAGGARD" run "$SCRATCH/long.yaml" --db "$db" --quiet >/dev/null 2>&1 &
waited=$!
agent_in_trial w1 >/dev/null
controller=$(cat "$SCRATCH/pid")
env kill -s INT -- "-$controller"
wait $waited
is $? 130 "interrupted: exit code 130"
groups_go "$controller" "an interrupted trial leaves no group"
is "$(settles_to "$before")" "$before" "nothing is left"
finish
