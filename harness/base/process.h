/* process.h: a child process as a resource: held by a pidfd, ended and reaped when its holder leaves the scope. */
#ifndef LAGGARD_BASE_PROCESS_H
#define LAGGARD_BASE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
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

/* A program with the given descriptors: descriptors[i] becomes descriptor 3 + i in the child, streams[i] descriptor i; everything
 * else above 2 is closed. `before_exec`, when not NULL, runs in the child before exec and returns 0 or an errno. */
struct process_spec {
    const char *path;         /* no search of PATH */
    char *const *arguments;   /* NULL-terminated, argv[0] included */
    char *const *environment; /* NULL: inherited */
    const int *streams;       /* three, none of them -1; NULL: standard streams are inherited */
    const int *descriptors;
    unsigned descriptor_count;
    int (*before_exec)(void *context);
    void *context;
};
/* The file that a command means, as a shell would find it: `name` itself when it has a slash, else the first file of that name that
 * may be executed in the folders of PATH, taken from `environment` (NULL: the caller's), both seen from `directory` (NULL: the
 * current one). Writes what exec is to be given there. ERR_USAGE, with the PATH that was searched, when there is none. */
int process_find(const char *name, char *const *environment, const char *directory, char *found, size_t size, struct err *err);

/* A start has two halves, so that many programs start side by side: process_begin() forks and returns at once; the child prepares
 * itself and calls exec; process_confirm() waits until that has worked or failed. *report_fd belongs to the caller between the two;
 * process_confirm() closes it, and on failure ends the process too. */
int process_begin(const struct process_spec *spec, struct process *process, int *report_fd, struct err *err);
int process_confirm(const char *path, struct process *process, int *report_fd, struct err *err);
void process_end(struct process *process); /* SIGKILL and reap; also for cleanup() */
/* Whether a child that is not reaped yet has ended, within `patience_ms`, and how. Leaves it to be reaped. */
bool process_ended(pid_t pid, int patience_ms, struct process_exit *how);
/* "exit status 3", "killed by SIGSEGV": returns its first argument. */
char *process_describe(char *text, size_t size, const struct process_exit *how);

#endif
