#!/bin/sh
# gate.t: TAP. The gate from campaign file to exit code: arms, reruns, baselines, noise floors, every output through a parser of its format,
# and databases that are none. In the virtual world, where numbers are the same everywhere and no privilege is needed.
. "$(dirname "$0")/lib.sh"
xsd=$PWD/tests/golden/junit.xsd root=$PWD
cd "$SCRATCH" || exit 1

cat > slow.yaml <<'Y'
name: slow
world: virtual
topology: {link: {rate: 100mbit, delay: 1ms}}
workload: {model: synthetic, size: 10KB, rounds: 10}
compute.time: {distribution: lognormal, mu: 1.6, sigma: 0.05, unit: ms}
matrix: {scheme: [ps-sync, ring]}
workers: 2
repeats: 6
arms:
  - {name: before}
  - {name: after, settings: {compute.time.mu: 1.75}}
gate:
  thresholds:
    - round_time_ns.p50 <= baseline * 1.05
    - {threshold: round_time_ns.p99 <= 1s, cells: "scheme=ring"}
Y
grep -v -e 'name: after' slow.yaml | sed 's/^name: slow/name: same/; s/repeats: 6/repeats: 12/; s/  - {name: before}/  - {name: before}\n  - {name: after}/' > same.yaml
sed '/^arms:/,/name: after/d; s/^name: slow/name: plain/' slow.yaml > plain.yaml

gate() { # gate ARGUMENT...: its standard output in out.text, its standard error in err.text
    "$LAGGARD" gate "$@" > out.text 2> err.text
}
run() { # run FILE DB [OPTION...]
    file=$1 db=$2
    shift 2
    "$LAGGARD" run "$file" --db "$db" --quiet "$@" > run.text 2> run.err
}
refused() { # refused NAME CODE ERE ARGUMENT...: one sentence, and nothing on standard output
    name=$1 code=$2 pattern=$3
    shift 3
    "$LAGGARD" "$@" > out.text 2> err.text
    is "$?" "$code" "$name: exit code $code"
    like "$(cat err.text)" "$pattern" "$name: the sentence"
    is "$(wc -l < err.text) $(wc -c < out.text)" "1 0" "$name: one line, and no result"
}

# ---- arms ----
run slow.yaml slow.db
is "$?$(cat run.err)" 0 "a campaign with arms runs in the virtual world"
is "$(query slow.db "SELECT arm, count(*) FROM trials GROUP BY arm ORDER BY arm")" "after 12
before 12" "every cell runs under each arm"
is "$(query slow.db "SELECT count(DISTINCT cell) FROM trials")" 2 "arms are no cells"
is "$(query slow.db "SELECT count(*) FROM (SELECT block, cell, max(run_order) - min(run_order) AS apart FROM trials GROUP BY block, cell) WHERE apart <> 1")" 0 "the arms of a cell follow each other"
is "$(query slow.db "SELECT changes FROM arms WHERE arm = 'after'")" '{"settings":{"compute.time.mu":"1.75"}}' "what an arm changes is stored"
like "$(query slow.db "SELECT group_concat(settings_text) FROM arm_cell WHERE cell_id = 1" | tr '\n' ' ')" "mu: 1.75.*mu: 1.6|mu: 1.6.*mu: 1.75" "and every setting of its cells"
is "$("$LAGGARD" plan slow.yaml --json | jq -c '[.cells[].arm] | unique')" '["after","before"]' "the plan names arms"
like "$("$LAGGARD" plan slow.yaml)" "2 cells, 2 arms, 24 trials" "the plan counts them"

