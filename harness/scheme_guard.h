/* harness/scheme_guard.h: last words of the controller when a scheme that somebody else wrote ends it. The virtual world,
 * predictions and the reading of a campaign file run such code in this process. */
#ifndef LAGGARD_HARNESS_SCHEME_GUARD_H
#define LAGGARD_HARNESS_SCHEME_GUARD_H

/* By main() alone: scheme_guard_watch() has an effect between them, where nobody ends this process but a signal or a scheme. */
void scheme_guard_open(void);
void scheme_guard_close(void);
/* Before the shared object at `path` is loaded. From now on a crash, and exit(), cost a sentence on standard error that names the
 * objects loaded so far, and never the exit code 0: that of the signal, or of ERR_HOST. What calls _exit() is not noticed. */
void scheme_guard_watch(const char *path);

#endif
