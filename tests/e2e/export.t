#!/bin/sh
# export.t: TAP. laggard export: each format through a parser, against what the views say; on a campaign of the virtual world.
. "$(dirname "$0")/lib.sh"
xsd=$PWD/tests/golden/junit.xsd protos=$PWD/tests/golden reader=$PWD/tests/e2e/read-trace.pl
cd "$SCRATCH" || exit 1
cat > tiny.yaml <<'Y'
name: tiny
world: virtual
topology: {link: {rate: 100mbit, delay: 1ms}}
workload: {model: synthetic, size: 200KB, rounds: 5}
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

# ---- trace in Chrome's JSON ----
export_to trace.json --format trace-json --trial 1
is "$(jq '.traceEvents | type' trace.json)" '"array"' "trace-json: well-formed"
is "$(jq '[.traceEvents[] | select(.ph == "X")] | length' trace.json)" "$(query tiny.db "SELECT count(*) FROM spans WHERE trial = 1")" "trace-json: every span"
is "$(jq '[.traceEvents[] | select(.ph == "X") | .dur * 1000 | round] | add' trace.json)" "$(query tiny.db "SELECT sum(duration_ns) FROM spans WHERE trial = 1")" "trace-json: to the nanosecond"
is "$(jq -r '[.traceEvents[] | select(.name == "process_name") | .args.name] | join(", ")' trace.json)" "$(query tiny.db "SELECT group_concat(name || ' (' || role || ')', ', ') FROM (SELECT * FROM node WHERE trial_id = 1 AND role <> 'router' ORDER BY node)")" "trace-json: a process a node"
is "$(jq '[.traceEvents[] | select(.ph == "s").id | tostring] | sort | . == (unique)' trace.json) $(jq '([.traceEvents[] | select(.ph == "s").id] | sort) == ([.traceEvents[] | select(.ph == "f").id] | sort)' trace.json)" "true true" "trace-json: every arrow has two ends"
is "$(jq '[.traceEvents[] | select(.ph == "s")] | length' trace.json)" "$(query tiny.db "SELECT count(*) FROM spans WHERE trial = 1 AND kind = 'send'")" "trace-json: an arrow a message"
is "$(jq '[.traceEvents[] | select(.ph == "s" or .ph == "f")] | group_by(.id) | all(.[]; (map(select(.ph == "s").ts) | first) <= (map(select(.ph == "f").ts) | first))' trace.json)" true "trace-json: no message comes before it was sent"
is "$(jq '[.traceEvents[] | select(.ph == "X")] | group_by(.tid) | all(.[]; sort_by(.ts) | . as $spans | all(range(1; length); $spans[.].ts >= $spans[. - 1].ts + $spans[. - 1].dur - 0.0005))' trace.json)" true "trace-json: no spans overlap on a track"
is "$("$LAGGARD" export tiny.db --format trace-json | jq -c '.traceEvents | length')" "$(jq '.traceEvents | length' trace.json)" "trace-json: of the first trial unless told"

# ---- trace: Perfetto's packets, read back by Protocol Buffers' own reader ----
# With what the virtual world does not have: samples, events, bytes that are no UTF-8, flags, and a message of which one end was not told.
cp tiny.db full.db
query full.db "
INSERT INTO counter_sample (trial_id, at_ns, link, direction, node, backlog_bytes, window_maximum_segments) VALUES
    (1, 1000, 0, 'forward', NULL, 5000, NULL), (1, 2000, 0, 'forward', NULL, 0, NULL), (1, 1000, 0, 'backward', NULL, 7, NULL),
    (1, 1000, NULL, NULL, 0, NULL, 10), (1, 2000, NULL, NULL, 0, NULL, 3000000000), (1, 2000, NULL, NULL, 1, NULL, 20), (1, 2000, NULL, NULL, 2, NULL, NULL);
INSERT INTO event (campaign_id, trial_id, at_unix_ns, kind, text, node, at_ns) VALUES
    (1, 1, 0, 'crash', 'w0 ' || CAST(x'ff' AS TEXT) || ' \"ended\"' || char(10) || 'early', 0, 1500), (1, 1, 0, 'partition', 'two halves', NULL, 1600), (1, 1, 0, 'note', 'no time', NULL, NULL);
