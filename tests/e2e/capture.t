#!/bin/sh
# capture.t: TAP. Captured links: bytes on the wire to the last one, files that another reader reads, limits, losses, a full disk, a capture
# that dies, outside programs, and an ordinary user.
. "$(dirname "$0")/lib.sh"
"$LAGGARD" doctor 2>&1 | grep -q "^yes  tbf" || skip_all "this host cannot shape links"
READ="perl $PWD/tests/e2e/read-pcap.pl 1500"
before=$(leftovers)
cd "$SCRATCH" || exit 1

# figure FILE NAME: what the other reader finds.
figure() {
    $READ "$1" 2>&1 | sed -n "s/^$2 //p"
}
# same_in_every_file DB SQL-EXPRESSION FIGURE: prints the files in which the reader finds something else than what the database says.
same_in_every_file() {
    query "$1" "SELECT path, $2 FROM captures" | while read -r path expected; do
        found=$(figure "$path" "$3")
        [ "$found" = "$expected" ] || echo "$path: $3 $found, stored $expected"
    done
}

# 1. A ring over plain veth pairs: every byte is known. A message has a header of 40 bytes, a connection a hello of 40 in each direction.
cat > ring.yaml <<'Y'
name: wire
topology: {shape: star, link: {rate: 500mbit}}
workload: {model: synthetic, size: 400KB, rounds: 5}
scheme: ring
workers: 4
capture: all
Y
"$LAGGARD" run ring.yaml --quiet >table 2>stderr
is "$?$(cat stderr)" 0 "a ring with every link captured runs"
is "$(cd "$OLDPWD" && settles_to "$before")" "$before" "nothing is left"
db=wire.db
is "$(query $db "SELECT count(*), count(DISTINCT path), sum(truncated), sum(dropped_count), count(reason) FROM captures")" "8 8 0 0 0" "eight files, whole"
S=400000 n=4 rounds=5
is "$(query $db "SELECT DISTINCT c.payload_bytes - c.retransmitted_bytes - 40 * k.sent_message_count - 2 * 40 FROM captures c
    JOIN node_counter k ON k.trial_id = c.trial AND k.node = c.link WHERE c.direction = 'forward'")" \
    $((2 * (n - 1) * S / n * rounds)) "each worker sent 2 (n - 1) / n x S a round, headers, two hellos, and nothing else"
is "$(query $db "SELECT DISTINCT c.payload_bytes - c.retransmitted_bytes - 40 * k.received_message_count - 2 * 40 FROM captures c
    JOIN node_counter k ON k.trial_id = c.trial AND k.node = c.link WHERE c.direction = 'backward'")" \
    $((2 * (n - 1) * S / n * rounds)) "and the router sent as much to each"
# What TCP itself counts is read when the rounds are over; the end of a connection may be sent again after that.
as_tcp_says() { # as_tcp_says DB NAME
    is "$(query "$1" "SELECT count(*) FROM captures c JOIN node_counter k ON k.trial_id = c.trial AND k.node = c.link WHERE c.direction = 'forward'
        AND (c.retransmitted_segment_count < k.tcp_retransmit_count OR c.retransmitted_segment_count > k.tcp_retransmit_count + 3)")" 0 "$2"
}
as_tcp_says $db "what TCP sent again was seen as often as TCP says"
is "$(query $db "SELECT min(round_trip_count) > 0, min(round_trip_minimum_ns) > 0, min(round_trip_minimum_ns <= round_trip_p50_ns
    AND round_trip_p50_ns <= round_trip_p99_ns AND round_trip_p99_ns <= round_trip_maximum_ns), count(round_trip_reason) FROM captures")" "1 1 1 0" "round trips in both directions"
is "$(for file in captures/*; do figure "$file" magic; figure "$file" version; figure "$file" snap; figure "$file" network; done | sort -u | tr '\n' ' ')" \
    "1 128 2.4 a1b23c4d " "nanosecond pcap, version 2.4, Ethernet, 128 bytes of each packet"
