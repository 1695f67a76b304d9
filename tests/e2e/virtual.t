#!/bin/sh
# virtual.t: TAP. The virtual world by its command: no privilege, the same digest again and in another build, predictions, refusals.
. "$(dirname "$0")/lib.sh"

cat > "$SCRATCH/campaign.yaml" <<'Y'
name: virtual
seed: 5
world: virtual
topology: {shape: star, link: {rate: 1gbit, delay: 250us}}
workload: {model: synthetic, size: 1MB, rounds: 10}
compute: {time: {distribution: exponential, mean: 10ms}, slow: [{workers: [1], factor: 2}]}
matrix: {scheme: [ps-sync, ring, {name: backup, backups: 1}, async], workers: [2, 8]}
repeats: 2
Y
db=$SCRATCH/virtual.db
before=$(leftovers)
"$LAGGARD" run "$SCRATCH/campaign.yaml" --db "$db" --quiet >"$SCRATCH/table" 2>"$SCRATCH/stderr"
is "$?$(cat "$SCRATCH/stderr")" 0 "16 trials run"
is "$(leftovers)" "$before" "nothing is left"
is "$(query "$db" "SELECT count(*), sum(status = 'finished'), sum(world = 'virtual'), sum(fidelity = 'faithful') FROM trials")" \
    "16 16 16 16" "all finished, in the virtual world, as asked"
is "$(query "$db" "SELECT sum(check_failure_count), min(check_count > 0) FROM node_counter JOIN node USING (trial_id, node) JOIN trials t ON t.trial = trial_id WHERE role = 'worker' AND t.scheme IN ('ps-sync', 'ring')")" "0 1" \
    "every worker found the mean exact"
is "$(query "$db" "SELECT count(*) FROM trials WHERE scheme IN ('ps-sync', 'ring') AND NOT prediction_ratio BETWEEN 0.6 AND 1.6")" 0 \
    "round times are about what is predicted"
is "$(query "$db" "SELECT count(DISTINCT kind) >= 4, count(*) > 1000 FROM spans")" "1 1" "spans of all sorts"
is "$(query "$db" "SELECT count(*) FROM link_check")$(query "$db" "SELECT DISTINCT reason FROM prediction WHERE basis = 'measured'")" \
    "0links of the virtual world are what was asked: there is nothing to measure" "nothing is measured, and the reason is said"
is "$(query "$db" "SELECT sum(packet_count) > 0 FROM link_counter")" 1 "what the links carried is counted"
is "$(query "$db" "SELECT count(DISTINCT moved) FROM (SELECT sum(moved_bytes) AS moved FROM spans s JOIN trials t USING (trial) WHERE kind = 'send' AND t.scheme = 'ring' AND t.workers = 8 GROUP BY trial)")" 1 \
    "a ring always sends the same bytes"

digests() { # digests DB
    query "$1" "SELECT digest FROM trials ORDER BY run_order" | sha256sum
}
"$LAGGARD" run "$SCRATCH/campaign.yaml" --db "$SCRATCH/again.db" --quiet >/dev/null 2>&1
is "$(digests "$SCRATCH/again.db")" "$(digests "$db")" "the same file and seed give the same digests"
GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-FMA,-AVX,-AVX512F,-FMA4 "$LAGGARD" run "$SCRATCH/campaign.yaml" --db "$SCRATCH/masked.db" --quiet >/dev/null 2>&1
is "$(digests "$SCRATCH/masked.db")" "$(digests "$db")" "so does a processor without FMA"
if command -v valgrind >/dev/null && ! has_address_sanitizer; then
    "$LAGGARD" run "$SCRATCH/campaign.yaml" --only 2 --db "$SCRATCH/one.db" --quiet >/dev/null 2>&1
    valgrind -q --error-exitcode=9 "$LAGGARD" run "$SCRATCH/campaign.yaml" --only 2 --db "$SCRATCH/valgrind.db" --quiet >/dev/null 2>&1
    is "$? $(digests "$SCRATCH/valgrind.db")" "0 $(digests "$SCRATCH/one.db")" "so does valgrind's processor, which finds nothing wrong"
else
    is "" "" "so does valgrind's processor # SKIP there is no valgrind, or the build has a sanitizer"
fi
"$LAGGARD" run "$SCRATCH/campaign.yaml" --seed 6 --db "$SCRATCH/other.db" --quiet >/dev/null 2>&1
is "$([ "$(digests "$SCRATCH/other.db")" = "$(digests "$db")" ] && echo same)" "" "another seed does not"

