#!/bin/sh
# impairment.t: TAP. What the relay does to packets on request, alone: no fabric, no controller.
name=impairment_check
. "$(dirname "$0")/rig.sh"
