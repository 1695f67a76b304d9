/* crew_internal.h: what crew.c, crew_phases.c and crew_loss.c share; see crew.h. */
#ifndef LAGGARD_HARNESS_CREW_INTERNAL_H
#define LAGGARD_HARNESS_CREW_INTERNAL_H

#include "base/err.h"
#include "base/loop.h"
#include "harness/control_channel.h"
#include "harness/crew.h"

/* PHASE_SIZE and PHASE_RUN once more for each message size but the first. */
enum phase { PHASE_SETUP, PHASE_CONNECT, PHASE_SIZE, PHASE_RUN, PHASE_COLLECT, PHASE_OVER, PHASE_COUNT };

struct member {
    struct crew *crew;
    int node;
    struct control_channel channel;
    bool answered;   /* in this phase; always, once it is lost */
    bool failed;     /* its own words are heard: its end says nothing more */
    bool lost, late; /* late: lost since it did not answer, not since it ended */
    struct crew_loss loss;
};

struct crew {
    struct crew_spec spec;
    struct member *members;
    struct node_result *results;
    enum phase phase;
    int answered_count;
    bool begun;
    bool running; /* START is on its way to everyone, so that PEER comes behind it */
    bool ending;  /* only members that may be lost have not done all rounds */
    struct timer *deadline, *late;
    uint32_t rounds_done;
    uint64_t parameter_count;
    struct control_start start; /* of the present message size */
    struct control_size size;
    int64_t *starts_ns; /* one a message size */
    int64_t setup_ns;   /* before SETUP was sent */
    int64_t ready_ns, done_ns, between_ns;
    int64_t deadline_ns; /* of the rounds; CLOCK_MONOTONIC */
    struct err failure;  /* kind ERR_NONE while all is well */
    struct err closed;   /* set once the crew can go on no further, and waits for a better reason */
};

/* crew_phases.c */
void crew_enter_phase(struct crew *crew, enum phase phase);
void crew_enter_next_phase(struct crew *crew);
enum control_operation crew_answer_in(enum phase phase);

/* crew.c */
void crew_stop(struct crew *crew);
void crew_member_gone(struct member *member); /* the other end is: what it said before comes first */
const char *crew_name_of(const struct member *member);
const char *crew_awaited_of(const struct member *member); /* what it has still to do, for sentences */
const char *crew_awaited_in(enum phase phase);
bool crew_is_last_size(const struct crew *crew);
void crew_answer(struct member *member);

/* crew_loss.c */
bool crew_can_lose(const struct member *member);
/* The crew goes on without it. `how` is what became of it: "its agent ended (killed by SIGKILL)". */
void crew_lose(struct member *member, const char *how);
/* The end of its process says more about a member that is lost already. */
void crew_loss_explain(struct member *member, const char *how);
/* After each answer: waits a while for those that are awaited last. */
void crew_await_the_late(struct crew *crew);
void crew_on_deadline(void *context, int64_t deadline_ns);
void crew_on_late(void *context, int64_t deadline_ns);

#endif
