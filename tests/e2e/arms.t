#!/bin/sh
# arms.t: TAP. Arms in the emulated world: another agent program, another environment, other settings, another outside program, each for its
# own trials alone.
. "$(dirname "$0")/lib.sh"
can_emulate || skip_all "this host cannot emulate: $("$LAGGARD" doctor 2>&1 | grep '^no' | tr '\n' ';')"

agent=$LAGGARD-agent
cd "$SCRATCH" || exit 1
mkdir other
cat > other/agent <<S
#!/bin/sh
echo "\$ARM_WORD" >> "$SCRATCH/started"
exec "$agent" "\$@"
S
chmod 755 other/agent
cat > agents.yaml <<'Y'
name: agents
topology: {link: {rate: 100mbit, delay: 1ms}}
workload: {model: synthetic, size: 10KB, rounds: 3}
compute.time: {distribution: constant, value: 2ms}
scheme: ring
workers: 2
repeats: 2
arms:
  - {name: before}
  - {name: after, agent: other/agent, environment: {ARM_WORD: hello}, settings: {mtu: 1400}}
Y
before=$(cd "$OLDPWD" && leftovers)
ARM_WORD=caller "$LAGGARD" run agents.yaml --db agents.db --quiet > run.text 2> run.err
is "$?$(cat run.err)" 0 "a campaign with two agent programs"
is "$(query agents.db "SELECT arm, status, count(*) FROM trials GROUP BY 1, 2 ORDER BY 1")" "after finished 2
before finished 2" "every trial is finished"
# Agents of a trial are forks of one process, so that the program is started once a trial.
is "$(sort started | uniq -c | tr -s ' ')" " 2 hello" "one arm's program ran in its trials, with its environment, and nowhere else"
is "$(query agents.db "SELECT t.arm, r.mtu_bytes FROM trials t JOIN trial r ON r.trial_id = t.trial GROUP BY 1, 2 ORDER BY 1" | tr '\n' ' ')" "after 1400 before 1500 " "and its settings"
is "$(query agents.db "SELECT max(n) FROM (SELECT count(DISTINCT arm) AS n FROM trials GROUP BY block)")" 2 "both in every block"
for arm in before after; do # trials that are not void: a busy host may make some so
    like "$(cat run.text)" "ring +2 +$arm +$(query agents.db "SELECT trials FROM cells WHERE arm = '$arm'") " "the table has a row of arm $arm"
done

cat > programs.yaml <<'Y'
name: programs
topology: {link: {rate: 100mbit}}
workers: 2
arms:
  - {name: short, exec: [sh, -c, 'echo short $ARM_WORD'], environment: {ARM_WORD: one}}
  - {name: long, exec: [sh, -c, 'echo long $ARM_WORD']}
Y
ARM_WORD=caller "$LAGGARD" run programs.yaml --db programs.db --quiet > run.text 2> run.err
is "$?$(cat run.err)" 0 "a campaign with two outside programs"
is "$(query programs.db "SELECT DISTINCT arm, trim(stdout, char(10)) FROM processes ORDER BY 1" | tr '\n' ' ')" "long long caller short short one " "each arm has its own, with its environment"

sed -i 's,other/agent,other/none,' agents.yaml
"$LAGGARD" run agents.yaml --db none.db > run.text 2> run.err
is "$? $(wc -l < run.err) $(ls none.db 2>/dev/null)" "2 1 " "an agent program that is not there: exit code 2, one line, no database"
like "$(cat run.err)" "the agent program of arm after: .*other/none" "and the sentence names the arm"
is "$(cd "$OLDPWD" && settles_to "$before")" "$before" "nothing is left"
cd "$OLDPWD" || exit 1
finish
