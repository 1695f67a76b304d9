/* harness/crew.h: the agents of one trial as seen by the controller: one control socket a node, driven through the phases of control.h.
 *
 * Theory of operation. Every agent is in one phase; an agent's answer moves it on; when the last agent has answered, the crew sends everyone the
 * next operation. The phase table in crew.c is the whole protocol. Any FAILURE, unexpected operation, closed socket, ended process or
 * passed deadline ends the trial with one sentence that names the node, the round and what was awaited. The crew owns the controller's ends of
 * the socket pairs. */
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
    const int *sockets; /* the controller's ends; the crew takes them over */
    struct loop *loop;
    struct arena *arena;                        /* reports live here */
    int64_t setup_deadline_ns, run_deadline_ns; /* durations: until READY; from START until the last REPORT */
    struct crew_hooks hooks;
};
struct crew *crew_new(const struct crew_spec *spec, struct err *err);
void crew_free(struct crew *crew);
void crew_cleanup(struct crew **crew);

/* Sends SETUP to all and runs the loop until every REPORT is there (0), or the trial cannot go on (negative: the sentence; ERR_INTERRUPTED when
 * crew_interrupt() was called). fabric_event() belongs to the loop's watch of fabric_event_fd(). */
int crew_run(struct crew *crew, struct err *err);
void crew_process_ended(struct crew *crew, int node, const char *how);
void crew_interrupt(struct crew *crew);

int64_t crew_start_ns(const struct crew *crew); /* CLOCK_MONOTONIC; 0 before START */
int64_t crew_ready_ns(const struct crew *crew); /* when the last agent was READY */
int64_t crew_done_ns(const struct crew *crew);
const struct node_result *crew_results(const struct crew *crew); /* one a node, after success */
uint64_t crew_parameter_count(const struct crew *crew);

#endif
