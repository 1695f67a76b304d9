/* netem/traffic.h: cross traffic: one process that sends and receives every flow of a trial.
 *
 * Theory of operation. Sockets are made in the namespaces of each flow's two ends before the first packet; TCP connections are
 * there before the process says that it is ready. What is due follows from the clock alone: the time that a flow has been on, by
 * its seeded schedule, times its rate. The process sleeps until the next packet is due; of a flow with more than one packet a
 * millisecond, the packets of each millisecond since the start leave together at its end. A process that comes late sends what is
 * due, but nothing that was due more than 10 ms before: those packets are never sent, and counted (late).
 *
 * UDP packets that the kernel does not take (its queue towards the link is full) are counted and gone. A TCP flow is written at its
 * rate, and paced by the kernel at a little more; what TCP does not take when it is due, since the network gives it less, is gone,
 * too, so that a flow never makes up for what it was denied. Receivers count and throw away.
 *
 * Nothing is allocated and nothing logged once it is ready. */
#ifndef LAGGARD_NETEM_TRAFFIC_H
#define LAGGARD_NETEM_TRAFFIC_H

#include "schemas/settings.h"
#include "schemas/topology.h"
#include "schemas/traffic.h"

struct err;

/* Which flow cannot be, and which of its keys says so; NULL: all of it. */
struct traffic_fault {
    int flow;
    const char *key;
};
/* The flows in this network, one a setting; `hosts` are the names of a graph's hosts. Refuses (ERR_USAGE) ends that are not there
 * or are one, routers that are not next to the other end, and packets that would not pass as one. */
int traffic_resolve(const struct traffic_list *asked, const struct name_list *hosts, const struct topology *topology,
                    struct traffic_flow *flows, struct traffic_fault *fault, struct err *err);

struct traffic_spec {
    const struct topology *topology; /* with the seed of the schedules */
    const int *namespace_fds;        /* one a place */
    const struct traffic_flow *flows;
    int flow_count;
    struct traffic_counters *counters; /* one a flow, shared with the caller; written by the process only */
};

/* The control socket keeps message boundaries. One byte comes from the process when it is ready, and one when it has stopped. */
struct traffic_order {
    int64_t start_ns; /* CLOCK_MONOTONIC; 0: stop */
};

/* Runs until the control socket is closed by its other end (returns 0) or it fails. To be called in a process of its own, which
 * ends in one of the namespaces. Takes SCHED_FIFO and timer slack 1 ns where allowed; leaves SCHED_FIFO while it has no time left
 * to sleep. */
int traffic_run(const struct traffic_spec *spec, int control_fd, struct err *err);

#endif
