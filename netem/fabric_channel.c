/* fabric_channel.c: asks a fabric's warden and hears its answers; see fabric_internal.h. */
#include "netem/fabric_internal.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/process.h"

/* Its sockets close a little before the kernel can say how it ended: that waits until all inside have ended, too. */
enum { END_PATIENCE_MS = 5000 };

int fabric_channel_gone(const struct fabric *fabric, struct err *err)
{
    struct process_exit how;
    char text[64] = "no reason is known";
    if (process_ended(fabric->warden, END_PATIENCE_MS, &how))
        process_describe(text, sizeof(text), &how);
    return err_set(err, ERR_TRIAL, "the process that holds the network (the warden) has ended unexpectedly (%s)", text);
}

/* Building knows its own bounds a link; this stands far above them. */
static const int LONG_ANSWER_MS = 600 * 1000;

static int await_answer(const struct fabric *fabric, int timeout_ms, int interrupt_fd, struct err *err)
{
    struct pollfd entries[] = {{.fd = fabric->request_fd, .events = POLLIN}, {.fd = interrupt_fd, .events = POLLIN}};
    int ready;
    do
        ready = poll(entries, sizeof(entries) / sizeof(entries[0]), timeout_ms);
    while (ready < 0 && errno == EINTR);
    if (ready > 0 && entries[0].revents == 0)
        return err_set(err, ERR_INTERRUPTED, "interrupted");
    if (ready == 0)
        return err_set(err, ERR_TRIAL,
                       "the process that holds the network (the warden) did not answer within %d s: was it stopped?",
                       timeout_ms / 1000);
    return ready < 0 ? fabric_channel_gone(fabric, err) : 0;
}

/* The next answer; *pid is the sender named in it. */
static int receive_answer(const struct fabric *fabric, int timeout_ms, int interrupt_fd, struct warden_answer *answer, pid_t *pid,
                          struct err *err)
{
    int code = await_answer(fabric, timeout_ms, interrupt_fd, err);
    if (code < 0)
        return code;
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct iovec part = {.iov_base = answer, .iov_len = sizeof(*answer)};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)};
    ssize_t length;
    do
        length = recvmsg(fabric->request_fd, &message, MSG_CMSG_CLOEXEC);
    while (length < 0 && errno == EINTR);
    if (length != (ssize_t)sizeof(*answer))
        return fabric_channel_gone(fabric, err);
    *pid = 0;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_CREDENTIALS) {
        struct ucred credentials;
        memcpy(&credentials, CMSG_DATA(header), sizeof(credentials));
        *pid = credentials.pid;
    }
    return 0;
}

int fabric_channel_ask_within(struct fabric *fabric, const struct warden_request *asked, int timeout_ms, int interrupt_fd,
                              struct err *err)
{
    struct warden_answer answer;
    pid_t pid;
    if (send(fabric->request_fd, asked, sizeof(*asked), MSG_NOSIGNAL) != (ssize_t)sizeof(*asked))
        return fabric_channel_gone(fabric, err);
    int code = receive_answer(fabric, timeout_ms, interrupt_fd, &answer, &pid, err);
    if (code < 0)
        return code;
    if (answer.code < 0 && err)
        *err = fabric->shared->err;
    return answer.code;
}

int fabric_channel_ask(struct fabric *fabric, const struct warden_request *asked, struct err *err)
{
    return fabric_channel_ask_within(fabric, asked, FABRIC_ANSWER_MS, FABRIC_NEVER_INTERRUPTED, err);
}

int fabric_channel_await_built(struct fabric *fabric, struct err *err)
{
    for (;;) {
        struct warden_answer answer;
        pid_t pid = 0;
        int code = receive_answer(fabric, LONG_ANSWER_MS, FABRIC_NEVER_INTERRUPTED, &answer, &pid, err);
        if (code < 0)
            return code;
        if (answer.operation == WARDEN_STARTED && answer.program >= 0 && answer.program < fabric->program_count)
            fabric->pids[answer.program] = pid;
        if (answer.operation != WARDEN_BUILT)
            continue;
        if (answer.code < 0 && err)
            *err = fabric->shared->err;
        return answer.code;
    }
}
