#!/bin/sh
# bad_input.t: TAP. Whatever is wrong costs one sentence and nothing else: no namespace, no process, no file.
. "$(dirname "$0")/lib.sh"

cd "$SCRATCH" || exit 1
good='name: bad
topology: {shape: star, link: {rate: 100mbit, delay: 1ms}}
workload: {model: synthetic, size: 1KB, rounds: 2}
scheme: ring
workers: 2'
printf '%s\n' "$good" > good.yaml
before=$(cd "$OLDPWD" && leftovers)

refused() { # refused NAME EXIT-CODE ERE [ARGUMENT...]: runs campaign.yaml, or the arguments
    name=$1 code=$2 pattern=$3
    shift 3
    [ $# -gt 0 ] || set -- run campaign.yaml --db out.db
    ls -A > before.list
    output=$("$LAGGARD" "$@" 2>&1 >stdout.text)
    is "$?" "$code" "$name: exit code $code"
    like "$output" "$pattern" "$name: the sentence"
    is "$(printf '%s\n' "$output" | wc -l)" 1 "$name: one line"
    is "$(cat stdout.text)" "" "$name: nothing on standard output"
    rm -f stdout.text
    is "$(ls -A)" "$(cat before.list)" "$name: no file is made"
    rm -f before.list
}
with() { # with SED-EXPRESSION: campaign.yaml out of the good one
    printf '%s\n' "$good" | sed -E "$1" > campaign.yaml
}
with 's/delay: 1ms/delay: 1/';           refused "a missing unit" 2 "campaign\.yaml:2:[0-9]+: .*delay.*'1'.*unit"
with 's/workers: 2/workers: 0/';         refused "no workers" 2 "campaign\.yaml:5:10: .*workers.*'0'"
with 's/workers: 2/workers: -3/';        refused "a negative number" 2 "campaign\.yaml:5:10: .*workers.*'-3'"
with 's/rounds: 2/rounds: 99999999999999999999/'; refused "an absurd number" 2 "campaign\.yaml:3:[0-9]+: .*rounds"
with 's/^workers: 2/workers: 2\ncongestion_control: nosuch/'
refused "a congestion control that the kernel has not" 3 "congestion_control 'nosuch'.*cubic"
with 's/scheme: ring/scheme: rings/';    refused "an unknown scheme" 2 "campaign\.yaml:4:9: .*rings.*ring"
with 's/topology/topolgy/';              refused "an unknown key" 2 "campaign\.yaml:1:1: .*missing|campaign\.yaml:2:1: .*topolgy.*topology"
with 's/^workers: 2/workers: 2\nworkers: 3/'; refused "a duplicate key" 2 "campaign\.yaml:6:1: .*workers.*twice|campaign\.yaml:6:1: .*duplicate"
with 's/rate: 100mbit/rate: [/';         refused "broken YAML" 2 "campaign\.yaml:[0-9]+:[0-9]+: "
with 's/size: 1KB/size: -5KB/';          refused "a negative size" 2 "campaign\.yaml:3:[0-9]+: .*size.*'-5KB'"
with 's/rate: 100mbit/rate: 100/';       refused "a rate without unit" 2 "campaign\.yaml:2:[0-9]+: .*rate.*'100'.*mbit"
with 's/, delay: 1ms//; s/model: synthetic, size: 1KB/model: mlp, dataset_path: \/nonexistent, batch: 8, learning_rate: 0.1/'
refused "a missing data set" 3 "/nonexistent.*dataset-fashion-mnist"
: > campaign.yaml;                       refused "an empty file" 2 "campaign\.yaml:1:1: "
rm campaign.yaml;                        refused "no file" 2 "campaign\.yaml"
cp good.yaml campaign.yaml
refused "a database in no folder" 3 "no/such/folder" run campaign.yaml --db no/such/folder/out.db
mkdir folder
refused "a database that is a folder" 3 "folder" run campaign.yaml --db folder
sqlite3 other.db 'CREATE TABLE other (x); INSERT INTO other VALUES (1);'
sum=$(sha256sum other.db)
refused "a database of something else" 3 "other\.db" run campaign.yaml --db other.db
is "$(sha256sum other.db)" "$sum" "a database of something else: untouched"
echo "not a database at all, but long enough to look at for whoever wants to" > text.db
refused "a file that is no database" 3 "text\.db" run campaign.yaml --db text.db
refused "an unknown option" 2 "--quite.*--quiet" run campaign.yaml --quite
refused "an unknown command" 2 "rum.*run" rum campaign.yaml
refused "a campaign file's misspelt name" 2 "cannot open the campaign file 'god.yaml' \(did you mean 'good.yaml'[?]\): No such file" plan god.yaml
refused "a campaign file without its ending" 2 "'\./good' \(did you mean '\./good\.yaml'[?]\)" plan ./good
refused "another campaign file" 2 "cannot open the campaign file 'elsewhere.yaml': No such file" plan elsewhere.yaml
touch gone.db
refused "a database's misspelt name" 2 "there is no database 'gon.db' \(did you mean 'gone.db'[?]\); .laggard run. makes one" sql gon.db
rm gone.db
refused "an unknown shell" 2 "found 'bsh', did you mean 'bash'[?]" completion bsh
refused "a cell's label that is misspelt" 2 "did you mean 'scheme=ring workers=2'[?]" run good.yaml --only "scheme=rnig workers=2"
refused "help about an unknown command" 2 "unknown command 'rum'; did you mean 'run'" help rum
refused "help about two commands" 2 "help: found 'plan', which is one argument too many" help run plan
refused "an option in front of the command" 2 "unknown option '--json': in front of a command there are --help and --version" --json run campaign.yaml
refused "two options about the build" 2 "--version: found '--json', allowed is --json" --version --json --json
for words in "help run" "--help run" "-h run"; do
    is "$("$LAGGARD" $words 2>&1)" "$("$LAGGARD" run --help)" "$words: the help of that command"
done
is "$("$LAGGARD" version)" "$("$LAGGARD" --version)" "version: the same as --version"
refused "no file named" 2 "FILE|argument" run
refused "an unknown cell" 2 "nonsense" run campaign.yaml --db out.db --only nonsense
LAGGARD_AGENT=$SCRATCH/folder refused "an agent program that is a folder" 3 "folder.*LAGGARD_AGENT" run campaign.yaml --db out.db
mkdir data && mkfifo data/train-images-idx3-ubyte.gz
with 's/, delay: 1ms//; s/model: synthetic, size: 1KB/model: mlp, dataset_path: data/'
refused "a data set's file that is a pipe" 2 "data/train-images-idx3-ubyte\.gz is not a regular file"
cp good.yaml campaign.yaml
if [ -c /dev/full ]; then
    for arguments in --help --version fields "fields --schema" schemes "plan campaign.yaml" "run --help"; do
        # shellcheck disable=SC2086 # words are meant
        output=$("$LAGGARD" $arguments 2>&1 >/dev/full)
        is "$?" 3 "laggard $arguments into a full device: exit code 3"
        like "$output" "standard output" "laggard $arguments into a full device: the sentence"
    done
fi
is "$(cd "$OLDPWD" && leftovers)" "$before" "no namespace, no process"

# A newline, an escape sequence and a control character of two bytes (U+009B) in what was asked for: one line, and nothing for the terminal.
refused "a name that would command the terminal" 2 "^laggard: error: .*'no file\?\[31m\?\?.yaml'" run "$(printf 'no\nfile\033[31m\302\233.yaml')"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    # The checkout may lie where an ordinary user cannot look.
    mkdir programs && cp "$LAGGARD" "$LAGGARD-agent" programs/ && chmod 755 programs programs/*
    theirs=$SCRATCH/programs/laggard
    as_user() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
    with 's/, delay: 1ms//'
    mkdir closed && chmod 755 closed
    output=$(as_user "$theirs" run campaign.yaml --db closed/out.db 2>&1)
    is "$?" 3 "a folder that cannot be written: exit code 3"
    like "$output" "closed/out\.db.*(permission|written|denied)|closed.*Permission denied" "a folder that cannot be written: the sentence"
    if as_user unshare --user --map-root-user true 2>/dev/null; then
        # No user namespaces for an ordinary user: the limit is per user namespace, so a nested one can be given none.
        output=$(as_user unshare --user --map-root-user sh -c '
            echo 0 > /proc/sys/user/max_user_namespaces &&
            exec setpriv --inh-caps=-all --ambient-caps=-all --bounding-set=-all "$0" run campaign.yaml --db /dev/shm/never.db' "$theirs" 2>&1)
        is "$?" 3 "no privilege and no user namespaces: exit code 3"
        like "$output" "namespaces.*sysctl" "no privilege and no user namespaces: the sentence"
    fi
    # No TUN: a device that an ordinary user may not open, in a mount namespace of the test's own.
    with ''
    mknod -m 600 tun.closed c 10 200 2>/dev/null &&
        output=$(unshare --mount sh -c 'mount --bind tun.closed /dev/net/tun && exec setpriv --reuid=65534 --regid=65534 --clear-groups "$0" \
            run campaign.yaml --engine relay --db /dev/shm/never.db' "$theirs" 2>&1)
    is "$?" 3 "no TUN: exit code 3"
    like "$output" "TAP.*chmod 666 /dev/net/tun" "no TUN: the sentence with its remedy"
    [ ! -e /dev/shm/never.db ]
    ok $? "no database is made"
fi
cd "$OLDPWD" || exit 1
finish
