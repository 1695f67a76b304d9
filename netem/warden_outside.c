/* warden_outside.c: starts outside programs: in the namespaces that a place's programs share, as the caller's user, without
 * privileges.
 *
 * The namespaces are made with a place's first program, so that networks whose programs are laggard's own do not pay for them. */
#include "netem/warden_internal.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/process.h"
#include "netem/namespaces.h"
#include "netem/outside_environment.h"
#include "netem/place_init.h"

enum { INIT_END_PATIENCE_MS = 100 }; /* between the closing of its pipe and its end */

int warden_prepare_outside(struct warden *warden, struct err *err)
{
    const struct topology *topology = warden->setup->spec->topology;
    warden->inits = calloc((size_t)topology->place_count + 1, sizeof(*warden->inits));
    warden->outside = arena_new();
    warden->peers = outside_peers(topology, warden->outside);
    if (!warden->inits)
        return err_set_errno(err, ERR_HOST, ENOMEM, "cannot list the places");
    for (int i = 0; i < topology->place_count; i++)
        warden->inits[i] = PROCESS_NONE;
    return 0;
}

/* What the programs of a place share. The warden itself has no use for a network namespace of its own: it stays where it comes
 * to. */
static int begin_place(struct warden *warden, int place, int report_fd, struct err *err)
{
    const struct namespaces_owner *owner = &warden->setup->owner;
    const char *name = warden->setup->spec->topology->places[place].name;
    if (setns(warden->network.places[place].namespace_fd, CLONE_NEWNET) < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot enter the network namespace of place %s", name);
    /* Without capabilities ping needs a group to which the kernel gives ICMP sockets, and servers need their usual ports. Not
     * having these is no failure. */
    (void)namespaces_sysctl("net/ipv4/ping_group_range", owner->user_namespace ? "0 0" : "0 2147483647", false, NULL);
    (void)namespaces_sysctl("net/ipv4/ip_unprivileged_port_start", "0", false, NULL);
    int code = place_init_begin(owner, name, report_fd, &warden->inits[place], err);
    return code < 0 ? code : warden_enter_place(warden, err);
}

/* What could not be done for a place whose process 1 has been killed failed for that: its end says more. */
static int blame_init(const struct warden *warden, int place, int patience_ms, int code, struct err *err)
{
    struct process_exit how;
    char text[64];
    const pid_t pid = warden->inits[place].pid;
    if (code == 0 || pid <= 0 || !process_ended(pid, patience_ms, &how) || how.exited)
        return code;
    return err_set(err, ERR_TRIAL, "process 1 of the place has ended (%s)", process_describe(text, sizeof(text), &how));
}

/* With the first program the places of all of them, side by side; later a place alone that is entered. */
static int settle_places(struct warden *warden, int place, struct err *err)
{
    const struct fabric_spec *spec = warden->setup->spec;
    int report[2], count = 0, code = 0;
    if (warden->inits[place].pid > 0)
        return 0;
    cleanup(free_pointer) int *begun = calloc((size_t)spec->topology->place_count, sizeof(*begun));
    if (!begun || pipe2(report, O_CLOEXEC) < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot make a pipe for the processes of places");
    cleanup(close_fd) int report_read = report[0];
    cleanup(close_fd) int report_write = report[1];
    for (int i = -1; i < spec->program_count && code == 0; i++) {
        int next = i < 0 ? place : spec->programs[i].place;
        bool known = next >= 0 && next < spec->topology->place_count; /* otherwise its start will be refused */
        if (!known || (i >= 0 && !spec->programs[i].outside) || warden->inits[next].pid > 0)
            continue;
        begun[count++] = next;
        code = begin_place(warden, next, report_write, err);
    }
    close_fd(&report_write);
    if (code == 0)
        code = place_init_confirm(report_read, count, err);
    for (int i = 0; i < count; i++)
        code = blame_init(warden, begun[i], i == 0 ? INIT_END_PATIENCE_MS : 0, code, err);
    for (int i = 0; i < count && code < 0; i++)
        process_end(&warden->inits[begun[i]]);
    return code;
}

struct joining { /* what a program's process does between fork and exec */
    const struct warden *warden;
    const struct fabric_program *program;
    const char *directory;
    const int *streams;
};

/* The bounding set can only be lowered with CAP_SETPCAP; without it, no_new_privs keeps it from mattering. */
static int renounce_privileges(void)
{
    capng_select_t what = capng_get_caps_process() == 0 && capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP) ? CAPNG_SELECT_BOTH
                                                                                                               : CAPNG_SELECT_CAPS;
    capng_clear(CAPNG_SELECT_BOTH);
    if (capng_apply(what) < 0)
        return EPERM;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? errno : 0;
}

static int join_place(void *context)
{
    const struct joining *joining = context;
    const struct warden *warden = joining->warden;
    int cgroup_fd = joining->program->cgroup_fd;
    if (cgroup_fd > 0 && write(cgroup_fd, "0", 1) != 1) /* "0": whoever writes */
        return errno;
    struct rlimit files = warden->files_before;
    if (joining->program->open_files > 0 && joining->program->open_files < files.rlim_max)
        files.rlim_cur = joining->program->open_files;
    setrlimit(RLIMIT_NOFILE, &files);
    int error = place_init_join(&warden->inits[joining->program->place], &warden->setup->owner);
    if (error != 0)
        return error;
    if (setsid() < 0 || (joining->program->terminal && ioctl(joining->streams[0], TIOCSCTTY, 0) < 0) ||
        chdir(joining->directory) < 0)
        return errno;
    return renounce_privileges();
}

/* Entering a mount namespace leads to its root, so the way back must be known. */
static int find_directory(const struct fabric_program *program, char directory[PATH_MAX], struct err *err)
{
    if (!program->directory)
        return getcwd(directory, PATH_MAX) ? 0 : err_set_errno(err, ERR_USAGE, errno, "cannot name the current folder");
    if (!realpath(program->directory, directory) || access(directory, X_OK) < 0)
        return err_set_errno(err, ERR_USAGE, errno, "cannot start in the folder %s", program->directory);
    return 0;
}

int warden_begin_outside(struct warden *warden, const struct fabric_program *program, struct process *process, int *report_fd,
                         struct err *err)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    char found[PATH_MAX], directory[PATH_MAX];
    int streams[FABRIC_STREAMS] = {warden->null_fd, STDOUT_FILENO, STDERR_FILENO};
    for (int i = 0; program->streams && i < FABRIC_STREAMS; i++)
        if (program->streams[i] >= 0)
            streams[i] = program->streams[i];
    struct outside_place where = {.topology = warden->setup->spec->topology,
                                  .place = program->place,
                                  .peers = warden->peers,
                                  .enter_name = warden->setup->enter_fd < 0 ? NULL : warden->setup->enter_name,
                                  .terminal = program->terminal,
                                  .root = warden->setup->owner.uid == 0};
    char **environment = outside_environment(&where, program->environment ? program->environment : environ, arena);
    int code = find_directory(program, directory, err);
    if (code == 0)
        code = process_find(program->path, environment, directory, found, sizeof(found), err);
    if (code == 0)
        code = settle_places(warden, program->place, err);
    if (code < 0)
        return code;
    struct joining joining = {.warden = warden, .program = program, .directory = directory, .streams = streams};
    struct process_spec spec = {.path = found,
                                .arguments = program->arguments,
                                .environment = environment,
                                .streams = streams,
                                .descriptors = program->descriptors,
                                .descriptor_count = program->descriptor_count,
                                .before_exec = join_place,
                                .context = &joining};
    int error = place_init_adopt(&warden->inits[program->place]);
    if (error != 0)
        return blame_init(warden, program->place, INIT_END_PATIENCE_MS,
                          err_set_errno(err, ERR_HOST, error, "cannot enter the PID namespace"), err);
    code = process_begin(&spec, process, report_fd, err);
    error = place_init_adopt(NULL);
    if (code == 0 && error != 0) {
        close_fd(report_fd);
        process_end(process);
        code = err_set_errno(err, ERR_HOST, error, "cannot leave the PID namespace again");
    }
    return blame_init(warden, program->place, INIT_END_PATIENCE_MS, code, err);
}

int warden_confirm_outside(const struct warden *warden, const struct fabric_program *program, struct process *process,
                           int *report_fd, struct err *err)
{
    int code = process_confirm(program->path, process, report_fd, err);
    if (code == 0)
        return 0;
    err->kind = ERR_USAGE; /* the file is there: the programs' user may not run it, or it is no program */
    return blame_init(warden, program->place, INIT_END_PATIENCE_MS, -ERR_USAGE, err);
}
