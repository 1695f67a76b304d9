#!/bin/sh
# fuzz.t: TAP. Every fuzz target for a short while with a fixed seed; FUZZ_SECONDS and FUZZ_SEED for longer runs on demand.
set -u
cd "$(dirname "$0")/../.." || exit 1
: "${LAGGARD_BUILD:=build/release}" "${FUZZ_SECONDS:=1}" "${FUZZ_SEED:=1}"
set -- tests/fuzz/fuzz_*.c
echo "1..$#"
number=0 failures=0
for source in "$@"; do
    number=$((number + 1))
    name=$(basename "$source" .c)
    if output=$("$LAGGARD_BUILD/tests/fuzz/$name" --seconds "$FUZZ_SECONDS" --seed "$FUZZ_SEED" 2>&1); then
        echo "ok $number - $name: $(echo "$output" | tail -n 1)"
    else
        echo "not ok $number - $name"
        echo "$output" | tail -n 20 | sed 's/^/# /'
        failures=1
    fi
done
exit $failures
