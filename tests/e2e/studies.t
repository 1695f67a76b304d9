#!/bin/sh
# studies.t: TAP. The campaigns of docs/studies/, shortened: they run as they are written, and what their pages say about counts holds.
. "$(dirname "$0")/lib.sh"
"$LAGGARD" doctor 2>&1 | grep -q "^yes  tbf" || skip_all "this host cannot shape links"
studies=$(dirname "$0")/../../docs/studies
cd "$(dirname "$0")/../.." || exit 1

for file in "$studies"/*/*.yaml; do
    out=$("$LAGGARD" plan "$file" 2>&1)
    ok $? "$(basename "$(dirname "$file")")/$(basename "$file") can be planned" "$out"
done

shorten() { # shorten FILE: rounds enough for counting, one repeat
    sed -e 's/^repeats: .*/repeats: 1/' -e 's/rounds: [0-9]*/rounds: 12/' -e 's/evaluate_every: .*/evaluate_every: 6/' "$studies/$1"
}

shorten drop-or-backup/campaign.yaml > "$SCRATCH/drop.yaml"
shorten drop-or-backup/backup.yaml > "$SCRATCH/backup.yaml"
for name in drop backup; do
    "$LAGGARD" run "$SCRATCH/$name.yaml" --db "$SCRATCH/drop-or-backup.db" --quiet >/dev/null 2>"$SCRATCH/stderr"
    is "$?$(grep error "$SCRATCH/stderr")" 0 "drop-or-backup: $name.yaml runs"
done
db=$SCRATCH/drop-or-backup.db
is "$(query "$db" "SELECT count(*), sum(status = 'finished') FROM trials")" "13 13" "drop-or-backup: both campaigns are in one database"
# Of four or five, all but 1, 2, 3; of 6, 7, 8 all but 1, 2, 3: so many gradients in each of twelve updates.
is "$(query "$db" "SELECT t.label || ' ' || t.workers || ': ' || group_concat(DISTINCT n) FROM trials t JOIN
    (SELECT trial_id, count(*) AS n FROM gradient WHERE fate = 'used' GROUP BY trial_id, round) g ON g.trial_id = t.trial
    WHERE t.scheme <> 'ps-sync' GROUP BY t.trial ORDER BY t.label, t.workers" | sed 's/^.*[=(.]\(drop\|backups\)=/\1 /; s/ workers=[0-9]*//; s/)//' | sort)" \
    "$({ printf 'drop 1 5: 4\ndrop 2 5: 3\ndrop 3 5: 2\n'; for b in 1 2 3; do for p in 6 7 8; do echo "backups $b $p: $((p - b))"; done; done; } | sort)" \
    "drop-or-backup: every update has as many gradients as are waited for"
is "$(query "$db" "SELECT count(DISTINCT trial) FROM learning_curves WHERE accuracy > 0 AND round IN (6, 12)")" 13 "drop-or-backup: accuracy over time is there for each"

shorten slow-links/campaign.yaml | sed -e 's/rounds: 12/rounds: 2/' -e 's/link.delay: .*/link.delay: [50us, 5ms]/' -e 's/size: .*/size: [16KiB]/' > "$SCRATCH/slow.yaml"
"$LAGGARD" run "$SCRATCH/slow.yaml" --db "$SCRATCH/slow.db" --quiet >/dev/null 2>"$SCRATCH/stderr"
is "$?$(grep error "$SCRATCH/stderr")" 0 "slow-links: the campaign runs"
is "$(query "$SCRATCH/slow.db" "SELECT count(*), sum(status = 'finished'), sum(predicted_round_ns > 0) FROM trials")" "16 16 16" "slow-links: each cell is measured and predicted"
is "$(query "$SCRATCH/slow.db" "SELECT DISTINCT t.trial IS NULL FROM trials t JOIN node_counter n ON n.trial_id = t.trial WHERE n.check_failure_count > 0")" "" \
    "slow-links: every sum is exact"
finish
