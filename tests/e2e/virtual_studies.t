#!/bin/sh
# virtual_studies.t: TAP. The studies of docs/studies/ that run in the virtual world, shortened: what their own queries find is within four standard
# errors of what is expected.
. "$(dirname "$0")/lib.sh"
studies=docs/studies

run_study() { # run_study NAME FILE SED-ARGUMENT...: a campaign with these changes, into $SCRATCH/NAME.db
    name=$1 file=$2
    shift 2
    sed "$@" "$studies/$file" > "$SCRATCH/$name.yaml"
    "$LAGGARD" run "$SCRATCH/$name.yaml" --db "$SCRATCH/$name.db" --quiet >/dev/null 2>"$SCRATCH/stderr"
    is "$?$(cat "$SCRATCH/stderr")" 0 "$name: the campaign runs without privilege"
}
asked() { # asked NAME FILE: what a study's own query finds, a line of comma-separated values a row
    "$LAGGARD" sql "$SCRATCH/$1.db" "$(cat "$studies/$2")" --format csv | tail -n +2
}
# The column is the position of standard_errors. No rows would be no success.
within_four() { # within_four NAME FILE COLUMN ROWS WHAT
    out=$(asked "$1" "$2")
    is "$(printf '%s\n' "$out" | awk -F, -v c="$3" '$c != "" && $c <= 4 && $c >= -4 { n++ } END { print n + 0 }')" "$4" "$1: $5" "$out"
}

run_study fan-out fan-out/campaign.yaml -e 's/^repeats: .*/repeats: 1/' -e 's/rounds: .*/rounds: 400/'
within_four fan-out fan-out/table.sql 5 4 "the slowest of 1, 10, 100 and 1,000 leaves takes as long as it should"
is "$(asked fan-out fan-out/table.sql | awk -F, '$7 > 0.8 * $6 && $7 < 1.2 * $6' | wc -l)" 4 "fan-out: it scatters as it should"
is "$(query "$SCRATCH/fan-out.db" "SELECT (SELECT count(*) FROM round_held) + (SELECT count(*) FROM gradient), count(*) FROM round")" "0 1600" \
    "fan-out: rounds are stored, rows of nodes are not"
ok "$([ "$(asked fan-out fan-out/plot.sql | wc -l)" -gt 10 ]; echo $?)" "fan-out: the plot has its rows"

run_study arrival-order arrival-order/campaign.yaml -e 's/rounds: .*/rounds: 250/'
within_four arrival-order arrival-order/table.sql 6 18 "the k-th of 100 gradients comes when it should"
within_four arrival-order arrival-order/waiting.sql 6 4 "so does the end of rounds that wait for 96 and for all"
is "$(asked arrival-order arrival-order/plot.sql | awk -F, 'sqrt(($2 - $3) ^ 2) < 4 * sqrt($2 * (100 - $2) / 25000)' | wc -l)" 14 \
    "arrival-order: as many are there at 1.05 times the median, and at any time, as should be"
is "$(query "$SCRATCH/arrival-order.db" "SELECT group_concat(DISTINCT n) FROM (SELECT count(*) AS n FROM gradient JOIN trials ON trial = trial_id WHERE scheme = 'k-sync' AND fate = 'used' GROUP BY trial_id, round)")" \
    96 "arrival-order: 96 gradients count"

# Ring or server: the curve shortened, and with constant compute times against closed forms; one packet's time is what two links take more than one.
run_study ring-or-server ring-or-server/virtual.yaml -e 's/workers: \[.*/workers: [2, 8, 64]/' -e 's/rounds: .*/rounds: 20/' -e 's/repeats: .*/repeats: 1/'
is "$(asked ring-or-server ring-or-server/virtual.sql | awk -F, '$4 > 0.98 * $3 && $4 < 1.02 * $3 && $7 > 0.97 * $6 && $7 < 1.02 * $6 && $10 > 0.97 * $9 && $10 < 1.15 * $9' | wc -l)" 3 \
    "ring-or-server: server, ring and halving-doubling take about what is predicted"
