/* harness/interruption.h: the signals that ask a run to end. The first one is kept, so that everyone who looks sees it and the exit
 * code can tell which one it was; a quarter of a second after it was noticed, the next one kills the process. */
#ifndef LAGGARD_HARNESS_INTERRUPTION_H
#define LAGGARD_HARNESS_INTERRUPTION_H

#include <stdbool.h>

struct err;

/* Blocks SIGINT, SIGTERM and, unless it is ignored (nohup), SIGHUP; *fd is readable once one has come, and stays so. Never read it;
 * who finds it readable calls interruption_pending(). Once a process. */
int interruption_open(int *fd, struct err *err);
bool interruption_pending(void);
/* Around work of this process's own that may never end, such as a scheme of somebody else's: the first signal is kept and the next
 * one kills also while nobody looks. Calls that a signal comes into go on. No process is started meanwhile, and no such piece
 * of work lies within another. No effect before interruption_open(). */
void interruption_listen(void);
void interruption_listen_no_more(void);
/* 128 + the signal; 130 when none has come. */
int interruption_exit_code(void);

#endif
