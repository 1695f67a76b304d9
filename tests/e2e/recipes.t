#!/bin/sh
# recipes.t: TAP. The recipes of docs/outside-programs.md, as they are printed there. Each needs other people's programs, which
# `make check-recipes` installs; a recipe whose programs are not here is skipped.
. "$(dirname "$0")/lib.sh"
can_emulate || skip_all "this host cannot emulate"

before=$(leftovers)
PATH=$SCRATCH:$PATH # where the recipes' own programs are found
skip() { # skip REASON
    tap_number=$((tap_number + 1))
    echo "ok $tap_number # SKIP $1 (make check-recipes installs it)"
}
run() { # run NAME: docs/recipes/NAME.yaml into NAME.db; leaves the exit code in $code
    "$LAGGARD" run "docs/recipes/$1.yaml" --db "$SCRATCH/$1.db" --quiet > "$SCRATCH/$1.out" 2> "$SCRATCH/$1.log"
    code=$?
}
ask() { # ask NAME SQL
    query "$SCRATCH/$1.db" "$2"
}

# 1. iperf3: what TCP carries is what the links' framing leaves of their rate, on a busy host a little less, and never more.
if command -v iperf3 >/dev/null; then
    run iperf3
    is $code 0 "iperf3 runs as a workload"
    for rate in 20 100; do
        goodput=$(ask iperf3 "SELECT json_extract(stdout, '\$.end.sum_received.bits_per_second') FROM processes WHERE node_name = 'w1' AND label LIKE '%=${rate}mbit'")
        verdict=$(ask iperf3 "SELECT fidelity FROM trials WHERE label LIKE '%=${rate}mbit'")
        # On a host of which the trial itself says that it was too busy, less is no fault.
        awk -v found="$goodput" -v limit=$((rate * 1000000 * 1448 / 1514)) -v verdict="$verdict" \
            'BEGIN { exit !(found > (verdict == "faithful" ? 0.9 * limit : 0) && found < 1.02 * limit) }'
        ok $? "iperf3 over $rate Mbit/s finds the goodput that Ethernet's framing leaves" "found: $goodput bit/s, $verdict"
    done
    output=$("$LAGGARD" exec docs/studies/ring-or-server/campaign.yaml --quiet -- sh -c '
        case $LAGGARD_RANK in
        0) exec iperf3 --server --one-off ;;
        1) until iperf3 --client "${LAGGARD_PEERS%%,*}" --time 3 --format k; do sleep 0.1; done ;;
        esac' 2>&1)
    is $? 0 "iperf3 runs by hand"
    printf '%s\n' "$output" | awk '/^w1:.* receiver$/ { kbit = $(NF - 2) } END { exit !(kbit > 0 && kbit < 1.02 * 1e6 * 1448 / 1514) }'
    ok $? "and finds no more than the link's rate" "$output"
else
    skip "iperf3 is not installed"
fi

# 2. Gloo, with rounds reported by every rank, beside our own ring.
if [ -e /usr/include/gloo/allreduce.h ] && command -v g++ >/dev/null; then
    output=$(g++ -std=c++17 -O2 -Wall -Wextra -Werror tests/peers/gloo_allreduce.cc -o "$SCRATCH/gloo_allreduce" -lgloo -pthread 2>&1)
    ok $? "the Gloo program builds" "$output"
    sed 's/^repeats: .*/repeats: 1/' docs/recipes/gloo.yaml > "$SCRATCH/gloo.yaml"
    "$LAGGARD" run "$SCRATCH/gloo.yaml" --db "$SCRATCH/gloo.db" --quiet > /dev/null 2> "$SCRATCH/gloo.log"
    is $? 0 "Gloo's sums are right on every rank"
    is "$(ask gloo "SELECT scheme, workers, status, round_count, round_time_p50_ns > 0 FROM trials ORDER BY scheme, workers")" \
        "exec 2 finished 22 1
exec 4 finished 22 1
ring 2 finished 22 1
ring 4 finished 22 1" "Gloo's rounds stand beside our ring's"
    is "$(ask gloo "SELECT count(*), count(DISTINCT node) FROM round_held h JOIN trial USING (trial_id) JOIN cell c USING (cell_id) WHERE c.scheme = 'exec' AND c.workers = 4")" \
        "88 4" "every rank reports"
    # Each rank of n sends at least 2 (n - 1) / n of the bytes, 22 times; a ring cannot do with less.
    is "$(ask gloo "SELECT count(*) FROM links l JOIN trials t USING (trial) WHERE t.scheme = 'exec' AND t.workers = 4 AND l.direction = 'forward' AND l.carried_bytes >= 22 * 1048576 * 1.5")" \
        4 "its bytes crossed the emulated links"
else
    skip "libgloo-dev is not installed"
fi

# 3. Open MPI, whose mpirun starts the ranks from w0's node.
if command -v mpicc >/dev/null && command -v mpirun >/dev/null; then
    output=$(mpicc -std=gnu17 -O2 -Wall -Wextra -Werror tests/peers/mpi_allreduce.c -o "$SCRATCH/mpi_allreduce" 2>&1)
    ok $? "the MPI program builds" "$output"
    cp docs/recipes/open-mpi.sh "$SCRATCH/" && sed 's/^repeats: .*/repeats: 1/' docs/recipes/open-mpi.yaml > "$SCRATCH/open-mpi.yaml"
    PATH=$(dirname "$LAGGARD"):$PATH "$LAGGARD" run "$SCRATCH/open-mpi.yaml" --db "$SCRATCH/open-mpi.db" --quiet > /dev/null 2> "$SCRATCH/open-mpi.log"
    is $? 0 "Open MPI's sums are right on every rank"
    is "$(ask open-mpi "SELECT cell, status, round_count, round_time_p50_ns > 0 FROM trials ORDER BY cell")" "0 finished 22 1
1 finished 22 1" "its rounds are reported"
    is "$(ask open-mpi "SELECT count(*) FROM links l JOIN trials t USING (trial) WHERE t.cell = 1 AND l.direction = 'forward' AND l.carried_bytes BETWEEN 22 * 1048576 * 1.33 AND 22 * 1048576 * 2")" \
        3 "its ring sends over each emulated link what a ring of three must"
else
    skip "openmpi-bin or libopenmpi-dev is not installed"
fi

is "$(settles_to "$before")" "$before" "nothing is left"
finish
