/* place_init.c: process 1 of the namespaces that a place's outside programs share; see place_init.h. */
#include "netem/place_init.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"

#define SHARED_NAMESPACES (CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC)

/* Root of this user namespace is the caller's ordinary user outside. */
static bool has_user_namespace(const struct namespaces_owner *owner)
{
    return owner->user_namespace && owner->uid != 0;
}

/* The host's own shows the interfaces of another network namespace, and programs choose by what they find there. What is mounted on
 * it and tells of limits stays. Like a fresh /proc it may be refused in containers: then there is the old one. */
static void show_own_devices(void)
{
    const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
    cleanup(close_fd) int groups = open_tree(AT_FDCWD, "/sys/fs/cgroup", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
    if (mount("sysfs", "/sys", "sysfs", flags, NULL) < 0 && mount("sysfs", "/sys", "sysfs", flags | MS_RDONLY, NULL) < 0)
        return;
    if (groups >= 0)
        (void)move_mount(groups, "", AT_FDCWD, "/sys/fs/cgroup", MOVE_MOUNT_F_EMPTY_PATH);
}

/* Files that set what the whole host does ask for no capability, but for their owner: a program of root's could have the kernel
 * start another one, with all rights, when something crashes. These are what container engines close. */
static const char *const settings_of_host[] = {"/proc/sys",  "/proc/sysrq-trigger", "/proc/irq",  "/proc/bus",   "/proc/fs",
                                               "/proc/acpi", "/proc/mtrr",          "/proc/scsi", "/proc/driver"};

static int keep_from_writing(const char *path)
{
    struct mount_attr attributes = {.attr_set = MOUNT_ATTR_RDONLY};
    if (mount_setattr(AT_FDCWD, path, AT_RECURSIVE, &attributes, sizeof(attributes)) == 0)
        return 0;
    return errno == ENOENT ? 0 : -errno; /* ENOSYS, before Linux 5.12, is no reason to leave them open */
}

/* Ordinary users may not write there anyway, and in their containers such mounts may be refused. */
static int close_settings_of_host(const struct namespaces_owner *owner, struct err *err)
{
    int result = keep_from_writing("/sys");
    const char *path = "/sys";
    for (size_t i = 0; i < sizeof(settings_of_host) / sizeof(settings_of_host[0]) && result == 0; i++) {
        path = settings_of_host[i];
        if (mount(path, path, NULL, MS_BIND | MS_REC, NULL) == 0)
            result = keep_from_writing(path);
        else if (errno != ENOENT)
            result = -errno;
    }
    if (result < 0 && !owner->user_namespace)
        return err_set_errno(err, ERR_HOST, -result,
                             "cannot keep outside programs of root from writing to %s; run laggard as an ordinary user", path);
    return 0;
}

/* Without root the programs' user namespace comes last: the namespaces that are made ready here belong to the outer one. */
static int settle(const struct namespaces_owner *owner, const char *host_name, struct err *err)
{
    show_own_devices();
    /* Where containers hide parts of /proc the kernel refuses a fresh one; see namespaces_settle(). */
    (void)mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
    if (close_settings_of_host(owner, err) < 0)
        return -ERR_HOST;
    if (sethostname(host_name, strlen(host_name)) < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot set the host name");
    if (!has_user_namespace(owner))
        return 0;
    if (unshare(CLONE_NEWUSER) < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot make a user namespace (raise the limit: sysctl -w %s)",
                             "user.max_user_namespaces=15000");
    return namespaces_map_user(owner->uid, 0, owner->gid, 0, err);
}

static _Noreturn void run(const struct namespaces_owner *owner, const char *host_name, int report_fd)
{
    struct err err = {0};
    namespaces_keep_descriptors(&report_fd, 1);
    prctl(PR_SET_NAME, "laggard-init");
    signal(SIGCHLD, SIG_IGN); /* the kernel reaps whatever ends as a child of this process */
    int code = settle(owner, host_name, &err);
    if (code < 0)
        err_wrap(&err, "place %s", host_name);
    if (write(report_fd, &err, sizeof(err)) != (ssize_t)sizeof(err) || code < 0) /* whole: it is below PIPE_BUF */
        _exit(1);
    close(report_fd);
    for (;;)
        pause();
}
static_assert(sizeof(struct err) <= PIPE_BUF, "reports of several processes must not mix");

int place_init_begin(const struct namespaces_owner *owner, const char *host_name, int report_fd, struct process *init,
                     struct err *err)
{
    struct process made = PROCESS_NONE;
    made.pid = namespaces_clone(SHARED_NAMESPACES, &made.pidfd);
    if (made.pid == 0)
        run(owner, host_name, report_fd);
    if (made.pid < 0) {
        int error = errno;
        return err_set_errno(err, ERR_HOST, error, "cannot make the namespaces of the processes of place %s%s", host_name,
                             error == ENOSPC || error == EUSERS
                                 ? "; the host's limit is reached; raise it: sysctl -w user.max_pid_namespaces=15000 "
                                   "user.max_mnt_namespaces=15000 user.max_uts_namespaces=15000 user.max_ipc_namespaces=15000"
                                 : "");
    }
    *init = made;
    return 0;
}

int place_init_confirm(int report_fd, int count, struct err *err)
{
    for (int i = 0; i < count; i++) {
        struct err its;
        ssize_t got;
        do
            got = read(report_fd, &its, sizeof(its));
        while (got < 0 && errno == EINTR);
        if (got != (ssize_t)sizeof(its)) /* all who could write have ended, or said what they had to say */
            return err_set(err, ERR_HOST, "process 1 of a place has ended at its start");
        if (its.kind)
            return err_set(err, its.kind, "%s", its.text);
    }
    return 0;
}

int place_init_adopt(const struct process *init)
{
    cleanup(close_fd) int own = init ? -1 : (int)syscall(SYS_pidfd_open, getpid(), 0);
    return setns(init ? init->pidfd : own, CLONE_NEWPID) < 0 ? errno : 0;
}

int place_init_join(const struct process *init, const struct namespaces_owner *owner)
{
    int others = CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | (has_user_namespace(owner) ? CLONE_NEWUSER : 0);
    return setns(init->pidfd, others) < 0 ? errno : 0;
}
