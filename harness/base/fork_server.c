/* fork_server.c: one process that has loaded a program, and its forks; see fork_server.h. */
#include "base/fork_server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/process_internal.h"

enum {
    SOCKET_FD = 3,
    PASSED_MOST = FORK_DESCRIPTORS_MOST + 3, /* report pipe, network namespace, cgroup */
    COMMAND_BYTES = 16,                      /* the kernel's TASK_COMM_LEN */
    RETRY_MS = 1,
    END_PATIENCE_MS = 100, /* between the end of a process's descriptors and its own */
};

/* The same two programs must be meant: what changes here changes its size. */
struct hello {
    char text[16];
    uint32_t request_bytes;
};
struct request {
    uint32_t descriptor_count;
    bool network, host, cgroup; /* which of these were passed, after the report pipe and in this order */
    char title[FORK_TITLE_BYTES], host_name[FORK_HOST_NAME_BYTES];
};
static const struct hello hello = {.text = "laggard-fork", .request_bytes = sizeof(struct request)};

union passed {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(PASSED_MOST * sizeof(int))];
};

/* ---- whoever starts processes ---- */

int fork_server_begin(const struct process_spec *spec, struct fork_server *server, struct err *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot start %s: no socket pair", spec->path);
    cleanup(close_fd) int own = pair[0];
    cleanup(close_fd) int its = pair[1];
    cleanup(close_fd) int report_fd = -1; /* a failure of exec is an answer that never comes */
    char room[FORK_TITLE_BYTES];
    memset(room, ' ', sizeof(room) - 1);
    room[sizeof(room) - 1] = '\0';
    char *arguments[] = {(char *)spec->path, (char *)FORK_SERVER_OPTION, room, NULL};
    struct process_spec started = *spec;
    started.arguments = arguments;
    started.descriptors = &its;
    started.descriptor_count = 1;
    struct process process = PROCESS_NONE;
    int code = process_begin(&started, &process, &report_fd, err);
    if (code == 0)
        *server = (struct fork_server){.process = process, .socket = steal_fd(&own)};
    return code;
}

bool fork_server_known(struct fork_server *server, int timeout_ms)
{
    if (server->answered || server->socket < 0)
        return true;
    struct pollfd entry = {.fd = server->socket, .events = POLLIN};
    int ready = poll(&entry, 1, timeout_ms);
    if (ready == 0 || (ready < 0 && errno == EINTR))
        return false;
    struct hello answer;
    ssize_t length = recv(server->socket, &answer, sizeof(answer), MSG_DONTWAIT);
    server->answered = length == (ssize_t)sizeof(answer) && memcmp(&answer, &hello, sizeof(hello)) == 0;
    if (!server->answered)
        fork_server_end(server);
    return true;
}

static int ended(struct fork_server *server, const char *path, struct err *err)
{
    char text[64] = "before";
    int status;
    pid_t reaped;
    do
        reaped = server->process.pid > 0 ? waitpid(server->process.pid, &status, 0) : 0;
    while (reaped < 0 && errno == EINTR);
    if (reaped > 0) {
        struct process_exit how = {.exited = WIFEXITED(status),
                                   .status = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status)};
        process_describe(text, sizeof(text), &how);
        close_fd(&server->process.pidfd);
        server->process = PROCESS_NONE;
    }
    return err_set(err, ERR_HOST, "cannot start %s: the process that was to fork has ended (%s)", path, text);
}

static int send_request(const struct fork_server *server, const struct request *request, const int *passed, unsigned count)
{
    union passed control = {0};
    struct iovec part = {.iov_base = (void *)request, .iov_len = sizeof(*request)};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = CMSG_SPACE(count * sizeof(int))};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(header), passed, count * sizeof(int));
    for (;;) {
        if (sendmsg(server->socket, &message, MSG_NOSIGNAL) >= 0)
            return 0;
        if (errno == ETOOMANYREFS) /* descriptors that the server has not taken yet */
            poll(NULL, 0, RETRY_MS);
        else if (errno != EINTR)
            return errno;
    }
}

int fork_server_fork(struct fork_server *server, const char *path, const struct fork_spec *spec, int *report_fd, struct err *err)
{
    int pipe_fds[2], passed[PASSED_MOST], error;
    unsigned count = 0;
    if (spec->descriptor_count > FORK_DESCRIPTORS_MOST)
        return err_set(err, ERR_HOST, "cannot start %s: it is given more than %d descriptors", path, FORK_DESCRIPTORS_MOST);
    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot start %s: no pipe", path);
    cleanup(close_fd) int report_read = pipe_fds[0];
    cleanup(close_fd) int report_write = pipe_fds[1];
    struct request request = {.descriptor_count = spec->descriptor_count,
                              .network = spec->network_fd >= 0,
                              .host = spec->host_name != NULL,
                              .cgroup = spec->cgroup_fd > 0};
    snprintf(request.title, sizeof(request.title), "%s", spec->title);
    if (spec->host_name)
        snprintf(request.host_name, sizeof(request.host_name), "%s", spec->host_name);
    passed[count++] = report_write;
    if (request.network)
        passed[count++] = spec->network_fd;
    if (request.cgroup)
        passed[count++] = spec->cgroup_fd;
    for (unsigned i = 0; i < spec->descriptor_count; i++)
        passed[count++] = spec->descriptors[i];
    error = send_request(server, &request, passed, count);
    if (error == EPIPE || error == ECONNRESET)
        return ended(server, path, err);
    if (error != 0)
        return err_set_errno(err, ERR_HOST, error, "cannot start %s: the request to fork could not be sent", path);
    *report_fd = steal_fd(&report_read);
    return 0;
}

