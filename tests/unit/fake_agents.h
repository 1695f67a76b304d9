/* fake_agents.h: three agents as threads that speak the control protocol, well or badly, for tests of the controller's side. */
#ifndef LAGGARD_TESTS_FAKE_AGENTS_H
#define LAGGARD_TESTS_FAKE_AGENTS_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/frame.h"
#include "schemas/control.h"

enum { AGENTS = 3, ROUNDS = 4, SPANS = 5, PREPARED_BYTES = 4 << 20 };

struct fake_agent;
/* Does something instead of answering the operation; true: goes on as if nothing had been. */
typedef bool fake_fault(struct fake_agent *agent);

struct fake_agent {
    int node, fd;
    pthread_t thread;
    fake_fault *fault;
    enum control_operation fault_at; /* the operation that it answers with the fault */
    int ended_fd;                    /* where a process' end is told; not owned */
    sem_t *go, *gone;                /* for faults that wait for the test */
    struct frame_reader reader;
    /* what it saw */
    struct control_start start;
    bool setup_good, quit;
    unsigned peers_lost; /* bit set of nodes, by PEER */
    bool peer_before_start;
    uint32_t sizes; /* the last that SIZE named */
    int starts;
    uint32_t rounds_each; /* of a message size, as SETUP said */
};

void fake_agents_start(struct fake_agent *agents, const int *fds); /* the descriptors become the agents' */
void fake_agents_join(struct fake_agent *agents);

void fake_send(struct fake_agent *agent, enum control_operation operation, const void *body);
void fake_answer(struct fake_agent *agent, enum control_operation operation);
void fake_report(int node, struct control_report *report); /* what that node reports: pointers to static data */
const uint8_t *fake_prepared(void);

#endif
