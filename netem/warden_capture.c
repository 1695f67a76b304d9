/* warden_capture.c: the process that captures: started with the network, ended when its summaries are wanted. */
#include "netem/warden_internal.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "netem/capture.h"

enum { START_PATIENCE_MS = 30000, FINISH_PATIENCE_MS = 8000, NAME_BYTES = 160 };

static const char *const direction_names[DIRECTIONS] = DIRECTION_NAMES;

/* Names live as long as the process. Direction d of link k leaves at end d, where the other direction arrives. */
static struct capture_direction describe(const struct warden *warden, const struct fabric_capture *wanted)
{
    const struct network *network = &warden->network;
    const struct link *link = &network->topology->links[wanted->link];
    int end = ENDS * wanted->link + wanted->direction;
    struct capture_direction direction = {
        .namespace_fd = network->places[network_end_place(network, end)].namespace_fd,
        .returns_leave = network_has_netem(network, end),
        .file_fd = wanted->file_fd,
        .snap_bytes = wanted->snap_bytes,
        .size_bytes = wanted->size_bytes,
        .rate_bps = link->direction[wanted->direction].rate_bps,
        .return_rate_bps = link->direction[wanted->direction ^ 1].rate_bps,
    };
    char *name = malloc(NAME_BYTES);
    if (name)
        snprintf(name, NAME_BYTES, "link %.100s %s", link->name, direction_names[wanted->direction]);
    direction.name = name ? name : "a link";
    snprintf(direction.device, sizeof(direction.device), "l%d", wanted->link);
    snprintf(direction.return_device, sizeof(direction.return_device), "%c%d", direction.returns_leave ? 'i' : 'l', wanted->link);
    return direction;
}

static void run_capture(struct warden *warden, int control_fd)
{
    const struct fabric_spec *spec = warden->setup->spec;
    size_t count = (size_t)spec->capture_count;
    cleanup(free_pointer) struct capture_direction *directions = calloc(count, sizeof(*directions));
    cleanup(free_pointer) int *keep = calloc(2 * count + 1, sizeof(*keep));
    if (!directions || !keep)
        _exit(1);
    unsigned kept = 0;
    keep[kept++] = control_fd;
    for (size_t i = 0; i < count; i++) {
        directions[i] = describe(warden, &spec->captures[i]);
        keep[kept++] = directions[i].file_fd;
        keep[kept++] = directions[i].namespace_fd;
    }
    namespaces_keep_descriptors(keep, kept);
    prctl(PR_SET_NAME, "laggard-capture");
    struct warden_shared *shared = warden->setup->shared;
    _exit(capture_run(directions, spec->capture_count, (unsigned)spec->topology->mtu, shared->summaries, control_fd,
                      &shared->capture_err) < 0);
}

int warden_start_capture(struct warden *warden, struct err *err)
{
    const struct fabric_spec *spec = warden->setup->spec;
    if (spec->capture_count == 0)
        return 0;
    int control[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot make a control socket for the capture");
    warden->capture_control = control[0];
    cleanup(close_fd) int its = control[1];
    pid_t pid = fork();
    if (pid < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot start the capture");
    if (pid == 0)
        run_capture(warden, its);
    warden->capture = pid;
    for (int i = 0; i < spec->capture_count; i++)
        close(spec->captures[i].file_fd);
    return 0;
}

/* Its next byte, or what ended it. */
static int await_byte(struct warden *warden, int patience_ms, const char *doing, struct err *err)
{
    struct pollfd wait = {.fd = warden->capture_control, .events = POLLIN};
    char byte;
    int ready;
    do
        ready = poll(&wait, 1, patience_ms);
    while (ready < 0 && errno == EINTR);
    if (ready != 1)
        return err_set(err, ERR_HOST, "the process that captures has not %s within %d s", doing, patience_ms / 1000);
    if (read(warden->capture_control, &byte, 1) == 1)
        return 0;
    const struct err *why = &warden->setup->shared->capture_err;
    return err_set(err, why->kind ? why->kind : ERR_HOST, "%s", why->kind ? why->text : "the process that captures has ended");
}

int warden_await_capture(struct warden *warden, struct err *err)
{
    return warden->capture_control < 0 ? 0 : await_byte(warden, START_PATIENCE_MS, "started", err);
}

int warden_finish_captures(struct warden *warden, struct err *err)
{
    char byte = 1;
    if (warden->capture_control < 0)
        return err_set(err, ERR_TRIAL, "nothing is captured, or no longer");
    (void)send(warden->capture_control, &byte, 1, MSG_NOSIGNAL); /* its end shows in the answer */
    int code = await_byte(warden, FINISH_PATIENCE_MS, "finished", err);
    close_fd(&warden->capture_control);
    return code;
}
