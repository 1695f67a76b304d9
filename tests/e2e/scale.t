#!/bin/sh
# scale.t: TAP. A thousand nodes in one trial: brought up, trained, taken down; what they take grows with their number, and no faster. Nothing
# here depends on how fast this host is.
. "$(dirname "$0")/lib.sh"
can_emulate || skip_all "this host cannot emulate"
before=$(leftovers)

campaign() { # campaign WORKERS: a star, each worker and the one server with a shaped link to the router
    cat <<Y
name: scale
topology: {shape: star, link: {rate: 1gbit}}
workload: {model: synthetic, size: 4KB, rounds: 3}
scheme: ps-sync
workers: $1
trial_deadline: 120s
Y
}
campaign 3 > "$SCRATCH/small.yaml"
campaign 999 > "$SCRATCH/large.yaml"
"$LAGGARD" run "$SCRATCH/small.yaml" --db "$SCRATCH/small.db" --quiet > "$SCRATCH/out" 2>&1
ok $? "3 workers and a server" "$(cat "$SCRATCH/out")"
"$LAGGARD" run "$SCRATCH/large.yaml" --db "$SCRATCH/large.db" --quiet > "$SCRATCH/out" 2>&1
status=$?
[ $status != 3 ] || skip_all "$(tail -n 1 "$SCRATCH/out")"
ok $status "999 workers and a server" "$(cat "$SCRATCH/out")"
large() {
    query "$SCRATCH/large.db" "$1"
}
is "$(large "SELECT status, (SELECT count(*) FROM node WHERE role <> 'router') FROM trials")" "finished 1000" "the trial of a thousand nodes is finished"
is "$(large "SELECT round_count FROM trials")" 3 "all rounds are there"
is "$(large "SELECT count(*), min(check_count > 0), sum(check_failure_count) FROM node_counter JOIN node USING (trial_id, node) WHERE role = 'worker'")" \
    "999 1 0" "every worker checked the mean and found it exact"
is "$(large "SELECT count(*), sum(unasked_drop_count) FROM links")" "2000 0" "every direction of every link is read back and counted; nothing was lost unasked"
is "$(large "SELECT setup_ns > fabric_ns AND fabric_ns > 0 AND teardown_ns > 0 FROM trials")" 1 "set-up and teardown are timed"

# A worker's own memory: a line of the roster a node more, not a connection's worth.
small=$(query "$SCRATCH/small.db" "SELECT max(private_bytes) FROM node_counter JOIN node USING (trial_id, node) WHERE role = 'worker'")
large=$(large "SELECT max(private_bytes) FROM node_counter JOIN node USING (trial_id, node) WHERE role = 'worker'")
[ "$large" -lt $((small + 996 * 512)) ]
ok $? "a worker among 999 takes at most half a kilobyte more for each other node" "among 3: $small bytes, among 999: $large"
is "$(settles_to "$before")" "$before" "nothing is left"
finish
