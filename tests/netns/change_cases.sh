# change_cases.sh: runs the cases of change_check and part_check and numbers their lines. Sourced, with lib.sh before it and the programs in
# $SCRATCH.

changes() { # changes PROGRAM ENGINE CASE...: as $who, by $as
    program=$1 engine=$2
    shift 2
    for case in "$@"; do
        $as "$SCRATCH/$program" "$engine" "$case" > "$SCRATCH/changes" 2>&1
        status=$?
        while read -r verdict what; do
            [ "$verdict" = ok ]
            ok $? "$who, $engine, $case: $what" "$verdict $what"
        done < "$SCRATCH/changes"
        ok $status "$who, $engine, $case: to the end" "$(cat "$SCRATCH/changes")"
    done
}

changes_as() { # changes_as WHO COMMAND RATE-CASES SHAPES DELAY-CASES: what is tried without an engine, with networks to part, with one
    who=$1 as=$2
    facts=$($as "$TOOL" probe)
    if [ "$(echo "$facts" | fact root)$(echo "$facts" | fact user_namespaces)" = 00 ] || [ "$(echo "$facts" | fact tbf)" = 0 ]; then
        skip "$who: $(echo "$facts" | fact missing)"
        return
    fi
    changes change_check none $3
    if [ "$(echo "$facts" | fact rules)" = 1 ]; then
        changes part_check none $4
    else
        skip "$who: the kernel has no policy rules, so that nothing can be parted"
    fi
    for engine in relay netem; do
        case $engine in relay) needed=tun ;; netem) needed=netem ;; esac
        if [ "$(echo "$facts" | fact $needed)" = 1 ]; then
            changes change_check $engine $5
        else
            skip "$who: this host has no engine $engine"
        fi
    done
}
