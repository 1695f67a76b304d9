/* warden.c: builds the network and has the programs started, then reaps, reports and answers until the caller is gone. */
#include "netem/warden_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/process.h"
#include "base/text.h"
#include "netem/measure.h"

enum {
    RELAY_START_PATIENCE_MS = 10000,
    RELAY_END_PATIENCE_MS = 100, /* between the closing of its socket and its end */
};

void warden_send_answer(const struct warden *warden, enum warden_operation operation, int code, int program, pid_t pid)
{
    struct warden_answer answer = {.operation = operation, .code = code, .program = program};
    struct iovec part = {.iov_base = &answer, .iov_len = sizeof(answer)};
    struct ucred credentials = {.pid = pid, .uid = getuid(), .gid = getgid()};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(credentials))];
    } control = {0};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (pid > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof(control.bytes);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_CREDENTIALS;
        header->cmsg_len = CMSG_LEN(sizeof(credentials));
        memcpy(CMSG_DATA(header), &credentials, sizeof(credentials));
    }
    if (sendmsg(warden->setup->request_fd, &message, MSG_NOSIGNAL) < 0 && errno == EPIPE)
        _exit(0); /* the caller is gone */
}

static void send_event(const struct warden *warden, int program, const struct process_exit *how)
{
    struct warden_event event = {.program = program, .how = *how};
    if (write(warden->setup->event_fd, &event, sizeof(event)) < 0 && errno == EPIPE) /* process 1 does not feel SIGPIPE */
        _exit(0);
}

/* What the caller had open and has nothing to do with the warden would live on in it: locks, other fabrics' sockets. */
static int drop_descriptors(const struct warden_setup *setup, struct err *err)
{
    const struct fabric_spec *spec = setup->spec;
    unsigned count = 3 + (unsigned)spec->capture_count, next = 0; /* the caller's channels, and who may enter */
    for (int i = 0; i < spec->program_count; i++)
        count += spec->programs[i].descriptor_count + (spec->programs[i].cgroup_fd > 0) + FABRIC_STREAMS;
    cleanup(free_pointer) int *keep = calloc(count, sizeof(*keep));
    if (!keep)
        return err_set_errno(err, ERR_HOST, ENOMEM, "cannot list the programs' descriptors");
    keep[next++] = setup->request_fd;
    keep[next++] = setup->event_fd;
    keep[next++] = setup->enter_fd;
    for (int i = 0; i < spec->program_count; i++) {
        for (unsigned d = 0; d < spec->programs[i].descriptor_count; d++)
            keep[next++] = spec->programs[i].descriptors[d];
        if (spec->programs[i].cgroup_fd > 0)
            keep[next++] = spec->programs[i].cgroup_fd;
        for (int s = 0; spec->programs[i].streams && s < FABRIC_STREAMS; s++)
            keep[next++] = spec->programs[i].streams[s];
    }
    for (int i = 0; i < spec->capture_count; i++)
        keep[next++] = spec->captures[i].file_fd;
    namespaces_keep_descriptors(keep, next);
    return 0;
}

/* The signals the caller handles are not the warden's: process 1 of a PID namespace ignores whatever it has no handler for. */
static void reset_signals(sigset_t *children)
{
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigemptyset(children);
    sigaddset(children, SIGCHLD);
    sigprocmask(SIG_SETMASK, children, NULL);
}

