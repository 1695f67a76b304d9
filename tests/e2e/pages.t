#!/bin/sh
# pages.t: TAP. The examples of pages: what a reader types there runs, and answers as the page says. Whole pages (docs/tutorial.md,
# docs/how-to.md) are walked through from the first section to the last; of docs/gate.md and docs/database.md the examples that need no testbed.
# (history.t has those of the section History; tests/check-sql those of docs/sql.md.)
. "$(dirname "$0")/lib.sh"
root=$PWD docs=$PWD/docs
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

# A page's section in its order, in one folder: `yaml` is saved under the name in front of it ("Saved as `x.yaml`:"), and so is `c`; `sh` is typed
# in; `text` is what the last `sh` printed, to the letter; what is indented depends on the host, and is not compared. A `sh` that begins with
# `# emulated` is left out on a host that cannot.
walk() { # walk PAGE SECTION
    rm -rf blocks
    mkdir blocks
    awk -v section="## $2" '/^## / { inside = $0 == section } !inside { next }
        /^```/ { if (fence == "") { fence = substr($0, 4); file = sprintf("blocks/%03d.%s", ++number, fence); print name > (file ".name"); printf "" > file } else fence = name = ""; next }
        fence != "" { print > file; next }
        match($0, /`[^` ]+`:$/) { name = substr($0, RSTART + 1, RLENGTH - 3); next } NF { name = "" }' "$docs/$1"
    for file in blocks/*; do
        name=$(cat "$file.name" 2>/dev/null)
        case $file in
        *.yaml | *.c) [ -z "$name" ] || cp "$file" "$name" ;;
        *.sh)
            if [ "$(head -n 1 "$file")" = "# emulated" ] && ! can_emulate; then
                ok 0 "# skip laggard doctor says why this host cannot emulate: $1, $2: $(sed -n 2p "$file")"
                continue
            fi
            PATH=${LAGGARD%/*}:$PATH timeout 120 sh -eu -c "$(cat "$file")" > out.text 2> err.text < /dev/null
            ok $? "$1, $2: $(grep -v -m 1 "^#" "$file")" "$(cat err.text)"
            ;;
        *.text) is "$(cat out.text)" "$(cat "$file")" "$1, $2: and answers as the page says" ;;
        esac
    done
}
walk_page() { # walk_page PAGE SECTION...: but for these sections
    page=$1
    shift
    sed -n 's/^## //p' "$docs/$page" > sections.text
    for section in "$@"; do
        grep -vxF "$section" sections.text > left.text
        mv left.text sections.text
    done
    while read -r section <&3; do
        walk "$page" "$section"
    done 3< sections.text
}

emulated="The same in an emulated network"
mkdir first
cd first || exit 1
walk_page tutorial.md "Before you begin" "$emulated" # it begins with `make`
if can_emulate; then
    walk tutorial.md "$emulated"
    is "$(query emulated.db "SELECT count(*) FROM trials WHERE status = 'finished'")" 12 "and all trials of the emulated network finish"
else
    ok 0 "# skip laggard doctor says why this host cannot emulate: tutorial.md, $emulated was not typed in"
fi
like "$(head -c 100 first.html)" "<!DOCTYPE html>" "and the report is a page"
cd .. || exit 1

mkdir answers
cc -shared -fPIC -I"$root" -I"$root/harness" -o answers/hub.so "$root/docs/examples/hub.c" 2> err.text
ok $? "the page's scheme is compiled" "$(cat err.text)" # the page says where an installed one finds its headers
cd answers || exit 1
walk_page how-to.md
cd .. || exit 1

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
