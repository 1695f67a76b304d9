#!/bin/sh
# report.t: TAP. laggard report: one page that asks nobody for anything, says what the views say, and takes every name as letters; on a
# campaign of the virtual world.
. "$(dirname "$0")/lib.sh"
cd "$SCRATCH" || exit 1
cat > tiny.yaml <<'Y'
name: tiny
world: virtual
topology: {link: {rate: 100mbit, delay: 1ms}}
workload: {model: mlp, dataset: fashion-mnist, layers: [4], rounds: 6, evaluate_every: 3}
compute.time: {distribution: exponential, mean: 5ms}
matrix: {scheme: [ps-sync, ring, async]}
workers: 3
repeats: 6
Y
"$LAGGARD" run tiny.yaml --db tiny.db --quiet > /dev/null
"$LAGGARD" run tiny.yaml --db tiny.db --quiet --seed 5 > /dev/null
is "$(query tiny.db "SELECT count(*) FROM trials WHERE status = 'finished'")" 36 "two campaigns"
drawn=""
command -v gnuplot > /dev/null || drawn=--no-plots
[ -z "$drawn" ] || ok 0 "# skip gnuplot is not installed: the reports here have no pictures"
report() { # report DB ARGUMENT...: into page.html
    "$LAGGARD" report "$@" $drawn -o page.html > out.text 2> err.text
    is "$?$(cat out.text err.text)" 0 "report $*"
    xmllint --noout page.html 2> err.text
    is "$?$(cat err.text)" 0 "report $*: well-formed"
}
page() { # page XPATH
    xmllint --xpath "$1" page.html 2> /dev/null
}
column() { # column CAPTION NUMBER [SECTION]: texts of a table's column; a number of a section's id to choose one of two campaigns
    page "//section[@aria-labelledby='c${3:-1}']//table[starts-with(normalize-space(caption), '$1')]/tbody/tr/*[$2]/text()"
}

