#!/bin/sh
# verify.t: TAP. `laggard verify`: every direction of every network of a campaign as asked, read back and measured; what is not as asked is
# caught. How near the host comes is not asserted: a busy one may miss a rate or a delay, and then the exit code is 4.
. "$(dirname "$0")/lib.sh"
"$LAGGARD" doctor 2>&1 | grep -q "^yes  tbf" || skip_all "this host cannot shape links"
delay=""
can_emulate && delay=", delay: 2ms"
before=$(leftovers)

campaign() { # campaign TOPOLOGY WORKERS [LINES]
    printf 'name: t\nscheme: ring\nworkers: %s\nworkload: {model: synthetic, size: 1KB, rounds: 1}\ntopology: %s\n%s\n' \
        "$2" "$1" "${3:-}" > "$SCRATCH/campaign.yaml"
}
verify() { # verify OPTIONS...: document in $SCRATCH/out, sentences in $SCRATCH/err
    "$LAGGARD" verify "$SCRATCH/campaign.yaml" --time 200ms --quiet "$@" >"$SCRATCH/out" 2>"$SCRATCH/err"
    status=$?
}
ask() { # ask EXPRESSION: of the document, a row a direction in `d`
    sqlite3 -noheader -separator ' ' :memory: "SELECT $1 FROM json_each(readfile('$SCRATCH/out'), '\$.networks') n, json_each(n.value, '\$.directions') j" 2>&1
}
d() { # d PATH: a member of a direction
    echo "json_extract(j.value, '\$.$1')"
}

network() { # network NAME LINKS TOPOLOGY WORKERS: one document, each direction of each link once
    campaign "$3" "$4"
    verify --json
    like "$status" '^[04]$' "$1: is verified" "$(cat "$SCRATCH/err")"
    is "$(ask "count(*), count(DISTINCT $(d link) || $(d direction)), sum($(d measured.goodput_bps) > 0), sum($(d measured.packets_sent) > 0)")" \
        "$((2 * $2)) $((2 * $2)) $((2 * $2)) $((2 * $2))" "$1: each direction of each link is measured once"
    is "$(ask "count(*) FILTER (WHERE $(d asked.rate_bps) IS NOT $(d read_back.rate_bps) OR $(d asked.delay_ns) <> $(d read_back.delay_ns))")" 0 \
        "$1: what is read back is what was asked"
    # A probe cannot be faster than its link, but for what the relay takes off for its own slowness.
    is "$(ask "sum($(d measured.delay_minimum_ns) < $(d asked.delay_ns) - 500000)")" 0 "$1: no probe comes before its time"
    is "$(ask "sum($(d measured.drift_probes) = 0 OR ($(d asked.rate_bps) > 0 AND $(d measured.message_bps) IS NULL))")" 0 \
        "$1: a message after idle and the drift are measured"
    is "$(ask "sum($(d within_tolerance) = ($(d reason) IS NULL))")" "$((2 * $2))" "$1: a reason stands where the verdict needs one"
    is "$(sqlite3 :memory: "SELECT json_extract(readfile('$SCRATCH/out'), '\$.directions_out_of_tolerance') > 0")" "$((status == 4))" \
        "$1: the exit code says whether all are within tolerance"
}
network ring 3 "{shape: ring, link: {rate: 50mbit$delay}}" 3
network dumbbell 3 "{shape: dumbbell, link: {rate: 100mbit}, bottleneck: {rate: 20mbit$delay}}" 2
if [ -n "$delay" ]; then
    network star 2 '{shape: star, link: {rate: 50mbit, delay: 2ms, back: {delay: 6ms}}}' 2
    network sites 3 '{shape: sites, sites: [x, y], link: {rate: 50mbit}, latency: [[0, 8ms], [4ms, 0]]}' 2
    is "$(ask "group_concat($(d asked.delay_ns) / 1000000, ' ')")" "0 0 0 0 8 4" "sites: each direction has its own delay"
fi

