/* harness/host_limits.h: what a trial asks of this host, against what the host allows, before anything is built.
 *
 * Theory of operation. A cell becomes numbers (host_demand_of), the host's limits become numbers (host_limits_read), and comparing
 * them is a table with one row a limit (host_limits_check), each with its sentence: what is needed, what is there, which limit that
 * is, and the command that raises it. The comparison is pure. */
#ifndef LAGGARD_HARNESS_HOST_LIMITS_H
#define LAGGARD_HARNESS_HOST_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "schemas/plan.h"
#include "schemas/topology.h"

struct err;

enum host_limit_kind {
    LIMIT_FILES,          /* RLIMIT_NOFILE, the hard limit */
    LIMIT_USER_PROCESSES, /* RLIMIT_NPROC */
    LIMIT_CGROUP_PROCESSES,
    LIMIT_PID_MAX,
    LIMIT_THREADS_MAX,
    LIMIT_NETWORK_NAMESPACES, /* user.max_*_namespaces */
    LIMIT_UTS_NAMESPACES,
    LIMIT_PID_NAMESPACES,
    LIMIT_MOUNT_NAMESPACES,
    LIMIT_IPC_NAMESPACES,
    LIMIT_USER_NAMESPACES,
    LIMIT_MAPPINGS, /* vm.max_map_count */
    LIMIT_FLIGHT,   /* the relay's rings: half of the memory */
    LIMIT_MEMORY,
    LIMIT_CGROUP_MEMORY,
    LIMIT_COUNT
};

struct host_demand {
    int nodes;
    uint64_t files; /* open at once in one process, the one that opens most */
    const char *files_of;
    uint64_t processes; /* and threads */
    uint64_t network_namespaces, uts_namespaces, other_namespaces /* PID, mount, IPC: each */, user_namespaces;
    uint64_t relay_mappings;
    uint64_t flight_bytes; /* the relay's packets in flight, at worst */
    uint64_t memory_bytes; /* of everything together; rather too low */
};
/* A trial of this cell on this network. data_shared: all agents read one copy of the data set. */
void host_demand_of(const struct cell *cell, const struct topology *topology, enum engine_kind engine, bool data_shared,
                    struct host_demand *demand);
/* A network with `programs` outside programs that somebody starts by hand. */
void host_demand_of_network(const struct topology *topology, enum engine_kind engine, int programs,
                            const struct capture_settings *capture, struct host_demand *demand);
/* A network without programs, of which so many links are measured at the same time. */
void host_demand_of_measurement(const struct topology *topology, enum engine_kind engine, int links, struct host_demand *demand);
/* A parameter server and nodes - 1 workers in a star of delayed links, with a gradient of a few kilobytes. */
void host_demand_of_star(int nodes, struct host_demand *demand);

struct host_limits {
    struct {
        uint64_t allowed; /* UINT64_MAX: no limit, or unknown */
        uint64_t used;    /* of it, by others, now */
        char where[160];  /* the file of a control group's limit; "" elsewhere */
    } of[LIMIT_COUNT];
};
void host_limits_read(struct host_limits *limits);
/* What this process may open and start: its soft limits, up to the hard ones. A large cell needs more than the usual soft limit. */
void host_limits_raise(void);

/* ERR_HOST with the sentence of the first limit that is too low. */
int host_limits_check(const struct host_limits *limits, const struct host_demand *demand, struct err *err);
/* Before the first process is started, even one that only asks what the kernel can: the limits of processes alone. */
int host_limits_check_processes(const struct host_limits *limits, const struct host_demand *demand, struct err *err);

/* The largest host_demand_of_star() for which there is room (at most 100,000), and the sentence about one node more ("" at the
 * most). */
int host_limits_nodes(const struct host_limits *limits, struct err *next);

#endif
