/* agents/agent.h: the agent: one node of one trial, driven by the controller over the control socket (schemas/control.h). */
#ifndef LAGGARD_AGENTS_AGENT_H
#define LAGGARD_AGENTS_AGENT_H

struct err;

/* Runs until the controller says QUIT (0), says no more, or the trial fails (negative; the controller has been told the sentence,
 * when it still listens). */
int agent_run(int control_fd, struct err *err);

#endif
