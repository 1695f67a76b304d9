#!/bin/sh
# plot.t: TAP. laggard plot: each picture is what it says, has words for those who do not see it, and no name from the database becomes
# anything else than letters; on campaigns of the virtual world.
. "$(dirname "$0")/lib.sh"
cd "$SCRATCH" || exit 1
cat > tiny.yaml <<'Y'
name: tiny
world: virtual
topology: {link: {rate: 100mbit, delay: 1ms}}
workload: {model: mlp, dataset: fashion-mnist, layers: [4], rounds: 6, evaluate_every: 3}
compute.time: {distribution: exponential, mean: 5ms}
matrix: {scheme: [ps-sync, ring]}
workers: 3
repeats: 6
Y
cat > sizes.yaml <<'Y'
name: sizes
world: virtual
topology: {link: {rate: 100mbit, delay: 1ms}}
workload: {model: synthetic, rounds: 3}
compute.time: {distribution: constant, value: 1ms}
matrix: {scheme: [ps-sync, ring], workload.size: [1KB, 1MB]}
workers: 3
Y
"$LAGGARD" run tiny.yaml --db tiny.db --quiet > /dev/null
"$LAGGARD" run sizes.yaml --db sizes.db --quiet > /dev/null
is "$(query tiny.db "SELECT count(*) FROM trials WHERE status = 'finished'") $(query sizes.db "SELECT count(*) FROM trials WHERE status = 'finished'")" "12 4" "two databases"
names=$("$LAGGARD" plot tiny.db | cut -d ' ' -f 1)
is "$(echo "$names" | wc -l)" 9 "plot without a name lists them"

# ---- the script: a program of gnuplot's name that prints what it is given ----
mkdir fake broken none
printf '#!/bin/sh\nexec /bin/cat\n' > fake/gnuplot
printf '#!/bin/sh\n/bin/cat > /dev/null\necho "line 3: what is this" >&2\nexit 4\n' > broken/gnuplot
chmod +x fake/gnuplot broken/gnuplot
script() { # script DB NAME ARGUMENT...
    db=$1
    shift
    PATH=$PWD/fake "$LAGGARD" plot "$db" "$@" --format pdf
}
block() { # block NAME: of the script on stdin
    awk -v name="\$$1" '$1 == name && $2 == "<<" { inside = 1; next } $1 == "END" { inside = 0 } inside'
}
is "$(script tiny.db round-time | block cells)" "$(query tiny.db "SELECT printf('%.6f %d', round_time_p50_ns / 1e6, cell + 1) FROM cells")" "round-time: the medians of the view cells"
is "$(script tiny.db round-time | block intervals)" "$(query tiny.db "SELECT printf('%.6f %d %.6f %.6f', round_time_p50_ns / 1e6, cell + 1, round_time_low_ns / 1e6, round_time_high_ns / 1e6) FROM cells")" "round-time: their intervals"
is "$(script tiny.db round-time | block predictions)" "$(query tiny.db "SELECT printf('%.6f %d', predicted_round_ns / 1e6, cell + 1) FROM cells")" "round-time: the predictions"
is "$(script tiny.db round-time | block trials | wc -l)" 12 "round-time: a point a trial"
cp tiny.db confirmed.db
"$LAGGARD" run tiny.yaml --db confirmed.db --only 0 --quiet > /dev/null
query confirmed.db "INSERT INTO confirmation VALUES (2, 1)"
is "$(script confirmed.db round-time)" "$(script tiny.db round-time)" "the last campaign is none that ran flagged cells again"
is "$(script confirmed.db round-time --campaign 2 | block trials | wc -l)" 6 "unless it is asked for"
is "$(script tiny.db learning-rounds | block line1)" "$(query tiny.db "SELECT printf('%d %.6g', round, avg(loss)) FROM learning_curves WHERE cell = 1 GROUP BY round")" "learning-rounds: the mean loss"
is "$(script tiny.db timeline --trial 2 --round 4 | block compute | wc -l)" "$(query tiny.db "SELECT count(*) FROM spans WHERE trial = 2 AND round = 4 AND kind = 'compute'")" "timeline: the spans of the round that was asked for"
is "$(script sizes.db sizes | block line1)" "$(query sizes.db "SELECT printf('%d %.6g', payload_bytes, algbw_bytes_per_second / 1e6) FROM cells WHERE scheme = 'ring' ORDER BY payload_bytes")" "sizes: a line a scheme, by size"
is "$(script tiny.db stragglers | block tails | wc -l)" 6 "stragglers: a row a worker"
PATH=$PWD/fake "$LAGGARD" plot tiny.db timeline -o named.PNG
PATH=$PWD/fake "$LAGGARD" plot tiny.db timeline -o named.pdf
PATH=$PWD/fake "$LAGGARD" plot tiny.db timeline -o asked.pdf --format png
is "$(grep -ohE 'set terminal [a-z]+' named.PNG named.pdf asked.pdf | cut -d ' ' -f 3 | tr '\n' ' ')" "pngcairo pdfcairo pngcairo " "the format is what --format says, or how the name of the file ends"
# A database of an emulated campaign has measured links; here they are put in.
cp tiny.db links.db
query links.db "INSERT INTO link_check (trial_id, link, direction, goodput_bps, delay_mean_ns, delay_minimum_ns, delay_maximum_ns, probes_sent_count, probes_received_count, within_tolerance) SELECT trial_id, link, direction, 95e6, 1000000 + link, 900000, 1200000, 9, 9, 1 FROM link WHERE trial_id = 1"
is "$(script links.db links | block measured | wc -l)" "$(query links.db "SELECT 2 * count(*) FROM links WHERE trial = 1")" "links: rate and delay of each direction"