is "$(same_in_every_file $db written_count records)" "" "as many packets in each file as are said"
is "$(same_in_every_file $db captured_count records)" "" "and as were captured"
is "$(same_in_every_file $db written_bytes bytes)" "" "files are as long as is said"
is "$(same_in_every_file $db payload_bytes payload)" "" "another reader adds up the same payload"
is "$(same_in_every_file $db packet_count frames)" "" "the same packets on the wire"
is "$(same_in_every_file $db wire_bytes wire)" "" "the same bytes on the wire"
is "$(for file in captures/*; do figure "$file" backward_steps; done | sort -u)" 0 "packets are in order of time"
begin=$(query $db "SELECT started_unix_ns / 1000000000 FROM trials")
is "$(for file in captures/*; do figure "$file" first_unix; figure "$file" last_unix; done | awk -v begin="$begin" -v now="$(date +%s)" '$1 < begin || $1 > now + 1' )" "" "times are those of the trial"
is "$(stat -c %a captures/* | sort -u)" 644 "files are for everyone to read"
if command -v tcpdump >/dev/null; then
    file=$(query $db "SELECT path FROM captures LIMIT 1")
    is "$(tcpdump -nr "$file" 2>/dev/null | wc -l)" "$(figure "$file" records)" "tcpdump reads it"
fi

# 2. The same names again; some links, by the command line; short packets.
sed -i 's/^capture: .*/capture: {links: [w0-router, 1], snap: 64B, size: 16KiB, directory: there\/deep}/' ring.yaml
"$LAGGARD" run ring.yaml --db second.db --quiet >table 2>stderr
is "$?$(cat stderr)" 0 "a size limit is no fault"
is "$(query second.db "SELECT count(*), group_concat(DISTINCT link_name), max(written_bytes) <= 16384, sum(truncated), group_concat(DISTINCT snap_bytes) FROM captures")" \
    "4 w0-router,w1-router 1 4 64" "the links that were named; files end at their limit"
like "$(query second.db "SELECT reason FROM captures")" "^the size limit was reached after [0-9]+ packets" "and say so"
is "$(same_in_every_file second.db written_count records)" "" "in whole packets"
is "$(for file in there/deep/*; do figure "$file" longest; done | sort -u)" 64 "of 64 bytes"
is "$(query second.db "SELECT DISTINCT c.payload_bytes - c.retransmitted_bytes - 40 * k.sent_message_count - 2 * 40 FROM captures c
    JOIN node_counter k ON k.trial_id = c.trial AND k.node = c.link WHERE c.direction = 'forward'")" \
    $((2 * (n - 1) * S / n * rounds)) "what a file had no room for is counted"
"$LAGGARD" run ring.yaml --db second.db --quiet --capture w2-router >table 2>stderr
is "$?$(cat stderr)" 0 "--capture takes the place of the file's links"
is "$(query second.db "SELECT group_concat(DISTINCT link_name) FROM captures WHERE trial = 2")" w2-router "and of nothing else"
is "$(ls there/deep | wc -l)" 6 "nothing was written over"
"$LAGGARD" run ring.yaml --db second.db --quiet --capture none >table 2>stderr
is "$?$(query second.db "SELECT count(*) FROM captures WHERE trial = 3")" 00 "none"
like "$(query second.db "SELECT settings_text FROM cell WHERE campaign_id = 3")" "capture: none" "is what is stored"

# 3. Refused before anything is there.
"$LAGGARD" run ring.yaml --db third.db --quiet --capture w0-router,w9-router >/dev/null 2>stderr
is "$? $(cat stderr)" "2 laggard: error: --capture: cell 0 (scheme=ring workers=4): there is no link 'w9-router': the first one is 'w0-router', and indexes go from 0 to 3" \
    "a link that is not there"
"$LAGGARD" run ring.yaml --db third.db --quiet --capture w0-router, >/dev/null 2>stderr
is $? 2 "half a list"
sed 's/there\/deep/ring.yaml\/there/' ring.yaml > file.yaml
"$LAGGARD" run file.yaml --db third.db --quiet >/dev/null 2>stderr
like "$? $(cat stderr)" "^3 .*captures cannot be written to 'ring.yaml/there'" "a place that is none"
sed 's/directory: there\/deep/directory: \/proc\/there/' ring.yaml > proc.yaml
"$LAGGARD" run proc.yaml --db third.db --quiet >/dev/null 2>stderr
like "$? $(cat stderr)" "^3 .*captures cannot be written to '/proc/there' " "a place that takes no files, whoever asks"
ln -s nowhere led
sed 's/directory: there/directory: led/' ring.yaml > led.yaml
"$LAGGARD" run led.yaml --db third.db --quiet >/dev/null 2>stderr
is "$? $(cat stderr) $(ls third.db nowhere 2>/dev/null)" "3 laggard: error: captures cannot be written to 'led/deep': 'led' is a link that leads nowhere; make the directory that it leads to, or remove it " \
    "a link that leads nowhere, before anything runs"
