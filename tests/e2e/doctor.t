#!/bin/sh
# doctor.t: TAP. What laggard doctor answers: exit codes, the JSON document, the checks by name, hosts that lack things; and that nothing is left.
. "$(dirname "$0")/lib.sh"
before=$(leftovers)
mkdir "$SCRATCH/here" "$SCRATCH/empty" && cd "$SCRATCH/here" || exit 1

"$LAGGARD" doctor > ../out.text 2> ../err.text
status=$?
is "$status" "$(grep -qE '^no +(namespaces|tbf|delays|agent) ' ../out.text && echo 3 || echo 0)" "the exit code is 3 where something needed is missing, else 0"
is "$(grep -vcE '^(yes|no|\?) +[a-z]|^$|^(needed|recommended|information): [a-z -]+: ' ../out.text)" 0 "a row a check, then the remedies by level"
is "$(ls -A)" "" "nothing is left in the folder"

"$LAGGARD" doctor --json > ../out.json 2> ../err.text
is "$?" "$status" "--json: the same exit code"
if command -v jq > /dev/null; then
    is "$(jq -r '[.able, (.checks | length)] | @csv' ../out.json)" \
        "$([ $status = 0 ] && echo true || echo false),$("$LAGGARD" doctor --checks | tail -n +3 | wc -l)" "--json: whether it is able, and all checks"
    is "$(jq -c '[.checks[] | select((.level | IN("needed", "recommended", "information")) and (.state | IN("yes", "no", "unknown")) and
        ([.found, .remedy] | all(type | IN("string", "null"))) and (.numbers | type == "object") and (keys | length) == 7 | not)]' ../out.json)" "[]" \
        "--json: seven members a check"
    is "$(jq -r '.checks[] | select(.name == "timer").numbers | keys_unsorted | @csv' ../out.json)" '"resolution_ns","late_median_ns","late_p99_ns"' \
        "--json: what was measured, with units"
fi

out=$("$LAGGARD" doctor gnuplot "packet sockets" 2>&1)
is "$(printf '%s\n' "$out" | grep -cE '^(yes|no) ')" 2 "checks by name"
out=$("$LAGGARD" doctor gnuplott 2>&1)
is "$? $out" "2 laggard: error: unknown check 'gnuplott', did you mean 'gnuplot'?" "a check that there is not"
LAGGARD_AGENT=/nowhere "$LAGGARD" doctor agent > ../out.text 2> ../err.text
is "$?" 3 "no agent program: exit code 3"
like "$(cat ../out.text)" '^needed: agent: .*/nowhere' "and the sentence"
like "$(cat ../err.text)" 'the virtual world needs none of it: laggard run FILE --world virtual' "and what can be done all the same"
out=$("$LAGGARD" doctor --root "$SCRATCH/empty" neighbours "cpu quota" steal "clock source" 2>&1)
is "$? $(printf '%s\n' "$out" | grep -c '^?')" "0 4" "a host that tells nothing"
out=$("$LAGGARD" doctor --root "$SCRATCH/nowhere" steal 2>&1)
is "$? $out" "2 laggard: error: --root: there is no folder '$SCRATCH/nowhere'; name one with copies of another host's proc, sys and dev" "a host that is not there"
out=$("$LAGGARD" doctor --checks timer 2>&1)
is "$? $out" "2 laggard: error: --checks prints all checks, as Markdown, and asks nothing: leave their names out" "names of checks, of which all are listed"
out=$("$LAGGARD" doctor --checks --json 2>&1)
is "$? $out" "2 laggard: error: --checks prints all checks, as Markdown, and asks nothing: leave --json out" "and JSON, which the list is not"
# A container that hides the kernel's folders.
for hidden in /sys /proc; do
    [ $hidden != /proc ] || ! has_address_sanitizer || continue
    unshare -m mount -t tmpfs none $hidden 2> /dev/null || continue
    out=$(LAGGARD_AGENT=$LAGGARD-agent unshare -m sh -c "mount -t tmpfs none $hidden && exec \"\$@\"" sh "$LAGGARD" doctor 2>&1)
    status=$?
    like "$status" '^[03]$' "without $hidden: an exit code of its own" "$out"
    is "$(printf '%s\n' "$out" | grep -cE '^(yes|no|\?) +[a-z]')" "$("$LAGGARD" doctor --checks | tail -n +3 | wc -l)" "without $hidden: an answer to every check"
done

# A user who may make one user namespace, in which there can be no other.
mkdir "$SCRATCH/programs" && cp "$LAGGARD" "$LAGGARD-agent" "$SCRATCH/programs/" && chmod 755 "$SCRATCH/programs" "$SCRATCH/programs/"*
as_user() {
    if [ "$(id -u)" = 0 ]; then setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; else "$@"; fi
}
# Mapped as an ordinary user, who keeps no capability over the limit that root of the namespace has lowered.
forbidden='echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs "$@"'
if as_user unshare -Ur sh -c 'echo 0 > /proc/sys/user/max_user_namespaces' 2> /dev/null; then
    out=$(as_user unshare -Ur sh -c "$forbidden" sh "$SCRATCH/programs/laggard" doctor namespaces "user namespaces" 2>&1)
    is "$?" 3 "without namespaces: exit code 3" "$out"
    like "$out" '^needed: namespaces: No network can be built: .* Remedy: as root: sysctl -w user.max_user_namespaces=10000$' "and the remedy"
fi

# Noise: stored with the database's last campaign.
cat > ../campaign.yaml <<'Y'
name: noisy
topology: {shape: star, link: {rate: 100mbit, delay: 1ms}}
workload: {model: synthetic, size: 100KB, rounds: 3}
compute: {time: {distribution: constant, value: 5ms}}
world: virtual
scheme: ring
workers: 3
Y
out=$("$LAGGARD" doctor gnuplot --noise ../out.db 2>&1)
is "$?" 2 "--noise: a database that there is not is no place" "$out"
"$LAGGARD" run ../campaign.yaml --db ../out.db --quiet > ../out.text 2>&1
out=$("$LAGGARD" doctor gnuplot --noise ../out.db 2>&1)
is "$?" 0 "--noise: measured" "$out"
is "$(printf '%s\n' "$out" | grep -c '^noise: ')" 3 "three lines: sleepers, computing, frames"
is "$(query ../out.db "SELECT kind, json_valid(text), json_extract(text, '\$.late_p50_ns') <= json_extract(text, '\$.late_p99_ns'),
    json_extract(text, '\$.compute_first_ns') > 0, (json_extract(text, '\$.round_trips') > 0) = (json_extract(text, '\$.round_trip_p99_ns') IS NOT NULL),
    (json_extract(text, '\$.round_trips') > 0) = (json_extract(text, '\$.no_round_trips') IS NULL) FROM event WHERE kind = 'noise' AND trial_id IS NULL")" \
    "noise 1 1 1 1 1" "and stored as an event"
if command -v jq > /dev/null; then
    is "$("$LAGGARD" doctor gnuplot --json --noise ../out.db | jq -c '.noise | keys | length')" 11 "--json: the object stored"
fi
is "$(query ../out.db "SELECT count(DISTINCT campaign_id) FROM event WHERE kind = 'noise'")" 1 "of the last campaign"
is "$(ls -A)" "" "nothing is left in the folder"
cd "$OLDPWD" || exit 1
is "$(settles_to "$before")" "$before" "nothing is left"
finish
