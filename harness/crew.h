/* harness/crew.h: the agents of one trial as seen by the controller: one control socket a node, driven through the phases of
 * control.h.
 *
 * Theory of operation. Every agent is in one phase; an agent's answer moves it on; when the last agent has answered, the crew
 * sends everyone the next operation. The phase table in crew_phases.c is the whole protocol; where message sizes are swept, its
 * middle repeats: SIZE once all are DONE, START once all are READY again.
 *
 * Any FAILURE, unexpected operation, closed socket, ended process or passed deadline ends the trial with one sentence that names
 * the node, the round and what was awaited. Of what an agent tells in its end, its own FAILURE says most, its exit status more
 * than its closed socket: so everything it still sent is read before its end counts, and a closed socket waits a moment for the
 * exit status. An agent that has reported owes nothing more: its end is then no fault.
 *
 * Nothing that an agent says is believed before it is checked, since an agent may be of a build that nobody has looked at yet, or
 * may have been turned by what a peer sent it. What it may cost: a message but REPORT has 4 KiB at most, which its header must
 * say; each comes once a phase; PROGRESS comes from one node, and each tells of more rounds than the one before, so that there
 * are no more of them than rounds; after FAILURE nothing more is read. A REPORT has 64 MiB at most and takes twice that when it
 * is decoded. Who floods is heard one read at a time, like everyone else, so that deadlines hold.
 *
 * Losses. Where the scheme survives them, a worker that ends or closes its socket once the rounds have begun is lost: it counts
 * as having answered whatever is asked, the others get PEER, and the crew goes on; crew_loss() tells. So does a worker that
 * hangs: once every server has done all rounds (and again, has reported), whoever does not follow for a while is lost. A server,
 * a FAILURE or what is not the protocol still ends the trial; a worker's FAILURE waits a moment for the end of a server, of
 * which it may be the consequence. The crew owns the controller's ends of the socket pairs and never blocks on one. */
#ifndef LAGGARD_HARNESS_CREW_H
#define LAGGARD_HARNESS_CREW_H

#include <stdbool.h>
#include <stdint.h>

#include "results/store.h"
#include "schemas/control.h"

struct arena;
struct err;
struct crew;
struct fabric;
struct loop;

struct crew_hooks {                                                       /* called on the loop's thread */
    void (*before_start)(void *context);                                  /* all are READY; nothing runs yet */
    void (*start)(void *context, int64_t start_ns);                       /* all are told to begin then (CLOCK_MONOTONIC) */
    void (*progress)(void *context, uint32_t rounds_done, int64_t at_ns); /* CLOCK_MONOTONIC, not later than now */
    void (*ending)(void *context);            /* servers have done all rounds, workers not yet; or not */
    void (*after_done)(void *context);        /* all rounds are over; nothing is collected yet */
    bool (*stopped)(void *context, int node); /* that node's process is (SIGSTOP): asked once the deadline has passed */
    void *context;
};
struct crew_spec {
    const struct control_setup *setups; /* one a node, already complete; their message sizes are gone through one by one */
    const char *const *names;
    int count;
    const int *sockets; /* the controller's ends; the crew takes them over, also when crew_new() fails */
    struct loop *loop;
    struct arena *arena;                        /* reports live here */
    int64_t setup_deadline_ns, run_deadline_ns; /* durations: until READY; from the first START until the last REPORT */
    int expendable;                             /* nodes 0 .. expendable-1 may be lost once the rounds have begun; 0: none */
    int teller;                                 /* the node that tells of rounds (PROGRESS): nobody else may */
    int64_t late_ns; /* how long the others wait for one of these at the end, or half of the time until the deadline */
    struct crew_hooks hooks;
};
struct crew *crew_new(const struct crew_spec *spec, struct err *err);
void crew_free(struct crew *crew);

/* Sends SETUP to all, before crew_run() would: their sockets keep it for agents that are still to start. Where one cannot be sent,
 * crew_run() says so. */
void crew_begin(struct crew *crew);
/* Sends SETUP to all, unless they have it, and runs the loop until every REPORT is there (0), or the trial cannot go on
 * (negative: the sentence; ERR_INTERRUPTED when crew_interrupt() was called). fabric_event() belongs to the loop's watch of
 * fabric_event_fd(). */
int crew_run(struct crew *crew, struct err *err);
void crew_process_ended(struct crew *crew, int node, const char *how);
void crew_interrupt(struct crew *crew);
/* Ends the run with this reason, unless it is over already: the network is gone, which is no agent's fault. */
void crew_abandon(struct crew *crew, const struct err *reason);

/* In before_start: a better run deadline, now that crew_results() tells how long a gradient takes here (idle_gradient_ns). */
void crew_set_run_deadline(struct crew *crew, int64_t run_deadline_ns);

struct crew_times {           /* CLOCK_MONOTONIC; 0: not yet */
    int64_t ready_ns;         /* the last agent was READY */
    int64_t start_ns;         /* of the first round, as told to all */
    const int64_t *starts_ns; /* the same of each message size, of those that came to it */
    int64_t done_ns;          /* the last agent was DONE, of those that came to it */
    int64_t between_ns;       /* since the first start, between message sizes: nothing was timed then */
};
struct crew_times crew_times(const struct crew *crew);
const struct node_result *crew_results(const struct crew *crew); /* one a node, whole after success but of who is lost */
struct crew_loss {
    int64_t at_ns; /* CLOCK_MONOTONIC */
    const char *sentence;
};
const struct crew_loss *crew_loss(const struct crew *crew, int node); /* NULL: it is not lost */
uint64_t crew_parameter_count(const struct crew *crew);

#endif
