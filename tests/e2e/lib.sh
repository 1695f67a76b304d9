# lib.sh: what the end-to-end tests share: the program, queries, and a count of what a run may not leave behind. Sourced, not run.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
LAGGARD=$PWD/$LAGGARD_BUILD/laggard

has_address_sanitizer() { # the program of this build: it needs /proc, and more memory than a limit may leave
    nm "$LAGGARD" 2>/dev/null | grep -q __asan_
}
# The address sanitizer looks for leaks in a process of its own, which stops the program: not under strace, and a program waits for ever when a
# test kills that process.
without_leak_search() {
    export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0"
}

query() { # query DB SQL
    sqlite3 -noheader -separator ' ' "$1" "$2"
}
# What a run may not leave behind. Every process that a test starts inherits its mark, so that other users of this host do not count; a
# namespace without a name lives only as long as a process holds it.
export LAGGARD_TEST_MARK="$$-$(basename "$0")"
marked() { # the numbers of all that bear the mark, by one process: a fork takes milliseconds
    grep -lzxF "LAGGARD_TEST_MARK=$LAGGARD_TEST_MARK" /proc/[0-9]*/environ 2>/dev/null | tr -dc '0-9\n'
}
is_marked() { # is_marked PROCESS
    grep -qzxF "LAGGARD_TEST_MARK=$LAGGARD_TEST_MARK" "/proc/$1/environ" 2>/dev/null
}
marked_programs() { # the numbers of ours among them, whatever they call themselves
    set -- $(marked)
    [ $# = 0 ] || stat -c '%n %N' $(printf '/proc/%s/exe ' "$@") 2>/dev/null |
        sed -n "s|^/proc/\([0-9]*\)/exe .* -> '.*/laggard\(-agent\)\{0,1\}\( (deleted)\)\{0,1\}'\$|\1|p"
}
marked_named() { # marked_named NAME: of those with the mark, those that call themselves so
    for process in $(pgrep -x "$1"); do
        is_marked "$process" && echo "$process"
    done
}
await_named() { # await_named NAME: waits for one, half a minute or as long as $controller runs, and prints its number
    tries=0
    while [ -z "$(marked_named "$1")" ] && [ $tries -lt 1500 ] && ! grep -qs '^State:.Z' "/proc/$controller/status" && [ -d "/proc/$controller" ]; do
        sleep 0.01
        tries=$((tries + 1))
    done
    marked_named "$1" | head -n 1
}
agent_in_trial() { # agent_in_trial NODE: waits, a minute at most, until it runs in a trial of $db, and prints its process. Before the first
    # trial other agents of the same names measure what a message costs.
    tries=0
    while [ $tries -lt 3000 ]; do
        found=""
        [ -s "$db" ] && [ "$(query "$db" "SELECT count(*) FROM trial WHERE status = 'running'" 2>/dev/null)" != 0 ] &&
            found=$(pgrep -f "^laggard-agent $1" | while read -r process; do is_marked "$process" && echo "$process" && break; done)
        [ -n "$found" ] && echo "$found" && return
        sleep 0.02
        tries=$((tries + 1))
    done
}
leftovers() {
    set -- $(marked_programs)
    processes=$# mounts=0
    while read -r _; do mounts=$((mounts + 1)); done < /proc/self/mounts
    set -- /sys/class/net/*
    links=$#
    set -- /run/netns/*
    [ -e "$1" ] || shift
    echo "processes $processes, links $links, named $#, mounts $mounts"
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
