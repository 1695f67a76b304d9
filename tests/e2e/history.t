#!/bin/sh
# history.t: TAP. laggard history: a metric over many campaigns of one file, where its level changed, and what is not compared. In the virtual
# world: the link's rate is in a file beside the campaign's, so that it can change while every setting stays.
. "$(dirname "$0")/lib.sh"
page=$PWD/docs/gate.md
cd "$SCRATCH" || exit 1

cat > nightly.yaml <<'Y'
name: nightly
world: virtual
topology: {link: {rate: 100mbit, delay: 1ms}}
workload: {model: synthetic, size: 100KB, rounds: 8}
compute.time: {distribution: lognormal, mu: 1.6, sigma: 0.05, unit: ms}
matrix: {scheme: [ps-sync, ring]}
workers: 2
repeats: 6
events: [{at: 0s, do: trace, link: w0-router, file: link.csv, format: csv}]
Y
run() { # run RATE SEED DB [FILE]
    printf 'time, rate_mbit\n0s, %s\n' "$1" > link.csv
    "$LAGGARD" run "${4:-nightly.yaml}" --db "$3" --seed "$2" --quiet > run.text || cat run.text
}
history() { # history ARGUMENT...: its standard output in out.text, its standard error in err.text
    "$LAGGARD" history "$@" > out.text 2> err.text
}
refused() { # refused NAME CODE ERE ARGUMENT...: one sentence, and nothing on standard output
    name=$1 code=$2 pattern=$3
    shift 3
    history "$@"
    is "$?" "$code" "$name: exit code $code"
    like "$(cat err.text)" "$pattern" "$name: the sentence"
    is "$(wc -l < err.text) $(wc -c < out.text)" "1 0" "$name: one line, and no result"
}

# ---- one campaign, few campaigns ----
run 100 1 early.db
history early.db
is "$?$(cat err.text)" 0 "one campaign"
is "$(grep -c '^scheme=' out.text) $(tail -n 1 out.text)" "2 1 campaign: no change point can be found in fewer than 4 that can be compared, here there is 1" "has no change points, and that is said"
for seed in 2 3 4 5; do run 100 $seed early.db; done
history early.db
is "$? $(tail -n 1 out.text)" "0 5 campaigns: no change point" "a level that stays has none"

# ---- a step ----
for seed in 6 7 8; do run 30 $seed late.db; done
"$LAGGARD" merge history.db early.db late.db > merge.text
"$LAGGARD" baselines set history.db --campaign 6 --revision 'abc
123' > /dev/null
history history.db
is "$?$(cat err.text)" 0 "a history that two files were merged into: exit code 0, since nothing is judged"
like "$(sed -n 1p out.text)" "^cell +metric +campaign +started \(UTC\) +revision +trials +median \[interval\] +change$" "the table's head"
is "$(grep -c '^scheme=ps-sync .*nightly (' out.text) $(grep -c '^scheme=ring .*nightly (' out.text)" "8 8" "a row a cell and campaign"
like "$(grep '^scheme=ring' out.text | sed -n 6p)" "^scheme=ring +round_time_ns.p50 +nightly \(6\) +20..-..-.. ..:.. +abc\?123 +6 +[0-9.]+ ms \[[0-9.]+ ms, [0-9.]+ ms\] +worse \+[0-9.]+ % \(p [0-9.e-]+\)$" "the step is marked, with its size"
is "$(grep -c 'worse\|better' out.text)" 3 "and nothing else is"
is "$(tail -n 1 out.text)" "8 campaigns: 2 change points (2 worse, 0 better)" "they are counted"
is "$(grep -c ' $' out.text)" 0 "no blanks at the end of a line"
cp out.text again.text
history history.db --format table
is "$(cmp out.text again.text 2>&1)" "" "the same every time"
history history.db --changes
is "$(grep -c '^scheme=' out.text) $(grep -c '^scheme=.*nightly (6).*worse' out.text)" "2 2" "--changes: the rows of change points alone"

history history.db --format json
is "$? $(jq -c '[(.campaigns | length), (.series | length), .counts.worse, .counts.better, .alpha, .min_effect]' out.text)" "0 [8,2,2,0,0.01,0]" "JSON: one document"
is "$(jq -c '[.series[] | [.points[] | select(.change) | .campaign_id]]' out.text)" "[[6],[6]]" "JSON: the change points"
ring='.series[] | select(.label == "scheme=ring")'
is "$(jq "$ring | .points[5].change | .direction == \"worse\" and .p < 1e-6 and .ratio > 1.1 and .after - .before == .difference" out.text)" true "JSON: with direction, size and p"
is "$(jq "$ring | ([.points[:5][].median] | add / 5) as \$mean | (.points[5].change.before / \$mean - 1 | fabs) < 1e-12" out.text)" true "JSON: a level is the mean of its medians"
is "$(jq "$ring | [.points[] | .median_low <= .median and .median <= .median_high and .trials == 6] | all" out.text)" true "JSON: medians with their intervals"
is "$(jq -c '[.campaigns[5].revision, .campaigns[4].revision, (.campaigns[4].laggard_revision | type)]' out.text)" '["abc\n123",null,"string"]' "JSON: revisions"
cp out.text json.text
history history.db --json
is "$(cmp out.text json.text 2>&1)" "" "--json is the same"
is "$(query history.db "SELECT abs(round_time_p50_ns - $(jq -r "$ring | .points[5].median" out.text)) <= 0.5 FROM cells WHERE campaign_id = 6 AND scheme = 'ring'")" 1 "the median is that of the view cells"