# ---- names, axes and keys ----
cp tiny.db long.db
query long.db "UPDATE cell SET label = 'compute.time=lognormal(mu=3,sigma=0.1,unit=ms) scheme=' || CASE number WHEN 0 THEN 'ps-sync' ELSE 'k-sync(k=96)' END"
rows() { # rows DB NAME: the names of the rows, their escapes undone
    printf '%b\n' "$(script "$1" "$2" | sed -n 's/^set ytics scale 0 (\(.*\))$/\1/p' | sed 's/\\\([0-7][0-7][0-7]\)/\\0\1/g')"
}
is "$(rows long.db round-time)" '"scheme=ps-sync" 1, "scheme=k-sync(k=96)" 2' "names that are too long lose what is the same in all of them"
query long.db "UPDATE cell SET label = replace(label, 'sigma=0.1', 'sigma=0.' || number)"
is "$(rows long.db round-time)" '"time=…0.0,unit=ms) scheme=ps-sync" 1, "time=…0.1,unit=ms) scheme=k-sync(k=96)" 2' "but never that by which they differ"
is "$(rows long.db stragglers | grep -oE '"[^"]*"' | sort -u | wc -l)" 6 "and so do those of workers"
is "$(script tiny.db round-time | grep -c logscale)" 0 "a linear axis"
query long.db "UPDATE trial_metric SET value = 100 * value WHERE trial_id IN (SELECT trial_id FROM trial JOIN cell USING (cell_id) WHERE number = 1)"
is "$(script long.db round-time | grep -c '^set logscale x')" 1 "and a logarithmic one where round times span more than two decades"
wide() { # wide DB NAME: whether the key's columns, each the widest letters and a sample, are as wide as the picture at most
    script "$1" "$2" | perl -ne 'if (/^set key at screen 0.5,\S+ .*maxcols (\d+)/) { $columns = $1 }
        if (/^plot /) { while (/title (?:\x27((?:[^\x27]|\x27\x27)*)\x27|"([^"]*)")/g) { $name = $1 // $2; $name =~ s/\\\d{3}/x/g; $most = length $name if length $name > $most } }
        END { print $columns > 0 && $columns * ($most + 7) <= 78 ? "fits" : "$columns columns of $most letters" }'
}
for name in round-time learning stragglers predictions timeline; do
    is "$(wide long.db $name)" fits "$name: the key fits into the picture"
done
# A level that changes: the later campaigns of a history.
cp tiny.db history.db
for seed in 2 3 4 5 6; do "$LAGGARD" run tiny.yaml --db history.db --quiet --seed $seed > /dev/null; done
median="metric_id = (SELECT metric_id FROM metric WHERE name = 'round_time_ns.p50')"
query history.db "UPDATE trial_metric SET value = 1e7 + trial_id WHERE $median; UPDATE trial_metric SET value = 2 * value WHERE $median AND trial_id IN (SELECT trial_id FROM trial WHERE campaign_id > 3)"
script history.db history > history.text
is "$(block line0 < history.text)" "$("$LAGGARD" history history.db --json | jq -r '.series[0].points | to_entries[] | [.key + 1, .value.median / 1e6] | @tsv' | awk '{ printf "%d %.6f\n", $1, $2 }')" "history: the medians of laggard history"
is "$(block worse < history.text | cut -d ' ' -f 1 | tr '\n' ' ')$(block better < history.text)" "4 4 " "history: its change points"
is "$(block levels < history.text | cut -d ' ' -f 1 | tr '\n' ' ')" "0.70 3.30  3.70 6.30  0.70 3.30  3.70 6.30  " "history: levels from one to the next"
is "$(script tiny.db history | grep -c '^\$\(worse\|better\|levels\)')" 0 "history: one campaign has none"

# ---- gnuplot's answer ----
pictures() { # pictures DB NAME: one in every format
    "$LAGGARD" plot "$1" "$2" -o picture.svg 2> err.text
    is "$?$(cat err.text)" 0 "$2: drawn"
    xmllint --noout picture.svg 2> err.text
    is "$?$(cat err.text)" 0 "$2: SVG is well-formed"
    is "$(xmllint --xpath 'concat(count(/*/*[local-name()="title"][string-length() > 9]), count(/*/*[local-name()="desc"][string-length() > 20]), /*/@role)' picture.svg)" 11img "$2: has a title and a description"
    is "$(grep -cE 'https?://' picture.svg) $(grep -oE 'https?://[^"]*' picture.svg | sort -u | tr '\n' ' ')" "1 http://www.w3.org/1999/xlink http://www.w3.org/2000/svg " "$2: names nothing outside but its namespaces"
    is "$("$LAGGARD" plot "$1" "$2" --format png | head -c 4 | od -An -c | tr -d ' ')$("$LAGGARD" plot "$1" "$2" --format pdf | head -c 4)" "211PNG%PDF" "$2: PNG and PDF"
}
if command -v gnuplot > /dev/null; then
    # Eighteen cells with long names: sixteen lines, each with a name of its own line beneath the axis, and a word of the other two.
    cat > many.yaml <<Y
name: many
world: virtual
workload: {model: softmax, batch: 8, rounds: 2, evaluate_every: 1}
compute.time: {distribution: exponential, mean: 10ms}
workers: 8
matrix: {scheme: [{name: k-sync, k: 1}, {name: k-batch-sync, k: 1}, ps-sync], workload.learning_rate: [0.01, 0.02, 0.03, 0.04, 0.05, 0.06]}
Y
    if "$LAGGARD" run many.yaml --db many.db --quiet > /dev/null 2> err.text; then
        query many.db "UPDATE cell SET label = 'a-name-as-long-as-names-of-cells-are-x=' || number"
        "$LAGGARD" plot many.db learning -o many.svg 2> err.text
        like "$?$(cat err.text)" '^0laggard: warning: not everything has room in the picture: Loss against time.* 16 cells.* 2 more cells are left out' "16 lines of 18, and that is said"
        "$LAGGARD" plot many.db stragglers > picture.svg 2> err.text
        like "$?$(cat err.text)" '^0laggard: warning: not everything has room in the picture: .* of 40 workers .the first of 72\).' "40 rows, and that there are more is said"
        is "$(awk 'match($0, /translate\([0-9.]+,[0-9.]+/) { split(substr($0, RSTART + 10, RLENGTH - 10), place, ",") }
            /<text>time since/ { axis = place[2] } /<text>.*a-name/ { names++; above += place[2] < axis + 13 } END { print (axis > 100), names, above + 0 }' many.svg)" \
            "1 16 0" "no name lies on the axis"
    else
        like "$(cat err.text)" "dataset" "without the data set nothing learns"
    fi
    for name in $names; do
        case $name in sizes) pictures sizes.db sizes ;; links) pictures links.db links ;; *) pictures tiny.db "$name" ;; esac
    done
    # Names that would be commands, markup or no text at all.
    hostile="'a''b\"\`touch broke-out\`\$(touch broke-out)<script>&</text>]]>@x{}\\' || char(10) || 'system(\"touch broke-out\")' || char(1) || CAST(x'ff41efbfbec29b' AS TEXT)"
    for db in tiny.db sizes.db links.db; do
        query $db "UPDATE cell SET label = $hostile || number; UPDATE node SET name = $hostile || node; UPDATE campaign SET name = $hostile; UPDATE trial SET arm = $hostile"
    done
    for name in $names; do
        db=tiny.db
        case $name in sizes|links) db=$name.db ;; esac
        "$LAGGARD" plot $db "$name" -o picture.svg 2> err.text
        is "$?$(cat err.text)" 0 "$name: drawn with hostile names"
        is "$(xmllint --xpath 'count(//*[local-name()="script"])' picture.svg 2>&1)" 0 "$name: well-formed, and names are no markup"
    done
    is "$(ls -A . | grep -c broke-out)" 0 "no name was run"
    # What gnuplot takes for a quote, an escape or a format, in names of rows and of lines.
    cp links.db odd.db
    query odd.db "UPDATE cell SET label = '''loss=1% rate=%s \\101''1%n''' || number; UPDATE node SET name = '%n''' || node; UPDATE trial SET arm = ''"
    for name in $names; do
        [ "$name" = sizes ] || "$LAGGARD" plot odd.db "$name" -o "odd-$name.svg" 2>> err.text
    done
    is "$(cat err.text)" "" "quotes, escapes and formats in names are letters"
    for name in round-time learning stragglers; do
        is "$(grep -c "^[[:space:]]*<text>'loss=1% rate=%s ..01'1%n'[01]" "odd-$name.svg" | sed 's/[1-9]/some/')" some "$name: and are shown as they are"
    done
    # Numbers that are none, and numbers that no axis has.
    query odd.db "UPDATE evaluation SET loss = CASE round WHEN 0 THEN 2.3 WHEN 3 THEN 1.7e308 ELSE 9e999 END"
    "$LAGGARD" plot odd.db learning > picture.svg 2> err.text
    is "$?$(cat err.text)$(grep -c '<desc.* 4 means are no finite number, and left out.' picture.svg)" 01 "a loss without end is left out, and that is said"
    "$LAGGARD" plot tiny.db timeline > first.svg
    "$LAGGARD" plot tiny.db timeline > second.svg
    cmp -s first.svg second.svg
    is $? 0 "the same picture twice"
    "$LAGGARD" plot tiny.db timeline > /dev/full 2> err.text
    is $? 3 "a full disk: exit code"
    "$LAGGARD" plot tiny.db timeline -o /dev/full 2> err.text
    is "$? $(cat err.text)" "3 laggard: error: cannot write '/dev/full': No space left on device" "a full disk: the sentence"
