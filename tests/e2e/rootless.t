#!/bin/sh
# rootless.t: TAP. The same campaign as an ordinary user, in a user namespace; delay where /dev/net/tun may be opened.
. "$(dirname "$0")/lib.sh"
if [ "$(id -u)" = 0 ]; then
    command -v setpriv >/dev/null || skip_all "setpriv is not installed"
    # Debian lets everyone open /dev/net/tun; where this host does not, the test sees one of its own in a mount namespace of its own.
    mknod -m 666 "$SCRATCH/tun" c 10 200 2>/dev/null
    as_user() {
        unshare --mount sh -c 'mount --bind "$0" /dev/net/tun 2>/dev/null
            exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"' "$SCRATCH/tun" "$@"
    }
    mkdir "$SCRATCH/home" && chown 65534:65534 "$SCRATCH/home"
else
    as_user() { "$@"; }
    mkdir "$SCRATCH/home"
fi
as_user unshare --user --map-root-user true 2>/dev/null || skip_all "this host gives ordinary users no user namespaces"
cp "$LAGGARD" "$LAGGARD-agent" "$SCRATCH/" # the checkout may lie where that user cannot look
chmod 755 "$SCRATCH"/laggard*
delay=""
as_user sh -c ': < /dev/net/tun' 2>/dev/null && delay=", delay: 1ms"

cat > "$SCRATCH/campaign.yaml" <<Y
name: rootless
topology: {shape: star, link: {rate: 200mbit$delay}}
workload: {model: mlp, layers: [8], dataset: fashion-mnist, batch: 16, learning_rate: 0.1, rounds: 4}
matrix: {scheme: [ps-sync, ring], workers: [3]}
capture: {links: w0-router, directory: $SCRATCH/home/captures}
Y
before=$(leftovers)
output=$(as_user "$SCRATCH/laggard" run "$SCRATCH/campaign.yaml" --db "$SCRATCH/home/out.db" --quiet 2>&1)
is $? 0 "both schemes run as an ordinary user${delay:- (without delay: /dev/net/tun is closed to them)}"
[ $tap_failures = 0 ] || echo "# $output"
is "$(query "$SCRATCH/home/out.db" "SELECT count(*), sum(status = 'finished') FROM trials")" "2 2" "every trial is finished"
is "$(query "$SCRATCH/home/out.db" "SELECT DISTINCT asked_rate_bps, read_back_rate_bps FROM links")" "200000000 200000000" "links are shaped as asked"
is "$(query "$SCRATCH/home/out.db" "SELECT count(*), min(payload_bytes) > 0, sum(truncated + dropped_count) FROM captures")" "4 1 0" "links are captured"
is "$(for file in "$SCRATCH"/home/captures/*; do stat -c "%u %a" "$file"; done | sort -u)" "$(as_user id -u) 644" "the files are that user's"
as_user "$SCRATCH/laggard" verify "$SCRATCH/campaign.yaml" --cell 0 --time 200ms --json --quiet >"$SCRATCH/verify.json" 2>"$SCRATCH/verify.err"
like $? '^[04]$' "an ordinary user verifies links; a busy host may miss what was asked" "$(cat "$SCRATCH/verify.err")"
is "$(sqlite3 -noheader -separator ' ' :memory: "SELECT count(*), sum(json_extract(j.value, '\$.measured.probes_received') > 0 AND json_extract(j.value, '\$.measured.packets_sent') > 0 AND json_extract(j.value, '\$.measured.goodput_bps') > 0) FROM json_each(readfile('$SCRATCH/verify.json'), '\$.networks') n, json_each(n.value, '\$.directions') j")" \
    "8 8" "both directions of each link carry probes, numbered packets and a transfer"
is "$(settles_to "$before")" "$before" "nothing is left"

# outside programs
uid=$(as_user id -u)
cat > "$SCRATCH/ask" <<'S'
echo "$(id -u) $(hostname) $LAGGARD_RANK $(grep -h CapBnd /proc/self/status | cut -f2)"
S
is "$(as_user "$SCRATCH/laggard" exec "$SCRATCH/campaign.yaml" -q -- sh "$SCRATCH/ask" 2>&1 | sort)" "s0: $uid s0 3 0000000000000000
w0: $uid w0 0 0000000000000000
w1: $uid w1 1 0000000000000000
w2: $uid w2 2 0000000000000000" "exec: programs run as that user, who is no root there, without privileges"
: > "$SCRATCH/held"
as_user "$SCRATCH/laggard" exec "$SCRATCH/campaign.yaml" >> "$SCRATCH/held" 2>&1 &
held=$!
tries=0
until grep -q 'stands until' "$SCRATCH/held" || [ $tries -ge 300 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
network="" # others may run networks of their own here; of ours, the numbers of the children need not be higher
for process in $(pgrep -f "^$SCRATCH/laggard exec"); do
    grep -q "@laggard/enter/$uid/$process\$" /proc/net/unix && network=$process
done
is "$(as_user "$SCRATCH/laggard" enter --of "$network" w1 -- sh "$SCRATCH/ask" 2>&1)" "$uid w1 1 0000000000000000" "enter: the same"
is "$(as_user "$SCRATCH/laggard" enter --of "$network" w1 -- "$SCRATCH/laggard" enter w2 -- sh "$SCRATCH/ask" 2>&1)" \
    "$uid w2 2 0000000000000000" "enter from a node: the same"
if [ "$(id -u)" = 0 ]; then
    out=$("$LAGGARD" enter --of "$network" w0 -- true 2>&1)
    is "$?" 2 "root does not enter it" "$out"
    like "$out" 'this network is one of user .*: only that user can enter it' "and is told whose it is"
fi
as_user kill -INT "${network:?"no network of this test listens"}"
wait $held
is $? 130 "exec: the network stood until SIGINT"
is "$(settles_to "$before")" "$before" "nothing is left of them"
finish
