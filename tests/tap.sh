# tap.sh: the few words of TAP that the shell tests share, and a scratch folder that goes at the end. Sourced from the project's root.
: "${LAGGARD_BUILD:=build/release}"
PATH=$PATH:/usr/sbin:/sbin # an ordinary user's may lack them
SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/laggard-test.XXXXXX") || exit 1
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
        # To standard error, which prove shows.
        echo "# not ok $tap_number - $2" >&2
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