static int become_warden(struct warden *warden, struct err *err)
{
    const struct warden_setup *setup = warden->setup;
    sigset_t children;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a caller that died before this line has closed its socket: seen in the loop */
    prctl(PR_SET_NAME, "laggard-warden");
    setsid(); /* Ctrl-C on the terminal is the caller's to handle, not the programs' to die from */
    reset_signals(&children);
    if (drop_descriptors(setup, err) < 0 || namespaces_settle(&setup->owner, err) < 0)
        return -ERR_HOST;
    warden->signal_fd = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
    warden->null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (warden->signal_fd < 0 || warden->null_fd < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot open a signalfd and /dev/null");
    if (getrlimit(RLIMIT_NOFILE, &warden->files_before) == 0) {
        struct rlimit most = {.rlim_cur = warden->files_before.rlim_max, .rlim_max = warden->files_before.rlim_max};
        setrlimit(RLIMIT_NOFILE, &most); /* three descriptors a place and more */
    }
    return 0;
}

static void show_names(const struct topology *topology)
{
    cleanup(text_free) struct text hosts = {0};
    text_add(&hosts, "127.0.0.1 localhost\n");
    for (int i = 0; i < topology->host_count; i++) {
        uint32_t address = topology->places[i].address;
        text_printf(&hosts, "%u.%u.%u.%u %s\n", address >> 24, address >> 16 & 255, address >> 8 & 255, address & 255,
                    topology->places[i].name);
    }
    struct err err;
    if (namespaces_hosts_file(hosts.bytes, &err) < 0)
        log_debug("%s", err.text);
}

static void run_relay(struct warden *warden, int control_fd)
{
    const struct network *network = &warden->network;
    cleanup(free_pointer) int *keep = calloc((size_t)network->relay_count * 2 + 1, sizeof(*keep));
    if (!keep)
        _exit(1);
    unsigned count = 0;
    keep[count++] = control_fd;
    for (int i = 0; i < network->relay_count; i++)
        for (int port = 0; port < 2; port++)
            keep[count++] = network->relay[i].port[port];
    namespaces_keep_descriptors(keep, count);
    prctl(PR_SET_NAME, "laggard-relay");
    _exit(relay_run(network->relay, network->relay_count, network->relay_counters, control_fd, &warden->setup->shared->relay_err) <
          0);
}

static int start_relay(struct warden *warden, struct err *err)
{
    struct network *network = &warden->network;
    if (network->relay_count == 0)
        return 0;
    int control[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot make the relay's control socket");
    warden->relay_control = control[0];
    cleanup(close_fd) int its = control[1];
    pid_t pid = fork();
    if (pid < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot start the relay");
    if (pid == 0)
        run_relay(warden, its);
    warden->relay = pid;
    /* The relay holds the TAPs now; here they would only pin their namespaces. */
    for (int i = 0; i < network->relay_count; i++)
        for (int port = 0; port < 2; port++)
            close_fd(&network->relay[i].port[port]);
    return 0;
}

/* It measures how late this host wakes it before it says that it is ready: nothing else should run during the end of that. */
static int await_relay(struct warden *warden, struct err *err)
{
    if (warden->relay == 0)
        return 0;
    struct pollfd wait = {.fd = warden->relay_control, .events = POLLIN};
    char ready;
    if (poll(&wait, 1, RELAY_START_PATIENCE_MS) != 1)
        return err_set(err, ERR_HOST, "the relay has not started within 10 s");
    if (read(warden->relay_control, &ready, 1) != 1) {
        const struct err *why = &warden->setup->shared->relay_err;
        return err_set(err, ERR_HOST, "the relay ended at its start: %s", why->kind ? why->text : "it gave no reason");
    }
    return 0;
}

/* Devices of a relay that is no more never come up: its end says more than what was found missing. */
static int blame_relay(const struct warden *warden, int code, struct err *err)
{
    struct process_exit how;
    char text[64];
    if (code == 0 || warden->relay == 0 || !process_ended(warden->relay, RELAY_END_PATIENCE_MS, &how) || how.exited)
        return code;
    return err_set(err, ERR_TRIAL, "the relay has ended (%s)", process_describe(text, sizeof(text), &how));
}

static int build(struct warden *warden, struct err *err)
{
    const struct warden_setup *setup = warden->setup;
    const struct topology *topology = setup->spec->topology;
    int64_t started = clock_now_ns();
    int code = warden_list_programs(warden, err);
    if (code == 0)
        code = become_warden(warden, err);
    if (code == 0)
        show_names(topology); /* before any program: a mount is seen by all of them, where a program may lie */
    if (code == 0) {
        warden_begin_forks(warden);
        code = network_make(&warden->network, topology, setup->engine, setup->shared->relay, warden_begin_place, warden, err);
    }
    if (code == 0)
        code = start_relay(warden, err); /* so early, because it takes as long as the rest */
    if (code == 0)
        code = warden_enter_begin(warden, err);
    if (code == 0)
        code = warden_begin_programs(warden, true, err); /* they load while the network is made and configured */
    if (code == 0)
        code = network_configure(&warden->network, err);
    if (code == 0)
        code = warden_start_capture(warden, err); /* its sockets need the devices, and take as long as the reading back */
    if (code == 0)
        code = network_read_back(&warden->network, setup->shared->readback, err);
    if (code < 0)
        return code;
    if ((code = await_relay(warden, err)) < 0 || (code = warden_await_capture(warden, err)) < 0)
        return code;
    setup->shared->build_ns = clock_now_ns() - started;
    code = warden_start_traffic(warden, err);
    if (code == 0)
        code = warden_begin_programs(warden, false, err);
    if (code == 0)
        code = warden_confirm_programs(warden, err);
    return code == 0 ? warden_await_traffic(warden, err) : code;
}

static void reap(struct warden *warden)
{
    struct signalfd_siginfo information;
    while (read(warden->signal_fd, &information, sizeof(information)) > 0)
        ;
    pid_t pid;
    int status;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        struct process_exit how = {.exited = WIFEXITED(status),
                                   .status = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status)};
        if (pid == warden->capture)
            warden->capture = 0; /* no packet is lost by it: whoever asks for the summaries hears of it */
        if (warden_enter_reaped(warden, pid, &how))
            continue;
        if (pid == warden->relay) {
            warden->relay = 0;
            send_event(warden, WARDEN_RELAY, &how);
        }
        if (pid == warden->traffic) {
            warden->traffic = 0;
            send_event(warden, WARDEN_TRAFFIC, &how);
        }
        for (int i = 0; i < warden->setup->spec->program_count; i++)
            if (pid == warden->programs[i].pid) { /* others are orphans of programs */
                close_fd(&warden->programs[i].pidfd);
                warden->programs[i] = PROCESS_NONE;
                send_event(warden, i, &how);
            }
    }
}

/* In a process of its own, since it moves between namespaces and may die; nothing else is to run meanwhile. */
static int measure(struct warden *warden, const struct measure_effort *effort, struct err *err)
{
    const struct topology *topology = warden->setup->spec->topology;
    struct link_check *checks = warden->setup->shared->checks;
    int64_t most_seconds = measure_seconds_most(topology->link_count, effort, measure_longest_round_trip_ns(topology));
    memset(checks, 0, (size_t)topology->link_count * sizeof(*checks));
    *err = (struct err){.kind = ERR_NONE};
    pid_t pid = fork();
    if (pid < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot start the measurement");
    if (pid == 0) {
        cleanup(free_pointer) int *namespaces = calloc((size_t)topology->place_count, sizeof(*namespaces));
        if (!namespaces)
            _exit(1);
        for (int i = 0; i < topology->place_count; i++)
            namespaces[i] = warden->network.places[i].namespace_fd;
        prctl(PR_SET_NAME, "laggard-measure");
        alarm((unsigned)most_seconds);
        _exit(measure_links(topology, namespaces, effort, checks, err) < 0);
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (WIFEXITED(status) && err->kind != ERR_NONE)
        return -(int)err->kind;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        return err_set(err, ERR_HOST, "it was not over after %lld s: this host is too slow for it", (long long)most_seconds);
    struct process_exit how = {.exited = WIFEXITED(status), .status = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status)};
    char text[64];
    return err_set(err, ERR_TRIAL, "the process that measures has ended (%s)", process_describe(text, sizeof(text), &how));
}

static void answer_request(struct warden *warden)
{
    struct warden_request request;
    ssize_t length = recv(warden->setup->request_fd, &request, sizeof(request), 0);
    if (length < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (length != (ssize_t)sizeof(request))
        _exit(0); /* the caller has ended the fabric, or has died */
    struct err *err = &warden->setup->shared->err;
    int code;
    switch (request.operation) {
    case WARDEN_COUNT:
        code = network_count(&warden->network, warden->setup->shared->counters, err);
        break;
    case WARDEN_RESET:
        code = network_reset(&warden->network, err);
        break;
    case WARDEN_MEASURE:
        code = measure(warden, &request.effort, err);
        reap(warden); /* the caller shall know of the relay's end before it believes the answer */
        break;
    case WARDEN_SIGNAL:
        code = warden_signal_program(warden, &request, err);
        break;
    case WARDEN_CHANGE:
        code = network_change(&warden->network, request.argument, &warden->setup->shared->change,
                              warden->setup->shared->change_down, warden->relay_control, err);
        break;
    case WARDEN_SEPARATE:
        code = network_separate(&warden->network, request.argument ? warden->setup->shared->group : NULL, err);
        break;
    case WARDEN_READ_BACK:
        code = network_read_back(&warden->network, warden->setup->shared->readback, err);
        break;
    case WARDEN_FINISH_CAPTURES:
        code = warden_finish_captures(warden, err);
        break;
    case WARDEN_TRAFFIC_ORDER:
        code = warden_order_traffic(warden, request.time_ns, err);
        break;
    case WARDEN_STARTED:
    case WARDEN_BUILT:
    default:
        code = err_set(err, ERR_HOST, "there is no request number %d", (int)request.operation);
        break;
    }
    if (code == 0 && warden->settle_err.kind != ERR_NONE) {
        *err = warden->settle_err;
        code = -(int)err->kind;
    }
    warden_send_answer(warden, request.operation, code, 0, 0);
}

/* Goes on with changes that are not over. Returns for how many ms there is nothing to do, as poll() takes it. */
static int settle(struct warden *warden)
{
    int64_t next_ns = INT64_MAX;
    if (warden->settle_err.kind == ERR_NONE)
        (void)network_settle(&warden->network, &next_ns, &warden->settle_err);
    int64_t wait_ms = (next_ns - clock_now_ns()) / NS_PER_MS + 1;
    return next_ns == INT64_MAX ? -1 : wait_ms < 0 ? 0 : (int)wait_ms;
}

_Noreturn void warden_run(const struct warden_setup *setup)
{
    static struct warden warden;
    warden = (struct warden){.setup = setup,
                             .forks = FORK_SERVER_NONE,
                             .relay_control = -1,
                             .capture_control = -1,
                             .traffic_control = -1,
                             .signal_fd = -1,
                             .null_fd = -1,
                             .enter_fd = -1};
    int code = blame_relay(&warden, build(&warden, &setup->shared->err), &setup->shared->err);
    warden_send_answer(&warden, WARDEN_BUILT, code, 0, 0);
    if (code < 0)
        _exit(1);
    struct pollfd watched[] = {{.fd = setup->request_fd, .events = POLLIN},
                               {.fd = warden.signal_fd, .events = POLLIN},
                               {.fd = warden.enter_fd, .events = POLLIN}};
    for (;;) {
        if (poll(watched, sizeof(watched) / sizeof(watched[0]), settle(&warden)) < 0 && errno != EINTR)
            _exit(1);
        if (watched[1].revents)
            reap(&warden);
        if (watched[0].revents)
            answer_request(&warden);
        if (watched[2].revents)
            warden_enter_serve(&warden);
    }
}