[ ! -e third.db ]
ok $? "nothing was made"

# 4. Losses and delay: what was sent again is seen, and the round trip is that of the whole path. The relay may release up to 1 ms early.
if [ -w /dev/net/tun ]; then
    cat > loss.yaml <<'Y'
name: loss
engine: relay
topology: {shape: star, link: {rate: 50mbit, delay: 5ms, loss: 2%}}
workload: {model: synthetic, size: 400KB, rounds: 4}
scheme: ring
workers: 2
rto_min: 20ms
Y
    "$LAGGARD" run loss.yaml --quiet --capture all >table 2>stderr
    is "$?$(cat stderr)" 0 "a lossy ring runs"
    is "$(query loss.db "SELECT min(retransmitted_segment_count) > 0, min(retransmitted_bytes) > 0, min(retransmitted_ratio) > 0, max(retransmitted_ratio) < 0.5 FROM captures WHERE direction = 'forward'")" \
        "1 1 1 1" "TCP sent again"
    is "$(query loss.db "SELECT DISTINCT c.payload_bytes - c.retransmitted_bytes - 40 * k.sent_message_count - 40 FROM captures c
        JOIN node_counter k ON k.trial_id = c.trial AND k.node = c.link WHERE c.direction = 'forward'")" 1600000 "and all of it, once"
    as_tcp_says loss.db "as often as TCP says"
    is "$(query loss.db "SELECT sum(c.retransmitted_bytes) > sum(b.retransmitted_bytes) FROM captures c JOIN captures b
        WHERE c.direction = 'forward' AND b.direction = 'backward'")" 1 "behind the loss, less has passed before"
    is "$(query loss.db "SELECT min(round_trip_minimum_ns) > 16000000 FROM captures WHERE direction = 'forward';
        SELECT min(round_trip_minimum_ns) > 8000000, min(round_trip_minimum_ns) < 16000000 FROM captures WHERE direction = 'backward'")" "1
1 1" "20 ms from a worker to the other and back, 10 ms from the router"
fi

# 5. A full disk: counted on, said, and the trial is what it is.
sed -i 's/^capture: .*/capture: {links: all, directory: small, size: unlimited}/' ring.yaml
mkdir small
if unshare --mount sh -c 'mount -t tmpfs -o size=256k small small' 2>/dev/null; then
    unshare --mount sh -c 'mount -t tmpfs -o size=256k small small && "$0" run ring.yaml --db full.db --quiet >table 2>stderr
        status=$?; cp -r small kept; exit $status' "$LAGGARD"
    is $? 0 "with a full disk a trial goes on"
    like "$(cat stderr)" "warning: small/wire-.*: writing failed after [0-9]+ packets: No space left on device" "which is said"
    is "$(query full.db "SELECT status, (SELECT max(truncated) FROM captures), (SELECT count(*) FROM captures WHERE truncated <> (reason IS NOT NULL)) FROM trials")" \
        "finished 1 0" "and stored"
    is "$(query full.db "SELECT DISTINCT c.payload_bytes - c.retransmitted_bytes - 40 * k.sent_message_count - 2 * 40 FROM captures c
        JOIN node_counter k ON k.trial_id = c.trial AND k.node = c.link WHERE c.direction = 'forward'")" \
        $((2 * (n - 1) * S / n * rounds)) "every byte is counted"
    is "$(query full.db "SELECT path, written_count FROM captures" | while read -r path count; do
        found=$(figure "kept/${path#small/}" records)
        [ "$found" = "$count" ] || echo "$path: $found records, stored $count"; done)" "" "files end with a whole packet"
else
    ok 0 "# SKIP only root can mount a small disk"
fi

