#!/bin/sh
# resume.t: TAP. laggard run --resume, --shard and --retries: what finished stays, all else runs, the set of trials is the plan's in the end, and
# what has changed in between is refused by name; in the virtual world, where a trial is the same whenever it runs, and with outside programs.
. "$(dirname "$0")/lib.sh"
cd "$SCRATCH" || exit 1
cat > long.yaml <<'Y'
name: long
world: virtual
topology: {link: {rate: 100mbit, delay: 1ms}}
workload: {model: synthetic, size: 10KB, rounds: 5}
compute.time: {distribution: exponential, mean: 5ms}
matrix: {scheme: [ps-sync, ring], workers: [2, 3]}
repeats: 5
arms: [{name: a}, {name: b, settings: {compute.time.mean: 6ms}}]
Y
trials() { # every trial of the plan, and what came out
    query "$1" "SELECT c.number, t.arm, t.block, t.run_order, t.status, t.digest FROM trial t JOIN cell c USING (cell_id) ORDER BY 1, 2, 3"
}
"$LAGGARD" run long.yaml --db whole.db --quiet > /dev/null
is "$(trials whole.db | wc -l)" 40 "the whole campaign"

# ---- what a run that ended early left ----
"$LAGGARD" run long.yaml --db part.db --only 2 --quiet > /dev/null
query part.db "UPDATE trial SET status = 'running', fidelity = NULL, digest = NULL, duration_ns = NULL WHERE trial_id = 3;
    UPDATE trial SET status = 'failed', fidelity = NULL, reason = 'somebody''s fault' WHERE trial_id = 5"
replaced=$(query part.db "SELECT uuid FROM trial WHERE trial_id = 3")
"$LAGGARD" run long.yaml --db part.db --resume --quiet > out.text 2> err.text
is "$? $(grep -c 'planned trials did not run' out.text)" "0 0" "--resume runs the rest"
is "$(trials part.db)" "$(trials whole.db)" "and the trials are those of the plan, each once"
is "$(query part.db "SELECT count(*) FROM campaign; SELECT count(*) FROM environment; SELECT count(*) FROM trial WHERE trial_id IN (3, 5)" | tr '\n' ' ')" "1 1 0 " "in the same campaign"
is "$(query part.db "SELECT count(*) FROM pragma_foreign_key_check; SELECT count(*) FROM span WHERE trial_id NOT IN (SELECT trial_id FROM trial); SELECT count(*) FROM node WHERE trial_id NOT IN (SELECT trial_id FROM trial)" | tr '\n' ' ')" "0 0 0 " "nothing is left of trials that gave way"
is "$(query part.db "SELECT count(*) FROM event WHERE kind = 'replaced' AND trial_id IS NULL AND text LIKE 'trial $replaced (scheme=ring workers=2, arm % had interrupted%; another one runs in its place'")" 1 "an event tells of them"
is "$(query part.db "SELECT count(*) FROM event WHERE kind = 'replaced' AND text LIKE '% had failed: somebody''s fault; another one%'; SELECT text FROM event WHERE kind = 'resumed'" | tr '\n' '|')" "1|resumed: 8 of 40 trials had finished, 32 are to run|" "with their reasons"
before=$(sqlite3 part.db .dump | sha256sum)
"$LAGGARD" run long.yaml --db part.db --resume --quiet > again.text 2> err.text
is "$?$(cat err.text)$(sqlite3 part.db .dump | sha256sum)" "0$before" "what is complete stays as it is"
is "$(cat again.text)" "$(cat out.text)" "and is shown once more"
"$LAGGARD" run long.yaml --db part.db --resume > again.text 2> err.text
is "$? $(cat err.text)" "0 going on with campaign 1 of part.db: 40 of 40 trials have finished, 0 are to run" "and it is said that nothing runs"
"$LAGGARD" run long.yaml --db none.db --resume --quiet > out.text 2> err.text
is "$? $(trials none.db | wc -l)" "0 40" "without a database it is the beginning"
like "$(cat err.text)" "none.db holds no campaign 'long' to go on with: this begins one" "and says so"
"$LAGGARD" run long.yaml --db nowhere/none.db --resume --quiet > out.text 2> err.text
is "$? $(cat err.text)" "3 laggard: error: cannot create the database 'nowhere/none.db': the folder 'nowhere' does not exist; create it with: mkdir -p 'nowhere'" \
    "but not where it cannot begin"

