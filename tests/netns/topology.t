#!/bin/sh
# topology.t: TAP. A small network of every shape: every pair of hosts over the route that was computed, and every link alone.
. "$(dirname "$0")/lib.sh"
cp "$LAGGARD_BUILD/tests/netns/topology_tool" "$SCRATCH/"
before=$(state_of_host)
facts=$(as_root "$TOOL" probe)
if [ "$(echo "$facts" | fact root)$(echo "$facts" | fact user_namespaces)" = 00 ] || [ "$(echo "$facts" | fact tbf)" = 0 ]; then
    skip_all "$(echo "$facts" | fact missing)"
fi
delays=no
[ "$(echo "$facts" | fact tun)" = 1 ] && delays=yes
[ "$(echo "$facts" | fact netem)" = 1 ] && delays=yes

network() { # network NAME HOSTS LINKS TOPOLOGY: builds it for one server less than HOSTS workers, and tries it all
    name=$1 hosts=$2 links=$3
    printf 'name: t\nscheme: ring\nworkers: %s\nworkload: {model: synthetic, size: 1KB, rounds: 1}\ntopology: %s\n' \
        "$hosts" "$4" > "$SCRATCH/campaign.yaml"
    chmod 644 "$SCRATCH/campaign.yaml"
    if [ "$delays" = no ] && printf '%s' "$4" | grep -q 'delay\|latency'; then
        skip "$name: this host cannot delay packets"
        return
    fi
    out=$($as "$SCRATCH/topology_tool" "$SCRATCH/campaign.yaml" 2>&1)
    ok $? "$name: every pair, every link" "$(echo "$out" | grep -v ' ok$')"
    is "$(echo "$out" | grep -c '^datagram .* ok$')" $((hosts * (hosts - 1))) "$name: each pair's datagram takes its route and its time"
    is "$(echo "$out" | grep -c '^transfer .* ok$')" $((hosts * (hosts - 1))) "$name: each pair moves bytes both ways"
    is "$(echo "$out" | grep -c '^link .* ok$')" $((2 * links)) "$name: each direction of each link carries packets by itself"
}

as=as_root
network star 3 3 '{shape: star, link: {rate: 100mbit, delay: 3ms, back: {delay: 6ms}}, overrides: [{node: w1, delay: 9ms}]}'
like "$out" '^datagram w0 w1 links 2 asked_us 12000 ' "star: up over one link's delay and down over the other's"
network "star without delays" 3 3 '{shape: star, link: {rate: 1gbit}}'
network "a host alone" 1 0 '{shape: ring}'
network "a ring of two" 2 1 '{shape: ring, link: {rate: 100mbit, delay: 3ms}}'
network ring 5 5 '{shape: ring, link: {rate: 100mbit, delay: 3ms}, overrides: [{link: w4-w0, delay: 20ms}]}'
like "$out" '^datagram w0 w4 links 4 asked_us 12000 ' "ring: the long way round is the shorter one"
network "ring with two ways" 4 4 '{shape: ring, link: {rate: 100mbit}}'
network mesh 4 6 '{shape: mesh, link: {rate: 100mbit, delay: 2ms}, overrides: [{link: w0-w3, delay: 15ms}]}'
like "$out" '^datagram w0 w3 links 1 asked_us 15000 ' "mesh: a pair keeps to its own link"
network dumbbell 4 5 '{shape: dumbbell, link: {rate: 100mbit}, bottleneck: {rate: 10mbit, delay: 5ms, back: {delay: 10ms}}}'
like "$out" '^datagram w0 w3 links 3 asked_us 5000 ' "dumbbell: there"
like "$out" '^datagram w3 w0 links 3 asked_us 10000 ' "dumbbell: and back"
network tree 5 7 '{shape: tree, racks: 2, link: {rate: 100mbit, delay: 2ms}, oversubscription: 4}'
like "$out" '^datagram w0 w4 links 4 asked_us 8000 ' "tree: over both uplinks"
network graph 3 6 '{shape: graph, link: {rate: 100mbit, delay: 2ms}, hosts: [a, b, c, idle], routers: [core], links: [
    {from: a, to: core}, {from: a, to: core}, {from: b, to: core}, {from: b, to: core, delay: 15ms}, {from: c, to: idle},
    {from: idle, to: core, back: {delay: 4ms}}]}'
like "$out" '^datagram w1 w0 links 2 asked_us 4000 ' "graph: the shorter of two parallel links"
like "$out" '^link w1-core#2 0 asked_us 15000 .* ok' "graph: and the longer one is there, too"
like "$out" '^datagram w0 w2 links 3 asked_us 8000 ' "graph: through a host without a node"
network sites 3 6 '{shape: sites, sites: [x, y, z], link: {rate: 100mbit}, latency: [[0, 25ms, 3ms], [20ms, 0, 4ms], [3ms, 4ms, 0]]}'
like "$out" '^datagram w0 w1 links 3 asked_us 25000 ' "sites: a pair gets what is asked, the detour over z or not"
like "$out" '^datagram w1 w0 links 3 asked_us 20000 ' "sites: and back"
as=as_user
network "ring of an ordinary user" 4 4 '{shape: ring, link: {rate: 100mbit}}'
settles_to "$before" "nothing is left"
finish
