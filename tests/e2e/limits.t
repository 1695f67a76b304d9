#!/bin/sh
# limits.t: TAP. A host without room for a campaign: one sentence says what is needed, what is there, which limit it is and what raises it, and
# nothing is built. And what is said to be needed is enough.
. "$(dirname "$0")/lib.sh"
can_emulate || skip_all "this host cannot emulate"
command -v prlimit >/dev/null && command -v setpriv >/dev/null && command -v unshare >/dev/null || skip_all "prlimit, setpriv and unshare are needed (util-linux)"
before=$(leftovers)
mkdir "$SCRATCH/programs" && cp "$LAGGARD" "$LAGGARD-agent" "$SCRATCH/programs/" && chmod 755 "$SCRATCH/programs" "$SCRATCH/programs/"*
theirs=$SCRATCH/programs/laggard # the checkout may lie where an ordinary user cannot look
cat > "$SCRATCH/campaign.yaml" <<'Y'
name: limits
topology: {shape: star, link: {rate: 100mbit}}
workload: {model: synthetic, size: 4KB, rounds: 2}
scheme: ps-sync
workers: 19
Y
sed 's/100mbit/100mbit, delay: 1ms/; s/^name: limits/name: relay\nengine: relay/' "$SCRATCH/campaign.yaml" > "$SCRATCH/delayed.yaml"
chmod 644 "$SCRATCH"/*.yaml

skip() { # skip REASON
    tap_number=$((tap_number + 1))
    echo "ok $tap_number # SKIP $1"
}
refused() { # refused NAME ERE OUTPUT STATUS: exit code 3, the sentence, no database
    is "$4" 3 "$1: exit code 3"
    like "$3" "$2" "$1: the sentence"
    is "$(printf '%s\n' "$3" | grep -c .)" 1 "$1: one line"
    [ ! -e "$SCRATCH/out.db" ] && [ ! -e "$SCRATCH/theirs/out.db" ]
    ok $? "$1: no database is made"
}

# Open files. What the sentence asks for is then given, no more, and does.
for file in campaign delayed; do
    out=$(prlimit --nofile=64:64 "$LAGGARD" run "$SCRATCH/$file.yaml" --db "$SCRATCH/out.db" --quiet 2>&1)
    status=$?
    if [ "$file" = delayed ] && printf '%s' "$out" | grep -q 'engine relay cannot'; then
        skip "$file: $out"
        continue
    fi
    refused "open files, $file" '20 nodes need [0-9]+ open files in one process \(.*\), but only 64 are allowed \(RLIMIT_NOFILE.*prlimit --pid \$\$ --nofile=[0-9]+:[0-9]+$' "$out" $status
    need=$(printf '%s' "$out" | sed -n 's/.* need \([0-9]*\) open files.*/\1/p')
    out=$(prlimit --nofile="$need:$need" "$LAGGARD" run "$SCRATCH/$file.yaml" --db "$SCRATCH/enough.db" --quiet 2>&1)
    ok $? "open files, $file: $need are enough" "$out"
    rm -f "$SCRATCH/enough.db"
done

# A soft limit below the hard one is no refusal.
out=$(prlimit --nofile=64:4096 "$LAGGARD" run "$SCRATCH/campaign.yaml" --db "$SCRATCH/enough.db" --quiet 2>&1)
ok $? "open files: the soft limit is raised" "$out"
rm -f "$SCRATCH/enough.db"

# Processes of an ordinary user, of whom nothing else runs: other tests' processes are 65534's.
nobody=$((60000 + $$ % 5000))
nobody() {
    if [ "$(id -u)" = 0 ]; then
        setpriv --reuid=$nobody --regid=$nobody --clear-groups "$@"
    else
        "$@"
    fi
}
mkdir "$SCRATCH/theirs" && chmod 777 "$SCRATCH/theirs"
if nobody unshare --user --map-root-user true 2>/dev/null; then
    out=$(nobody prlimit --nproc=5:5 "$theirs" run "$SCRATCH/campaign.yaml" --db "$SCRATCH/theirs/out.db" --quiet 2>&1)
    refused "processes of a user" '20 nodes need [0-9]+ processes and threads, but of 5 allowed [0-9]+ (is|are) taken \(RLIMIT_NPROC.*--nproc=[0-9]+' "$out" $?
    need=$(printf '%s' "$out" | sed -n 's/.* need \([0-9]*\) processes.*/\1/p') taken=$(printf '%s' "$out" | sed -n 's/.* allowed \([0-9]*\) .*/\1/p')
    if [ "$(id -u)" = 0 ]; then # an ordinary user's other processes come and go
        all=$((need + taken))
        out=$(nobody prlimit --nproc=$all:$all "$theirs" run "$SCRATCH/campaign.yaml" --db "$SCRATCH/theirs/enough.db" --quiet 2>&1)
        ok $? "processes of a user: $all are enough" "$out"
    fi