# ---- verdicts and outputs ----
gate slow.db --markdown gate.md --junit gate.xml --bmf gate.bmf --benchmark-action gate --github
is "$?$(cat err.text)" 1 "a slowdown in the virtual world is a regression at once: exit code 1"
like "$(cat out.text)" "^regressed +scheme=ps-sync +after +round_time_ns.p50 <= baseline \* 1.05" "the table says so"
like "$(tail -n 3 out.text)" "^campaign slow \(1\): 2 regressed, 1 pass" "and counts"
is "$(grep -c '^::error title=scheme=.*arm after::regressed: round_time_ns.p50' out.text)" 2 "GitHub: an error a regression"
is "$(grep -c '^::' out.text)" 2 "GitHub: and no other annotation"
is "$(grep -c '^| \*\*regressed\*\* ' gate.md) $(grep -c '^| pass ' gate.md)" "2 1" "Markdown: a row a verdict, the gravest first"
like "$(sed -n 5p gate.md)" "^\| verdict \| cell \|" "Markdown: a head"
gate slow.db --json
is "$?" 1 "JSON: the same exit code"
is "$(jq -c '[.verdict, .exit_code, .counts.regressed, .counts.pass, (.rows | length)]' out.text)" '["regressed",1,2,1,3]' "JSON: one document"
is "$(jq '[.rows[] | select(.verdict == "regressed") | .ratio > 1.05 and .ratio_low > 1 and .p_holm <= 0.05 and .cliffs_delta == 1 and .fails] | all' out.text)" true "JSON: with the numbers behind it"
is "$(jq '[.rows[] | select(.threshold == "round_time_ns.p99 <= 1s") | .baseline_median, .ratio, .p] | all(. == null)' out.text)" true "JSON: what is undefined is null"
is "$(jq '.rows | length' out.text)" "$(jq -n '[inputs] | .[0].rows | length' out.text)" "JSON: and nothing else on standard output"
if command -v xmllint > /dev/null; then
    xmllint --noout --schema "$xsd" gate.xml 2> xml.err
    ok $? "JUnit: valid" "$(cat xml.err)"
    is "$(xmllint --xpath 'concat(//testsuite/@tests, " ", //testsuite/@failures, " ", count(//failure), " ", count(//testcase))' gate.xml)" "3 2 2 3" "JUnit: two of three failed"
else
    ok 0 "# skip xmllint is not installed: the XML was not validated"
fi
bmf='type == "object" and all(.[]; type == "object" and all(.[]; (.value | type) == "number" and ((keys - ["value", "lower_value", "upper_value"]) == [])))'
is "$(jq "$bmf" gate.bmf)" true "Bencher metric format: benchmarks of measures of numbers"
is "$(jq -r 'keys | join(" ")' gate.bmf)" "slow/scheme=ps-sync/after slow/scheme=ring/after" "Bencher metric format: a benchmark a cell and arm"
benchmark='type == "array" and all(.[]; (.name | type) == "string" and (.unit | type) == "string" and (.value | type) == "number" and ((keys - ["name", "unit", "value", "range", "extra"]) == []))'
is "$(jq "$benchmark" gate-smaller.json) $(jq "$benchmark" gate-bigger.json)" "true true" "github-action-benchmark: both files"
is "$(jq length gate-smaller.json) $(jq length gate-bigger.json)" "3 0" "github-action-benchmark: less is better in all three"
sum=$(sha256sum < slow.db)
is "$(ls slow.db*) $sum" "slow.db $(sha256sum < slow.db)" "the database is only read"


# ---- verdicts that stay ----
cp slow.db kept.db
gate kept.db --store
is "$?$(cat err.text)" 1 "verdicts are stored: the exit code stays the gate's"
is "$(query kept.db "SELECT verdict, label, arm, baseline_arm, metric, threshold, ratio > 1.05, p_holm <= alpha, trial_count FROM verdicts WHERE verdict <> 'pass'")" "regressed scheme=ps-sync after before round_time_ns.p50 round_time_ns.p50 <= baseline * 1.05 1 1 6
regressed scheme=ring after before round_time_ns.p50 round_time_ns.p50 <= baseline * 1.05 1 1 6" "the view verdicts has them"
is "$(query kept.db "SELECT verdict, ratio IS NULL, p_holm IS NULL, limit_value FROM verdicts WHERE verdict = 'pass'")" "pass 1 1 1000000000.0" "what is undefined is NULL"
is "$(ls kept.db*)" kept.db "one file stays"
printf 'thresholds: [round_time_ns.p50 <= 1s]\n' > second.yaml
gate kept.db --store --thresholds second.yaml
is "$? $(query kept.db "SELECT count(*), min(verdict) FROM verdicts")" "0 4 pass" "those of the next gate take their place"
run slow.yaml other-seed.db --seed 3
"$LAGGARD" merge merged.db other-seed.db kept.db > merge.text 2>&1
is "$(query merged.db "SELECT v.campaign_id, count(*), min(c.campaign_id = v.campaign_id) FROM verdicts v JOIN cell c USING (cell_id) GROUP BY 1")" "2 4 1" "a merge takes them along"
refused "a self-test's verdicts" 2 "a self-test judges numbers that nobody measured" gate kept.db --store --self-test
refused "a file of a calibration" 2 "--junit: --calibrate judges nothing" gate kept.db --calibrate --junit calibration.xml
refused "a document of a calibration" 2 "--json: --calibrate judges nothing" gate kept.db --calibrate --json
refused "a calibration and a self-test" 2 "--self-test: --calibrate judges nothing" gate kept.db --calibrate --self-test
refused "a slowdown of nothing" 2 "--slowdown is about --self-test" gate kept.db --slowdown 20%
refused "verdicts of a calibration" 2 "judges nothing" gate kept.db --store --calibrate

