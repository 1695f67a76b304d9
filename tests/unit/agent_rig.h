/* agent_rig.h: an agent in a child process, and the controller's side of its socket: for the tests of the control protocol. */
#ifndef LAGGARD_TESTS_AGENT_RIG_H
#define LAGGARD_TESTS_AGENT_RIG_H

#include <sys/types.h>

#include "base/frame.h"
#include "schemas/control.h"

struct agent_rig {
    pid_t pid;
    int fd;
    struct frame_reader reader;
    struct arena *arena;
    char failure[1024]; /* the FAILURE that came */
};

void agent_rig_open(struct agent_rig *rig);
/* Returns how the agent ended: its exit status, or 256 + the signal. */
int agent_rig_close(struct agent_rig *rig);
void agent_rig_say(struct agent_rig *rig, int operation, int version, const void *body);
/* The next operation; a FAILURE's sentence is kept. -1: the agent closed the socket. */
int agent_rig_hear(struct agent_rig *rig, void *body);
struct control_setup agent_rig_setup(void);

#endif
