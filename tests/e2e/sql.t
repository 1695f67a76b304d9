#!/bin/sh
# sql.t: TAP. laggard sql: canned and free queries, as a table, CSV and JSON Lines, and what it refuses; on a campaign of the virtual world.
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
repeats: 2
Y
"$LAGGARD" run tiny.yaml --db tiny.db --quiet > /dev/null
is "$?" 0 "a campaign"
names=$("$LAGGARD" sql tiny.db | cut -d ' ' -f 1)
is "$(($(echo "$names" | wc -l) >= 10))" 1 "there are canned queries"
for name in $names; do
    "$LAGGARD" sql tiny.db "$name" --format jsonl > out.text 2> err.text
    is "$?$(cat err.text) $(jq -s 'all(.[]; type == "object")' out.text)" "0 true" "$name: an object a line"
    "$LAGGARD" sql tiny.db "$name" --format csv > csv.text
    is "$(sqlite3 :memory: '.mode csv' '.import csv.text t' 'SELECT count(*) FROM t' 2>&1 | tail -n 1)" "$(wc -l < out.text)" "$name: CSV has as many rows"
done
is "$("$LAGGARD" sql tiny.db cells --format jsonl | jq -s -c 'map(.label)')" '["scheme=ps-sync","scheme=ring"]' "cells: what the view has"
is "$("$LAGGARD" sql tiny.db "$("$LAGGARD" sql tiny.db trials --print)" | wc -l)" 5 "a canned query can be printed, and run as a free one"
is "$("$LAGGARD" sql tiny.db "SELECT 1 AS a, NULL AS b, 2.5 AS c, 'x,\"y' || char(10) || 'z' AS d, '' AS e, 9e999 AS f" --format csv)" 'a,b,c,d,e,f
1,,2.5,"x,""y
z","",' "CSV: NULL is nothing, an empty text is quoted, lines stay in their field"
is "$("$LAGGARD" sql tiny.db "SELECT 9007199254740993 AS big, 9007199254740992 AS exact, 9e999 AS f, CAST(x'61ff' AS TEXT) AS t" --format jsonl)" '{"big":"9007199254740993","exact":9007199254740992,"f":null,"t":"a�"}' "JSON Lines: nothing that a reader would round, no infinity, UTF-8"
is "$("$LAGGARD" sql tiny.db "SELECT 'a' AS x, 10 AS number UNION ALL SELECT 'bcd' || char(27), 7")" 'x     number
a         10
bcd        7' "a table: numbers flush right, and nothing that a terminal obeys"
refused() { # refused NAME CODE ERE ARGUMENT...
    name=$1 code=$2 pattern=$3
    shift 3
    "$LAGGARD" sql "$@" > out.text 2> err.text
    is "$?" "$code" "$name: exit code $code"
    like "$(cat err.text)" "$pattern" "$name: the sentence"
    is "$(wc -c < out.text)" 0 "$name: no result"
}
sum=$(sha256sum < tiny.db)
refused "a change" 2 "no query that reads" tiny.db "DELETE FROM trial"
refused "a pragma that changes" 2 "no query that reads|SQLite" tiny.db "PRAGMA user_version = 7"
refused "another file" 2 "no query that reads" tiny.db "ATTACH 'new.db' AS n"
refused "two queries" 2 "more than one" tiny.db "SELECT 1; SELECT 2"
refused "nothing" 2 "no query that reads" tiny.db " "
refused "a mistake" 2 "near \"selct\"" tiny.db "selct 1"
refused "a table that is not there" 2 "no such table: x" tiny.db "SELECT * FROM x"
refused "what fails when rows come" 2 "gave this query up: integer overflow" tiny.db "SELECT abs(-9223372036854775808)"
refused "a text that is no JSON" 2 "gave this query up: malformed JSON" tiny.db "SELECT json_extract('{', '$')"
refused "a function that loads code" 2 "gave this query up: not authorized" tiny.db "SELECT load_extension('x')"
refused "too much for a value" 2 "gave this query up: string or blob too big" tiny.db "SELECT zeroblob(9999999999)"
refused "a parameter" 2 "this query has 1 parameter " tiny.db "SELECT ?1"
refused "an unknown name" 2 "'celss', did you mean 'cells'[?] .laggard sql DB. lists them" tiny.db celss
refused "a format of no query" 2 "sql: --format is about a query, and none is asked: name one, such as cells" tiny.db --format csv
refused "the text of no query" 2 "sql: --print is about a query" tiny.db --print
refused "a view by its name" 2 "'rounds' is no canned query, but a table or view: laggard sql tiny.db .SELECT \* FROM rounds.$" tiny.db rounds
refused "a view that is misspelt" 2 "no such table: trails, did you mean 'trials'[?] .laggard sql DB columns. lists" tiny.db "SELECT * FROM trails"
refused "a column that is misspelt" 2 "no such column: t\.shceme, did you mean 'scheme'[?]" tiny.db "SELECT t.shceme FROM cells t"
refused "a table that nobody means" 2 "no such table: zzzzz; .laggard sql DB columns. lists" tiny.db "SELECT * FROM zzzzz"
refused "no database" 2 "there is no database" none.db cells
is "$(ls) $(sha256sum < tiny.db)" "csv.text
err.text
out.text
tiny.db
tiny.yaml $sum" "nothing is changed, nothing is made"
numbers="WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) SELECT i FROM n"
{ "$LAGGARD" sql tiny.db "$numbers" --format csv 2> "$SCRATCH/err.text"; echo $? > "$SCRATCH/status"; } | head -n 1 > "$SCRATCH/first"
is "$(cat "$SCRATCH/status" "$SCRATCH/first" "$SCRATCH/err.text" | tr -d '\r' | tr '\n' ' ')" "141 i " "a reader that has seen enough is no error to be told of"
# Which of the files is one too many is SQLite's business; whichever it is, the sentence says why it could not be opened.
for files in 4 5 6 7 8; do
    rm -f few.db*
    (ulimit -n $files && exec "$LAGGARD" run tiny.yaml --db few.db --quiet) 2>&1 > /dev/null | grep 'unable to open'
done > err.text
is "$(($(wc -l < err.text) > 0)) $(grep -vc 'unable to open database file: Too many open files' err.text)" "1 0" "a database that cannot be opened: why" "$(cat err.text)"
cd "$OLDPWD" || exit 1
finish