# 6. The process that captures dies: the trial does not.
cat > long.yaml <<'Y'
name: long
topology: {shape: star, link: {rate: 100mbit}}
workload: {model: synthetic, size: 100KB, rounds: 150}
compute: {time: {distribution: constant, value: 10ms}}
scheme: ring
workers: 2
capture: w0-router
Y
"$LAGGARD" run long.yaml --quiet >table 2>stderr &
controller=$!
tries=0
until capture=$(marked_named laggard-capture) &&
    [ -n "$capture" ] && [ "$(query long.db "SELECT count(*) FROM trial WHERE status = 'running'" 2>/dev/null)" = 1 ] || [ $tries -ge 1500 ]; do
    sleep 0.02
    tries=$((tries + 1))
done
sleep 0.5
grep -E '^(CapEff|CapBnd|NoNewPrivs)' "/proc/$capture/status" > status
kill -9 "$capture"
wait $controller
is $? 0 "a trial outlives its capture"
is "$(tr -d ' \t' < status | tr '\n' ' ')" "CapEff:0000000000000000 CapBnd:0000000000000000 NoNewPrivs:1 " "which had no privilege left"
like "$(cat stderr)" "warning: captures in captures are incomplete: the process that captures has ended" "what is missing is said"
is "$(query long.db "SELECT status, fidelity <> 'faithful', fidelity_reason LIKE '%w0-router forward was not captured to the end%' FROM trials")" "finished 1 1" "and no trial passes for whole"
is "$(query long.db "SELECT count(*), count(packet_count), group_concat(DISTINCT reason) FROM captures")" "2 0 the process that captures has ended" "nor numbers for known"

# 7. A program of others, and a trial that fails: what it sent is there.
cat > outside.yaml <<'Y'
name: outside
topology: {shape: star, link: {rate: 100mbit}}
workload: {exec: [perl, -e, 'use IO::Socket::INET; @p = split /,/, $ENV{LAGGARD_PEERS};
  if ($ENV{LAGGARD_RANK}) { $l = IO::Socket::INET->new(LocalAddr => $ENV{LAGGARD_ADDRESS}, LocalPort => 5000, Listen => 1); $c = $l->accept; 1 while read($c, $_, 65536); exit 3 }
  for (1 .. 100) { $c = IO::Socket::INET->new(PeerAddr => $p[1], PeerPort => 5000) and last; select(undef, undef, undef, 0.05) }
  print $c "x" x 123457; close $c; exit 0']}
workers: 2
capture: w0-router
Y
"$LAGGARD" run outside.yaml --quiet >table 2>stderr
is $? 4 "a program fails"
is "$(query outside.db "SELECT status FROM trials; SELECT payload_bytes - retransmitted_bytes FROM captures WHERE direction = 'forward'")" "failed
123457" "every byte that it sent is counted"

# 8. The same while any command runs; the file's own capture is for trials.
cat > sender.pl <<'P'
use IO::Socket::INET; @p = split /,/, $ENV{LAGGARD_PEERS};
if ($ENV{LAGGARD_RANK}) { $l = IO::Socket::INET->new(LocalAddr => $ENV{LAGGARD_ADDRESS}, LocalPort => 5000, Listen => 1); $c = $l->accept; 1 while read($c, $_, 65536); exit }
for (1 .. 100) { $c = IO::Socket::INET->new(PeerAddr => $p[1], PeerPort => 5000) and last; select(undef, undef, undef, 0.05) }
print $c "x" x 98765;
P
rm -rf captures
"$LAGGARD" exec long.yaml --capture w1-router -- perl sender.pl >output 2>stderr
is "$?$(cat output)" 0 "a command runs on captured links"
is "$(ls captures | sed 's/exec-.*Z/exec-TIME/' | tr '\n' ' ')" "long-exec-TIME-w1-router-backward.pcap long-exec-TIME-w1-router-forward.pcap " "with files of its own"
is "$(figure captures/*-backward.pcap payload)" 98765 "that hold what it sent"
like "$(cat stderr)" "captures/long-exec-.*-w1-router-backward.pcap: $(figure captures/*-backward.pcap frames) packets, .*, 0 segments sent again, median round trip [0-9.]+ [mu]s" \
    "and it is said what that is"
"$LAGGARD" exec long.yaml --capture w7-router -- true >output 2>stderr
is "$? $(cat stderr)" "2 laggard: error: --capture: there is no link 'w7-router': the first one is 'w0-router', and indexes go from 0 to 1" "a link that is not there"
is "$(cd "$OLDPWD" && settles_to "$before")" "$before" "nothing is left"
finish
