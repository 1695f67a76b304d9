# lib.sh: what the namespace tests share: the fabric tool, users, and a count of what may not be left. Sourced.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

skip() { # skip REASON: one assertion that this host cannot make
    tap_number=$((tap_number + 1))
    echo "ok $tap_number # SKIP $1"
}

[ -x "$LAGGARD_BUILD/tests/netns/fabric_tool" ] || skip_all "$LAGGARD_BUILD/tests/netns/fabric_tool is not built"
cp "$LAGGARD_BUILD/tests/netns/fabric_tool" "$SCRATCH/" # the checkout may lie where an ordinary user cannot look
TOOL=$SCRATCH/fabric_tool

# Where the tests run as root, the same tests run as an ordinary user too. Debian lets everyone open /dev/net/tun; where this host does
# not, that user sees one of its own, in a mount namespace of its own.
as_root() {
    env LAGGARD_TEST_MARK="$SCRATCH" "$@"
}
as_user() {
    if [ "$(id -u)" != 0 ]; then
        env LAGGARD_TEST_MARK="$SCRATCH" "$@"
        return
    fi
    [ -e "$SCRATCH/tun" ] || mknod -m 666 "$SCRATCH/tun" c 10 200 2>/dev/null
    unshare --mount sh -c 'mount --bind "$0" /dev/net/tun 2>/dev/null
        exec env LAGGARD_TEST_MARK="${0%/tun}" setpriv --reuid=65534 --regid=65534 --clear-groups "$@"' "$SCRATCH/tun" "$@"
}

fact() { # fact NAME: its value in the tool's output on standard input
    sed -n "s/^$1 //p"
}

# Every process that comes from this test carries this in its environment, grandchildren and programs included.
marked() { # the /proc folders of those processes, this shell and what it forks left out
    grep -laF "LAGGARD_TEST_MARK=$SCRATCH" /proc/[0-9]*/environ 2>/dev/null | sed 's/environ$//'
}
# Our processes and their network namespaces, links and routes of the host: equal before and after means that nothing was left behind and
# nothing was touched. Other people's namespaces do not count: they come and go as they like.
state_of_host() {
    ours=$(marked)
    echo "namespaces $(for process in $ours; do readlink "${process}ns/net"; done 2>/dev/null | sort -u | grep -c .)," \
        "processes $(echo "$ours" | grep -c .)"
    cut -d: -f1 /proc/net/dev
    cat /proc/net/route /proc/net/fib_trie 2>/dev/null | cksum
    cat /proc/sys/net/ipv4/ip_forward
    ls /run/netns 2>/dev/null
}
# The end of a namespace is asynchronous: waits until the state is as before, ten seconds at most.
settles_to() { # settles_to BEFORE NAME
    tries=0
    while [ "$(state_of_host)" != "$1" ] && [ $tries -lt 100 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    is "$(state_of_host)" "$1" "$2"
}