# Times alone, of many.
cat > "$SCRATCH/fan-out.yaml" <<'Y'
name: fan-out
world: virtual
topology: {shape: star}
workload: {model: synthetic, size: 4B, rounds: 200, gradients: none}
compute: {time: {distribution: lognormal, mu: 3, sigma: 0.1, unit: ms}}
scheme: ps-sync
record_spans: false
matrix: {workers: [10, 100, 1000]}
Y
"$LAGGARD" run "$SCRATCH/fan-out.yaml" --db "$SCRATCH/fan-out.db" --quiet >/dev/null 2>"$SCRATCH/stderr"
is "$?$(cat "$SCRATCH/stderr")" 0 "a thousand workers run without values"
is "$(query "$SCRATCH/fan-out.db" "SELECT count(*) FROM trials WHERE abs(round_time_mean_ns / 1e6 - CASE workers WHEN 10 THEN 23.46737 WHEN 100 THEN 25.83397 ELSE 27.79251 END) < 4 * 1.39524 / sqrt(200)")" 3 \
    "the slowest of 10, 100 and 1000 leaves takes as long as it should"

# Losses, jitter, and a route of several links.
cat > "$SCRATCH/links.yaml" <<'Y'
name: links
world: virtual
topology: {shape: ring, link: {rate: 1gbit, delay: 1ms, jitter: 200us, loss: 1%}}
workload: {model: synthetic, size: 1MB, rounds: 10}
compute: {time: {distribution: constant, value: 5ms}}
scheme: ring
workers: 5
Y
"$LAGGARD" run "$SCRATCH/links.yaml" --db "$SCRATCH/links.db" --quiet >/dev/null 2>"$SCRATCH/stderr"
is "$?$(cat "$SCRATCH/stderr")" 0 "a ring of links that lose packets"
is "$(query "$SCRATCH/links.db" "SELECT sum(lost_count) > 0 FROM link_counter") $(query "$SCRATCH/links.db" "SELECT sum(check_failure_count) FROM node_counter")" \
    "1 0" "packets are lost, sums are exact"

# Events: to the nanosecond.
cat > "$SCRATCH/events.yaml" <<'Y'
name: events
world: virtual
topology: {shape: star, link: {rate: 100mbit, delay: 1ms}}
workload: {model: synthetic, size: 1MB, rounds: 40}
compute: {time: {distribution: constant, value: 10ms}}
scheme: ring
workers: 3
events:
  - {round: 5, do: set, link: w0-router, to: {rate: 10mbit}}
  - {round: 8, do: set, link: w0-router, to: {rate: 100mbit}}
  - {at: 5s, do: pause, node: w2, for: 500ms}
  - {at: 6s, do: flap, link: w1-router, down: 100ms, up: 100ms, times: 2}
Y
"$LAGGARD" run "$SCRATCH/events.yaml" --db "$SCRATCH/events.db" --quiet >/dev/null 2>"$SCRATCH/stderr"
is "$?$(cat "$SCRATCH/stderr")" 0 "events in the virtual world"
is "$(query "$SCRATCH/events.db" "SELECT count(*), max(late_ns) FROM events") $(query "$SCRATCH/events.db" "SELECT sum(check_failure_count) FROM node_counter")" \
    "8 0 0" "each happens when it was asked for, and sums stay exact"
is "$(query "$SCRATCH/events.db" "SELECT group_concat(round) FROM rounds WHERE round_time_ns > 900000000")" "5,6,7" "three rounds are slow by the rate"
is "$(query "$SCRATCH/events.db" "SELECT count(*) FROM spans WHERE node_name = 'w2' AND kind = 'wait' AND begin_ns > 5000000000 AND begin_ns < 5500000000")" 0 \
    "a paused node does nothing"
cat > "$SCRATCH/crash.yaml" <<'Y'
name: crash
world: virtual
topology: {shape: star, link: {rate: 100mbit, delay: 1ms}}
workload: {model: synthetic, size: 100KB, rounds: 20}
compute: {time: {distribution: exponential, mean: 10ms}}
matrix: {scheme: [{name: k-async, k: 2}, ring]}
workers: 5
events: [{at: 50ms, do: crash, node: w1}]
Y
"$LAGGARD" run "$SCRATCH/crash.yaml" --db "$SCRATCH/crash.db" --quiet >/dev/null 2>&1
is "$? $(query "$SCRATCH/crash.db" "SELECT scheme, status, reason LIKE 'node w1 crashed%does not go on%' FROM trials ORDER BY cell" | tr '\n' ' ')" \
    "4 k-async finished  ring failed 1 " "who survives a loss goes on"

