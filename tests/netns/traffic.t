#!/bin/sh
# traffic.t: TAP. Cross traffic in real namespaces: what is asked for is sent, and arrives unless the network drops it; as root and as an
# ordinary user.
. "$(dirname "$0")/lib.sh"
[ -x "$LAGGARD_BUILD/tests/netns/traffic_tool" ] || skip_all "$LAGGARD_BUILD/tests/netns/traffic_tool is not built"
cp "$LAGGARD_BUILD/tests/netns/traffic_tool" "$SCRATCH/"
TRAFFIC=$SCRATCH/traffic_tool
before=$(state_of_host)

value() { # value FLOW NAME: of that flow in the tool's output on standard input
    awk -v flow="$1" -v name="$2" '$1 == "flow" && $2 == flow { for (i = 3; i < NF; i += 2) if ($i == name) print $(i + 1) }'
}
rate() { # rate FLOW: Mbit/s that arrived of that flow while it was on, in the tool's output on standard input
    awk -v flow="$1" '$1 == "flow" && $2 == flow { for (i = 3; i < NF; i += 2) count[$i] = $(i + 1) }
        END { printf "%.2f\n", count["received_bytes"] * 8 / 1000 / count["active_ms"] }'
}
within() { # within FOUND LOW HIGH NAME
    awk -v found="$1" -v low="$2" -v high="$3" 'BEGIN { exit !(found != "" && found >= low && found <= high) }'
    ok $? "$4" "found: $1
expected: $2 to $3"
}

# What a flow of packets could not send in time is this host's doing: then it says nothing of what the others carried.
on_time() { # on_time FLOW OUTPUT NAME
    asked=$(echo "$2" | value "$1" asked) late=$(echo "$2" | value "$1" late)
    [ $((late * 50)) -le "$asked" ] && return
    skip "$3: this host had no time for $late of $asked packets"
    false
}

