#!/bin/sh
# hostile.t: TAP. Agents that mean harm: each costs its own trial alone, at once or at the deadline; the campaign goes on, the controller takes
# no more memory, and nothing is left.
. "$(dirname "$0")/lib.sh"
can_emulate || skip_all "this host cannot emulate"

attacks="flood failures much all replay billion early others rounds silent child deaf"
cp "$LAGGARD_BUILD/tests/netns/hostile_agent" "$SCRATCH/"
cat > "$SCRATCH/campaign.yaml" <<'Y'
name: hostile
topology: {shape: star, link: {rate: 100mbit, delay: 1ms}}
workload: {model: synthetic, size: 10KB, rounds: 3}
compute: {time: {distribution: constant, value: 2ms}}
message_cost: 30us
trial_deadline: 3s
scheme: ring
workers: 2
arms:
  - {name: honest}
Y
for attack in $attacks; do
    echo "  - {name: $attack, agent: ./hostile_agent, environment: {HOSTILE: $attack, HOSTILE_NODE: w0}}"
done >> "$SCRATCH/campaign.yaml"
before=$(leftovers)
db=$SCRATCH/hostile.db

"$LAGGARD" run "$SCRATCH/campaign.yaml" --db "$db" --quiet > "$SCRATCH/out" 2> "$SCRATCH/err" &
controller=$!
most=0
while kill -0 $controller 2>/dev/null; do
    now=$(awk '/^VmHWM/ { print $2 }' "/proc/$controller/status" 2>/dev/null)
    [ "${now:-0}" -le $most ] || most=$now
    sleep 0.05
done
wait $controller
status=$? ended=$(date +%s%N)
is $status 4 "failed trials: exit code 4" "$(cat "$SCRATCH/err")"
is "$(query "$db" "SELECT count(*) FROM trials WHERE status = 'failed'; SELECT arm FROM trials WHERE status <> 'failed'")" "$(echo $attacks | wc -w)
honest" "each attack costs its own trial, and the honest one is finished"

reason_of() { # reason_of ATTACK PATTERN
    like "$(query "$db" "SELECT reason FROM trials WHERE arm = '$1'")" "$2" "$1: the reason says what it did"
}
reason_of flood "node w0: it told that 1 rounds are done, when 1 of "
reason_of failures "node w0, round 0: .*\[2Jmine"
reason_of much "node w0: a message claims 67108864 bytes .*allowed are 4096"
reason_of all "node w0: a message claims 4294967295 bytes .*allowed are 67108864"
reason_of replay "node w0: it sent operation listening out of turn"
reason_of billion "node w0: it told that 1000000000 rounds are done"
reason_of early "node w0: it sent operation report out of turn"
reason_of others "node w0: its report cannot be true: span 0 names node 65535 as its peer, there are 2 nodes"
reason_of rounds "node w0: its report cannot be true: it has 65536 rounds, there are "
reason_of silent "these nodes had still to finish all rounds: w0"
reason_of child "node w0"
reason_of deaf "node w0"
is "$(grep -c 'a result that is none' "$SCRATCH/out")" 0 "what an agent writes does not come among the results"
is "$(query "$db" "SELECT reason FROM trials" | LC_ALL=C grep -c "$(printf '\033')")" 0 "no reason has a control character"
# From its start to the next one's. Where agents are not ready, nothing ends a trial for 30 s.
is "$(query "$db" "SELECT arm FROM (SELECT arm, lead(started_unix_ns, 1, $ended) OVER (ORDER BY started_unix_ns) - started_unix_ns AS took_ns FROM trial)
    WHERE took_ns > 25e9 OR arm = 'silent' AND took_ns < 3e9")" "" "none lasts longer than the deadline and what ends it"
like "$((most < 262144))" 1 "the controller's memory stays below 256 MiB: $most KiB"
is "$(settles_to "$before")" "$before" "nothing is left"
is "$(pgrep -f "$SCRATCH/hostile_agent" | wc -l)$(pgrep -x hostile_agent | wc -l)" 00 "not even a child that was left behind"
finish
