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
Y
before=$(leftovers)
output=$(as_user "$SCRATCH/laggard" run "$SCRATCH/campaign.yaml" --db "$SCRATCH/home/out.db" --quiet 2>&1)
is $? 0 "both schemes run as an ordinary user${delay:- (without delay: /dev/net/tun is closed to them)}"
[ $tap_failures = 0 ] || echo "# $output"
is "$(query "$SCRATCH/home/out.db" "SELECT count(*), sum(status = 'finished') FROM trials")" "2 2" "every trial is finished"
is "$(query "$SCRATCH/home/out.db" "SELECT DISTINCT asked_rate_bps, read_back_rate_bps FROM links")" "200000000 200000000" "links are shaped as asked"
is "$(settles_to "$before")" "$before" "nothing is left"
finish
