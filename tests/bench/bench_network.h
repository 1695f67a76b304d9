/* tests/bench/bench_network.h: the network of a trial, for benchmarks: a star as the fabric builds it, with a sleeping program on
 * each place by which its namespace is entered. Sockets come from the rig of tests/netns. */
#ifndef LAGGARD_TESTS_BENCH_BENCH_NETWORK_H
#define LAGGARD_TESTS_BENCH_BENCH_NETWORK_H

#include "tests/netns/relay_rig.h"

#include "base/arena.h"
#include "netem/fabric.h"

struct bench_network {
    struct rig rig; /* places, links and namespaces; no relay of its own */
    struct fabric *fabric;
    struct arena *arena;
};

/* `link` as in a campaign file: 0 is no limit, no delay, the default queue. Ends the program when it cannot. */
static inline void bench_network_open(struct bench_network *network, int hosts, const struct link_settings *link,
                                      enum engine_kind engine, uint64_t seed)
{
    struct err err;
    struct settings settings = {.shape = SHAPE_STAR, .mtu = RIG_MTU, .congestion_control = "cubic", .link = *link, .seed = seed};
    char *arguments[] = {"sleep", "3600", NULL};
    struct fabric_program programs[RIG_HOSTS_MOST + 1];
    for (int place = 0; place <= hosts; place++)
        programs[place] = (struct fabric_program){.place = place, .path = "/bin/sleep", .arguments = arguments};
    rig_home(&network->rig);
    network->arena = arena_new();
    struct topology *topology = &network->rig.topology;
    struct fabric_spec spec = {
        .topology = topology, .engine = engine, .programs = programs, .program_count = hosts + 1, .awake = true};
    if (topology_build(&settings, hosts, 0, network->arena, topology, &err) < 0 ||
        fabric_build(&spec, &network->fabric, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    for (int place = 0; place <= hosts; place++) {
        char path[64];
        snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)fabric_pid(network->fabric, place));
        network->rig.places[place] = topology->places[place];
        network->rig.namespace_fds[place] = open(path, O_RDONLY | O_CLOEXEC);
        if (network->rig.namespace_fds[place] < 0)
            rig_die("%s", path);
    }
    for (int i = 0; i < hosts; i++)
        network->rig.links[i] = topology->links[i];
}

static inline void bench_network_close(struct bench_network *network)
{
    for (int place = 0; place < network->rig.topology.place_count; place++)
        close(network->rig.namespace_fds[place]);
    close(network->rig.home);
    fabric_end(network->fabric);
    arena_free(network->arena);
}

/* What link 0's forward direction did since the network was built. */
static inline struct direction_counters bench_network_counters(struct bench_network *network)
{
    struct link_counters counters[RIG_HOSTS_MOST];
    struct err err;
    if (fabric_counters(network->fabric, counters, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    return counters[0].direction[DIRECTION_FORWARD];
}

#endif
