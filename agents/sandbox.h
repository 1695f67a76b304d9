/* agents/sandbox.h: what an agent gives up before it reads one byte from a peer: capabilities, the way to new privileges, the file
 * system, more of the machine than its workload needs, and every system call that it does not need from then on. */
#ifndef LAGGARD_AGENTS_SANDBOX_H
#define LAGGARD_AGENTS_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

struct err;

/* Does what is the same for all forks of this process: they then close their sandboxes sooner. Not having done it is no failure. */
void sandbox_prepare(void);
/* Capabilities of this thread and those started later; no_new_privs. Before threads are started. */
int sandbox_drop_privileges(struct err *err);
/* Standard streams that are a terminal are written to from then on, and not read: terminals are mostly open for both. */
int sandbox_deafen(struct err *err);
/* Landlock, where the kernel has it: this thread, and those that it starts later, open no file, connect over TCP to `port` alone,
 * bind nothing, signal no other process. After sandbox_drop_privileges(). */
int sandbox_close_files(uint16_t port, struct err *err);
/* From here on the process takes at most so many descriptors and bytes of addresses more than it has now, starts no process, and
 * leaves no core file. Before sandbox_close_files(). */
int sandbox_limit(uint64_t more_descriptors, uint64_t more_bytes, struct err *err);
/* The system call filter of the whole process, running threads included. What is not on its list ends the process (SIGSYS). */
int sandbox_filter(struct err *err);

int sandbox_landlock_version(void); /* of the kernel; 0: it has none */
/* Built with a sanitizer or to count coverage: the run-time library opens and writes files, and more is allowed. */
bool sandbox_instrumented(void);

#endif
