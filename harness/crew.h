/* harness/crew.h: the agents of one trial as seen by the controller: one control socket a node, driven through the phases of
 * control.h.
 *
 * Theory of operation. Every agent is in one phase; an agent's answer moves it on; when the last agent has answered, the crew sends
 * everyone the next operation. The phase table in crew.c is the whole protocol. Any FAILURE, unexpected operation, closed socket,
 * ended process or passed deadline ends the trial with one sentence that names the node, the round and what was awaited. Of what an
 * agent tells in its end, its own FAILURE says most, its exit status more than its closed socket: so everything it still sent is
 * read before its end counts, and a closed socket waits a moment for the exit status. An agent that has reported owes nothing more:
 * its end is then no fault. The crew owns the controller's ends of the socket pairs and never blocks on one. */
#ifndef LAGGARD_HARNESS_CREW_H
#define LAGGARD_HARNESS_CREW_H

#include <stdint.h>

#include "results/store.h"
#include "schemas/control.h"

struct arena;
struct err;
struct crew;
struct fabric;
struct loop;

struct crew_hooks {                      /* called on the loop's thread */
    void (*before_start)(void *context); /* all are READY; nothing runs yet */
    void (*progress)(void *context, uint32_t rounds_done);
    void (*after_done)(void *context); /* all rounds are over; nothing is collected yet */
    void *context;
};
struct crew_spec {
    const struct control_setup *setups; /* one a node, already complete */
    const char *const *names;
    int count;
    const int *sockets; /* the controller's ends; the crew takes them over, also when crew_new() fails */
    struct loop *loop;
    struct arena *arena;                        /* reports live here */
    int64_t setup_deadline_ns, run_deadline_ns; /* durations: until READY; from START until the last REPORT */
    struct crew_hooks hooks;
};
struct crew *crew_new(const struct crew_spec *spec, struct err *err);
void crew_free(struct crew *crew);

/* Sends SETUP to all and runs the loop until every REPORT is there (0), or the trial cannot go on (negative: the sentence;
 * ERR_INTERRUPTED when crew_interrupt() was called). fabric_event() belongs to the loop's watch of fabric_event_fd(). */
int crew_run(struct crew *crew, struct err *err);
void crew_process_ended(struct crew *crew, int node, const char *how);
void crew_interrupt(struct crew *crew);
/* Ends the run with this reason, unless it is over already: the network is gone, which is no agent's fault. */
void crew_abandon(struct crew *crew, const struct err *reason);

/* In before_start: a better run deadline, now that crew_results() tells how long a gradient takes here (idle_gradient_ns). */
void crew_set_run_deadline(struct crew *crew, int64_t run_deadline_ns);

struct crew_times {   /* CLOCK_MONOTONIC; 0: not yet */
    int64_t ready_ns; /* the last agent was READY */
    int64_t start_ns; /* of the first round, as told to all */
    int64_t done_ns;  /* the last agent was DONE */
};
struct crew_times crew_times(const struct crew *crew);
const struct node_result *crew_results(const struct crew *crew); /* one a node, whole after success */
uint64_t crew_parameter_count(const struct crew *crew);

#endif
