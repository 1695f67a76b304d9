/* namespaces.c: makes and enters anonymous namespaces. */
#include "netem/namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"

#define EVERY_NAMESPACE (CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC)

/* The raw call: glibc has no fork with flags. It is safe here since the caller has one thread, and glibc caches neither pid nor
 * tid. */
pid_t namespaces_clone(uint64_t flags, int *pidfd)
{
    struct clone_args arguments = {.flags = flags | CLONE_PIDFD, .pidfd = (uint64_t)(uintptr_t)pidfd, .exit_signal = SIGCHLD};
    return (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));
}

int namespaces_fork(struct namespaces_owner *owner, pid_t *child, int *pidfd, struct err *err)
{
    *owner = (struct namespaces_owner){.uid = geteuid(), .gid = getegid()};
    pid_t pid = -1;
    if (owner->uid == 0) /* root in a container may lack the capabilities; a user namespace may still work there */
        pid = namespaces_clone(EVERY_NAMESPACE, pidfd);
    if (pid < 0 && (owner->uid != 0 || errno == EPERM)) {
        owner->user_namespace = true;
        pid = namespaces_clone(EVERY_NAMESPACE | CLONE_NEWUSER, pidfd);
    }
    if (pid < 0 && (errno == ENOSPC || errno == EUSERS))
        return err_set_errno(
            err, ERR_HOST, errno,
            "cannot make namespaces: the host's limit is reached; raise it: sysctl -w user.max_user_namespaces=15000 "
            "user.max_net_namespaces=15000");
    if (pid < 0 && errno == EAGAIN)
        return err_set_errno(err, ERR_HOST, errno,
                             "cannot start a process: a limit is reached (ulimit -u, kernel.pid_max, kernel.threads-max, or "
                             "pids.max of the control group); raise it or end other programs");
    if (pid < 0 && owner->user_namespace)
        return err_set_errno(
            err, ERR_HOST, errno,
            "cannot make a user namespace; run as root, or allow them: sysctl -w kernel.unprivileged_userns_clone=1 "
            "user.max_user_namespaces=15000");
    if (pid < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot make namespaces");
    *child = pid;
    return 0;
}

static int write_file(const char *path, const char *text)
{
    cleanup(close_fd) int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    size_t length = strlen(text);
    return write(fd, text, length) == (ssize_t)length ? 0 : -errno;
}

int namespaces_map_user(uid_t uid, uid_t uid_outside, gid_t gid, gid_t gid_outside, struct err *err)
{
    char map[64];
    int code = write_file("/proc/self/setgroups", "deny"); /* the kernel's condition for a group map without privilege */
    if (code == 0) {
        snprintf(map, sizeof(map), "%u %u 1", (unsigned)uid, (unsigned)uid_outside);
        code = write_file("/proc/self/uid_map", map);
    }
    if (code == 0) {
        snprintf(map, sizeof(map), "%u %u 1", (unsigned)gid, (unsigned)gid_outside);
        code = write_file("/proc/self/gid_map", map);
    }
    if (code < 0)
        return err_set_errno(err, ERR_HOST, -code,
                             "cannot become %s of the new user namespace (some distributions forbid it: sysctl -w "
                             "kernel.apparmor_restrict_unprivileged_userns=0, or run as root)",
                             uid == 0 ? "root" : "a user");
    return 0;
}

/* Nothing that is started inside may gain anything by its file: set-user-ID bits and file capabilities have no effect. The kernel
 * would ignore the gain all the same (no_new_privs), but refuse to start a file whose capabilities are beyond the bounding set, as
 * those of Debian's ping are. */
static void ignore_privileged_files(void)
{
    struct mount_attr attributes = {.attr_set = MOUNT_ATTR_NOSUID};
    if (mount_setattr(-1, "/", AT_RECURSIVE, &attributes, sizeof(attributes)) < 0)
        log_debug("mounts keep set-user-ID bits: %s", strerror(errno));
}

int namespaces_settle(const struct namespaces_owner *owner, struct err *err)
{
    if (owner->user_namespace && namespaces_map_user(0, owner->uid, 0, owner->gid, err) < 0)
        return -ERR_HOST;
    /* Slave: what the host unmounts goes away here too, and nothing done here is seen outside. */
    if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot cut the new mount namespace off from the host's%s",
                             owner->user_namespace ? " (user namespaces are made but have no rights here: sysctl -w "
                                                     "kernel.apparmor_restrict_unprivileged_userns=0, or run as root)"
                                                   : "");
    ignore_privileged_files();
    /* Containers that hide parts of /proc do not get a fresh one; the inherited one serves all but tools such as ps. */
    (void)mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
    return 0;
}