run same.yaml same.db
gate same.db
is "$?" 0 "equal arms pass: exit code 0"
like "$(cat out.text)" "3 pass" "all of them"

# ---- reruns: the same campaign, as if its clocks had been real ----
query slow.db "UPDATE trial SET world = 'emulated'"
gate slow.db
is "$?" 5 "with real clocks it is unconfirmed: exit code 5"
like "$(cat out.text)" "^    run the flagged cells again: laggard run slow.yaml --db slow.db --confirm$" "and says what to type for a rerun"
cp slow.db "slow 2.db"
gate "slow 2.db"
like "$(cat out.text)" "again: laggard run FILE --db DB --confirm$" "with placeholders, where names would need quotes"
run slow.yaml slow.db --confirm
is "$?$(cat run.err)" 0 "flagged cells run again"
is "$(query slow.db "SELECT confirmed_campaign_id, count(*), min(t.seed <> (SELECT seed FROM trial WHERE trial_id = 1)) FROM confirmation JOIN trial t USING (campaign_id)")" "1 24 1" "as a campaign of its own, with other draws"
query slow.db "UPDATE trial SET world = 'emulated'"
gate slow.db
is "$?" 1 "a rerun that agrees makes it a regression"
like "$(cat out.text)" "a rerun confirms it" "and says so"
like "$(tail -n 1 out.text)" "campaign slow \(1\), rerun 2:" "the campaign is the first one, not its rerun"
query slow.db "UPDATE trial_metric SET value = 1e7 + trial_id WHERE value IS NOT NULL AND trial_id IN (SELECT trial_id FROM trial WHERE campaign_id = 2)"
gate slow.db
is "$?" 0 "a rerun that denies it lets it pass"
like "$(cat out.text)" "flagged at first, but a rerun is within the threshold" "and says so"
run slow.yaml slow.db --confirm
is "$? $(query slow.db "SELECT count(*) FROM campaign")" "0 2" "where nothing is flagged, nothing runs"
like "$(cat run.text)" "there is nothing to confirm" "and that is said"
is "$("$LAGGARD" run slow.yaml --db slow.db --confirm --json | jq -c '[.trials, .cells]')" "[0,[]]" "in JSON, too"
refused "a rerun of another file" 2 "is not of same.yaml as it is now" run same.yaml --db slow.db --confirm
refused "a rerun of one cell" 2 "leave --only out" run slow.yaml --db slow.db --confirm --only 0
refused "a baseline without --confirm" 2 "what --confirm asks" run slow.yaml --db slow.db --baseline same.db

# ---- waivers, thresholds of another file ----
cat > waived.yaml <<'Y'
thresholds: [round_time_ns.p50 <= baseline * 1.01, accuracy >= 0.5]
waivers:
  - {metric: accuracy, owner: anna, expires: 2999-12-31, reason: "synthetic gradients learn nothing"}
Y
gate same.db --thresholds waived.yaml --json
is "$? $(jq -c '[.counts.missing, .counts.waived, .rows[1].verdict, .rows[1].waiver.owner]' out.text)" '0 [0,2,"missing","anna"]' "a waiver lets missing numbers through"
sed -i 's/2999/1999/' waived.yaml
gate same.db --thresholds waived.yaml
is "$?" 1 "an expired one does not: missing fails with exit code 1"
like "$(cat out.text)" "nothing was evaluated; anna's waiver expired after 1999-12-31" "and says whose it was"

