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
#include "schemas/capture.h"
#include "schemas/topology.h"
#include "schemas/traffic.h"

struct err;
struct fabric;

enum { FABRIC_STREAMS = 3 };
struct fabric_program { /* a program to start on a place once the network stands */
    int place;
    const char *path; /* outside: without a slash it is looked for in PATH of its environment */
    char *const *arguments;
    char *const *environment; /* NULL: inherited */
    const int *descriptors;   /* descriptors[i] becomes 3 + i; made by the caller, outside the namespaces */
    unsigned descriptor_count;
    bool early;    /* starts while its network is still being made, to save time: it must not use the network before the
                                * caller, through one of the descriptors, tells it to */
    bool forks;    /* the program can be a fork server (base/fork_server.h): those of the same path and environment are then started
                    * as forks of one process that has loaded it. Their arguments are only seen in process lists */
    int cgroup_fd; /* open for writing on a cgroup's process list, which it joins before exec; 0: none */
    /* A program that is not laggard's own. It runs as the caller's user, without any capability (the bounding set is empty, too)
     * and without a way to new ones (no_new_privs; set-user-ID bits and file capabilities have no effect), in its place's PID, UTS
     * and IPC namespaces: all outside programs of a place see each other and nothing else in /proc, the host name is the place's,
     * and what a program leaves behind (daemons) lives on until the fabric ends. The file system is the caller's. It leads a
     * session and a process group of its own. Its environment is completed with what says where it is, in place of variables of
     * that name: LAGGARD_NODE (name), LAGGARD_SIZE, LAGGARD_PEERS (addresses of all hosts in order, comma separated) and, on a
     * host, LAGGARD_RANK (from 0) and LAGGARD_ADDRESS. It may not be `early`. */
    bool outside;
    const int *streams;    /* outside: FABRIC_STREAMS descriptors, which become 0, 1 and 2. NULL, or -1 for one of them: no input
                            * (/dev/null), or the caller's output */
    const char *directory; /* outside: where it starts; NULL: where the caller is */
    bool terminal;         /* outside: streams[0] is a terminal and becomes the one that controls its session; PS1 then shows the
                            * place's name, for shells whose own prompt does not */
    uint64_t open_files;   /* outside: soft limit of open files; 0: the caller's */
};

struct fabric_capture { /* packets that enter one direction of a link, from the network's first on (netem/capture.h) */
    int link, direction;
    int file_fd;         /* open for writing and empty; the caller may close it after fabric_build() */
    uint64_t snap_bytes; /* of each packet, at most */
    uint64_t size_bytes; /* of the file, at most; 0: not limited */
};

struct fabric_spec {
    const struct topology *topology;
    enum engine_kind engine; /* ENGINE_AUTO: netem where the kernel has it, else relay */
    const struct fabric_program *programs;
    int program_count;
    const struct traffic_flow *flows; /* cross traffic; silent until fabric_traffic_start() */
    int flow_count;
    const struct fabric_capture *captures; /* at most DIRECTIONS * CAPTURED_LINKS_MOST */
    int capture_count;
    bool awake; /* processors do not sleep while it stands, where this host allows it: base/awake.h */
    bool enter; /* others of this user may start outside programs on the places: netem/enter.h */
};

/* What this host can do; cheap, probed by trying in a scratch namespace, leaves nothing behind. */
struct fabric_host {
    bool root;            /* euid 0 with the capabilities needed */
    bool user_namespaces; /* an ordinary user may make them */
    bool tun;             /* /dev/net/tun opens and TAP devices can be made */
    bool tbf, ifb, clsact, netem;
    bool packets;      /* packet sockets: links can be captured */
    bool rules;        /* policy rules: networks can be partitioned */
    char missing[512]; /* for each missing thing that matters: a sentence with the remedy; "" when all is there */
};
int fabric_probe(struct fabric_host *host, struct err *err);
/* Says (ERR_HOST, a sentence with the remedy) why this topology cannot be built here with this engine, before anything is built.
 * Resolves ENGINE_AUTO into *resolved (ENGINE_NONE where no link needs an engine). */
int fabric_check(const struct fabric_host *host, const struct topology *topology, enum engine_kind engine,
                 enum engine_kind *resolved, struct err *err);

/* Returns when every link is up, read back equal to what was asked, and every program is started. */
int fabric_build(const struct fabric_spec *spec, struct fabric **fabric, struct err *err);
const struct link_readback *fabric_readback(const struct fabric *fabric); /* one a link, in topology order */
int64_t fabric_build_ns(const struct fabric *fabric);                     /* how long the network took, without the programs */

