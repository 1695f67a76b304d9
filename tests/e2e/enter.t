#!/bin/sh
# enter.t: TAP. `laggard enter`: a program on a node of a running network, from outside and from another node; terminals; whom it lets in.
# Networks are seen by the network namespace that they were built in: this test has one for itself, lest it enters other people's.
# An ordinary user's has a user namespace around it, in which it stays an ordinary user.
apart="unshare --net"
[ "$(id -u)" = 0 ] || apart="unshare --map-current-user --net"
if [ -z "${LAGGARD_TEST_ALONE:-}" ] && $apart true 2>/dev/null; then
    LAGGARD_TEST_ALONE=1 exec $apart "$0" "$@"
fi
. "$(dirname "$0")/lib.sh"
can_emulate || skip_all "this host cannot run delayed links: $("$LAGGARD" doctor 2>&1 | tail -n 1)"

cat > "$SCRATCH/net.yaml" <<'Y'
name: net
topology: {shape: star, link: {rate: 100mbit}}
workload: {model: synthetic, size: 10KB, rounds: 100}
compute: {time: {distribution: constant, value: 30ms}}
matrix: {scheme: [ring], workers: [3]}
Y
cd "$SCRATCH" || exit 1
before=$(leftovers)
networks=""

await() { # await COMMAND...: until it is true, half a minute at most
    tries=0
    until "$@" || [ $tries -ge 300 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
}
hold() { # hold OUTPUT: a network in the background, its process in $held
    : > "$1"
    "$LAGGARD" exec net.yaml >> "$1" 2>&1 &
    held=$!
    networks="$networks $held"
    await grep -q 'stands until' "$1"
}
out=$("$LAGGARD" enter w0 -- true 2>&1)
is "$?" 2 "no network: refused" "$out"
hold first
first=$held

# from outside
is "$(echo given | "$LAGGARD" enter w1 -- sh -c 'cat; hostname; echo "$LAGGARD_NODE $LAGGARD_RANK $LAGGARD_ADDRESS"; pwd' 2>&1)" "given
w1
w1 1 10.64.0.2
$SCRATCH" "a program on a node: input, name, variables, folder"
is "$("$LAGGARD" enter 2 sh -c 'grep -hE "^(CapEff|CapPrm|CapBnd|NoNewPrivs)" /proc/self/status')" "CapPrm:	0000000000000000
CapEff:	0000000000000000
CapBnd:	0000000000000000
NoNewPrivs:	1" "by its index, without --, and without privileges"
"$LAGGARD" enter w0 -- sh -c 'echo out; echo err >&2; exit 41' > out 2> err
is "$? $(cat out) $(cat err)" "41 out err" "its streams and its exit code are the program's own"
"$LAGGARD" enter w0 -- sh -c 'kill -KILL $$'
is $? 137 "128 and the signal"
is "$("$LAGGARD" enter w0 -- sh -c 'echo "$*"' x '*' '$HOME' 'a  b')" '* $HOME a  b' "after -- words mean nothing but themselves"
is "$("$LAGGARD" enter w0 ' echo $LAGGARD_NODE' '"a  b"')" "w0 a  b" "a word with blanks is rsh's: a shell on the node reads it"
is "$("$LAGGARD" enter --rsh w0 echo '$LAGGARD_NODE' '"a  b"')" "w0 a  b" "so are all with --rsh"
sleeping() { # sleeping NODE [OPTIONS]: how many programs of that name it runs
    node=$1
    shift
    "$LAGGARD" enter "$@" "$node" -- ps -eo comm= | grep -c sleep
}
sleep_on() { # sleep_on COUNT NODE [OPTIONS]
    count=$1
    shift
    [ "$(sleeping "$@")" = "$count" ]
}
"$LAGGARD" enter w2 -- sleep 1000 &
asker=$!
await sleep_on 1 w2
is "$("$LAGGARD" enter w2 -- ps -eo comm= | sort | tr '\n' ' ')" "laggard-init ps sleep " "programs of a node see each other"
is "$(sleeping w1)" 0 "and not those of another"
kill -KILL $asker
wait $asker 2>/dev/null
await sleep_on 0 w2
is "$(sleeping w2)" 0 "an asker who is killed leaves no program"
"$LAGGARD" enter w2 -- sh -c 'trap "exit 9" TERM; echo ready; while :; do sleep 0.05; done' > ready 2>/dev/null &
asker=$!
await grep -q ready ready
kill -TERM $asker
wait $asker
is $? 9 "signals are passed on, and the program decides"
"$LAGGARD" enter w2 -- sh -c '(setsid sleep 1000 >/dev/null 2>&1 </dev/null &)'
await sleep_on 1 w2
is "$(sleeping w2)" 1 "a daemon stays on its node"

# from a node
is "$("$LAGGARD" enter w0 -- "$LAGGARD" enter w1 -- sh -c 'hostname; echo "$LAGGARD_RANK"; grep CapEff /proc/self/status')" "w1
1
CapEff:	0000000000000000" "from one node to another, with no more privileges"
is "$("$LAGGARD" enter w0 -- env -u LAGGARD_ENTER "$LAGGARD" enter w2 -- hostname)" w2 "without the variable that names it, too"
out=$("$LAGGARD" enter w0 -- "$LAGGARD" enter w7 -- true 2>&1)
is "$? $out" "2 laggard: error: there is no node 'w7'; did you mean 'w0'? There are: w0 w1 w2 router" "a node that is not there"
out=$(PATH=/bin:/nowhere "$LAGGARD" enter w0 -- nosuch 2>&1)
is "$? $out" "2 laggard: error: node w0: cannot run 'nosuch': no folder of PATH has a program of that name (PATH is /bin:/nowhere)" "a command that is not there"

if command -v mpirun >/dev/null; then
    root=""
    [ "$(id -u)" = 0 ] && root=--allow-run-as-root
    # shellcheck disable=SC2086
    is "$("$LAGGARD" enter w0 -- mpirun $root --mca plm_rsh_agent "$LAGGARD enter" -H w0,w1,w2 hostname 2>/dev/null | sort | tr '\n' ' ')" "w0 w1 w2 " \
        "Open MPI's launch agent"
else
    tap_number=$((tap_number + 1))
    echo "ok $tap_number # SKIP Open MPI's launch agent: mpirun is not installed"
fi

# a terminal; script(1) is one
terminal() { # terminal COMMAND: what it shows, with what is typed from standard input; its exit code
    script -qec "stty cols 91 rows 17; $1" /dev/null
}
printf 'stty size; tty; ps -o sid=,pid=,tpgid= -p $$; exit 3\n' | terminal "$LAGGARD enter w1 -- sh" > out
is $? 3 "a shell on a terminal: its exit code"
is "$(tr -d '\r' < out | grep -cE '^(w1[#$] )?17 91$')" 1 "the window's size" # the prompt may come late
is "$(tr -d '\r' < out | grep -cE '^/dev/pts/[0-9]+$')" 1 "a terminal of its own"
is "$(tr -d '\r' < out | awk 'NF == 3 && $1 == $2 && $2 > 1 && $3 > 1' | wc -l)" 1 "which controls its session" "$(cat out)"
like "$(cat out)" 'w1[#$] ' "the prompt shows the node"
# Before the terminal is raw, Ctrl-C would be the test's own.
{
    printf 'touch typed; sleep 1000\n'
    tries=0
    until [ -e typed ] || [ $tries -ge 300 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    printf '\003exit 4\n'
} | terminal "stty -g > before; $LAGGARD enter w1 -- sh; code=\$?; stty -g > after; exit \$code" > out
is "$? $(cmp before after && echo same)" "4 same" "Ctrl-C goes to the program, and the terminal gets its settings back"
# Killed without a chance to: the terminal gets its settings back all the same.
cat > killed.sh <<'S'
stty -g > before
sh -c 'echo $$ > pid; exec "$@"' sh "$@" sh -c 'echo ready; exec sleep 1000'
tries=0
until [ "$(stty -g)" = "$(cat before)" ] || [ $tries -ge 100 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
stty -g > after
S
for command in "enter w1" "exec net.yaml -q --node w2"; do
    rm -f after
    : > out
    {
        await grep -q ready out
        kill -KILL "$(cat pid)"
        await test -s after
    } | terminal "sh killed.sh $LAGGARD $command --" > out
    is "$(cmp before after && echo same)" same "kill -9 of $command: the terminal gets its settings back"
done
printf 'exit 5\n' | terminal "$LAGGARD exec net.yaml -q --node w2 -- sh" > out
is $? 5 "exec: the same on one node"
like "$(cat out)" 'w2[#$] ' "with its prompt"
printf 'hostname > there\nexit 0\n' | terminal "SHELL=/bin/sh $LAGGARD enter w2" > out
is "$(cat there)" w2 "without a command: the user's shell"

# several
hold second
out=$("$LAGGARD" enter w0 -- true 2>&1)
is "$?" 2 "two networks: which one?"
like "$out" "several networks .* --of: ($first|$held) \(laggard exec net\.yaml\), ($first|$held) \(laggard exec net\.yaml\)\$" "both are listed"
is "$(sleeping w2 --of "$first")" 1 "--of: the first"
is "$(sleeping w2 --of "$held")" 0 "--of: the second"
is "$("$LAGGARD" enter --of "$held" w1 -- "$LAGGARD" enter w0 -- sh -c 'echo "$LAGGARD_ENTER"')" "laggard/enter/$(id -u)/$held" "from a node it is always the node's own"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    cp "$LAGGARD" "$SCRATCH/laggard-of-another" && chmod 755 "$SCRATCH/laggard-of-another"
    out=$(setpriv --reuid=65534 --regid=65534 --clear-groups "$SCRATCH/laggard-of-another" enter --of "$first" w0 -- true 2>&1)
    is "$?" 2 "another user is not let in" "$out"
    cat > ask.pl <<'P'
use Socket;
socket(my $s, AF_UNIX, SOCK_SEQPACKET, 0) or die;
connect($s, pack_sockaddr_un("\0laggard/enter/0/$ARGV[0]")) or die "refused\n";
send($s, "x" x 32, 0) if $ARGV[1];
recv($s, my $answer, 4096, 0);
print substr($answer, 12) =~ s/\0.*//sr, "\n";
P
    chmod 755 "$SCRATCH" && chmod 644 ask.pl
    is "$(setpriv --reuid=65534 --regid=65534 --clear-groups perl ask.pl "$first" 2>&1)" "this network belongs to another user: only that user can enter it" "nor one who knows its name"
    is "$(perl ask.pl "$first" words 2>&1)" "the request to enter is malformed: it has not its 4 descriptors" "what is no request is refused"
fi
"$LAGGARD" enter --of "$held" w0 -- sleep 1000 > out 2>&1 &
asker=$!
await sleep_on 1 w0 --of "$held"
kill -KILL "$held"
wait $asker
is "$? $(cat out)" "4 laggard: error: the network has ended, and the program with it" "the network's end ends it, with a sentence"
kill -INT "$first"
for network in $networks; do
    wait "$network" 2>/dev/null
done
is "$(settles_to "$before")" "$before" "nothing is left"

# a trial
"$LAGGARD" run net.yaml --db trial.db --quiet > /dev/null 2>&1 &
run=$!
tries=0
until "$LAGGARD" enter w1 -- hostname > out 2>/dev/null || [ $tries -ge 300 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
is "$(cat out)" w1 "a trial's node can be entered"
wait $run
like "$(query trial.db "SELECT fidelity || ': ' || fidelity_reason FROM trials")" '^degraded: .*somebody entered and started 1 program on its nodes' \
    "the trial is degraded by it"
rm -f trial.db*
is "$(settles_to "$before")" "$before" "nothing is left of that"
finish
