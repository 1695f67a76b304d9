#!/bin/sh
# forks.t: TAP. Programs that are forks of one process: what distinguishes them from programs that were started (nothing), what they share
# (nothing), and what happens when that process goes wrong; as root and as an ordinary user.
. "$(dirname "$0")/lib.sh"
FORKS=$SCRATCH/forks_tool
cp "$LAGGARD_BUILD/tests/netns/forks_tool" "$FORKS"
before=$(state_of_host)

# Without what differs between any two runs: numbers of processes, sockets and namespaces, and who ends first.
comparable() {
    sed -E 's/(socket|net|uts):\[[0-9]+\]/\1/g; /^(NSpid|SigQ|environment (_|FORKS_STAGE)=|program)/d'
}
try_as() { # try_as WHO COMMAND...
    who=$1
    shift
    facts=$("$@" "$TOOL" probe)
    if [ "$(echo "$facts" | fact root)$(echo "$facts" | fact user_namespaces)" = 00 ]; then
        skip "$who: $(echo "$facts" | fact missing)"
        return
    fi
    single=$("$@" "$FORKS" single 2>&1)
    ok $? "$who: programs that were started one by one run and end" "$single"
    forks=$("$@" "$FORKS" forks 2>&1)
    ok $? "$who: forks run and end" "$forks"
    is "$(echo "$forks" | comparable)" "$(echo "$single" | comparable)" "$who: a fork finds itself to be what a started program is"
    is "$(echo "$forks" | grep '^command ')" "command forks_tool w0
command forks_tool w1
command forks_tool w2" "$who: each has its own title"
    is "$(echo "$forks" | grep -c '^parent 1$')" 3 "$who: the warden is their parent"
    is "$(echo "$forks" | sed -n 's/^descriptor 3 //p' | sort -u | grep -c '^socket:')" 3 "$who: no two have the same socket"
    is "$(echo "$forks" | grep -cE '^descriptor ([4-9]|[0-9]{2})')" 0 "$who: and none has anything else open"
    is "$(echo "$forks" | grep '^namespaces ' | tr ' ' '\n' | sort -u | grep -c ':')" 6 "$who: network and host name are each one's own"
    like "$forks" 'program 1: killed by SIGKILL' "$who: the end of one is reported"
    is "$(echo "$forks" | grep -c 'exit status 0')" 2 "$who: and of the others"

    for stage in exit killed babble silent; do
        out=$(FORKS_STAGE=$stage "$@" "$FORKS" forks 2>&1)
        ok $? "$who: a program that does not answer as it should ($stage) is started one by one" "$out"
        is "$(echo "$out" | comparable)" "$(echo "$single" | comparable)" "$who: and all is as before ($stage)"
    done
    out=$(FORKS_STAGE=killed-then "$@" "$FORKS" forks 2>&1)
    is $? 3 "$who: the end of the process that forks, half way, fails the fabric"
    like "$out" 'place w[12]: cannot start .*forks_tool: the process that was to fork has ended \(killed by SIGKILL\)' "$who: with a sentence"
    out=$(FORKS_STAGE=fork-killed "$@" "$FORKS" forks 2>&1)
    is $? 3 "$who: a fork that ends before it begins fails the fabric"
    like "$out" 'place w1: cannot start .*forks_tool: it ended before it could begin' "$who: with a sentence"
    out=$(FORKS_STAGE=early-end "$@" "$FORKS" forks 2>&1)
    is "$(echo "$out" | sort)" "$(for program in 0 1 2; do echo "program $program: exit status 9"; done)" "$who: a fork's early end is an end like any other"
    settles_to "$before" "$who: nothing is left"
}
if [ "$(id -u)" = 0 ]; then
    try_as root as_root
    command -v setpriv >/dev/null && command -v unshare >/dev/null || {
        skip "setpriv and unshare are not installed: nothing is tried as an ordinary user"
        finish
    }
fi
try_as user as_user
finish
