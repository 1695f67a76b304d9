# shapes.sh: all seven shapes at small size, over one engine: every pair of hosts, every direction of every link, and a trial of the scheme ring.
# Sourced by tests that have sourced tap.sh and set TOPOLOGY_TOOL and LAGGARD.
#
# A line a shape: name, hosts, links, topology. DELAY stands where a link's delay may.
shapes='star 4 4 {shape: star, link: {rate: 100mbitDELAY}}
ring 4 4 {shape: ring, link: {rate: 100mbitDELAY}}
mesh 3 3 {shape: mesh, link: {rate: 100mbitDELAY}}
dumbbell 4 5 {shape: dumbbell, link: {rate: 100mbitDELAY}, bottleneck: {rate: 20mbitDELAY}}
tree 4 6 {shape: tree, racks: 2, link: {rate: 100mbitDELAY}, oversubscription: 2}
graph 3 5 {shape: graph, hosts: [a, b, c], routers: [core], links: [{from: a, to: core, rate: 100mbitDELAY}, {from: a, to: core, rate: 50mbitDELAY}, {from: b, to: core, rate: 100mbitDELAY}, {from: c, to: b, rate: 100mbitDELAY}, {from: c, to: core, rate: 100mbitDELAY}]}
sites 3 6 {shape: sites, sites: [x, y, z], link: {rate: 100mbitDELAY}, latency: [[0, LATENCY, LATENCY], [LATENCY, 0, LATENCY], [LATENCY, LATENCY, 0]]}'

try_shape() { # try_shape ENGINE DELAY NAME HOSTS LINKS TOPOLOGY...
    engine=$1 delay=$2 name=$3 hosts=$4 links=$5
    shift 5
    # the bottleneck and the latencies have their delay in any case
    topology=$(printf '%s' "$*" | sed -e "s/DELAY/${delay:+, delay: $delay}/g" -e "s/LATENCY/${delay:-0}/g")
    printf 'name: shapes\nmessage_cost: 30us\nscheme: ring\nworkers: %s\nworkload: {model: synthetic, size: 20KB, rounds: 3}\nengine: %s\ntopology: %s\n' \
        "$hosts" "$([ "$engine" = none ] && echo auto || echo "$engine")" "$topology" > "$SCRATCH/shape.yaml"
    out=$("$TOPOLOGY_TOOL" "$SCRATCH/shape.yaml" 2>&1)
    ok $? "$name, $engine: the network is built and crossed" "$(echo "$out" | grep -v ' ok$')"
    is "$(echo "$out" | grep -c '^datagram .* ok$') $(echo "$out" | grep -c '^transfer .* ok$') $(echo "$out" | grep -c '^link .* ok$')" \
        "$((hosts * (hosts - 1))) $((hosts * (hosts - 1))) $((2 * links))" "$name, $engine: each pair in both directions, and each link alone"
    rm -f "$SCRATCH/shape.db"
    out=$("$LAGGARD" run "$SCRATCH/shape.yaml" --db "$SCRATCH/shape.db" --quiet 2>&1)
    ok $? "$name, $engine: a trial of ring runs" "$out"
    is "$(sqlite3 -noheader -separator ' ' "$SCRATCH/shape.db" "SELECT status, engine FROM trials; SELECT min(check_count > 0), sum(check_failure_count) FROM node_counter")" \
        "finished $engine
1 0" "$name, $engine: and its sums are exact"
}
try_shapes() { # try_shapes ENGINE DELAY: DELAY is empty with engine none
    try_engine=$1 try_delay=$2
    while read -r shape_name shape_hosts shape_links shape_topology; do
        try_shape "$try_engine" "$try_delay" "$shape_name" "$shape_hosts" "$shape_links" "$shape_topology" < /dev/null
    done <<S
$shapes
S
}