# ---- what has changed ----
"$LAGGARD" run long.yaml --db part.db --only 2 --quiet > /dev/null # another campaign: the last one counts
refused() { # refused NAME ERE ARGUMENT...
    name=$1 pattern=$2
    shift 2
    before=$(sqlite3 part.db .dump | sha256sum)
    "$LAGGARD" run "$@" --db part.db --resume --quiet > out.text 2> err.text
    is "$? $(wc -c < out.text) $(sqlite3 part.db .dump | sha256sum)" "2 0 $before" "$name"
    like "$(cat err.text)" "$pattern" "$name: the sentence"
}
mkdir changed
sed 's/delay: 1ms/delay: 2ms/' long.yaml > changed/long.yaml
refused "another file" "long.yaml has changed since campaign 2 of part.db began: line 3 was '.*delay: 1ms.*', and is '.*delay: 2ms" changed/long.yaml
refused "another seed" "campaign 2 of part.db began with --seed 1, and this is 7; run without --resume" long.yaml --seed 7
refused "more worlds" "has 8 cells, and now there would be 16" long.yaml --world both
refused "another world" "cell 0 \(scheme=ps-sync workers=2 arm=a\) of campaign 2 of part.db has other settings now.*line [0-9]+ was '.*virtual.*', and is '.*emulated" long.yaml --world emulated
refused "two things at once" "leave one of them out" long.yaml --confirm
"$LAGGARD" run long.yaml --accept-environment --db part.db --quiet 2> err.text
is "$? $(grep -c 'is about --resume' err.text)" "2 1" "--accept-environment alone"
query part.db "UPDATE environment_fact SET value = 'a machine of 1970' WHERE name = 'cpu_model'"
refused "another host" "not what campaign 2 of part.db ran on: cpu_model was 'a machine of 1970', and is '.*--accept-environment goes on" long.yaml
"$LAGGARD" run long.yaml --db part.db --resume --accept-environment --quiet > out.text 2> err.text
is "$? $(query part.db "SELECT count(*) FROM trial WHERE campaign_id = 2 AND status = 'finished'; SELECT count(*) FROM event WHERE kind = 'environment' AND text LIKE 'cpu_model was %'" | tr '\n' ' ')" "0 40 1 " "unless it is accepted, which is kept"

printf '%s' "$(cat long.yaml)" > changed/long.yaml
refused "a last line without an end" "line 8 was 'arms: .*', and is 'arms: .*' \(the end\); run without" changed/long.yaml
long=$(printf 'x%.0s' $(seq 3000))
{ cat long.yaml; echo "# $long"; } > changed/long.yaml
refused "a very long line" "line 9 was '' \(the end\), and is '# x{100,200}\.\.\.'; run without --resume" changed/long.yaml

# ---- files that the campaign names, and what runs ----
mkdir -p named
printf 'time,rate\n0s,50mbit\n' > named/link.csv
cat > named/named.yaml <<'Y'
name: named
world: virtual
topology: {link: {rate: 100mbit, delay: 1ms}}
workload: {model: synthetic, size: 10KB, rounds: 5}
compute.time: {distribution: constant, value: 5ms}
scheme: ps-sync
workers: 2
repeats: 2
events: [{at: 0s, do: trace, link: w0-router, file: link.csv, format: csv}]
Y
"$LAGGARD" run named/named.yaml --db named.db --shard 1/2 --quiet > out.text 2> err.text
is "$?$(cat err.text) $(query named.db "SELECT value, affects_performance FROM environment_fact WHERE name = 'file link.csv'")" \
    "0 $(sha256sum named/link.csv | cut -d ' ' -f 1) 1" "a file that a campaign names is a fact"