# ---- what is asked ----
history history.db --metric 'round_time_ns.p9*' --cell '*ring'
is "$? $(grep -c '^scheme=ring .*p90' out.text) $(grep -c '^scheme=ring .*p99' out.text) $(grep -c '^scheme=' out.text)" "0 8 8 16" "patterns of metrics and cells"
history history.db --metric '*'
is "$? $(grep -c accuracy out.text)" "0 0" "every metric that has a value"
history history.db --min-effect 1000%
is "$? $(tail -n 1 out.text)" "0 8 campaigns: no change point" "--min-effect: smaller changes are none"
history history.db --alpha 1e-9 --json
is "$(jq -c '[.series[].points[].change | select(.) | .p <= 1e-9] | all' out.text)" true "--alpha: surer ones alone"
refused "an unknown metric" 2 "no metric 'round_time_ns.p55', did you mean 'round_time_ns.p50'[?] .laggard sql history.db .SELECT name FROM metric.. lists them$" history.db --metric round_time_ns.p55
refused "a metric without a value" 2 "no campaign in 'history.db' has a value of accuracy: nothing was evaluated" history.db --metric accuracy
refused "an unknown cell" 2 "'scheme=async' matches no cell in 'history.db'; .laggard sql history.db cells" history.db --cell scheme=async
refused "no share" 2 "--alpha.*found 'often'" history.db --alpha often
refused "an alpha of everything" 2 "--alpha" history.db --alpha 2
refused "an unknown format" 2 "found 'yaml', allowed are: table json" history.db --format yaml

# ---- better, and higher is better ----
cp history.db upside.db
query upside.db "UPDATE trial_metric SET value = 1e9 - value WHERE metric_id = (SELECT metric_id FROM metric WHERE name = 'round_time_ns.p50')"
history upside.db
is "$(tail -n 1 out.text)" "8 campaigns: 2 change points (0 worse, 2 better)" "a metric that falls where less is better"
query upside.db "UPDATE metric SET better = 'higher'"
history upside.db
is "$(tail -n 1 out.text)" "8 campaigns: 2 change points (2 worse, 0 better)" "and where more is"

# ---- what is not compared ----
sed 's/mu: 1.6/mu: 2/' nightly.yaml > other.yaml
cp history.db mixed.db
for seed in 1 2; do run 30 $seed mixed.db other.yaml; done
run 30 9 mixed.db
history mixed.db
is "$(tail -n 1 out.text)" "11 campaigns: 2 change points (2 worse, 0 better)" "other settings are no change"
is "$(grep -c '^    another compute.time than in campaign nightly (1)$' out.text)" 2 "but a series of their own, and the table says why"
history mixed.db --json
is "$(jq -c '[.series[] | [.points[].campaign_id]]' out.text)" "[[1,2,3,4,5,6,7,8,11],[9,10],[1,2,3,4,5,6,7,8,11],[9,10]]" "that ends where the settings are as before"
cp history.db hosts.db
query hosts.db "INSERT INTO environment SELECT 100, 'x' WHERE NOT EXISTS (SELECT 1 FROM environment WHERE environment_id = 100)
    ; INSERT INTO environment_fact SELECT 100, name, CASE name WHEN 'cpu_model' THEN 'Z80' ELSE value END, affects_performance FROM environment_fact WHERE environment_id = 1
    ; UPDATE campaign SET environment_id = 100 WHERE campaign_id > 5"
history hosts.db
is "$(tail -n 1 out.text)" "8 campaigns: 2 change points (2 worse, 0 better)" "virtual rounds do not depend on the host"
query hosts.db "UPDATE trial SET world = 'emulated'"
history hosts.db
is "$(tail -n 1 out.text) $(grep -c '^    another environment than campaign nightly (1): cpu_model$' out.text)" "8 campaigns: no change point 2" "emulated ones do: another host is no change"
cp history.db rerun.db
query rerun.db "INSERT INTO confirmation VALUES (8, 7)"
history rerun.db --json
is "$(jq -c '[.campaigns[].campaign_id]' out.text)" "[1,2,3,4,5,6,7]" "a confirming rerun is left out"

sed '/^repeats:/a arms: [{name: a}, {name: b, settings: {compute.time.mu: 1.8}}]' nightly.yaml > arms.yaml
for seed in 1 2; do run 100 $seed arms.db arms.yaml; done
history arms.db --json
is "$(jq -c '[.series[] | [.arm, .differs, (.points | length)]] | unique' out.text)" '[["a",null,2],["b",null,2]]' "each arm has its own history"
history arms.db --cell scheme=ring
is "$(grep -c '^scheme=ring  a    round_time_ns.p50' out.text) $(grep -c '^scheme=ring  b    round_time_ns.p50' out.text)" "2 2" "and the table names arms"

