/* process.h: a child process as a resource: held by a pidfd, ended and reaped when its holder leaves the scope. */
#ifndef LAGGARD_BASE_PROCESS_H
#define LAGGARD_BASE_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

struct err;

struct process {
    pid_t pid; /* 0: none */
    int pidfd; /* -1: none */
};
#define PROCESS_NONE ((struct process){.pid = 0, .pidfd = -1})

struct process_exit {
    bool exited; /* false: killed by a signal */
    int status;  /* exit status or signal number */
};

/* A program with the given descriptors: descriptors[i] becomes descriptor 3 + i in the child; everything else above 2 is closed.
 * Standard streams are inherited. `before_exec`, when not NULL, runs in the child before exec and returns 0 or an errno. A failure
 * of exec is reported here, not as an exit status. */
struct process_spec {
    const char *path;         /* no search of PATH */
    char *const *arguments;   /* NULL-terminated, argv[0] included */
    char *const *environment; /* NULL: inherited */
    const int *descriptors;
    unsigned descriptor_count;
    int (*before_exec)(void *context);
    void *context;
};
int process_spawn(const struct process_spec *spec, struct process *process, struct err *err);

/* The two halves of process_spawn(), so that many programs start side by side: process_begin() forks and returns at once; the child
 * prepares itself and calls exec; process_confirm() waits until that has worked or failed. *report_fd belongs to the caller between
 * the two; process_confirm() closes it, and on failure ends the process too. */
int process_begin(const struct process_spec *spec, struct process *process, int *report_fd, struct err *err);
int process_confirm(const char *path, struct process *process, int *report_fd, struct err *err);
int process_wait(struct process *process, struct process_exit *how, struct err *err); /* blocks; process becomes PROCESS_NONE */
void process_end(struct process *process);                                            /* SIGKILL and reap; also for cleanup() */
/* "exit status 3", "killed by SIGSEGV": returns its first argument. */
char *process_describe(char *text, size_t size, const struct process_exit *how);

#endif