else
    skip "this host gives ordinary users no user namespaces"
fi

# The limits of namespaces are per user namespace: a nested one can be given few.
for kind in net uts pid mnt ipc; do
    out=$(unshare --user --map-root-user sh -c '
        echo 1 > /proc/sys/user/max_'$kind'_namespaces || exit 77
        exec "$0" run "$1" --db "$2" --quiet' "$theirs" "$SCRATCH/campaign.yaml" "$SCRATCH/theirs/out.db" 2>&1)
    status=$?
    if [ $status = 77 ]; then
        skip "no limit of $kind namespaces can be set here"
        continue
    fi
    is $status 3 "$kind namespaces: exit code 3"
    like "$out" "20 nodes need [0-9]+ [A-Za-z]+ namespaces, but only 1 are allowed \(user.max_${kind}_namespaces\); raise it, as root: sysctl -w user.max_${kind}_namespaces=64" \
        "$kind namespaces: the sentence"
done

# Control groups, of both versions: a group of the test's own, which goes with the test.
group=""
end_group() {
    [ -z "$group" ] || rmdir "$group" 2>/dev/null
    group=""
}
tap_at_end=end_group
try_group() { # try_group CONTROLLER VERSION-1-FILE VERSION-2-FILE VALUE NAME ERE
    end_group
    for parent in "/sys/fs/cgroup/$1" /sys/fs/cgroup/unified /sys/fs/cgroup; do
        group=$parent/laggard-test-$$
        [ -e "$parent/cgroup.procs" ] && mkdir "$group" 2>/dev/null || continue
        for file in "$2" "$3"; do
            { echo "$4" > "$group/$file"; } 2>/dev/null || continue
            out=$(sh -c 'echo $$ > "$0/cgroup.procs" && exec "$@"' "$group" "$LAGGARD" run "$SCRATCH/campaign.yaml" --db "$SCRATCH/out.db" --quiet 2>&1)
            refused "$5" "$6" "$out" $?
            end_group
            return
        done
        end_group
    done
    skip "$5: no control group can be made here"
}
try_group pids pids.max pids.max 8 "processes of a control group" \
    "20 nodes need [0-9]+ processes and threads, but of 8 allowed [0-9]+ (is|are) taken \(this control group's /sys/fs/cgroup/.*pids.max\); raise it, as root: echo [0-9]+ > /sys/fs/cgroup/"
has_address_sanitizer || try_group memory memory.limit_in_bytes memory.max 12M "memory of a control group" \
    "20 nodes need about [0-9.]+ MiB of memory, but of 12 MiB allowed .* taken \(this control group's .*\); raise it, as root: echo [0-9]+ > /sys/fs/cgroup/"

# What no host can have.
sed 's/size: 4KB/size: 1GiB/; s/workers: 19/workers: 999/' "$SCRATCH/campaign.yaml" > "$SCRATCH/vast.yaml"
out=$("$LAGGARD" run "$SCRATCH/vast.yaml" --db "$SCRATCH/out.db" --quiet 2>&1)
refused "memory" '1000 nodes need about [0-9.]+ [GT]iB of memory, but (only|of) .*(MemAvailable|control group).*(use fewer nodes|echo)' "$out" $?
like "$("$LAGGARD" doctor 2>&1)" 'room +for [0-9]+ nodes' "doctor tells how many nodes there is room for"
is "$(settles_to "$before")" "$before" "nothing is left"
finish
