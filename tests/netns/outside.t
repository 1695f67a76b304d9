#!/bin/sh
# outside.t: TAP. Outside programs: what they see, what they may, what they are given, how they end; as root and as an ordinary user.
. "$(dirname "$0")/lib.sh"
cp "$LAGGARD_BUILD/tests/netns/outside_tool" "$SCRATCH/"
TOOL=$SCRATCH/outside_tool
before=$(state_of_host)

try_as() { # try_as WHO UID COMMAND...: WHO is for the names; COMMAND... runs the tool as that user
    who=$1 uid=$2
    shift 2

    out=$("$@" "$TOOL" sh -c 'grep -E "^(Cap|NoNewPrivs)" /proc/self/status' 2>/dev/null | sort | uniq -c | sed 's/[[:space:]]\{1,\}/ /g')
    is "$out" " 3 CapAmb: 0000000000000000
 3 CapBnd: 0000000000000000
 3 CapEff: 0000000000000000
 3 CapInh: 0000000000000000
 3 CapPrm: 0000000000000000
 3 NoNewPrivs: 1" "$who: no capability is left on any place, and no way to one"
    is "$("$@" "$TOOL" sh -c 'echo "$(id -u) $(id -g)"' 2>/dev/null | sort -u)" "$uid $uid" "$who: programs run as the caller's user"
    # shellcheck disable=SC2016
    out=$("$@" "$TOOL" sh -c 'echo "$(hostname) $$ $(ls /proc | grep -c "^[0-9]") $(cut -d" " -f6 /proc/self/stat) $LAGGARD_NODE ${LAGGARD_RANK-none}/$LAGGARD_SIZE ${LAGGARD_ADDRESS-none} $LAGGARD_PEERS"' 2>/dev/null | sort)
    is "$(echo "$out" | sed 's/ [0-9]* [0-9]* [0-9]* / /')" "router router none/2 none 10.64.0.1,10.64.0.2
w0 w0 0/2 10.64.0.1 10.64.0.1,10.64.0.2
w1 w1 1/2 10.64.0.2 10.64.0.1,10.64.0.2" "$who: host name and variables are those of the place"
    is "$(echo "$out" | awk '$2 > 20 || $3 > 8 || $4 != $2' | wc -l)" 0 "$who: a /proc of its own with few processes, a session of its own" "$out"
    is "$("$@" "$TOOL" sh -c 'cat /etc/hosts' 2>/dev/null | sort -u)" "10.64.0.1 w0
10.64.0.2 w1
127.0.0.1 localhost" "$who: /etc/hosts knows the nodes"
    is "$("$@" "$TOOL" -D /usr/bin sh -c 'pwd; cat' 2>/dev/null | sort -u)" /usr/bin "$who: it starts where it was told to, without input"
    is "$(cd / && "$@" "$TOOL" sh -c 'pwd' 2>/dev/null | sort -u)" / "$who: or where the caller is"
    echo given > "$SCRATCH/input"
    is "$("$@" "$TOOL" -n 1 -i "$SCRATCH/input" cat 2>/dev/null)" given "$who: standard input is what was given"
    # shellcheck disable=SC2016
    is "$("$@" "$TOOL" -n 1 sh -c 'for f in 0 1 2 3 4 5 6 7 8 9 10 11 12; do [ -e /proc/$$/fd/$f ] && echo $f; done' 2>/dev/null | sort -u | tr '\n' ' ')" \
        "0 1 2 " "$who: no other descriptor is open"
    ulimit=$(ulimit -n)
    is "$("$@" "$TOOL" -n 1 sh -c 'ulimit -n' 2>/dev/null | sort -u)" "$ulimit" "$who: the limit of open files is the caller's"

    is "$("$@" "$TOOL" -n 1 perl -MSocket -e 'print socket(S, AF_INET, SOCK_DGRAM, 1) ? "icmp " : "none ",
        socket(S, AF_INET, SOCK_STREAM, 0) && bind(S, sockaddr_in(80, INADDR_ANY)) ? "port " : "none ",
        socket(S, 17, SOCK_RAW, 0) ? "packets" : "none", "\n"' 2>/dev/null | sort -u)" "icmp port none" "$who: ping and low ports, no packet sockets"
    out=$("$@" "$TOOL" sh -c 'kill -SEGV $$' 2>&1)
    is "$(echo "$out" | grep -c 'end .*: killed by SIGSEGV')" 3 "$who: a death by signal is reported"
    out=$("$@" "$TOOL" sh -c 'exit 41' 2>&1)
    is "$(echo "$out" | grep -c 'end .*: exit status 41')" 3 "$who: an exit status is reported"
    out=$("$@" "$TOOL" -s 15 sh -c 'sleep 60 & wait' 2>&1)
    is "$(echo "$out" | grep -c 'end .*: killed by SIGTERM')" 3 "$who: a signal reaches the program"
    # The orphan ends at once; as a zombie it would still be counted.
    out=$("$@" "$TOOL" -n 1 sh -c '(sleep 0.05 &); (true &); for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1; grep -l "^State:.Z" /proc/[0-9]*/status; done' 2>/dev/null | wc -l)
    [ "$out" -lt 10 ]
    ok $? "$who: orphans are reaped"
    out=$("$@" "$TOOL" -n 2 sh -c '(setsid sleep 1000 </dev/null >/dev/null 2>&1 &); setsid sleep 1000 & sh -c "sleep 1000 & sleep 1000" & exit 0' 2>&1)
    is "$(echo "$out" | grep -c 'end .*: exit status 0')" 3 "$who: programs may leave daemons behind"
    settles_to "$before" "$who: which end with the fabric"

    out=$("$@" "$TOOL" nosuchprogram 2>&1)
    is $? 2 "$who: a program that is not there is refused"
    like "$out" "node w0: cannot run 'nosuchprogram': no folder of PATH has a program of that name \(PATH is .*/bin" "$who: with node and PATH"
    printf 'echo hi\n' > "$SCRATCH/script" && chmod 755 "$SCRATCH/script"
    out=$("$@" "$TOOL" "$SCRATCH/script" 2>&1)
    like "$out" 'node w0: cannot start .*/script: exec failed \(.*begins with #!' "$who: a script without #! is not given to a shell"
    out=$("$@" "$TOOL" -D /nonexistent true 2>&1)
    like "$out" 'node w0: cannot start in the folder /nonexistent' "$who: nor is a folder that is not there"
    settles_to "$before" "$who: none of this leaves anything"

    "$@" "$TOOL" -n 3 sh -c '(setsid sh -c "while :; do sleep 1000 & sleep 0.02; done" &); sleep 1000' >/dev/null 2>&1 &
    shell=$!
    tries=0
    until [ "$(marked | wc -l)" -gt 40 ] || [ $tries -ge 300 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    [ "$(marked | wc -l)" -gt 40 ]
    ok $? "$who: programs fork and fork"
    for process in $(marked); do # the caller: the one whose parent is not of this test's fabric
        [ "$(cat "${process}comm" 2>/dev/null)" = outside_tool ] && kill -9 "$(basename "$process")" && break
    done
    wait "$shell" 2>/dev/null
    settles_to "$before" "$who: kill -9 of the caller ends them all"
}

if [ "$(id -u)" = 0 ]; then
    try_as root 0 as_root
    # Its files belong to root, whose programs have no capability, but are their owner. What is there is written again, so that nothing changes.
    # shellcheck disable=SC2016
    is "$("$TOOL" -n 1 sh -c 'for file in /proc/sys/kernel/core_pattern /proc/sys/vm/swappiness /proc/sys/net/ipv4/ip_forward /sys/kernel/mm/transparent_hugepage/enabled; do
            value=$(sed "s/.*\[\(.*\)\].*/\1/" $file 2>/dev/null) && { echo "$value" > $file; } 2>/dev/null && echo "$file was written"
        done
        for file in /proc/sysrq-trigger /proc/irq/default_smp_affinity /proc/mtrr /sys/fs/cgroup/release_agent /sys/fs/cgroup/*/release_agent /sys/fs/cgroup/cgroup.procs; do
            [ -e $file ] && { true >> $file; } 2>/dev/null && echo "$file can be written"
        done
        cat /proc/sys/kernel/core_pattern > /dev/null && echo read' 2>/dev/null | sort -u)" read "root: what the host is set to is read, and not written"
    # As Debian's ping has it: the kernel refuses such a file where the bounding set is empty and its capabilities count.
    cp /bin/true "$SCRATCH/privileged"
    if [ "$(uname -m)" = x86_64 ] && perl -e 'my ($file, $name, $caps) = ($ARGV[0], "security.capability", pack("V5", 0x02000001, 1 << 13, 0, 0, 0));
        exit(syscall(188, $file, $name, $caps, 20, 0) != 0)' "$SCRATCH/privileged"; then
        is "$("$TOOL" -n 1 "$SCRATCH/privileged" 2>&1 | grep -c 'exit status 0')" 2 "a file with capabilities starts, without them"
    else
        skip "a file cannot be given capabilities here"
    fi
    command -v setpriv >/dev/null && command -v unshare >/dev/null || {
        skip "setpriv and unshare are not installed: nothing is tried as an ordinary user"
        finish
    }
    try_as user 65534 as_user
else
    try_as user "$(id -u)" as_user
fi
finish