# ---- noise floors and the self-test ----
gate same.db --calibrate
is "$?" 0 "an A/A campaign is calibrated"
is "$(query same.db "SELECT count(*), min(floor_ratio > 0 AND floor_ratio < 0.05), max(arm_trial_count) FROM noise_floors WHERE metric LIKE 'round%'")" "10 1 12" "with a floor a cell and metric"
printf 'thresholds: [round_time_ns.p50 <= baseline * 1.0001]\n' > tight.yaml
refused "a threshold below the noise" 2 "tight.yaml:1:14: 'round_time_ns.p50 <= baseline \* 1.0001' allows 0.01 % in cell scheme=.*by chance" gate same.db --thresholds tight.yaml
sed 's/size: 10KB/size: 20KB/' same.yaml > larger.yaml
run larger.yaml larger.db
gate larger.db --calibration same.db --thresholds tight.yaml --json
is "$(jq -r .campaign.name out.text)$(cat err.text)" same "a floor is not that of a cell with the same label and other settings"
sed 's/repeats: 12/repeats: 6/' same.yaml > shorter.yaml
run shorter.yaml shorter.db
refused "but of one that was repeated less" 2 "in cell scheme=.*by chance" gate shorter.db --calibration same.db --thresholds tight.yaml
refused "calibration with arms that differ" 2 "its arms differ" gate slow.db --calibrate
cp same.db few.db && query few.db "UPDATE trial SET status = 'interrupted', fidelity = NULL WHERE block >= 3"
gate few.db --self-test
is "$?" 5 "a self-test fails where a slowdown would not be seen"
like "$(cat out.text err.text | tr '\n' ' ')" "too few trials.*the self-test failed: 0 of 3 injected slowdowns were caught" "and says why"
printf 'thresholds: [round_time_ns.p50 <= baseline * 1.05]\n' > usual.yaml
gate same.db --self-test --thresholds usual.yaml
is "$?" 0 "and passes where every injected slowdown is caught"
is "$(grep -c '^regressed .*+10.00 %' out.text)" 2 "a slowdown of a tenth"

