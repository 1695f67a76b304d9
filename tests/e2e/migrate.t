#!/bin/sh
# migrate.t: TAP. laggard migrate: a file of schema version 1 is refused by every command with the one that helps, keeps every row of its own, is
# asked like a new one afterwards, and stands beside it as it was; when it cannot be migrated, nothing has changed.
. "$(dirname "$0")/lib.sh"
golden=$PWD/tests/golden
cd "$SCRATCH" || exit 1
sqlite3 old.db < "$golden/version-1.sql"
cp old.db was.db
cat > tiny.yaml <<'Y'
name: tiny
world: virtual
workload: {model: synthetic, size: 10KB, rounds: 5}
compute: {time: {distribution: exponential, mean: 5ms}}
matrix: {scheme: [ps-sync], workers: [2]}
Y
"$LAGGARD" run tiny.yaml --db new.db --quiet > /dev/null
refused() { # refused CODE COMMAND...
    code=$1
    shift
    "$LAGGARD" "$@" > out.text 2> err.text
    is "$? $(grep -c 'schema version 1, and this one has version 2; bring it there with `laggard migrate' err.text) $(wc -l < err.text)" "$code 1 1" "$1"
}
refused 2 sql old.db cells
refused 2 report old.db
refused 2 gate old.db
refused 2 history old.db
refused 2 export old.db --format csv
refused 2 plot old.db round-time
refused 2 merge new.db old.db
refused 3 merge old.db new.db
refused 3 run tiny.yaml --db old.db
refused 2 baselines set old.db
is "$(cmp old.db was.db) $(ls)" " err.text
new.db
old.db
out.text
tiny.yaml
was.db" "nothing was written"

# Whoever changes a table raises the version, looks at the list `added` in results/migrate.c, and writes the new version's list of columns.
version=$(query new.db "PRAGMA user_version")
columns=$(query new.db "SELECT t.name || '.' || c.name, c.type, c.\"notnull\" FROM sqlite_schema t JOIN pragma_table_info(t.name) c WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%' ORDER BY 1")
is "$(echo "$columns" | diff "$golden/schema-version-$version.txt" - | head -n 5)" "" "the tables of version $version are those of tests/golden/schema-version-$version.txt"

# what both versions have, and what a version-1 file could be asked
content() {
    for table in campaign cell cell_setting node link link_readback link_counter round round_held span evaluation environment_fact; do
        echo "$table"
        query "$1" "SELECT * FROM $table ORDER BY 1, 2, 3"
    done
    query "$1" "SELECT trial, label, arm, block, seed, status, fidelity, fidelity_reason, digest, round_time_mean_ns, round_time_p99_ns, prediction_ratio FROM trials ORDER BY trial;
        SELECT label, trials, round_time_p50_ns, fidelity FROM cells ORDER BY label; SELECT trial_id, metric_id, value FROM trial_metric ORDER BY 1, 2"
}
chmod 600 old.db
is "$("$LAGGARD" migrate old.db 2>&1) $?" "old.db: schema version 1 to 2, 1 campaign and 4 trials; as it was it is at old.db.v1 0" "migrated"
is "$(cmp old.db.v1 was.db)$? $(stat -c %a old.db old.db.v1 | tr '\n' ' ')" "0 600 600 " "as it was it is kept, and nobody else may read either file"
content was.db > before.text
content old.db > after.text
is "$(diff before.text after.text | head -n 5) $(grep -c . < after.text | tr -d 0-9)" " " "every row is there"
is "$(query old.db "PRAGMA integrity_check; PRAGMA user_version; SELECT count(*) FROM pragma_foreign_key_check; SELECT group_concat(version) FROM schema_migration" | tr '\n' ' ')" \
    "ok 2 0 1,2 " "and sound"
is "$(query old.db "SELECT group_concat(sql, ';') FROM (SELECT sql FROM sqlite_schema ORDER BY name)" | sha256sum)" \
    "$(query new.db "SELECT group_concat(sql, ';') FROM (SELECT sql FROM sqlite_schema ORDER BY name)" | sha256sum)" "its tables, views and indexes are a new file's"
is "$(query old.db "SELECT sum(span_count), sum(duration_ns), sum(moved_bytes) FROM span_totals")" \
    "$(query was.db "SELECT count(*), sum(end_ns - begin_ns), sum(moved_bytes) FROM span JOIN trial USING (trial_id) WHERE round >= warmup_round_count")" \
    "spans are summed up"
