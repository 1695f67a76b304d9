# lib.sh: what the end-to-end tests share: the program, queries, and a count of what a run may not leave behind. Sourced, not run.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
LAGGARD=$PWD/$LAGGARD_BUILD/laggard

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
