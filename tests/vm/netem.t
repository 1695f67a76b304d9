#!/bin/sh
# netem.t: TAP. Boots Debian's kernel in an emulated machine, whose serial console prints the TAP of tests/vm/inside, and passes that on.
# Nothing is downloaded here: `make check-vm` fetches the kernel and installs the emulator; without them the tier is skipped.
set -u
cd "$(dirname "$0")/../.." || exit 1
: "${LAGGARD_BUILD:=build/release}"
export LAGGARD_BUILD
TIME_MOST_S=300 # three minutes are the target; a busy host takes longer
skip_all() {
    echo "1..0 # SKIP $1; make check-vm fetches it"
    exit 0
}
for program in qemu-system-x86_64 busybox cpio; do
    command -v $program >/dev/null || skip_all "$program is not installed"
done
[ -s build/vm/kernel/vmlinuz ] || skip_all "build/vm/kernel has no kernel"

scratch=$(mktemp -d "${TMPDIR:-/tmp}/laggard-vm.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
tests/vm/make-image "$scratch/initramfs" || exit 1
# One processor whose clock counts instructions and jumps while it is idle: the host's speed and load do not show inside.
timeout $TIME_MOST_S qemu-system-x86_64 -accel tcg -smp 1 -icount shift=0,sleep=off -m 512 -nodefaults -no-user-config -display none \
    -no-reboot -serial "file:$scratch/console" -kernel build/vm/kernel/vmlinuz -initrd "$scratch/initramfs" \
    -append "console=ttyS0 quiet panic=-1" </dev/null >"$scratch/qemu" 2>&1
status=$?
tr -d '\r' < "$scratch/console" > "$scratch/tap"
grep -E '^(ok|not ok|1\.\.)' "$scratch/tap"
grep '^# ' "$scratch/tap" >&2 # which prove shows
# The plan is the last thing that the tests inside say: without it they did not come to their end.
grep -qE '^1\.\.[1-9]' "$scratch/tap" && [ $status = 0 ] && exit 0
exec >&2
sed 's/^/# qemu: /' "$scratch/qemu"
tail -n 40 "$scratch/tap" | sed 's/^/# console: /'
echo "# the machine did not come to the end of its tests (qemu: $status)"
exit 1
