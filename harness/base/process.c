/* process.c: starts, awaits and ends child processes.
 *
 * Between fork and exec the child calls only async-signal-safe functions, since the parent may have threads. All signals are
 * blocked across the fork, so that no handler of the parent runs in the child. A pipe that exec closes carries the reason when
 * exec, or a step before it, fails. */
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"

enum step { STEP_PREPARATION, STEP_DESCRIPTORS, STEP_EXEC, STEP_COUNT };
static const char *const step_texts[STEP_COUNT] = {
    [STEP_PREPARATION] = "the new process could not be prepared",
    [STEP_DESCRIPTORS] = "its descriptors could not be placed",
    [STEP_EXEC] = "exec failed",
};

struct failure {
    int32_t step, error;
};

/* Moves descriptors[i] to 3 + i and closes the rest, but the report pipe. Sources may lie inside the target range, so all are
 * duplicated above it first; `copies` has room for them. Returns 0 or an errno. */
static int place_descriptors(const struct process_spec *spec, int *copies, int *report_fd)
{
    int above = 3 + (int)spec->descriptor_count;
    int report = fcntl(*report_fd, F_DUPFD_CLOEXEC, above);
    if (report < 0)
        return errno;
    *report_fd = report;
    for (unsigned i = 0; i < spec->descriptor_count; i++)
        if ((copies[i] = fcntl(spec->descriptors[i], F_DUPFD_CLOEXEC, above)) < 0)
            return errno;
    for (unsigned i = 0; i < spec->descriptor_count; i++)
        if (dup2(copies[i], 3 + (int)i) < 0) /* the new number has no FD_CLOEXEC */
            return errno;
    if (report > above && close_range((unsigned)above, (unsigned)report - 1, 0) < 0)
        return errno;
    return close_range((unsigned)report + 1, ~0U, 0) < 0 ? errno : 0;
}

/* exec keeps ignored signals ignored; SIGPIPE is given back its default, so that the child's own children behave as usual. Handlers
 * of the parent are removed before signals are unblocked. */
static void reset_signals(void)
{
    for (int number = 1; number < NSIG; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) < 0 || action.sa_handler == SIG_DFL)
            continue;
        if (action.sa_handler == SIG_IGN && number != SIGPIPE)
            continue;
        action = (struct sigaction){.sa_handler = SIG_DFL};
        sigaction(number, &action, NULL);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void run_child(const struct process_spec *spec, int *copies, int report_fd)
{
    struct failure failure = {.step = STEP_PREPARATION};
    failure.error =
        spec->before_exec ? spec->before_exec(spec->context) : 0; /* first: it may need descriptors that are closed next */
    if (failure.error == 0) {
        failure.step = STEP_DESCRIPTORS;
        failure.error = place_descriptors(spec, copies, &report_fd);
    }
    if (failure.error == 0) {
        reset_signals();
        failure.step = STEP_EXEC;
        execve(spec->path, spec->arguments, spec->environment ? spec->environment : environ);
        failure.error = errno;
    }
    ssize_t written = write(report_fd, &failure, sizeof(failure)); /* 8 bytes into an empty pipe: never partial */
    (void)written;
    _exit(127);
}

static pid_t reap(pid_t pid, int *status)
{
    pid_t reaped;
    do
        reaped = waitpid(pid, status, 0);
    while (reaped < 0 && errno == EINTR);
    return reaped;
}

static ssize_t read_failure(int fd, struct failure *failure)
{
    ssize_t count;
    do
        count = read(fd, failure, sizeof(*failure));
    while (count < 0 && errno == EINTR);
    return count;
}

int process_begin(const struct process_spec *spec, struct process *process, int *report_fd, struct err *err)
{
    cleanup(free_pointer) int *copies = calloc(spec->descriptor_count + 1, sizeof(*copies));
    if (!copies)
        return err_set_errno(err, ERR_HOST, ENOMEM, "cannot start %s", spec->path);
    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot start %s: no pipe", spec->path);
    cleanup(close_fd) int report_read = pipe_fds[0];
    cleanup(close_fd) int report_write = pipe_fds[1];

    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    int fork_error = errno;
    if (pid == 0)
        run_child(spec, copies, report_write);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pid < 0)
        return err_set_errno(err, ERR_HOST, fork_error, "cannot start %s: fork", spec->path);

    cleanup(process_end) struct process started = {.pid = pid, .pidfd = -1};
    started.pidfd = (int)syscall(SYS_pidfd_open, pid, 0); /* not reaped yet, so the pid is still its own; close-on-exec by itself */
    if (started.pidfd < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot hold the process of %s", spec->path);
    *process = started;
    started = PROCESS_NONE;
    *report_fd = steal_fd(&report_read);
    return 0;
}

int process_confirm(const char *path, struct process *process, int *report_fd, struct err *err)
{
    struct failure failure;
    ssize_t count = read_failure(*report_fd, &failure);
    close_fd(report_fd);
    if (count == 0)
        return 0;
    process_end(process);
    if (count != (ssize_t)sizeof(failure) || failure.step < 0 || failure.step >= STEP_COUNT)
        return err_set(err, ERR_HOST, "cannot start %s: its report cannot be read", path);
    return err_set_errno(err, ERR_HOST, failure.error, "cannot start %s: %s", path, step_texts[failure.step]);
}

int process_spawn(const struct process_spec *spec, struct process *process, struct err *err)
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

int process_wait(struct process *process, struct process_exit *how, struct err *err)
{
    if (process->pid <= 0)
        return err_set(err, ERR_HOST, "cannot wait for a process that was not started");
    int status;
    pid_t pid = process->pid;
    pid_t reaped = reap(pid, &status);
    int reap_error = errno;
    close_fd(&process->pidfd);
    *process = PROCESS_NONE;
    if (reaped < 0)
        return err_set_errno(err, ERR_HOST, reap_error, "cannot wait for process %d", (int)pid);
    if (how) {
        how->exited = WIFEXITED(status);
        how->status = how->exited ? WEXITSTATUS(status) : WTERMSIG(status);
    }
    return 0;
}

void process_end(struct process *process)
{
    if (process->pid > 0) {
        kill(process->pid, SIGKILL); /* not reaped yet: the pid cannot belong to anyone else */
        reap(process->pid, NULL);
    }
    close_fd(&process->pidfd);
    *process = PROCESS_NONE;
}

char *process_describe(char *text, size_t size, const struct process_exit *how)
{
    const char *name = how->exited ? NULL : sigabbrev_np(how->status);
    if (how->exited)
        snprintf(text, size, "exit status %d", how->status);
    else if (name)
        snprintf(text, size, "killed by SIG%s", name);
    else
        snprintf(text, size, "killed by signal %d", how->status);
    return text;
}
