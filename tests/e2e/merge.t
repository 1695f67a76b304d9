#!/bin/sh
# merge.t: TAP. laggard merge: shards become one campaign, whole campaigns stand side by side, nothing comes twice, and what contradicts itself
# is refused as a whole; in the virtual world, where a shard's trials are the same as those of the whole.
. "$(dirname "$0")/lib.sh"
cd "$SCRATCH" || exit 1
cat > tiny.yaml <<'Y'
name: tiny
world: virtual
topology: {link: {rate: 100mbit, delay: 1ms}}
workload: {model: synthetic, size: 10KB, rounds: 5}
compute.time: {distribution: exponential, mean: 5ms}
matrix: {scheme: [ps-sync, ring]}
workers: 2
repeats: 3
arms: [{name: a}, {name: b, settings: {compute.time.mean: 6ms}}]
gate: {thresholds: [round_time_ns.p50 <= baseline * 2]}
Y
for cell in 0 1; do
    "$LAGGARD" run tiny.yaml --db "shard$cell.db" --only $cell --quiet > /dev/null
done
"$LAGGARD" run tiny.yaml --db whole.db --quiet > /dev/null
is "$(query whole.db "SELECT count(*) FROM trials") $(query shard0.db "SELECT count(*) FROM trials")" "12 6" "a whole campaign and its shards"
sound() { # sound DB NAME
    is "$(query "$1" "PRAGMA integrity_check; SELECT count(*) FROM pragma_foreign_key_check; SELECT count(*) FROM (SELECT uuid FROM trial GROUP BY uuid HAVING count(*) > 1)" | tr '\n' ' ')" "ok 0 0 " "$2: the file is sound"
}
content() { # what a campaign brought, without numbers and identities
    query "$1" "SELECT t.label, t.arm, t.block, t.digest, t.round_time_p50_ns FROM trials t ORDER BY 1, 2, 3;
        SELECT label, arm, kind, node_name, count(*), sum(duration_ns) FROM spans GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4;
        SELECT label, arm, count(*), sum(round_time_ns) FROM rounds GROUP BY 1, 2 ORDER BY 1, 2; SELECT arm, changes, trials FROM arms;
        SELECT label, count(*) FROM links GROUP BY 1 ORDER BY 1"
}
"$LAGGARD" merge out.db shard0.db shard1.db > out.text 2> err.text
is "$?$(cat err.text)" 0 "two shards"
is "$(cat out.text)" "shard0.db: 1 campaign and 6 trials added, 0 shards joined, 0 trials there already
shard1.db: 0 campaigns and 6 trials added, 1 shard joined, 0 trials there already" "and what became of them"
sound out.db "shards"
is "$(query out.db "SELECT count(*) FROM campaign; SELECT count(*) FROM cell; SELECT count(*) FROM environment" | tr '\n' ' ')" "1 2 1 " "they are one campaign"
is "$(content out.db | sha256sum)" "$(content whole.db | sha256sum)" "with the content of the whole one"
"$LAGGARD" gate out.db > gate.text
is "$? $(tail -n 1 gate.text | grep -c 'planned trials have not ended')" "5 0" "the gate sees all of it"

"$LAGGARD" merge out.db shard0.db shard1.db > out.text
is "$(query out.db "SELECT count(*) FROM trials") $(grep -c '0 campaigns and 0 trials added, 1 shard joined, 6 trials there already' out.text)" "12 2" "nothing comes twice"
is "$(content out.db | sha256sum)" "$(content whole.db | sha256sum)" "nothing has changed"

sed 's/^name: tiny/name: other/' tiny.yaml > other.yaml
"$LAGGARD" run other.yaml --db other.db --quiet > /dev/null
query other.db "INSERT INTO baseline (name, campaign_id, set_unix_ns) VALUES ('main', 1, 5); INSERT INTO event (campaign_id, at_unix_ns, kind, text) VALUES (1, 7, 'left-out', 'some')"
"$LAGGARD" merge out.db other.db > out.text
is "$(query out.db "SELECT campaign, count(*) FROM trials GROUP BY 1 ORDER BY 1" | tr '\n' ' ')" "other 12 tiny 12 " "another campaign stands beside it"
is "$(query out.db "SELECT campaign, trials FROM baselines; SELECT campaign_id FROM event WHERE kind = 'left-out'" | tr '\n' ' ')" "other 12 2 " "with its baseline and its events"
"$LAGGARD" merge out.db other.db > out.text
is "$(query out.db "SELECT count(*) FROM baseline; SELECT count(*) FROM event WHERE kind = 'left-out'; SELECT count(*) FROM campaign" | tr '\n' ' ')" "1 1 2 " "which do not come twice either"
sound out.db "several campaigns"
"$LAGGARD" merge copy.db out.db > out.text
is "$(content copy.db | sha256sum)" "$(content out.db | sha256sum)" "a file into a new one is a copy"