(cd named && "$LAGGARD" run named.yaml --db ../named.db --resume --quiet > ../out.text 2> ../err.text)
is "$?$(cat err.text) $(query named.db "SELECT count(*) FROM trial")" "0 2" "--resume from another folder"
query named.db "UPDATE trial SET status = 'interrupted', fidelity = NULL WHERE trial_id = 2"
printf 'time,rate\n0s,40mbit\n' > named/link.csv
"$LAGGARD" run named/named.yaml --db named.db --resume --quiet > out.text 2> err.text
is "$? $(grep -cE "not what campaign 1 of named.db ran on: file link.csv was '[0-9a-f]{64}', and is '[0-9a-f]{64}'; --accept" err.text)" "2 1" "--resume with another trace"
"$LAGGARD" run named/named.yaml --db named.db --resume --accept-environment --quiet > out.text 2> err.text
is "$? $(query named.db "SELECT count(*) FROM event WHERE kind = 'environment' AND text LIKE 'file link.csv was %'")" "0 1" "unless it is accepted"

# ---- a second campaign beside one that did not end ----
"$LAGGARD" run long.yaml --db beside.db --shard 1/2 --quiet > out.text 2> err.text
is "$?$(cat err.text)" 0 "a share"
"$LAGGARD" run long.yaml --db beside.db --quiet > out.text 2> err.text
is "$? $(cat err.text)" "0 laggard: warning: campaign 1 of beside.db is of this file, too, and 24 of its 40 trials finished; this begins another one, --resume would go on with that one" \
    "a new campaign beside one that --resume would go on with"
"$LAGGARD" run long.yaml --db beside.db --quiet > out.text 2> err.text
is "$?$(cat err.text)" 0 "not beside one that came to its end"
"$LAGGARD" run long.yaml --db beside.db --shard 1/2 --seed 9 --quiet > out.text 2> err.text
"$LAGGARD" run long.yaml --db beside.db --shard 1/2 --quiet > out.text 2> err.text
is "$?$(cat err.text)" 0 "nor beside one that it would refuse"

# ---- shards ----
for shard in 1 2 3; do
    "$LAGGARD" run long.yaml --db "shard$shard.db" --shard "$shard/3" --quiet > /dev/null
done
is "$(for shard in 1 2 3; do query "shard$shard.db" "SELECT count(*), group_concat(DISTINCT block) FROM (SELECT block FROM trial ORDER BY block)"; done | tr '\n' '|')" "16 0,3|16 1,4|8 2|" "a shard holds whole blocks"
"$LAGGARD" merge merged.db shard1.db shard2.db shard3.db > /dev/null
is "$(trials merged.db) $(query merged.db "SELECT count(*) FROM campaign")" "$(trials whole.db) 1" "together they are the campaign"
"$LAGGARD" run long.yaml --db fine.db --shard 2/7 --quiet > /dev/null
is "$(query fine.db "SELECT group_concat(run_order) FROM (SELECT run_order FROM trial ORDER BY run_order)")" "1,8,15,22,29,36" "more shards than repeats share trial by trial"
query shard2.db "DELETE FROM event; UPDATE trial SET status = 'interrupted', fidelity = NULL WHERE trial_id = 4"
"$LAGGARD" run long.yaml --db shard2.db --shard 2/3 --resume --quiet > /dev/null
is "$(query shard2.db "SELECT count(*), sum(status = 'finished') FROM trial; SELECT text FROM event WHERE kind = 'resumed'" | tr '\n' '|')" "16 16|resumed: 15 of 40 trials had finished, 1 is to run|" "a shard is resumed"
for bad in 0/3 4/3 1/41 3 /3 3/ 1/0 a/b -1/3 1/3x 99999999999999999999/3; do
    "$LAGGARD" run long.yaml --db bad.db --shard "$bad" --quiet > out.text 2> err.text
    is "$? $(grep -c "found '$bad', allowed is K/N, shard K of N: N from 1 to 40" err.text) $(ls bad.db 2>/dev/null)" "2 1 " "--shard $bad"
done

# ---- retries ----
if can_emulate; then
    cat > twice <<S
#!/bin/sh
[ "\$LAGGARD_RANK" = 1 ] || exit 0
echo x >> "$SCRATCH/tries"
[ "\$(wc -l < "$SCRATCH/tries")" -ge 3 ]
S
    chmod 755 twice
    cat > twice.yaml <<Y
