/* child.h: starts a child process and waits for its end, for tests: laggard itself starts many side by side and never waits for
 * one. */
#ifndef LAGGARD_TESTS_CHILD_H
#define LAGGARD_TESTS_CHILD_H

#include <errno.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/process.h"

static inline int child_start(const struct process_spec *spec, struct process *process, struct err *err)
{
    struct process started = PROCESS_NONE;
    int report_fd = -1;
    int result = process_begin(spec, &started, &report_fd, err);
    if (result == 0)
        result = process_confirm(spec->path, &started, &report_fd, err);
    if (result == 0)
        *process = started;
    return result;
}

/* Blocks; the process becomes PROCESS_NONE. Returns 0 or -1. */
static inline int child_wait(struct process *process, struct process_exit *how)
{
    int status;
    pid_t reaped;
    do
        reaped = waitpid(process->pid, &status, 0);
    while (reaped < 0 && errno == EINTR);
    close_fd(&process->pidfd);
    *process = PROCESS_NONE;
    if (reaped < 0)
        return -1;
    how->exited = WIFEXITED(status);
    how->status = how->exited ? WEXITSTATUS(status) : WTERMSIG(status);
    return 0;
}

#endif
