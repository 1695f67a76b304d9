/* cpu_limit_watch.c: the folders of limited nodes: made, locked, emptied and removed, by whoever lives longest. */
#include "harness/cpu_limit_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"

enum {
    NAMES_TRIED = 100, /* for a folder: another PID namespace may have a controller of our number */
    WATCHER_PATIENCE_MS = 60 * 1000,
    RETRY_MS = 10,
};

int cpu_folder_write(int folder_fd, const char *file, const char *text)
{
    cleanup(close_fd) int fd = openat(folder_fd, file, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    size_t length = strlen(text);
    return write(fd, text, length) == (ssize_t)length ? 0 : -errno;
}

static int open_folder(int own_fd, const char *name)
{
    return openat(own_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Whether what is open still has that name: another controller may have taken an unlocked folder for a stale one. */
static bool still_there(int own_fd, const char *name, int fd)
{
    struct stat by_name, opened;
    return fstatat(own_fd, name, &by_name, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &opened) == 0 &&
           by_name.st_ino == opened.st_ino && by_name.st_dev == opened.st_dev;
}

int cpu_folder_make(struct cpu_folder *folder)
{
    int error = EEXIST;
    for (int attempt = 0; attempt < NAMES_TRIED; attempt++) {
        snprintf(folder->name, sizeof(folder->name), attempt == 0 ? CPU_FOLDER_PREFIX "%d" : CPU_FOLDER_PREFIX "%d-%d",
                 (int)getpid(), attempt);
        if (mkdirat(folder->own_fd, folder->name, 0755) < 0) {
            error = errno;
            if (error == EEXIST)
                continue;
            return -error;
        }
        folder->fd = open_folder(folder->own_fd, folder->name);
        error = folder->fd < 0 || flock(folder->fd, LOCK_EX | LOCK_NB) < 0 ? errno : 0;
        if (error == 0 && still_there(folder->own_fd, folder->name, folder->fd))
            return 0;
        close_fd(&folder->fd);
        if (error != 0 && error != ENOENT && error != EWOULDBLOCK) { /* no descriptor or lock: another name would fail, too */
            (void)unlinkat(folder->own_fd, folder->name, AT_REMOVEDIR);
            return -error;
        }
        error = EEXIST; /* another controller has taken it for a stale one */
    }
    return -error;
}

/* Of the folder's own files the kernel takes care; groups are the only folders in it. */
static int remove_groups(int folder_fd)
{
    int listed = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* with a position of its own */
    DIR *list = listed >= 0 ? fdopendir(listed) : NULL;
    if (!list) {
        int error = errno;
        close_fd(&listed);
        return -error;
    }
    int code = 0;
    for (struct dirent *entry; (entry = readdir(list));)
        if (strncmp(entry->d_name, CPU_GROUP_PREFIX, strlen(CPU_GROUP_PREFIX)) == 0 &&
            unlinkat(folder_fd, entry->d_name, AT_REMOVEDIR) < 0 && errno != ENOENT)
            code = -errno;
    closedir(list);
    return code;
}

/* 0, or a negative errno: EBUSY, processes are still there. */
static int clear_folder(const struct cpu_folder *folder, bool whole)
{
    int code = remove_groups(folder->fd);
    if (code == 0 && whole && unlinkat(folder->own_fd, folder->name, AT_REMOVEDIR) < 0 && errno != ENOENT)
        code = -errno;
    return code == -ENOENT || code == -ENODEV ? 0 : code; /* somebody else has removed it */
}

int cpu_folder_await_clear(const struct cpu_folder *folder, bool whole, int patience_ms)
{
    int64_t until_ns = clock_now_ns() + patience_ms * NS_PER_MS;
    int code;
    while ((code = clear_folder(folder, whole)) == -EBUSY && clock_now_ns() < until_ns)
        clock_sleep_until(clock_now_ns() + RETRY_MS * NS_PER_MS);
    return code;
}

/* Refused, rightly, while another controller's folder still needs it. */
void cpu_folder_disable(const struct cpu_folder *folder)
{
    if (folder->enabled)
        (void)cpu_folder_write(folder->own_fd, "cgroup.subtree_control", "-cpu");
}

void cpu_folder_remove_stale(int own_fd)
{
    int listed = openat(own_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = listed >= 0 ? fdopendir(listed) : NULL;
    if (!list) {
        close_fd(&listed);
        return;
    }
    for (struct dirent *entry; (entry = readdir(list));) {
        if (strncmp(entry->d_name, CPU_FOLDER_PREFIX, strlen(CPU_FOLDER_PREFIX)) != 0)
            continue;
        struct cpu_folder stale = {.own_fd = own_fd};
        snprintf(stale.name, sizeof(stale.name), "%.*s", CPU_FOLDER_BYTES - 1, entry->d_name);
        cleanup(close_fd) int fd = open_folder(own_fd, entry->d_name);
        stale.fd = fd;
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
            (void)clear_folder(&stale, true); /* with processes in it, it is somebody's after all */
    }
    closedir(list);
}

/* Keeps nothing of its parent's but the pipe and the folder: not its terminal, its output, its session or its signals. */
static _Noreturn void watch(struct cpu_folder *folder, int pipe_fd)
{
    enum { PIPE = 3, OWN, FOLDER, NEXT };
    sigset_t none;
    setsid();
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_NAME, "laggard-cgroups");
    /* Above everything first, since a source may lie where another one goes. */
    int source[NEXT - PIPE] = {fcntl(pipe_fd, F_DUPFD, NEXT), fcntl(folder->own_fd, F_DUPFD, NEXT),
                               fcntl(folder->fd, F_DUPFD, NEXT)};
    int null_fd = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < PIPE; fd++)
        if (null_fd < 0 || dup2(null_fd, fd) < 0)
            close(fd);
    for (int i = 0; i < NEXT - PIPE; i++)
        if (source[i] < 0 || dup2(source[i], PIPE + i) < 0)
            _exit(1);
    close_range(NEXT, ~0U, 0);
    if (chdir("/") < 0)
        _exit(1);
    folder->own_fd = OWN;
    folder->fd = FOLDER;
    char ignored;
    ssize_t length;
    do
        length = read(PIPE, &ignored, 1);
    while (length > 0 || (length < 0 && errno == EINTR));
    (void)cpu_folder_await_clear(folder, true, WATCHER_PATIENCE_MS);
    cpu_folder_disable(folder);
    _exit(0);
}

int cpu_watcher_start(const struct cpu_folder *folder, pid_t *watcher, int *pipe_fd, struct err *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot make a pipe to the watcher of control groups");
    cleanup(close_fd) int its = ends[0];
    cleanup(close_fd) int ours = ends[1];
    pid_t pid = fork();
    if (pid < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot start the watcher of control groups");
    if (pid == 0) {
        struct cpu_folder copy = *folder;
        close(ours);
        watch(&copy, its);
    }
    *watcher = pid;
    *pipe_fd = steal_fd(&ours);
    return 0;
}