try_as() { # try_as WHO COMMAND...
    who=$1
    shift
    facts=$("$@" "$TOOL" probe)
    if [ "$(echo "$facts" | fact root)$(echo "$facts" | fact user_namespaces)" = 00 ] || [ "$(echo "$facts" | fact tbf)" = 0 ]; then
        skip "$who: $(echo "$facts" | fact missing)"
        return
    fi

    # Packets of 1400 bytes at 20 Mbit/s: 3571 in two seconds. What was late is this host's doing and is counted, so the sum is exact.
    out=$("$@" "$TRAFFIC" -r 100mbit -t 2s 0,1,20mbit,udp 2>&1)
    ok $? "$who: a constant flow runs" "$out"
    asked=$(echo "$out" | value 0 asked) sent=$(echo "$out" | value 0 sent) late=$(echo "$out" | value 0 late)
    is "$(echo "$out" | value 0 asked_bytes)" "$((asked * 1400))" "$who: bytes and packets agree"
    ran=$(echo "$out" | fact ran_ms) # two seconds, and however late the end comes on a busy host
    within "$(echo "$out" | value 0 active_ms)" 2000 "$ran" "$who: it is on all the time"
    within "$(echo "$out" | awk '$1 == "flow" { print $4 * 20000 / 8 / 1400 - '"$asked"' }')" -0.5 1.5 "$who: asked is rate times time"
    is "$sent $((sent + late)) $(echo "$out" | value 0 refused)" "$((asked - late)) $asked 0" "$who: every packet was sent, or late"
    is "$(echo "$out" | value 0 received) $(echo "$out" | value 0 received_bytes)" "$sent $((sent * 1400))" "$who: all that was sent arrived"
    on_time 0 "$out" "$who: a constant flow" && within "$(echo "$out" | rate 0)" 19.6 20.4 "$who: 20 Mbit/s arrive"

    out=$("$@" "$TRAFFIC" -r 100mbit -t 2s 0,1,20mbit,udp,1400B,10ms,10ms 1,0,20mbit,udp,200B,5ms,15ms,exponential 0,1,20mbit,udp,1400B,0,0,constant,500ms,1s 2>&1)
    ran=$(echo "$out" | fact ran_ms)
    within "$(echo "$out" | value 0 active_ms)" 1000 "$(awk -v ran="$ran" 'BEGIN { print ran / 2 + 10 }')" "$who: on and off for 10 ms each: on for half of the time"
    is "$(echo "$out" | value 2 active_ms)" 500.0 "$who: a flow starts and stops when it is to"
    is "$(echo "$out" | value 2 asked)" 892 "$who: and asks for what its rate makes of that time"
    again=$("$@" "$TRAFFIC" -r 100mbit -t 2s -s 2 1,0,20mbit,udp,200B,5ms,15ms,exponential 2>&1)
    within "$(echo "$out" | value 1 active_ms)" 250 "$(awk -v ran="$ran" 'BEGIN { print 0.425 * ran }')" "$who: exponential times: on for about a quarter"
    [ "$(echo "$out" | value 1 active_ms)" != "$(echo "$again" | value 0 active_ms)" ]
    ok $? "$who: another seed, other times"

    # Twice what the link carries: the rest is dropped by the link's queue. The full queue arrives, too.
    out=$("$@" "$TRAFFIC" -r 10mbit -t 2s 0,1,20mbit,udp 2>&1)
    within "$(echo "$out" | rate 0)" 0 10.8 "$who: a link carries no more than its rate"
    on_time 0 "$out" "$who: a full link" && within "$(echo "$out" | rate 0)" 9.4 10.8 "$who: and that"

    out=$("$@" "$TRAFFIC" -r 100mbit -t 2s 0,1,20mbit,tcp 1,0,1mbit,udp 2>&1)
    is "$(echo "$out" | value 0 received_bytes)" "$(echo "$out" | value 0 sent_bytes)" "$who: all that TCP sent arrived"
    on_time 1 "$out" "$who: one TCP flow" &&
        within "$(echo "$out" | rate 0)" 18.8 20.4 "$who: a TCP flow that the link can carry keeps its rate"
    out=$("$@" "$TRAFFIC" -r 50mbit -t 3s 0,1,40mbit,tcp 0,1,40mbit,tcp 1,0,1mbit,udp 2>&1)
    first=$(echo "$out" | value 0 received_bytes) second=$(echo "$out" | value 1 received_bytes)
    if on_time 2 "$out" "$who: two TCP flows"; then
        within "$(awk -v a="$(echo "$out" | rate 0)" -v b="$(echo "$out" | rate 1)" 'BEGIN { print a + b }')" 37 51 "$who: two TCP flows that want more than the link has fill it"
        within "$(awk -v a="$first" -v b="$second" 'BEGIN { print a / (a + b) }')" 0.2 0.8 "$who: and share it"
    fi
    out=$("$@" "$TRAFFIC" -r 100mbit -t 500ms 2,0,20mbit,udp 1,2,20mbit,tcp 2>&1)
    is "$(echo "$out" | value 0 received)" "$(echo "$out" | value 0 sent)" "$who: a router sends"
    is "$(echo "$out" | value 1 received_bytes)" "$(echo "$out" | value 1 sent_bytes)" "$who: and receives"
    within "$(echo "$out" | rate 1)" 0.1 21 "$who: no more than is asked for"

    if [ "$(echo "$facts" | fact tun)" = 1 ]; then
        out=$("$@" "$TRAFFIC" -r 100mbit -d 5ms -e relay -t 1s 0,1,20mbit,udp 1,0,20mbit,tcp 2>&1)
        is "$(echo "$out" | value 0 received)" "$(echo "$out" | value 0 sent)" "$who: packets cross the relay"
        is "$(echo "$out" | value 1 received_bytes)" "$(echo "$out" | value 1 sent_bytes)" "$who: all of TCP's do, too"
        within "$(echo "$out" | rate 1)" 0.1 21 "$who: at no more than its rate"
    else
        skip "$who: no TAP device: $(echo "$facts" | fact missing)"
    fi
    settles_to "$before" "$who: nothing is left"
}

try_as root as_root
[ "$(id -u)" = 0 ] && try_as user as_user

# What is sent at once arrives, also where other networks are made meanwhile: a network is ready when its links carry packets.
for builder in 1 2 3; do
    while [ ! -e "$SCRATCH/enough" ]; do as_root "$TOOL" -n 60 -r 100mbit build; done >/dev/null 2>&1 &
done
lost=$(for run in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
    as_root "$TRAFFIC" -r 100mbit -t 20ms 0,1,20mbit,udp 2>&1
done | awk '$1 == "flow" { runs++; for (i = 3; i < NF; i += 2) count[$i] = $(i + 1); if (count["sent"] != count["received"]) lost++ }
    END { print runs " runs, " lost + 0 " lost packets" }')
touch "$SCRATCH/enough"
wait
is "$lost" "30 runs, 0 lost packets" "no packet that is sent right after the network was made is lost"
settles_to "$before" "nothing is left"
finish
