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
# What a run may not leave behind. Every process that a test starts inherits its mark, so that other users of this host do not count; a
# namespace without a name lives only as long as a process holds it.
export LAGGARD_TEST_MARK="$$-$(basename "$0")"
marked_processes() { # marked_processes [PATTERN]: of ours, those whose command line matches
    for process in $(pgrep -f "${1:-laggard}"); do
        case $(readlink "/proc/$process/exe") in */laggard|*/laggard-agent) ;; *) continue ;; esac
        cat "/proc/$process/environ" 2>/dev/null | tr '\0' '\n' | grep -qxF "LAGGARD_TEST_MARK=$LAGGARD_TEST_MARK" && echo "$process"
    done
}
leftovers() {
    echo "processes $(marked_processes | wc -l), links $(ls /sys/class/net | wc -l), named $(ls /run/netns 2>/dev/null | wc -l), mounts $(wc -l < /proc/self/mounts)"
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
