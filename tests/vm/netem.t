#!/bin/sh
# netem.t: TAP. Boots Debian's kernel in an emulated machine, whose serial console prints the TAP of tests/vm/inside, and passes that on.
# Nothing is downloaded here: tests/vm/prepare and `make check-vm` fetch the kernel and install the emulator; without them the tier is skipped.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
export LAGGARD_BUILD
TIME_MOST_S=1500 # two minutes on a host that is otherwise idle; a busy one has taken fourteen
skip_all() {
    [ ! -s build/vm/reason ] || set -- "$(cat build/vm/reason)"
    echo "1..0 # SKIP $1; make check-vm tries again"
    exit 0
}
for program in qemu-system-x86_64 busybox cpio; do
    command -v $program >/dev/null || skip_all "$program is not installed"
done
[ -s build/vm/kernel/vmlinuz ] || skip_all "build/vm/kernel has no kernel"

tests/vm/make-image "$SCRATCH/initramfs" || exit 1
# One processor whose clock counts instructions and jumps while it is idle: the host's speed and load do not show inside.
timeout $TIME_MOST_S qemu-system-x86_64 -accel tcg -smp 1 -icount shift=0,sleep=off -m 512 -nodefaults -no-user-config -display none \
    -no-reboot -serial "file:$SCRATCH/console" -kernel build/vm/kernel/vmlinuz -initrd "$SCRATCH/initramfs" \
    -append "console=ttyS0 quiet panic=-1" </dev/null >"$SCRATCH/qemu" 2>&1 &
wait $! # in the background, so that an interruption is heard at once
status=$?
tr -d '\r' < "$SCRATCH/console" > "$SCRATCH/tap"
grep -E '^(ok|not ok|1\.\.)' "$SCRATCH/tap"
grep '^# ' "$SCRATCH/tap" >&2 # which prove shows
# The plan is the last thing that the tests inside say: without it they did not come to their end.
grep -qE '^1\.\.[1-9]' "$SCRATCH/tap" && [ $status = 0 ] && exit 0
exec >&2
sed 's/^/# qemu: /' "$SCRATCH/qemu"
tail -n 40 "$SCRATCH/tap" | sed 's/^/# console: /'
echo "# the machine did not come to the end of its tests (qemu: $status)"
exit 1