# ---- baselines ----
run plain.yaml plain.db
refused "one arm and no baseline" 6 "nothing to compare with: campaign plain in plain.db has one arm.*--baseline" gate plain.db
"$LAGGARD" baselines show plain.db > out.text
is "$(cat out.text)" "no baseline is set" "no baseline is set"
"$LAGGARD" baselines set plain.db --revision abc123 > out.text
is "$? $(cat out.text)" "0 baseline main is set in plain.db" "a baseline is set"
like "$("$LAGGARD" baselines show plain.db | tail -n 1)" "^1 +main +abc123 +20.*plain \(1\) +12$" "and listed"
refused "a campaign that is the baseline" 6 "campaign plain \(1\) is itself the baseline that is set in 'plain.db': there is nothing to compare with" gate plain.db
refused "a campaign against its own file" 6 "campaign plain \(1\) of 'plain.db' would be compared with itself" gate plain.db --baseline plain.db
cp plain.db copy.db
refused "a campaign against a copy of its file" 6 "would be compared with itself: it is the baseline of 'copy.db'" gate plain.db --baseline copy.db
refused "its difference to itself" 6 "would be compared with itself.*laggard baselines set" baselines diff plain.db
"$LAGGARD" baselines set plain.db --ratchet > out.text
is "$? $(cat out.text)" "0 baseline main stays: nothing improved" "a ratchet leaves a campaign that is the baseline"
gate slow.db --baseline slow.db
is "$?" 6 "arms do not hide that the baseline that is named is the campaign itself"
run plain.yaml plain.db --seed 9
gate plain.db
is "$?" 0 "a campaign without arms is compared with the baseline of its database"
like "$(tail -n 1 out.text)" "campaign plain \(2\) against plain \(1\) of plain.db" "and says so"
"$LAGGARD" baselines diff plain.db > out.text
is "$?" 0 "the difference to a baseline"
like "$(cat out.text)" "scheme=ring +round_time_ns.max" "of every metric"
is "$("$LAGGARD" baselines export plain.db | jq -c '[.[0].baseline, .[0].revision, (.[0].values | length), (.[0].values[0].values | length)]')" '["main","abc123",10,6]' "baselines as JSON"
"$LAGGARD" baselines set plain.db --ratchet > out.text
is "$? $(tail -n 1 out.text)" "0 baseline main stays: nothing improved" "a ratchet does not move without an improvement"
sed 's/mu: 1.6/mu: 1.4/' plain.yaml > fast.yaml
run fast.yaml plain.db
"$LAGGARD" baselines set plain.db --ratchet > out.text
is "$?" 6 "a ratchet does not compare other settings"
query plain.db "UPDATE cell SET settings_text = (SELECT settings_text FROM cell c WHERE c.campaign_id = 1 AND c.number = cell.number)"
"$LAGGARD" baselines set plain.db --ratchet --revision def456 > out.text
is "$? $(tail -n 1 out.text)" "0 baseline main is set in plain.db" "a ratchet moves with an improvement"
gate plain.db --revision abc123 --campaign 3
is "$?" 0 "the baseline of a revision"
like "$(cat out.text)" "^improved .*scheme=ring.*against plain \(1\)|^improved" "against which it improved"
refused "a revision without a baseline" 6 "plain.db has no baseline of revision zzz" gate plain.db --revision zzz
refused "a name without a baseline" 6 "plain.db has no baseline called release" gate plain.db --baseline-name release
refused "a baseline that is not there" 6 "there is no database 'none.db'" gate plain.db --baseline none.db
run plain.yaml other.db
query other.db "UPDATE environment SET fingerprint = 'x'; UPDATE environment_fact SET value = 'Z80' WHERE name = 'cpu_model'; UPDATE trial SET world = 'emulated'"
gate plain.db --baseline other.db --campaign 1
is "$?" 6 "another environment is incomparable: exit code 6"
like "$(cat out.text)" "the baseline ran in another environment: cpu_model" "and names what differs"
run plain.yaml again.db
run plain.yaml again.db --seed 5
query again.db "INSERT INTO confirmation VALUES (2, 1)"
gate plain.db --baseline again.db --campaign 1 --json
is "$(jq .baseline.campaign_id out.text)" 1 "the last campaign of a baseline's file is no rerun"
refused "an option of another action" 2 "baselines show takes no --json: leave it out" baselines show plain.db --json
refused "a baseline to set another by" 2 "baselines set takes no --baseline" baselines set plain.db --baseline other.db
refused "a campaign to export" 2 "baselines export takes no --campaign" baselines export plain.db --campaign 1
refused "thresholds without a ratchet" 2 "--thresholds is about --ratchet" baselines set plain.db --thresholds usual.yaml
refused "an unknown action" 2 "found 'sett', did you mean 'set'[?] Allowed are: set, show" baselines sett plain.db

refused "a file that is none, to merge into" 3 "choose another name \(laggard run: --db\), or move it away" merge plain.yaml same.db
is "$(grep -c -- 'with --db' "$root"/results/*.c | grep -v ':0$')" "" "no sentence that several commands may say asks for an option that only run has"

for option in markdown junit bmf; do
    refused_to_write=$("$LAGGARD" gate same.db --$option plain.db 2>&1 > out.text)
    is "$? $(printf %s "$refused_to_write" | grep -c "cannot write 'plain.db': it is a database")" "2 1" "--$option is not written over a database"
