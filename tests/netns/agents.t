#!/bin/sh
# agents.t: TAP. Real agents on the loopback addresses of a network namespace of their own: every scheme with known values, with real gradients
# and without values. No fabric, no links, no controller.
set -u
cd "$(dirname "$0")/../.." || exit 1
: "${LAGGARD_BUILD:=build/release}"
PATH=$PATH:/usr/sbin:/sbin # an ordinary user's may lack them
program=$LAGGARD_BUILD/tests/netns/agents_loopback
[ -x "$program" ] && [ -x "$LAGGARD_BUILD/laggard-agent" ] || { echo "Bail out! $program is not built"; exit 1; }
command -v ip >/dev/null || { echo "1..0 # SKIP the namespace's loopback device needs iproute2: apt-get install iproute2"; exit 0; }
unshare -Urn true 2>/dev/null || { echo "1..0 # SKIP this host refuses user namespaces"; exit 0; }

# A data set of few images: to read all of the package's takes an agent longer than whatever else it does here.
package=/usr/share/datasets/fashion-mnist
scratch=$(mktemp -d "${TMPDIR:-/tmp}/laggard-test.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
shorten() { # shorten FILE HEADER-BYTES HEADER BYTES: a header in printf's words, then so many bytes of those behind the file's own
    { printf "$3" && zcat "$package/$1" 2>/dev/null | tail -c +$(($2 + 1)) | head -c "$4"; } | gzip -1 > "$scratch/$1"
}
shorten train-images-idx3-ubyte.gz 16 '\0\0\10\3\0\0\2\130\0\0\0\34\0\0\0\34' $((600 * 784))
shorten train-labels-idx1-ubyte.gz 8 '\0\0\10\1\0\0\2\130' 600
shorten t10k-images-idx3-ubyte.gz 16 '\0\0\10\3\0\0\0\310\0\0\0\34\0\0\0\34' $((200 * 784))
shorten t10k-labels-idx1-ubyte.gz 8 '\0\0\10\1\0\0\0\310' 200
# Without the package its own place is named, and the agents say what is to be installed.
dataset=$scratch
[ -d "$package" ] || dataset=$package

count=0 status=0
trial() { # trial ARGUMENT...
    output=$(unshare -Urn sh -c 'ip link set lo up && exec "$0" "$@"' "$program" --dataset "$dataset" "$@" 2>&1) || status=1
    echo "# $*"
    echo "$output" | grep -v '^1\.\.' | awk -v base="$count" '
        $1 == "ok" { $2 += base; print; next }
        $1 == "not" { $3 += base; print; next }
        { print "# " $0 }'
    count=$((count + $(echo "$output" | grep -c '^\(not \)\?ok ')))
}

for scheme in $("$program" --list); do
    trial --scheme "$scheme" --workers 1 --size 400B --rounds 20
    trial --scheme "$scheme" --workers 2 --size 4B --rounds 20 # a vector shorter than the number of chunks
    trial --scheme "$scheme" --workers 5 --size 1000004B --rounds 10 --time 2ms
    trial --scheme "$scheme" --workers 3 --size 3MiB --rounds 4 --no-spans
    trial --scheme "$scheme" --workers 3 --model mlp --rounds 6 --evaluate-every 3
    trial --scheme "$scheme" --workers 4 --model softmax --gradients none --rounds 5 --time 1ms
done
# Compressed gradients, which only `naive` carries encoded; factors go by any algorithm.
for compress in "top-k compress_share=0.05" 1-bit "qsgd compress_levels=3" "powersgd compress_rank=4"; do
    for workers in 2 3 5 8; do
        trial --scheme naive --workers $workers --size 100020B --rounds 10 compress=$compress
    done
    trial --scheme naive --workers 1 --size 4B --rounds 5 compress=$compress
    trial --scheme naive --workers 3 --model mlp --rounds 6 compress=$compress
    trial --scheme allreduce-auto --workers 4 --size 8MiB --rounds 4 --no-spans compress=$compress
    trial --scheme naive --workers 4 --model softmax --gradients none --rounds 5 --time 1ms compress=$compress
    case $compress in
    powersgd*)
        for scheme in ring halving-doubling recursive-doubling binomial-tree double-binary-tree hierarchical direct; do
            trial --scheme $scheme --workers 6 --size 100020B --rounds 5 --time 1ms compress=$compress
            trial --scheme $scheme --workers 4 --model mlp --rounds 4 compress=$compress
        done
        ;;
    *) trial --scheme naive --workers 3 --model mlp --rounds 6 bucket=50000 overlap=1 compress=$compress ;;
    esac
done
echo "1..$count"
exit $status
