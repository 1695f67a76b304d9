/* warden_enter.c: the warden's side of netem/enter.h: listens, starts what is asked for, tells of its end.
 *
 * One epoll descriptor holds the sockets: of those who listen, and one a connection. A connection is an asker until its program has
 * started, and a program's line to its asker from then on; it is forgotten when the program has been reaped. Nothing here waits for
 * an asker: his request is one packet, and what it points to is sealed memory. */
#include "netem/warden_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "netem/enter_wire.h"
#include "netem/topology.h"

enum { BACKLOG = 128, EVENTS = 16 };

struct warden_door { /* a socket of one of these kinds */
    enum { DOOR_OUTSIDE, DOOR_INSIDE, DOOR_CONNECTION } kind;
    int fd; /* -1: the asker is gone, his program is not */
    bool from_outside;
    struct process program; /* pid 0: not started yet */
    struct warden_door *next;
};

int warden_enter_listen(const char *name, int *fd, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(name);
    memcpy(address.sun_path + 1, name, length); /* ENTER_NAME_BYTES at most */
    cleanup(close_fd) int made = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0 || bind(made, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)) < 0 ||
        listen(made, BACKLOG) < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot listen for `laggard enter` as %s", name);
    *fd = steal_fd(&made);
    return 0;
}

static int watch(struct warden *warden, struct warden_door door, struct err *err)
{
    struct warden_door *kept = malloc(sizeof(*kept));
    if (warden->enter_fd < 0)
        warden->enter_fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = kept};
    if (!kept || warden->enter_fd < 0 || epoll_ctl(warden->enter_fd, EPOLL_CTL_ADD, door.fd, &event) < 0) {
        free(kept);
        return err_set_errno(err, ERR_HOST, errno, "cannot watch for `laggard enter`");
    }
    door.next = warden->doors;
    *kept = door;
    warden->doors = kept;
    return 0;
}

int warden_enter_begin(struct warden *warden, struct err *err)
{
    int fd = warden->setup->enter_fd;
    return fd < 0 ? 0 : watch(warden, (struct warden_door){.kind = DOOR_OUTSIDE, .fd = fd}, err);
}

int warden_enter_place(struct warden *warden, struct err *err)
{
    cleanup(close_fd) int fd = -1;
    if (warden->setup->enter_fd < 0)
        return 0;
    int code = warden_enter_listen(warden->setup->enter_name, &fd, err);
    if (code == 0)
        code = watch(warden, (struct warden_door){.kind = DOOR_INSIDE, .fd = fd}, err);
    if (code == 0)
        steal_fd(&fd);
    return code;
}

static void forget(struct warden *warden, struct warden_door *door)
{
    struct warden_door **link = &warden->doors;
    while (*link != door)
        link = &(*link)->next;
    *link = door->next;
    close_fd(&door->fd); /* leaves the epoll set with it: nobody else has it */
    free(door);
}

static void answer(const struct warden_door *door, const struct enter_answer *what)
{
    (void)send(door->fd, what, sizeof(*what), MSG_NOSIGNAL | MSG_DONTWAIT); /* an asker who has gone is noticed by his silence */
}

static void refuse(const struct warden_door *door, const struct err *why)
{
    struct enter_answer refused = {.kind = ENTER_REFUSED, .code = (int32_t)why->kind};
    memcpy(refused.text, why->text, sizeof(refused.text) < sizeof(why->text) ? sizeof(refused.text) : sizeof(why->text));
    answer(door, &refused);
}

static void accept_one(struct warden *warden, const struct warden_door *listener)
{
    struct ucred owner;
    socklen_t owner_bytes = sizeof(owner);
    cleanup(close_fd) int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    struct warden_door door = {.kind = DOOR_CONNECTION, .fd = fd, .from_outside = listener->kind == DOOR_OUTSIDE};
    struct err err;
    /* Whoever built the network is the user of this process, under whatever number it is known here. */
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &owner, &owner_bytes) < 0 || owner.uid != geteuid()) {
        err_set(&err, ERR_USAGE, "this network belongs to another user: only that user can enter it");
        refuse(&door, &err);
    } else if (watch(warden, door, &err) == 0)
        steal_fd(&fd);
}

/* ---- a request ---- */

struct request {
    struct enter_header header;
    int fds[ENTER_DESCRIPTORS]; /* the words, then the streams */
    char *bytes;
};

static void request_clean(struct request *request)
{
    for (int i = 0; i < ENTER_DESCRIPTORS; i++)
        close_fd(&request->fds[i]);
    free(request->bytes);
}

