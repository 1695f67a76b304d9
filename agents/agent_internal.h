/* agents/agent_internal.h: what agent.c (the protocol), agent_setup.c (SETUP), agent_node.c (what SETUP makes) and
 * agent_report.c (REPORT) share. */
#ifndef LAGGARD_AGENTS_AGENT_INTERNAL_H
#define LAGGARD_AGENTS_AGENT_INTERNAL_H

#include <stdbool.h>

#include "agents/recorder.h"
#include "agents/sampler.h"
#include "agents/scheme.h"
#include "base/err.h"
#include "schemas/control.h"

struct arena;
struct emulated;
struct emulated_events;
struct loop;
struct workload;

/* Kernel counters that must be opened before the sandbox closes. */
struct processor_use {
    int64_t busy_ns, wait_ns; /* running; ready to run without a processor; -1: unknown */
};
enum { THREAD_LOOP, THREAD_COMPUTE, THREAD_COUNT };
struct host_counters {
    int netstat_fd, memory_fd;      /* -1: this kernel has none */
    int schedule_fds[THREAD_COUNT]; /* -1: no such thread, or none of this kernel's */
    bool threads[THREAD_COUNT];     /* there is such a thread */
    struct processor_use use_before[THREAD_COUNT], use[THREAD_COUNT];
    uint64_t timeouts_before;
};
#define HOST_COUNTERS_NONE                                                                                                         \
    {                                                                                                                              \
        .netstat_fd = -1, .memory_fd = -1, .schedule_fds = { -1, -1 }                                                              \
    }
void host_counters_open(struct host_counters *counters);
/* Once all threads run: opens what the kernel's scheduler counts of the calling thread, the loop's, and of the other one. */
void host_counters_open_threads(struct host_counters *counters);
/* What is between begin and end adds up in `use`; both read two short files. */
void host_counters_begin(struct host_counters *counters);
void host_counters_end(struct host_counters *counters);
void host_counters_close(struct host_counters *counters);
/* TcpExt TCPTimeouts of the namespace since it began; 0 where unknown. */
uint64_t host_counters_timeouts(const struct host_counters *counters);
/* Private dirty and clean bytes of this process; 0 where unknown. */
uint64_t host_counters_private_bytes(const struct host_counters *counters);

/* All that SETUP decides: plain data in the arena, none of it changed later. */
struct agent_setup {
    const struct control_setup *control;
    struct scheme_setup scheme;   /* of the first message size */
    struct scheme_setup *schemes; /* one a message size; NULL: none is swept */
    struct workload_settings workload;
    struct distribution compute_time;
    enum node_role role;
    int role_index;
    const uint32_t *addresses;
    const char *const *names;
    double *slow_factors;
};
/* Refuses what cannot be, with a sentence. parameter_count stays 0 until the model is there. */
int agent_setup_take(const struct control_setup *control, struct arena *arena, struct agent_setup *setup, struct err *err);
/* Message sizes, at least 1. */
uint32_t agent_setup_sizes(const struct agent_setup *setup);
/* An estimate of the spans that this node will write. */
uint64_t agent_setup_spans(const struct agent_setup *setup);
/* Of the gradients whose fate it will tell. */
uint64_t agent_setup_gradients(const struct agent_setup *setup);

/* What runs the scheme. All of it may be NULL before SETUP. */
struct agent_node {
    struct workload *workload;
    struct recorder recorder;
    struct emulated *emulated;
    struct sampler sampler;
};
/* Sets setup->scheme.parameter_count and keeps pointers into *setup. On failure what was made stays in *node, for
 * agent_node_free(). `events` are called with `context`. */
int agent_node_make(struct agent_setup *setup, struct loop *loop, struct arena *arena, const struct emulated_events *events,
                    void *context, struct agent_node *node, struct err *err);
/* Whether this node is the one that evaluates: exactly one is. Connections are up. */
bool agent_node_evaluates(const struct agent_node *node);
/* Once the node is made, and before a peer is heard: everything is given up that the rounds do not need. */
int agent_close_sandbox(const struct agent_setup *setup, struct agent_node *node, struct host_counters *host, struct err *err);
void agent_thread_begins(void *context); /* for struct emulated_events: the compute thread gives up its own */
void agent_node_free(struct agent_node *node);

/* Evaluates, checks every element of the last sum, and puts the report together; it points into the node's memory and the arena. */
int agent_report_make(struct agent_node *node, const struct host_counters *host, struct arena *arena, struct control_report *report,
                      struct err *err);

#endif
