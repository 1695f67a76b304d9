#!/bin/sh
# pages.t: TAP. The examples of docs/gate.md and docs/database.md that need no testbed: what a reader types there runs, and answers as the page
# says. (history.t has those of the section History; tests/check-sql those of docs/sql.md.)
. "$(dirname "$0")/lib.sh"
docs=$PWD/docs
cd "$SCRATCH" || exit 1

block() { # block PAGE SECTION KIND NUMBER: the fenced block of that kind, counted in the section; "" and 0: what is indented
    awk -v section="## $2" -v kind="$3" -v number="$4" '/^## / { inside = $0 == section } !inside { next }
        /^```/ { if (fence == "") { fence = substr($0, 4); seen[fence]++ } else fence = ""; next }
        kind != "" && fence == kind && seen[kind] == number { print } kind == "" && fence == "" && sub(/^    /, "") { print }' "$docs/$1"
}
type_in() { # type_in PAGE SECTION NUMBER: as a reader does
    PATH=${LAGGARD%/*}:$PATH sh -eu -c "$(block "$1" "$2" sh "$3")" > out.text 2> err.text
    ok $? "$1, $2: block $3 runs" "$(cat err.text)"
}

block gate.md "Arms or a baseline" yaml 1 > usual.yaml
type_in gate.md "Arms or a baseline" 1
like "$(tail -n 1 out.text)" "^campaign usual \(1\) against usual \(1\) of old\.db: 2 pass$" "and the gate compares two campaigns"
type_in gate.md "Arms or a baseline" 2
is "$(grep -c 'main  *v1\.0 ' out.text) $(tail -n 1 out.text)" "1 campaign usual (1) against usual (1) of old.db: 2 pass" "and takes the baseline of a revision"

block database.md Events yaml 1 > train.yaml
type_in database.md Events 1
is "$(cat out.text)" "$(block database.md Events "" 0)" "and answers as the page says"
cd "$OLDPWD" || exit 1
finish