is "$(asked ring-or-server ring-or-server/virtual-plot.sql | wc -l)" 9 "ring-or-server: the plot has its rows"
run_study closed-forms ring-or-server/large.yaml -e 's/time: .*/time: {distribution: constant, value: 20ms}/' -e 's/workers: \[.*/workers: [2, 4, 16, 256]/' -e 's/rounds: .*/rounds: 2/'
is "$(query "$SCRATCH/closed-forms.db" "
WITH c AS (SELECT workers AS p, scheme, round_time_mean_ns / 1e6 AS found, 407080.0 AS s, 119551.0 AS b, 0.5 + 1448 / 119551.0 AS a FROM cells)
SELECT count(*) FROM c WHERE abs(found / (20 + CASE
    WHEN scheme = 'ps-sync' THEN 2 * a + 2 * p * s / b
    WHEN scheme = 'halving-doubling' THEN 2 * log2(p) * a + 2 * (p - 1) * s / p / b
    WHEN p = 256 THEN 2 * (p - 1) * (a + s / p / b)
    WHEN p = 2 THEN 2 * (p - 1) * s / p / b + a
    ELSE (2 * p - 3) * (a + s / p / b / 2) + s / p / b + a END) - 1) < 0.005")" 12 "ring-or-server: with equal compute times closed forms hold within 0.5 %"

for file in campaign delay server; do
    run_study slowest-link "slowest-link/$file.yaml" -e 's/rounds: 20/rounds: 8/'
done
is "$(asked slowest-link slowest-link/table.sql | awk -F, '$7 > 0.98 && $7 < 1.02' | wc -l)" 31 "slowest-link: rounds take what their formulas say, within 2 %" \
    "$(asked slowest-link slowest-link/table.sql)"

# Gossip budget: fewer matchings, fewer copies, shorter rounds; models that are mixed more often are better after as many rounds.
cp "$studies/gossip-budget/graph.txt" "$SCRATCH/"
run_study gossip gossip-budget/campaign.yaml -e 's/rounds: .*/rounds: 180/' -e 's/repeats: .*/repeats: 1/'
out=$(asked gossip gossip-budget/table.sql | sed 's/"[^"]*"/scheme/')
is "$(printf '%s\n' "$out" | awk -F, 'NR <= 5 { ok += NR == 1 || ($2 < copies && $4 < took); copies = $2; took = $4 } END { print ok }')" 5 "gossip-budget: the less budget, the fewer copies and the shorter rounds" "$out"
is "$(printf '%s\n' "$out" | awk -F, '{ loss[NR] = $5 } END { print (loss[1] < loss[4]), (loss[4] < loss[5]), (loss[8] < loss[6]) }')" "1 1 1" \
    "gossip-budget: a tenth is worse after as many rounds than a quarter, that than all edges, a ring than the complete graph" "$out"
is "$(printf '%s\n' "$out" | awk -F, '$4 > 0.9 * $3 && $4 < 1.2 * $3' | wc -l)" 8 "gossip-budget: rounds take about what is predicted" "$out"

# A second run into the same file is a second campaign, and every query asks the newest of its study.
before=$(asked gossip gossip-budget/table.sql; asked gossip gossip-budget/reached.sql)
"$LAGGARD" run "$SCRATCH/gossip.yaml" --db "$SCRATCH/gossip.db" --quiet >/dev/null 2>&1
is "$(query "$SCRATCH/gossip.db" "SELECT count(*) FROM campaign") $(asked gossip gossip-budget/table.sql; asked gossip gossip-budget/reached.sql)" "2 $before" \
    "gossip-budget: a second run into the same file changes nothing"
is "$(grep -L 'campaign_id IN newest' "$studies"/*/*.sql)" "" "every study's query asks its newest campaign"

# Drop or backup, of many: who counts, and that rounds get shorter with every worker less that is waited for.
run_study many drop-or-backup/many.yaml -e 's/rounds: .*/rounds: 20/' -e 's/repeats: .*/repeats: 1/' -e 's/record_nodes: .*//' -e 's/\(backups: [124]0\)}/\1, cancel: true}/g'
is "$(query "$SCRATCH/many.db" "SELECT t.workers || ':' || group_concat(DISTINCT n) FROM trials t JOIN (SELECT trial_id, count(*) AS n FROM gradient WHERE fate = 'used' GROUP BY trial_id, round) ON trial_id = trial
    GROUP BY t.cell ORDER BY t.cell" | tr '\n' ' ')" "50:50 50:49 50:48 50:45 50:40 50:30 50:10 100:100 100:99 100:98 100:95 100:90 100:80 100:60 " \
    "many: as many gradients count as are waited for"
is "$(query "$SCRATCH/many.db" "SELECT count(*) FROM cells a JOIN cells b ON b.workers = a.workers AND b.cell = a.cell + 1 AND b.round_time_mean_ns < a.round_time_mean_ns")" 12 \
    "many: the fewer are waited for, the shorter are rounds"