int fork_server_confirm(struct fork_server *server, const char *path, struct process *process, int *report_fd, struct err *err)
{
    struct process_report report;
    ssize_t length = process_read_report(*report_fd, &report);
    close_fd(report_fd);
    if (length == 0) {
        struct pollfd entry = {.fd = server->process.pidfd, .events = POLLIN};
        if (server->process.pid == 0 || poll(&entry, 1, END_PATIENCE_MS) == 1)
            return ended(server, path, err);
        return err_set(err, ERR_HOST, "cannot start %s: it ended before it could begin", path);
    }
    if (length != (ssize_t)sizeof(report) || report.step != PROCESS_RUNS)
        return process_refused(path, &report, length, err);
    const pid_t pid = report.value; /* not reaped while the server lives, so still its own */
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0) {
        err_set_errno(err, ERR_HOST, errno, "cannot hold the process of %s", path);
        kill(pid, SIGKILL); /* nobody else would end it */
        return -ERR_HOST;
    }
    process->pid = pid;
    process->pidfd = pidfd;
    return 0;
}

void fork_server_end(struct fork_server *server)
{
    process_end(&server->process);
    close_fd(&server->socket);
    *server = FORK_SERVER_NONE;
}

/* ---- the program ---- */

/* The number of descriptors passed; negative: nobody asks any more. */
static int receive_request(struct request *request, int passed[PASSED_MOST])
{
    union passed control;
    struct iovec part = {.iov_base = request, .iov_len = sizeof(*request)};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)};
    ssize_t length;
    do
        length = recvmsg(SOCKET_FD, &message, MSG_CMSG_CLOEXEC);
    while (length < 0 && errno == EINTR);
    struct cmsghdr *header = length == (ssize_t)sizeof(*request) ? CMSG_FIRSTHDR(&message) : NULL;
    if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
        return -1;
    unsigned count = (unsigned)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    memcpy(passed, CMSG_DATA(header), count * sizeof(int));
    return count == 1U + request->network + request->cgroup + request->descriptor_count ? (int)count : -1;
}

static int enter(const struct request *request, const int *network_fd, const int *cgroup_fd)
{
    if (request->cgroup && write(*cgroup_fd, "0", 1) != 1) /* "0": whoever writes */
        return errno;
    if (request->network && setns(*network_fd, CLONE_NEWNET) < 0)
        return errno;
    if (request->host && (unshare(CLONE_NEWUTS) < 0 || sethostname(request->host_name, strlen(request->host_name)) < 0))
        return errno;
    return 0;
}

/* Where the arguments lay. The kernel shows one string, up to its end, when their last byte is not 0. */
static void show_title(const char *title, char **argv)
{
    char *start = argv[0], *end = argv[2] + strlen(argv[2]);
    size_t room = (size_t)(end - start);
    memset(start, 0, room);
    memcpy(start, title, strnlen(title, room - 1));
    *end = ' ';
}

static void become_fork(const struct request *request, const int *passed, const char *command, char **argv)
{
    int copies[FORK_DESCRIPTORS_MOST], report_fd = passed[0];
    const int *network_fd = passed + 1, *cgroup_fd = network_fd + request->network, *descriptors = cgroup_fd + request->cgroup;
    struct process_report report = {.step = PROCESS_PREPARATION, .value = enter(request, network_fd, cgroup_fd)};
    if (report.value == 0) {
        report.step = PROCESS_DESCRIPTORS;
        report.value = process_place_descriptors(descriptors, request->descriptor_count, NULL, copies, &report_fd);
    }
    bool runs = report.value == 0;
    if (runs)
        report = (struct process_report){.step = PROCESS_RUNS, .value = getpid()};
    ssize_t written = write(report_fd, &report, sizeof(report)); /* 8 bytes into an empty pipe: never partial */
    (void)written;
    if (!runs)
        _exit(127);
    close(report_fd);
    prctl(PR_SET_NAME, command);
    show_title(request->title, argv);
}

void fork_server_serve(int argc, char **argv)
{
    char command[COMMAND_BYTES] = "";
    struct request request;
    int passed[PASSED_MOST], count;
    if (argc != 3 || send(SOCKET_FD, &hello, sizeof(hello), MSG_NOSIGNAL) < 0)
        _exit(2);
    prctl(PR_GET_NAME, command);
    prctl(PR_SET_NAME, "laggard-forks");
    while ((count = receive_request(&request, passed)) > 0) {
        pid_t pid = fork();
        struct process_report failure = {.step = PROCESS_FORK, .value = errno};
        if (pid == 0) {
            become_fork(&request, passed, command, argv);
            return;
        }
        if (pid < 0 && write(passed[0], &failure, sizeof(failure)) < 0)
            _exit(1);
        for (int i = 0; i < count; i++)
            close(passed[i]);
    }
    _exit(0);
}
