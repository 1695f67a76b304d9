/* fabric.c: the caller's side of a fabric: makes the warden, asks it, hears from it, ends it. */
#include "netem/fabric.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "netem/impairment.h"
#include "netem/measure.h"
#include "netem/warden.h"

struct fabric {
    pid_t warden;
    int pidfd, request_fd, event_fd;
    enum engine_kind engine;
    int link_count, program_count;
    int64_t round_trip_ns; /* of the link with the longest */
    pid_t *pids;           /* one a program, in this process's PID namespace */
    struct warden_shared *shared;
    size_t shared_bytes;
    bool relay_gone;
};

static size_t round_up(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* One mapping with everything behind each other; the warden inherits it at the same address. */
static int map_shared(struct fabric *fabric, struct err *err)
{
    size_t links = (size_t)fabric->link_count;
    size_t header = round_up(sizeof(struct warden_shared)), readback = round_up(links * sizeof(struct link_readback)),
           counters = round_up(links * sizeof(struct link_counters)), checks = round_up(links * sizeof(struct link_check));
    size_t total = header + readback + counters + checks + relay_shared_bytes(fabric->link_count);
    char *bytes = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED)
        return err_set_errno(err, ERR_HOST, errno, "cannot share memory for %d links", fabric->link_count);
    fabric->shared = (struct warden_shared *)bytes;
    fabric->shared_bytes = total;
    fabric->shared->readback = (struct link_readback *)(bytes + header);
    fabric->shared->counters = (struct link_counters *)(bytes + header + readback);
    fabric->shared->checks = (struct link_check *)(bytes + header + readback + counters);
    fabric->shared->relay = (struct relay_counters *)(bytes + header + readback + counters + checks);
    return 0;
}

static int make_channels(int requests[2], int events[2], struct err *err)
{
    int one = 1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, requests) < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot make a socket pair for the warden");
    if (pipe2(events, O_CLOEXEC) < 0) {
        int error = errno;
        close_fd(&requests[0]);
        close_fd(&requests[1]);
        return err_set_errno(err, ERR_HOST, error, "cannot make a pipe for the warden");
    }
    setsockopt(requests[0], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one));
    fcntl(events[1], F_SETPIPE_SZ, WARDEN_EVENT_PIPE_BYTES); /* a refinement: the default holds 5,000 exits */
    fcntl(events[0], F_SETFL, O_NONBLOCK);
    return 0;
}

static int gone(struct err *err)
{
    return err_set(err, ERR_TRIAL, "the process that holds the network (the warden) has ended unexpectedly");
}

/* How long a warden that is alive may take at most: a stopped one must not hold its caller for ever. Building knows its own bounds
 * a link; this stands far above them. Measuring has a bound of its own, to which the first is added. */
static const int ANSWER_MS = 10 * 1000, LONG_ANSWER_MS = 600 * 1000;
enum { NEVER_INTERRUPTED = -1 };

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
    return ready < 0 ? gone(err) : 0;
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
        return gone(err);
    *pid = 0;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_CREDENTIALS) {
        struct ucred credentials;
        memcpy(&credentials, CMSG_DATA(header), sizeof(credentials));
        *pid = credentials.pid;
    }
    return 0;
}

static int request_within(struct fabric *fabric, const struct warden_request *asked, int timeout_ms, int interrupt_fd,
                          struct err *err)
{
    struct warden_answer answer;
    pid_t pid;
    if (send(fabric->request_fd, asked, sizeof(*asked), MSG_NOSIGNAL) != (ssize_t)sizeof(*asked))
        return gone(err);
    int code = receive_answer(fabric, timeout_ms, interrupt_fd, &answer, &pid, err);
    if (code < 0)
        return code;
    if (answer.code < 0 && err)
        *err = fabric->shared->err;
    return answer.code;
}

static int request(struct fabric *fabric, const struct warden_request *asked, struct err *err)
{
    return request_within(fabric, asked, ANSWER_MS, NEVER_INTERRUPTED, err);
}