is "$(query "$SCRATCH/many.db" "SELECT count(*) FROM cells WHERE prediction_ratio BETWEEN 0.9 AND 1.1 AND label GLOB '*backups=[124]0*'")" 6 \
    "many: where the late give up, rounds take what their order statistic says"

# Slow and stale: times and staleness against their theorems, bounds from one side; then what it does to a model.
run_study slow-and-stale slow-and-stale/campaign.yaml -e 's/rounds: 300/rounds: 150/' -e 's/repeats: .*/repeats: 8/' -e '/pareto/d'
out=$(asked slow-and-stale slow-and-stale/table.sql)
is "$(printf '%s\n' "$out" | awk -F, '$4 ~ /^= / && $6 <= 4 && $6 >= -4 || $4 ~ /^<= / && $6 <= 4 { n++ } END { print n + 0 }')" 32 \
    "slow-and-stale: updates take what theorems say" "$out"
is "$(printf '%s\n' "$out" | awk -F, '$9 != "" && $9 <= 4 && $9 >= -4 && $8 > $7 - 0.2 && $8 < $7 + 0.2 { n++ } END { print n + 0 }')" 32 \
    "slow-and-stale: staleness is P/K - 1 or (P - 1)/K" "$out"
is "$(asked slow-and-stale slow-and-stale/geometric.sql | awk -F, 'sqrt(($2 - $3) ^ 2) < 4 * sqrt($2 * (100 - $2) / 1200)' | wc -l)" 21 "slow-and-stale: async's is geometric"
run_study training slow-and-stale/training.yaml -e 's/rounds: .*/rounds: 550/' -e 's/repeats: .*/repeats: 1/' -e 's/evaluate_every: .*/evaluate_every: 50/'
is "$(asked training slow-and-stale/training.sql | awk -F, '{ update[$1] = $5 }
    END { print (update["ps-sync"] < update["k-sync(k=1)"]), (update["k-sync(k=1)"] < update["async"]), (update["k-sync(k=4)"] < update["k-sync(k=1)"]) }')" "1 1 1" \
    "slow-and-stale: after as many updates fresh gradients are better than stale ones, and many than few"
run_study mlp slow-and-stale/mlp.yaml -e 's/rounds: .*/rounds: 125/' -e 's/repeats: .*/repeats: 1/'
is "$(asked mlp slow-and-stale/training.sql | awk -F, '{ update[$1] = $4 } END { print (update["ps-sync"] < update["k-sync(k=1)"]), (update["k-sync(k=1)"] < update["async"]) }')" "1 1" \
    "slow-and-stale: so it is with a network"
ok "$([ "$(asked training slow-and-stale/adasync.sql | wc -l)" -ge 2 ]; echo $?)" "slow-and-stale: K of every update is known"

# Local updates: constant compute times against the closed form; behind gradients an all-reduce costs nothing; who averages less often is faster, and whoever takes
# synchronous steps learns as much by them.
run_study local-times local-updates/times.yaml -e 's/rounds: .*/rounds: 200}/' -e 's/warmup_rounds: .*/warmup_rounds: 20/' -e 's/repeats: .*/repeats: 1/'
out=$(asked local-times local-updates/times.sql)
is "$(printf '%s\n' "$out" | awk -F, '$7 != "" && $6 > 0.98 * $7 && $6 < 1.02 * $7 { n++ } END { print n + 0 }')" 5 "local-updates: a period makes as much faster as the formula says" "$out"
is "$(printf '%s\n' "$out" | awk -F, '$1 == "constant" && $2 == "overlap-local-sgd" && $3 >= 5 && $4 == 10 { n++ } END { print n + 0 }')" 3 "local-updates: an all-reduce behind gradients costs nothing" "$out"
run_study local-training local-updates/campaign.yaml -e 's/rounds: .*/rounds: 480/' -e 's/repeats: .*/repeats: 1/'
is "$(query "$SCRATCH/local-training.db" "SELECT count(*), max(loss) - min(loss) < 1e-3 FROM learning_curves WHERE round = 480 AND cell < 3")" "3 1" "local-updates: synchronous schemes learn the same"
is "$(query "$SCRATCH/local-training.db" "SELECT count(DISTINCT t.scheme), min(b.loss < 0.6 * a.loss) FROM learning_curves a JOIN learning_curves b USING (trial) JOIN trials t USING (trial) WHERE a.round = 0 AND b.round = 480")" "8 1" "local-updates: all have learnt"
out=$(asked local-training local-updates/training.sql)
is "$(printf '%s\n' "$out" | awk -F, '$3 != "" && $2 > 0.9 * $3 && $2 < 1.1 * $3 { n++ } END { print n + 0 }')" 9 "local-updates: rounds take what is predicted" "$out"
is "$(asked local-training local-updates/periods.sql | awk -F, 'NR == 1 { print ($2 > 70) }')" 1 "local-updates: adacomm begins with a long period"
# Federated: what the rounds of each take, that they are as predicted, and that SAFA's measures are what they must be.
run_study federated federated-staleness/campaign.yaml -e 's/rounds: .*/rounds: 20/' -e 's/evaluate_every: .*/evaluate_every: 0/' -e 's/batch: .*/batch: 1/' -e 's/^repeats: .*/repeats: 1/' -e 's/\[dirichlet, iid\]/[dirichlet]/'
is "$(query "$SCRATCH/federated.db" "SELECT count(*) FROM cells WHERE prediction_ratio BETWEEN 0.85 AND 1.15")" 4 "federated: without failures fedavg and fedbuff take what is predicted"
is "$(query "$SCRATCH/federated.db" "SELECT group_concat(scheme) FROM (SELECT scheme FROM cells WHERE label NOT LIKE '%dropout%' AND label NOT LIKE '%threshold%' AND label NOT LIKE '%fedavg(period=5)' ORDER BY round_time_mean_ns)")" \
    fedbuff,safa,fedavg "federated: a step of fedbuff is shorter than a round of safa, and that than one of fedavg"
