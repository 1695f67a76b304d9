#!/bin/sh
# kills.t: TAP. kill -9 at random moments of set-up, rounds and teardown: of the controller, or of any process below it. Without its controller nothing
# is left but the database, which recovers: no trial that was committed is lost, and --resume goes on until the trials are those of the plan. With
# another process dies its trial at most, which says who died; the controller lives on and runs the others.
# LAGGARD_KILLS=1000 kills more often; LAGGARD_KILL_SEED=N repeats the moments and draws of a run that printed that seed;
# LAGGARD_KILL_LOG=FILE keeps who was killed when, what lives said, and why trials failed.
#
# Other tests run beside this one: what could be left of mounts, interfaces and names is looked for in namespaces of the test's own.
if [ "${KILLS_INSIDE:-}" != yes ]; then
    case $(id -u) in 0) own="unshare --mount --net" ;; *) own="unshare --user --map-current-user --mount --net" ;; esac
    $own true 2>/dev/null && KILLS_INSIDE=yes exec $own "$0" "$@"
fi
[ "$(id -u)" != 0 ] || [ ! -d /run/netns ] || mount -t tmpfs none /run/netns
. "$(dirname "$0")/lib.sh"
can_emulate || skip_all "this host cannot emulate"
without_leak_search
KILLS_LANE=${KILLS_LANE:-}
: "${LAGGARD_KILLS:=20}" "${LAGGARD_KILL_SEED:=$(date +%s)}"
: "${LAGGARD_KILL_LOG:=$SCRATCH/log}"
export LAGGARD_KILLS LAGGARD_KILL_SEED LAGGARD_KILL_LOG
[ -n "$KILLS_LANE" ] || echo "# seed $LAGGARD_KILL_SEED, $LAGGARD_KILLS kills"

# Agents with delayed links, with limited processors where this host can limit them; and outside programs that leave others behind.
cat > "$SCRATCH/agents.yaml" <<'Y'
name: kills
topology: {shape: star, link: {rate: 100mbit, delay: 1ms}}
workload: {model: synthetic, size: 100KB, rounds: 12}
compute: {time: {distribution: constant, value: 10ms}}
matrix: {scheme: [ring, ps-sync], workers: [3]}
repeats: 2
Y
cat > "$SCRATCH/programs.yaml" <<Y
name: kills
topology: {shape: ring, link: {rate: 100mbit}}
workload: {exec: [$SCRATCH/program]}
workers: 3
repeats: 3
Y
cat > "$SCRATCH/program" <<'S'
#!/bin/sh
(sleep 300 &)
setsid sleep 300 &
sleep 300 & sleep 0.5
S
chmod 755 "$SCRATCH/program"
mkdir "$SCRATCH/tmp" "$SCRATCH/databases"
chmod 777 "$SCRATCH/databases"

# Everything of this test but this shell: agents, relays, wardens, and what outside programs forked. And what they could leave elsewhere.
left() {
    processes=$(grep -laF "LAGGARD_TEST_MARK=$LAGGARD_TEST_MARK" /proc/[0-9]*/environ 2>/dev/null | sed 's|/environ||' | while read -r process; do
        case $(readlink "$process/exe" 2>/dev/null) in */laggard | */laggard-agent | */sleep | */dash | */sh | */bash) echo "$process" ;; esac
    done)
    echo "processes $(echo "$processes" | grep -c .)," \
        "namespaces $(for process in $processes; do readlink "$process"/ns/*; done 2>/dev/null | sort -u | grep -vxF "$own_namespaces" | grep -c .)," \
        "interfaces $(sed -n 's/^ *\([^ ]*\):.*/\1/p' /proc/self/net/dev | tr '\n' ' ')," "mounts $(wc -l < /proc/self/mounts)," \
        "named $(ls /run/netns 2>/dev/null | wc -l), temporary files $(find "$SCRATCH/tmp" -mindepth 1 | wc -l)," \
        "control groups $(for one in $controllers; do ls -d "$groups/laggard-$one" "$groups/laggard-$one-"*; done 2>/dev/null | grep -c .)"
}
controllers="" # of lives since it was last looked
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
# What a watcher of control groups that was killed, too, could not remove, the next run removes, or laggard doctor.
remove_unwatched() {
    [ "$watched" = yes ] || "$LAGGARD" doctor >/dev/null 2>&1
    watched=yes
}
# draw: for the next kill, from the seed: $moment in 0 .. 1, $choice and $victim_number in 0 .. 9999. Each lane
# has draws of its own. Not by awk: some have one sequence for all large seeds.
draw_seed=$(echo "$LAGGARD_KILL_SEED $KILLS_LANE" | cksum | cut -d ' ' -f 1)
perl -e 'srand($ARGV[0]); printf("%.3f %d %d\n", rand, rand(10000), rand(10000)) for 1 .. $ARGV[1]' "$draw_seed" $((LAGGARD_KILLS * 20)) > "$SCRATCH/draws"
exec 3< "$SCRATCH/draws"
draw() {
    read -r moment choice victim_number <&3
}
# ---- who and when ----

