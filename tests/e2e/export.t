#!/bin/sh
# export.t: TAP. laggard export: each format through a parser, against what the views say; on a campaign of the virtual world.
. "$(dirname "$0")/lib.sh"
xsd=$PWD/tests/golden/junit.xsd
cd "$SCRATCH" || exit 1
cat > tiny.yaml <<'Y'
name: tiny
world: virtual
topology: {link: {rate: 100mbit, delay: 1ms}}
workload: {model: synthetic, size: 10KB, rounds: 5}
compute.time: {distribution: exponential, mean: 5ms}
matrix: {scheme: [ps-sync, ring]}
workers: 3
repeats: 6
gate: {thresholds: [round_time_ns.p50 <= 1ms, round_time_ns.p99 <= 10s]}
Y
"$LAGGARD" run tiny.yaml --db tiny.db --quiet > /dev/null
"$LAGGARD" run tiny.yaml --db tiny.db --quiet --seed 5 > /dev/null
is "$(query tiny.db "SELECT count(*) FROM trials")" 24 "two campaigns"
export_to() { # export_to FILE ARGUMENT...
    file=$1
    shift
    "$LAGGARD" export tiny.db "$@" > "$file" 2> err.text
    is "$?$(cat err.text)" 0 "export $*"
}

# ---- views ----
for view in $(query tiny.db "SELECT name FROM sqlite_schema WHERE type = 'view'"); do
    "$LAGGARD" export tiny.db --format jsonl --view "$view" > out.jsonl 2> err.text
    is "$?$(cat err.text) $(jq -s length out.jsonl)" "0 $(query tiny.db "SELECT count(*) FROM \"$view\"")" "jsonl: all of $view"
done
export_to out.csv --view rounds --campaign 2
is "$(sqlite3 :memory: '.mode csv' '.import out.csv t' "SELECT count(*), sum(round_time_ns) FROM t")" "$(sqlite3 -csv tiny.db "SELECT count(*), sum(round_time_ns) FROM rounds WHERE campaign_id = 2")" "csv: the numbers of one campaign"
export_to out.csv --output file.csv
is "$(wc -c < out.csv) $(head -n 1 file.csv | cut -d , -f 1-3)" "0 campaign,campaign_id,trial" "csv: into a file, trials unless told"

# ---- trace ----
export_to trace.json --format trace --trial 1
is "$(jq '.traceEvents | type' trace.json)" '"array"' "trace: well-formed"
is "$(jq '[.traceEvents[] | select(.ph == "X")] | length' trace.json)" "$(query tiny.db "SELECT count(*) FROM spans WHERE trial = 1")" "trace: every span"
is "$(jq '[.traceEvents[] | select(.ph == "X") | .dur * 1000 | round] | add' trace.json)" "$(query tiny.db "SELECT sum(duration_ns) FROM spans WHERE trial = 1")" "trace: to the nanosecond"
is "$(jq -r '[.traceEvents[] | select(.name == "process_name") | .args.name] | join(", ")' trace.json)" "$(query tiny.db "SELECT group_concat(name || ' (' || role || ')', ', ') FROM (SELECT * FROM node WHERE trial_id = 1 AND role <> 'router' ORDER BY node)")" "trace: a process a node"
is "$(jq '[.traceEvents[] | select(.ph == "s").id] == [.traceEvents[] | select(.ph == "f").id]' trace.json)" true "trace: every arrow has two ends"
is "$(jq '[.traceEvents[] | select(.ph == "s")] | length' trace.json)" "$(query tiny.db "SELECT count(*) FROM spans WHERE trial = 1 AND kind = 'send'")" "trace: an arrow a message"
is "$(jq '[.traceEvents[] | select(.ph == "s" or .ph == "f")] | group_by(.id) | all(.[]; (map(select(.ph == "s").ts) | first) <= (map(select(.ph == "f").ts) | first))' trace.json)" true "trace: no message comes before it was sent"
is "$("$LAGGARD" export tiny.db --format trace | jq -c '.traceEvents | length')" "$(jq '.traceEvents | length' trace.json)" "trace: of the first trial unless told"