refused() { # refused NAME CODE ERE ARGUMENT...
    name=$1 code=$2 pattern=$3
    shift 3
    before=$(query out.db "SELECT count(*), total(trial_id) FROM trial; SELECT count(*) FROM campaign")
    "$LAGGARD" merge "$@" > out.text 2> err.text
    is "$?" "$code" "$name: exit code $code"
    like "$(cat err.text)" "$pattern" "$name: the sentence"
    is "$(query out.db "SELECT count(*), total(trial_id) FROM trial; SELECT count(*) FROM campaign")" "$before" "$name: nothing is merged"
}
cp whole.db other-times.db && query other-times.db "UPDATE trial SET digest = 'x' || digest WHERE trial_id = 3"
refused "the same campaign run again with another result" 2 "both have a trial of cell scheme=.*, arm [ab], repeat [1-3], and not the same one.*--separate" \
    out.db other-times.db
cp whole.db emulated.db && query emulated.db "UPDATE trial SET world = 'emulated' WHERE trial_id = 3"
refused "in the emulated world, with whatever result" 2 "both have a trial of cell .*, and not the same one" out.db emulated.db
before=$(content out.db | sha256sum)
"$LAGGARD" merge out.db whole.db > out.text 2> err.text
is "$?$(cat out.text err.text)" "0whole.db: 0 campaigns and 0 trials added, 1 shard joined, 12 trials there already" "the same virtual campaign run again adds nothing"
is "$(content out.db | sha256sum)" "$before" "nor changes anything"
sound out.db "run again"
cp shard0.db forged.db && query forged.db "UPDATE trial SET digest = 'x' WHERE trial_id = 3"
refused "a trial that is not what it says" 2 "is in both, but not the same" out.db forged.db
cp shard0.db running.db && query running.db "UPDATE trial SET status = 'running', fidelity = NULL WHERE trial_id = 3"
refused "a campaign that is running" 2 "is writing to it, or was killed" out.db running.db
refused "itself" 2 "into itself" out.db out.db
refused "no database" 2 "there is no database" out.db none.db
seq 100 > text.txt
refused "what is no database" 2 "not an SQLite file" out.db text.txt
refused "into what is no database" 3 "not an SQLite file" text.txt shard0.db
refused "nothing" 2 "OUT IN" out.db
# The roots of the spans of one file: what is damaged is named, not the one that it was to be added to.
root=$(query shard0.db "SELECT rootpage FROM sqlite_schema WHERE name = 'span'") size=$(query shard0.db "PRAGMA page_size")
cp shard0.db damaged.db
dd if=/dev/zero of=damaged.db bs="$size" seek=$((root - 1)) count=1 conv=notrunc 2> /dev/null
refused "a damaged file" 3 "^laggard: error: cannot merge 'damaged.db': (the database 'damaged.db' is damaged \(.+\)|.*'damaged.db': .*malformed); restore it" out.db damaged.db
cp shard0.db orphans.db && query orphans.db "PRAGMA foreign_keys = OFF; UPDATE arm SET campaign_id = 7; DELETE FROM cell WHERE number = 0"
refused "rows without the rows they belong to" 3 "^laggard: error: cannot merge 'orphans.db': .*constraint failed.*; rows contradict each other, as in a file that was damaged" \
    another.db orphans.db
