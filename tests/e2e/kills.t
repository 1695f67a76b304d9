#!/bin/sh
# kills.t: TAP. kill -9 of the controller at random moments of set-up, rounds and teardown: nothing is left but the database, which recovers:
# no trial that was committed is lost, and --resume goes on until the trials are those of the plan.
# LAGGARD_KILLS=200 kills more often; LAGGARD_KILL_SEED=N repeats the moments of a run that printed that seed.
. "$(dirname "$0")/lib.sh"
can_emulate || skip_all "this host cannot emulate"
: "${LAGGARD_KILLS:=20}" "${LAGGARD_KILL_SEED:=$(date +%s)}"
echo "# seed $LAGGARD_KILL_SEED, $LAGGARD_KILLS kills"

# Agents with delayed links, with limited processors where this host can limit them; and outside programs that leave others behind.
cat > "$SCRATCH/agents.yaml" <<'Y'
name: kills
topology: {shape: star, link: {rate: 100mbit, delay: 1ms}}
workload: {model: synthetic, size: 100KB, rounds: 20}
compute: {time: {distribution: constant, value: 10ms}}
matrix: {scheme: [ring, ps-sync], workers: [3]}
repeats: 2
Y
cat > "$SCRATCH/programs.yaml" <<Y
name: kills
topology: {shape: ring, link: {rate: 100mbit}}
workload: {exec: [$SCRATCH/forks]}
workers: 3
repeats: 3
Y
cat > "$SCRATCH/forks" <<'S'
#!/bin/sh
(sleep 300 &)
setsid sleep 300 &
sleep 300 & sleep 0.5
S
chmod 755 "$SCRATCH/forks"
mkdir "$SCRATCH/tmp" "$SCRATCH/databases"
chmod 777 "$SCRATCH/databases"