done
# ---- what is no campaign's database ----
refused "no database" 2 "there is no database 'none.db'" gate none.db
is "$(ls none.db 2>/dev/null)" "" "no database: none is made"
refused "a folder" 2 "it is a folder" gate .
: > empty.db
refused "an empty file" 2 "'empty.db' is empty" gate empty.db
seq 100 > text.db
refused "a text" 2 "not an SQLite file" gate text.db
sqlite3 foreign.db "PRAGMA application_id = 7; CREATE TABLE x (y)"
refused "a database of another program" 2 "another program \(application_id 7\)" gate foreign.db
sqlite3 nameless.db "CREATE TABLE x (y)"
refused "a database of no program" 2 "no database of laggard" gate nameless.db
cp same.db newer.db && sqlite3 newer.db "PRAGMA user_version = 99"
refused "a newer schema" 2 "schema version 99.*newer laggard" gate newer.db
head -c 30000 same.db > cut.db
refused "a truncated file" 3 "cut.db.*(malformed|not a database)" gate cut.db
cp same.db broken.db && dd if=/dev/urandom of=broken.db bs=4096 seek=1 count=40 conv=notrunc 2>/dev/null
refused "a corrupted file" 3 "broken.db.*malformed.*recover" gate broken.db
cp same.db bare.db && sqlite3 bare.db "DELETE FROM noise_floor; DELETE FROM verdict; DELETE FROM arm_cell; DELETE FROM arm; DELETE FROM trial; DELETE FROM cell_setting; DELETE FROM cell; DELETE FROM campaign" 2>/dev/null
refused "no campaign" 2 "holds no campaign: there is nothing to judge; .laggard run FILE --db bare.db. adds one" gate bare.db
refused "a campaign that is not there" 2 "holds no campaign 77; .laggard sql same.db trials. has" gate same.db --campaign 77
refused "an unknown metric" 2 "unknown.yaml:1:14: gate.thresholds.0: there is no metric 'round_time.p50', did you mean 'round_time_ns.p50'" \
    gate same.db --thresholds "$(printf 'thresholds: [round_time.p50 <= 1s]\n' > unknown.yaml; echo unknown.yaml)"
refused "a threshold file that is not there" 2 "cannot open the threshold file" gate same.db --thresholds none.yaml
sed '/^gate:/,$d' same.yaml > ungated.yaml
run ungated.yaml ungated.db
refused "a campaign without a gate" 2 "its file has no .gate.; name a threshold file" gate ungated.db
printf 'thresholds: [{threshold: round_time_ns.p50 <= baseline, cells: "x*"}]\n' > nowhere.yaml
for waiver in 'metric: acuracy' 'metric: accuracy, verdict: regresed' 'metric: accuracy, cells: "x*"'; do
    printf 'thresholds: [round_time_ns.p50 <= baseline * 9]\nwaivers: [{%s, owner: anna, expires: 2099-01-31}]\n' "$waiver" > waiver.yaml
    "$LAGGARD" gate same.db --thresholds waiver.yaml 2>> waivers.text
    is "$?" 2 "a waiver that never holds is refused: $waiver"
