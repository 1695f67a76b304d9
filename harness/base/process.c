/* process.c: starts, awaits and ends child processes.
 *
 * Between fork and exec the child calls only async-signal-safe functions, since the parent may have threads. All signals are
 * blocked across the fork, so that no handler of the parent runs in the child. A pipe that exec closes carries the reason when
 * exec, or a step before it, fails. */
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/process_internal.h"

static const char *const step_texts[PROCESS_STEP_COUNT] = {
    [PROCESS_PREPARATION] = "the new process could not be prepared",
    [PROCESS_DESCRIPTORS] = "its descriptors could not be placed",
    [PROCESS_EXEC] = "exec failed",
    [PROCESS_FORK] = "fork",
};

enum { STREAMS = 3 };

static int copy_above(const int *sources, int count, int above, int *copies)
{
    for (int i = 0; i < count; i++)
        if ((copies[i] = fcntl(sources[i], F_DUPFD_CLOEXEC, above)) < 0)
            return errno;
    return 0;
}

static int place_copies(const int *copies, int count, int first)
{
    for (int i = 0; i < count; i++)
        if (dup2(copies[i], first + i) < 0) /* the new number has no FD_CLOEXEC */
            return errno;
    return 0;
}

/* Sources may lie inside the target range, so all are duplicated above it first. */
int process_place_descriptors(const int *descriptors, unsigned descriptor_count, const int *streams, int *copies, int *report_fd)
{
    int count = (int)descriptor_count, above = STREAMS + count;
    int report = fcntl(*report_fd, F_DUPFD_CLOEXEC, above);
    if (report < 0)
        return errno;
    *report_fd = report;
    int stream_copies[STREAMS], stream_count = streams ? STREAMS : 0;
    int error = copy_above(descriptors, count, above, copies);
    if (error == 0)
        error = copy_above(streams, stream_count, above, stream_copies);
    if (error == 0)
        error = place_copies(copies, count, STREAMS);
    if (error == 0)
        error = place_copies(stream_copies, stream_count, 0);
    if (error != 0)
        return error;
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
    struct process_report failure = {.step = PROCESS_PREPARATION};
    failure.value =
        spec->before_exec ? spec->before_exec(spec->context) : 0; /* first: it may need descriptors that are closed next */
    if (failure.value == 0) {
        failure.step = PROCESS_DESCRIPTORS;
        failure.value = process_place_descriptors(spec->descriptors, spec->descriptor_count, spec->streams, copies, &report_fd);
    }
    if (failure.value == 0) {
        reset_signals();
        failure.step = PROCESS_EXEC;
        execve(spec->path, spec->arguments, spec->environment ? spec->environment : environ);
        failure.value = errno;
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

ssize_t process_read_report(int fd, struct process_report *report)
{
    ssize_t count;
    do
        count = read(fd, report, sizeof(*report));
    while (count < 0 && errno == EINTR);
    return count;
}

static const char *path_of(char *const *environment)
{
    for (; *environment; environment++)
        if (strncmp(*environment, "PATH=", 5) == 0)
            return *environment + 5;
    return "/usr/local/bin:/usr/bin:/bin";
}

/* 0, or why `file`, seen from `directory`, cannot be executed; *there: it could be looked at. */
static int executable(const char *directory, const char *file, bool *there)
{
    char path[PATH_MAX];
    struct stat status;
    if (snprintf(path, sizeof(path), "%s%s%s", file[0] != '/' ? directory : "", file[0] != '/' ? "/" : "", file) >=
        (int)sizeof(path))
        return ENAMETOOLONG;
    *there = stat(path, &status) == 0;
    if (!*there || access(path, X_OK) < 0)
        return errno;
    return S_ISREG(status.st_mode) ? 0 : S_ISDIR(status.st_mode) ? EISDIR : EACCES;
}

int process_find(const char *name, char *const *environment, const char *directory, char *found, size_t size, struct err *err)
{
    bool there = false;
    directory = directory ? directory : ".";
    if (strchr(name, '/')) {
        int error = executable(directory, name, &there);
        if (error == 0 && (size_t)snprintf(found, size, "%s", name) >= size)
            error = ENAMETOOLONG;
        const char *hint = error == EACCES && there ? " (is it executable? `chmod +x` makes it so)" : "";
        return error ? err_set_errno(err, ERR_USAGE, error, "cannot run %s%s", name, hint) : 0;
    }
    const char *path = path_of(environment ? environment : environ);
    char refused[PATH_MAX] = "";
    for (const char *folder = path; name[0]; folder += strcspn(folder, ":") + 1) {
        int length = (int)strcspn(folder, ":");
        char file[PATH_MAX];
        bool fits = snprintf(file, sizeof(file), "%.*s%s%s", length, folder, length ? "/" : "./", name) < (int)sizeof(file);
        int error = fits ? executable(directory, file, &there) : ENAMETOOLONG;
        if (error == 0 && (size_t)snprintf(found, size, "%s", file) < size)
            return 0;
        if (error == EACCES && there)
            snprintf(refused, sizeof(refused), "%s", file);
        if (folder[length] == 0)
            break;
    }
    if (refused[0])
        return err_set(err, ERR_USAGE, "cannot run %s: %s is there, but may not be executed", name, refused);
    return err_set(err, ERR_USAGE, "cannot run '%s': no folder of PATH has a program of that name (PATH is %s)", name, path);
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

int process_refused(const char *path, const struct process_report *report, ssize_t length, struct err *err)
{
    if (length != (ssize_t)sizeof(*report) || report->step < 0 || report->step >= PROCESS_STEP_COUNT)
        return err_set(err, ERR_HOST, "cannot start %s: its report cannot be read", path);
    /* The file itself was there when it was looked for. */
    const char *hint = "";
    if (report->step == PROCESS_EXEC && report->value == ENOEXEC)
        hint = " (neither a program of this machine nor a script that begins with #! and its interpreter)";
    else if (report->step == PROCESS_EXEC && report->value == ENOENT && access(path, F_OK) == 0)
        hint = " (the interpreter that it names is not there)";
    return err_set_errno(err, ERR_HOST, report->value, "cannot start %s: %s%s", path, step_texts[report->step], hint);
}

int process_confirm(const char *path, struct process *process, int *report_fd, struct err *err)
{
    struct process_report report;
    ssize_t count = process_read_report(*report_fd, &report);
    close_fd(report_fd);
    if (count == 0)
        return 0;
    process_end(process);
    return process_refused(path, &report, count, err);
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

bool process_ended(pid_t pid, int patience_ms, struct process_exit *how)
{
    cleanup(close_fd) int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd end = {.fd = pidfd, .events = POLLIN};
    siginfo_t information = {0};
    int ready;
    do
        ready = pidfd >= 0 ? poll(&end, 1, patience_ms) : -1;
    while (ready < 0 && pidfd >= 0 && errno == EINTR);
    if (ready <= 0 || waitid(P_PID, (id_t)pid, &information, WEXITED | WNOHANG | WNOWAIT) < 0 || information.si_pid != pid)
        return false;
    *how = (struct process_exit){.exited = information.si_code == CLD_EXITED, .status = information.si_status};
    return true;
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
