#!/bin/sh
# scheme_objects.t: TAP. The field schemes: the example of docs/how-to.md, compiled with plain cc against installed headers, in both worlds; what
# is stored of it; and each way in which an object can be wrong, with file, line and column.
. "$(dirname "$0")/lib.sh"
root=$PWD
cd "$SCRATCH" || exit 1

# The headers as `make install` puts them, without the rest of the tree.
for header in $(cd "$root" && cc -MM -std=gnu17 -I. -Iharness agents/node.h harness/base/err.h harness/base/detmath.h | tr -d '\\' | tr ' ' '\n' | grep '\.h$'); do
    install -D -m 644 "$root/$header" "include/${header#harness/}"
done
compile() { # compile SOURCE OBJECT [OPTION...]
    source=$1 object=$2
    shift 2
    cc -shared -fPIC -Wall -Wextra -Werror -Iinclude "$@" -o "$object" "$source" 2> cc.text
    ok $? "cc makes $object" "$(cat cc.text)"
}
cp "$root/docs/examples/hub.c" hub.c
compile hub.c hub.so
is "$(nm -u hub.so | grep -v ' w ')" "" "which needs no symbol of the program: node.h is inline"

campaign() { # campaign SCHEMES SCHEME: on standard output
    cat <<Y
name: mine
schemes: $1
topology: {link: {rate: 100mbit, delay: 1ms}}
workload: {model: synthetic, size: 100KB, rounds: 8}
compute.time: {distribution: constant, value: 5ms}
matrix: {scheme: [$2], workers: [2, 3, 5]}
Y
}
# ---- both worlds ----
mkdir folder
campaign "[../hub.so]" "hub, ps-sync" > folder/mine.yaml
"$LAGGARD" plan folder/mine.yaml > plan.text 2> err.text
is "$? $(grep -c 'scheme=hub workers=' plan.text)" "0 6" "plan knows its scheme" # three cells, three trials
"$LAGGARD" run folder/mine.yaml --world virtual --quiet > run.text 2> err.text
ok $? "the virtual world runs it" "$(cat err.text)"
is "$(query mine.db "SELECT sum(status = 'finished') FROM trials WHERE scheme = 'hub'")" 3 "and every sum is right: a wrong one fails its trial"
# One worker adds what comes: a round is at least (P-1) vectors in and as many out of one link, and no more than ps-sync's P and P.
is "$(query mine.db "SELECT count(*) FROM cells a JOIN cells b ON a.workers = b.workers WHERE a.scheme = 'hub' AND b.scheme = 'ps-sync'
    AND a.round_time_mean_ns < b.round_time_mean_ns AND a.round_time_mean_ns > 5e6 + 2 * (a.workers - 1) * 8e6")" 3 "its rounds are as long as its bytes"
digest=$(sha256sum hub.so | cut -d ' ' -f 1)
is "$(query mine.db "SELECT count(DISTINCT cell) FROM cells" 2>/dev/null) $(sqlite3 mine.db .dump | grep -c "sha256: \"$digest\"" | sed 's/^[1-9].*/stored/')" "6 stored" "and the settings have the object's digest"
if can_emulate; then
    before=$(leftovers)
    "$LAGGARD" run folder/mine.yaml --db emulated.db --quiet > run.text 2> err.text
    ok $? "the emulated world runs it: agents load it before their sandboxes close" "$(cat err.text)"
    is "$(query emulated.db "SELECT sum(status = 'finished') FROM trials WHERE scheme = 'hub'")" 3 "and all trials finish"
    is "$(settles_to "$before")" "$before" "and nothing is left"
else
    ok 0 "# skip laggard doctor says why this host cannot emulate"
fi

is "$("$LAGGARD" schemes hub --with ./hub.so | head -n 1)" "hub: worker 0 adds everyone's gradients, its own included, and sends the sum back" "laggard schemes --with lists it"
"$LAGGARD" schemes --with none.so > out.text 2> err.text
is "$? $(cat err.text)" "2 laggard: error: cannot open the shared object 'none.so': No such file or directory" "and refuses what is not there"

