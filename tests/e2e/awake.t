#!/bin/bash
# awake.t: TAP. While trials run processors do not sleep, where the host allows it: the controller holds the kernel's device for that, nobody
# else does, and it is let go with the last trial, whatever ends it.
. "$(dirname "$0")/lib.sh"
"$LAGGARD" doctor 2>&1 | grep -q "^yes  awake" || skip_all "/dev/cpu_dma_latency may not be written here (root's)"
"$LAGGARD" doctor 2>&1 | grep -q "^yes  tbf" || skip_all "this host cannot shape links"

holders() { # those of our own processes that hold it, by name
    for process in "$@"; do
        readlink /proc/"$process"/fd/* 2>/dev/null | grep -qx /dev/cpu_dma_latency && cat /proc/"$process"/comm
    done
}
family() { # a process and all its descendants
    echo "$1"
    for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
        family "$child"
    done
}
campaign() { # campaign AWAKE: its rounds last until it is interrupted
    cat > "$SCRATCH/campaign.yaml" <<Y
name: awake
topology: {shape: star, link: {rate: 100mbit}}
workload: {model: synthetic, size: 1KB, rounds: 4000}
compute: {time: {distribution: constant, value: 50ms}}
scheme: ring
workers: 2
awake: $1
Y
    rm -f "$SCRATCH/awake.db"*
    "$LAGGARD" run "$SCRATCH/campaign.yaml" --db "$SCRATCH/awake.db" --quiet >/dev/null 2>&1 &
    controller=$!
    tries=0
    until [ "$(family $controller | xargs -n 1 -I {} cat /proc/{}/comm 2>/dev/null | grep -c '^laggard-agent')" = 2 ] &&
        [ "$(query "$SCRATCH/awake.db" "SELECT count(*) FROM trials WHERE status = 'running'" 2>/dev/null)" = 1 ] || [ $tries -ge 200 ]; do
        tries=$((tries + 1))
        sleep 0.05
    done
}

campaign true
is "$(holders $(family $controller))" laggard "during a trial the controller, and nobody else, keeps processors awake"
kill -9 $controller
wait $controller 2>/dev/null
is "$(query "$SCRATCH/awake.db" "SELECT value FROM environment_fact WHERE name = 'processors_kept_awake'")" yes "the database says so"
campaign false
is "$(holders $(family $controller))" "" "awake: false leaves them to the host"
kill -INT $controller
wait $controller 2>/dev/null
finish
