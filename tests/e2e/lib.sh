# lib.sh: what the end-to-end tests share: TAP lines, a scratch folder, and a count of what a run may not leave behind. Sourced, not run.
cd "$(dirname "$0")/../.." || exit 1
: "${LAGGARD_BUILD:=build/release}"
LAGGARD=$PWD/$LAGGARD_BUILD/laggard
SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/laggard-e2e.XXXXXX") || exit 1
chmod 755 "$SCRATCH"
trap 'rm -rf "$SCRATCH"' EXIT
tap_number=0 tap_failures=0

ok() { # ok CONDITION-STATUS NAME [DETAIL]
    tap_number=$((tap_number + 1))
    if [ "$1" = 0 ]; then
        echo "ok $tap_number - $2"
    else
        echo "not ok $tap_number - $2"
        tap_failures=$((tap_failures + 1))
        [ -z "${3:-}" ] || printf '%s\n' "$3" | head -n 20 | sed 's/^/# /'
    fi
}
is() { # is FOUND EXPECTED NAME
    [ "$1" = "$2" ]
    ok $? "$3" "found: $1
expected: $2"
}
like() { # like TEXT ERE NAME
    printf '%s' "$1" | grep -qE -- "$2"
    ok $? "$3" "found: $1
expected to match: $2"
}
skip_all() { # skip_all REASON: the whole file
    echo "1..0 # SKIP $1"
    exit 0
}
finish() {
    echo "1..$tap_number"
    exit $((tap_failures > 0))
}
query() { # query DB SQL
    sqlite3 -noheader -separator ' ' "$1" "$2"
}
# Network namespaces held by any process, and processes of ours: equal before and after means nothing was left.
leftovers() {
    namespaces=$(for link in /proc/[0-9]*/ns/net; do readlink "$link"; done 2>/dev/null | sort -u | wc -l)
    processes=$(for exe in /proc/[0-9]*/exe; do readlink "$exe"; done 2>/dev/null | grep -c "^$PWD/$LAGGARD_BUILD/laggard")
    links=$(ls /sys/class/net | wc -l)
    echo "namespaces $namespaces, processes $processes, links $links, named $(ls /run/netns 2>/dev/null | wc -l)"
}
# Teardown of a namespace is asynchronous: waits until the count is as before, ten seconds at most.
settles_to() { # settles_to BEFORE
    tries=0
    while [ "$(leftovers)" != "$1" ] && [ $tries -lt 100 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    leftovers
}
can_emulate() {
    "$LAGGARD" doctor >/dev/null 2>&1
}
