#!/bin/sh
# exec.t: TAP. `laggard exec`: any command on every node or on one: output, exit codes, input, signals, what is refused, what is left.
. "$(dirname "$0")/lib.sh"
can_emulate || skip_all "this host cannot run delayed links: $("$LAGGARD" doctor 2>&1 | tail -n 1)"

cat > "$SCRATCH/net.yaml" <<'Y'
name: net
topology: {shape: star, link: {rate: 100mbit, delay: 1ms}}
workload: {model: synthetic, size: 100KB, rounds: 2}
matrix: {scheme: [ps-sync, ring], workers: [2]}
Y
cat > "$SCRATCH/graph.yaml" <<'Y'
name: graph
topology:
  shape: graph
  link: {rate: 100mbit}
  routers: [core]
  links: [{from: w0, to: core}, {from: w1, to: core}]
workload: {model: synthetic, size: 100KB, rounds: 2}
matrix: {scheme: [ring], workers: [2]}
Y
cd "$SCRATCH" || exit 1
before=$(leftovers)

# every node
"$LAGGARD" exec net.yaml -- sh -c 'echo "$LAGGARD_RANK/$LAGGARD_SIZE $LAGGARD_ADDRESS $(hostname)"; echo to stderr >&2; printf "no end"' > out 2> err
is $? 0 "a command that succeeds everywhere: exit code 0"
is "$(sort out)" "s0: 2/3 10.64.0.3 s0
s0: no end
w0: 0/3 10.64.0.1 w0
w0: no end
w1: 1/3 10.64.0.2 w1
w1: no end" "every line has its node's name in front"
is "$(grep -c ': to stderr$' err)" 3 "standard error stays standard error"
like "$(cat err)" '^net, cell 0 of 2, scheme=ps-sync workers=2: 3 nodes, engine (relay|netem)$' "the network is named on standard error"
is "$("$LAGGARD" exec net.yaml --cell 1 -q --no-prefix echo -n hello 2>&1)" "hello
hello" "another cell, without prefix and announcement; -- may be left out"
is "$("$LAGGARD" exec net.yaml --cell 'scheme=ring workers=2' -q -- sh -c 'wc -c' 2>&1 | sort)" "w0: 0
w1: 0" "a cell by its label; input is empty"
"$LAGGARD" exec net.yaml -q -- sh -c 'case $LAGGARD_NODE in w1) exit 3 ;; s0) kill -KILL $$ ;; esac' > out 2> err
is $? 4 "a failure on one node: exit code 4"
is "$(cat err)" "laggard: error: the command failed on 2 of 3 nodes: w1 (exit status 3), s0 (killed by SIGKILL)" "and a sentence which failed how"
"$LAGGARD" exec net.yaml -q -- sh -c 'i=0; while [ $i -lt 3000 ]; do echo "$LAGGARD_NODE $i 0123456789012345678901234567890123456789"; i=$((i+1)); done' > out
is "$(grep -cxE '(w0|w1|s0): (w0|w1|s0) [0-9]+ 0123456789012345678901234567890123456789' out) $(wc -l < out)" "9000 9000" "no line is lost, torn or mixed"
"$LAGGARD" exec net.yaml -q -- yes 2> err | head -n 2 > out
is "$(wc -l < out) $(cat err)" "2 " "whose reader goes away ends without a word"
is "$(ls ./*.db 2>/dev/null)" "" "no database is written"