# Impairments: with so many packets chance deceives once in 10,000 times (the interval of 99 %, twice).
if [ -n "$delay" ]; then
    campaign '{shape: star, link: {rate: 50mbit, delay: 4ms}, overrides: [{link: w0-router, loss: 5%},
        {link: w1-router, gilbert_elliott: {p: 5%, r: 25%}, duplicate: 10%}, {link: w2-router, corrupt: 5%, reorder: 20%}]}' 3
    "$LAGGARD" verify "$SCRATCH/campaign.yaml" --time 2s --json --quiet >"$SCRATCH/out" 2>"$SCRATCH/err"
    like $? '^[04]$' "impairments are verified" "$(cat "$SCRATCH/err")"
    is "$(ask "count(*) FILTER (WHERE $(d measured.packets_sent) < $(d measured.packets_needed))")" 0 "enough packets go through"
    is "$(ask "count(*) FILTER (WHERE $(d reason) LIKE '%packets%')")" 0 "what becomes of them is what was asked" "$(ask "$(d reason)")"
    is "$(ask "sum($(d measured.loss_ratio) BETWEEN 0.3 * $(d asked.loss_ratio) AND 2.5 * $(d asked.loss_ratio) AND $(d link) <> 'w2-router')")" 4 \
        "losses are about as many as asked"
    is "$(ask "sum($(d link) = 'w1-router' AND $(d measured.loss_run) > 2.5), sum($(d link) = 'w0-router' AND $(d measured.loss_run) < 1.5)")" "2 2" \
        "bursts are told from losses one by one"
    is "$(ask "group_concat(($(d measured.packets_duplicated) > 0) || ($(d measured.packets_corrupted) > 0) || ($(d measured.packets_reordered) > 0), ' ')")" \
        "000 000 100 100 011 011" "copies, wrong bits and overtaking are where they were asked"
fi

# The slowest links: what measures them does not fill them.
campaign '{shape: star, link: {rate: 32kbit}}' 2
"$LAGGARD" verify "$SCRATCH/campaign.yaml" --time 400ms --links 1 --json >"$SCRATCH/out" 2>"$SCRATCH/err"
like "$(head -n 1 "$SCRATCH/err")" '^network 1 of 1: measuring 1 of 2 links, about 0 min 06 s$' "how long it takes is said before"
is "$(ask "count(*), sum($(d measured.goodput_bps) > 0), count(*) FILTER (WHERE $(d reason) LIKE '%probes%' OR $(d reason) LIKE '%transfer%')")" "2 2 0" \
    "a link of 32 kbit/s: no probe is lost and a transfer comes through" "$(ask "$(d reason)")"
if [ -n "$delay" ]; then
    campaign '{shape: star, link: {rate: 50mbit}, overrides: [{link: w0-router, loss: 100%}]}' 2
    verify --links 1 --json
    is "$status $(ask "group_concat($(d measured.loss_ratio) || ' ' || $(d within_tolerance), ' ')")" "0 1 1 1 1" \
        "a link that loses everything is as asked" "$(cat "$SCRATCH/err")$(ask "$(d reason)")"
fi

