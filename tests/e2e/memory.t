#!/bin/sh
# memory.t: TAP. Memory runs out while a trial runs, in a control group that is too small for what an outside program wants: the trial says so,
# and the campaign goes on. (What agents will need is known, and checked before anything is built: limits.t.)
. "$(dirname "$0")/lib.sh"
can_emulate || skip_all "this host cannot emulate"
cd "$SCRATCH" || exit 1
for folder in /sys/fs/cgroup/memory /sys/fs/cgroup; do # version 1, version 2
    group=$folder/laggard-test-$$
    mkdir "$group" 2>/dev/null && { [ -e "$group/memory.limit_in_bytes" ] || [ -e "$group/memory.max" ]; } && break
    rmdir "$group" 2>/dev/null
    group=""
done
[ -n "$group" ] || skip_all "no control group can be given a memory limit here"
tap_at_end="rmdir $group"
limit() { # limit BYTES
    if [ -e "$group/memory.max" ]; then
        echo "$1" > "$group/memory.max" && echo 0 > "$group/memory.swap.max"
    else
        echo "$1" > "$group/memory.limit_in_bytes"
    fi 2>/dev/null
}
limit $((120 * 1024 * 1024)) || skip_all "no control group can be given a memory limit here"
cat > greedy <<'S'
#!/bin/sh
# the second worker holds what it reads until there is a line's end, which never comes
[ "$LAGGARD_RANK:$1" = 1:much ] && exec tail -n 1 /dev/zero
exit 0
S
chmod 755 greedy
cat > campaign.yaml <<Y
name: memory
topology: {shape: star, link: {rate: 1gbit}}
matrix: {workload.exec: [[$SCRATCH/greedy, much], [$SCRATCH/greedy, little]]}
workers: 3
Y
before=$(leftovers)
sh -c "echo \$\$ > '$group/cgroup.procs' && exec '$LAGGARD' run campaign.yaml --db memory.db --quiet" > out.text 2> err.text
is "$?" 4 "a trial without memory fails"
is "$(query memory.db "SELECT status FROM trials ORDER BY label" | tr '\n' ' ')" "finished failed " "and no other one"
like "$(query memory.db "SELECT reason FROM trials WHERE status = 'failed'")" \
    "w1.*killed by SIGKILL.*; meanwhile memory ran out and the kernel ended [1-9][0-9]* process(es)? for that: give the host, or the control group" \
    "its reason says what happened and what to do"
is "$(settles_to "$before")" "$before" "nothing is left"
finish