static int await_built(struct fabric *fabric, struct err *err)
{
    for (;;) {
        struct warden_answer answer;
        pid_t pid;
        int code = receive_answer(fabric, LONG_ANSWER_MS, NEVER_INTERRUPTED, &answer, &pid, err);
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

static bool links_need_engine(const struct topology *topology)
{
    for (int i = 0; i < topology->link_count; i++)
        for (int d = 0; d < DIRECTIONS; d++)
            if (impairment_needs_engine(&topology->links[i].direction[d]))
                return true;
    return false;
}

/* An engine that the caller has not chosen costs a probe. */
static int resolve_engine(const struct fabric_spec *spec, enum engine_kind *engine, struct err *err)
{
    *engine = spec->engine;
    if (!links_need_engine(spec->topology)) {
        *engine = ENGINE_NONE;
        return 0;
    }
    if (spec->engine != ENGINE_AUTO)
        return 0;
    struct fabric_host host;
    if (fabric_probe(&host, err) < 0)
        return -(int)err->kind;
    return fabric_check(&host, spec->topology, ENGINE_AUTO, engine, err);
}

int fabric_build(const struct fabric_spec *spec, struct fabric **fabric, struct err *err)
{
    struct err local; /* so that a NULL err is allowed and its kind can still be returned */
    if (!err)
        err = &local;
    cleanup(fabric_cleanup) struct fabric *made = calloc(1, sizeof(*made));
    if (!made)
        return err_set_errno(err, ERR_HOST, ENOMEM, "cannot build a fabric");
    made->pidfd = made->request_fd = made->event_fd = -1;
    made->link_count = spec->topology->link_count;
    made->program_count = spec->program_count;
    made->round_trip_ns = measure_longest_round_trip_ns(spec->topology);
    made->pids = calloc((size_t)spec->program_count + 1, sizeof(*made->pids));
    if (!made->pids)
        return err_set_errno(err, ERR_HOST, ENOMEM, "cannot build a fabric");
    int requests[2] = {-1, -1}, events[2] = {-1, -1};
    if (resolve_engine(spec, &made->engine, err) < 0)
        return -(int)err->kind;
    if (made->engine == ENGINE_NONE && links_need_engine(spec->topology))
        return err_set(err, ERR_USAGE,
                       "engine none cannot delay packets, but a link asks for a delay: choose netem, relay or auto");
    if (map_shared(made, err) < 0 || make_channels(requests, events, err) < 0)
        return -ERR_HOST;
    made->request_fd = requests[0];
    made->event_fd = events[0];
    cleanup(close_fd) int its_requests = requests[1];
    cleanup(close_fd) int its_events = events[1];

    struct warden_setup setup = {
        .spec = spec, .engine = made->engine, .shared = made->shared, .request_fd = its_requests, .event_fd = its_events};
    pid_t pid;
    if (namespaces_fork(&setup.owner, &pid, &made->pidfd, err) < 0)
        return -ERR_HOST;
    if (pid == 0)
        warden_run(&setup);
    made->warden = pid;
    close_fd(&its_requests); /* the warden's death is then seen as an end of file */
    close_fd(&its_events);
    int code = await_built(made, err);
    if (code < 0)
        return err_wrap(err, "cannot build the network");
    *fabric = steal_pointer(&made);
    return 0;
}

enum engine_kind fabric_engine(const struct fabric *fabric)
{
    return fabric->engine;
}

const struct link_readback *fabric_readback(const struct fabric *fabric)
{
    return fabric->shared->readback;
}

int64_t fabric_build_ns(const struct fabric *fabric)
{
    return fabric->shared->build_ns;
}

int fabric_event_fd(const struct fabric *fabric)
{
    return fabric->event_fd;
}

int fabric_next_exit(struct fabric *fabric, int *program, struct process_exit *how, struct err *err)
{
    struct warden_event event;
    ssize_t length;
    do
        length = read(fabric->event_fd, &event, sizeof(event));
    while (length < 0 && errno == EINTR);
    if (length < 0 && errno == EAGAIN)
        return fabric->relay_gone ? err_set(err, ERR_TRIAL, "the relay has ended: no delayed link carries packets any more") : 0;
    if (length != (ssize_t)sizeof(event))
        return gone(err);
    if (event.program == WARDEN_RELAY) {
        char text[64];
        const struct err *why = &fabric->shared->relay_err;
        fabric->relay_gone = true;
        return err_set(err, ERR_TRIAL, "the relay has ended (%s)%s%s", process_describe(text, sizeof(text), &event.how),
                       why->kind ? ": " : "", why->kind ? why->text : "");
    }
    fabric->pids[event.program] = 0; /* reaped: the number may become another's */
    *program = event.program;
    *how = event.how;
    return 1;
}

pid_t fabric_pid(const struct fabric *fabric, int program)
{
    return program >= 0 && program < fabric->program_count ? fabric->pids[program] : 0;
}

int fabric_signal(struct fabric *fabric, int program, int signal_number, struct err *err)
{
    struct warden_request asked = {.operation = WARDEN_SIGNAL, .program = program, .argument = signal_number};
    return request(fabric, &asked, err);
}

int fabric_counters(struct fabric *fabric, struct link_counters *counters, struct err *err)
{
    int code = request(fabric, &(struct warden_request){.operation = WARDEN_COUNT}, err);
    if (code == 0)
        memcpy(counters, fabric->shared->counters, (size_t)fabric->link_count * sizeof(*counters));
    return code;
}

int fabric_reset_counters(struct fabric *fabric, struct err *err)
{
    return request(fabric, &(struct warden_request){.operation = WARDEN_RESET}, err);
}

int fabric_measure(struct fabric *fabric, int sample, int interrupt_fd, struct link_check *checks, struct err *err)
{
    int64_t timeout_ms = measure_seconds_most(fabric->link_count, sample, fabric->round_trip_ns) * 1000 + ANSWER_MS;
    struct warden_request asked = {.operation = WARDEN_MEASURE, .argument = sample};
    int code = request_within(fabric, &asked, timeout_ms < INT_MAX ? (int)timeout_ms : INT_MAX, interrupt_fd, err);
    int program;
    struct process_exit how;
    while (code == 0 && (code = fabric_next_exit(fabric, &program, &how, err)) == 1)
        code = 0; /* a program's end: nothing is lost by it here */
    if (code == 0)
        memcpy(checks, fabric->shared->checks, (size_t)fabric->link_count * sizeof(*checks));
    return code;
}

void fabric_end(struct fabric *fabric)
{
    if (!fabric)
        return;
    if (fabric->warden > 0) {
        /* Not reaped yet, so the pidfd is the warden's. The kernel reports its end only after every process inside has ended. */
        syscall(SYS_pidfd_send_signal, fabric->pidfd, SIGKILL, NULL, 0);
        while (waitpid(fabric->warden, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    close_fd(&fabric->pidfd);
    close_fd(&fabric->request_fd);
    close_fd(&fabric->event_fd);
    if (fabric->shared)
        munmap(fabric->shared, fabric->shared_bytes);
    free(fabric->pids);
    free(fabric);
}

void fabric_cleanup(struct fabric **fabric)
{
    fabric_end(*fabric);
    *fabric = NULL;
}