# A link that is not what was asked: its rate is lowered behind the back of a measurement that is held meanwhile.
tampers() {
    campaign "{shape: star, link: {rate: 50mbit$delay}}" 3
    "$LAGGARD" verify "$SCRATCH/campaign.yaml" --time 200ms >"$SCRATCH/out" 2>"$SCRATCH/err" &
    verify=$! measure="" tries=0
    while [ -z "$measure" ] && [ $tries -lt 3000 ] && kill -0 $verify 2>/dev/null; do
        warden=$(pgrep -P $verify)
        [ -z "$warden" ] || measure=$(pgrep -P "$warden" laggard-measure)
        tries=$((tries + 1))
        sleep 0.02
    done
    kill -STOP "$measure" || return 1
    for fd in /proc/"$warden"/fd/*; do
        case $(readlink "$fd") in net:*) nsenter --net="$fd" tc qdisc change dev l2 root tbf rate 5mbit burst 4512 limit 154512 2>/dev/null ;; esac
    done
    kill -CONT "$measure"
    wait $verify
    status=$?
}
if [ "$(id -u)" = 0 ] && command -v nsenter >/dev/null && command -v tc >/dev/null; then
    tampers
    is "$status" 4 "a link that was changed is found out"
    is "$(grep -cE '^w2-router +(for|back)ward .* goodput [45]\.?[0-9]* Mbit/s where 47\.8 Mbit/s was asked' "$SCRATCH/out")" 2 \
        "both its directions are not as asked" "$(cat "$SCRATCH/out")"
    like "$(cat "$SCRATCH/err")" 'somebody changed network 1 of 1 .* device l2 was asked for a rate of 6250000 bytes/s, but the kernel set 625000' \
        "and what was changed is said"
else
    tap_number=$((tap_number + 1))
    echo "ok $tap_number # SKIP changing a link behind laggard's back takes root, nsenter and tc"
fi

# Which networks, which links, what is refused.
printf 'name: t\nworkload: {model: synthetic, size: 1KB, rounds: 1}\ntopology: {link: {rate: 100mbit}}\nmatrix: {scheme: [ring, ps-sync], workers: [2, 3]}\n' > "$SCRATCH/campaign.yaml"
verify --json
is "$(sqlite3 -noheader :memory: "SELECT group_concat(json_extract(value, '\$.cells'), ' ') FROM json_each(readfile('$SCRATCH/out'), '\$.networks')")" \
    "[0] [1,2] [3]" "equal networks are verified once"
verify --json --cell 'scheme=ring workers=3' --links 1
is "$(ask "count(*), min($(d link)), max(json_extract(n.value, '\$.links'))")" "2 w0-router 3" "one cell's network, one link of it"
verify --links 1 --cell 0
like "$(cat "$SCRATCH/out")" '^network of cell 0 \(scheme=ring workers=2\): star, 2 hosts, engine none, 1 of 2 links measured' "the table says what was measured"
is "$(grep -c '^w0-router  ' "$SCRATCH/out")$(cat "$SCRATCH/err" | grep -vc 'not as asked')" 20 "a row a direction, and nothing else to say"
printf 'matrix: {world: [virtual, emulated]}\ncompute.time: {distribution: constant, value: 1ms}\nname: t\nworkload: {model: synthetic, size: 1KB, rounds: 1}\nscheme: ring\nworkers: 2\ntopology: {link: {rate: 100mbit}}\n' > "$SCRATCH/both.yaml"
"$LAGGARD" verify "$SCRATCH/both.yaml" --time 200ms --links 1 --json >"$SCRATCH/out" 2>"$SCRATCH/err"
is "$(ask 'count(*)') $(grep -c '^network 1 of 1: ' "$SCRATCH/err")" "2 1" "of two worlds the emulated one is measured" "$(cat "$SCRATCH/err")"
sed 's/^matrix.*/world: virtual/' "$SCRATCH/both.yaml" > "$SCRATCH/virtual.yaml"
output=$("$LAGGARD" verify "$SCRATCH/virtual.yaml" 2>&1)
is "$? $output" "2 laggard: error: '$SCRATCH/virtual.yaml' has no links to measure: what is to be verified is of the virtual world; give it the world 'emulated'" \
    "the virtual world has nothing to measure"
output=$(ulimit -n 60 && "$LAGGARD" verify "$SCRATCH/campaign.yaml" --cell 3 2>&1)
like "$? $output" '^3 laggard: error: network 1 of 1: 4 nodes need [0-9]+ open files in one process \(the process that measures links\)' "sockets for all links are asked for before anything is built"
verify --cell 7
is "$status$(cat "$SCRATCH/err")" "2laggard: error: --cell '7' is no cell of $SCRATCH/campaign.yaml: \`laggard plan $SCRATCH/campaign.yaml\` lists them" "an unknown cell"
verify --time 10
like "$status$(cat "$SCRATCH/err")" '^2.*a time needs a unit' "a time needs a unit"
"$LAGGARD" verify "$SCRATCH/campaign.yaml" --time 60s --quiet >"$SCRATCH/out" 2>"$SCRATCH/err" &
verify=$!
sleep 1
kill -INT $verify
wait $verify
is "$?$(cat "$SCRATCH/out")" 130 "an interrupted one prints nothing"
is "$(settles_to "$before")" "$before" "nothing is left"
finish
