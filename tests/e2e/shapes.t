#!/bin/sh
# shapes.t: TAP. Every shape over every engine that this host has: every pair, every link, and a trial of ring. Engine netem is tried in the tier vm,
# too.
. "$(dirname "$0")/lib.sh"
can_emulate || skip_all "this host cannot emulate"
. tests/shapes.sh
TOPOLOGY_TOOL=$LAGGARD_BUILD/tests/netns/topology_tool
[ -x "$TOPOLOGY_TOOL" ] || skip_all "$TOPOLOGY_TOOL is not built"
before=$(leftovers)
has() { # has THING: as doctor says
    "$LAGGARD" doctor 2>&1 | grep -q "^yes *$1 "
}
try_shapes none ""
for engine in relay netem; do
    has "$([ $engine = relay ] && echo tun || echo netem)" || continue
    try_shapes $engine 2ms
done
is "$(settles_to "$before")" "$before" "nothing is left"
finish
