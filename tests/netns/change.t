#!/bin/sh
# change.t: TAP. Links that change while packets are under way, with each engine that this host has, as root and as an ordinary user.
. "$(dirname "$0")/lib.sh"
cp "$LAGGARD_BUILD/tests/netns/change_check" "$LAGGARD_BUILD/tests/netns/part_check" "$SCRATCH/"
before=$(state_of_host)

. tests/netns/change_cases.sh

if [ "$(id -u)" = 0 ]; then
    changes_as root as_root "rate size wake storm refuse" "star ring mesh" "rate size wake storm delay order down impair"
fi
if [ "$(id -u)" != 0 ] || { command -v setpriv >/dev/null && command -v unshare >/dev/null; }; then
    changes_as user as_user "rate refuse" ring "delay order down"
else
    skip "setpriv and unshare are not installed: nothing is tried as an ordinary user"
fi
settles_to "$before" "nothing is left"
finish
