#!/bin/sh
# home.t: TAP. laggard at home on Linux: what it says of itself, what shells complete, and what `make install` puts where.
. "$(dirname "$0")/lib.sh"
top=$PWD
cd "$SCRATCH" || exit 1

"$LAGGARD" --version --json > version.json
is "$(jq -r '[.version, .mode] | join(" ")' version.json) $(jq '.schema_version > 0 and .control_version > 0 and (.revision | length > 0) and (.flags | length > 0)' version.json)" \
    "$("$LAGGARD" --version | cut -d ' ' -f 2) ${LAGGARD_BUILD##*/} true" "--version --json"
for words in --jsn "--json more" more; do
    "$LAGGARD" --version $words > out.text 2> err.text
    is "$? $(wc -c < out.text) $(cat err.text)" "2 0 laggard: error: --version: found '${words#--json }', allowed is --json" "--version $words"
done
if [ "${LAGGARD_BUILD##*/}" = release ] && command -v readelf >/dev/null; then
    for program in "$LAGGARD" "${LAGGARD%laggard}laggard-agent"; do
        is "$(readelf -dW "$program" | grep -c BIND_NOW) $(readelf -lW "$program" | grep -c GNU_RELRO) $(readelf -sW "$program" | grep -qE '__[a-z]+_chk' && echo checked)" "1 1 checked" \
            "${program##*/}: its tables of functions are read-only, lengths are checked"
    done
fi
is "$("$LAGGARD" schemes anytime | grep -c 'up to 1048576 (0 to 1048576; default 0)')" 1 "schemes: a whole number has all of its digits"

# ---- messages ----
cat > few.yaml <<'Y'
name: few
topology: {link: {rate: 100mbit}}
workload: {model: synthetic, size: 10KB, rounds: 3}
compute.time: {distribution: constant, value: 1ms}
scheme: ring
workers: 2
Y
LAGGARD_LOG=loud "$LAGGARD" plan few.yaml > out.text 2> err.text
is "$? $(cat err.text)" "0 laggard: warning: LAGGARD_LOG: found 'loud', allowed are error, warning, debug; warnings it is" "a level that does not exist"
"$LAGGARD" run few.yaml --world virtual --db levels.db --resume --quiet > out.text 2> err.text
is "$(grep -c 'warning: levels.db holds no campaign' err.text)" 1 "warnings"
rm levels.db
LAGGARD_LOG=error "$LAGGARD" run few.yaml --world virtual --db levels.db --resume --quiet > out.text 2> err.text
is "$?$(cat err.text)" 0 "no warnings"
if can_emulate; then
    LAGGARD_LOG=debug "$LAGGARD" run few.yaml --db levels.db --quiet > out.text 2> err.text
    is "$? $(grep -c '^laggard: debug: network: veth pairs' err.text | sed 's/^[1-9][0-9]*$/some/')" "0 some" "what only developers want to know"
fi

# ---- completion ----
for shell in bash zsh fish; do
    "$LAGGARD" completion $shell > "laggard.$shell"
    if command -v $shell > /dev/null 2>&1; then
        $shell -n "laggard.$shell" > out.text 2>&1
        is "$?$(cat out.text)" 0 "$shell understands its script"
    else
        echo "# $shell is not installed: its script is not tried there"
    fi