is "$(asked federated federated-staleness/ratios.sql | awk -F, '$2 == "fedavg" && $3 == 0 && $4 == 1 && $5 == 1 && $6 == 0 && $7 == 0 || $2 == "safa" && $4 == 0.5 || $2 ~ /fedbuff/ && $4 == 0.5' | wc -l)" 7 \
    "federated: updates count as often as quotas say" "$(asked federated federated-staleness/ratios.sql)"
is "$(asked federated federated-staleness/table.sql | wc -l)" 10 "federated: the table has its rows"

# A window for everyone: rounds as predicted; the gain on ps-sync is that of the slowest's mean over the window.
run_study anytime anytime/campaign.yaml -e '/shift: 12ms/d' -e '/shift: 1ms/d' -e 's/^  rounds: .*/  rounds: 300/' -e 's/repeats: .*/repeats: 1/' -e 's/{name: k-sync, k: 6}, {name: k-sync, k: 4}, {name: backup, backups: 2}, //'
out=$(asked anytime anytime/table.sql)
is "$(printf '%s\n' "$out" | awk -F, '$(NF - 3) > 0.97 * $(NF - 4) && $(NF - 3) < 1.03 * $(NF - 4) { n++ } END { print n + 0 }')" 4 "anytime: rounds take what is predicted" "$out"
is "$(printf '%s\n' "$out" | awk -F, '/anytime/ && $NF > 1.9 && $NF < 2.3 { n++ } END { print n + 0 }')" 3 "anytime: a window saves what waiting for the slowest costs" "$out"

# Coded or backup: every code has the gradients of ps-sync, and what is waited for is what was predicted.
run_study coded coded-or-backup/campaign.yaml -e 's/rounds: 2000/rounds: 300/' -e 's/repeats: .*/repeats: 1/' -e '/constant/d' -e '/shifted/d' -e '/exponential/d' -e '/ckups: [1289],/d' -e '/stragglers: 2/d'
is "$(asked coded coded-or-backup/table.sql | awk -F, '{ rate[$2] = $6; n++ } END { print n, (rate["ps-sync"] < rate["gradient-coding(stragglers=1)"]) }')" "7 1" \
    "coded-or-backup: with heavy tails a code beats waiting"
is "$(query "$SCRATCH/coded.db" "SELECT count(*) FROM cells WHERE prediction_ratio BETWEEN 0.85 AND 1.15 AND scheme <> 'ps-sync'")" 6 "coded-or-backup: rounds take what is predicted"
run_study coded-slow coded-or-backup/slow.yaml -e 's/rounds: .*/rounds: 60/' -e 's/repeats: .*/repeats: 1/'
is "$(query "$SCRATCH/coded-slow.db" "SELECT sum(abs(t.loss - p.loss) < 1e-5), sum(t.round_time_mean_ns < p.round_time_mean_ns) FROM trials t, trials p
    WHERE t.scheme LIKE 'gradient-coding%' AND p.scheme = 'ps-sync'")" "3 3" "coded-or-backup: with a slow worker codes get to the loss of ps-sync, and sooner"
finish