# What the virtual world cannot carry.
refused() { # refused NAME LINE-AND-COLUMN WORDS LINE...: these after the good ones
    name=$1 place=$2 words=$3
    shift 3
    printf '%s\n' 'name: bad' 'world: virtual' 'workload: {model: synthetic, size: 4B, rounds: 1}' 'scheme: ring' 'workers: 2' "$@" > "$SCRATCH/bad.yaml"
    "$LAGGARD" run "$SCRATCH/bad.yaml" --db "$SCRATCH/bad.db" >/dev/null 2>"$SCRATCH/stderr"
    status=$?
    found=$(grep -c "bad.yaml:$place: .*$words" "$SCRATCH/stderr")
    is "$status $found" "2 1" "$name is refused with its place"
}
draws='compute: {time: {distribution: constant, value: 1ms}}'
refused capture 7:10 "no packets" "$draws" "capture: all"
refused cpu_limits 7:13 "no processors" "$draws" "cpu_limits: [{nodes: all, processors: 1}]"
refused traffic 7:10 "no cross traffic" "$draws" "traffic: [{from: w0, to: w1, rate: 1mbit}]"
refused sample_every 7:15 "no TCP" "$draws" "sample_every: 100ms"
refused "a compute time that is not drawn" 6:17 "needs a drawn compute time" "compute: {time: measured}"
printf 'name: bad\nworkload: {model: synthetic, size: 4B, rounds: 1, gradients: none}\nscheme: ring\nworkers: 2\n' > "$SCRATCH/bad.yaml"
"$LAGGARD" run "$SCRATCH/bad.yaml" --db "$SCRATCH/bad.db" >/dev/null 2>"$SCRATCH/stderr"
is "$? $(grep -c 'bad.yaml:2:62: workload.gradients: .*virtual' "$SCRATCH/stderr")" "2 1" "the emulated world always carries values"

# The option.
sed 's/^world.*//' "$SCRATCH/campaign.yaml" > "$SCRATCH/neither.yaml"
"$LAGGARD" run "$SCRATCH/neither.yaml" --world virtual --only 0 --db "$SCRATCH/option.db" --quiet >/dev/null 2>"$SCRATCH/stderr"
is "$?$(query "$SCRATCH/option.db" "SELECT DISTINCT world FROM trials")" "0virtual" "--world takes the place of the file's"
is "$("$LAGGARD" plan "$SCRATCH/neither.yaml" --world both | grep -c 'world=virtual$')" 16 "both worlds are one more axis"
is "$("$LAGGARD" plan "$SCRATCH/campaign.yaml" | grep -c '^virtual: 8 cells, 16 trials, about [0-9]* min [0-9]* s of virtual time, seed')" 1 "plan says that its time is the virtual clock's"
is "$("$LAGGARD" plan "$SCRATCH/neither.yaml" --world both | grep -c 'about [0-9]* min [0-9]* s and about [0-9]* min [0-9]* s of virtual time, seed')" 1 \
    "plan tells real time from virtual time"
is "$("$LAGGARD" plan "$SCRATCH/campaign.yaml" --json | grep -c '"estimated_seconds":0,"estimated_virtual_seconds":[1-9]')" 1 "so does its JSON document"
is "$("$LAGGARD" plan "$SCRATCH/neither.yaml" --world none 2>/dev/null; echo $?)" 2 "an unknown world is refused"

# Both worlds side by side: of an emulated trial only that there is a row for it.
sed 's/^world.*//; s/^matrix.*/matrix: {scheme: [ring, ps-sync]}\nworkers: 2/; s/^repeats.*//' "$SCRATCH/campaign.yaml" > "$SCRATCH/both.yaml"
if "$LAGGARD" doctor 2>&1 | grep -q "^yes  tbf"; then
    "$LAGGARD" run "$SCRATCH/both.yaml" --world both --db "$SCRATCH/both.db" --quiet >/dev/null 2>"$SCRATCH/stderr"
    is "$? $(query "$SCRATCH/both.db" "SELECT label, emulated_cell, virtual_cell, virtual_round_time_mean_ns > 0 FROM worlds" | tr '\n' ' ')" \
        "0 scheme=ring 0 1 1 scheme=ps-sync 2 3 1 " "each emulated cell stands beside its virtual one"
else
    is "" "" "each emulated cell stands beside its virtual one # SKIP this host cannot shape links"
fi

# More than fits.
cat > "$SCRATCH/large.yaml" <<'Y'
name: large
world: virtual
topology: {shape: star}
workload: {model: synthetic, size: 1GiB, rounds: 1000}
compute: {time: {distribution: constant, value: 1ms}}
scheme: ring
workers: 20000
Y
sed 's/20000/2/' "$SCRATCH/large.yaml" > "$SCRATCH/small-capture.yaml"
"$LAGGARD" run "$SCRATCH/small-capture.yaml" --db "$SCRATCH/capture.db" --capture all >/dev/null 2>"$SCRATCH/stderr"
is "$? $(grep -c 'cell 0 .* is in world virtual, which has no packets' "$SCRATCH/stderr") $(ls "$SCRATCH"/capture.db* 2>/dev/null)" "2 1 " "nor is --capture, which nothing could follow"
"$LAGGARD" run "$SCRATCH/large.yaml" --db "$SCRATCH/large.db" >/dev/null 2>"$SCRATCH/stderr"
is "$? $(grep -c 'takes about .* of memory' "$SCRATCH/stderr")" "3 1" "what does not fit into memory is refused with the estimate"
finish