UPDATE span SET flags = 6 WHERE span_id = (SELECT min(span_id) FROM spans WHERE trial = 1 AND kind = 'compute');
UPDATE span SET end_ns = begin_ns WHERE span_id = (SELECT max(span_id) FROM spans WHERE trial = 1 AND kind = 'compute');
DELETE FROM span WHERE span_id = (SELECT max(span_id) FROM spans WHERE trial = 1 AND kind = 'receive' AND node_name = 's0' AND peer_name = 'w1')"
"$LAGGARD" export full.db --format trace -o full.pftrace 2> err.text
is "$?$(cat err.text)" 0 "trace: into a file"
rows() { # rows SQL: over what the reader found, with the database as `full`
    sqlite3 -noheader -separator ' ' rows.db "ATTACH 'full.db' AS full" "$1"
}
if command -v protoc > /dev/null; then
    protoc "--proto_path=$protos" --decode=perfetto.protos.Trace trace.proto < full.pftrace 2> err.text | perl "$reader" > rows.text
    is "$(cat err.text)$(grep '^bad' rows.text)" "" "trace: decodes, every begin has an end, and nothing overlaps on a track"
    for kind in slice counter event; do
        grep "^$kind" rows.text > $kind.text
    done
    sqlite3 rows.db "CREATE TABLE slice (row, process TEXT, track TEXT, begin_ns INTEGER, end_ns INTEGER, name TEXT, round INTEGER, bytes INTEGER, peer TEXT, flags TEXT, sent INTEGER, received INTEGER)" \
        "CREATE TABLE counter (row, process TEXT, name TEXT, unit TEXT, at_ns INTEGER, value INTEGER)" "CREATE TABLE event (row, process TEXT, track TEXT, at_ns INTEGER, kind TEXT, text TEXT)" \
        ".mode ascii" '.separator "\t" "\n"' ".import slice.text slice" ".import counter.text counter" ".import event.text event" "UPDATE slice SET sent = nullif(sent, ''), received = nullif(received, '')"
    ours="SELECT node_name || ' (' || role || ')', kind, begin_ns, end_ns, kind || ' ' || round, round, moved_bytes, coalesce(peer_name, ''), CASE WHEN cancelled AND discarded THEN 'cancelled,discarded' ELSE '' END FROM full.spans WHERE trial = 1"
    theirs="SELECT process, track, begin_ns, end_ns, name, round, bytes, peer, flags FROM slice"
    is "$(rows "SELECT count(*) FROM slice")" "$(rows "SELECT count(*) FROM full.spans WHERE trial = 1")" "trace: as many slices as spans"
    is "$(rows "SELECT * FROM ($ours EXCEPT $theirs) LIMIT 3; SELECT * FROM ($theirs EXCEPT $ours) LIMIT 3")" "" "trace: they are the spans: node, kind, times, round, bytes, peer and flags"
    is "$(rows "SELECT count(*) > 0 FROM full.span a JOIN full.span b USING (trial_id, node, kind) WHERE trial_id = 1 AND b.span_id <> a.span_id AND b.begin_ns > a.begin_ns AND b.begin_ns < a.end_ns")" 1 "trace: though spans of a node overlap here"
    messages=$(rows "SELECT count(*) FROM full.spans WHERE trial = 1 AND kind = 'send' AND NOT (node_name = 'w1' AND peer_name = 's0')")
    is "$(rows "SELECT count(sent), count(received), count(DISTINCT sent), count(DISTINCT received) FROM slice")" "$messages $messages $messages $messages" "trace: an arrow a message; none between nodes where an end is missing"
    is "$(rows "SELECT count(*) FROM slice a JOIN slice b ON b.received = a.sent WHERE a.track = 'send' AND b.track = 'receive' AND b.process LIKE a.peer || ' %' AND a.process LIKE b.peer || ' %' AND b.bytes = a.bytes AND b.end_ns >= a.begin_ns")" "$messages" "trace: it pairs a send with its receive"
    is "$(rows "SELECT process, name, unit, at_ns, value FROM counter ORDER BY 1, 2, 4")" "$(printf '%s\n' "router (router) backlog w0-router backward UNIT_SIZE_BYTES 1000 7" "w0 (worker) backlog w0-router forward UNIT_SIZE_BYTES 1000 5000" \
        "w0 (worker) backlog w0-router forward UNIT_SIZE_BYTES 2000 0" "w0 (worker) congestion window segments 1000 10" "w0 (worker) congestion window segments 2000 3000000000" \
        "w1 (worker) congestion window segments 2000 20")" "trace: counters, each of its node, with units"
    is "$(rows "SELECT process, track, at_ns, kind, text FROM event ORDER BY at_ns")" "$(printf '%s\n' "w0 (worker)  1500 crash w0 � \"ended\" early" " events 1600 partition two halves")" "trace: events, of a node and of the trial"
else
    ok 0 "# skip protoc is not installed (protobuf-compiler): no trace was decoded"
