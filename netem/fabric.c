/* fabric.c: the caller's side of a fabric: makes the warden, asks it, hears from it, ends it. */
#include "netem/fabric_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/awake.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "netem/impairment.h"
#include "netem/measure.h"

static size_t round_up(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* One mapping with everything behind each other; the warden inherits it at the same address. */
static int map_shared(struct fabric *fabric, struct err *err)
{
    size_t links = (size_t)fabric->link_count;
    size_t header = round_up(sizeof(struct warden_shared)), readback = round_up(links * sizeof(struct link_readback)),
           counters = round_up(links * sizeof(struct link_counters)), checks = round_up(links * sizeof(struct link_check)),
           groups = round_up((size_t)fabric->host_count * sizeof(int)),
           summaries = round_up((size_t)fabric->capture_count * sizeof(struct packet_summary)),
           traffic = round_up((size_t)fabric->flow_count * sizeof(struct traffic_counters));
    size_t total = header + readback + counters + checks + groups + summaries + traffic + relay_shared_bytes(fabric->link_count);
    char *bytes = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED)
        return err_set_errno(err, ERR_HOST, errno, "cannot share memory for %d links", fabric->link_count);
    fabric->shared = (struct warden_shared *)bytes;
    fabric->shared_bytes = total;
    fabric->shared->readback = (struct link_readback *)(bytes + header);
    fabric->shared->counters = (struct link_counters *)(bytes + header + readback);
    fabric->shared->checks = (struct link_check *)(bytes + header + readback + counters);
    fabric->shared->group = (int *)(bytes + header + readback + counters + checks);
    fabric->shared->summaries = (struct packet_summary *)(bytes + header + readback + counters + checks + groups);
    fabric->shared->traffic = (struct traffic_counters *)(bytes + header + readback + counters + checks + groups + summaries);
    fabric->shared->relay = (struct relay_counters *)(bytes + header + readback + counters + checks + groups + summaries + traffic);
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
    made->awake_fd = spec->awake ? awake_hold() : -1;
    made->link_count = spec->topology->link_count;
    made->host_count = spec->topology->host_count;
    made->program_count = spec->program_count;
    made->capture_count = spec->capture_count;
    made->flow_count = spec->flow_count;
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

    struct warden_setup setup = {.spec = spec,
                                 .engine = made->engine,
                                 .shared = made->shared,
                                 .request_fd = its_requests,
                                 .event_fd = its_events,
                                 .enter_fd = -1};
    cleanup(close_fd) int its_door = -1;
    if (spec->enter) {
        enter_name(setup.enter_name, geteuid(), getpid());
        struct err why; /* anybody can take the name: that must not end a trial */
        if (warden_enter_listen(setup.enter_name, &its_door, &why) < 0)
            log_warning("%s", why.text);
        setup.enter_fd = its_door;
    }
    pid_t pid;
    if (namespaces_fork(&setup.owner, &pid, &made->pidfd, err) < 0)
        return -ERR_HOST;
    if (pid == 0)
        warden_run(&setup);
    made->warden = pid;
    close_fd(&its_requests); /* the warden's death is then seen as an end of file */
    close_fd(&its_events);
    close_fd(&its_door);
    int code = fabric_channel_await_built(made, err);
    if (code == -ERR_USAGE) /* a program that the caller named: the network itself is well */
        return code;
    if (code < 0)
        return err_wrap(err, "cannot build the network");
    *fabric = steal_pointer(&made);
    return 0;
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

/* Of a process that the network cannot do without; the sentence stays. */
static void note_end(struct fabric *fabric, const struct warden_event *event)
{
    bool relay = event->program == WARDEN_RELAY;
    const struct err *why = relay ? &fabric->shared->relay_err : &fabric->shared->traffic_err;
    char text[64];
    err_set(&fabric->broken, ERR_TRIAL, "the %s has ended (%s)%s%s", relay ? "relay" : "process of the cross traffic",
            process_describe(text, sizeof(text), &event->how), why->kind ? ": " : "", why->kind ? why->text : "");
}

int fabric_next_exit(struct fabric *fabric, int *program, struct process_exit *how, struct err *err)
{
    struct warden_event event;
    ssize_t length;
    do
        length = read(fabric->event_fd, &event, sizeof(event));
    while (length < 0 && errno == EINTR);
    bool nothing = length < 0 && errno == EAGAIN;
    if (!nothing && length != (ssize_t)sizeof(event))
        return fabric_channel_gone(fabric, err);
    if (!nothing && event.program < 0)
        note_end(fabric, &event);
    if (fabric->broken.kind != ERR_NONE && (nothing || event.program < 0))
        return err_set(err, fabric->broken.kind, "%s", fabric->broken.text);
    if (nothing)
        return 0;
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
    return fabric_channel_ask(fabric, &asked, err);
}

int fabric_entered(const struct fabric *fabric)
{
    return fabric->shared->entered;
}

int fabric_counters(struct fabric *fabric, struct link_counters *counters, struct err *err)
{
    int code = fabric_channel_ask(fabric, &(struct warden_request){.operation = WARDEN_COUNT}, err);
    if (code == 0)
        memcpy(counters, fabric->shared->counters, (size_t)fabric->link_count * sizeof(*counters));
    return code;
}

int fabric_reset_counters(struct fabric *fabric, struct err *err)
{
    return fabric_channel_ask(fabric, &(struct warden_request){.operation = WARDEN_RESET}, err);
}

int fabric_finish_captures(struct fabric *fabric, struct packet_summary *summaries, struct err *err)
{
    int code = fabric_channel_ask(fabric, &(struct warden_request){.operation = WARDEN_FINISH_CAPTURES}, err);
    if (code == 0)
        memcpy(summaries, fabric->shared->summaries, (size_t)fabric->capture_count * sizeof(*summaries));
    return code;
}

int fabric_traffic_start(struct fabric *fabric, int64_t start_ns, struct err *err)
{
    struct warden_request asked = {.operation = WARDEN_TRAFFIC_ORDER, .time_ns = start_ns};
    return fabric->flow_count > 0 ? fabric_channel_ask(fabric, &asked, err) : 0;
}

int fabric_traffic_stop(struct fabric *fabric, struct err *err)
{
    return fabric_traffic_start(fabric, 0, err);
}

const struct traffic_counters *fabric_traffic(const struct fabric *fabric)
{
    return fabric->shared->traffic;
}

int fabric_measure(struct fabric *fabric, const struct measure_effort *effort, int interrupt_fd, struct link_check *checks,
                   struct err *err)
{
    int64_t timeout_ms = measure_seconds_most(fabric->link_count, effort, fabric->round_trip_ns) * 1000 + FABRIC_ANSWER_MS;
    struct warden_request asked = {.operation = WARDEN_MEASURE, .effort = *effort};
    int code = fabric_channel_ask_within(fabric, &asked, timeout_ms < INT_MAX ? (int)timeout_ms : INT_MAX, interrupt_fd, err);
    int program;
    struct process_exit how;
    while (code == 0 && (code = fabric_next_exit(fabric, &program, &how, err)) == 1)
        code = 0; /* a program's end: nothing is lost by it here */
    if (code == 0)
        memcpy(checks, fabric->shared->checks, (size_t)fabric->link_count * sizeof(*checks));
    return code;
}

int fabric_read_back_again(struct fabric *fabric, struct err *err)
{
    return fabric_channel_ask(fabric, &(struct warden_request){.operation = WARDEN_READ_BACK}, err);
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
    close_fd(&fabric->awake_fd);
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