lives() { # lives PROCESS: and is no zombie
    read -r status < "/proc/$1/stat" && case $status in *") Z "* | *") X "*) return 1 ;; esac
} 2>/dev/null
await_trial() { # until one of this life has begun; that of a life before may still be marked as running
    tries=0
    until [ "$(query "$db" "SELECT count(*) FROM trial WHERE status = 'running' AND started_unix_ns > $begun" 2>/dev/null)" = 1 ] || [ $tries -ge 600 ] || ! lives "$controller"; do
        sleep 0.05
        tries=$((tries + 1))
    done
}
early="place [a-z0-9]*: cannot start .*: it ended before it could begin" # a fork of the fork server whose number nobody knows yet
# strike WHEN FRACTION MOST ONE_IN: kills a process that far into the most seconds from now, or from the teardown that comes. Leaves in $victim what was
# killed, and adds to $patterns what the reason of its trial may be. 1: the controller had ended by itself.
strike() {
    set -- $(perl tests/e2e/strike.pl "$controller" "$1" "$(awk -v part="$2" -v most="$3" 'BEGIN { printf "%.4f", part * most }')" "$4" "$choice" "$victim_number")
    victim=${1:-nobody}
    [ "$victim" != nobody ] || return 1
    count=$((count + 1))
    echo "$victim $aim" >> "$KILLS_STRUCK"
    echo "$(date +%T) $name $count: $*, $aim" >> "$LAGGARD_KILL_LOG"
    case $victim in
        controller) return 0 ;;
        cgroups) watched=no pattern="nobody" ;; # no trial needs it
        agent) pattern="node ${3:-[a-z0-9]*} .*SIGKILL|$early" ;;
        init) pattern="SIGKILL|status 137" ;;
        relay | warden) pattern="$victim.*SIGKILL" ;;
        *) pattern="SIGKILL|status 137|$early" ;;
    esac
    patterns="$patterns|$pattern" others=$((others + 1))
}

# ---- lives ----

finished() { # finished DB: the trials that a kill may not take away
    query "$1" "SELECT uuid FROM trial WHERE status = 'finished' ORDER BY 1" 2>/dev/null
}
in_plan() { # in_plan DB: every trial of the plan once, and finished
    query "$1" "SELECT count(*) = planned_trial_count AND sum(status = 'finished') = planned_trial_count AND count(DISTINCT run_order) = planned_trial_count
        FROM trial JOIN campaign USING (campaign_id)" 2>/dev/null
}
reasons() { # reasons DB: why trials failed, those that gave way, too
    query "$1" "SELECT reason FROM trial WHERE status = 'failed' UNION ALL SELECT text FROM event WHERE kind = 'replaced' AND text LIKE '%failed%'" 2>/dev/null
}
await_end() { # until the controller has ended by itself, two minutes at most
    tries=0
    while lives "$controller" && [ $tries -lt 1200 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    if lives "$controller"; then
        odd="$odd
after kill $count ($victim, $aim) the controller did not end"
        kill -9 "$controller"
    fi
}
life() { # one life of the controller, with kills until it is the victim or has ended by itself
    draw
    retries=$((choice % 2 * 3)) victim=nobody others_before=$others begun=$(date +%s%N)
    TMPDIR=$SCRATCH/tmp $run "$file" --db "$db" --resume --retries $retries --quiet >/dev/null 2>"$SCRATCH/stderr" 3<&- &
    controller=$!
    controllers="$controllers $controller"
    # Where the first kill is to fall: a moment after the start (set-up and measurement), after a trial has begun, or when its processes begin to end.
    case $((victim_number % 3)) in
        0) aim=teardown && await_trial && draw && strike teardown "$moment" 0.03 4 ;;
        1) aim=set-up && draw && strike now "$moment" 0.7 4 ;;
        2) aim=rounds && await_trial && draw && strike now "$moment" 0.6 4 ;;
    esac
    while [ "$victim" != controller ] && [ "$victim" != nobody ] && [ $count -lt "$kills" ] && [ $((victim_number % 10)) != 0 ]; do
        aim=later
        draw
        strike now "$moment" 0.7 12
    done
    [ "$victim" = controller ] || await_end
    wait "$controller" 2>/dev/null
    code=$?
    [ "$victim" != controller ] || return
    ! grep -q 'somebody changed' "$SCRATCH/stderr" || odd="$odd
after kill $count ($victim, $aim) a death was taken for somebody's change"
    case $code in
        0 | 4) [ "$(query "$db" "SELECT count(*) = planned_trial_count AND sum(status = 'finished') + sum(status = 'failed') = count(*) AND (sum(status = 'failed') > 0) = ($code = 4)
            FROM trial JOIN campaign USING (campaign_id)")" = 1 ] || odd="$odd
