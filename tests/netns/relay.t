#!/bin/sh
# relay.t: TAP. The relay and the measurement of links, alone: no fabric, no controller.
name=relay_check
. "$(dirname "$0")/rig.sh"
