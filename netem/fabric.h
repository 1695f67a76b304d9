/* netem/fabric.h: the network of one trial: anonymous namespaces, shaped links and the processes inside, as one resource.
 *
 * Theory of operation. fabric_build() clones a warden: process 1 of a new PID namespace (and, without root, of a new user namespace
 * that owns everything; the caller's own process never changes its namespaces or privileges). The warden makes one network
 * namespace a place, the links, addresses, routes and neighbours over netlink, starts the relay where links need it, then spawns
 * the processes. Namespaces are held by descriptors alone and have no names. When the warden ends (fabric_end, the caller's death
 * by any cause, its own failure), the kernel ends every process inside, grandchildren too, and the network goes with the last
 * descriptor. The host's own network is never touched.
 *
 * The caller must be single-threaded when it calls fabric_build(). Everything passed in must live only during the call. */
#ifndef LAGGARD_NETEM_FABRIC_H
#define LAGGARD_NETEM_FABRIC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/process.h"
#include "schemas/topology.h"

struct err;
struct fabric;

struct fabric_program { /* a process to start on a place once the network stands */
    int place;
    const char *path;
    char *const *arguments;
    char *const *environment; /* NULL: inherited */
    const int *descriptors;   /* descriptors[i] becomes 3 + i; made by the caller, outside the namespaces */
    unsigned descriptor_count;
    bool early; /* starts while its network is still being made, to save time: it must not use the network before the
                                * caller, through one of the descriptors, tells it to */
};

struct fabric_spec {
    const struct topology *topology;
    enum engine_kind engine; /* ENGINE_AUTO: netem where the kernel has it, else relay */
    const struct fabric_program *programs;
    int program_count;
};

/* What this host can do; cheap, probed by trying in a scratch namespace, leaves nothing behind. */
struct fabric_host {
    bool root;            /* euid 0 with the capabilities needed */
    bool user_namespaces; /* an ordinary user may make them */
    bool tun;             /* /dev/net/tun opens and TAP devices can be made */
    bool tbf, ifb, clsact, netem;
    char missing[512]; /* for each missing thing that matters: a sentence with the remedy; "" when all is there */
};
int fabric_probe(struct fabric_host *host, struct err *err);
/* Says (ERR_HOST, a sentence with the remedy) why this topology cannot be built here with this engine, before anything is built.
 * Resolves ENGINE_AUTO into *resolved (ENGINE_NONE where no link needs an engine). */
int fabric_check(const struct fabric_host *host, const struct topology *topology, enum engine_kind engine,
                 enum engine_kind *resolved, struct err *err);

/* Returns when every link is up, read back equal to what was asked, and every program is started. */
int fabric_build(const struct fabric_spec *spec, struct fabric **fabric, struct err *err);
enum engine_kind fabric_engine(const struct fabric *fabric);
const struct link_readback *fabric_readback(const struct fabric *fabric); /* one a link, in topology order */
int64_t fabric_build_ns(const struct fabric *fabric);                     /* how long the network took, without the programs */

/* Becomes readable when a program (or the warden itself) has ended; then fabric_next_exit() until it returns 0. */
int fabric_event_fd(const struct fabric *fabric);
/* 1: *program (index into the spec's programs) ended so; 0: nothing more for now; negative: the warden or the relay is gone. */
int fabric_next_exit(struct fabric *fabric, int *program, struct process_exit *how, struct err *err);
pid_t fabric_pid(const struct fabric *fabric, int program); /* in the caller's PID namespace; 0 if unknown */
int fabric_signal(struct fabric *fabric, int program, int signal_number, struct err *err);

/* Reads counters since the fabric was built or since fabric_reset_counters(); cheap enough before and after a trial. */
int fabric_counters(struct fabric *fabric, struct link_counters *counters /* one a link */, struct err *err);
int fabric_reset_counters(struct fabric *fabric, struct err *err);

/* Measures links while nothing else runs: for each direction of each sampled link a TCP transfer of about 60 ms worth of the rate
 * and at least 20 one-way UDP probes between the two ends' own namespaces. `sample` links at most, spread evenly (0: all). As soon
 * as interrupt_fd (-1: none) is readable it gives up with ERR_INTERRUPTED; the fabric is then good for nothing but its end. The
 * relay's end meanwhile is an error: what was measured would be its absence. */
int fabric_measure(struct fabric *fabric, int sample, int interrupt_fd, struct link_check *checks /* one a link */,
                   struct err *err);

/* Ends everything and waits until no process is left. NULL allowed; also for cleanup(). */
void fabric_end(struct fabric *fabric);
void fabric_cleanup(struct fabric **fabric);

#endif
