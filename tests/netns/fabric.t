#!/bin/sh
# fabric.t: TAP. Fabrics of real namespaces: what is read back, what passes through, what is left; as root and as an ordinary user.
. "$(dirname "$0")/lib.sh"
before=$(state_of_host)

try_as() { # try_as WHO COMMAND...: WHO is for the names; COMMAND... runs the tool as that user
    who=$1
    shift
    facts=$("$@" "$TOOL" probe)
    ok $? "$who: the host is probed"
    if [ "$(echo "$facts" | fact root)$(echo "$facts" | fact user_namespaces)" = 00 ] || [ "$(echo "$facts" | fact tbf)" = 0 ]; then
        skip "$who: $(echo "$facts" | fact missing)"
        return
    fi

    built=$("$@" "$TOOL" -n 3 -r 1gbit build 2>&1)
    ok $? "$who: a star with rates builds" "$built"
    is "$(echo "$built" | fact engine)" none "$who: a rate alone needs no engine"
    is "$(echo "$built" | grep -c '^link .* rate 1000000000 burst \(199[0-9][0-9]\|20000\) limit 1520000 gso 10000 delay 0$')" 6 \
        "$who: both directions of every link read back as asked"
    built=$("$@" "$TOOL" -n 2 -r 40gbit -q 3MB build 2>&1)
    like "$built" 'rate 40000000000 burst 465[0-9]* limit 3465536 gso 65536' "$who: a rate beyond 32 bits reads back"
    built=$("$@" "$TOOL" -n 2 -r 10mbit build 2>&1)
    like "$built" 'rate 10000000 burst 21[34][0-9] limit 152144 gso 2012' "$who: a slow rate reads back"
    built=$("$@" "$TOOL" -n 1 build 2>&1)
    like "$built" 'rate 0 burst 0 limit 0' "$who: one host without a rate builds"

    out=$("$@" "$TOOL" -n 3 -r 1gbit transfer 2>&1)
    ok $? "$who: two senders at once arrive byte by byte" "$out"
    is "$(echo "$out" | grep -c 'received 8000000 bytes')" 2 "$who: both transfers are complete"
    is "$(echo "$out" | grep -c '^sender w[12] congestion_control cubic$')" 2 "$who: host names, and the congestion control of the route"
    is "$(echo "$out" | grep -c '^link .* unasked_drops 0 ')" 6 "$who: no drop that nobody asked for"
    out=$("$@" "$TOOL" -n 2 -r 1gbit -c reno transfer 2>&1)
    like "$out" 'congestion_control reno' "$who: another congestion control"
    out=$("$@" "$TOOL" -n 2 -r 1gbit -c nonesuch build 2>&1)
    like "$out" 'the kernel refused a route with its congestion control' "$who: an unknown congestion control is named in the error"

    out=$(for again in 1 2 3 4; do "$@" "$TOOL" -n 12 -r 100mbit early 2>&1 || echo failed; done)
    is "$(echo "$out" | grep -cE 'exit status [1-9]|cannot start|failed')" 0 "$who: making the network never hides a program's file from it"

    out=$("$@" "$TOOL" -n 2 -r 100mbit exits 2>&1)
    like "$out" 'refused .*place w0: cannot start /nonexistent: .*No such file' "$who: a program that cannot start fails the fabric"
    like "$out" 'program 0: exit status 7' "$who: an exit status is reported"
    like "$out" 'program 1: killed by SIGTERM' "$who: a signal is passed on and reported"
    like "$out" 'signal_after_end -3' "$who: a program that has ended cannot be signalled"
    like "$out" 'alive 1' "$who: pids are those of this PID namespace"
    settles_to "$before" "$who: nothing is left and the host's network is untouched"

    if [ "$(echo "$facts" | fact tun)" = 1 ]; then
        out=$("$@" "$TOOL" -n 2 -r 100mbit -d 2ms -e relay transfer 2>&1)
        ok $? "$who: a transfer through the relay arrives" "$out"
        is "$(echo "$out" | grep -c '^link .* unasked_drops 0 ')" 4 "$who: the relay drops nothing"
        out=$("$@" "$TOOL" -n 2 -r 100mbit -d 2ms -e relay build 2>&1)
        is "$(echo "$out" | grep -c '^link .* rate 100000000 .* delay 2000000$')" 4 "$who: rate and delay read back"
    else
        skip "$who: no TAP device: $(echo "$facts" | fact missing)"
        out=$("$@" "$TOOL" -n 2 -d 2ms -e relay build 2>&1)
        is $? 3 "$who: without TAP the relay is refused"
    fi
    if [ "$(echo "$facts" | fact netem)" = 1 ]; then
        out=$("$@" "$TOOL" -n 2 -r 100mbit -d 2ms -e netem transfer 2>&1)
        ok $? "$who: a transfer through netem arrives" "$out"
        is "$(echo "$out" | grep -c '^link .* unasked_drops 0 ')" 4 "$who: netem drops nothing"
        out=$("$@" "$TOOL" -n 2 -r 100mbit -d 2ms -e netem build 2>&1)
        is "$(echo "$out" | grep -c '^link .* rate 100000000 .* delay 2000000$')" 4 "$who: rate and delay read back"
    else
        out=$("$@" "$TOOL" -n 2 -d 2ms -e netem build 2>&1)
        is $? 3 "$who: without the kernel's netem that engine is refused"
        like "$out" 'a delay \(netem\) on i[0-9]+|no netem' "$who: the refusal says what is missing"
    fi
    out=$("$@" "$TOOL" -n 2 -d 2ms -e none build 2>&1)
    is $? 2 "$who: a delay without an engine is a mistake in the settings"
    settles_to "$before" "$who: nothing is left after delayed links either"
}

