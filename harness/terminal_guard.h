/* harness/terminal_guard.h: gives a raw terminal its settings back when the process that made it raw is killed without a chance to.
 *
 * Theory of operation. A process in a session of its own, which no key and no signal to the terminal's processes reaches, waits for
 * the end of its parent: a pipe of which the parent has the only other end. Then it looks whether the terminal is still as the
 * parent left it, raw, and only then restores it: a shell that notices its job's end may already have settings of its own there. */
#ifndef LAGGARD_HARNESS_TERMINAL_GUARD_H
#define LAGGARD_HARNESS_TERMINAL_GUARD_H

#include <termios.h>

#include "base/process.h"

struct err;

struct terminal_guard {
    struct process process;
    int alive_fd; /* closed by whatever ends the parent */
};
#define TERMINAL_GUARD_NONE ((struct terminal_guard){.process = PROCESS_NONE, .alive_fd = -1})

/* Standard input is a terminal that is raw now, and was as `before` says. */
int terminal_guard_start(const struct termios *before, struct terminal_guard *guard, struct err *err);
/* The terminal has its settings back, or keeps what it has. Also for TERMINAL_GUARD_NONE. */
void terminal_guard_end(struct terminal_guard *guard);

#endif
