#!/bin/sh
# reports.t: TAP. What users of network emulators keep reporting, where no other test shows how laggard behaves; docs/emulator.md has the table.
. "$(dirname "$0")/lib.sh"
can_emulate || skip_all "this host cannot emulate"
TOOL=$LAGGARD_BUILD/tests/netns/fabric_tool
[ -x "$TOOL" ] || skip_all "$TOOL is not built"
before=$(leftovers)
skip() { # skip REASON
    tap_number=$((tap_number + 1))
    echo "ok $tap_number # SKIP $1"
}
relay=no
"$LAGGARD" doctor 2>&1 | grep -q '^yes *tun ' && relay=yes

# Rates that wrap: 32 bits of bits a second end at 4.3, a signed int of bytes a second at 17.2, an unsigned one at 34.4 Gbit/s.
for gbit in 1 2 4 5 17 18 34 35 100 400; do
    out=$("$TOOL" -n 1 -r ${gbit}gbit -q 2MB build 2>&1)
    is "$(echo "$out" | grep -c "^link .* rate ${gbit}000000000 ")" 2 "$gbit Gbit/s read back exactly" "$out"
done
out=$("$TOOL" -n 1 -r 8kbit build 2>&1)
is "$(echo "$out" | grep -c '^link .* rate 8000 ')" 2 "so do 8 kbit/s"

# A wrong burst: the rate is far off, or full frames do not pass at all. Bits taken for bytes: a rate eight times off. Slow rates, which any host
# keeps; the second of two attempts counts, as everywhere where links are measured.
for mbit in 1 20; do
    within() { # the goodput of both directions within 5 % of 1448/1514 of the rate
        out=$("$TOOL" -n 1 -r ${mbit}mbit measure 2>&1)
        echo "$out" | sed -n 's/.* goodput_mbps \([0-9.]*\) .*/\1/p' |
            awk -v rate=$mbit '{ n++; share = $1 / (rate * 1448 / 1514); if (share < 0.95 || share > 1.05) bad = 1 } END { exit bad || n != 2 }'
    }
    within || within
    ok $? "$mbit Mbit/s carry $mbit Mbit/s, less the headers" "$out"
done
# The largest frames at the largest MTU pass.
cat > "$SCRATCH/jumbo.yaml" <<'Y'
name: jumbo
mtu: 9000
topology: {link: {rate: 10mbit}}
workload: {model: synthetic, size: 100KB, rounds: 2}
scheme: ring
workers: 2
Y
out=$("$LAGGARD" run "$SCRATCH/jumbo.yaml" --db "$SCRATCH/jumbo.db" --quiet 2>&1)
ok $? "frames of 9,014 bytes pass a slow link" "$out"
is "$(query "$SCRATCH/jumbo.db" "SELECT DISTINCT read_back_burst_bytes > 9014, measured_goodput_bps > 5e6 FROM links")" "1 1" \
    "its burst holds such a frame, and they pass faster than one by one"

# Drops at high rate times delay: nothing is lost that nobody asked to lose.
if [ $relay = yes ]; then
    out=$("$TOOL" -n 2 -r 1gbit -d 50ms -e relay transfer 2>&1)
    ok $? "1 Gbit/s and 200 ms there and back: a transfer arrives" "$out"
    is "$(echo "$out" | grep -c '^link .* unasked_drops 0 ')" 4 "and nothing of it is dropped"
else
    skip "no TAP devices: no relay"
fi

# Names over 15 characters: what users call a link is the device's alternative name, and in the database.
cat > "$SCRATCH/names" <<'S'
#!/bin/sh
ip link show | sed -n 's/.*altname //p'
S
chmod 755 "$SCRATCH/names"
cat > "$SCRATCH/names.yaml" <<Y
name: names
workers: 2
workload: {exec: [$SCRATCH/names]}
topology:
  shape: graph
  hosts: [trainer-one-in-the-north, trainer-two-in-the-north]
  routers: [core-router-of-the-north-data-centre]
  links: [{from: trainer-one-in-the-north, to: core-router-of-the-north-data-centre},
    {from: trainer-two-in-the-north, to: core-router-of-the-north-data-centre, name: uplink-of-the-second-trainer, rate: 100mbit}]
Y
out=$("$LAGGARD" run "$SCRATCH/names.yaml" --db "$SCRATCH/names.db" --quiet 2>&1)
ok $? "names of up to 36 characters" "$out"
is "$(query "$SCRATCH/names.db" "SELECT stdout FROM processes ORDER BY node" | grep .)" "w0-core-router-of-the-north-data-centre
uplink-of-the-second-trainer" "a program sees them as alternative names"
is "$(query "$SCRATCH/names.db" "SELECT DISTINCT link_name FROM links ORDER BY asked_rate_bps IS NULL")" "uplink-of-the-second-trainer
w0-core-router-of-the-north-data-centre" "the database has them"

# A delay of 0 is not a delay that was left out: it takes the general one back.
cat > "$SCRATCH/zero.yaml" <<'Y'
name: zero
topology:
  link: {rate: 100mbit, delay: 20ms, back: {delay: 0}}
  overrides: [{node: w1, delay: 0}]
workload: {model: synthetic, size: 4KB, rounds: 2}
scheme: ring
workers: 3
Y
if [ $relay = yes ]; then
    out=$("$LAGGARD" run "$SCRATCH/zero.yaml" --db "$SCRATCH/zero.db" --quiet 2>&1)
    ok $? "delays of 0 among others" "$out"
    is "$(query "$SCRATCH/zero.db" "SELECT link_name, direction, asked_delay_ns / 1000000, read_back_delay_ns / 1000000 FROM links ORDER BY link_name, direction DESC")" \
        "w0-router forward 20 20
w0-router backward 0 0
w1-router forward 0 0
w1-router backward 0 0
w2-router forward 20 20
w2-router backward 0 0" "0 in one direction, and 0 for one node"
    is "$(query "$SCRATCH/zero.db" "SELECT count(*) FROM links WHERE asked_delay_ns = 0 AND measured_delay_minimum_ns > 10e6")" 0 "and as measured"
else
    skip "no TAP devices: no relay"
fi
is "$(settles_to "$before")" "$before" "nothing is left"
finish