hold() { # hold COMMAND...: a standing fabric in the background, its output in $SCRATCH/hold, its pid $caller
    if [ "$(echo "$facts" | fact tun)" = 1 ]; then delay="-d 1ms"; else delay=""; fi
    : > "$SCRATCH/hold"
    "$@" "$TOOL" -n 4 -r 1gbit $delay hold >> "$SCRATCH/hold" 2>&1 &
    shell=$!
    tries=0
    until grep -q '^ready' "$SCRATCH/hold" || [ $tries -ge 300 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    like "$(cat "$SCRATCH/hold")" '^ready' "$who: a fabric stands"
    caller=$(sed -n 's/^caller //p' "$SCRATCH/hold")
    warden=$(cat "/proc/$caller/task/$caller/children")
    warden=${warden% }
}

# Whoever is killed, nothing is left: not the programs, not the relay, not a namespace.
kill_as() { # kill_as WHO COMMAND...
    who=$1
    shift
    hold "$@"
    like "$(state_of_host)" 'namespaces [2-9]' "$who: the count sees its namespaces"
    kill -9 "$caller"
    wait "$shell" 2>/dev/null
    settles_to "$before" "$who: kill -9 of the caller leaves nothing"

    hold "$@"
    kill -9 "$warden"
    wait "$shell" 2>/dev/null
    is $? 4 "$who: the caller learns of the warden's end"
    like "$(cat "$SCRATCH/hold")" 'warden.* has ended unexpectedly .killed by SIGKILL.' "$who: and says so"

    if [ "$(echo "$facts" | fact tun)" = 1 ]; then
        hold "$@"
        for child in $(cat "/proc/$warden/task/$warden/children"); do
            [ "$(cat "/proc/$child/comm")" = laggard-relay ] && relay=$child
        done
        kill -9 "$relay"
        wait "$shell" 2>/dev/null
        is $? 4 "$who: the caller learns of the relay's end"
        like "$(cat "$SCRATCH/hold")" 'relay has ended \(killed by SIGKILL\)' "$who: and says so"
    else
        skip "$who: no TAP device, so no relay to kill"
    fi
    settles_to "$before" "$who: none of this leaves anything"
}

if [ "$(id -u)" = 0 ]; then
    try_as root as_root
    kill_as root as_root
    command -v setpriv >/dev/null && command -v unshare >/dev/null || {
        skip "setpriv and unshare are not installed: nothing is tried as an ordinary user"
        finish
    }
fi
try_as user as_user
kill_as user as_user
finish
