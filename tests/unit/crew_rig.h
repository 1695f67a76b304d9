/* crew_rig.h: one run of a crew of three fake agents, for the tests of the crew: what is set before, what came out, and the looks
 * at it. */
#ifndef LAGGARD_TESTS_CREW_RIG_H
#define LAGGARD_TESTS_CREW_RIG_H

#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "harness/crew.h"
#include "tests/unit/fake_agents.h"

#define SHORT_NS (600 * NS_PER_MS)
#define LONG_NS (60 * NS_PER_S)

extern const char *const crew_rig_names[AGENTS];

struct crew_rig {
    int64_t setup_deadline_ns, run_deadline_ns;
    bool prepared;             /* SETUP carries more than a socket holds */
    bool interrupt;            /* at the first progress */
    const char *ends_at_start; /* before_start: node 1's process ends so */
    uint32_t size_count;       /* of message sizes; ROUNDS together */
    int expendable;            /* crew_spec's; late_ns is SHORT_NS / 4 then */
    sem_t go, gone;
    struct fake_agent agents[AGENTS];

    struct crew *crew;
    struct arena *arena;
    struct loop *loop;
    unsigned stopped; /* bit set of nodes whose process is */
    int ended_fds[2], sockets[AGENTS];
    int result;
    struct err err;
    int before_start_count, ending_count, after_done_count;
    uint32_t progress;
};

/* Node 1 answers the operation with the fault. */
struct crew_rig crew_rig_new(fake_fault *fault, enum control_operation at);
/* Leaves the arena, whose results the caller looks at; everything else is closed, which is checked. */
void crew_rig_run(struct crew_rig *rig);
/* These free the arena. Good: whole but of who is lost. */
void crew_rig_assert_failed(struct crew_rig *rig, enum err_kind kind, const char *sentence);
void crew_rig_assert_good(struct crew_rig *rig);
int crew_rig_count_descriptors(void);

/* Faults that several tests use. */
bool fake_be_silent(struct fake_agent *agent);
bool fake_fail_and_close(struct fake_agent *agent);

#endif