is "$(query old.db "SELECT trial, node_name, compute_mean_ns FROM workers ORDER BY 1, 2")" \
    "$(query was.db "SELECT trial_id, node.name, CAST(round(avg(end_ns - begin_ns)) AS INTEGER) FROM span JOIN trial USING (trial_id) JOIN node USING (trial_id, node)
        WHERE kind = 0 AND role = 'worker' AND round >= warmup_round_count GROUP BY 1, 2 ORDER BY 1, 2")" "and workers compared"
is "$("$LAGGARD" migrate old.db 2>&1) $?" "old.db has schema version 2 already 0" "once is enough"
for command in "sql old.db where-time-went" "report old.db -o page.html" "history old.db" "export old.db --format csv" "merge new.db old.db"; do
    # shellcheck disable=SC2086 # options and their values
    is "$("$LAGGARD" $command 2>&1 > out.text) $?" " 0" "now: $command"
done

# a campaign that was killed, and what a migration that was killed has left
cp was.db killed.db
query killed.db "UPDATE trial SET status = 'running', fidelity = NULL, fidelity_reason = NULL WHERE trial_id = 4"
echo "half a file" > killed.db.migrating
is "$("$LAGGARD" migrate killed.db 2>&1) $?" "killed.db: schema version 1 to 2, 1 campaign and 4 trials; as it was it is at killed.db.v1 0" "of a killed campaign"
"$LAGGARD" run tiny.yaml --db killed.db --quiet > /dev/null 2>&1
is "$? $(query killed.db "SELECT status FROM trial WHERE trial_id = 4") $(ls killed.db*  | tr '\n' ' ')" "0 interrupted killed.db killed.db.v1 " "whose trial the next run marks"

# what cannot be migrated stays as it was
stays() { # stays NAME CODE ERE DB
    before=$(sha256sum "$4" 2>/dev/null)
    said=$("$LAGGARD" migrate "$4" 2>&1)
    code=$?
    like "$code $said" "^$2 laggard: error: .*$3" "$1"
    is "$(sha256sum "$4" 2>/dev/null)$(ls "$4".* 2>/dev/null)" "$before${5:-}" "$1: nothing has changed"
}
cp was.db taken.db && echo precious > taken.db.v1
stays "the copy's name is taken" 2 "'taken.db.v1', where it would be kept as it is, is there already" taken.db taken.db.v1
cp was.db orphans.db && query orphans.db "DELETE FROM cell WHERE cell_id = 2"
stays "rows without the rows they belong to" 3 "rows belong to rows that are not there" orphans.db
for node in -1 99999999; do
    cp was.db nodes.db && query nodes.db "UPDATE span SET node = $node WHERE span_id = 3"
    stays "a span of node $node" 3 "belongs to node $node, which no network has" nodes.db
done
cp was.db metrics.db && query metrics.db "UPDATE metric SET name = 'other' WHERE metric_id = 3"
stays "metrics of another program" 3 "1 of its metrics" metrics.db
root=$(query was.db "SELECT rootpage FROM sqlite_schema WHERE name = 'span'") size=$(query was.db "PRAGMA page_size")
cp was.db damaged.db
dd if=/dev/zero of=damaged.db bs="$size" seek=$((root - 1)) count=1 conv=notrunc 2> /dev/null
stays "a damaged file" 3 "cannot migrate 'damaged.db', which is as it was: the database 'damaged.db' is damaged \(.+\); restore it" damaged.db
head -c 20000 was.db > short.db
stays "a truncated file" 3 "short.db" short.db
head -c 20000 new.db > cut.db
stays "a truncated file of this version" 3 "cut.db" cut.db
seq 100 > text.db
stays "what is no database" 2 "not an SQLite file" text.db
stays "no file" 2 "there is no database" none.db
cp was.db newer.db && query newer.db "PRAGMA user_version = 99"
stays "a newer version" 2 "use a newer laggard" newer.db

# a link: what it leads to is migrated, where it lies
mkdir far && cp was.db far/old.db && ln -s far/old.db led.db
"$LAGGARD" migrate led.db > out.text 2> err.text
is "$?$(cat err.text) $(readlink led.db) $(query far/old.db "PRAGMA user_version") $(ls far | tr '\n' ' ')" "0 far/old.db $version old.db old.db.v1 " "through a link"
is "$(cmp far/old.db.v1 was.db)$?" 0 "as it was it lies beside the file, not beside the link"
cd "$OLDPWD" || exit 1
finish