# ---- what is wrong ----
refused() { # refused NAME FILE ERE
    "$LAGGARD" plan "$2" > out.text 2> err.text
    is "$?" 2 "$1: exit code 2"
    like "$(cat err.text)" "^laggard: error: $2:$3" "$1: the sentence"
    is "$(wc -l < err.text) $(wc -c < out.text)" "1 0" "$1: one line, and nothing else"
}
campaign "[./none.so]" hub > none.yaml
refused "no file" none.yaml "2:11: schemes: cannot open the shared object './none\.so': No such file or directory$"
echo "no object" > text.so
campaign "[./hub.so, ./text.so]" hub > text.yaml
refused "no shared object" text.yaml "2:21: schemes: './text\.so' cannot be loaded as a shared object: "
echo "int nothing;" > nothing.c
compile nothing.c nothing.so
campaign "[./nothing.so]" hub > nothing.yaml
refused "no symbol" nothing.yaml "2:11: schemes: './nothing\.so' has no symbol 'laggard_schemes': SCHEME_OBJECT"
sed 's/^SCHEME_OBJECT.*/extern const struct scheme_object_export laggard_schemes; const struct scheme_object_export laggard_schemes = {99, 0, 0, NULL}; const void *used(void); const void *used(void) { return \&scheme_hub; }/' hub.c > old.c
compile old.c old.so
campaign "[./old.so]" hub > old.yaml
refused "another version" old.yaml "2:11: schemes: './old\.so' was compiled for version 99 of the scheme interface, this program has version 1; compile it"
sed 's/"hub"/"ring"/' hub.c > ring.c
compile ring.c ring.so
campaign "[./ring.so]" ring > ring.yaml
refused "a name that is taken" ring.yaml "2:11: schemes: './ring\.so' has a scheme 'ring', and there is one of that name already"
campaign "[{file: ./hub.so, sha256: abc}]" hub > short.yaml
refused "no digest" short.yaml "2:36: schemes\.sha256: found 'abc', a SHA-256 is needed: 64 digits of 0 to 9 and a to f$"
zeros=$(printf %064d 0)
campaign "[{file: ./hub.so, sha256: \"$zeros\"}]" hub > digest.yaml
refused "another digest" digest.yaml "2:18: schemes: './hub\.so' is another file than was asked for: its SHA-256 is $digest, not $zeros$"
campaign "[{file: ./hub.so, sha256: \"$digest\"}]" hub > pinned.yaml
"$LAGGARD" plan pinned.yaml > out.text 2> err.text
ok $? "the right digest is right" "$(cat err.text)"
campaign "./hub.so" hub > word.yaml
refused "no list" word.yaml "2:10: schemes: a list of 1 to 16 shared objects is needed"
campaign "[./hub.so]" hob > hob.yaml
refused "a scheme that it has not" hob.yaml "6:19: scheme: unknown scheme 'hob', did you mean 'hub'"

# ---- an object that crashes, or does not come back, in the world that runs in the controller ----
starts_with() { # starts_with NAME C: NAME.so, whose scheme begins with the statement, and NAME.yaml
    { printf '#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n'; sed "/^static void start(struct node/,/^{/ s/^{/{\n    $2/" hub.c; } > "$1.c"
    compile "$1.c" "$1.so"
    campaign "[./other.so, ./$1.so]" "ps-sync, hub" > "$1.yaml"
}
sed 's/"hub"/"other"/' hub.c > other.c
compile other.c other.so
for end in "crash:abort();:134:killed by SIGABRT" "raise:static int calls; if (calls++ == 0) raise(SIGABRT);:134:killed by SIGABRT" "exit:exit(0);:3:ended by exit\\(\\), which laggard never calls"; do
    name=${end%%:*} rest=${end#*:}
    statement=${rest%%:*} rest=${rest#*:}
    starts_with "$name" "$statement"
    ("$LAGGARD" run "$name.yaml" --world virtual --quiet --db "$name.db" > run.text 2> err.text; echo $? > status.text) 2> /dev/null
    is "$(cat status.text)" "${rest%%:*}" "a scheme that calls $statement exit code ${rest%%:*}"
    like "$(cat err.text)" "^laggard: error: ${rest#*:}, with schemes of '\./other\.so', '\./$name\.so' at work in this process: .*; finished trials are stored" "and the sentence"
    is "$(query "$name.db" "SELECT count(*) FROM trial WHERE status NOT IN ('finished', 'running')")" 0 "and what had finished is there"
done
two_signals_end() { # two_signals_end NAME WORLD WHAT: Ctrl-C until it ends, from when it says on standard error that it loops
    "$LAGGARD" run "$1.yaml" --world "$2" --quiet --db "$1.db" > run.text 2> err.text &
    looping=$!
    tries=0
    until grep -q "^it loops" err.text || [ $tries -ge 300 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    tries=0
    while kill -INT $looping 2> /dev/null && [ $tries -lt 60 ]; do # a shell has SIGINT ignored in what it starts behind
        tries=$((tries + 1))
        sleep 0.5
    done
    kill -9 $looping 2> /dev/null
    wait $looping 2> /dev/null
    is "$? $(grep -c "^it loops" err.text)" "130 1" "the second Ctrl-C ends $3"
}
loops='{ fputs("it loops\\n", stderr); for (;;) ; }'
starts_with loop "$loops"
two_signals_end loop virtual "a scheme that does not come back"
if can_emulate; then # predictions: of three cells, of the first trial as asked, and as measured, after its rounds
    { echo '#include <stdio.h>'; sed "s/^static const struct scheme scheme_hub = {/static void predict(const struct scheme_setup *setup, struct prediction *prediction)\n{\n    static int calls;\n    if (setup \&\& prediction \&\& ++calls == 5) $loops\n}\n&\n    .predict = predict,/" hub.c; } > foresee.c
    compile foresee.c foresee.so
    campaign "[./foresee.so]" hub > foresee.yaml
    two_signals_end foresee emulated "a prediction that does not come back"
fi

# ---- an object that changed between two runs of one campaign ----
campaign "[./hub.so]" hub > again.yaml
"$LAGGARD" run again.yaml --world virtual --quiet --shard 1/2 --db again.db > run.text 2> err.text
ok $? "a share of a campaign" "$(cat err.text)"
compile hub.c hub.so -O2
"$LAGGARD" run again.yaml --world virtual --quiet --shard 1/2 --db again.db --resume > run.text 2> err.text
is "$?" 2 "does not go on with another object: exit code 2"
cd "$root" || exit 1
finish