name: twice
topology: {shape: star, link: {rate: 100mbit}}
workload: {exec: [$SCRATCH/twice]}
workers: 2
Y
    touch tries && chmod 666 tries
    "$LAGGARD" run twice.yaml --retries 1 > out.text 2> err.text
    is "$? $(wc -l < tries) $(query twice.db "SELECT count(*), status FROM trial")" "4 2 1 failed" "a trial that fails is run again, so often and no more"
    like "$(cat err.text)" "trial 1/1 .*: failed: .*" "its failure is said"
    like "$(cat err.text)" "trial 1/1  runs again, retry 1 of 1" "and that it runs again"
    "$LAGGARD" run twice.yaml --resume --retries 5 --quiet > out.text 2> err.text
    is "$? $(wc -l < tries) $(query twice.db "SELECT count(*), status FROM trial; SELECT count(*) FROM event WHERE kind = 'replaced'" | tr '\n' ' ')" "0 3 1 finished 2 " "--resume runs failed trials, too"
    "$LAGGARD" run twice.yaml --resume --quiet > out.text 2> err.text
    is "$?$(cat err.text) $(wc -l < tries)" "0 3" "what is complete needs nothing, in the emulated world either"
    echo '# another one' >> twice
    query twice.db "UPDATE trial SET status = 'interrupted', fidelity = NULL"
    "$LAGGARD" run twice.yaml --resume --quiet > out.text 2> err.text
    is "$? $(wc -c < out.text) $(grep -c "ran on: program $SCRATCH/twice was '.*', and is '" err.text)" "2 0 1" "--resume with another program"
    query twice.db "UPDATE trial SET status = 'finished', fidelity = 'faithful'"
    cat > wire.yaml <<'Y'
name: wire
topology: {link: {rate: 100mbit}}
workload: {model: synthetic, size: 10KB, rounds: 3}
compute.time: {distribution: constant, value: 1ms}
scheme: ring
workers: 2
repeats: 2
Y
    "$LAGGARD" run wire.yaml --shard 1/2 --quiet > out.text 2> err.text
    is "$?$(cat err.text)" 0 "a share with an engine"
    engine=$(query wire.db "SELECT engine FROM trial; UPDATE trial SET engine = 'netem'")
    "$LAGGARD" run wire.yaml --resume --quiet > out.text 2> err.text
    is "$? $(query wire.db "SELECT count(*) FROM trial")" "2 1" "--resume with another engine"
    like "$(cat err.text)" "ran on: the engine of cell 0 \(.*\) was 'netem', and is '$engine' \(--engine\); --accept-environment" "and the sentence"
    query wire.db "UPDATE trial SET engine = '$engine'"
    "$LAGGARD" run wire.yaml --resume --quiet > out.text 2> err.text
    is "$?$(cat err.text) $(query wire.db "SELECT count(*) FROM trial")" "0 2" "with the same one it goes on"
    "$LAGGARD" run wire.yaml --db capture.db --capture all --shard 1/2 --quiet > out.text 2> err.text
    is "$?$(cat err.text)" 0 "a share with captures"
    "$LAGGARD" run wire.yaml --db capture.db --resume --quiet > out.text 2> err.text
    is "$? $(grep -c 'has other settings now' err.text)" "2 1" "--resume without them"
    "$LAGGARD" run wire.yaml --db capture.db --capture all --resume --quiet > out.text 2> err.text
    is "$?$(cat err.text) $(query capture.db "SELECT count(*) FROM trial")" "0 2" "the same command line goes on"
    sed 's/^name: long/name: worlds/; s/^repeats: 5/repeats: 1/; s/workers: \[2, 3\]/workers: [2]/; /^arms/d' long.yaml > worlds.yaml
    "$LAGGARD" run worlds.yaml --world both --quiet > out.text 2> err.text
    query worlds.db "UPDATE trial SET status = 'interrupted', fidelity = NULL WHERE world = 'virtual'"
    "$LAGGARD" run worlds.yaml --world both --resume --quiet > out.text 2> err.text
    is "$?$(cat err.text) $(query worlds.db "SELECT count(*), sum(status = 'finished') FROM trial")" "0 4 4" "nor do cells that are, beside those that are not"
else
    echo "# retries need outside programs: this host cannot emulate"
fi
finish