# ---- trials that do not count, and values that are none ----
cp history.db void.db
query void.db "UPDATE trial SET fidelity = 'void', fidelity_reason = 'timers were late' WHERE campaign_id = 3"
history void.db
is "$(grep -A 1 'ring.*nightly (3)' out.text | tail -n 1)" "    6 void and left out: timers were late" "a campaign of void trials alone has no median, and a reason"
like "$(grep 'ring.*nightly (3)' out.text)" " 0 +–$" "and no number"
like "$(tail -n 1 out.text)" "2 change points" "the others have their history"
query void.db "UPDATE trial SET fidelity = 'void', fidelity_reason = 'timers were late'"
refused "void trials alone" 2 "no campaign in 'void.db' has a value of round_time_ns.p50: 6 void and left out: timers were late" void.db
cp history.db odd.db
query odd.db "UPDATE trial_metric SET value = 9e999 WHERE metric_id = 2 AND trial_id IN (SELECT trial_id FROM trial WHERE campaign_id = 2)
    ; UPDATE trial SET status = 'failed', fidelity = NULL, reason = 'node w1 died' WHERE campaign_id = 4 AND block = 1"
history odd.db --alpha 0.0001
is "$? $(grep -c '^    6 without a finite number$' out.text) $(grep -c '^    1 failed: node w1 died$' out.text)" "0 2 2" "infinite numbers and failed trials do not count"
like "$(tail -n 1 out.text)" "2 change points" "and hide nothing"
history odd.db --json
is "$(jq -c '[.series[0].points[1].median, .series[0].points[3].trials]' out.text)" "[null,5]" "JSON: what is undefined is null"
query odd.db "UPDATE cell SET label = 'a' || char(27) || '\"b' || char(10)"
history odd.db
is "$? $(grep -c '^a?"b? ' out.text)" "0 8" "a label cannot break the table"
query odd.db "UPDATE trial SET status = 'running', fidelity = NULL"
refused "no trial that has ended" 2 "no trial in 'odd.db' has ended" odd.db

# ---- what is no history ----
refused "no database" 2 "there is no database 'none.db'" none.db
seq 100 > text.db
refused "a text" 2 "not an SQLite file" text.db
cp early.db bare.db && sqlite3 bare.db "DELETE FROM arm; DELETE FROM trial; DELETE FROM cell_setting; DELETE FROM cell; DELETE FROM campaign" 2>/dev/null
refused "no campaign" 2 "the database 'bare.db' holds no campaign: there is nothing to show; .laggard run FILE --db bare.db. adds one" bare.db
head -c 30000 history.db > cut.db
refused "a truncated file" 3 "cut.db.*(malformed|not a database)" cut.db
cp history.db nameless.db # what no statement can do, but a damaged page: NULL where the schema allows none
sqlite3 nameless.db "CREATE TABLE kept AS SELECT sql FROM sqlite_schema WHERE name = 'metric'; PRAGMA writable_schema = on;
    UPDATE sqlite_schema SET sql = replace(sql, 'name TEXT NOT NULL', 'name TEXT') WHERE name = 'metric'; PRAGMA writable_schema = reset"
sqlite3 nameless.db "UPDATE metric SET name = NULL WHERE name = 'round_time_ns.p50'; PRAGMA writable_schema = on;
    UPDATE sqlite_schema SET sql = (SELECT sql FROM kept) WHERE name = 'metric'; DROP TABLE kept; PRAGMA writable_schema = reset"
is "$(sqlite3 nameless.db "SELECT count(*) FROM metric WHERE typeof(name) = 'null'")" 1 "a metric has no name"
refused "a metric without a name" 2 "there is no metric 'round_time_ns.p50', did you mean 'round_time_ns.p9" nameless.db
refused "two files" 2 "" early.db late.db
# ---- the example of docs/gate.md ----
block() { # block KIND: of the section History; "": what is indented
    awk -v kind="$1" '/^## / { inside = $0 == "## History" } !inside { next } /^```/ { fence = fence == "" ? substr($0, 4) : ""; next }
        fence == kind && (kind != "" || sub(/^    /, "")) { print }' "$page"
}
mkdir example && cd example || exit 1
block yaml > nightly.yaml
PATH=${LAGGARD%/*}:$PATH sh -eu -c "$(block sh)" > out.text 2> err.text
is "$?$(cat err.text)" 0 "the example of docs/gate.md runs"
undated() { sed 's/20..-..-.. ..:../DATE/'; }
is "$(grep -v '^baseline main is set' out.text | undated)" "$(block '' | undated)" "and answers as the page says"
cd .. || exit 1

sum=$(sha256sum < history.db)
history history.db
is "$(ls history.db*) $sum" "history.db $(sha256sum < history.db)" "the database is only read"
cd "$OLDPWD" || exit 1
finish
