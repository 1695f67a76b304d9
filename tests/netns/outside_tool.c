/* outside_tool.c: runs one outside program on each place of a star for the namespace tests.
 *
 *     outside_tool [-n HOSTS] [-D FOLDER] [-s SIGNAL] [-i FILE] COMMAND...
 *
 * -D: where it starts; -s: sent to all once they have started; -i: standard input. Prints how each ended, or why it could not
 * start, and how long the fabric took with and without the programs. Programs also run on the router. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "netem/fabric.h"
#include "netem/topology.h"

enum { PATIENCE_MS = 60000 };

static int fail(const struct err *err)
{
    fprintf(stderr, "outside_tool: %s\n", err->text);
    return err_exit_code(err->kind);
}

static int await_exits(struct fabric *fabric, const struct topology *topology, int count)
{
    struct err err;
    while (count > 0) {
        struct pollfd wait = {.fd = fabric_event_fd(fabric), .events = POLLIN};
        if (poll(&wait, 1, PATIENCE_MS) != 1)
            return 4;
        int program, code;
        struct process_exit how;
        char text[64];
        while ((code = fabric_next_exit(fabric, &program, &how, &err)) == 1) {
            fprintf(stderr, "end %s: %s\n", topology->places[program].name, process_describe(text, sizeof(text), &how));
            count--;
        }
        if (code < 0)
            return fail(&err);
    }
    return 0;
}

int main(int argc, char **argv)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct settings settings = {.shape = SHAPE_STAR, .mtu = 1500, .congestion_control = "cubic", .link = {.rate_bps = 1000000000}};
    int hosts = 2, signal_number = 0, streams[FABRIC_STREAMS] = {-1, -1, -1}, letter;
    const char *directory = NULL;
    while ((letter = getopt(argc, argv, "+n:D:s:i:")) != -1)
        switch (letter) {
        case 'n':
            hosts = atoi(optarg);
            break;
        case 'D':
            directory = optarg;
            break;
        case 's':
            signal_number = atoi(optarg);
            break;
        case 'i':
            streams[0] = open(optarg, O_RDONLY | O_CLOEXEC);
            break;
        default:
            return 2;
        }
    struct topology topology;
    struct err err;
    if (topology_build(&settings, hosts, 0, arena, &topology, &err) < 0)
        return fail(&err);
    struct fabric_program *programs = arena_new_array(arena, struct fabric_program, (size_t)topology.place_count);
    for (int i = 0; i < topology.place_count; i++)
        programs[i] = (struct fabric_program){.place = i,
                                              .path = argv[optind],
                                              .arguments = argv + optind,
                                              .outside = true,
                                              .streams = streams,
                                              .directory = directory};
    struct fabric_spec spec = {.topology = &topology, .programs = programs, .program_count = topology.place_count};
    cleanup(fabric_cleanup) struct fabric *fabric = NULL;
    int64_t started = clock_now_ns();
    if (fabric_build(&spec, &fabric, &err) < 0)
        return fail(&err);
    fprintf(stderr, "build_ms %.2f total_ms %.2f\n", (double)fabric_build_ns(fabric) / 1e6,
            (double)(clock_now_ns() - started) / 1e6);
    for (int i = 0; signal_number && i < topology.place_count; i++)
        if (fabric_signal(fabric, i, signal_number, &err) < 0)
            return fail(&err);
    int code = await_exits(fabric, &topology, topology.place_count);
    int64_t ending = clock_now_ns();
    fabric_cleanup(&fabric);
    fprintf(stderr, "end_ms %.2f\n", (double)(clock_now_ns() - ending) / 1e6);
    return code;
}
