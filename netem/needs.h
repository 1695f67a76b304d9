/* netem/needs.h: how much of this host a network takes while it is built and stands: what the host's limits are compared with
 * before anything is built. Counts are exact where the kernel's limits are exact, and at most a few dozen too high; bytes are
 * rough, and rather too low: they refuse what cannot be, not what may be tight. */
#ifndef LAGGARD_NETEM_NEEDS_H
#define LAGGARD_NETEM_NEEDS_H

#include <stdbool.h>
#include <stdint.h>

#include "schemas/topology.h"

struct network_size { /* what decides it */
    uint64_t places, links, relay_links;
    uint64_t flight_bytes;                    /* the relay's memory for packets in flight, were all of it used */
    uint64_t programs, descriptors_a_program; /* streams included */
    uint64_t captures;                        /* link directions */
    bool outside;                             /* the programs are not laggard's own */
    bool user_namespace;                      /* the caller is not root */
};
struct network_needs {
    uint64_t warden_files, relay_files, capture_files; /* open files of one process at once */
    uint64_t processes;                                /* and threads, the programs themselves left out */
    uint64_t network_namespaces, uts_namespaces, other_namespaces /* PID, mount, IPC: each */, user_namespaces;
    uint64_t relay_mappings; /* areas of the relay's address space */
    uint64_t kernel_bytes, relay_bytes;
};

/* places, links and what the relay carries: engine resolved. The rest is left as it is. */
void needs_measure(const struct topology *topology, enum engine_kind engine, struct network_size *size);
void needs_of(const struct network_size *size, struct network_needs *needs);

#endif