/* Becomes readable when a program (or the warden itself) has ended; then fabric_next_exit() until it returns 0. */
int fabric_event_fd(const struct fabric *fabric);
/* 1: *program (index into the spec's programs) ended so; 0: nothing more for now; negative: the warden or the relay is gone. */
int fabric_next_exit(struct fabric *fabric, int *program, struct process_exit *how, struct err *err);
pid_t fabric_pid(const struct fabric *fabric, int program); /* in the caller's PID namespace; 0 if unknown */
/* To the program; to an outside program's whole process group. */
int fabric_signal(struct fabric *fabric, int program, int signal_number, struct err *err);
/* How many programs others have started from outside the network so far (`enter`; what the outside programs themselves started on
 * other places does not count). */
int fabric_entered(const struct fabric *fabric);

/* Reads counters since the fabric was built or since fabric_reset_counters(); cheap enough before and after a trial. */
int fabric_counters(struct fabric *fabric, struct link_counters *counters /* one a link */, struct err *err);
int fabric_reset_counters(struct fabric *fabric, struct err *err);

/* Changes while everything runs. A direction that is to change must have been built with `changes`, `rate_most_bps` and
 * `delay_most_ns` (topology.h); without `changes`, its rate and queue alone can. Qdiscs are changed in place, never deleted;
 * packets keep their order, and those under way keep their time; what the kernel and the relay then read back must equal what was
 * asked. `down`: every packet that comes is dropped (counted as lost), as by a cut cable somewhere on a switched path: no device
 * loses its carrier, no route goes. Counters go on. `to` is complete: what it does not ask for is off; a delay of 0 is a delay like
 * any other. A jitter_table of `to` must be memory that was there, filled, when the fabric was built.
 *
 * Each change fills tbf's bucket: up to a burst passes at once (the relay spreads it again). Where a rate is lowered while packets
 * wait, the bucket keeps its size until they have left, and is filled once more then. Where packets wait and the rate becomes three
 * times as high or more, one frame of 60 bytes that nobody receives is sent and counted: only that makes tbf look at its queue
 * before the time that the lower rate had set. fabric_readback() stays what it was when the fabric was built. */
int fabric_change(struct fabric *fabric, int link, int direction, const struct direction *to, bool down, struct err *err);
/* Whether a direction that is built so (with `engine`, resolved) could change so; ERR_USAGE with the reason. Nothing is asked of
 * any fabric: for checks before one is built, too. */
int fabric_check_change(const struct direction *built, const struct direction *to, bool down, enum engine_kind engine,
                        struct err *err);
/* Partition: hosts of different groups no longer reach each other, on whatever path, silently; equal numbers, one group. NULL
 * heals. Each host drops at its own entrance what comes from others' addresses: links carry it (and count it), and hosts go on
 * forwarding for others. Needs policy rules in the kernel (fabric_host). Host after host, not at once: a few ms for 100. */
int fabric_separate(struct fabric *fabric, const int *group /* one a host */, struct err *err);

/* Cross traffic: the flows of the spec begin at start_ns (CLOCK_MONOTONIC; each waits for its own start after that) and end with
 * fabric_traffic_stop(), after which what they counted stands still but for packets that are still under way. Without flows both do
 * nothing. */
int fabric_traffic_start(struct fabric *fabric, int64_t start_ns, struct err *err);
int fabric_traffic_stop(struct fabric *fabric, struct err *err);
const struct traffic_counters *fabric_traffic(const struct fabric *fabric); /* one a flow; changes while packets arrive */

/* Ends the captures: what was sent up to now is in the files and in summaries[] (one a capture of the spec). Takes about 0.25 s.
 * Fails where the process that captures has ended, also after an earlier call. */
int fabric_finish_captures(struct fabric *fabric, struct packet_summary *summaries, struct err *err);

/* Measures links while nothing else runs (netem/measure.h says how). As soon as interrupt_fd (-1: none) is readable it gives up
 * with ERR_INTERRUPTED; the fabric is then good for nothing but its end. The relay's end meanwhile is an error: what was measured
 * would be its absence. */
int fabric_measure(struct fabric *fabric, const struct measure_effort *effort, int interrupt_fd,
                   struct link_check *checks /* one a link */, struct err *err);

/* Once more what the kernel says it has set: ERR_HOST with the place, the device and both values where it is no longer what was
 * asked, since somebody else has changed it. */
int fabric_read_back_again(struct fabric *fabric, struct err *err);

/* Ends everything and waits until no process is left. NULL allowed; also for cleanup(). */
void fabric_end(struct fabric *fabric);
void fabric_cleanup(struct fabric **fabric);

#endif