fi
like "$(script -qec "'$LAGGARD' export tiny.db --format trace" /dev/null < /dev/null)" "a trace is no text for a terminal: name a file with -o, or use a pipe" "trace: not onto a terminal"
# Memory: an export of many spans within less than the trace is long.
query full.db "INSERT INTO span (trial_id, node, round, kind, peer, flags, begin_ns, end_ns, moved_bytes)
    WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 299999) SELECT 2, i % 4, i / 4, 1, CASE i % 4 WHEN 3 THEN 0 ELSE 3 END, 0, i * 7919 % 300000 * 1000, i * 7919 % 300000 * 1000 + 900, 1000 FROM n"
for format in trace trace-json; do
    ! has_address_sanitizer || continue
    prlimit --data=16777216 "$LAGGARD" export full.db --format $format --trial 2 -o many.$format 2> err.text
    is "$?$(cat err.text) $(($(wc -c < many.$format) > 20000000))" "0 1" "$format: 300 thousand spans take no memory of their own"
done

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
refused "an unknown view" 2 "is no view of 'tiny.db', did you mean 'trials'[?]" tiny.db --view trial
refused "SQL for a view" 2 "is no view" tiny.db --view 'trials" --'
refused "an unknown format" 2 "did you mean 'jsonl'" tiny.db --format json
refused "an option of another format" 2 "format trace takes no --view" tiny.db --format trace --view trials
refused "a campaign for a trace" 2 "format trace-json takes no --campaign" tiny.db --format trace-json --campaign 1
for format in trace trace-json; do
    refused "an unknown trial as $format" 2 "holds no trial 99; .laggard sql tiny.db trials. lists them" tiny.db --format $format --trial 99
done
for damage in node:9223372036854775807 node:-1 span_kind:9223372036854775807; do
    table=${damage%:*} column=${damage%:*} number=${damage#*:}
    cp tiny.db damaged.db
    sqlite3 damaged.db "PRAGMA foreign_keys = off; PRAGMA ignore_check_constraints = on; UPDATE $table SET ${column#span_} = $number WHERE ${column#span_} = (SELECT max(${column#span_}) FROM $table)"
    for format in trace trace-json; do
        refused "$damage as $format" 3 "have numbers that laggard does not give" damaged.db --format $format --trial 1
    done
done
for format in csv jsonl openmetrics bmf; do
    refused "an unknown campaign as $format" 2 "'tiny.db' holds no campaign 99; .laggard sql tiny.db trials. has" tiny.db --format $format --campaign 99
done
cp tiny.db own.db && sqlite3 own.db "CREATE VIEW own AS SELECT 1 AS one"
refused "one campaign of a view that knows none" 2 "the view 'own' has no column campaign_id: leave --campaign out" own.db --view own --campaign 1
refused "no database" 2 "there is no database" none.db
refused "a file that cannot be written" 3 "cannot write 'no/such/file': the folder 'no/such' does not exist; create it with: mkdir -p 'no/such'" tiny.db -o no/such/file
echo before > kept.csv && chmod 640 kept.csv && ln -s kept.csv link.csv
refused "a file that stands there, and an unknown view" 2 "is no view" tiny.db --view trial -o kept.csv
is "$(cat kept.csv)" before "a file that stands there stays when nothing comes of it"
export_to out.csv -o link.csv
is "$(head -c 9 kept.csv) $(stat -c %a kept.csv) $(readlink link.csv)" "campaign, 640 kept.csv" "and is replaced, with its rights and links, when all is there"
long=$(printf '%0255d' 0)
export_to first.text -o "$long" && export_to first.text -o "$long"
is "$(cmp kept.csv "$long")$? $(ls -A | grep -c '^\.')" "0 0" "a name as long as one can be, twice; nothing is left beside it"
if [ "$(id -u)" = 0 ]; then own_mounts="unshare --mount"; else own_mounts="unshare --user --map-root-user --mount"; fi
if $own_mounts mount -t tmpfs none /proc 2> /dev/null; then # without /proc, as where a file system has no files without a name
    for there in kept.csv new.csv; do
        $own_mounts sh -c 'mount -t tmpfs none /proc && exec "$0" export tiny.db -o "$1"' "$LAGGARD" $there > out.text 2> err.text
        is "$?$(cat err.text) $(cmp "$long" $there)$? $(ls -A | grep -c '^\.')" "0 0 0" "without /proc, $there: the same"
    done
fi
refused "no name" 3 "^laggard: error: the name of the file to write is empty; name one$" tiny.db -o ""
cp tiny.db whole.db
refused "the database itself" 2 "cannot write 'whole.db': it is a database" whole.db -o whole.db
cmp tiny.db whole.db
is "$?" 0 "a database is not written over"
is "$("$LAGGARD" export tiny.db -o /dev/stdout | cmp - kept.csv && ls | grep -c 'csv\.')" 0 "a device is written directly, and no file is left beside the others"
cd "$OLDPWD" || exit 1
finish