after kill $count ($victim, $aim) not every trial came to its end" ;;
        # What dies before the first trial is tried once more, and not again: the probe of the host, the measurement of the links.
        3) [ $((others - others_before)) -ge 2 ] && tail -n 1 "$SCRATCH/stderr" | grep -qE 'error: .*(measuring the links|cannot build the network|what this host can do).*SIGKILL' || odd="$odd
after kill $count ($victim, $aim) exit code 3: $(cat "$SCRATCH/stderr")" ;;
        *) odd="$odd
after kill $count ($victim, $aim) exit code $code: $(cat "$SCRATCH/stderr")" ;;
    esac
}
kill_often() { # kill_often NAME COUNT FILE DATABASE: into DATABASE, and another one once that is complete; $run starts the program
    name=$1 kills=$2 file=$3 base=$4
    count=0 others=0 unsound=0 lost=0 complete=0 lives=0 watched=yes messy="" odd="" unexplained="" patterns="nobody was killed" db=$base
    while [ $count -lt "$kills" ]; do
        if [ "$(in_plan "$db")" = 1 ]; then
            complete=$((complete + 1))
            db=${base%.db}-$complete.db
            patterns="nobody was killed" others=0
        fi
        finished "$db" > "$SCRATCH/finished"
        life
        lives=$((lives + 1))
        if [ $((lives % 5)) = 0 ]; then
            remove_unwatched
            [ "$(settles)" = "$before" ] || messy="$messy
after kill $count: $(left)"
            controllers=""
        fi
        [ ! -e "$db" ] || [ "$(query "$db" "PRAGMA integrity_check")" = ok ] || unsound=$((unsound + 1))
        [ -z "$(finished "$db" | sort | comm -13 - "$SCRATCH/finished")" ] || lost=$((lost + 1))
        unexplained=$unexplained$(reasons "$db" | grep -vE "$patterns")
        [ "$(reasons "$db" | grep -c .)" -le $others ] || unexplained="$unexplained
more trials failed than processes were killed"
        sed 's/^/    /' "$SCRATCH/stderr" >> "$LAGGARD_KILL_LOG"
        query "$db" "SELECT reason FROM trial WHERE status = 'failed'" 2>/dev/null | sed 's/^/    reason: /' >> "$LAGGARD_KILL_LOG"
    done
    remove_unwatched
    [ -z "$messy" ]
    ok $? "$name: $kills kills leave no process, namespace, interface, mount, control group or file" "$messy"
    is "$(settles)" "$before" "$name: nor do they afterwards"
    is "$unsound $lost" "0 0" "$name: after each life the database is sound, and no finished trial is lost"
    is "$unexplained" "" "$name: a trial fails for a kill only, and says who died"
    is "$odd" "" "$name: when another process dies, the controller lives on, and every trial comes to its end"
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
case $KILLS_LANE in
    agents) kill_often agents $((LAGGARD_KILLS - LAGGARD_KILLS / 3 - LAGGARD_KILLS / 4)) "$SCRATCH/agents.yaml" "$SCRATCH/databases/agents.db" ;;
    groups)
        [ -z "$groups" ] || echo 'cpu_limits: [{nodes: [1], processors: 0.1}]' >> "$SCRATCH/agents.yaml"
        echo 'message_cost: 30us' >> "$SCRATCH/agents.yaml"
        kill_often "control groups" $((LAGGARD_KILLS / 4)) "$SCRATCH/agents.yaml" "$SCRATCH/databases/groups.db"
        ;;
    programs) kill_often "outside programs" $((LAGGARD_KILLS / 3)) "$SCRATCH/programs.yaml" "$SCRATCH/databases/programs.db" ;;
esac
[ -z "$KILLS_LANE" ] || finish

# The three at the same time, each with a folder, a mark and a count of what is left of its own.
lanes=""
for lane in agents groups programs; do
    TMPDIR=$SCRATCH KILLS_LANE=$lane KILLS_STRUCK=$SCRATCH/struck "$0" > "$SCRATCH/$lane.tap" &
    lanes="$lanes $!"
done

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

failed=0
for lane in $lanes; do
    wait "$lane" || failed=1
done
sed -n '/^# /p' "$SCRATCH"/*.tap
while IFS= read -r line; do
    tap_number=$((tap_number + 1))
    echo "$line" | sed "s/ok [0-9]*/ok $tap_number/"
done <<L
$(cat "$SCRATCH"/*.tap | grep -E '^(not )?ok ')
L
awk '{ of[$1]++; at[$1 ", " $2]++ } END { for (one in at) { split(one, part, ", "); print at[one], of[part[1]], one } }' "$SCRATCH/struck" | sort -k2,2nr -k3,3 -k1,1nr | awk '
    { count = $1; name = $3; sub(",", "", name); if (name != last) printf "%s%s %d (", last ? "), " : "# killed: ", name, $2; printf "%s%s %d", name == last ? ", " : "", $4, count; last = name }
    END { print ")" }'

is "$failed $(wc -l < "$SCRATCH/struck")" "0 $LAGGARD_KILLS" "all kills have been made"
finish