# ---- one page ----
report tiny.db
is "$(grep -oE '[a-z]+://[^ "<]*' page.html | sort -u | tr '\n' ' ')" "$([ -n "$drawn" ] || echo "http://www.w3.org/1999/xlink http://www.w3.org/2000/svg ")" "no address but the namespaces of SVG"
is "$(page 'count(//@src | //@srcset | //@style | //*[local-name()="script" or local-name()="iframe" or local-name()="object" or local-name()="form" or local-name()="link" or local-name()="image"])')" 0 "nothing that loads, runs or sends"
is "$(page 'count(//@*[local-name()="href"][not(starts-with(., "#"))])')" 0 "links stay on the page"
is "$(page '//@*[local-name()="href"]' | grep -oE '#[^"]*' | tr -d '#' | sort -u | while read -r id; do [ "$(page "count(//*[@id='$id'])")" = 1 ] || echo "$id"; done)" "" "and lead somewhere"
is "$(page '//@id' | sort | uniq -d)" "" "no id is there twice"
is "$(perl -0777 -MDigest::SHA=sha256_base64 -ne '/<style>(.*?)<\/style>/s and print sha256_base64($1), "="' page.html)" "$(grep -oE "style-src 'sha256-[^']*" page.html | sed 's/.*sha256-//')" "the policy's digest is that of the style"
is "$(grep -c "default-src 'none'" page.html) $(page 'string(/html/@lang)') $(page 'count(//h1)')" "1 en 1" "a policy, a language, a title"
is "$(page 'count(//table) - count(//table[string-length(normalize-space(caption)) > 3])')" 0 "every table has a caption"
is "$(page 'count(//th[not(@scope)])')" 0 "every heading says what it heads"
is "$(page 'count(//h3)')" 18 "nine sections a campaign"
if [ -z "$drawn" ]; then
    is "$(page 'count(//*[local-name()="svg"]) - count(//*[local-name()="svg"][@role="img"][*[local-name()="title"][string-length() > 9]][*[local-name()="desc"][string-length() > 20]])')" 0 "every picture has a title and a description"
    is "$(page 'count(//*[local-name()="svg"])')" 17 "and there are eight a campaign, and one of all of them in time"
    is "$(page 'count(//*[local-name()="svg"]//@*[name() != "flood-color"][contains(., "rgb(") or . = "black" or . = "white"])')" 0 "their colours are the page's"
fi
is "$(($(wc -c < page.html) < 3000000))" 1 "at most 3 MB"
"$LAGGARD" report tiny.db $drawn > again.html
cmp -s page.html again.html
is $? 0 "the same page twice, on standard output too"
like "$(script -qec "'$LAGGARD' report tiny.db --no-plots" /dev/null < /dev/null)" "^laggard: error: report: a page is no text for a terminal: name a file with -o FILE.html" "but not onto a terminal"

# ---- the numbers ----
ms() { # ms VIEW COLUMN...: as the page writes them
    echo "CASE WHEN $1 IS NULL THEN '–' ELSE printf('%.3f', $1 / 1e6) END"
}
for campaign in 1 2; do
    of="FROM cells WHERE campaign_id = $campaign ORDER BY cell"
    is "$(column "Round times by cell" 1 $campaign)" "$(query tiny.db "SELECT label $of")" "campaign $campaign: the cells"
    is "$(column "Round times by cell" 3 $campaign)" "$(query tiny.db "SELECT $(ms round_time_p50_ns) $of")" "campaign $campaign: their medians"
    is "$(column "Round times by cell" 4 $campaign | sed 's/\xc2\xa0/ /g')" "$(query tiny.db "SELECT $(ms round_time_low_ns) || ' to ' || $(ms round_time_high_ns) $of")" "campaign $campaign: the intervals"
    is "$(column "Round times by cell" 7 $campaign)" "$(query tiny.db "SELECT $(ms predicted_round_ns) $of")" "campaign $campaign: predictions, and – where there is none"
    is "$(column "Mean round times" 8 $campaign)" "$(query tiny.db "SELECT coalesce(prediction_reason, '–') $of")" "campaign $campaign: why there is none"
    is "$(column "Loss and accuracy" 4 $campaign)" "$(query tiny.db "SELECT printf('%.5f', avg(loss)) FROM learning_curves WHERE campaign_id = $campaign GROUP BY cell, round")" "campaign $campaign: losses"
    is "$(column "Compute time minus" 5 $campaign)" "$(query tiny.db "SELECT printf('%.3f', avg(straggling_mean_ns) / 1e6) FROM workers WHERE campaign_id = $campaign GROUP BY cell, node")" "campaign $campaign: straggling"
    is "$(column "Verdicts" 2 $campaign)" 18 "campaign $campaign: fidelity"
done
is "$(page "//table[starts-with(normalize-space(caption), 'Median round times')]/tbody/tr/*[5]/text()")" "$(query tiny.db "SELECT $(ms round_time_p50_ns) FROM cells ORDER BY label, campaign_id")" "the campaigns beside each other"
is "$(page "string(//pre)")" "$(cat tiny.yaml)" "the campaign file"
is "$(page '//nav//a/@href' | tr -d ' \n')" 'href="#comparison"href="#history"href="#c1"href="#c2"' "several campaigns: the way to each"
report tiny.db --campaign 2
is "$(page 'count(//h2)') $(page 'string(//h2/@id)') $(page 'string(//h2)') $(page 'count(//nav//a)')" "1 c2 tiny 10" "one campaign alone has no comparison"
"$LAGGARD" report tiny.db --no-plots > page.html
is "$(page 'count(//*[local-name()="svg"])') $(page 'count(//h3)')" "0 18" "tables alone"

# ---- a campaign that stored its rounds alone ----
sed '$a record_spans: false' tiny.yaml > rounds.yaml
"$LAGGARD" run rounds.yaml --db rounds.db --quiet > /dev/null
report rounds.db $drawn
is "$(cat err.text)$(page 'count(//h3)') $(grep -c 'No finished trial has compute spans of workers.' page.html)" "9 1" "rounds without spans: a page, which says once what it lacks"

# ---- many campaigns: the last ones have pictures, those before them tables, and the first ones a command ----
sed 's/repeats: 6/repeats: 1/; s/mlp.*3}/synthetic, size: 10KB, rounds: 3}/' tiny.yaml > small.yaml
"$LAGGARD" run small.yaml --db many.db --quiet > /dev/null
query many.db "CREATE TEMP TABLE copied AS SELECT * FROM campaign; $(seq 2 26 | sed 's/.*/UPDATE copied SET campaign_id = &; INSERT INTO campaign SELECT * FROM copied;/' | tr '\n' ' ')"
for seed in 1 2 3 4 5 6 7 8; do
    "$LAGGARD" run small.yaml --db many.db --quiet --seed $seed > /dev/null
done
report many.db
is "$(page '//h2/@id' | grep -oE 'c[0-9]+' | tr '\n' ' ')" "$(seq 5 34 | sed 's/^/c/' | tr '\n' ' ')" "the last 30 of 34 campaigns"
is "$(page '//nav//a/@href' | grep -oE 'c[0-9]+' | tr '\n' ' ')" "$(seq 5 34 | sed 's/^/c/' | tr '\n' ' ')" "and the way to each"
like "$(page 'string(//p[@id="left-out"])')" "the last 30 of 34 campaigns; .* laggard report many.db --campaign N writes" "which are left out, and how to see them"
is "$(query many.db "$(page 'string(//p[@id="left-out"]/code[2])' | sed "s/^[^']*'//; s/'$//")" | wc -l)" 34 "the command that lists them does"
if [ -z "$drawn" ]; then
    pictures() { # pictures CAMPAIGN
        page "count(//section[@aria-labelledby='c$1']//*[local-name()='svg'])"
    }
    each=$(pictures 34)
    is "$((each > 3)) $(page 'count(//*[local-name()="svg"])')" "1 $(((30 + each - 1) / each * each + 1))" "30 pictures, the rest of the campaign that had the last of them, and that of all campaigns"
    is "$(pictures 33) $(pictures 27) $(page 'count(//section[@aria-labelledby="c27"]//h3)')" "$each 0 9" "no campaign has half of them; those without have their tables"
    like "$(page 'string(//section[@aria-labelledby="c27"]/p[@class="note"])')" "Its pictures are not here, .* laggard report many.db --campaign 27 draws them" "and say how to draw them"
    report many.db --campaign 27
    is "$(pictures 27) $(page 'count(//p[contains(., "Its pictures are not here")])')" "$each 0" "which does"
fi
query many.db "UPDATE campaign SET file_text = replace(hex(zeroblob(300000)), '0', '# ')"
report many.db
is "$(($(wc -c < page.html) < 3000000)) $(page 'count(//section[@aria-labelledby="c34"])')" "1 1" "campaigns of a megabyte each: as many as 3 MB hold, the last among them"
like "$(page 'string(//p[@id="left-out"])')" "the last [12] of 34 campaigns" "and it says of how many"

# ---- what names and numbers may be ----
cp tiny.db odd.db
hostile="'</script><script>alert(1)</script>\"''&amp;,' || char(10) || char(1) || ']]>' || CAST(x'ff41' AS TEXT)"
query odd.db "UPDATE cell SET label = $hostile || number; UPDATE node SET name = $hostile || node; UPDATE campaign SET name = $hostile, file_text = $hostile; UPDATE trial SET arm = $hostile, reason = $hostile WHERE trial_id = 1; UPDATE environment_fact SET value = $hostile"
report odd.db
is "$(page 'count(//script | //*[local-name()="script"])')" 0 "names are no markup"
is "$(page "string(//section[1]/h2)" | head -n 1)" "1: </script><script>alert(1)</script>\"'&amp;," "but letters"
cp tiny.db odd.db
query odd.db "UPDATE trial_metric SET value = CASE WHEN trial_id % 2 THEN 9e999 ELSE -9e999 END WHERE trial_id < 10"
report odd.db
query odd.db "UPDATE trial SET fidelity = 'void', fidelity_reason = 'for the test'"
report odd.db
is "$(page 'count(//*[local-name()="svg"])') $(column Verdicts 1)" "0 void" "only void trials: no figure, and it is said"
is "$(column "Trials that are not" 5 | sort -u)" "for the test" "and why"
query odd.db "UPDATE trial SET status = 'failed', reason = 'it was <late>', fidelity = NULL"
report odd.db
is "$(column "Trials that are not" 5 | sort -u)" "it was &lt;late&gt;" "only failed trials"
query odd.db "UPDATE trial SET status = 'running', reason = NULL"
report odd.db
is "$(column "Trials that are not" 3 | sort -u)" running "no trial has ended yet"
# While a campaign writes: what it has committed.
cp tiny.db busy.db
printf "PRAGMA journal_mode = wal;\nBEGIN IMMEDIATE;\nUPDATE campaign SET name = 'later';\n.shell '%s' report busy.db --no-plots -o page.html\nCOMMIT;\n" "$LAGGARD" > busy.sql
rm -f page.html
sqlite3 busy.db < busy.sql > out.text 2> err.text
is "$(page "string(//section[@aria-labelledby='c1']/h2)") $(cat err.text)" "1: tiny " "a file that is being written is read as it was"

# ---- what is wrong ----
refused() { # refused NAME CODE ERE ARGUMENT...
    name=$1 code=$2 pattern=$3
    shift 3
    "$LAGGARD" report "$@" > out.text 2> err.text
    is "$? $(wc -c < out.text)" "$code 0" "$name: exit code $code, no result"
    like "$(cat err.text)" "$pattern" "$name: the sentence"
}
sqlite3 other.db "PRAGMA application_id = 7; CREATE TABLE t (x)"
cp tiny.db newer.db
query newer.db "PRAGMA user_version = 9999"
head -c 5000 tiny.db > cut.db
: > empty.db
cp tiny.db damaged.db
dd if=/dev/zero of=damaged.db bs=4096 seek=2 count=60 conv=notrunc 2> /dev/null
refused "no database" 2 "there is no database" none.db
refused "a database of another program" 2 "it is an SQLite file of another program" other.db
refused "a newer schema" 2 "use a newer" newer.db
refused "a truncated file" 3 "cut.db" cut.db
refused "a damaged file" 3 "damaged.db" damaged.db
refused "an empty file" 2 "is empty" empty.db
refused "an unknown campaign" 2 "holds no campaign 9" tiny.db --campaign 9
refused "over the database" 2 "database" tiny.db -o tiny.db --no-plots
refused "a page as PDF" 2 "report: 'page.pdf' ends with '\.pdf', but a page is HTML: name a file.html" tiny.db --no-plots -o page.pdf
refused "a folder that is not there" 3 "cannot write 'no/such/file': the folder 'no/such' does not exist; create it with: mkdir -p 'no/such'" tiny.db --no-plots -o no/such/file
query odd.db "DELETE FROM campaign"
refused "no campaign" 2 "holds no campaign: there is nothing to show" odd.db
mkdir none
echo before > page.html
PATH=$PWD/none "$LAGGARD" report tiny.db -o page.html > out.text 2> err.text
is "$? $(cat page.html out.text)" "3 before" "gnuplot is missing: exit code, and what stood there stays"
like "$(cat err.text)" "install Debian's package gnuplot-nox, or that of your system, or ask for --no-plots" "gnuplot is missing: the sentence"
mkdir killer && printf '#!/bin/sh\nkill -9 $PPID\n' > killer/gnuplot && chmod 755 killer/gnuplot
for there in page.html fresh.html; do
    ls -A > before.list
    (PATH=$PWD/killer:$PATH "$LAGGARD" report tiny.db -o $there > /dev/null 2>&1; echo $? > status.text) 2> /dev/null # the shell tells of the kill
    is "$(cat status.text)" 137 "killed while it writes $there"
    rm status.text
    is "$(ls -A | diff before.list -)$(cat page.html)" before "leaves no file, and what stood there stays"
done
"$LAGGARD" report tiny.db --no-plots > /dev/full 2> err.text
is $? 3 "a full disk: exit code"
cd "$OLDPWD" || exit 1
finish