# Everything of this test but this shell: agents, relays, wardens, and what outside programs forked. And what they could leave elsewhere.
left() {
    processes=$(grep -laF "LAGGARD_TEST_MARK=$LAGGARD_TEST_MARK" /proc/[0-9]*/environ 2>/dev/null | sed 's|/environ||' | while read -r process; do
        case $(readlink "$process/exe" 2>/dev/null) in */laggard | */laggard-agent | */sleep | */dash | */sh | */bash) echo "$process" ;; esac
    done)
    echo "processes $(echo "$processes" | grep -c .)," \
        "namespaces $(for process in $processes; do readlink "$process"/ns/*; done 2>/dev/null | sort -u | grep -vxF "$own_namespaces" | grep -c .)," \
        "interfaces $(ls /sys/class/net | tr '\n' ' ')," "mounts $(wc -l < /proc/self/mounts)," \
        "named $(ls /run/netns 2>/dev/null | wc -l), temporary files $(find "$SCRATCH/tmp" -mindepth 1 | wc -l)," \
        "control groups $(for one in $controllers; do ls -d "$groups/laggard-$one" "$groups/laggard-$one-"*; done 2>/dev/null | grep -c .)"
}
controllers="" # that were killed
groups=$("$LAGGARD" doctor 2>/dev/null | sed -n 's/^yes  cpu limits *cgroup v[12], //p') # where limits make control groups; "": nowhere
own_namespaces=$(readlink /proc/self/ns/* | sort -u)
settles() { # until nothing is left, ten seconds at most
    tries=0
    while [ "$(left)" != "$before" ] && [ $tries -lt 100 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    left
}
random() { # random NUMBER FROM TO: the NUMBERth moment, in seconds
    awk -v seed="$LAGGARD_KILL_SEED" -v n="$1" -v from="$2" -v to="$3" 'BEGIN { srand(seed * 1000 + n); rand(); printf "%.3f", from + rand() * (to - from) }'
}
children() { # of a process of one thread
    cat "/proc/$1/task/$1/children" 2>/dev/null
}

# Where a kill is to fall: a moment after the start (set-up and measurement), after a trial has begun, or when its processes begin to end.
in_setup() {
    sleep "$(random "$count" 0 0.7)"
}
in_rounds() {
    await_trial
    sleep "$(random "$count" 0 0.6)"
}
in_teardown() {
    await_trial
    most=0 now=0
    while [ "$now" -ge "$most" ] || [ "$most" -lt 4 ]; do # until the warden's programs become fewer, or it is gone
        kill -0 "$controller" 2>/dev/null || break
        warden=$(children "$controller")
        now=$(children "${warden% }" | wc -w)
        [ "$now" -lt "$most" ] || most=$now
    done
    sleep "$(random "$count" 0 0.03)"
}
await_trial() {
    tries=0
    until [ "$(query "$db" "SELECT count(*) FROM trial WHERE status = 'running'" 2>/dev/null)" = 1 ] || [ $tries -ge 100 ]; do
        sleep 0.05
        tries=$((tries + 1))
    done
}

finished() { # finished DB: the trials that a kill may not take away
    query "$1" "SELECT uuid FROM trial WHERE status = 'finished' ORDER BY 1" 2>/dev/null
}
in_plan() { # in_plan DB: every trial of the plan once, and finished
    query "$1" "SELECT count(*) = planned_trial_count AND sum(status = 'finished') = planned_trial_count AND count(DISTINCT run_order) = planned_trial_count
        FROM trial JOIN campaign USING (campaign_id)" 2>/dev/null
}
kill_often() { # kill_often NAME COUNT FILE DATABASE: into DATABASE, and another one once that is complete; $run starts the program
    name=$1 kills=$2 file=$3 base=$4
    count=0 unsound=0 lost=0 complete=0 messy="" db=$base
    while [ $count -lt "$kills" ]; do
        count=$((count + 1))
        if [ "$(in_plan "$db")" = 1 ]; then
            complete=$((complete + 1))
            db=${base%.db}-$complete.db
        fi
        finished "$db" > "$SCRATCH/finished"
        TMPDIR=$SCRATCH/tmp $run "$file" --db "$db" --resume --quiet >/dev/null 2>&1 &
        controller=$!
        controllers="$controllers $controller"
        case $((count % 3)) in 0) in_teardown ;; 1) in_setup ;; 2) in_rounds ;; esac
        kill -9 $controller 2>/dev/null
        wait $controller 2>/dev/null
        if [ $((count % 5)) = 0 ] && [ -z "$messy" ] && [ "$(settles)" != "$before" ]; then
            messy="after kill $count: $(left)"
        fi
        [ ! -e "$db" ] || [ "$(query "$db" "PRAGMA integrity_check")" = ok ] || unsound=$((unsound + 1))
        [ -z "$(finished "$db" | sort | comm -13 - "$SCRATCH/finished")" ] || lost=$((lost + 1))
    done
    [ -z "$messy" ]
    ok $? "$name: $kills kills leave no process, namespace, interface, mount, control group or file" "$messy"
    is "$(settles)" "$before" "$name: nor do they afterwards"
    is "$unsound $lost" "0 0" "$name: after each the database is sound, and no finished trial is lost"
    ended=$(query "$db" "SELECT count(*) FROM trial WHERE status = 'running'" 2>/dev/null)
    TMPDIR=$SCRATCH/tmp $run "$file" --db "$db" --resume --quiet > "$SCRATCH/out" 2>&1
    ok $? "$name: --resume comes to the end" "$(cat "$SCRATCH/out")"
    [ "${ended:-0}" = 0 ] || like "$(cat "$SCRATCH/out")" "now marked interrupted" "$name: and says that trials had not ended"
    is "$(for one in "${base%.db}"*.db; do in_plan "$one"; done | sort -u)" 1 "$name: in each database the trials are those of the plan, each once, and finished"
    is "$(query "$db" "SELECT count(*) FROM span WHERE trial_id NOT IN (SELECT trial_id FROM trial); SELECT count(*) FROM pragma_foreign_key_check" | tr '\n' ' ')" \
        "0 0 " "$name: nothing is left of trials that gave way"
    echo "# $name: $((complete + 1)) databases, $(for one in "${base%.db}"*.db; do query "$one" "SELECT count(*) FROM event WHERE kind = 'replaced'"; done | awk '{ sum += $1 } END { print sum + 0 }') trials gave way"
}

before=$(left)
run="$LAGGARD run"
kill_often agents $((LAGGARD_KILLS - LAGGARD_KILLS / 3 - LAGGARD_KILLS / 5)) "$SCRATCH/agents.yaml" "$SCRATCH/databases/agents.db"
[ -z "$groups" ] || echo 'cpu_limits: [{nodes: [1], processors: 0.1}]' >> "$SCRATCH/agents.yaml"
kill_often "control groups" $((LAGGARD_KILLS / 5)) "$SCRATCH/agents.yaml" "$SCRATCH/databases/groups.db"
kill_often "outside programs" $((LAGGARD_KILLS / 3)) "$SCRATCH/programs.yaml" "$SCRATCH/databases/programs.db"

# Network namespaces that nothing shows would still count for the limit of their user namespace. In one of the test's own, where that limit is
# lower than what a handful of leaks would take, everything still runs.
if unshare --user --map-root-user sh -c 'echo 40 > /proc/sys/user/max_net_namespaces' 2>/dev/null; then
    cat > "$SCRATCH/limited" <<'S'
#!/bin/sh
# limited LAGGARD ARGUMENT...: 12 short lives, each with two networks of 4 places, then one to the end; not before the kernel has ended the others
echo 40 > /proc/sys/user/max_net_namespaces
for life in 1 2 3 4 5 6 7 8 9 10 11 12; do
    "$@" >/dev/null 2>&1 &
    sleep "0.$((life * 7 % 10))"
    kill -9 $!
    wait $! 2>/dev/null
done
for attempt in 1 2 3 4 5 6 7 8 9; do
    sleep 3
    "$@" && exit 0
done
exit 1
S
    out=$(unshare --user --map-root-user sh "$SCRATCH/limited" "$LAGGARD" run "$SCRATCH/programs.yaml" --db "$SCRATCH/databases/limited.db" --quiet 2>&1)
    ok $? "no network namespace is left that nobody sees" "$out"
else
    tap_number=$((tap_number + 1))
    echo "ok $tap_number # SKIP no user namespace can be given a limit here"
fi
finish
