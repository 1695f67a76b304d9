#!/bin/sh
# cleanup.t: TAP. A test that fails, stops half way or is interrupted leaves no process and no namespace of a network that it had standing.
. "$(dirname "$0")/lib.sh"
before=$(state_of_host)

# A tree like the project's, with a test of this test's own in it.
mkdir -p "$SCRATCH/tree/a/b" "$SCRATCH/inner-tmp"
ln -s "$PWD/tests" "$PWD/build" "$SCRATCH/tree/"
cat > "$SCRATCH/tree/a/b/inner" <<'S'
. "$(dirname "$0")/../../tests/netns/lib.sh"
echo "$SCRATCH" > "$1/mark"
as_root "$TOOL" -n 2 -r 100mbit hold > "$1/hold" 2>&1 &
until grep -q '^ready' "$1/hold"; do
    kill -0 $! 2>/dev/null || exit 77
    sleep 0.1
done
(setsid sleep 300 &)
case $2 in
fail) ok 1 "this is so" ;;
stop) exit 1 ;;
wait) touch "$1/standing"; sleep 60 & wait ;;
esac
finish
S
inner() { # inner HOW [SIGNAL]
    rm -f "$SCRATCH/standing"
    # A shell cannot trap what it was started to ignore, as nohup starts things.
    TMPDIR=$SCRATCH/inner-tmp env --default-signal=HUP,TERM sh "$SCRATCH/tree/a/b/inner" "$SCRATCH" "$1" > "$SCRATCH/out" 2>&1 &
    shell=$!
    if [ -n "${2:-}" ]; then
        until [ -e "$SCRATCH/standing" ] || ! kill -0 $shell 2>/dev/null; do sleep 0.1; done
        kill -"$2" $shell
    fi
    wait $shell
    status=$?
}
left() { # what the inner test started and is still there; what was killed may take a moment to go, ten seconds at most
    tries=0
    while [ "$(started)" != 0 ] && [ $tries -lt 100 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    started
}
started() {
    grep -laF "LAGGARD_TEST_SCRATCH=$(cat "$SCRATCH/mark")" /proc/[0-9]*/environ 2>/dev/null | grep -c .
}
inner fail
[ $status != 77 ] || skip_all "$(cat "$SCRATCH/hold")"
is $status 1 "a test fails"
like "$(cat "$SCRATCH/hold")" '^ready' "and its network stood"
is "$(left)" 0 "a test that fails ends what it started"
is "$(ls "$SCRATCH/inner-tmp")" "" "and takes its folder away"
inner stop
is "$(left)" 0 "a test that stops half way, too"
for signal in TERM HUP; do
    inner wait $signal
    like $status '^(129|143)$' "a test is interrupted by SIG$signal"
    is "$(left)" 0 "and ends what it started"
    is "$(ls "$SCRATCH/inner-tmp")" "" "and takes its folder away"
done
settles_to "$before" "nothing is left"
finish
