/* harness/interruption.h: the signals that ask a run to end: taken through a descriptor and left pending, so that everyone who
 * looks sees them and the exit code can tell which one it was. */
#ifndef LAGGARD_HARNESS_INTERRUPTION_H
#define LAGGARD_HARNESS_INTERRUPTION_H

#include <stdbool.h>

struct err;

/* Blocks SIGINT, SIGTERM and, unless it is ignored (nohup), SIGHUP; *fd is readable while one is pending and is never read. */
int interruption_open(int *fd, struct err *err);
bool interruption_pending(void);
/* 128 + the pending signal; 130 when none is. */
int interruption_exit_code(void);

#endif