# one node
is "$(echo given | "$LAGGARD" exec net.yaml --node w1 -q -- cat)" given "one node: standard input is passed"
"$LAGGARD" exec net.yaml --node 0 -q -- sh -c 'echo out; echo err >&2; exit 41' > out 2> err
is "$? $(cat out) $(cat err)" "41 out err" "its streams and its exit code are the command's own"
"$LAGGARD" exec net.yaml --node w0 -q -- sh -c 'kill -TERM $$'
is $? 143 "128 and the signal"
is "$("$LAGGARD" exec graph.yaml --node core -q -- sh -c 'echo "$LAGGARD_NODE ${LAGGARD_RANK-none}"; cut -d: -f1 /proc/net/dev | grep -cE "(l0|l1|lo)$"; ls /sys/class/net; ls /sys/fs/cgroup | cksum')" "core none
3
l0
l1
lo
$(ls /sys/fs/cgroup | cksum)" "a router has no rank, and its own interfaces, in /sys too"
out=$("$LAGGARD" exec net.yaml --node w0 -q -- sh -c 'readlink /proc/$$/fd/0; cat' 2>&1 <&-)
is "$(echo "$out" | head -n 1)" /dev/null "a stream that is closed is nothing of laggard's"
"$LAGGARD" exec net.yaml -q -- echo lost 2> err >&-
like "$? $(cat err)" '^3 .*writing what the nodes print failed' "output that has nowhere to go is an error"
is "$(SHELL=/bin/echo "$LAGGARD" exec net.yaml --node w0 -q)" "" "without a command: the user's shell"

# refused
out=$("$LAGGARD" exec net.yaml --node w7 -- true 2>&1)
is "$? $out" "2 laggard: error: --node: there is no node 'w7'; did you mean 'w0'? There are: w0 w1 s0 router" "a node that is not there"
out=$(PATH=/bin:/nowhere "$LAGGARD" exec net.yaml -- nosuch 2>&1)
is "$? $out" "2 laggard: error: cannot run 'nosuch': no folder of PATH has a program of that name (PATH is /bin:/nowhere)" "a command that is not there"
out=$("$LAGGARD" exec net.yaml --cell 9 -- true 2>&1)
is "$? $out" "2 laggard: error: --cell '9' is no cell of net.yaml: \`laggard plan net.yaml\` lists them" "a cell that is not there"
{ cat net.yaml && echo 'world: virtual' && echo 'compute.time: {distribution: constant, value: 5ms}'; } > virtual.yaml
out=$("$LAGGARD" exec virtual.yaml -- true 2>&1)
is "$? $out" "2 laggard: error: cell 0 of campaign net is of the virtual world and has no network to run programs on; give it the world 'emulated', or choose another with --cell" "a cell of the virtual world"
printf 'echo hi\n' > script && chmod 755 script
out=$("$LAGGARD" exec net.yaml -q -- ./script 2>&1)
is $? 2 "a script without an interpreter"
like "$out" '^laggard: error: node w0: cannot start \./script: exec failed \(.*#!.*\): Exec format error$' "with a sentence"
is "$(settles_to "$before")" "$before" "nothing is left"

# signals
hold() { # hold ARGUMENTS...: in the background, until each of its three nodes says "ready", or it says that it stands
    : > out
    "$LAGGARD" exec net.yaml "$@" >> out 2>&1 &
    pid=$!
    tries=0
    until [ "$(grep -c 'ready$' out)" = 3 ] || grep -q 'stands until' out || [ $tries -ge 300 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
}
hold -- sh -c 'trap "echo bye; exit 0" INT; echo ready; while :; do sleep 0.1; done'
kill -INT $pid
wait $pid
is "$? $(grep -c ': bye$' out)" "130 3" "SIGINT is passed on, and programs may say a last word"
hold -- sh -c 'trap "" TERM; echo ready; while :; do sleep 0.1; done'
kill -TERM $pid
wait $pid
is $? 143 "what does not heed SIGTERM ends all the same"
hold
is "$(grep -cE '^(w0|w1|s0) +10\.64\.0\.[123] +router +100 Mbit/s +1 ms$' out)" 3 "without a command: the nodes and their links"
kill -INT $pid
wait $pid
is $? 130 "the network stands until SIGINT"
hold --keep -- true
sleep 0.5
kill -0 $pid
ok $? "--keep: it stands when the command has ended"
kill -TERM $pid
wait $pid
is $? 143 "until a signal comes"
hold -- sh -c '(setsid sh -c "while :; do sleep 1000 & sleep 0.05; done" &); echo ready; sleep 1000'
kill -KILL $pid
wait $pid 2>/dev/null
is "$(settles_to "$before")" "$before" "after kill -9 among forking programs nothing is left"
finish