done
is "$(sed 's/.*waiver.yaml:2:[0-9]*: //' waivers.text)" "gate.waivers.0.metric: there is no metric 'acuracy', did you mean 'accuracy'?
gate.waivers.0.verdict: found 'regresed', did you mean 'regressed'? What can be waived is: missing, regressed
'x*' matches no cell of campaign same in same.db; \`laggard sql same.db cells\` lists their labels" "and why"
printf 'thresholds: [round_time_ns.p50 <= baseline * 9]\nbaseline: bfore\n' > arm.yaml
refused "an arm that there is not" 6 "has no arm 'bfore' to compare with, did you mean 'before'[?] .laggard sql same.db arms. lists them" gate same.db --thresholds arm.yaml
refused "a pattern without a cell" 2 "nowhere.yaml:1:26: 'x\*' matches no cell" gate same.db --thresholds nowhere.yaml

# ---- campaigns in a bad state ----
cp same.db void.db && query void.db "UPDATE trial SET fidelity = 'void', fidelity_reason = 'the links were off'"
gate void.db --json
is "$? $(jq -r '.rows[0] | .verdict + ": " + .reason' out.text)" "5 inconclusive: all 12 trials are void: the links were off" "only void trials"
cp same.db none-finished.db && query none-finished.db "UPDATE trial SET status = 'interrupted', fidelity = NULL"
gate none-finished.db --json
is "$? $(jq -r '.rows[0] | .verdict + ": " + .reason' out.text)" "1 missing: no trial finished" "no finished trial"
cp same.db failed.db && query failed.db "UPDATE trial SET status = 'failed', fidelity = NULL, reason = 'w1 died' WHERE trial_id = (SELECT max(trial_id) FROM trial WHERE arm = 'after')"
gate failed.db --json
is "$? $(jq -r '[.rows[] | select(.verdict == "error")][0].reason' out.text)" "4 1 trial failed: w1 died" "a failed trial: exit code 4"
cp same.db failures.db && query failures.db "UPDATE trial SET status = 'failed', fidelity = NULL, reason = 'w' || block || ' died' WHERE arm = 'after' AND block IN (3, 5)"
query failures.db "UPDATE trial SET fidelity = 'void', fidelity_reason = 'w9-router was off' WHERE arm = 'after' AND block = 1"
gate failures.db --json
is "$(jq -r '[.rows[] | select(.verdict == "error")][0].reason' out.text)" "2 trials failed: w3 died" "of several the first that failed says why"
cp same.db infinite.db && query infinite.db "UPDATE trial_metric SET value = 9e999 WHERE value IS NOT NULL AND trial_id = (SELECT max(trial_id) FROM trial WHERE arm = 'after')"
gate infinite.db --json
is "$? $(jq -r '[.rows[] | select(.verdict == "error")][0].reason' out.text)" "4 1 value is no finite number" "an infinite value"
is "$(grep -ciE '[^a-z](nan|inf(inity)?)[^a-z]' out.text)" 0 "NaN and infinity never leave"

cp same.db half.db && query half.db "DELETE FROM trial_metric WHERE trial_id > 24; PRAGMA foreign_keys = OFF; DELETE FROM trial WHERE trial_id > 24"
gate half.db
like "$? $(tail -n 1 out.text)" "^0 .*; 24 of 48 planned trials have not ended" "a campaign that was ended half way says so"

# ---- names from anywhere ----
cp slow.db names.db
query names.db "DELETE FROM confirmation; UPDATE trial SET world = 'virtual'; UPDATE cell SET label = CAST(x'3c2f7363726970743e2022272c7c0a255d5d3e266c743b02ff40' AS TEXT) || number; UPDATE campaign SET name = 'a\"<b>&' || char(10) || '::error::x'"
gate names.db --campaign 1 --thresholds usual.yaml --markdown names.md --junit names.xml --bmf names.bmf --benchmark-action names --github
is "$?$(cat err.text)" 1 "names with quotes, tags, newlines and bytes that are no UTF-8 are judged"
is "$(grep -c '^::error title=</script> "'"'"'%2C|%0A%25]]>' out.text) $(grep -c '^::error::x' out.text)" "2 0" "GitHub: escaped, on one line each"
is "$(tr -d '\n' < out.text | LC_ALL=C grep -c '[[:cntrl:]]')" 0 "and nothing that a log's terminal would obey"
is "$(grep -c '^| ' names.md) $(grep -c '<' names.md)" "4 0" "Markdown: a line a row, and no tag"
jq -e . names.bmf names-smaller.json > /dev/null
ok $? "JSON of other programs: well-formed"
gate names.db --campaign 1 --thresholds usual.yaml --json
is "$(jq '.rows | length' out.text)" 2 "JSON: well-formed"
if command -v xmllint > /dev/null; then
    xmllint --noout --schema "$xsd" names.xml 2> xml.err
    ok $? "JUnit: valid" "$(cat xml.err)"
else
    ok 0 "# skip xmllint is not installed: the XML was not validated"
fi

# ---- while a campaign writes ----
cp same.db busy.db
(printf 'PRAGMA journal_mode = WAL;\nBEGIN IMMEDIATE;\nUPDATE trial_metric SET value = trial_id WHERE value IS NOT NULL;\n.shell touch writing; sleep 30\n' | sqlite3 busy.db > /dev/null) &
writer=$!
tries=0
while [ ! -e writing ] && [ $tries -lt 300 ]; do sleep 0.1; tries=$((tries + 1)); done
gate busy.db
is "$?" 0 "a file that is being written is read as it was before"
kill "$writer" 2>/dev/null

# ---- much ----
cp same.db much.db
query much.db "WITH RECURSIVE n (i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 4000)
    INSERT INTO cell (campaign_id, number, label, scheme, workers, settings, settings_text) SELECT 1, i, hex(zeroblob(150)) || i, 'ring', 2, '{}', '' FROM n"
gate much.db --thresholds usual.yaml --markdown much.md
is "$?" 1 "thousands of cells without a trial are missing"
is "$(($(wc -c < much.md) < 1048576))" 1 "Markdown stays under 1 MiB"
like "$(tail -n 1 much.md)" "^[0-9]+ more rows are left out" "and says what it left out"
cd "$OLDPWD" || exit 1
finish