# ---- OpenMetrics: a family's TYPE, UNIT and HELP in front of its samples, labels escaped, an end ----
query tiny.db "UPDATE campaign SET name = 'a\"b\\c' || char(10) || 'd' WHERE campaign_id = 2"
export_to metrics.text --format openmetrics
is "$(tail -n 1 metrics.text)" "# EOF" "openmetrics: ends"
is "$(grep -cvE '^# (TYPE [a-z_0-9]+ gauge|UNIT [a-z_0-9]+ (seconds|ratio)|HELP [a-z_0-9]+ .*|EOF)$|^[a-z_0-9]+\{([a-z_]+="([^"\\]|\\[n"\\])*"(,[a-z_]+="([^"\\]|\\[n"\\])*")*)\} -?[0-9.]+(e[+-]?[0-9]+)?$' metrics.text)" 0 "openmetrics: every line is of the format"
is "$(awk '/^# TYPE/ { family = $3 } /^[a-z]/ { split($0, p, "{"); if (p[1] != family) bad++ } END { print bad + 0 }' metrics.text)" 0 "openmetrics: samples stand with their family"
is "$(grep -c '^laggard_trials{' metrics.text)" 4 "openmetrics: a sample a cell"
is "$(grep -c 'campaign="a\\"b\\\\c\\nd"' metrics.text | sed 's/^0$/none/')" "$(grep -c 'campaign_id="2"' metrics.text)" "openmetrics: names are escaped"
is "$("$LAGGARD" export tiny.db --format openmetrics --campaign 1 | grep -c '^laggard_trials{')" 2 "openmetrics: of one campaign"

# ---- what the gate knows ----
export_to out.bmf --format bmf --campaign 1
is "$(jq -c 'map_values(keys | length)' out.bmf)" '{"tiny/scheme=ps-sync":5,"tiny/scheme=ring":5}' "bmf: every metric that has values, without a baseline"
export_to smaller.json --format benchmark-action-smaller
is "$(jq 'length' smaller.json)" 10 "benchmark-action: those of which less is better"
export_to bigger.json --format benchmark-action-bigger
is "$(jq -c . bigger.json)" "[]" "benchmark-action: and the others"
"$LAGGARD" export tiny.db --format junit > gate.xml
is "$?" 0 "junit: exporting is no verdict"
if command -v xmllint > /dev/null; then
    xmllint --noout --schema "$xsd" gate.xml 2> xml.err
    ok $? "junit: valid" "$(cat xml.err)"
    is "$(xmllint --xpath 'concat(//testsuite/@tests, " ", //testsuite/@failures)' gate.xml)" "4 2" "junit: the verdicts of the gate"
else
    ok 0 "# skip xmllint is not installed: the XML was not validated"
fi

# ---- what is wrong ----
refused() { # refused NAME CODE ERE ARGUMENT...
    name=$1 code=$2 pattern=$3
    shift 3
    "$LAGGARD" export "$@" > out.text 2> err.text
    is "$? $(wc -c < out.text)" "$code 0" "$name: exit code $code, no result"
    like "$(cat err.text)" "$pattern" "$name: the sentence"
}
refused "an unknown view" 2 "is no view of 'tiny.db'" tiny.db --view trial
refused "SQL for a view" 2 "is no view" tiny.db --view 'trials" --'
refused "an unknown format" 2 "did you mean 'jsonl'" tiny.db --format json
refused "an option of another format" 2 "format trace takes no --view" tiny.db --format trace --view trials
for format in csv jsonl openmetrics bmf; do
    refused "an unknown campaign as $format" 2 "'tiny.db' holds no campaign 99" tiny.db --format $format --campaign 99
done
cp tiny.db own.db && sqlite3 own.db "CREATE VIEW own AS SELECT 1 AS one"
refused "one campaign of a view that knows none" 2 "the view 'own' has no column campaign_id: leave --campaign out" own.db --view own --campaign 1
refused "an unknown trial" 2 "holds no trial 99" tiny.db --format trace --trial 99
refused "no database" 2 "there is no database" none.db
refused "a file that cannot be written" 3 "cannot write 'no/such/file'" tiny.db -o no/such/file
echo before > kept.csv && chmod 640 kept.csv && ln -s kept.csv link.csv
refused "a file that stands there, and an unknown view" 2 "is no view" tiny.db --view trial -o kept.csv
is "$(cat kept.csv)" before "a file that stands there stays when nothing comes of it"
export_to out.csv -o link.csv
is "$(head -c 9 kept.csv) $(stat -c %a kept.csv) $(readlink link.csv)" "campaign, 640 kept.csv" "and is replaced, with its rights and links, when all is there"
cp tiny.db whole.db
refused "the database itself" 2 "cannot write 'whole.db': it is a database" whole.db -o whole.db
cmp tiny.db whole.db
is "$?" 0 "a database is not written over"
is "$("$LAGGARD" export tiny.db -o /dev/stdout | cmp - kept.csv && ls | grep -c 'csv\.')" 0 "a device is written directly, and no file is left beside the others"
cd "$OLDPWD" || exit 1
finish