int namespaces_new_network(int *fd, struct err *err)
{
    if (unshare(CLONE_NEWNET) < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot make a network namespace%s",
                             errno == ENOSPC ? "; raise the limit: sysctl -w user.max_net_namespaces=15000" : "");
    int opened = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (opened < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot hold a network namespace%s",
                             errno == EMFILE ? "; raise the limit of open files: ulimit -n" : "");
    *fd = opened;
    return 0;
}

int namespaces_sysctl(const char *name, const char *value, bool required, struct err *err)
{
    char path[128];
    snprintf(path, sizeof(path), "/proc/sys/%s", name);
    int code = write_file(path, value);
    if (code == 0 || (code == -ENOENT && !required))
        return 0;
    const char *remedy = "";
    if (code == -EROFS || code == -EACCES)
        remedy = " (a container with a read-only /proc/sys: run it with --privileged)";
    else if (code == -EMFILE)
        remedy = " (raise the limit of open files: ulimit -n)";
    return err_set_errno(err, ERR_HOST, -code, "cannot set %s to '%s' in a network namespace%s", name, value, remedy);
}

void namespaces_read_sysctl(const char *name, char *value, size_t bytes)
{
    char path[128];
    snprintf(path, sizeof(path), "/proc/sys/%s", name);
    cleanup(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, value, bytes);
    if (length < 1 || (size_t)length == bytes)
        length = 0;
    value[length] = '\0';
    for (char *at = value; *at; at++)
        if (*at == '\t')
            *at = ' ';
    value[strcspn(value, "\n")] = '\0';
}

/* The file lives in a tmpfs that is detached again at once: the bind mount alone keeps it. Programs may be starting meanwhile, and
 * their own file or their data may lie anywhere, so nothing of theirs may be covered, not even for a moment: the kernel keeps
 * /proc/driver as a place for drivers' facts. */
#define SCRATCH_FOLDER "/proc/driver"
int namespaces_hosts_file(const char *text, struct err *err)
{
    if (mount("laggard", SCRATCH_FOLDER, "tmpfs", MS_NOSUID | MS_NODEV, "size=8m,mode=755") < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot mount a tmpfs for /etc/hosts");
    int code = 0;
    cleanup(close_fd) int fd = open(SCRATCH_FOLDER "/hosts", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    size_t length = strlen(text);
    if (fd < 0 || write(fd, text, length) != (ssize_t)length ||
        mount(SCRATCH_FOLDER "/hosts", "/etc/hosts", NULL, MS_BIND, NULL) < 0)
        code = err_set_errno(err, ERR_HOST, errno, "cannot show the nodes' names in /etc/hosts");
    close_fd(&fd);
    umount2(SCRATCH_FOLDER, MNT_DETACH);
    return code;
}

static int compare_descriptors(const void *a, const void *b)
{
    int left = *(const int *)a, right = *(const int *)b;
    return (left > right) - (left < right);
}

void namespaces_keep_descriptors(int *keep, unsigned count)
{
    qsort(keep, count, sizeof(*keep), compare_descriptors);
    int next = 3;
    for (unsigned i = 0; i < count; i++) {
        if (keep[i] > next)
            close_range((unsigned)next, (unsigned)keep[i] - 1, 0);
        if (keep[i] >= next)
            next = keep[i] + 1;
    }
    close_range((unsigned)next, ~0U, 0);
}
