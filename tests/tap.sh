# tap.sh: the few words of TAP that the shell tests share, and an end, however it comes, that leaves neither processes nor the scratch folder.
# Sourced from the project's root.
: "${LAGGARD_BUILD:=build/release}"
PATH=$PATH:/usr/sbin:/sbin # an ordinary user's may lack them
SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/laggard-test.XXXXXX") || exit 1
chmod 755 "$SCRATCH"
# Everything that a test starts inherits this, grandchildren too: so it can be found and ended when the test fails or is interrupted half way.
export LAGGARD_TEST_SCRATCH="$SCRATCH"
tap_processes() { # the numbers of the marked processes; not this shell, which was started without the mark
    grep -laF "LAGGARD_TEST_SCRATCH=$SCRATCH" /proc/[0-9]*/environ 2>/dev/null | tr -dc '0-9\n'
}
tap_at_end=: # a command of the test's own
tap_end() {
    trap '' HUP INT TERM
    tap_tries=0
    # Again while there were some: a process has no mark to be read in the moment in which it becomes another program.
    while tap_found=$(tap_processes) && [ -n "$tap_found" ] && [ $tap_tries -lt 100 ]; do
        kill -9 $tap_found 2>/dev/null
        tap_tries=$((tap_tries + 1))
        sleep 0.02
    done
    $tap_at_end
    rm -rf "$SCRATCH"
}
trap tap_end EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
tap_number=0 tap_failures=0

ok() { # ok CONDITION-STATUS NAME [DETAIL]
    tap_number=$((tap_number + 1))
    if [ "$1" = 0 ]; then
        echo "ok $tap_number - $2"
    else
        echo "not ok $tap_number - $2"
        tap_failures=$((tap_failures + 1))
        # To standard error, which prove shows, among that of other tests.
        echo "# $0: not ok $tap_number - $2" >&2
        [ -z "${3:-}" ] || printf '%s\n' "$3" | head -n 30 | sed 's/^/# /' >&2
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