else
    ok 0 "# skip gnuplot is not installed: no picture was drawn"
fi

# ---- what is wrong ----
refused() { # refused NAME CODE ERE ARGUMENT...
    name=$1 code=$2 pattern=$3
    shift 3
    "$LAGGARD" plot "$@" > out.text 2> err.text
    is "$? $(wc -c < out.text)" "$code 0" "$name: exit code $code, no result"
    like "$(cat err.text)" "$pattern" "$name: the sentence"
}
refused "a file, but no plot" 2 "plot: no picture is named for 'p.svg'; .laggard plot tiny.db. lists the names" tiny.db -o p.svg
refused "a name that ends with another format" 2 "'p.jpg' ends with '.jpg', but pictures are svg, png or pdf" tiny.db timeline -o p.jpg
is "$(ls | grep '^p\.')" "" "and no file is made"
refused "a trial of no picture" 2 "plot: --trial is about a picture, and none is named; .laggard plot tiny.db. lists" tiny.db --trial 1
refused "a format of no picture" 2 "plot: --format is about a picture" tiny.db --format png
refused "an unknown plot" 2 "did you mean 'timeline'" tiny.db timelime
refused "a trial of a picture of all" 2 "round-time takes no --trial" tiny.db round-time --trial 1
refused "a round of a picture of links" 2 "links takes no --round" tiny.db links --trial 1 --round 2
refused "no database" 2 "there is no database" none.db timeline
refused "an unknown campaign" 2 "holds no campaign 9" tiny.db timeline --campaign 9
refused "an unknown trial" 2 "holds no trial 99" tiny.db timeline --trial 99
refused "an unknown round" 2 "trial 1 has no round 77" tiny.db timeline --round 77
refused "a folder that is not there" 3 "cannot write 'no/such/file': the folder 'no/such' does not exist; create it with: mkdir -p 'no/such'" tiny.db timeline -o no/such/file
query long.db "UPDATE evaluation SET loss = 9e999"
refused "losses without end alone" 2 "would be empty: No mean loss is a finite number" long.db learning
query long.db "PRAGMA foreign_keys = off; DELETE FROM node"
refused "spans of no node" 2 "would be empty: What each node did in round . of trial 1. No span of it has a node" long.db timeline
refused "no measured links" 2 "would be empty: No link was measured" tiny.db links
query tiny.db "UPDATE trial SET fidelity = 'void', fidelity_reason = 'for the test'"
for name in round-time predictions learning timeline stragglers history; do
    refused "only void trials" 2 "plot $name of campaign 1 of 'tiny.db' would be empty: [Nn]o" tiny.db "$name"
done
query tiny.db "PRAGMA foreign_keys = off; DELETE FROM campaign"
refused "no campaign" 2 "holds no campaign: there is nothing to show" tiny.db timeline
PATH=$PWD/none "$LAGGARD" plot sizes.db sizes > out.text 2> err.text
is "$? $(wc -c < out.text)" "3 0" "gnuplot is missing: exit code"
like "$(cat err.text)" "plots are drawn by gnuplot, and no folder of PATH has it: install Debian's package gnuplot-nox" "gnuplot is missing: the sentence"
PATH=$PWD/broken "$LAGGARD" plot sizes.db sizes > out.text 2> err.text
is "$? $(wc -c < out.text) $(cat err.text)" "3 0 laggard: error: gnuplot drew no picture (exit status 4): line 3: what is this" "gnuplot fails: what it said"
cd "$OLDPWD" || exit 1
finish
