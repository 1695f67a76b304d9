#!/bin/sh
# samples.t: TAP. sample_every: counters of links, nodes and the host while rounds run; without it, none.
. "$(dirname "$0")/lib.sh"
"$LAGGARD" doctor 2>&1 | grep -q "^yes  tbf" || skip_all "this host cannot shape links"

# Six rounds of 60 ms at least, however fast the host: ten looks.
cat > "$SCRATCH/campaign.yaml" <<'Y'
name: samples
topology: {shape: star, link: {rate: 100mbit}}
workload: {model: synthetic, size: 100KB, rounds: 5}
compute: {time: {distribution: constant, value: 60ms}}
scheme: ps-sync
workers: 2
matrix: {sample_every: [off, 30ms]}
Y
db=$SCRATCH/samples.db
"$LAGGARD" run "$SCRATCH/campaign.yaml" --db "$db" --quiet >/dev/null 2>"$SCRATCH/stderr"
is "$?$(cat "$SCRATCH/stderr")" 0 "a campaign with and without samples runs"
is "$(query "$db" "SELECT group_concat(DISTINCT cell) FROM samples")" 1 "there are samples where they are asked for, and nowhere else"
is "$(query "$db" "SELECT count(DISTINCT link_name), count(DISTINCT direction), count(DISTINCT node_name), count(pressure_some_ratio) > 0 OR NOT EXISTS (SELECT 1 FROM trials WHERE pressure_some_ratio IS NOT NULL) FROM samples")" "3 2 3 1" \
    "of every direction, every node and the host"
is "$(query "$db" "SELECT min(n) FROM (SELECT count(*) AS n FROM samples WHERE node_name IS NOT NULL GROUP BY node_name)") looks" \
    "$(query "$db" "SELECT max(2, min(n)) FROM (SELECT count(*) AS n FROM samples WHERE node_name IS NOT NULL GROUP BY node_name)") looks" "each node is looked at again and again"
is "$(query "$db" "SELECT min(at_ns) >= 30000000, max(at_ns) <= (SELECT max(duration_ns) + 60000000000 FROM trials) FROM samples")" "1 1" \
    "from the first interval to the end, which a busy controller hears of late"
is "$(query "$db" "SELECT count(*) FROM samples a JOIN samples b USING (trial, link_name, direction) WHERE a.at_ns < b.at_ns AND a.carried_bytes > b.carried_bytes")" 0 \
    "what was carried only grows"
is "$(query "$db" "SELECT count(*) FROM samples s JOIN links l USING (trial, link_name, direction) WHERE s.carried_bytes > l.carried_bytes")" 0 "to what the trial counts"
is "$(query "$db" "SELECT DISTINCT connection_count FROM samples WHERE node_name = 's0'")" 2 "the server has a connection to each worker"
finish
