/* warden_traffic.c: the process of cross traffic: started once the network stands, told when to send and when to stop. */
#include "netem/warden_internal.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "netem/traffic.h"

enum { STOP_PATIENCE_MS = 5000 };

static _Noreturn void run_traffic(const struct warden *warden, int control_fd)
{
    const struct fabric_spec *spec = warden->setup->spec;
    int places = spec->topology->place_count;
    cleanup(free_pointer) int *namespaces = calloc((size_t)places, sizeof(*namespaces));
    cleanup(free_pointer) int *keep = calloc((size_t)places + 1, sizeof(*keep));
    if (!namespaces || !keep)
        _exit(1);
    for (int i = 0; i < places; i++)
        keep[i] = namespaces[i] = warden->network.places[i].namespace_fd;
    keep[places] = control_fd;
    namespaces_keep_descriptors(keep, (unsigned)places + 1);
    prctl(PR_SET_NAME, "laggard-traffic");
    const struct traffic_spec traffic = {
        .topology = spec->topology,
        .namespace_fds = namespaces,
        .flows = spec->flows,
        .flow_count = spec->flow_count,
        .counters = warden->setup->shared->traffic,
    };
    _exit(traffic_run(&traffic, control_fd, &warden->setup->shared->traffic_err) < 0);
}

int warden_start_traffic(struct warden *warden, struct err *err)
{
    if (warden->setup->spec->flow_count == 0)
        return 0;
    int control[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot make the control socket of the cross traffic");
    warden->traffic_control = control[0];
    cleanup(close_fd) int its = control[1];
    pid_t pid = fork();
    if (pid < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot start the cross traffic");
    if (pid == 0)
        run_traffic(warden, its);
    warden->traffic = pid;
    return 0;
}

/* Its own bound of patience is the shorter one; its end closes the socket. */
static int await_word(const struct warden *warden, int timeout_ms, struct err *err)
{
    struct pollfd wait = {.fd = warden->traffic_control, .events = POLLIN};
    char word;
    int ready;
    do
        ready = poll(&wait, 1, timeout_ms);
    while (ready < 0 && errno == EINTR);
    if (ready == 0)
        return err_set(err, ERR_TRIAL, "the cross traffic has not stopped within %d s", timeout_ms / 1000);
    if (recv(warden->traffic_control, &word, 1, 0) != 1) {
        const struct err *why = &warden->setup->shared->traffic_err;
        if (why->kind != ERR_NONE)
            return err_set(err, why->kind, "%s", why->text);
        return err_set(err, ERR_TRIAL, "the process of the cross traffic has ended");
    }
    return 0;
}

int warden_await_traffic(struct warden *warden, struct err *err)
{
    return warden->traffic == 0 ? 0 : await_word(warden, -1, err);
}

int warden_order_traffic(struct warden *warden, int64_t start_ns, struct err *err)
{
    if (warden->setup->spec->flow_count == 0)
        return 0;
    struct traffic_order order = {.start_ns = start_ns};
    if (send(warden->traffic_control, &order, sizeof(order), MSG_NOSIGNAL) != (ssize_t)sizeof(order))
        return err_set(err, ERR_TRIAL, "the process of the cross traffic has ended");
    return start_ns > 0 ? 0 : await_word(warden, STOP_PATIENCE_MS, err);
}
