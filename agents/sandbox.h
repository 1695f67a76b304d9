/* agents/sandbox.h: what an agent gives up before it reads one byte from a peer: capabilities, the way to new privileges, and every
 * system call that it does not need from then on. */
#ifndef LAGGARD_AGENTS_SANDBOX_H
#define LAGGARD_AGENTS_SANDBOX_H

struct err;

/* Does what is the same for all forks of this process: they then close their sandboxes sooner. Not having done it is no failure. */
void sandbox_prepare(void);
/* Capabilities of this thread and those started later; no_new_privs. Before threads are started. */
int sandbox_drop_privileges(struct err *err);
/* The system call filter of the whole process, running threads included. What is not on its list ends the process (SIGSYS). */
int sandbox_filter(struct err *err);

#endif