/* Bytes received; what came of descriptors is the request's. */
static ssize_t receive(int fd, void *packet, size_t size, struct request *request)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(request->fds))];
    } control;
    struct iovec part = {.iov_base = packet, .iov_len = size};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)};
    ssize_t length = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    struct cmsghdr *rights = length < 0 ? NULL : CMSG_FIRSTHDR(&message);
    if (rights && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS)
        memcpy(request->fds, CMSG_DATA(rights), rights->cmsg_len - CMSG_LEN(0));
    return length;
}

static int read_words(struct request *request, struct arena *arena, struct enter_words *words, struct err *err)
{
    const int sealed = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;
    struct stat status;
    int fd = request->fds[0], seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & sealed) != sealed || fstat(fd, &status) < 0 || status.st_size > ENTER_WORDS_BYTES_MAX)
        return err_set(err, ERR_USAGE, "the request to enter is malformed: its words are not in sealed memory of at most %d bytes",
                       ENTER_WORDS_BYTES_MAX);
    size_t length = (size_t)status.st_size;
    request->bytes = malloc(length + 1);
    if (!request->bytes || pread(fd, request->bytes, length, 0) != (ssize_t)length)
        return err_set_errno(err, ERR_HOST, errno, "cannot read the request to enter");
    return enter_parse(&request->header, request->bytes, length, arena, words, err);
}

static int start(struct warden *warden, struct request *request, struct process *process, struct err *err)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    const struct topology *topology = warden->setup->spec->topology;
    struct enter_words words;
    int place, report_fd = -1;
    for (int i = 0; i < ENTER_DESCRIPTORS; i++)
        if (request->fds[i] < 0)
            return err_set(err, ERR_USAGE, "the request to enter is malformed: it has not its %d descriptors", ENTER_DESCRIPTORS);
    int code = read_words(request, arena, &words, err);
    if (code == 0)
        code = topology_find(topology, words.node, &place, err);
    if (code < 0)
        return code;
    struct fabric_program program = {.place = place,
                                     .path = words.arguments[0],
                                     .arguments = words.arguments,
                                     .environment = words.environment,
                                     .outside = true,
                                     .streams = request->fds + 1,
                                     .directory = words.directory,
                                     .terminal = request->header.flags & ENTER_TERMINAL,
                                     .open_files = request->header.open_files};
    code = warden_begin_outside(warden, &program, process, &report_fd, err);
    if (code == 0)
        code = warden_confirm_outside(warden, &program, process, &report_fd, err);
    return code < 0 ? err_wrap(err, "node %s", topology->places[place].name) : 0;
}

static void serve_asker(struct warden *warden, struct warden_door *door)
{
    cleanup(request_clean) struct request request = {.fds = {-1, -1, -1, -1}};
    struct err err = {0};
    ssize_t length = receive(door->fd, &request.header, sizeof(request.header), &request);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    int code = length == (ssize_t)sizeof(request.header)
                   ? start(warden, &request, &door->program, &err)
                   : err_set(&err, ERR_USAGE, "the request to enter is malformed: it has %zd bytes", length);
    if (code < 0) {
        refuse(door, &err);
        forget(warden, door);
        return;
    }
    warden->setup->shared->entered += door->from_outside;
    answer(door, &(struct enter_answer){.kind = ENTER_STARTED});
}

/* The asker sends signals; when he goes, his program is hung up on. */
static void serve_program(struct warden *warden, struct warden_door *door)
{
    struct enter_signal packet;
    struct request none = {.fds = {-1, -1, -1, -1}};
    ssize_t length = receive(door->fd, &packet, sizeof(packet), &none);
    request_clean(&none);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (length == (ssize_t)sizeof(packet)) {
        if (packet.number > 0)
            kill(-door->program.pid, packet.number);
        return;
    }
    epoll_ctl(warden->enter_fd, EPOLL_CTL_DEL, door->fd, NULL);
    close_fd(&door->fd);
    kill(-door->program.pid, SIGHUP);
    kill(-door->program.pid, SIGCONT);
}

void warden_enter_serve(struct warden *warden)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(warden->enter_fd, events, EVENTS, 0);
    for (int i = 0; i < count; i++) {
        struct warden_door *door = events[i].data.ptr;
        if (door->kind != DOOR_CONNECTION)
            accept_one(warden, door);
        else if (door->program.pid == 0)
            serve_asker(warden, door);
        else
            serve_program(warden, door);
    }
}

bool warden_enter_reaped(struct warden *warden, pid_t pid, const struct process_exit *how)
{
    struct warden_door *door = warden->doors;
    while (door && (door->kind != DOOR_CONNECTION || door->program.pid != pid))
        door = door->next;
    if (!door)
        return false;
    close_fd(&door->program.pidfd);
    if (door->fd >= 0)
        answer(door, &(struct enter_answer){.kind = ENTER_ENDED, .exited = how->exited, .code = how->status});
    forget(warden, door);
    return true;
}
