#!/bin/sh
# soak.t: TAP. Many short trials one after the other: what the controller holds in memory and in descriptors does not grow, nor does what the host
# holds for it. LAGGARD_SOAK=2000 says how many.
. "$(dirname "$0")/lib.sh"
can_emulate || skip_all "this host cannot emulate"
: "${LAGGARD_SOAK:=60}"
cd "$SCRATCH" || exit 1
cat > soak.yaml <<Y
name: soak
topology: {shape: star, link: {rate: 100mbit, delay: 1ms}}
workload: {model: synthetic, size: 10KB, rounds: 3}
compute.time: {distribution: constant, value: 1ms}
matrix: {scheme: [ring, ps-sync]}
workers: 2
repeats: $((LAGGARD_SOAK / 2))
Y
before=$(leftovers)
"$LAGGARD" run soak.yaml --db soak.db --quiet > out.text 2> err.text &
controller=$!
# Between two trials, or in one: what several looks saw at the least is held all the time, if they saw both.
look() { # look TRIALS: waits until so many have ended; then: kB of memory at the least and at the most, descriptors at the least and at the most
    tries=0
    until [ "$(query soak.db "SELECT count(*) FROM trial WHERE status = 'finished'" 2>/dev/null || echo 0)" -ge "$1" ] || [ $tries -ge 8000 ] || [ ! -d /proc/$controller/fd ]; do
        sleep 0.2 # each look starts a program
        tries=$((tries + 1))
    done
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        echo "$(sed -n 's/^RssAnon:[^0-9]*\([0-9]*\).*/\1/p' /proc/$controller/status 2>/dev/null) $(ls /proc/$controller/fd 2>/dev/null | wc -l)"
        sleep 0.05
    done | awk 'NF == 2 { if (!seen++) { memory = $1; files = $2 } if ($1 < memory) memory = $1; if ($1 > memory_most) memory_most = $1; if ($2 < files) files = $2; if ($2 > files_most) files_most = $2 }
        END { print memory, memory_most, files, files_most }'
}
early=$(look $((LAGGARD_SOAK / 4)))
late=$(look $((LAGGARD_SOAK - 8)))
wait $controller
is "$? $(query soak.db "SELECT count(*) FROM trial WHERE status = 'finished'")" "0 $((LAGGARD_SOAK / 2 * 2))" "$LAGGARD_SOAK trials one after the other"
echo "# kB, at least and at most, and descriptors, after a quarter of the trials: $early; near the end: $late"
set -- $early $late
[ "$7" -le "$4" ]
ok $? "no descriptor is lost" "early: $early, late: $late"
has_address_sanitizer || [ "$5" -lt $(($2 + 1024)) ] # which holds back what was freed
ok $? "memory does not grow" "early: $early, late: $late"
is "$(settles_to "$before")" "$before" "nothing is left"
finish