is "$(ls another.db* 2>/dev/null)" "" "and no file is made"
mkdir elsewhere && ln -s elsewhere/led.db led.db
"$LAGGARD" merge led.db orphans.db > out.text 2> err.text
is "$? $(ls elsewhere) $(readlink led.db)" "3  elsewhere/led.db" "a file that a failure leaves empty goes, a link that leads to it stays"
ln -s absent/far.db far.db
refused "a link into no folder" 3 "cannot create the database 'far.db': it is a link that leads into a folder that does not exist; create" far.db shard0.db
"$LAGGARD" merge fresh.db forged.db shard0.db > out.text 2> err.text
is "$? $(ls fresh.db) $(query fresh.db "SELECT count(*) FROM trials")" "2 fresh.db 6" "what was merged before an error stays"
"$LAGGARD" merge never.db none.db > out.text 2> err.text
is "$? $(ls never.db 2>/dev/null)" "2 " "no file is made for nothing"
"$LAGGARD" merge out.db whole.db --separate > out.text
is "$? $(query out.db "SELECT count(*) FROM campaign; SELECT count(*) FROM trials" | tr '\n' ' ')" "0 3 36 " "campaigns can be kept apart"
sound out.db "separate campaigns"
is "$(query out.db "SELECT sum(span_count), count(DISTINCT trial) FROM span_totals")" "$(query out.db "SELECT count(*), count(DISTINCT trial) FROM spans WHERE warmup = 0")" \
    "what spans come to is merged with them"

# ---- shards that were run with other options: the same file, other cells ----
"$LAGGARD" run tiny.yaml --db ring.db --only 1 --quiet > /dev/null
query ring.db "UPDATE cell SET settings_text = replace(settings_text, 'world: virtual', 'world: emulated'); UPDATE arm_cell SET settings_text = replace(settings_text, 'world: virtual', 'world: emulated')"
"$LAGGARD" merge worlds.db shard0.db ring.db > out.text 2> err.text
is "$? $(query worlds.db "SELECT campaign_id, count(*) FROM trial GROUP BY 1" | tr '\n' ' ')" "0 1 6 2 6 " "the same cells in another world are no shard"
sed '/^world/d' tiny.yaml > two.yaml
"$LAGGARD" run two.yaml --world virtual --db one.db --only 0 --quiet > /dev/null
query one.db "UPDATE cell SET number = number + 10" && query one.db "UPDATE cell SET number = 11 - number" # as another option would order them
"$LAGGARD" run two.yaml --world virtual --db other-one.db --only 0 --quiet > /dev/null
"$LAGGARD" merge orders.db other-one.db one.db > out.text 2> err.text
is "$? $(query orders.db "SELECT count(*) FROM trials t WHERE label NOT LIKE 'scheme=ps-sync%'")" "0 0" "no trial comes to a cell of another number"

# ---- shards that did not come to their end ----
cp shard1.db ended.db
cp shard1.db early.db && query early.db "UPDATE trial SET status = 'interrupted', fidelity = NULL, digest = NULL, uuid = 'e' || uuid WHERE trial_id IN (1, 2);
    UPDATE trial SET status = 'failed', fidelity = NULL, digest = NULL, reason = 'no power', uuid = 'e' || uuid WHERE trial_id = 3;
    INSERT INTO event (campaign_id, at_unix_ns, kind, text) VALUES (1, 9, 'left-out', 'three')"
"$LAGGARD" merge grown.db shard0.db early.db > out.text 2> err.text
is "$? $(query grown.db "SELECT status, count(*) FROM trial GROUP BY 1" | tr '\n' ' ')" "0 failed 1 finished 9 interrupted 2 " "what did not finish comes along"
is "$(query grown.db "SELECT kind, text FROM event WHERE trial_id IS NULL")" "left-out three" "a shard's events, too"
"$LAGGARD" merge grown.db ended.db > out.text 2> err.text
is "$? $(query grown.db "SELECT status, count(*) FROM trial GROUP BY 1")" "0 finished 12" "and gives way to what did"
is "$(query grown.db "SELECT count(*) FROM event WHERE kind = 'replaced' AND text LIKE '%had %; another one runs in its place'")" 3 "which events tell of"
is "$(content grown.db | sha256sum)" "$(content whole.db | sha256sum)" "so that it is the whole campaign"
sound grown.db "grown"
"$LAGGARD" merge grown.db early.db > out.text 2> err.text
is "$? $(query grown.db "SELECT status, count(*) FROM trial GROUP BY 1; SELECT count(*) FROM event WHERE kind = 'left-out'" | tr '\n' ' ')" "0 finished 12 1 " "and does not come back"

# ---- names that SQLite would take for something else ----
cp whole.db "file:whole.db" && cp shard0.db ":shard"
"$LAGGARD" merge ":memory:" ":shard" "file:whole.db" > out.text 2> err.text
is "$?$(cat err.text) $(query ./:memory: "SELECT count(*) FROM trials")" "0 12" "names that SQLite would take for something else"
cd "$OLDPWD" || exit 1
finish