done
"$LAGGARD" completion csh > out.text 2> err.text
is "$? $(cat err.text)" "2 laggard: error: completion: found 'csh', did you mean 'zsh'? Allowed are: bash, zsh, fish" "another shell"
completed() { # completed WORD...: what bash offers for the last word
    bash -c '. ./laggard.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _laggard; printf "%s\n" "${COMPREPLY[@]}"' bash "$@" | tr '\n' ' '
}
is "$(completed laggard ru)" "run " "a command"
is "$(completed laggard '' | tr ' ' '\n' | grep '^[a-z]' | sort)" "$("$LAGGARD" --help | sed -n 's/^  \([a-z]*\) .*/\1/p' | sort)" "all commands"
is "$(completed laggard help ru)" "run " "and behind help"
is "$(completed laggard run --wor)" "--world " "an option"
is "$(completed laggard run --world '')" "emulated virtual both " "the values of an option"
is "$(completed laggard run file.yaml --engine re)" "relay " "behind an argument, too"
touch some.yaml
is "$(completed laggard run so)" "some.yaml " "a file"
is "$(completed laggard run --db so)" "some.yaml " "the file of an option"
is "$(completed laggard sql some.db strag)" "stragglers " "a canned query"
is "$(completed laggard sql --format csv some.db strag)" "stragglers " "behind an option with its value, too"
is "$(completed laggard baselines s)" "set show " "an action"
is "$(completed laggard schemes rin)" "ring " "a scheme"
is "$(completed laggard doctor root user)" "user namespaces " "a check, as many as one likes"
is "$(completed laggard doctor '' | tr -d ' ')" "$("$LAGGARD" doctor --checks | sed -n 's/^| `\(.*\)` |.*/\1/p' | tr -d ' \n')" "all checks"
touch "my campaign.yaml"
is "$(bash -c '. ./laggard.bash; COMP_WORDS=(laggard run my); COMP_CWORD=2; _laggard; echo ${#COMPREPLY[@]} "${COMPREPLY[@]}"')" "1 my campaign.yaml" "a file whose name has a blank"
missing=""
for command in $("$LAGGARD" --help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
    for option in $("$LAGGARD" "$command" --help | grep -oE -- '^ +(-[a-z], )? *--[a-z-]+' | grep -oE -- '[a-z][a-z-]+$'); do
        [ "$option" = help ] || grep -q "seen_subcommand_from $command' -l $option" laggard.fish || missing="$missing fish:$command:$option"
        completed laggard "$command" "--$option" | grep -q -e "--$option" || missing="$missing bash:$command:$option"
        sed -n "/^        $command)/,/;;/p" laggard.zsh | grep -q -e "'--$option\[" || missing="$missing zsh:$command:$option"
    done
done
is "$missing" "" "every option of every command, in each shell"
if command -v fish > /dev/null 2>&1; then
    is "$(HOME=$SCRATCH fish -c 'source laggard.fish; complete -C "laggard run --world v"' 2>/dev/null | cut -f 1)" "virtual" "fish offers it"
fi

# ---- make install ----
make -C "$top" --no-print-directory install DESTDIR="$SCRATCH/root" PREFIX=/opt/laggard MODE="${LAGGARD_BUILD##*/}" > out.text 2>&1
is "$? $(find root -type f | grep -vE '^root/opt/laggard/(bin|include/laggard|share/(doc|man|fish|zsh|bash-completion))/')" "0 " "everything is below PREFIX"
for file in include/laggard/agents share/doc/laggard/docs/examples; do
    mkdir -p "blocked/opt/laggard/${file%/*}" && touch "blocked/opt/laggard/$file"
    make -C "$top" --no-print-directory install DESTDIR="$SCRATCH/blocked" PREFIX=/opt/laggard MODE="${LAGGARD_BUILD##*/}" > out.text 2>&1
    is "$?" 2 "where $file cannot be a folder, make install fails"
    rm -r blocked
done
is "$(root/opt/laggard/bin/laggard --version)" "$("$LAGGARD" --version)" "what is installed runs"
is "$(cat root/opt/laggard/share/bash-completion/completions/laggard root/opt/laggard/share/zsh/site-functions/_laggard root/opt/laggard/share/fish/vendor_completions.d/laggard.fish)" \
    "$(cat laggard.bash laggard.zsh laggard.fish)" "with the completions"
if can_emulate; then
    root/opt/laggard/bin/laggard run few.yaml --db small.db --quiet > out.text 2>&1
    is "$? $(query small.db "SELECT status FROM trial")" "0 finished" "with its agent beside it"
fi
finish
