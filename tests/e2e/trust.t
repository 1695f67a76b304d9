#!/bin/sh
# trust.t: TAP. What laggard does to the host that it runs on: it starts no shell, and writes nothing through a link that somebody else made.
. "$(dirname "$0")/lib.sh"
without_leak_search
golden=$PWD/tests/golden
cd "$SCRATCH" || exit 1
cat > tiny.yaml <<'Y'
name: tiny
world: virtual
topology: {link: {rate: 100mbit, delay: 1ms}}
workload: {model: synthetic, size: 10KB, rounds: 3}
compute.time: {distribution: constant, value: 2ms}
scheme: ring
workers: 2
Y
sed '/^world/d' tiny.yaml > emulated.yaml
echo 'message_cost: 30us' >> emulated.yaml

# ---- no shell ----
started() { # started COMMAND...: the programs that it starts, besides itself
    strace -f -qq -e trace=execve,execveat -o trace "$@" > /dev/null 2>&1
    grep -oE 'execve(at)?\("[^"]*"' trace | tail -n +2 | sed 's|.*/||; s/"$//' | sort -u | tr '\n' ' '
}
if command -v strace > /dev/null && strace -o trace true 2> /dev/null; then
    is "$(started "$LAGGARD" run tiny.yaml --db t.db --quiet)" "" "run, in the virtual world: no program is started"
    is "$(started "$LAGGARD" export t.db -o t.csv)$(started "$LAGGARD" report t.db --no-plots -o t.html)" "" "export and report: no program is started"
    if can_emulate; then
        is "$(started "$LAGGARD" run emulated.yaml --db e.db --quiet)" "laggard-agent " "run: the agent program and no other"
    fi
else
    ok 0 "# skip strace is not installed, or may not trace here"
fi

# ---- links ----
rm -f t.db* t.csv t.html e.db*
"$LAGGARD" run tiny.yaml --db mine.db --quiet > /dev/null 2>&1
for mask in 000 022 077; do
    rm -f mine.db t.csv
    (umask $mask && "$LAGGARD" run tiny.yaml --db mine.db --quiet && "$LAGGARD" export mine.db -o t.csv) > /dev/null 2>&1
    is "$(stat -c %a mine.db t.csv | tr '\n' ' ')" "$(printf '%o %o ' $((0644 & ~0$mask)) $((0644 & ~0$mask)))" "umask $mask: nobody else may write to what is made"
done
ln -s own-target.csv own.csv
echo before > own-target.csv
"$LAGGARD" export mine.db -o own.csv > /dev/null 2>&1
is "$? $(readlink own.csv) $(grep -c before own-target.csv)" "0 own-target.csv 0" "one's own link stays a link, and what it leads to is written"
if [ "$(id -u)" = 0 ]; then
    echo before > precious
    for kind in precious absent; do
        rm -f planted
        ln -s "$kind" planted
        chown -h 1234 planted
        "$LAGGARD" run tiny.yaml --db planted --quiet > /dev/null 2> err.text
        is "$?" 3 "run --db: another user's link ($kind): exit code 3"
        like "$(cat err.text)" "cannot write 'planted': it is a link that user 1234 made" "and why"
        "$LAGGARD" export mine.db -o planted > /dev/null 2>&1
        is "$?" 3 "export -o: exit code 3"
        "$LAGGARD" report mine.db --no-plots -o planted > /dev/null 2>&1
        is "$?" 3 "report -o: exit code 3"
        is "$(cat precious)$(ls absent 2> /dev/null)" before "what it leads to is untouched"
        is "$(readlink planted)" "$kind" "and so is the link"
    done
    rm -f planted
    sqlite3 old.db < "$golden/version-1.sql"
    ln -s old.db planted
    chown -h 1234 planted
    "$LAGGARD" migrate planted > /dev/null 2> err.text
    is "$? $(query old.db "PRAGMA user_version") $(ls old.db*)" "3 1 old.db" "migrate: another user's link: exit code 3, and nothing is migrated"
    like "$(cat err.text)" "cannot write 'planted': it is a link that user 1234 made" "and why"
    rm -f planted old.db
    for ending in wal journal; do
        echo log > "mine.db-$ending"
        chown 1234 "mine.db-$ending"
        "$LAGGARD" report mine.db --no-plots -o t.html > /dev/null 2> err.text
        is "$?" 3 "report: another user's -$ending beside a database: exit code 3"
        like "$(cat err.text)" "user 1234, who may not write to it, has made '.*mine.db-$ending'" "and why"
        "$LAGGARD" run tiny.yaml --db mine.db --quiet > /dev/null 2>&1
        is "$? $(cat "mine.db-$ending")" "3 log" "run --db: exit code 3, and it is untouched"
        rm -f "mine.db-$ending"
    done
else
    ok 0 "# skip only root can make another user's link"
fi
cd "$OLDPWD" || exit 1
finish
