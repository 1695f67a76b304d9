# rig.sh: runs a TAP program that makes its own pair of namespaces, as root and again as the root of a user namespace (no real-time priority
# there), and joins the two outputs; says why where this host cannot. Sourced by a test that has set `name` to the program's.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
program=$LAGGARD_BUILD/tests/netns/$name
skip() {
    echo "1..0 # SKIP $1"
    exit 0
}
[ -x "$program" ] || { echo "Bail out! $program is not built"; exit 1; }
command -v ip >/dev/null && command -v tc >/dev/null || skip "the rig needs iproute2: apt-get install iproute2"
[ -w /dev/net/tun ] || skip "/dev/net/tun is missing or not writable"
# An ordinary user is the root of a user namespace, or nothing here can run.
become=""
if [ "$(id -u)" != 0 ]; then
    unshare -Ur true 2>/dev/null || skip "this host gives ordinary users no user namespaces"
    become="unshare -Ur"
fi
output=$($become "$program" 2>&1)
status=$?
if [ $status = 77 ]; then
    reason=$(echo "$output" | grep . | tail -n 1)
    skip "${reason:-$name found that this host cannot, and did not say why}"
fi
count=$(echo "$output" | grep -c '^\(not \)\?ok ')
echo "$output" | grep -v '^1\.\.'
if [ "$(id -u)" = 0 ] && unshare -Ur true 2>/dev/null; then
    unprivileged=$(unshare -Ur "$program" 2>&1) || status=1
    more=$(echo "$unprivileged" | grep -c '^\(not \)\?ok ')
    echo "$unprivileged" | grep -v '^1\.\.' | awk -v base="$count" '
        $1 == "ok" { $2 += base; print $0 " (user namespace)"; next }
        $1 == "not" { $3 += base; print $0 " (user namespace)"; next }
        { print "# " $0 }'
    count=$((count + more))
fi
echo "1..$count"
exit $status
